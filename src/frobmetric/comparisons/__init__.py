"""Comparison data: reading, checking, merging, splitting and evaluation."""

from .formats import read_comparisons, write_comparisons
from .merging import Comparisons, count_contradictions, merge_comparisons

__all__ = [
    "Comparisons",
    "count_contradictions",
    "merge_comparisons",
    "read_comparisons",
    "write_comparisons",
]
