"""Maps of embeddings, learned from feedback: the prior is to leave the vectors as they are."""

from .feedback import Cleaning, Feedback, Labels, TooFewExamplesError
from .maps import LearnedMap
from .pair_feedback import ComparedTriplets, GradedPairs, SimilarPairs
from .search_feedback import RelevantDocuments

__all__ = ["Cleaning", "ComparedTriplets", "Feedback", "GradedPairs", "Labels", "LearnedMap"]
__all__ += ["RelevantDocuments", "SimilarPairs", "TooFewExamplesError"]
