"""Comparison data: reading, checking, merging, splitting and evaluation."""

from .evaluation import accuracy_difference, comparison_accuracy, noise_ceiling
from .formats import read_comparisons, write_comparisons
from .merging import Comparisons, count_contradictions, merge_comparisons
from .splitting import ObjectSplit

__all__ = [
    "Comparisons",
    "ObjectSplit",
    "accuracy_difference",
    "comparison_accuracy",
    "count_contradictions",
    "merge_comparisons",
    "noise_ceiling",
    "read_comparisons",
    "write_comparisons",
]
