"""Classification and verification with a metric: nearest neighbours, nearest class, thresholds."""

from .classification import NearestClass, NearestVote, knn_error, knn_predict
from .marginalized import MarginalizedKNN
from .paired import PairedErrors
from .thresholds import best_threshold

__all__ = [
    "MarginalizedKNN",
    "NearestClass",
    "NearestVote",
    "PairedErrors",
    "best_threshold",
    "knn_error",
    "knn_predict",
]
