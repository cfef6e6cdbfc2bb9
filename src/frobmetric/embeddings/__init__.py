"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .adapter import EmbeddingAdapter
from .choice import PairedGain
from .feedback import Cleaning, Feedback, Labels, TooFewExamplesError
from .fields import WeightsTable, weights_table
from .maps import LearnedMap
from .pair_feedback import ComparedTriplets, GradedPairs, SimilarPairs
from .query import learn_query_map
from .report import AdapterReport
from .search_feedback import RelevantDocuments
from .structure import learn_structured_map

__all__ = ["AdapterReport", "Cleaning", "ComparedTriplets", "EmbeddingAdapter", "Feedback"]
__all__ += ["GradedPairs", "Labels", "LearnedMap", "PairedGain", "RelevantDocuments"]
__all__ += ["SimilarPairs", "TooFewExamplesError", "WeightsTable", "learn_query_map"]
__all__ += ["learn_structured_map", "weights_table"]
