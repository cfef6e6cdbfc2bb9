"""Labels and comparisons become a metric."""

from .boosting import BoostMetric
from .boosting_problem import p1_from_p2, p2_from_p1
from .frob import FrobMetric
from .path import FrobMetricCV, frob_path
from .rules import NearestClass
from .triplets import mine_triplets

__all__ = [
    "BoostMetric",
    "FrobMetric",
    "FrobMetricCV",
    "NearestClass",
    "frob_path",
    "mine_triplets",
    "p1_from_p2",
    "p2_from_p1",
]
