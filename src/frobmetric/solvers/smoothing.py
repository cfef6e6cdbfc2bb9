"""Newton's method on the primal with a smoothed loss, for few non-negative variables.

A million comparisons of fifty weights have a million dual variables, but fifty primal ones. The
corners of the loss are rounded over a width of margin; the smooth problem takes a few Newton steps
of the order of the weights. Its dual variables are inside the box of the problem itself, so they
prove a gap there, which shrinks with the square of the width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..core.losses import Loss
from ..core.points import Diagonal, Rows, Vector
from ..core.problem import Evaluation, FrobeniusSDP
from .monitor import Monitor, State
from .newton import newton

#: Number of variables up to which a Newton step is solved by factors of its matrix.
FEW_VARIABLES = 300
#: Number of rows from which on the matrix of a step is that of a sample of them.
MOST_ROWS = 20_000
#: First width, as a share of the mean distance of the margins from their targets.
FIRST_WIDTH = 0.5
#: Share of the width that is left after the smooth problem is solved.
NARROWER = 0.25
#: Smallest width, as a share of the first one.
LAST_WIDTH = 1e-9
#: A smooth problem is solved when the gap is larger than the share of the corners by this share.
SOLVED = 0.2
#: Share of the predicted descent that a step must reach (Armijo).
SUFFICIENT = 1e-4
#: Rounding error of a value, relative to it.
NOISE = 1e-15
#: Halvings of a step before the width is changed.
MOST_HALVINGS = 25


def suits(problem: FrobeniusSDP) -> bool:
    """Return whether the method is made for this problem: few weights, each row a dense vector."""
    is_few = problem.cone.is_diagonal and problem.constraints.shape[1] <= FEW_VARIABLES
    if not is_few or problem.loss.is_hard:
        return False
    none = np.zeros(0, dtype=np.intp)
    return problem.constraints.restrict(none).second_moment(np.zeros(0)) is not None


def smoothing(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Minimise the primal; problems that this method is not made for are solved by `newton`."""
    if not suits(problem):
        return newton(problem, state, monitor)
    evaluation = problem.evaluate(state.dual(problem))
    if monitor.record(evaluation):
        return monitor.state
    first = width = _first_width(problem, evaluation)
    while not monitor.status:
        smooth = SmoothProblem(problem, problem.loss.smoothed(width))
        start = evaluation.point.dense(), evaluation.margins
        if width < first:
            start = smooth.follow(evaluation)
        evaluation = smooth.minimise(*start, monitor)
        width *= NARROWER
        if width < LAST_WIDTH * first and not monitor.status:
            monitor.status = "stalled"
    return monitor.state


def _first_width(problem: FrobeniusSDP, evaluation: Evaluation) -> float:
    """Return a width that is as wide as the gap is: near the optimum it is narrow."""
    _, slope = problem.loss.conjugate(evaluation.u)
    far = float(np.mean(np.abs(slope - evaluation.margins)))
    return FIRST_WIDTH * (far or 1.0) * min(1.0, float(np.sqrt(evaluation.error)) * 3)


@dataclass(frozen=True)
class SmoothProblem:
    """The problem with another loss, as a function of the weights w >= 0."""

    problem: FrobeniusSDP
    loss: Loss

    def minimise(self, w: Vector, margins: Vector, monitor: Monitor) -> Evaluation:
        """Take Newton steps until the corners are most of the gap; return the last evaluation."""
        value = self.value(w, margins)
        while True:
            evaluation = self.problem.evaluate(self.loss.multiplier(margins), Diagonal(w))
            if monitor.record(evaluation) or self._is_solved(evaluation, monitor.tol):
                return evaluation
            gradient = (w - self.problem.prior) / self.problem.sigma + evaluation.slack
            step = self._step(w, gradient, self._inside(evaluation.u))
            found = self._search(w, step, gradient, value)
            if found is None:
                return evaluation
            w, margins, value = found

    def follow(self, last: Evaluation) -> tuple[Vector, Vector]:
        """Return weights near the optimum, and their margins, from the optimum of a wider smoothing.

        The rows between their bounds are taken to stay there: one Newton step with u outside of
        the box where need be. Without it all of them would jump to a bound.
        """
        problem, w, rows = self.problem, last.point.dense(), self._inside(last.u)
        u, (_, slope) = self.loss.multiplier(last.margins), self.loss.conjugate(last.u)
        change = (slope[rows] - last.margins[rows]) / self.loss.curvature[rows]
        u[rows] = last.u[rows] + change
        slack = problem.cost - problem.constraints.adjoint(u)
        step = self._step(w, (w - problem.prior) / problem.sigma + slack, rows)
        trial = np.maximum(w + step, 0.0)
        margins = problem.constraints.forward(trial)
        is_better = self.value(trial, margins) < self.value(w, last.margins)
        return (trial, margins) if is_better else (w, last.margins)

    def _is_solved(self, evaluation: Evaluation, tol: float) -> bool:
        """Return whether most of the gap is due to the rounded corners, or none of it matters."""
        loss, u, margins = self.problem.loss, evaluation.u, evaluation.margins
        corners = loss.value(margins) + float(u @ margins) - loss.conjugate(u)[0]
        return evaluation.gap - corners <= SOLVED * max(corners, tol * abs(evaluation.primal))

    def value(self, w: Vector, margins: Vector) -> float:
        """Return the objective with the smooth loss."""
        moved = w - self.problem.prior
        regulariser = float(moved @ moved) / (2 * self.problem.sigma)
        return float(self.problem.cost @ w) + regulariser + self.loss.value(margins)

    def _step(self, w: Vector, gradient: Vector, rows: Rows) -> Vector:
        """Solve for the Newton step of the weights that zero does not hold.

        `rows` are those on the curved part of their loss; if they are many, some stand for all.
        """
        every = 1 + len(rows) // MOST_ROWS
        some = rows[::every]
        rates = every / self.loss.curvature[some]
        moment: Any = self.problem.constraints.restrict(some).second_moment(rates)
        H = np.eye(len(w)) / self.problem.sigma + moment
        reach = float(np.linalg.norm(w - np.maximum(w - self.problem.sigma * gradient, 0.0)))
        is_held = (w <= min(reach, 1e-3 * float(w.max(initial=0.0)))) & (gradient > 0)
        step = -gradient / np.diag(H)
        free = np.flatnonzero(~is_held)
        factors = scipy.linalg.cho_factor(H[np.ix_(free, free)], check_finite=False)
        step[free] = -scipy.linalg.cho_solve(factors, gradient[free], check_finite=False)
        return step

    def _inside(self, u: Vector) -> Rows:
        """Return the rows whose u is inside its box."""
        return np.flatnonzero((u > self.loss.lower) & (u < self.loss.upper))

    def _search(
        self, w: Vector, step: Vector, gradient: Vector, value: float
    ) -> tuple[Vector, Vector, float] | None:
        """Return weights with a sufficient descent, their margins and value, None if none."""
        for halving in range(MOST_HALVINGS):
            trial = np.maximum(w + 0.5**halving * step, 0.0)
            margins = self.problem.constraints.forward(trial)
            reached = self.value(trial, margins)
            noise = NOISE * (abs(value) + abs(reached))
            if reached <= value + SUFFICIENT * float(gradient @ (trial - w)) + noise:
                return trial, margins, reached
        return None
