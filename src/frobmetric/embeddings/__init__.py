"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .adapter import EmbeddingAdapter
from .choice import PairedGain
from .feedback import Cleaning, Feedback, TooFewExamplesError
from .fields import WeightsTable, weights_table
from .label_feedback import Labels
from .list_feedback import Clicks, RankedLists
from .maps import LearnedMap
from .pair_feedback import ComparedTriplets, GradedPairs, SimilarPairs
from .query import learn_query_map
from .report import AdapterReport
from .search_feedback import RelevantDocuments
from .structure import learn_structured_map

__all__ = ["AdapterReport", "Cleaning", "Clicks", "ComparedTriplets", "EmbeddingAdapter"]
__all__ += ["Feedback", "GradedPairs", "Labels", "LearnedMap", "PairedGain", "RankedLists"]
__all__ += ["RelevantDocuments", "SimilarPairs", "TooFewExamplesError", "WeightsTable"]
__all__ += ["learn_query_map", "learn_structured_map", "weights_table"]
