"""Labels and comparisons become a metric."""

from .frob import FrobMetric
from .path import FrobMetricCV, frob_path
from .triplets import mine_triplets

__all__ = ["FrobMetric", "FrobMetricCV", "frob_path", "mine_triplets"]
