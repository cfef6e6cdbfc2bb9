"""The path of metrics over C, and the choice of C by held-out nearest-neighbour error."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets

from .._parameters import FOLDS, NUMBERS, Rule, check_parameters
from ..core import Certificate, certify
from ..neighbors.classification import knn_error
from ..solvers import State, solve
from ..solvers.active_set import previous_optimum_ball, settled
from ._base import limit_threads
from ._problem import LOSSES
from .coordinates import as_components
from .feature_maps import KERNEL_RULES
from .frob import FrobMetric
from .sets import as_triplets, concatenate
from .triplets import mine_triplets

#: Values of C between hardly learning and hardly regularising.
DEFAULT_CS = (1e1, 1e2, 1e3, 1e4, 1e5)
#: A step in C by more than this factor leaves screening too wide a ball to settle anything.
SCREENED_RATIO = 2.0
#: Share of the rows that screening must settle to be worth a smaller problem.
WORTHWHILE = 0.2


@dataclass(frozen=True)
class PathPoint:
    """The metric at one C, with its certificate and what it took."""

    C: float
    components: np.ndarray
    certificate: Certificate
    status: str
    rank: int
    n_active: int
    n_screened: int
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class FrobPath:
    """The metrics along rising values of C."""

    points: list[PathPoint]
    n_triplets: int

    @property
    def Cs(self):
        return np.array([point.C for point in self.points])


class PathInterrupted(KeyboardInterrupt):
    """Ctrl-C during a path; `path` has the points that were finished."""

    def __init__(self, path):
        super().__init__(f"interrupted after {len(path.points)} points of the path")
        self.path = path


def frob_path(
    X,
    y=None,
    Cs=DEFAULT_CS,
    *,
    triplets=None,
    n_neighbors=3,
    n_impostors=None,
    loss="hinge",
    prior=None,
    pull=0.0,
    tol=1e-3,
    max_iter=1000,
    solver="auto",
    callback=None,
    n_jobs=None,
):
    """Fit `FrobMetric` at each C, every fit started from the one before.

    Neighbours are searched once. A triplet whose dual variable is known at the new C, because the
    old optimum bounds how far the metric can move, is left out of the work.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Class labels; or give `triplets`, or both.
    Cs : sequence of float
        In any order; they are solved rising, repeated ones once.
    callback : callable, optional
        Called with each `PathPoint` when it is finished; a true answer ends the path there.
    triplets, n_neighbors, n_impostors, loss, prior, pull, tol, max_iter, solver, n_jobs
        As in `FrobMetric`.

    Returns
    -------
    FrobPath
        `components` are those of `FrobMetric` with n_components="rank".

    Raises
    ------
    PathInterrupted
        On Ctrl-C, with the finished points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import frob_path
    >>> path = frob_path(*load_iris(return_X_y=True), [1, 10, 100])
    >>> [point.status for point in path.points]
    ['optimal', 'optimal', 'optimal']
    """
    metric = FrobMetric(
        n_neighbors,
        n_impostors,
        loss=loss,
        prior=prior,
        pull=pull,
        tol=tol,
        max_iter=max_iter,
        solver=solver,
        n_jobs=n_jobs,
    )
    grid = _check_grid(Cs)
    X, y = metric._validate(X, y, triplets, None)
    with limit_threads(n_jobs):
        frame, given, mined = metric._frame(X, y), None, None
        if triplets is not None:
            given = as_triplets(triplets, X.shape[0])
        if y is not None:
            mined = mine_triplets(
                frame.Z, y, n_neighbors=n_neighbors, n_impostors=n_impostors, n_jobs=n_jobs
            )
        return _follow(metric, frame, concatenate(mined, given), grid, callback)


class FrobMetricCV(FrobMetric):
    """FrobMetric with C chosen by the k-NN error on held-out parts of the data.

    For each fold the path over C is learned on the rest (`frob_path`, one search for neighbours
    and warm starts) and judged by the error of a k-nearest-neighbour vote (k = `n_neighbors`) on
    the fold; the value with the smallest mean error, the smallest such value if several have it,
    is fitted to all data.

    Parameters
    ----------
    Cs : sequence of float
        The values to choose from, in any order.
    cv : int, splitter or iterable, default=3
        As in scikit-learn; folds are stratified for an int.
    **others
        All others are those of `FrobMetric`, without those of kernels, for which there is
        scikit-learn's GridSearchCV; `n_passes` counts for the final fit only.

    Attributes
    ----------
    C_ : float
        The chosen value.
    Cs_ : ndarray of shape (n_Cs,)
        The values tried, rising.
    cv_errors_ : ndarray of shape (n_Cs, n_folds)
        Held-out error of each.

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
        **{k: rule for k, rule in FrobMetric._rules.items() if k not in {"C", *KERNEL_RULES}},
    }

    def __init__(
        self,
        Cs=DEFAULT_CS,
        cv=3,
        n_neighbors=3,
        n_impostors=None,
        n_components=None,
        loss="hinge",
        prior=None,
        pull=0.0,
        n_passes=1,
        tol=1e-3,
        max_iter=1000,
        solver="auto",
        keep_dual=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.Cs = Cs
        self.cv = cv
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.n_components = n_components
        self.loss = loss
        self.prior = prior
        self.pull = pull
        self.n_passes = n_passes
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.keep_dual = keep_dual
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def C(self):
        """The chosen value, under the name that the fit itself uses."""
        return self.C_

    def fit(self, X, y=None):
        """Choose C on held-out parts of X, then learn the metric from all of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        with self._intact():
            self.Cs_ = _check_grid(self.Cs)
            samples, labels = self._validate_samples(X, reset=True, y=y, ensure_min_samples=2)
            check_classification_targets(labels)
            folds = check_cv(self.cv, labels, classifier=True).split(samples, labels)
            errors = [self._held_out_errors(samples, labels, *fold) for fold in folds]
            self.cv_errors_ = np.array(errors).T
            self.C_ = float(self.Cs_[self.cv_errors_.mean(axis=1).argmin()])
            return super().fit(X, y)

    def _held_out_errors(self, X, y, train, test):
        """The error of each C on the test part."""
        names = (
            "n_neighbors",
            "n_impostors",
            "loss",
            "prior",
            "pull",
            "tol",
            "max_iter",
            "solver",
            "n_jobs",
        )
        shared = {name: getattr(self, name) for name in names}
        path = frob_path(X[train], y[train], self.Cs_, **shared)
        k = min(self.n_neighbors, len(train))
        maps = (X @ point.components.T for point in path.points)
        options = {"n_neighbors": k, "n_jobs": self.n_jobs}
        return [knn_error(Z[train], y[train], Z[test], y[test], **options) for Z in maps]


def _follow(metric, frame, triplets, grid, callback):
    """Solve at each C of the grid, from the last answer."""
    path, last = FrobPath([], triplets.n_triplets), None
    problem = metric._problem(frame, triplets)
    pull = problem.cost / metric.C
    try:
        for C in grid:
            began = time.perf_counter()
            problem = replace(problem, loss=LOSSES[metric.loss](C * triplets.share), cost=C * pull)
            ratio = C / path.points[-1].C if path.points else None
            last, n_screened = _next(metric, problem, last, ratio)
            path.points.append(_point(C, frame, last, n_screened, time.perf_counter() - began))
            if callback is not None and callback(path.points[-1]):
                break
    except KeyboardInterrupt as interruption:
        raise PathInterrupted(path) from interruption
    return path


def _next(metric, problem, last, ratio):
    """The solution from the last one, all weights `ratio` times larger; rows that were screened."""
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
    """The rows whose u the last optimum tells; it is written to `u`."""
    if ratio > SCREENED_RATIO:
        return np.zeros(len(u), dtype=bool)
    # the cost is a pull that grows with the weights: one more loss, not a shift of the origin
    centre, radius = previous_optimum_ball(replace(problem, cost=None), last, ratio)
    margins, norms = problem.constraints.forward(centre), problem.constraints.norms()
    is_settled, known = settled(problem.loss, margins, radius * norms)
    u[is_settled] = known[is_settled]
    return is_settled


def _point(C, frame, solution, n_screened, seconds):
    rank = solution.point.rank
    return PathPoint(
        C=float(C),
        components=as_components(frame.in_features(solution.point.factor()), max(1, rank)),
        certificate=solution.certificate,
        status=solution.status,
        rank=rank,
        n_active=int(np.count_nonzero(solution.u)),
        n_screened=n_screened,
        n_iter=solution.n_iter,
        seconds=seconds,
    )


def _check_grid(values):
    grid = np.unique(np.asarray(values, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0):
        raise ValueError(f"Cs={values!r} must be positive finite numbers, at least one")
    return grid
