"""Baselines: every other method or program, with one interface for each of four kinds.

    METRIC[name].fit(X, y, triplets=, pairs=, queries=, parameters=, limit=, seed=, threads=)
        -> Fitted(L, seconds, detail, predictions, kernel), with transform(X)
    SDP[name].solve(path, tol=, limit=, threads=)
        -> SDPAnswer(status, X, y, Z, seconds, detail)
    EMBEDDING[name].embed(X, n_neighbors, n_components, limit, threads)
        -> Embedded(embedding, seconds, objective, certificate, spectrum, remark)
    MAP[name].fit(arrays, parameters, limit=, seed=, threads=)
        -> arrays, one for each of the parameter's strengths, and detail

All work in worker processes (`harness.worker`) and raise ProgramMissingError, TimeLimitError or
ProgramFailedError. Each has `name`, `label`, `paper_name`, `missing()`, `is_available()` and
`install()`; `frobmetric reproduce baselines [NAME ...]` installs what is missing.

A module of this package lists what it offers in `BASELINES`; to add a baseline is to add a file.
A classifier has `answers == "classes"`: give `fit` the samples to classify, e.g.
`queries={"validation": X}`, and read `fitted.predictions["validation"]`.
"""

from importlib import import_module
from pkgutil import iter_modules

from frobmetric.checks.parameters import InvalidParameterError

from ..harness.worker import ProgramFailedError, ProgramMissingError, TimeLimitError
from .base import Baseline, Fitted, MetricBaseline
from .embedding import Embedded, EmbeddingBaseline
from .maps import MapBaseline
from .sdp import SDPAnswer, SDPBaseline

_MODULES = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)]

#: Every baseline, in the order of the modules' names.
BASELINES = tuple(each for module in _MODULES for each in getattr(module, "BASELINES", ()))


def _by_name(kind):
    return {baseline.name: baseline for baseline in BASELINES if isinstance(baseline, kind)}


#: Baselines of each kind, by name.
METRIC, SDP, EMBEDDING, MAP = map(
    _by_name, (MetricBaseline, SDPBaseline, EmbeddingBaseline, MapBaseline)
)


def set_up(names=()):
    """Install what the baselines of these names need, or all; yield name and reason if absent."""
    known = list(dict.fromkeys(baseline.name for baseline in BASELINES))
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise InvalidParameterError(f"unknown baselines {unknown}; the known ones are {known}")
    for baseline in BASELINES:
        if not names or baseline.name in names:
            try:
                baseline.install()
                yield baseline.name, baseline.missing()
            except (ProgramFailedError, OSError) as error:
                yield baseline.name, str(error)


#: Names of the rows of the paper's table, in its order.
TABLE = ("euclid", "pca", "lda", "svm", "rca", "nca", "lmnn", "lmnn_matrix", "itml", "boost")
TABLE += ("frob", "frob_tuned", "frob_kernel", "frob_default", "frob_cv", "frob_cv_rule")

__all__ = ["BASELINES", "EMBEDDING", "MAP", "METRIC", "SDP", "TABLE", "set_up"]
__all__ += ["Baseline", "Embedded", "EmbeddingBaseline", "Fitted", "MapBaseline"]
__all__ += [
    "MetricBaseline",
    "ProgramFailedError",
    "ProgramMissingError",
    "SDPAnswer",
    "SDPBaseline",
]
__all__ += ["TimeLimitError"]
