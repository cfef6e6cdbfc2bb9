"""Labels and comparisons become a metric."""

from .frob import FrobMetric
from .path import FrobMetricCV
from .triplets import mine_triplets

__all__ = ["FrobMetric", "FrobMetricCV", "mine_triplets"]
