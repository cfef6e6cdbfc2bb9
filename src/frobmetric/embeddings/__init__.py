"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .bridge import EncoderBridge
from .feedback import Cleaning, Feedback, TooFewExamplesError
from .label_feedback import Labels
from .list_feedback import Clicks, RankedLists
from .maps import LearnedMap
from .pair_feedback import ComparedTriplets, GradedPairs, SimilarPairs
from .query import learn_query_map
from .search_feedback import RelevantDocuments

__all__ = ["Cleaning", "Clicks", "ComparedTriplets", "EncoderBridge", "Feedback", "GradedPairs"]
__all__ += ["Labels", "LearnedMap", "RankedLists", "RelevantDocuments", "SimilarPairs"]
__all__ += ["TooFewExamplesError", "learn_query_map"]
