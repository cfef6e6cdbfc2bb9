"""Work on the rows that matter, look at all of them before an answer is certified.

At the optimum nearly every triplet is either satisfied with room to spare (u = 0) or out of
reach (u at its bound). Only those in a band around their target are worked on; the width of the
band follows the gap, and rows that leave their place outside of it join in the next round.
"""

from __future__ import annotations

import numpy as np

from ..core.problem import Evaluation, FrobeniusSDP
from ..core.types import Rows, Vector
from .monitor import Monitor, State
from .newton import newton
from .quasi_newton import quasi_newton
from .screening import gap_radius, settled

#: Fewer rows than this are solved all at once.
FEW_ROWS = 40_000
#: Rows that a first rough solve looks at, in runs of neighbours.
SAMPLE, RUN = 10_000, 36
#: Relative gap and number of steps at which that solve ends.
ROUGH, ROUGH_STEPS = 5e-2, 30
#: Width of the band as a share of the safe one, which holds every row that can still move.
BAND = 0.02
#: How much of the gap a round is to remove.
PROGRESS = 0.05
#: Relative gap below which Newton's method takes over from the quasi-Newton one.
TIGHT = 1e-8


def active_set(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual by rounds of restricted problems."""
    if problem.loss.is_hard or problem.constraints.shape[0] < FEW_ROWS:
        return _all_at_once(problem, state, monitor)
    norms, band = problem.constraints.norms(), BAND
    u = _start(problem, state, monitor)
    found = problem.evaluate(u)
    while not monitor.record(u, found):
        rows = _working_rows(problem, u, found, band * norms)
        before, everything = found.gap, band == 1
        u, found = _round(problem, u, found, rows, monitor)
        if found.gap > before / 2:  # rows outside of the band moved: look further
            if everything and found.gap >= before:
                monitor.status = "stalled"
            band = min(1.0, 3 * band)
    return monitor.state


def _all_at_once(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    method = newton if monitor.tol < TIGHT else quasi_newton
    return method(problem, state, monitor)


def _start(problem: FrobeniusSDP, state: State, monitor: Monitor) -> Vector:
    """The given u, else the one that belongs to the metric of a sample of the rows."""
    n_rows = problem.constraints.shape[0]
    if state.u is not None or state.point is not None or n_rows < 2 * SAMPLE:
        return state.dual(problem)
    rows = _sample_rows(n_rows)
    sample, rough = problem.sample(rows), monitor.inner(ROUGH, ROUGH_STEPS)
    try:
        quasi_newton(sample, State(), rough)
    except KeyboardInterrupt:
        if rough.best is not None:
            u = _extended(problem, rows, rough.state)
            monitor.record(u, problem.evaluate(u))
        raise
    return _extended(problem, rows, rough.state)


def _extended(problem: FrobeniusSDP, rows: Rows, state: State) -> Vector:
    """The u of some rows, for the others the u that belongs to the metric."""
    u = State(point=state.point).dual(problem)
    if state.u is not None:
        u[rows] = state.u
    return u


def _sample_rows(n_rows: int) -> Rows:
    """Every so many runs of rows: neighbouring rows share points, so they cost less together."""
    return np.flatnonzero(np.arange(n_rows) // RUN % (n_rows // SAMPLE) == 0)


def _working_rows(problem: FrobeniusSDP, u: Vector, found: Evaluation, width: Vector) -> Rows:
    """Rows inside the band, and those whose u is not the one of their side."""
    radius = gap_radius(problem.sigma, found.gap) * width
    is_settled, value = settled(problem.loss, found.margins, radius)
    return np.flatnonzero(~(is_settled & (value == u)))


def _round(
    problem: FrobeniusSDP, u: Vector, found: Evaluation, rows: Rows, monitor: Monitor
) -> tuple[Vector, Evaluation]:
    """Solve for these rows, then evaluate all."""
    restricted = problem.restrict(rows, u, found.pull)
    size = max(abs(found.primal), abs(found.dual))
    inner = monitor.inner(max(monitor.tol / 2, PROGRESS * found.gap / size))
    _all_at_once(restricted, State(u=u[rows]), inner)
    if inner.best is None or inner.best_u is None:
        raise RuntimeError("a round made no step")
    u = u.copy()
    u[rows] = inner.best_u
    return u, problem.extend(inner.best, u)
