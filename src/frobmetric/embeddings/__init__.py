"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .adapter import EmbeddingAdapter
from .choice import PairedGain
from .feedback import Cleaning, Feedback, Labels, TooFewExamplesError
from .fields import WeightsTable, weights_table
from .maps import LearnedMap
from .report import AdapterReport
from .search_feedback import RelevantDocuments
from .structure import learn_structured_map

__all__ = ["AdapterReport", "Cleaning", "EmbeddingAdapter", "Feedback", "Labels", "LearnedMap"]
__all__ += ["PairedGain", "RelevantDocuments", "TooFewExamplesError", "WeightsTable"]
__all__ += ["learn_structured_map", "weights_table"]
