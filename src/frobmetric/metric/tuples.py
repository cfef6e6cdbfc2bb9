"""Metrics from comparisons: "a is closer to b than to c", "a and b are closer than c and d"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_signs, as_weights, check_both_kinds, says_nothing
from ..checks.parameters import CALLABLE, MATRIX, NONE, Rule, check_parameters, choice
from ..comparisons.merging import is_contradicted, near_first
from ..comparisons.reading import Tuples, column_names, read_tuples
from ..core import CertificateError
from ..core.points import Data, Index, Mask, Vector
from ..core.solution import Certificate, Solution
from ..core.warning import warn_user
from ..learning.coordinates import Coordinates, coordinates_of
from ..learning.learned import NO_DIRECTION, map_of_solution, warn_if_zero
from ..learning.options import RunOptions
from ..learning.problem import (
    KERNEL_RULES,
    PROBLEM_RULES,
    check_coordinates,
    frobenius_problem,
    learned_before,
    solve_frobenius,
)
from ..learning.prove import last_coordinates, prove
from ..model.fitted import Fitted
from ..model.linear_map import LinearMap, Source
from ..model.recipe import Recipe
from ..model.sets import GivenQuadruplets, GivenTriplets, is_same_set
from ..runtime.environment import limit_threads
from .base import FrobeniusEstimator, if_linear
from .predictors import QuadrupletPredictor, TripletPredictor

#: Rules of the parameters of learners from tuples.
TUPLE_RULES: dict[str, Rule] = {
    "preprocessor": MATRIX | CALLABLE | NONE,
    **PROBLEM_RULES,
    **KERNEL_RULES,
    "kernel": choice(["linear", "rbf", "polynomial"]),
}


@dataclass(frozen=True, eq=False)
class LabelledTuples:
    """Distinct points, and tuples of them with a label (+1 or -1) and a positive weight."""

    points: Data
    index: Index
    y: Index
    weight: Vector

    @classmethod
    def of(cls, tuples: Tuples, y: Index, weight: Vector) -> Self:
        """Return the tuples of positive weight, with only the points that they use.

        Tuples that say nothing, because points of them are equal, are left out with a warning.
        """
        is_void = says_nothing(tuples.index)
        if is_void.any():
            _warn_of_void(is_void)
        counts = (weight > 0) & ~is_void
        tuples = tuples.take(counts)
        if tuples.index.shape[1] == 2:
            check_both_kinds(y[counts])
        return cls(tuples.points, tuples.index, y[counts], weight[counts])


def _warn_of_void(is_void: Mask) -> None:
    """Warn of tuples with equal points; raise ValueError if there are no others."""
    first, n_void = int(np.argmax(is_void)), int(is_void.sum())
    if n_void == len(is_void):
        raise ValueError(
            f"all {n_void} tuples have equal points where they should differ, the first is "
            "tuples[0]; expected tuples of different points: no metric can tell equal points apart"
        )
    warn_user(
        f"{n_void} of {len(is_void)} tuples have equal points where they should differ, the first "
        f"is tuples[{first}]; they are left out, since no metric can tell equal points apart"
    )


def learn_from_tuples(
    recipe: Recipe,
    options: RunOptions,
    labelled: LabelledTuples,
    names: Any,
    arrange: Callable[..., Any],
    before: LinearMap | None = None,
    **problem: Any,
) -> tuple[LinearMap, Solution]:
    """Return the map learned from `LabelledTuples`, and the solution that it comes from.

    `names` are those of the features; `before` is the map that this one updates. `arrange` is a
    function (coordinates, labelled) -> (coordinates, rows of the problem), `problem` are further
    arguments of `frobenius_problem`.
    """
    points = labelled.points
    if points.shape[0] == 1:
        raise ValueError(
            "all points of the tuples are equal; there is no distance to learn from them"
        )
    earlier = {} if before is None else learned_before(before)
    with limit_threads(options.n_jobs):
        coordinates = check_coordinates(recipe, coordinates_of(recipe, points, **earlier))
        coordinates, rows = arrange(coordinates, labelled)
        posed = frobenius_problem(coordinates, rows, recipe, **problem)
        solution = solve_frobenius(posed, options)
    n_contradictions = int(is_contradicted(labelled.index, labelled.y, labelled.weight).sum())
    learned = map_of_solution(
        recipe,
        options,
        solution,
        coordinates,
        rows,
        features=(points.shape[1], names),
        dtype=points.dtype,
        source=Source(n_contradictions=n_contradictions),
        prior_components=earlier.get("prior_components"),
    )
    return learned, solution


def certify_tuples(
    learned: LinearMap,
    labelled: LabelledTuples,
    arrange: Callable[..., Any],
    *,
    exact: bool = False,
    **problem: Any,
) -> Certificate:
    """Return the certificate of a map; the parameters are those of `learn_from_tuples`.

    With `exact` it is verified in exact arithmetic.
    """
    coordinates, rows = arrange(last_coordinates(learned, labelled.points), labelled)
    comparisons = learned.proof.comparisons
    if not is_same_set(rows, comparisons):
        raise CertificateError(
            "these are not the comparisons that the metric was learned from; give those of the "
            "last fit in the same order, with their y and sample_weight"
        )
    posed = frobenius_problem(coordinates, comparisons, learned.problem[0], **problem)
    return prove(learned, posed, coordinates, exact=exact)


def refuse_fit_transform(self: Any, *tuples: Any, **others: Any) -> NoReturn:
    """Raise TypeError: `fit` takes tuples, and `transform` takes points."""
    raise TypeError(
        f"fit takes tuples and transform takes points, so {type(self).__name__} has no "
        "fit_transform; call fit(tuples), then transform(X)"
    )


class TupleEstimator(FrobeniusEstimator):
    """Map learned from tuples of points, or of indices of a preprocessor."""

    preprocessor: Any
    n_contradictions_ = Fitted[int]("source.n_contradictions")
    fit_transform = refuse_fit_transform

    @property
    def _preprocessor(self) -> Any:
        return self.preprocessor


class TripletFrobMetric(TripletPredictor, TupleEstimator):
    """Large-margin metric learning from triplets: the anchor is closer to near than to far.

    The problem, its solver and its certificate are those of `FrobMetric`. Contradictory
    comparisons are allowed: within the margin they cancel.

    Parameters
    ----------
    preprocessor : array-like, sparse matrix or callable, default=None
        Array whose row numbers triplets may hold, or a function from indices to points.
    C : float, default=1e4
        Weight of the triplets against the regulariser.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a triplet as a function of its margin.
    prior : {"covariance", "identity"} or ndarray, default=None
        Metric to stay close to, as in `FrobMetric`, by default zero.
    pull : float, default=0
        Weight of the distances of near pairs themselves.
    kernel : {"linear", "rbf", "polynomial"}, default="linear"
        Kernel whose feature space the metric is learned in.
    gamma : float, default=None
        Parameter of both kernels, as in `FrobMetric`; None is 1 / (n_features * variance).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial kernel.
    n_directions : int, default=None
        Number of leading directions of the points to work in, as in `FrobMetric`.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : str, default="auto"
        Method that solves the problem. Its name is one of `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each step; a true result ends the fit.

    Attributes
    ----------
    n_contradictions_ : int
        Number of comparisons that were also given the other way round.
    n_triplets_ : int
        Number of comparisons learned from.
    components_, certificate_, status_, history_, rank_, n_iter_, scale_, unit_, dual_coef_
        As in `FrobMetric`, and so are the other attributes of kernels and priors.
    triplets_ : GivenTriplets
        Comparisons as rows of distinct points, in an order of their own; only with `keep_dual`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import TripletFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> triplets = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 110]]
    >>> metric = TripletFrobMetric(preprocessor=X).fit(triplets)
    >>> metric.predict([[3, 4, 70], [3, 70, 4]])
    array([ 1, -1])
    """

    _rules: ClassVar[dict[str, Rule]] = TUPLE_RULES
    _kind: ClassVar[type] = GivenTriplets

    def __init__(
        self,
        *,
        preprocessor: Any = None,
        C: float = 1e4,
        n_components: int | str | None = None,
        loss: str = "hinge",
        prior: Any = None,
        pull: float = 0.0,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_directions: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.preprocessor, self.C, self.n_components = preprocessor, C, n_components
        self.loss, self.prior, self.pull = loss, prior, pull
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.n_directions, self.tol = n_directions, tol
        self.max_iter, self.solver = max_iter, solver
        self.keep_dual, self.n_jobs = keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    def fit(self, tuples: ArrayLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            Tuples of points, or of indices of the preprocessor: triplets (anchor, near, far), of
            size 3, or quadruplets (a, b, c, d), of size 4, in which a and b are the near ones.
        y : array-like of shape (n_tuples,), optional
            -1 where the comparison is the other way round, +1 otherwise.
        sample_weight : array-like of shape (n_tuples,), optional
            Weights of the tuples; a weight of 2 is the same as the comparison twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        return self._fit(self._read(tuples, y, sample_weight))

    @if_linear
    def partial_fit(self, tuples: ArrayLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the metric with new comparisons: the metric learned before is the prior.

        The certificate is that of the problem of the new comparisons with this prior. The larger
        `C`, the more they count. Without an earlier fit this is `fit`. Only metrics with
        `kernel="linear"` can be updated. The parameters are those of `fit`.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(tuples, y, sample_weight)
        check_parameters(self, self._rules)
        labelled = self._read(tuples, y, sample_weight, self.n_features_in_)
        return self._fit(labelled, self.map_)

    def certify(
        self, tuples: ArrayLike, y: Any = None, sample_weight: Any = None, *, exact: bool = False
    ) -> Certificate:
        """Prove again how good the metric is, from the tuples and the dual of the last fit.

        Return the `Certificate`; raise `CertificateError` if these are other tuples or labels.
        With `exact` it is verified in exact arithmetic, as that of `FrobMetric.certify`.
        """
        check_is_fitted(self)
        labelled = self._read(tuples, y, sample_weight, self.n_features_in_)
        return certify_tuples(self.map_, labelled, self._arrange, exact=exact)

    def _fit(self, labelled: LabelledTuples, before: LinearMap | None = None) -> Self:
        recipe, names = self._recipe(), column_names(self.preprocessor)
        learned, _ = learn_from_tuples(
            recipe, self._options(), labelled, names, self._arrange, before
        )
        warn_if_zero(learned, NO_DIRECTION)
        return self._accept(learned)

    def _read(
        self, tuples: Any, y: Any, sample_weight: Any, n_features: int | None = None
    ) -> LabelledTuples:
        """Return checked tuples with their labels."""
        read = read_tuples(tuples, self._size, self.preprocessor, n_features)
        weight = as_weights(sample_weight, len(read.index))
        y = as_signs(y, len(read.index))
        return LabelledTuples.of(read, y, weight)

    def _arrange(
        self, coordinates: Coordinates, labelled: LabelledTuples
    ) -> tuple[Coordinates, GivenTriplets]:
        """Return the comparisons as rows of the problem, the near pair first in each."""
        return coordinates, self._kind(near_first(labelled.index, labelled.y), labelled.weight)


class QuadrupletFrobMetric(QuadrupletPredictor, TripletFrobMetric):
    """Large-margin metric learning from quadruplets: a and b are closer than c and d.

    The methods and attributes are those of `TripletFrobMetric`, and so is the problem.

    Parameters
    ----------
    preprocessor : array-like, sparse matrix or callable, default=None
        Array whose row numbers quadruplets may hold, or a function from indices to points.
    C : float, default=1e4
        Weight of the quadruplets against the regulariser.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a quadruplet as a function of its margin.
    prior : {"covariance", "identity"} or ndarray, default=None
        Metric to stay close to, as in `FrobMetric`, by default zero.
    pull : float, default=0
        Weight of the distances of near pairs themselves.
    kernel : {"linear", "rbf", "polynomial"}, default="linear"
        Kernel whose feature space the metric is learned in.
    gamma : float, default=None
        Parameter of both kernels, as in `FrobMetric`; None is 1 / (n_features * variance).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial kernel.
    n_directions : int, default=None
        Number of leading directions of the points to work in, as in `FrobMetric`.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : str, default="auto"
        Method that solves the problem. Its name is one of `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each step; a true result ends the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import QuadrupletFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = QuadrupletFrobMetric(preprocessor=X).fit([[0, 1, 2, 60], [50, 51, 60, 110]])
    >>> metric.predict([[3, 4, 5, 70]])
    array([1])
    """

    _kind = GivenQuadruplets
