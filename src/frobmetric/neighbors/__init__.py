"""Use of a metric: nearest neighbours, nearest class, verification, thresholds and retrieval."""

from .agreement import pair_auc, spearman
from .classification import NearestClass, NearestVote, knn_error, knn_predict
from .marginalized import MarginalizedKNN
from .paired import PairedErrors
from .promise import Promise, promised_threshold, units_needed
from .ranking import Measure
from .residuals import PairedResiduals
from .retrieval import make_retrieval_scorer, ndcg_at_k, recall_at_k, reciprocal_rank
from .thresholds import best_threshold

__all__ = [
    "MarginalizedKNN",
    "Measure",
    "NearestClass",
    "NearestVote",
    "PairedErrors",
    "PairedResiduals",
    "Promise",
    "best_threshold",
    "knn_error",
    "knn_predict",
    "make_retrieval_scorer",
    "ndcg_at_k",
    "pair_auc",
    "promised_threshold",
    "recall_at_k",
    "reciprocal_rank",
    "spearman",
    "units_needed",
]
