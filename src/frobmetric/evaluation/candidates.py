"""Candidates of a comparison: baselines, and models with a small grid of their options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

from .division import Division
from .models import is_fitted, name_of, scales_features
from .row import BASELINES, EUCLIDEAN

#: Baselines whose fits take as long as those of a metric.
ITERATIVE = ("nca",)
#: Largest n_samples² · max(n_features, 100) for NCA: some seconds a fit.
NCA_WORK = 2.5e8
#: Learners from labels that are not in the room of learners, by their names and rooms.
LEARNERS = {"FrobMetric": "metric", "FrobMetricCV": "metric", "BoostMetric": "metric"}
#: Those of them that learn from numbers too.
OF_NUMBERS = ("FrobMetric",)
#: Options to choose from besides the defaults, by the name of the learner.
GRIDS: dict[str, Any] = {
    "FrobMetric": [{"prior": ["within", "shrunk"]}, {"C": [10.0, 100.0, 1e4]}],
    "BoostMetric": {"C": [1e2, 1e3, 1e5]},
    "LMNN": {"regularization": [0.1, 0.5, 0.9]},
    "ITML_Supervised": {"gamma": [0.01, 1.0, 100.0]},
    "MMC_Supervised": {"diagonal": [False, True]},
    "SDML_Supervised": {"balance_param": [1e-2, 1e-3, 1e-4, 1e-5]},
    "LSML_Supervised": {"prior": ["identity", "covariance"]},
    "SCML_Supervised": {"beta": [1e-5, 1e-4, 1e-3]},
    "LFDA": {"embedding_type": ["weighted", "orthonormalized", "plain"]},
    "RCA_Supervised": {"chunk_size": [2, 4, 8]},
}
#: Learners whose problem is not convex, so that there is nothing to prove.
NOT_CONVEX = ("NCA", "MLKR", "NeighborhoodComponentsAnalysis")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method to compare: an estimator, and the settings that may be better than its own.

    The first of the `settings` is empty: the estimator as it is. A model that `is_ready` is not
    fitted again; of one that `has_rule`, its own answers are tested too. A method with an
    `obstacle` is left out for this reason.
    """

    key: str
    label: str
    model: Any
    settings: tuple[dict[str, Any], ...] = ({},)
    #: Name of the step of the model that has the options, with two underscores; empty if it is one.
    prefix: str = ""
    is_ready: bool = False
    has_rule: bool = False
    obstacle: str = ""

    def with_options(self, options: Mapping[str, Any]) -> Any:
        """Return a new model with these options."""
        if self.is_ready:
            return self.model
        named = {f"{self.prefix}{name}": value for name, value in options.items()}
        model = clone(self.model)
        return model.set_params(**named) if named else model  # frozen ones have no parameters

    @property
    def is_baseline(self) -> bool:
        """Whether this is one of the baselines."""
        return self.key in BASELINES

    @property
    def is_slow(self) -> bool:
        """Whether a fit takes long enough to be counted."""
        return not self.is_baseline or self.key in ITERATIVE

    @property
    def is_convex(self) -> bool:
        """Whether nothing is known against a proof of its answer."""
        metric = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        return type(metric).__name__ not in NOT_CONVEX


def make_baselines(
    keys: Sequence[str], division: Division, *, is_kernel: bool, random_state: Any
) -> list[Candidate]:
    """Return the baselines with these keys; what the data do not allow has an obstacle."""
    scaler = StandardScaler(with_mean=not issparse(division.numbers.X))
    models: dict[str, Any] = {
        "raw": FunctionTransformer(accept_sparse=True),
        "scaled": scaler,
        "lda": LinearDiscriminantAnalysis(),
        "nca": make_pipeline(scaler, NeighborhoodComponentsAnalysis(random_state=random_state)),
    }
    if is_kernel:  # all components: Euclid in the space of the kernel
        models["raw"] = KernelPCA(kernel="precomputed")
    return [
        Candidate(key, BASELINES[key], models[key], obstacle=_obstacle(key, division, is_kernel))
        for key in keys
    ]


def _obstacle(key: str, division: Division, is_kernel: bool) -> str:
    """Return the reason why a baseline cannot be measured on these data, or an empty text."""
    if is_kernel and key != "raw":
        return "X holds values of a kernel, and no features"
    if key in EUCLIDEAN:
        return ""
    if division.classes is None:
        return "y holds numbers, and no classes"
    if issparse(division.numbers.X):
        return "X is sparse"
    n_train, n_features = division.n_train, division.numbers.X.shape[1]
    if key == "nca" and n_train**2 * max(n_features, 100) > NCA_WORK:
        return f"{n_train} samples of {n_features} features would take it too long"
    return ""


def single_candidate(model: Any, *, has_test: bool, is_isolated: bool) -> Candidate:
    """Return the candidate of one estimator, which is used as it is."""
    check_estimator(type(model).__name__, model, has_test=has_test, is_isolated=is_isolated)
    is_ready = has_test and is_fitted(model)
    kinds = tuple(label_learners().values()) if is_isolated else ()
    grid = GRIDS.get(type(model).__name__, {}) if isinstance(model, kinds) else {}
    settings = _settings(type(model).__name__, model, grid)
    return Candidate("model", name_of(model), model, settings, is_ready=is_ready, has_rule=True)


def label_learners(*, has_classes: bool = True) -> dict[str, type[Any]]:
    """Return the learners from labels by name: from classes, or from numbers.

    They are looked up when they are asked for: those of `LEARNERS`, and every learner of the room
    `learners` whose `fit` takes y.
    """
    rooms = {room: import_module(f"frobmetric.{room}") for room in ("metric", "learners")}
    base = import_module("frobmetric.learners.learner").LabelLearner
    named = [getattr(rooms["learners"], name) for name in rooms["learners"].__all__]
    known: list[Any] = [k for k in named if inspect.isclass(k) and issubclass(k, base)]
    known = [kind for kind in known if "y" in inspect.signature(kind.fit).parameters]
    if has_classes:
        names, known = [*LEARNERS], [kind for kind in known if kind._has_classes]
    else:
        names = [*OF_NUMBERS]
        known = [kind for kind in known if not (kind._has_classes and kind._requires_y)]
    kinds = [*(getattr(rooms[LEARNERS[name]], name) for name in names), *known]
    return {kind.__name__: kind for kind in kinds}


def read_models(
    models: Sequence[Any] | None, *, has_classes: bool, is_sparse: bool, random_state: Any
) -> list[Candidate]:
    """Return the candidates that a user names or gives: all label learners if None."""
    known = label_learners(has_classes=has_classes)
    if models is not None and not models:
        raise ValueError(f"models is empty; expected some of {', '.join(known)}, or None for all")
    given = [_read(one, known, random_state) for one in (known if models is None else models)]
    names = _distinct([name for name, _, _ in given])
    return [
        _candidate(name, estimator, grid, is_sparse)
        for name, (_, estimator, grid) in zip(names, given, strict=True)
    ]


def _read(model: Any, known: Mapping[str, type[Any]], random_state: Any) -> tuple[str, Any, Any]:
    """Return name, estimator and grid of one entry."""
    if isinstance(model, str):
        if model not in known:
            raise ValueError(
                f"models has {model!r}, which is no learner for these labels; expected of "
                f"{', '.join(known)}, or an estimator"
            )
        estimator = known[model]()
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=random_state)
        return model, estimator, GRIDS.get(model, {})
    if isinstance(model, tuple):
        if len(model) != 3 or not isinstance(model[0], str):
            raise TypeError(f"models has {model!r}; expected (name, estimator, grid)")
        name, estimator, grid = model
    else:
        name, estimator, grid = type(model).__name__, model, {}
        if isinstance(model, Pipeline):
            name = type(model[-1]).__name__
        grid = GRIDS.get(name, {}) if isinstance(model, tuple(known.values())) else {}
    check_estimator(name, estimator, has_test=False, is_isolated=True)
    return name, estimator, grid


def check_estimator(name: str, model: Any, *, has_test: bool, is_isolated: bool) -> None:
    """Refuse what does not map samples, or does not learn from samples with labels."""
    if inspect.isclass(model) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        given = f"the class {model.__name__}" if inspect.isclass(model) else repr(model)
        raise TypeError(f"{name} is {given}; expected an estimator, such as FrobMetric()")
    is_chain = isinstance(model, Pipeline) and len(model) > 1
    if not hasattr(model, "transform") and not is_chain:
        raise TypeError(f"{name} has no `transform`; give a metric, or a pipeline with one")
    tags = get_tags(model).input_tags
    can_be_used = isinstance(model, FrozenEstimator) or (is_fitted(model) and has_test)
    if tags.three_d_array and not can_be_used:
        raise TypeError(
            f"{name} learns from tuples, not from labels, so it cannot be fitted here; give its "
            "_Supervised form, or fit it, and give FrozenEstimator(model), or X_test and y_test"
        )
    if tags.pairwise and is_isolated:
        raise TypeError(
            f"{name} takes values of a kernel; expected a model of samples with features, or one "
            "model alone without a budget"
        )


def _candidate(name: str, estimator: Any, grid: Any, is_sparse: bool) -> Candidate:
    """Return a candidate on scaled features, unless it scales them itself or is a pipeline."""
    settings = _settings(name, estimator, grid)
    is_whole = isinstance(estimator, Pipeline | FrozenEstimator) or scales_features(estimator)
    if is_whole:
        return Candidate(name, name, estimator, settings)
    model = make_pipeline(StandardScaler(with_mean=not is_sparse), estimator)
    return Candidate(name, name, model, settings, prefix=f"{model.steps[-1][0]}__")


def _settings(name: str, estimator: Any, grid: Any) -> tuple[dict[str, Any], ...]:
    """Return the settings of a grid that differ from the estimator, after an empty one."""
    own = estimator.get_params()
    settings: list[dict[str, Any]] = [{}]
    for setting in ParameterGrid(grid) if grid else []:
        unknown = sorted(set(setting) - set(own))
        if unknown:
            raise ValueError(
                f"the grid of {name!r} has {unknown[0]!r}, which is no parameter of "
                f"{type(estimator).__name__}; expected of {', '.join(own)}"
            )
        if any(repr(own[option]) != repr(value) for option, value in setting.items()):
            settings.append(setting)
    return tuple(settings)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, numbered where one is there several times."""
    taken = list(BASELINES)
    result: list[str] = []
    for name in names:
        number, new = 2, name
        while new in taken:
            new, number = f"{name} {number}", number + 1
        taken.append(new)
        result.append(new)
    return result
