"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .maps import LearnedMap
from .query import learn_query_map

__all__ = ["LearnedMap", "learn_query_map"]
