"""frobmetric learns distances, and proves that its answer is optimal."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .backends import RowFile
from .comparisons import (
    ObjectSplit,
    accuracy_difference,
    comparison_accuracy,
    noise_ceiling,
    read_comparisons,
    write_comparisons,
)
from .constraints import Constraints, wrap_pairs
from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
from .metric import (
    BoostMetric,
    Comparison,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
    frob_path,
    mine_triplets,
    triplets_from_pairs,
)
from .neighbors import MarginalizedKNN, NearestClass, knn_error
from .solvers import solve

if TYPE_CHECKING:  # names that are imported on first use
    from . import embeddings, learners, manifold, plotting, sdp
    from .embeddings import EmbeddingAdapter
    from .io import load, save
    from .learners import (
        GMML,
        ITML,
        LFDA,
        LMNN,
        LSML,
        MLKR,
        MMC,
        NCA,
        RCA,
        SCML,
        SDML,
        Covariance,
        GMML_Supervised,
        ITML_Supervised,
        LSML_Supervised,
        MMC_Supervised,
        RCA_Supervised,
        SCML_Supervised,
        SDML_Supervised,
    )
    from .learners.comparing import LearnersComparison, compare
    from .manifold import MaximumVarianceUnfolding, neighborhood_quality
    from .sdp import nearest_correlation, nearest_covariance, read_sdpa, solve_sdp

__version__ = "0.1.0"

#: Names that are imported when they are first used, and their rooms.
_LAZY = {
    "Covariance": "learners",
    "GMML": "learners",
    "GMML_Supervised": "learners",
    "ITML": "learners",
    "ITML_Supervised": "learners",
    "LFDA": "learners",
    "LMNN": "learners",
    "LSML": "learners",
    "LSML_Supervised": "learners",
    "MLKR": "learners",
    "MMC": "learners",
    "MMC_Supervised": "learners",
    "NCA": "learners",
    "RCA": "learners",
    "RCA_Supervised": "learners",
    "SCML": "learners",
    "SCML_Supervised": "learners",
    "SDML": "learners",
    "SDML_Supervised": "learners",
    "EmbeddingAdapter": "embeddings",
    "LearnersComparison": "learners.comparing",
    "MaximumVarianceUnfolding": "manifold",
    "compare": "learners.comparing",
    "embeddings": None,
    "io": None,
    "learners": None,
    "load": "io",
    "nearest_correlation": "sdp",
    "nearest_covariance": "sdp",
    "neighborhood_quality": "manifold",
    "read_sdpa": "sdp",
    "save": "io",
    "sdp": None,
    "solve_sdp": "sdp",
    "manifold": None,
    "plotting": None,
}

__all__ = [
    "GMML",
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "BoostMetric",
    "Certificate",
    "CertificateError",
    "Comparison",
    "Constraints",
    "Covariance",
    "EmbeddingAdapter",
    "FrobMetric",
    "FrobMetricCV",
    "FrobeniusSDP",
    "GMML_Supervised",
    "ITML_Supervised",
    "LSML_Supervised",
    "LearnersComparison",
    "MMC_Supervised",
    "MarginalizedKNN",
    "MaximumVarianceUnfolding",
    "NearestClass",
    "NumericalError",
    "ObjectSplit",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "RCA_Supervised",
    "RowFile",
    "SCML_Supervised",
    "SDML_Supervised",
    "Solution",
    "TripletFrobMetric",
    "accuracy_difference",
    "certify",
    "compare",
    "comparison_accuracy",
    "comparisons",
    "core",
    "embeddings",
    "frob_path",
    "knn_error",
    "learners",
    "load",
    "manifold",
    "metric",
    "mine_triplets",
    "nearest_correlation",
    "nearest_covariance",
    "neighborhood_quality",
    "neighbors",
    "noise_ceiling",
    "plotting",
    "read_comparisons",
    "read_sdpa",
    "save",
    "sdp",
    "solve",
    "solve_sdp",
    "solvers",
    "triplets_from_pairs",
    "wrap_pairs",
    "write_comparisons",
]


def __getattr__(name: str) -> Any:
    """Import a room, or a name of one, when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f".{_LAZY[name] or name}", __name__)
    return getattr(room, name) if _LAZY[name] else room


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
