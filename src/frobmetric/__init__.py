"""frobmetric learns distances, and proves that its answer is optimal."""

from .bottleneck import InformationBottleneck
from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
from .metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    MarginalizedKNN,
    NearestClass,
    ObjectSplit,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
    accuracy_difference,
    comparison_accuracy,
    frob_path,
    mine_triplets,
    noise_ceiling,
    read_comparisons,
    triplets_from_pairs,
    write_comparisons,
)
from .solvers import solve
from .ui.files import load, save

__version__ = "0.1.0"

__all__ = [
    "BoostMetric",
    "Certificate",
    "CertificateError",
    "FrobMetric",
    "FrobMetricCV",
    "FrobeniusSDP",
    "InformationBottleneck",
    "MarginalizedKNN",
    "NearestClass",
    "NumericalError",
    "ObjectSplit",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "Solution",
    "TripletFrobMetric",
    "accuracy_difference",
    "certify",
    "comparison_accuracy",
    "frob_path",
    "load",
    "mine_triplets",
    "noise_ceiling",
    "read_comparisons",
    "save",
    "solve",
    "triplets_from_pairs",
    "write_comparisons",
]
