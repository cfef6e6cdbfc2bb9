"""Measures of how good a map is, paired differences, choices and comparisons."""

from .accuracy import accuracy_difference, comparison_accuracy, noise_ceiling
from .agreement import pair_auc, spearman
from .paired import paired_residuals, paired_scores
from .retrieval import make_retrieval_scorer, ndcg_at_k, recall_at_k
from .splitting import ObjectSplit
from .table import InterruptedComparison

__all__ = [
    "InterruptedComparison",
    "ObjectSplit",
    "accuracy_difference",
    "comparison_accuracy",
    "make_retrieval_scorer",
    "ndcg_at_k",
    "noise_ceiling",
    "pair_auc",
    "paired_residuals",
    "paired_scores",
    "recall_at_k",
    "spearman",
]
