"""Comparison of one model with baselines, or of learners with each other, on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...checks.arguments import check_count
from ..compare import compare as compare_model
from ..comparison import Comparison
from .candidates import baselines as make_baselines
from .candidates import read_learners
from .division import divide
from .evaluation import Vote
from .race import ComparisonProgress, InterruptedComparison, Run
from .table import LearnerRow, LearnersComparison

__all__ = [
    "ComparisonProgress",
    "InterruptedComparison",
    "LearnerRow",
    "LearnersComparison",
    "compare",
    "compare_learners",
]


@overload
def compare(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    X_test: Any = ...,
    y_test: ArrayLike | None = ...,
    n_neighbors: int = ...,
    random_state: Any = ...,
    cv: Any = ...,
    baselines: Sequence[str] = ...,
) -> Comparison: ...


@overload
def compare(
    X: Any,
    y: ArrayLike,
    *,
    X_test: Any = ...,
    y_test: ArrayLike | None = ...,
    n_neighbors: int = ...,
    random_state: Any = ...,
    learners: Sequence[Any] | None = ...,
    test_size: float | int = ...,
    budget: float = ...,
    callback: Callable[[ComparisonProgress], Any] | None = ...,
) -> LearnersComparison: ...


def compare(
    *data: Any,
    model: Any = None,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    n_neighbors: int = 3,
    random_state: Any = 0,
    cv: Any = None,
    baselines: Sequence[str] | None = None,
    learners: Sequence[Any] | None = None,
    test_size: float | int | None = None,
    budget: float | None = None,
    callback: Callable[..., Any] | None = None,
) -> Comparison | LearnersComparison:
    """Measure whether a metric helps, or which of many learners does.

    ``compare(model, X, y)`` tests one model beside Euclid, LDA and NCA, by cross-validation or on
    test samples; `frobmetric.evaluation.compare.compare` describes it.

    ``compare(X, y)`` tests many learners on held-out samples. Each learner has `budget` seconds on
    the training samples alone: it is fitted as it is, then a few other settings of its options are
    tried by the errors on folds of the training samples, and a better one is fitted again. A fit
    that is not done in time is ended, and the last complete answer counts. Learners other than
    FrobMetric, which scales features itself, get features divided by their standard deviations.

    Parameters
    ----------
    data : model, X and y, or X and y
        They can also be given by name.
    model : estimator
        A metric, a transformer, or a pipeline with one of them; only ``compare(model, X, y)``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels; for learners also numbers, which neighbours then predict by their mean.
    X_test : {array-like, sparse matrix} of shape (n_test, n_features), optional
        Held-out samples; without them a part of X is held out.
    y_test : array-like of shape (n_test,), optional
        Their labels.
    n_neighbors : int, default=3
        Number of neighbours that predict a sample.
    random_state : int, RandomState instance or None, default=0
        Seed of the division, and of the learners given by name.
    cv : int, splitter or iterable, default=5
        Folds; only ``compare(model, X, y)``.
    baselines : sequence of str, default=("raw", "scaled", "lda", "nca")
        Methods to compare a model with; only ``compare(model, X, y)``.
    learners : list, default=None
        Names of learners, estimators with `transform`, or tuples (name, estimator, grid) with a
        grid as in scikit-learn's `ParameterGrid`. None is every learner that takes such labels. A
        pipeline is used as it is, without scaling.
    test_size : float or int, default=0.3
        Share or number of samples to hold out, with every class in proportion.
    budget : float, default=60
        Seconds that each learner may take for all its fits, without the start of the process in
        which they run.
    callback : callable, default=None
        Function called with a `ComparisonProgress` several times a second; a true result ends the
        comparison, and the rows so far are returned.

    Returns
    -------
    Comparison or LearnersComparison

    Raises
    ------
    InterruptedComparison
        After Ctrl-C, within a second; its `comparison` has the rows so far. It is a
        KeyboardInterrupt, so nothing else catches it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from frobmetric import compare
    >>> result = compare(*load_wine(return_X_y=True), learners=["FrobMetric", "Covariance"])
    >>> [row.key for row in result.rows]
    ['raw', 'scaled', 'lda', 'FrobMetric', 'Covariance']
    >>> result.error(result["FrobMetric"]) < result.error(result["raw"])
    True
    """
    model, X, y = _read_data(data, {"model": model, "X": X, "y": y})
    common: dict[str, Any] = {"X_test": X_test, "y_test": y_test, "n_neighbors": n_neighbors}
    common["random_state"] = random_state
    of_model = {"cv": cv, "baselines": baselines}
    of_learners: dict[str, Any] = {"learners": learners, "test_size": test_size, "budget": budget}
    of_learners["callback"] = callback
    if model is None:
        options = _given(of_learners, of_model, "compare(X, y)")
        return compare_learners(X, y, **common, **options)
    options = _given(of_model, of_learners, "compare(model, X, y)")
    return compare_model(model, X, y, **common, **options)


def compare_learners(
    X: Any,
    y: ArrayLike,
    *,
    learners: Sequence[Any] | None = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    test_size: float | int = 0.3,
    n_neighbors: int = 3,
    budget: float = 60.0,
    random_state: Any = 0,
    callback: Callable[[ComparisonProgress], Any] | None = None,
) -> LearnersComparison:
    """Compare learners on held-out samples: ``compare(X, y)``, where the parameters are described.

    Parameters
    ----------
    X, y, learners, X_test, y_test, test_size, n_neighbors, budget, random_state, callback
        As in `compare`.
    """
    _check_options(n_neighbors, budget, (X_test is None, y_test is None))
    evaluation, division, notes = divide(
        (X, y), (X_test, y_test), test_size, n_neighbors, random_state
    )
    kind = {"has_classes": isinstance(evaluation, Vote), "is_sparse": sp.issparse(division.X)}
    candidates = make_baselines(**kind)
    candidates += read_learners(learners, **kind, random_state=random_state)
    run = Run(candidates, division, evaluation, float(budget), callback, notes)
    run.measure()
    return run.comparison()


# Arguments


def _read_data(data, named):
    """Return model, X and y; the model is None for a comparison of learners."""
    names = ["X", "y"] if len(data) + _count(named) == 2 else ["model", "X", "y"]
    free = [name for name in names if named[name] is None]
    if len(data) != len(free) or (len(names) == 2 and named["model"] is not None):
        given = len(data) + _count(named)
        raise TypeError(
            f"compare got {given} of model, X and y; expected compare(model, X, y) for one model, "
            "or compare(X, y) for learners"
        )
    named = named | dict(zip(free, data, strict=True))
    is_model = [hasattr(named[name], "get_params") for name in ("model", "X")]
    if is_model[1] or (len(names) == 3 and not is_model[0]):
        raise TypeError(
            f"compare got {type(named['X']).__name__} as X and {type(named['model']).__name__} as "
            "model; expected compare(model, X, y), or compare(X, y, learners=[...])"
        )
    return named["model"], named["X"], named["y"]


def _count(named):
    return sum(value is not None for value in named.values())


def _given(options, others, form):
    """Return the options that were given; refuse those of the other form."""
    wrong = [name for name, value in others.items() if value is not None]
    if wrong:
        raise TypeError(
            f"compare got {wrong[0]}, which {form} does not take; expected of {', '.join(options)}"
        )
    return {name: value for name, value in options.items() if value is not None}


def _check_options(n_neighbors, budget, is_missing):
    check_count(n_neighbors, name="n_neighbors")
    if isinstance(budget, bool) or not isinstance(budget, Real) or not 0 < budget < np.inf:
        raise ValueError(f"budget is {budget!r}; expected a number of seconds above 0")
    if any(is_missing) and not all(is_missing):
        raise ValueError("X_test and y_test belong together; give both of them, or none")
