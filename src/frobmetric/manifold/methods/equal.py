"""Maximum variance unfolding with the distances kept exactly, by an augmented Lagrangian.

    minimise over Y:  -objective(Y) / 2 + Σ_e (w_e h_e + ρ/2 h_e² / b_e),  h_e = (|d_e|² - b_e) / 2

by Newton's method, after which w_e grows by ρ h_e / b_e, until the equations hold. The start is
the unfolding with inequalities. Where many neighbours are neighbours of each other no multipliers
are optimal, only ever larger ones ever better: the embedding then comes close to its equations
and to its maximum, but the bound of that maximum stays some way above.
"""

from __future__ import annotations

import time

import numpy as np

from ...core.solution import Step
from ...core.threads import one_thread
from ..sparse.spectrum import proven_bound, smallest_eigenpairs
from .lowrank import Unfolded, principal_axes, unfold
from .newton import NewtonSystem

#: The tolerance of the unfolding that is the start.
ROUGH = 1e-3
#: The weight of the equations at first, relative to a typical multiplier, and its growth where
#: they do not come closer by a factor of `PROGRESS`.
PENALTY, GROWTH, PROGRESS = 100.0, 10.0, 0.5
#: A run whose equations have become so much heavier will not find what it lacks.
HEAVIEST = 1e10
#: Steps of Newton's method for one set of multipliers.
N_STEPS = 30
#: Columns for the start beyond those of the rough unfolding: equations need more dimensions.
SPARE = 3


def unfold_equal(program, Y, tol=1e-5, max_iter=1000, callback=None):
    """Maximise the program with |y_i - y_j|² = b_ij instead of at most.

    Parameters and answer are those of `frobmetric.manifold.methods.lowrank.unfold`; w may be negative.
    "optimal" means that the equations hold, and the bound is met, up to `tol`.
    """
    with one_thread():
        rough = unfold(program, Y, ROUGH, max_iter)
        run = _Run(program, rough, tol, max_iter, callback)
        try:
            if rough.status == "interrupted":
                raise KeyboardInterrupt
            while not run.status:
                run.round()
        except KeyboardInterrupt:
            run.status = "interrupted"
    Y = principal_axes(program, run.Y)
    return Unfolded(Y, run.best_w, run.status, tuple(run.history), len(run.history))


class _Run:
    """One run: Y, the multipliers w and the weight of the equations."""

    def __init__(self, program, rough, tol, max_iter, callback):
        self.program, self.tol, self.max_iter, self.callback = program, tol, max_iter, callback
        self.history, self.status, self._began = [], "", time.perf_counter()
        typical = np.sqrt(program.squared.mean())
        noise = np.random.default_rng(0).standard_normal((program.n_points, SPARE))
        self.Y = program.centred(np.hstack([rough.Y, 1e-2 * typical * noise]))
        self.w = self.best_w = rough.w
        self.upper = proven_bound(program, rough.w)
        self.penalty = PENALTY * np.median(np.abs(rough.w))
        self.heaviest = HEAVIEST * self.penalty
        self.error = self._violation()

    def round(self):
        """Newton's method for the present multipliers, then new ones."""
        for _ in range(N_STEPS):
            arrived = self._step()
            if arrived or self.status:
                break
        self.w = self._weights(self.Y)
        before, self.error = self.error, self._violation()
        if self.error > PROGRESS * before:
            self.penalty *= GROWTH
        upper = proven_bound(self.program, self.w)
        if upper < self.upper:
            self.upper, self.best_w = upper, self.w
        gap = abs(self.upper - self.program.objective(self.Y))
        if self.error <= self.tol and gap <= self.tol * abs(self.upper) < np.inf:
            self.status = "optimal"
        elif not self.status and self.penalty > self.heaviest:
            self.status = "stalled"
        elif not self.status:
            self._grow()

    def _misses(self, Y):
        """(|d|² - b) / 2 of each edge."""
        return -self.program.slack(self.program.differences(Y))

    def _violation(self):
        return (2 * np.abs(self._misses(self.Y)) / self.program.squared).max()

    def _weights(self, Y):
        return self.w + self.penalty * self._misses(Y) / self.program.squared

    def _value(self, Y):
        misses, b = self._misses(Y), self.program.squared
        return self.program.objective(Y) / 2 - misses @ (self.w + self.penalty / 2 * misses / b)

    def _step(self):
        """One step; whether there is nothing left to gain."""
        program, d = self.program, self.program.differences(self.Y)
        weights = self._weights(self.Y)
        gradient = program.slope(self.Y) - program.divergence(weights[:, None] * d)
        newton = NewtonSystem(program, self.Y, weights, self.penalty / program.squared, d)
        dY, is_convex = newton.solve(gradient, 1e-3)
        gain, before, t = float((gradient * dY).sum()), self._value(self.Y), 1.0
        while self._value(self.Y + t * dY) < before + 1e-4 * t * gain and t > 1e-10:
            t *= 0.5
        self.Y = self.Y + t * dY
        self._record()
        return (is_convex and gain < 1e-2 * self.tol * abs(before)) or t <= 1e-10

    def _grow(self):
        """A new column where an eigenvalue shows that one is missing."""
        try:
            values, vectors = smallest_eigenpairs(self.program, self.w, self.Y.shape[1] + 1, 1e-4)
        except np.linalg.LinAlgError:
            return
        if values[0] < 1 - self.tol:
            typical = np.sqrt(self.program.squared.mean())
            self.Y = np.hstack([self.Y, 1e-2 * typical * vectors[:, :1]])

    def _record(self):
        primal = self.program.objective(self.Y)
        seconds = time.perf_counter() - self._began
        gap = abs(self.upper - primal)
        self.history.append(Step(primal, self.upper, gap, self.Y.shape[1], seconds))
        if self.callback is not None and self.callback(self.history[-1]):
            self.status = "stopped"
        elif len(self.history) >= self.max_iter:
            self.status = "max_iter"
