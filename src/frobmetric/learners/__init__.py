"""Learners of other methods by their known names, most of them with a certificate."""

from .closed_form import Covariance
from .comparing import (
    ComparisonProgress,
    InterruptedComparison,
    LearnerRow,
    LearnersComparison,
    compare,
    compare_learners,
)

__all__ = [
    "ComparisonProgress",
    "Covariance",
    "InterruptedComparison",
    "LearnerRow",
    "LearnersComparison",
    "compare",
    "compare_learners",
]
