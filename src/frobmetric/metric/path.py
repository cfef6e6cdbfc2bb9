"""Path of metrics over C, and the choice of C by held-out nearest-neighbour error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from .._parameters import FOLDS, NUMBERS, Rule, check_parameters
from ..core import Certificate, certify
from ..neighbors.classification import knn_error
from ..solvers import Interrupted, State, solve
from ..solvers.active_set import previous_optimum_ball, settled
from ._base import LABEL_RULES, Samples, limit_threads
from ._problem import LOSSES, PROBLEM_RULES
from .coordinates import as_components, coordinates_of
from .frob import FrobMetric

#: Values of C between hardly learning and hardly regularising.
DEFAULT_CS = (1e1, 1e2, 1e3, 1e4, 1e5)
#: Largest ratio of two values of C at which screening is tried; above it the ball is too wide.
SCREENED_RATIO = 2.0
#: Share of the rows that screening must settle to be worth a smaller problem.
WORTHWHILE = 0.2


@dataclass(frozen=True)
class PathPoint:
    """Metric at one value of C, with its certificate and the work that it took."""

    C: float
    components: np.ndarray = field(repr=False)
    certificate: Certificate
    status: str
    rank: int
    n_active: int
    n_screened: int
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class FrobPath:
    """Metrics along rising values of C."""

    points: list[PathPoint]
    n_triplets: int

    @property
    def Cs(self):  # noqa: N802 - the name of the parameter
        """Values of C, rising."""
        return np.array([point.C for point in self.points])

    def __repr__(self):
        return f"FrobPath(Cs={self.Cs.tolist()}, n_triplets={self.n_triplets})"


def frob_path(
    X: Any,
    y: ArrayLike | None = None,
    *,
    Cs: ArrayLike = DEFAULT_CS,
    triplets: Any = None,
    n_neighbors: int = 3,
    n_impostors: int | None = None,
    loss: str = "hinge",
    prior: Any = None,
    pull: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    solver: str = "auto",
    n_jobs: int | None = None,
    callback: Callable[..., Any] | None = None,
) -> FrobPath:
    """Fit `FrobMetric` at each value of C, every fit starting from the one before.

    Neighbours are searched once. A triplet whose dual variable is known at the new C, because the
    old optimum bounds how far the metric can move, is left out of the work.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Class labels; or give `triplets`, or both.
    Cs : sequence of float
        Values of C in any order; they are solved rising, repeated ones once.
    triplets, n_neighbors, n_impostors, loss, prior, pull, tol, max_iter, solver, n_jobs
        As in `FrobMetric`.
    callback : callable, optional
        Function called with each finished `PathPoint`; a true result ends the path there.

    Returns
    -------
    FrobPath
        `components` are those of `FrobMetric` with n_components="rank".

    Raises
    ------
    Interrupted
        On Ctrl-C, if a point was finished; its `solution` is the path with the finished points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import frob_path
    >>> path = frob_path(*load_iris(return_X_y=True), Cs=[1, 10, 100])
    >>> [point.status for point in path.points]
    ['optimal', 'optimal', 'optimal']
    """
    metric = FrobMetric(n_neighbors=n_neighbors, n_impostors=n_impostors, n_jobs=n_jobs)
    metric.set_params(loss=loss, prior=prior, pull=pull, tol=tol, max_iter=max_iter, solver=solver)
    grid = _check_grid(Cs)
    check_parameters(metric, metric._rules)
    samples = Samples.check(metric, X, y, triplets)
    with limit_threads(n_jobs):
        coordinates = coordinates_of(metric, samples.X, samples.y)
        triplets = samples.comparisons(metric, coordinates)
        return _follow(metric, coordinates, triplets, grid, callback)


class FrobMetricCV(FrobMetric):
    """FrobMetric with C chosen by the nearest-neighbour error on held-out parts of the data.

    For each fold the path over C is learned on the rest (`frob_path`, one search for neighbours
    and warm starts) and evaluated by the error of a k-nearest-neighbour vote (k = `n_neighbors`)
    on the fold. The value with the smallest mean error, the smallest such value if there are
    several, is fitted to all data. To choose parameters of kernels use scikit-learn's GridSearchCV.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of nearest samples of the same class that each sample is compared with.
    n_impostors : int, default=None
        The same number for samples of other classes; None is `n_neighbors`.
    Cs : sequence of float, default=(10, 100, 1e3, 1e4, 1e5)
        Values to choose from, in any order.
    cv : int, splitter or iterable, default=3
        Folds as in scikit-learn; they are stratified for an int.
    n_components : int or "rank", default=None
        Number of leading directions in `components_`: all if None, the metric's rank if "rank".
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a triplet as a function of its margin.
    prior : {"within", "discriminant", "covariance", "identity"} or ndarray, default=None
        Metric to stay close to, as in `FrobMetric`; zero if None.
    pull : float, default=0
        Weight of the distances of near pairs themselves.
    n_passes : int, default=1
        Number of searches for neighbours in the final fit, as in `FrobMetric`.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : str, default="auto"
        Name of a method in `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep `dual_coef_` and `triplets_`, so that `certify` can prove the result again.
    n_jobs : int, default=None
        Limit on threads; None leaves the choice to the numerical libraries.
    verbose : int, default=0
        Number of steps of the final fit between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each step of the final fit; a true result ends it.

    Attributes
    ----------
    C_ : float
        Chosen value.
    Cs_ : ndarray of shape (n_Cs,)
        Values tried, rising.
    cv_errors_ : ndarray of shape (n_Cs, n_folds)
        Held-out error of each value.
    components_, certificate_, status_, history_, rank_, n_iter_, n_triplets_, scale_
        As in `FrobMetric`, and so are the other attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetricCV
    >>> X, y = load_iris(return_X_y=True)
    >>> FrobMetricCV(Cs=[1, 10, 100]).fit(X, y).cv_errors_.shape
    (3, 3)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "Cs": NUMBERS,
        "cv": FOLDS,
        **LABEL_RULES,
        **{name: rule for name, rule in PROBLEM_RULES.items() if name != "C"},
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        n_impostors: int | None = None,
        Cs: ArrayLike = DEFAULT_CS,
        cv: Any = 3,
        n_components: int | str | None = None,
        loss: str = "hinge",
        prior: Any = None,
        pull: float = 0.0,
        n_passes: int = 1,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_neighbors, self.n_impostors, self.n_passes = n_neighbors, n_impostors, n_passes
        self.Cs, self.cv, self.n_components = Cs, cv, n_components
        self.loss, self.prior, self.pull = loss, prior, pull
        self.tol, self.max_iter, self.solver = tol, max_iter, solver
        self.keep_dual, self.n_jobs = keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    @property
    def C(self) -> float:  # type: ignore[override]  # noqa: N802 - the name of the parameter
        """Chosen value, under the name that updates and `certify` use."""
        return self.C_

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Choose C on held-out parts of X, then learn the metric from all of it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        grid = _check_grid(self.Cs)
        samples = Samples.check(self, X, y)
        folds = check_cv(self.cv, samples.y, classifier=True).split(samples.X, samples.y)
        of_folds = [self._held_out_errors(samples, grid, *fold) for fold in folds]
        errors = np.array(of_folds).T
        C = float(grid[errors.mean(axis=1).argmin()])
        return self._fit(samples, C, C_=C, Cs_=grid, cv_errors_=errors)

    def _held_out_errors(self, samples, grid, train, test):
        """Return the error of each C on the test part."""
        X, y = samples.X, samples.y
        own = ("Cs", "cv", "n_components", "n_passes", "keep_dual", "verbose", "callback")
        options = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        path = frob_path(X[train], y[train], Cs=grid, **options)
        k = min(self.n_neighbors, len(train))
        maps = (X @ point.components.T for point in path.points)
        options = {"n_neighbors": k, "n_jobs": self.n_jobs}
        return [knn_error(Z[train], y[train], Z[test], y[test], **options) for Z in maps]


def _follow(metric, coordinates, triplets, grid, callback):
    """Solve at each C of the grid, starting from the last solution."""
    path, last = FrobPath([], triplets.n_triplets), None
    unit = metric._problem(coordinates, triplets, 1.0)
    try:
        for C in grid:
            began = time.perf_counter()
            loss = LOSSES[metric.loss](C * triplets.share)
            problem = replace(unit, loss=loss, cost=C * unit.cost)
            ratio = C / path.points[-1].C if path.points else None
            last, n_screened = _solve_next(metric, problem, last, ratio)
            seconds = time.perf_counter() - began
            path.points.append(_path_point(C, coordinates, last, n_screened, seconds))
            if callback is not None and callback(path.points[-1]):
                break
    except KeyboardInterrupt as interruption:
        if not path.points:
            raise
        message = f"interrupted after {len(path.points)} points of the path"
        raise Interrupted(path, message) from interruption
    return path


def _solve_next(metric, problem, last, ratio):
    """Solve from the last solution, all weights being `ratio` times larger.

    Also return the number of rows whose dual variables were known in advance.
    """
    options = {"solver": metric.solver, "tol": metric.tol, "max_iter": metric.max_iter}
    if last is None:
        return solve(problem, **options), 0
    u = last.u * ratio
    is_settled = _screen(problem, last, ratio, u)
    if is_settled.mean() < WORTHWHILE:
        return solve(problem, start=State(u=u), **options), 0
    rows = np.flatnonzero(~is_settled)
    rest = problem.restrict(rows, u, problem.cost - problem.constraints.adjoint(u))
    solution = solve(rest, start=State(u=u[rows]), **options)
    u[rows] = solution.u
    certificate = certify(problem, solution.point, u)
    return replace(solution, u=u, certificate=certificate), int(is_settled.sum())


def _screen(problem, last, ratio, u):
    """Write the dual variables that the last optimum settles to u; return a mask of them."""
    if ratio > SCREENED_RATIO:
        return np.zeros(len(u), dtype=bool)
    # the cost grows with the weights: it acts as one more loss, not as a shift of the origin
    centre, radius = previous_optimum_ball(replace(problem, cost=None), last, ratio)
    margins, norms = problem.constraints.forward(centre), problem.constraints.norms()
    is_settled, settled_u = settled(problem.loss, margins, radius * norms)
    u[is_settled] = settled_u[is_settled]
    return is_settled


def _path_point(C, coordinates, solution, n_screened, seconds):
    rank, n_active = solution.point.rank, int(np.count_nonzero(solution.u))
    components = as_components(coordinates.to_features(solution.point.factor()), max(1, rank))
    result = {name: getattr(solution, name) for name in ("certificate", "status", "n_iter")}
    work = {"n_active": n_active, "n_screened": n_screened, "seconds": seconds}
    return PathPoint(C=float(C), components=components, rank=rank, **result, **work)


def _check_grid(values):
    grid = np.unique(np.asarray(values, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0):
        raise ValueError(f"Cs={values!r} must be positive finite numbers, at least one")
    return grid
