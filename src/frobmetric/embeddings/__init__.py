"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .bridge import EncoderBridge
from .maps import LearnedMap
from .query import learn_query_map

__all__ = ["EncoderBridge", "LearnedMap", "learn_query_map"]
