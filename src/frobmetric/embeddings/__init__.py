"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .fields import WeightsTable, weights_table
from .maps import LearnedMap
from .structure import learn_structured_map

__all__ = ["LearnedMap", "WeightsTable", "learn_structured_map", "weights_table"]
