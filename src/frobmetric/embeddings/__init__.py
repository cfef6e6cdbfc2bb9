"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .databases import dimension_snippet, search_snippet
from .feedback import Cleaning, Feedback, TooFewExamplesError
from .fields import WeightsTable, weights_table
from .label_feedback import Labels
from .list_feedback import Clicks, RankedLists
from .maps import LearnedMap
from .pair_feedback import ComparedTriplets, GradedPairs, SimilarPairs
from .query import learn_query_map
from .search_feedback import RelevantDocuments
from .structure import learn_structured_map

__all__ = ["Cleaning", "Clicks", "ComparedTriplets", "Feedback", "GradedPairs", "Labels"]
__all__ += ["LearnedMap", "RankedLists", "RelevantDocuments", "SimilarPairs"]
__all__ += ["TooFewExamplesError", "WeightsTable", "dimension_snippet", "learn_query_map"]
__all__ += ["learn_structured_map", "search_snippet", "weights_table"]
