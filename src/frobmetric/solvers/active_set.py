"""Work on the rows that matter, and evaluate all of them before an answer is certified.

At the optimum nearly every triplet is either satisfied with room to spare (u = 0) or out of
reach (u at its bound). Only those in a band around their target are worked on; the width of the
band follows the gap, and rows outside of it that have to move join in the next round.
"""

from __future__ import annotations

import numpy as np

from ..core.losses import Loss
from ..core.points import Mask, Rows, Symmetric, Vector
from ..core.problem import Evaluation, FrobeniusSDP
from ..core.solution import Solution
from .monitor import Monitor, State
from .newton import newton
from .quasi_newton import quasi_newton
from .smoothing import smoothing, suits

#: Problems with fewer rows are solved all at once.
FEW_ROWS = 40_000
#: Number of rows of a first rough solve, and of neighbouring rows in each of its runs.
SAMPLE, RUN = 10_000, 36
#: Relative gap and number of steps at which that solve ends.
ROUGH, ROUGH_STEPS = 5e-2, 30
#: Width of the band as a share of the safe one, which holds every row that can still move.
BAND = 0.02
#: Share of the gap that a round is to leave.
PROGRESS = 0.05
#: Relative gap below which Newton's method replaces the quasi-Newton one.
TIGHT = 1e-8


def active_set(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual by rounds of restricted problems."""
    if problem.loss.is_hard or problem.constraints.shape[0] < FEW_ROWS:
        return _all_at_once(problem, state, monitor)
    norms, band = problem.constraints.norms(), BAND
    evaluation = problem.evaluate(_start(problem, state, monitor))
    while not monitor.record(evaluation):
        # the rows inside the band, and those whose u does not belong to their side of it
        radius = gap_radius(problem.sigma, evaluation.gap) * (band * norms)
        is_settled, value = settled(problem.loss, evaluation.margins, radius)
        rows = np.flatnonzero(~(is_settled & (value == evaluation.u)))
        rows = problem.constraints.bring(rows)
        before, everything = evaluation.gap, band == 1
        evaluation = _round(problem, evaluation, rows, monitor)
        if evaluation.gap > before / 2:  # rows outside of the band moved: widen it
            if everything and evaluation.gap >= before:
                monitor.status = "stalled"
            band = min(1.0, 3 * band)
    return monitor.state


def _all_at_once(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    method = newton if monitor.tol < TIGHT else quasi_newton
    method = smoothing if suits(problem) else method
    return method(problem, state, monitor)


def _start(problem: FrobeniusSDP, state: State, monitor: Monitor) -> Vector:
    """Return the given u, else one that belongs to the metric of a sample of the rows."""
    n_rows = problem.constraints.shape[0]
    if state.u is not None or state.point is not None or n_rows < 2 * SAMPLE:
        return state.dual(problem)
    rows = problem.constraints.sample_rows(n_rows // SAMPLE, RUN)
    rows = problem.constraints.bring(rows)
    sample, rough = problem.sample(rows), monitor.inner(ROUGH, ROUGH_STEPS)
    try:
        quasi_newton(sample, State(), rough)
    except KeyboardInterrupt:
        if rough.best is not None:
            monitor.record(problem.evaluate(_extended(problem, rows, rough.state)))
        raise
    return _extended(problem, rows, rough.state)


def _extended(problem: FrobeniusSDP, rows: Rows, state: State) -> Vector:
    """Extend the u of some rows by the u that belongs to the metric in the other rows."""
    u = State(point=state.point).dual(problem)
    if state.u is not None:
        u[rows] = state.u
    return u


def _round(
    problem: FrobeniusSDP, evaluation: Evaluation, rows: Rows, monitor: Monitor
) -> Evaluation:
    """Solve for these rows, then evaluate all."""
    restricted = problem.restrict(rows, evaluation.u, evaluation.slack)
    size = max(abs(float(evaluation.primal)), abs(float(evaluation.dual)))
    inner = monitor.inner(max(monitor.tol / 2, PROGRESS * evaluation.gap / size))
    _all_at_once(restricted, State(u=evaluation.u[rows]), inner)
    if inner.best is None:  # overflow
        return evaluation
    u = evaluation.u.copy()
    u[rows] = inner.best.u
    return problem.extend(inner.best, u)


def settled(loss: Loss, margins: Vector, radius: Vector) -> tuple[Mask, Vector]:
    """Return which rows have the same u at all margins within `radius`, and that u.

    With `radius = rho * |A_r|` and a ball of radius rho around M that contains the optimal matrix
    (`gap_radius`), such a row has this u at the optimum: it can be left out for good.
    """
    below, above = loss.multiplier(margins - radius), loss.multiplier(margins + radius)
    return below == above, above


def gap_radius(sigma: float, gap: float) -> float:
    """Bound the distance of the optimum from M(u), when u proves this gap."""
    return float(np.sqrt(sigma * gap))


def previous_optimum_ball(
    problem: FrobeniusSDP, last: Solution, ratio: float
) -> tuple[Symmetric, float]:
    """Return centre and radius of a ball that contains the optimum.

    All weights of `last` are `ratio` times smaller. Both optima are the nearest points to the
    origin M0 = prior - sigma cost of two sets that differ by the factor; the segment between them
    is a diameter of the ball.
    """
    origin = problem.prior - problem.sigma * problem.cost
    moved = last.point.dense() - origin
    known = last.certificate.distance_bound
    radius = abs(ratio - 1) / 2 * float(np.linalg.norm(moved)) + max(ratio, 1.0) * known
    return origin + (1 + ratio) / 2 * moved, radius
