"""Labels and comparisons become a metric."""

from .boosting import BoostMetric
from .boosting_problem import p1_from_p2, p2_from_p1
from .comparison_formats import read_comparisons, write_comparisons
from .comparisons import QuadrupletFrobMetric, TripletFrobMetric
from .frob import FrobMetric
from .judging import accuracy_difference, comparison_accuracy, noise_ceiling
from .pair_triplets import triplets_from_pairs
from .pairs import PairFrobMetric
from .path import FrobMetricCV, frob_path
from .questions import count_contradictions, merge_comparisons
from .rules import NearestClass
from .splitting import ObjectSplit
from .thresholds import Roc, best_threshold, mean_roc
from .triplets import mine_triplets
from .verification import MarginalizedKNN

__all__ = [
    "BoostMetric",
    "FrobMetric",
    "FrobMetricCV",
    "MarginalizedKNN",
    "NearestClass",
    "ObjectSplit",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "Roc",
    "TripletFrobMetric",
    "accuracy_difference",
    "best_threshold",
    "comparison_accuracy",
    "count_contradictions",
    "frob_path",
    "mean_roc",
    "merge_comparisons",
    "mine_triplets",
    "noise_ceiling",
    "p1_from_p2",
    "p2_from_p1",
    "read_comparisons",
    "triplets_from_pairs",
    "write_comparisons",
]
