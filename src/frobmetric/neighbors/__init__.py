"""Classification and verification with a metric: nearest neighbours, nearest class, thresholds."""

from .knn import knn_error
from .marginalized import MarginalizedKNN
from .nearest_class import NearestClass
from .thresholds import Roc, best_threshold, mean_roc

__all__ = ["MarginalizedKNN", "NearestClass", "Roc", "best_threshold", "knn_error", "mean_roc"]
