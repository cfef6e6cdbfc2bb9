"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .databases import dimension_snippet, search_snippet
from .fields import WeightsTable, weights_table
from .maps import LearnedMap
from .query import learn_query_map
from .structure import learn_structured_map

__all__ = ["LearnedMap", "WeightsTable", "dimension_snippet", "learn_query_map"]
__all__ += ["learn_structured_map", "search_snippet", "weights_table"]
