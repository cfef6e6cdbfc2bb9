"""Proximal points: the paper's step, repeated around its last answer, solves the SDP itself.

Each step is a Frobenius SDP with prior X, solved in the dual by semismooth Newton; its dual
residual (X - X+) / sigma costs nothing, and falls the faster the larger sigma is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.problem import Evaluation, FrobeniusSDP
from .monitor import Monitor, State
from .newton import Ascent
from .plain import PlainIterate, Units, begin

#: The inner problem is solved until its primal error is this share of the dual one.
SHARE = 0.2
#: Relative accuracy of a Newton step; only a few are taken in each inner problem.
ACCURACY = 1e-2
#: Newton steps of one inner problem.
MOST_STEPS = 40
#: Proximal steps without a smaller error after which the method gives up.
PATIENCE = 8


def proximal(
    problem: FrobeniusSDP, state: State, monitor: Monitor, *, units: Units | None = None
) -> State:
    """Take proximal steps until the monitor ends them or they lead no further.

    `units` are those of the problem as the user gave it.
    """
    X, y, sigma, units = begin(problem, state, units, "proximal")
    norms2 = problem.constraints.norms() ** 2
    idle = 0
    while not monitor.status and idle < PATIENCE:
        before = monitor.error
        inner = _Inner(replace(problem, prior=X, sigma=sigma), monitor, units)
        stop = monitor.should_stop
        ascent = Ascent(inner.problem, norms2, inner.record, lambda _: ACCURACY, stop)
        monitor.count()
        start = inner.problem.evaluate(y)
        iterate = inner.measure(ascent.climb(ascent.leave_flat_region(start)))
        X, y, sigma = iterate.point, iterate.u, _next_sigma(sigma, iterate, inner.n_steps)
        idle = 0 if monitor.error < 0.9 * before else idle + 1
    monitor.status = monitor.status or "stalled"
    return State(y, X, sigma)


class _Inner:
    """The problem around its prior X, and when it is solved well enough."""

    def __init__(self, problem: FrobeniusSDP, monitor: Monitor, units: Units) -> None:
        self.problem, self.monitor, self.units, self.n_steps = problem, monitor, units, 0

    def record(self, evaluation: Evaluation) -> bool:
        self.n_steps += 1
        iterate = self.measure(evaluation)
        is_good = iterate.eta_p <= max(SHARE * iterate.eta_d, 0.1 * self.monitor.tol)
        return self.monitor.record(iterate) or is_good or self.n_steps >= MOST_STEPS

    def measure(self, evaluation: Evaluation) -> PlainIterate:
        X, sigma = evaluation.point.dense(), self.problem.sigma
        moved = float(np.linalg.norm(self.problem.prior - X))
        state, residuals = (X, evaluation.u, sigma), (evaluation.gradient, moved / sigma)
        return self.units.measure("proximal", self.problem, state, residuals, evaluation.rank)


def _next_sigma(sigma: float, iterate: PlainIterate, n_steps: int) -> float:
    """Increase sigma while the dual error is the larger one, reduce it for a hard inner problem."""
    if n_steps >= MOST_STEPS:
        return sigma / 3
    if iterate.eta_d > 2 * iterate.eta_p:
        return sigma * (10 if n_steps <= 5 else 3)
    return sigma
