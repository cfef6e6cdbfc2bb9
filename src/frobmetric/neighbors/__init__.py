"""Use of a metric: nearest neighbours, nearest class, verification, thresholds and retrieval."""

from .classification import NearestClass, NearestVote, knn_error, knn_predict
from .marginalized import MarginalizedKNN
from .promise import promised_threshold, units_needed
from .thresholds import best_threshold

__all__ = [
    "MarginalizedKNN",
    "NearestClass",
    "NearestVote",
    "best_threshold",
    "knn_error",
    "knn_predict",
    "promised_threshold",
    "units_needed",
]
