"""Labels and comparisons become a metric."""

from .boost import BoostMetric
from .compare import compare
from .comparison import Comparison
from .cv import FrobMetricCV
from .explanation import Explanation, SearchExplanation, explain_distance, explain_search
from .frob import FrobMetric
from .pairs import PairFrobMetric
from .path import frob_path
from .triplets import mine_triplets, triplets_from_pairs
from .tuples import QuadrupletFrobMetric, TripletFrobMetric

__all__ = [
    "BoostMetric",
    "Comparison",
    "Explanation",
    "FrobMetric",
    "FrobMetricCV",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "SearchExplanation",
    "TripletFrobMetric",
    "compare",
    "explain_distance",
    "explain_search",
    "frob_path",
    "mine_triplets",
    "triplets_from_pairs",
]
