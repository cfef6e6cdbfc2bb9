"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .maps import LearnedMap

__all__ = ["LearnedMap"]
