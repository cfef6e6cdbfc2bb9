"""frobmetric learns distances, and proves that its answer is optimal."""

from .comparisons import (
    ObjectSplit,
    accuracy_difference,
    comparison_accuracy,
    noise_ceiling,
    read_comparisons,
    write_comparisons,
)
from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
from .io.models import load, save
from .metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
    frob_path,
    mine_triplets,
    triplets_from_pairs,
)
from .neighbors import MarginalizedKNN, NearestClass
from .solvers import solve

__version__ = "0.1.0"

__all__ = [
    "BoostMetric",
    "Certificate",
    "CertificateError",
    "FrobMetric",
    "FrobMetricCV",
    "FrobeniusSDP",
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
