"""Candidates of a comparison: learners by name or given, with a small grid of their options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

from ...learners.learner import LabelLearner
from ...metric import BoostMetric, FrobMetric, FrobMetricCV
from ..compare import LABELS

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
    """A learner to compare: an estimator, and the settings that may be better than its own.

    The first of the `settings` is empty: the estimator as it is.
    """

    key: str
    label: str
    model: Any
    settings: tuple[dict[str, Any], ...] = ({},)
    #: Name of the step of the model that has the options, with two underscores; empty if it is one.
    prefix: str = ""

    def with_options(self, options: Mapping[str, Any]) -> Any:
        """Return a new model with these options."""
        named = {f"{self.prefix}{name}": value for name, value in options.items()}
        return clone(self.model).set_params(**named)

    @property
    def is_convex(self) -> bool:
        """Whether nothing is known against a proof of its answer."""
        metric = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        return type(metric).__name__ not in NOT_CONVEX


def baselines(*, has_classes: bool, is_sparse: bool) -> list[Candidate]:
    """Return Euclid on raw and on scaled features, and for classes LDA."""
    models = {"raw": FunctionTransformer(accept_sparse=True), "scaled": _scaler(is_sparse)}
    if has_classes:
        models["lda"] = LinearDiscriminantAnalysis()
    return [Candidate(key, LABELS[key], model) for key, model in models.items()]


def label_learners(*, has_classes: bool = True) -> dict[str, type]:
    """Return the learners from labels by name: from classes, or from numbers.

    They are looked up when they are asked for: FrobMetric, FrobMetricCV, BoostMetric, and every
    learner of the room `learners` whose `fit` takes y.
    """
    from ... import learners

    named = [getattr(learners, name) for name in learners.__all__]
    known = [kind for kind in named if inspect.isclass(kind) and issubclass(kind, LabelLearner)]
    known = [kind for kind in known if "y" in inspect.signature(kind.fit).parameters]
    if has_classes:
        kinds = [FrobMetric, FrobMetricCV, BoostMetric, *(k for k in known if k._has_classes)]
    else:
        known = [kind for kind in known if not (kind._has_classes and kind._requires_y)]
        kinds = [FrobMetric, *known]
    return {kind.__name__: kind for kind in kinds}


def read_learners(
    learners: Sequence[Any] | None, *, has_classes: bool, is_sparse: bool, random_state: Any
) -> list[Candidate]:
    """Return the candidates that a user names or gives: all label learners if None."""
    known = label_learners(has_classes=has_classes)
    if isinstance(learners, str) or not (learners is None or isinstance(learners, Sequence)):
        raise TypeError(
            f"learners is {learners!r}; expected a list of names, of estimators or of (name, "
            f"estimator, grid); the names are {', '.join(known)}"
        )
    if learners is not None and not learners:
        raise ValueError(f"learners is empty; expected some of {', '.join(known)}, or None for all")
    given = [_read(one, known, random_state) for one in (known if learners is None else learners)]
    names = _distinct([name for name, _, _ in given])
    return [
        _candidate(name, estimator, grid, is_sparse)
        for name, (_, estimator, grid) in zip(names, given, strict=True)
    ]


def _read(learner, known, random_state):
    """Return name, estimator and grid of one entry."""
    if isinstance(learner, str):
        if learner not in known:
            raise ValueError(
                f"learners has {learner!r}, which is no learner for these labels; expected of "
                f"{', '.join(known)}, or an estimator"
            )
        estimator = known[learner]()
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=random_state)
        return learner, estimator, GRIDS.get(learner, {})
    if isinstance(learner, tuple):
        if len(learner) != 3 or not isinstance(learner[0], str):
            raise TypeError(f"learners has {learner!r}; expected (name, estimator, grid)")
        name, estimator, grid = learner
    else:
        name, estimator, grid = type(learner).__name__, learner, {}
        if isinstance(learner, Pipeline):
            name = type(learner[-1]).__name__
        grid = GRIDS.get(name, {}) if isinstance(learner, tuple(known.values())) else {}
    _check_estimator(name, estimator)
    return name, estimator, grid


def _check_estimator(name, estimator):
    missing = [m for m in ("fit", "transform", "get_params") if not hasattr(estimator, m)]
    if missing or inspect.isclass(estimator):
        given = f"the class {estimator.__name__}" if inspect.isclass(estimator) else repr(estimator)
        raise TypeError(
            f"learner {name!r} is {given}; expected an estimator with fit and transform, such as "
            "FrobMetric()"
        )
    tags = get_tags(estimator).input_tags
    if tags.three_d_array or tags.pairwise:
        what = "tuples" if tags.three_d_array else "values of a kernel"
        raise TypeError(
            f"learner {name!r} takes {what}; expected one that learns from samples with labels, "
            "such as its _Supervised form"
        )


def _candidate(name, estimator, grid, is_sparse):
    """Return a candidate on scaled features, unless it scales them itself or is a pipeline."""
    settings = _settings(name, estimator, grid)
    if isinstance(estimator, Pipeline) or scales_features(estimator):
        return Candidate(name, name, estimator, settings)
    model = make_pipeline(_scaler(is_sparse), estimator)
    return Candidate(name, name, model, settings, prefix=f"{model.steps[-1][0]}__")


def scales_features(estimator: Any) -> bool:
    """Return whether a learner chooses the units of its features itself."""
    return isinstance(estimator, FrobMetric)


def _settings(name, estimator, grid):
    """Return the settings of a grid that differ from the estimator, after an empty one."""
    own = estimator.get_params()
    settings = [{}]
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


def _scaler(is_sparse):
    return StandardScaler(with_mean=not is_sparse)


def _distinct(names):
    """Return the names, numbered where one is there several times."""
    taken = list(LABELS)
    result = []
    for name in names:
        number, new = 2, name
        while new in taken:
            new, number = f"{name} {number}", number + 1
        taken.append(new)
        result.append(new)
    return result
