"""Semismooth Newton with conjugate gradients on the dual: the finish for tight tolerances.

The gradient of the dual has kinks where S has a zero eigenvalue, but a generalised derivative V
everywhere; near the optimum a handful of steps that solve V h = gradient are enough.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.cg import conjugate_gradients
from ..core.problem import Evaluation, FrobeniusSDP
from ..core.types import Vector
from .monitor import Monitor, State
from .quasi_newton import quasi_newton
from .vectors import choose, clip, dot

#: Relative error from which Newton's method is tried on losses that can be paid.
NEAR = 1e-4
#: Products with V in one Newton step.
MOST_PRODUCTS = 300
#: Share of the predicted ascent that a step must reach (Armijo).
SUFFICIENT = 1e-4
#: Relative accuracy of a Newton step far from the optimum.
ROUGHEST = 0.05
#: Relative accuracy of a step for which products in single precision will do.
SINGLE = 1e-4
#: Halvings of a step before the first-order method takes over again.
MOST_HALVINGS = 8

#: Doublings of a step on the way to where the dual bends.
MOST_DOUBLINGS = 60

#: Told every u that was tried, and what was found there; a true answer ends the climb.
Record = Callable[[Vector, Evaluation], bool]
#: How accurately the step from here is to be computed, relative to the gradient.
Accuracy = Callable[[Evaluation], float]
#: Asked during long work; a true answer ends it as it is.
Enough = Callable[[], bool]


def newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual: first order to the neighbourhood of the optimum, then Newton.

    Hard rows have no plateaus, so with them Newton is tried from the start.
    """
    near, norms2 = NEAR, problem.constraints.norms() ** 2

    def accuracy(found: Evaluation) -> float:
        return _accuracy(found.error, monitor.tol)

    if problem.loss.is_hard:
        u = state.dual(problem)
        found = problem.evaluate(u)
        if not monitor.record(u, found):
            u, found = off_the_plane(problem, u, found, norms2, monitor.record)
        if not monitor.status:
            climb(problem, u, found, norms2, monitor.record, accuracy)
        state = monitor.state
    while not monitor.status:
        first = monitor.phase(near)
        state = quasi_newton(problem, state, first)
        if first.status == "stalled":
            monitor.status = "stalled"
        if first.best is not None and not monitor.status:
            climb(problem, state.dual(problem), first.best, norms2, monitor.record, accuracy)
        state, near = monitor.state, near / 30
    return monitor.state


def off_the_plane(
    problem: FrobeniusSDP, u: Vector, found: Evaluation, norms2: Vector, record: Record
) -> tuple[Vector, Evaluation]:
    """Where S has no positive part the dual is a plane and V zero: go uphill until it bends."""
    step = found.gradient / (problem.sigma * choose(norms2 > 0, norms2, 1.0))
    for _ in range(MOST_DOUBLINGS):
        if found.point.rank:
            break
        u = clip(u + step, problem.loss.lower, problem.loss.upper)
        found = problem.evaluate(u)
        if record(u, found):
            break
        step = 2 * step
    return u, found


def _accuracy(error: float, tol: float) -> float:
    """As accurate as the error is small, but not more than it takes to arrive at `tol`."""
    return max(min(ROUGHEST, error), min(ROUGHEST, 0.1 * tol / max(error, tol)))


def climb(
    problem: FrobeniusSDP,
    u: Vector,
    found: Evaluation,
    norms2: Vector,
    record: Record,
    accuracy: Accuracy,
    enough: Enough = lambda: False,
) -> tuple[Vector, Evaluation]:
    """Newton steps from u until `record` ends them or none leads further up.

    `norms2` are the squared norms of the rows.
    """
    while True:
        step = _step(problem, u, found, norms2, record, accuracy, enough)
        if step is None:
            return u, found
        u, found, ended = step
        if ended:
            return u, found


def _step(
    problem: FrobeniusSDP,
    u: Vector,
    found: Evaluation,
    norms2: Vector,
    record: Record,
    accuracy: Accuracy,
    enough: Enough,
) -> tuple[Vector, Evaluation, bool] | None:
    """One Newton step on the free variables: where it leads, and whether that is the end."""
    lower, upper = problem.loss.lower, problem.loss.upper
    held = ((u <= lower) & (found.gradient < 0)) | ((u >= upper) & (found.gradient > 0))
    free = choose(held, 0.0, 1.0)
    direction = _newton_direction(problem, found, free, norms2, accuracy(found), enough)
    for halving in range(MOST_HALVINGS):
        trial = clip(u + 0.5**halving * direction, lower, upper)
        predicted = dot(found.gradient, trial - u)
        if predicted <= 0:
            break
        reached = problem.evaluate(trial)
        ended = record(trial, reached)
        if ended or reached.dual >= found.dual + SUFFICIENT * predicted - found.rounding:
            return trial, reached, ended
    return None


def _newton_direction(
    problem: FrobeniusSDP,
    found: Evaluation,
    free: Vector,
    norms2: Vector,
    accuracy: float,
    enough: Enough,
) -> Vector:
    """Solve V h = gradient on the free variables to a relative accuracy."""
    curvature = problem.loss.curvature
    diagonal = problem.sigma * norms2 + curvature
    diagonal = choose(diagonal > 0, diagonal, 1.0)
    ridge = 1e-10 * diagonal  # V is singular when more rows are free than M has freedom

    def product(h: Vector) -> Vector:
        pulled = problem.constraints.adjoint(h)
        moved = problem.sigma * found.split.derivative(pulled, accuracy >= SINGLE)
        return free * (problem.constraints.forward(moved) + (curvature + ridge) * h)

    return conjugate_gradients(
        product,
        free * found.gradient,
        diagonal,
        accuracy=accuracy,
        max_products=MOST_PRODUCTS,
        should_stop=enough,
    ).x
