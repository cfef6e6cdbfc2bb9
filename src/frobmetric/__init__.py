"""frobmetric learns distances, and proves that its answer is optimal."""

from .bottleneck import InformationBottleneck
from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
from .metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    NearestClass,
    frob_path,
    mine_triplets,
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
    "NearestClass",
    "NumericalError",
    "Solution",
    "certify",
    "frob_path",
    "load",
    "mine_triplets",
    "save",
    "solve",
]
