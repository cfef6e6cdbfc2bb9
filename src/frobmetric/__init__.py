"""frobmetric learns distances, and proves that its answer is optimal."""

from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
from .metric import FrobMetric, FrobMetricCV, frob_path, mine_triplets
from .solvers import solve
from .ui.files import load, save

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CertificateError",
    "FrobMetric",
    "FrobMetricCV",
    "FrobeniusSDP",
    "NumericalError",
    "Solution",
    "certify",
    "frob_path",
    "load",
    "mine_triplets",
    "save",
    "solve",
]
