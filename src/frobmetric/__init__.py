"""frobmetric learns distances, and proves that its answer is optimal."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # every name is imported on first use: see _HOMES
    from . import (
        comparisons,
        core,
        embeddings,
        evaluation,
        export,
        learners,
        learning,
        manifold,
        metric,
        model,
        neighbors,
        plotting,
        sdp,
        solvers,
    )
    from .app.pages import report
    from .backends import RowFile
    from .comparisons import read_comparisons, write_comparisons
    from .core import Certificate, CertificateError, FrobeniusSDP, NumericalError, Solution, certify
    from .embeddings import EmbeddingAdapter
    from .evaluation import (
        Comparison,
        ObjectSplit,
        accuracy_difference,
        comparison_accuracy,
        noise_ceiling,
    )
    from .evaluation.compare import compare
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
    from .learning import mine_triplets, triplets_from_pairs
    from .learning.constraints import Constraints, wrap_pairs
    from .manifold import MaximumVarianceUnfolding, neighborhood_quality
    from .metric import (
        BoostMetric,
        FrobMetric,
        FrobMetricCV,
        PairFrobMetric,
        QuadrupletFrobMetric,
        TripletFrobMetric,
        frob_path,
    )
    from .neighbors import MarginalizedKNN, NearestClass, knn_error
    from .sdp import nearest_correlation, nearest_covariance, read_sdpa, solve_sdp
    from .solvers import solve

__version__ = "0.1.0"

#: Modules, and the public names that are imported from them when they are first used.
_HOMES = {
    "app.pages": "report",
    "backends": "RowFile",
    "comparisons": "read_comparisons write_comparisons",
    "core": "Certificate CertificateError FrobeniusSDP NumericalError Solution certify",
    "embeddings": "EmbeddingAdapter",
    "evaluation": "Comparison ObjectSplit accuracy_difference comparison_accuracy noise_ceiling",
    "evaluation.compare": "compare",
    "export": "",
    "io": "load save",
    "learners": "Covariance GMML GMML_Supervised ITML ITML_Supervised LFDA LMNN LSML "
    "LSML_Supervised MLKR MMC MMC_Supervised NCA RCA RCA_Supervised SCML SCML_Supervised SDML "
    "SDML_Supervised",
    "learning": "mine_triplets triplets_from_pairs",
    "learning.constraints": "Constraints wrap_pairs",
    "manifold": "MaximumVarianceUnfolding neighborhood_quality",
    "metric": "BoostMetric FrobMetric FrobMetricCV PairFrobMetric QuadrupletFrobMetric "
    "TripletFrobMetric frob_path",
    "model": "",
    "neighbors": "MarginalizedKNN NearestClass knn_error",
    "plotting": "",
    "sdp": "nearest_correlation nearest_covariance read_sdpa solve_sdp",
    "solvers": "solve",
}
_LAZY = {name: home for home, names in _HOMES.items() for name in names.split()}

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
    "evaluation",
    "export",
    "frob_path",
    "knn_error",
    "learners",
    "learning",
    "load",
    "manifold",
    "metric",
    "mine_triplets",
    "model",
    "nearest_correlation",
    "nearest_covariance",
    "neighborhood_quality",
    "neighbors",
    "noise_ceiling",
    "plotting",
    "read_comparisons",
    "read_sdpa",
    "report",
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
    if name in _LAZY:
        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    elif name in _HOMES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
