"""frobmetric learns distances, and proves that its answer is optimal."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # every name is imported on first use: see _HOMES
    from . import comparisons as comparisons
    from . import core as core
    from . import embeddings as embeddings
    from . import evaluation as evaluation
    from . import export as export
    from . import learners as learners
    from . import learning as learning
    from . import manifold as manifold
    from . import metric as metric
    from . import model as model
    from . import neighbors as neighbors
    from . import plotting as plotting
    from . import sdp as sdp
    from . import solvers as solvers
    from .app.pages import report
    from .backends import RowFile
    from .comparisons import read_comparisons, write_comparisons
    from .core import FrobeniusSDP, certify
    from .embeddings import EmbeddingAdapter
    from .evaluation.compare import compare
    from .io import load, save
    from .learners import ITML, LMNN, NCA
    from .learning import mine_triplets, triplets_from_pairs
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
    "core": "FrobeniusSDP certify",
    "embeddings": "EmbeddingAdapter",
    "evaluation.compare": "compare",
    "io": "load save",
    "learners": "ITML LMNN NCA",
    "learning": "mine_triplets triplets_from_pairs",
    "manifold": "MaximumVarianceUnfolding neighborhood_quality",
    "metric": "BoostMetric FrobMetric FrobMetricCV PairFrobMetric "
    "QuadrupletFrobMetric TripletFrobMetric frob_path",
    "neighbors": "MarginalizedKNN NearestClass knn_error",
    "sdp": "nearest_correlation nearest_covariance read_sdpa solve_sdp",
    "solvers": "solve",
}
_LAZY = {name: home for home, names in _HOMES.items() for name in names.split()}
#: Rooms that are imported when they are first used; they have the names that are not here.
_ROOMS = (
    *("comparisons", "core", "embeddings", "evaluation", "export", "learners", "learning"),
    *("manifold", "metric", "model", "neighbors", "plotting", "sdp", "solvers"),
)

__all__ = [
    "ITML",
    "LMNN",
    "NCA",
    "BoostMetric",
    "EmbeddingAdapter",
    "FrobMetric",
    "FrobMetricCV",
    "FrobeniusSDP",
    "MarginalizedKNN",
    "MaximumVarianceUnfolding",
    "NearestClass",
    "PairFrobMetric",
    "QuadrupletFrobMetric",
    "RowFile",
    "TripletFrobMetric",
    "certify",
    "compare",
    "frob_path",
    "knn_error",
    "load",
    "mine_triplets",
    "nearest_correlation",
    "nearest_covariance",
    "neighborhood_quality",
    "read_comparisons",
    "read_sdpa",
    "report",
    "save",
    "solve",
    "solve_sdp",
    "triplets_from_pairs",
    "write_comparisons",
]


def __getattr__(name: str) -> Any:
    """Import a room, or a name of one, when it is first used."""
    if name in _LAZY:
        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    elif name in _ROOMS:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
