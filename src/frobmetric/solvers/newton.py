"""Semismooth Newton with conjugate gradients on the dual: the finish for tight tolerances.

The gradient of the dual has kinks where S has a zero eigenvalue, but a generalised derivative V
everywhere; near the optimum a few steps that solve V h = gradient are enough.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.cg import conjugate_gradients
from ..core.problem import Evaluation, FrobeniusSDP
from ..core.types import Vector
from .monitor import Monitor, State
from .quasi_newton import quasi_newton

#: Relative error from which Newton's method is tried on soft losses.
NEAR = 1e-4
#: Products with V in one Newton step.
MOST_PRODUCTS = 300
#: Share of the predicted ascent that a step must reach (Armijo).
SUFFICIENT = 1e-4
#: Relative accuracy of a Newton step far from the optimum.
ROUGHEST = 0.05
#: Relative accuracy of a step from which products in single precision are enough.
SINGLE = 1e-4
#: Halvings of a step before the first-order method takes over again.
MOST_HALVINGS = 8
#: Doublings of a step that leaves a flat region of the dual.
MOST_DOUBLINGS = 60

#: Called with every evaluation; a true answer ends the ascent.
Record = Callable[[Evaluation], bool]
#: Relative accuracy to which the Newton step from an evaluation is to be computed.
Accuracy = Callable[[Evaluation], float]


def newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual: first order to the neighbourhood of the optimum, then Newton.

    Hard rows have no plateaus, so with them Newton is tried from the start.
    """
    near, norms2 = NEAR, problem.constraints.norms() ** 2

    def accuracy(evaluation: Evaluation) -> float:
        return _accuracy(evaluation.error, monitor.tol)

    def ascend(evaluation: Evaluation) -> None:
        newton_ascent(problem, evaluation, norms2, monitor.record, accuracy, monitor.should_stop)

    if problem.loss.is_hard:
        evaluation = problem.evaluate(state.dual(problem))
        if not monitor.record(evaluation):
            evaluation = leave_flat_region(problem, evaluation, norms2, monitor.record)
        if not monitor.status:
            ascend(evaluation)
        state = monitor.state
    while not monitor.status:
        first = monitor.phase(near)
        state = quasi_newton(problem, state, first)
        if first.status == "stalled":
            monitor.status = "stalled"
        if first.best is not None and not monitor.status:
            ascend(first.best)
        state, near = monitor.state, near / 30
    return monitor.state


def leave_flat_region(
    problem: FrobeniusSDP, evaluation: Evaluation, norms2: Vector, record: Record
) -> Evaluation:
    """Go uphill from where S has no positive part, so that the dual is a plane and V zero."""
    step = evaluation.gradient / (problem.sigma * np.where(norms2 > 0, norms2, 1.0))
    for _ in range(MOST_DOUBLINGS):
        if evaluation.rank:
            break
        u = np.clip(evaluation.u + step, problem.loss.lower, problem.loss.upper)
        evaluation = problem.evaluate(u)
        if record(evaluation):
            break
        step = 2 * step
    return evaluation


def _accuracy(error: float, tol: float) -> float:
    """Return an accuracy as small as the error, but not below what it takes to reach `tol`."""
    return max(min(ROUGHEST, error), min(ROUGHEST, 0.1 * tol / max(error, tol)))


def newton_ascent(
    problem: FrobeniusSDP,
    evaluation: Evaluation,
    norms2: Vector,
    record: Record,
    accuracy: Accuracy,
    should_stop: Callable[[], bool],
) -> Evaluation:
    """Take Newton steps until `record` ends them or none leads further up.

    `norms2` are the squared norms of the rows; `should_stop` is asked during long work.
    """
    ended = False
    while not ended:
        relative = accuracy(evaluation)
        direction = _newton_direction(problem, evaluation, norms2, relative, should_stop)
        step = _line_search(problem, evaluation, direction, record)
        if step is None:
            break
        evaluation, ended = step
    return evaluation


def _line_search(
    problem: FrobeniusSDP, evaluation: Evaluation, direction: Vector, record: Record
) -> tuple[Evaluation, bool] | None:
    """Return the evaluation after a step that leads up, and whether the ascent ends there."""
    u, gradient = evaluation.u, evaluation.gradient
    for halving in range(MOST_HALVINGS):
        trial = np.clip(u + 0.5**halving * direction, problem.loss.lower, problem.loss.upper)
        predicted = float(gradient @ (trial - u))
        if predicted <= 0:
            break
        reached = problem.evaluate(trial)
        ended = record(reached)
        enough = evaluation.dual + SUFFICIENT * predicted - evaluation.rounding
        if ended or reached.dual >= enough:
            return reached, ended
    return None


def _newton_direction(
    problem: FrobeniusSDP,
    evaluation: Evaluation,
    norms2: Vector,
    accuracy: float,
    should_stop: Callable[[], bool],
) -> Vector:
    """Solve V h = gradient on the variables that their bounds leave free."""
    u, gradient = evaluation.u, evaluation.gradient
    at_lower = (u <= problem.loss.lower) & (gradient < 0)
    at_upper = (u >= problem.loss.upper) & (gradient > 0)
    free = np.where(at_lower | at_upper, 0.0, 1.0)
    curvature = problem.loss.curvature
    diagonal = problem.sigma * norms2 + curvature
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    ridge = 1e-10 * diagonal  # V is singular when more rows are free than M has freedom

    def product(h: Vector) -> Vector:
        change = problem.constraints.adjoint(h)
        moved = problem.sigma * evaluation.split.derivative(change, accuracy >= SINGLE)
        return free * (problem.constraints.forward(moved) + (curvature + ridge) * h)

    return conjugate_gradients(
        product,
        free * gradient,
        diagonal,
        accuracy=accuracy,
        max_products=MOST_PRODUCTS,
        should_stop=should_stop,
    ).x
