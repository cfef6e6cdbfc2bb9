"""Feedback: examples of what should be near what, of each kind that people have."""

from .base import Cleaning, Feedback, TooFewExamplesError
from .labels import Labels
from .lists import Clicks, RankedLists
from .pairs import ComparedTriplets, GradedPairs, SimilarPairs
from .search import RelevantDocuments

__all__ = ["Cleaning", "Clicks", "ComparedTriplets", "Feedback", "GradedPairs", "Labels"]
__all__ += ["RankedLists", "RelevantDocuments", "SimilarPairs", "TooFewExamplesError"]
