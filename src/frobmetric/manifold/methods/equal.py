"""Maximum variance unfolding with the distances kept exactly, by an augmented Lagrangian.

    minimise over Y:  -objective(Y) / 2 + Σ_e (w_e h_e + ρ/2 h_e² / b_e),  h_e = (|d_e|² - b_e) / 2

by Newton's method, after which w_e grows by ρ h_e / b_e, until the equations hold. The start is
the unfolding with inequalities. Where many neighbours are neighbours of each other, no multipliers
are optimal: ever larger ones give ever better bounds. The embedding then comes close to its
equations and to its maximum, but the bound of that maximum stays above by a small distance.
"""

from __future__ import annotations

import numpy as np

from ...core.points import Array, Vector
from ...solvers.monitor import Monitor
from ..sparse.spectrum import proven_bound, smallest_eigenpairs
from .lowrank import lowrank
from .program import Bounds, NewtonSystem, UnfoldingProgram, principal_axes

START_TOL = 1e-3  #: tolerance of the unfolding with inequalities that is the start
FIRST_PENALTY = 100.0  #: first penalty of the equations, relative to a typical multiplier
PENALTY_FACTOR = 10.0  #: factor of the penalty after a round that made too little progress
PROGRESS = 0.5  #: factor by which the error of the equations should decrease in a round
MAX_GROWTH = 1e10  #: growth of the penalty after which the run ends as "stalled"
MAX_STEPS = 30  #: largest number of Newton steps in one round
EXTRA_COLUMNS = 3  #: number of columns added to the start: equations need more dimensions


def equal(program: UnfoldingProgram, start: Array, monitor: Monitor) -> tuple[Array, Vector]:
    """Maximise the program with |y_i - y_j|² = b_ij in place of the inequalities.

    The status is "optimal" if equations and bound hold up to `tol`; w may be negative.
    """
    rough = Monitor(START_TOL, monitor.max_iter)
    run = _Run(program, *lowrank(program, start, rough), monitor)
    if rough.status == "interrupted":
        monitor.status = rough.status
    with monitor.running():
        while not monitor.status:
            run.round()
    return principal_axes(program, run.Y), run.best_w


class _Run:
    """State of a run: Y, the multipliers w, the penalty of the equations, the best bound."""

    def __init__(self, program: UnfoldingProgram, Y: Array, w: Vector, monitor: Monitor) -> None:
        self.program, self.monitor = program, monitor
        typical = np.sqrt(program.squared.mean())
        noise = np.random.default_rng(0).standard_normal((program.n_points, EXTRA_COLUMNS))
        self.Y = program.centred(np.hstack([Y, 1e-2 * typical * noise]))
        self.w = self.best_w = w
        self.upper = proven_bound(program, w)
        self.penalty = FIRST_PENALTY * np.median(np.abs(w))
        self.max_penalty = MAX_GROWTH * self.penalty
        self.violation = self._violation()

    def round(self) -> None:
        """Minimise by Newton's method for the present multipliers, then update them."""
        for _ in range(MAX_STEPS):
            has_converged = self._step()
            if has_converged or self.monitor.status:
                break
        self.w = self._weights(self.Y)
        before, self.violation = self.violation, self._violation()
        if self.violation > PROGRESS * before:
            self.penalty *= PENALTY_FACTOR
        upper = proven_bound(self.program, self.w)
        if upper < self.upper:
            self.upper, self.best_w = upper, self.w
        if self._bounds().error <= self.monitor.tol:
            self.monitor.status = "optimal"
        elif not self.monitor.status and self.penalty > self.max_penalty:
            self.monitor.status = "stalled"
        elif not self.monitor.status:
            self._add_column()

    def _errors(self, Y: Array) -> Vector:
        """Return h = (|d|² - b) / 2 of each edge."""
        return -self.program.slack(self.program.differences(Y))

    def _bounds(self) -> Bounds:
        primal = self.program.objective(self.Y)
        return Bounds(primal, self.upper, self.Y.shape[1], self._violation())

    def _violation(self) -> float:
        return (2 * np.abs(self._errors(self.Y)) / self.program.squared).max()

    def _weights(self, Y: Array) -> Vector:
        return self.w + self.penalty * self._errors(Y) / self.program.squared

    def _value(self, Y: Array) -> float:
        errors, b = self._errors(Y), self.program.squared
        return self.program.objective(Y) / 2 - errors @ (self.w + self.penalty / 2 * errors / b)

    def _step(self) -> bool:
        """Take one Newton step; return whether there is nothing left to gain."""
        program, d = self.program, self.program.differences(self.Y)
        weights = self._weights(self.Y)
        gradient = program.half_gradient(self.Y) - program.divergence(weights[:, None] * d)
        newton = NewtonSystem(program, self.Y, weights, self.penalty / program.squared, d)
        dY, is_convex = newton.solve(gradient, 1e-3)
        gain, before, t = float((gradient * dY).sum()), self._value(self.Y), 1.0
        while self._value(self.Y + t * dY) < before + 1e-4 * t * gain and t > 1e-10:
            t *= 0.5
        self.Y = self.Y + t * dY
        self.monitor.record(self._bounds())
        is_small = gain < 1e-2 * self.monitor.tol * abs(before)
        return (is_convex and is_small) or t <= 1e-10

    def _add_column(self) -> None:
        """Add a column where an eigenvalue shows that one is missing."""
        try:
            values, vectors = smallest_eigenpairs(self.program, self.w, self.Y.shape[1] + 1, 1e-4)
        except np.linalg.LinAlgError:
            return
        if values[0] < 1 - self.monitor.tol:
            typical = np.sqrt(self.program.squared.mean())
            self.Y = np.hstack([self.Y, 1e-2 * typical * vectors[:, :1]])
