"""Semismooth Newton with conjugate gradients on the dual: the finish for tight tolerances.

The gradient of the dual has kinks where S has a zero eigenvalue, but a generalised derivative V
everywhere; near the optimum a few steps that solve V h = gradient are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.cg import conjugate_gradients
from ..core.points import Vector
from ..core.problem import Evaluation, FrobeniusSDP
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


def newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual: first order to the neighbourhood of the optimum, then Newton.

    Hard rows have no plateaus, so with them Newton is tried from the start.
    """

    def accuracy(evaluation: Evaluation) -> float:
        # as small as the error, but not below what it takes to reach the tolerance
        error, tol = evaluation.error, monitor.tol
        return max(min(ROUGHEST, error), min(ROUGHEST, 0.1 * tol / max(error, tol)))

    norms2 = problem.constraints.norms() ** 2
    ascent = Ascent(problem, norms2, monitor.record, accuracy, monitor.should_stop)
    if problem.loss.is_hard:
        evaluation = problem.evaluate(state.dual(problem))
        if not monitor.record(evaluation):
            evaluation = ascent.leave_flat_region(evaluation)
        if not monitor.status:
            ascent.climb(evaluation)
        state = monitor.state
    near = NEAR
    while not monitor.status:
        first = monitor.phase(near)
        state = quasi_newton(problem, state, first)
        if first.status == "stalled":
            monitor.status = "stalled"
        if first.best is not None and not monitor.status:
            ascent.climb(first.best)
        state, near = monitor.state, near / 30
    return monitor.state


@dataclass(frozen=True)
class Ascent:
    """Newton steps up the dual of a problem whose rows have the squared norms `norms2`.

    `record` is called with every evaluation, and a true answer ends the ascent; `accuracy` is the
    relative accuracy of the Newton step from an evaluation; `should_stop` is asked in long work.
    """

    problem: FrobeniusSDP
    norms2: Vector
    record: Callable[[Evaluation], bool]
    accuracy: Callable[[Evaluation], float]
    should_stop: Callable[[], bool]

    def leave_flat_region(self, evaluation: Evaluation) -> Evaluation:
        """Go uphill from where S has no positive part, so that the dual is a plane and V zero."""
        divisor = self.problem.sigma * np.where(self.norms2 > 0, self.norms2, 1.0)
        step = evaluation.gradient / divisor
        for _ in range(MOST_DOUBLINGS):
            if evaluation.rank:
                break
            u = np.clip(evaluation.u + step, self.problem.loss.lower, self.problem.loss.upper)
            evaluation = self.problem.evaluate(u)
            if self.record(evaluation):
                break
            step = 2 * step
        return evaluation

    def climb(self, evaluation: Evaluation) -> Evaluation:
        """Take Newton steps until `record` ends them or none leads further up."""
        ended = False
        while not ended:
            step = self._line_search(evaluation, self._direction(evaluation))
            if step is None:
                break
            evaluation, ended = step
        return evaluation

    def _line_search(self, start: Evaluation, direction: Vector) -> tuple[Evaluation, bool] | None:
        """Return the evaluation after a step that leads up, and whether the ascent ends there."""
        loss = self.problem.loss
        for halving in range(MOST_HALVINGS):
            trial = np.clip(start.u + 0.5**halving * direction, loss.lower, loss.upper)
            predicted = float(start.gradient @ (trial - start.u))
            if predicted <= 0:
                break
            reached = self.problem.evaluate(trial)
            ended = self.record(reached)
            enough = start.dual + SUFFICIENT * predicted - start.rounding
            if ended or reached.dual >= enough:
                return reached, ended
        return None

    def _direction(self, evaluation: Evaluation) -> Vector:
        """Solve V h = gradient on the variables that their bounds leave free."""
        problem, u, gradient = self.problem, evaluation.u, evaluation.gradient
        at_lower = (u <= problem.loss.lower) & (gradient < 0)
        at_upper = (u >= problem.loss.upper) & (gradient > 0)
        free = np.where(at_lower | at_upper, 0.0, 1.0)
        accuracy, curvature = self.accuracy(evaluation), problem.loss.curvature
        diagonal = problem.sigma * self.norms2 + curvature
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        ridge = 1e-10 * diagonal  # V is singular when more rows are free than M has freedom

        def product(h: Vector) -> Vector:
            change = problem.constraints.adjoint(h)
            moved = problem.sigma * evaluation.split.derivative(change, accuracy >= SINGLE)
            return free * (problem.constraints.forward(moved) + (curvature + ridge) * h)

        limits: Any = {"max_products": MOST_PRODUCTS, "should_stop": self.should_stop}
        right = free * gradient
        return conjugate_gradients(product, right, diagonal, accuracy=accuracy, **limits).x
