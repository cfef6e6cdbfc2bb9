"""Path of metrics over C, each fit starting from the one before."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks.parameters import check_parameters
from ..core import FrobeniusSDP, certify
from ..core.checks import as_array, require_callable
from ..core.points import Array, Mask, Vector
from ..core.solution import Certificate, Solution
from ..learning.coordinates import Coordinates, as_components
from ..learning.options import RunOptions
from ..learning.problem import LOSSES, frobenius_problem
from ..learning.samples import Samples
from ..model.recipe import Recipe
from ..model.sets import TripletSet
from ..runtime.environment import limit_threads
from ..solvers import Interrupted, State, solve
from ..solvers.active_set import previous_optimum_ball, settled
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
    components: Array = field(repr=False)
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
    def Cs(self) -> Vector:  # noqa: N802 - the name of the parameter
        """Values of C, rising."""
        return np.array([point.C for point in self.points])

    def __repr__(self) -> str:
        return f"FrobPath(Cs={self.Cs.tolist()}, n_triplets={self.n_triplets})"


def frob_path(
    X: Any,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    Cs: ArrayLike = DEFAULT_CS,
    triplets: Any = None,
    n_neighbors: int = 3,
    n_impostors: int | None = None,
    units: str = "auto",
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
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows of X, as in `FrobMetric.fit`.
    Cs : sequence of float
        Values of C in any order; they are solved rising, repeated ones once.
    triplets, n_neighbors, n_impostors, units, loss, prior, pull, tol, max_iter, solver, n_jobs
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
    metric.set_params(units=units, loss=loss, prior=prior, pull=pull)
    metric.set_params(tol=tol, max_iter=max_iter, solver=solver)
    grid = check_grid(Cs)
    require_callable(callback, name="callback")
    check_parameters(metric, metric._rules)
    recipe, options = metric._recipe(), metric._options()
    samples = Samples.check(recipe, metric._reader(), X, y, sample_weight, triplets)
    with limit_threads(n_jobs):
        coordinates = samples.coordinates(recipe)
        triplets = samples.add_mined(samples.triplets, recipe, coordinates, n_jobs=n_jobs)
        return _follow(recipe, options, coordinates, triplets, grid, callback)


def _follow(
    recipe: Recipe,
    options: RunOptions,
    coordinates: Coordinates,
    triplets: TripletSet,
    grid: Vector,
    callback: Callable[..., Any] | None,
) -> FrobPath:
    """Solve at each C of the grid, starting from the last solution."""
    path, last = FrobPath([], triplets.n_triplets), None
    unit = frobenius_problem(coordinates, triplets, replace(recipe, C=1.0))
    try:
        for C in grid:
            began = time.perf_counter()
            loss = LOSSES[recipe.loss](C * triplets.share)
            problem = replace(unit, loss=loss, cost=C * unit.cost)
            ratio = C / path.points[-1].C if path.points else 1.0
            last, n_screened = _solve_next(options, problem, last, ratio)
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


def _solve_next(
    run: RunOptions, problem: FrobeniusSDP, last: Solution | None, ratio: float
) -> tuple[Solution, int]:
    """Solve from the last solution, all weights being `ratio` times larger.

    Also return the number of rows whose dual variables were known in advance.
    """
    options: dict[str, Any] = {"solver": run.solver, "tol": run.tol, "max_iter": run.max_iter}
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


def _screen(problem: FrobeniusSDP, last: Solution, ratio: float, u: Vector) -> Mask:
    """Write the dual variables that the last optimum settles to u; return a mask of them."""
    if ratio > SCREENED_RATIO:
        return np.zeros(len(u), dtype=bool)
    no_cost: Any = None
    # the cost grows with the weights: it acts as one more loss, not as a shift of the origin
    centre, radius = previous_optimum_ball(replace(problem, cost=no_cost), last, ratio)
    margins, norms = problem.constraints.forward(centre), problem.constraints.norms()
    is_settled, settled_u = settled(problem.loss, margins, radius * norms)
    u[is_settled] = settled_u[is_settled]
    return is_settled


def _path_point(
    C: float, coordinates: Coordinates, solution: Solution, n_screened: int, seconds: float
) -> PathPoint:
    rank, n_active = solution.point.rank, int(np.count_nonzero(solution.u))
    components = as_components(coordinates.to_features(solution.point.factor()), max(1, rank))
    return PathPoint(
        C=float(C),
        components=components,
        certificate=solution.certificate,
        status=solution.status,
        rank=rank,
        n_active=n_active,
        n_screened=n_screened,
        n_iter=solution.n_iter,
        seconds=seconds,
    )


def check_grid(values: Any) -> Vector:
    """Return values of C, rising and none twice; raise ValueError if one is not positive."""
    grid = np.unique(as_array(values, name="Cs").ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0):
        raise ValueError(f"Cs={values!r} must be positive finite numbers, at least one")
    return grid
