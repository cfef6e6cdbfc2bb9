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
from ..core.points import Array, Diagonal, Rows, Vector
from ..core.problem import Evaluation, FrobeniusSDP
from .monitor import Monitor, State
from .newton import newton

#: Number of variables up to which a Newton step is solved by factors of its matrix.
FEW_VARIABLES = 300
#: Number of rows from which on the matrix of a step is that of a sample of them.
MOST_ROWS = 20_000
#: First width, as a share of the mean distance of the margins from their targets.
FIRST_WIDTH = 0.5
#: Smallest share of the width that the next smooth problem has, and the largest that is tried.
NARROWER, WIDEST = 0.25, 0.98
#: Newton steps for the first smooth problem, and for each of the next.
FIRST_STEPS, STEPS = 60, 8
#: A smooth problem is solved when the gap is larger than the share of the corners by this share.
SOLVED = 0.2
#: Slopes, as shares of that at the start, between which a step may end.
FLAT = (-0.1, 0.5)
#: Trials of the length of a step.
MOST_TRIALS = 40


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
    width, share = _first_width(problem, evaluation), NARROWER
    smooth = SmoothProblem(problem, problem.loss.smoothed(width))
    start = evaluation.point.dense(), evaluation.margins
    last, is_solved = smooth.minimise(*start, monitor, FIRST_STEPS)
    while is_solved and not monitor.status and share < WIDEST:
        smooth = SmoothProblem(problem, problem.loss.smoothed(width * share))
        found, has_followed = smooth.minimise(*smooth.follow(last), monitor, STEPS)
        if has_followed:
            last, width, share = found, width * share, max(NARROWER, share**2)
        else:  # the rows on the curved part changed too much: go on from the last optimum
            share = np.sqrt(share)
    return monitor.state if monitor.status else newton(problem, monitor.state, monitor)


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

    def minimise(
        self, w: Vector, margins: Vector, monitor: Monitor, most_steps: int
    ) -> tuple[Evaluation, bool]:
        """Take Newton steps until the corners are most of the gap.

        Return the last evaluation, and whether it got so far.
        """
        evaluation = self.problem.evaluate(self.loss.multiplier(margins), Diagonal(w))
        for _ in range(most_steps):
            if monitor.record(evaluation) or self._is_solved(evaluation, monitor.tol):
                return evaluation, True
            gradient = (w - self.problem.prior) / self.problem.sigma + evaluation.slack
            target, slope = self._target(w, gradient, self._inside(evaluation.u))
            if not slope < 0:
                break
            change = self.problem.constraints.forward(target) - evaluation.margins
            length = self._length(w, target - w, evaluation.margins, change, slope)
            w, margins = w + length * (target - w), evaluation.margins + length * change
            evaluation = self.problem.evaluate(self.loss.multiplier(margins), Diagonal(w))
        return evaluation, False

    def follow(self, last: Evaluation) -> tuple[Vector, Vector]:
        """Return weights near the optimum, and their margins, from that of a wider smoothing.

        The rows between their bounds are taken to stay there: one Newton step with u outside of
        the box where need be. Without it all of them would jump to a bound.
        """
        problem, w, rows = self.problem, last.point.dense(), self._inside(last.u)
        u, (_, slope) = self.loss.multiplier(last.margins), self.loss.conjugate(last.u)
        change = (slope[rows] - last.margins[rows]) / self.loss.curvature[rows]
        u[rows] = last.u[rows] + change
        slack = problem.cost - problem.constraints.adjoint(u)
        trial, _ = self._target(w, (w - problem.prior) / problem.sigma + slack, rows)
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

    def _target(self, w: Vector, gradient: Vector, rows: Rows) -> tuple[Vector, float]:
        """Return where a Newton step leads to, and the slope at its start.

        `rows` are those on the curved part of their loss; if they are many, some stand for all.
        """
        every = 1 + len(rows) // MOST_ROWS
        some = rows[::every]
        rates = every / self.loss.curvature[some]
        moment: Any = self.problem.constraints.restrict(some).second_moment(rates)
        H = np.eye(len(w)) / self.problem.sigma + moment
        for target in (_minimum(H, w, gradient), np.maximum(w - gradient / np.diag(H), 0.0)):
            slope = float(gradient @ (target - w))
            if slope < 0:
                break
        return target, slope

    def _inside(self, u: Vector) -> Rows:
        """Return the rows whose u is inside its box."""
        return np.flatnonzero((u > self.loss.lower) & (u < self.loss.upper))

    def _length(
        self, w: Vector, step: Vector, margins: Vector, change: Vector, slope: float
    ) -> float:
        """Return the length of a step at whose end the slope is small; margins change linearly."""
        pull = self.problem.cost + (w - self.problem.prior) / self.problem.sigma
        fixed, growing = float(pull @ step), float(step @ step) / self.problem.sigma
        low, high, length = (0.0, slope), None, 1.0
        for _ in range(MOST_TRIALS):
            u = self.loss.multiplier(margins + length * change)
            reached = fixed + length * growing - float(u @ change)
            if FLAT[0] * slope >= reached >= FLAT[1] * slope or (length == 1 and reached <= 0):
                break
            if reached > 0:
                high = (length, reached)
            else:
                low = (length, reached)
            if high is None:
                break
            share = low[1] / (low[1] - high[1])
            length = low[0] + min(max(share, 0.05), 0.95) * (high[0] - low[0])
        return length


def _minimum(H: Array, w: Vector, gradient: Vector) -> Vector:
    """Return weights that about minimise a parabola with this matrix, and this gradient at w.

    Weights that come out negative are held at zero, and the others solved for again.
    """
    is_free = (w > 0) | (gradient < 0)
    ridge = np.finfo(float).eps * float(np.trace(H)) * np.eye(len(w))
    while True:
        held = w * ~is_free
        factors = scipy.linalg.cho_factor((H + ridge)[np.ix_(is_free, is_free)], check_finite=False)
        right = (gradient - H @ held)[is_free]
        target = np.zeros_like(w)
        target[is_free] = w[is_free] - scipy.linalg.cho_solve(factors, right, check_finite=False)
        if (target >= 0).all():
            return target
        is_free &= target > 0
