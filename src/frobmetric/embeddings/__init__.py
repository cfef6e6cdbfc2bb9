"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .feedback import Cleaning, Feedback, Labels, TooFewExamplesError
from .maps import LearnedMap
from .search_feedback import RelevantDocuments

__all__ = ["Cleaning", "Feedback", "Labels", "LearnedMap"]
__all__ += ["RelevantDocuments", "TooFewExamplesError"]
