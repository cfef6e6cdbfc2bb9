"""Proximal points: the paper's step repeated around its last answer solves the SDP itself.

Each step is a Frobenius SDP with prior X, solved in the dual by semismooth Newton; its dual
residual (X - X+) / sigma comes for free, and falls the faster the larger sigma is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.problem import Evaluation, FrobeniusSDP
from ..core.types import Symmetric, Vector
from .newton import climb, off_the_plane
from .watch import SDPStep, Watch

#: The inner problem is solved until its primal error is this share of the dual one.
SHARE = 0.2
#: Relative accuracy of a Newton step; only a few are taken in each inner problem.
ACCURACY = 1e-2
#: Newton steps of one inner problem.
MOST_STEPS = 40
#: Proximal steps without a smaller error before the method is given up for a while.
PATIENCE = 8


def proximal(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, sigma: float, watch: Watch
) -> tuple[Symmetric, Vector, float]:
    """Proximal steps until `watch` ends them or they lead no further; where they led."""
    norms2 = problem.constraints.norms() ** 2
    idle = 0
    while not watch.status and idle < PATIENCE:
        before = watch.error
        run = _Inner(replace(problem, prior=X, sigma=sigma), X, watch)
        y, found = off_the_plane(run.around, y, run.first(y), norms2, run.record)
        y, found = climb(
            run.around, y, found, norms2, run.record, lambda _: ACCURACY, watch.is_late
        )
        X, step = found.point.dense(), run.measure(y, found)
        sigma = _next_sigma(sigma, step, run.n_steps)
        idle = 0 if watch.error < 0.9 * before else idle + 1
    return X, y, sigma


class _Inner:
    """The problem around X, and when it is solved well enough."""

    def __init__(self, around: FrobeniusSDP, X: Symmetric, watch: Watch) -> None:
        self.around, self.X, self.watch, self.n_steps = around, X, watch, 0

    def first(self, y: Vector) -> Evaluation:
        self.watch.count()
        return self.around.evaluate(y)

    def record(self, y: Vector, found: Evaluation) -> bool:
        self.n_steps += 1
        step = self.measure(y, found)
        good = step.eta_p <= max(SHARE * step.eta_d, 0.1 * self.watch.tol)
        ended = self.watch.record(found.point.dense(), y, step)
        return self.watch.count() or ended or good or self.n_steps >= MOST_STEPS

    def measure(self, y: Vector, found: Evaluation) -> SDPStep:
        inside = found.point.dense()
        uncovered = float(np.linalg.norm(self.X - inside)) / self.around.sigma
        return self.watch.step(
            "proximal", self.around, inside, y, found.gradient, uncovered, self.around.sigma
        )


def _next_sigma(sigma: float, step: SDPStep, n_steps: int) -> float:
    """Larger while the dual error is the larger one, smaller when the inner problem is hard."""
    if n_steps >= MOST_STEPS:
        return sigma / 3
    if step.eta_d > 2 * step.eta_p:
        return sigma * (10 if n_steps <= 5 else 3)
    return sigma
