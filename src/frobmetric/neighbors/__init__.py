"""Classification and verification with a metric: nearest neighbours, nearest class, thresholds."""

from .classification import NearestClass, NearestVote, knn_error, knn_predict
from .marginalized import MarginalizedKNN
from .paired import PairedErrors
from .promise import Promise, promised_threshold, units_needed
from .thresholds import best_threshold

__all__ = [
    "MarginalizedKNN",
    "NearestClass",
    "NearestVote",
    "PairedErrors",
    "Promise",
    "best_threshold",
    "knn_error",
    "knn_predict",
    "promised_threshold",
    "units_needed",
]
