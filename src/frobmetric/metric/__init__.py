"""Labels and comparisons become a metric."""

from .boost import BoostMetric
from .cv import FrobMetricCV
from .frob import FrobMetric
from .pairs import PairFrobMetric
from .path import frob_path
from .tuples import QuadrupletFrobMetric, TripletFrobMetric

__all__ = [
    "BoostMetric",
    "FrobMetric",
    "FrobMetricCV",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "TripletFrobMetric",
    "frob_path",
]
