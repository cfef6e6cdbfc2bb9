"""Maximum variance unfolding by a primal-dual interior-point method in the coordinates.

Each step solves one sparse system: (L_w + Σ_e k_e d_e d_eᵀ) is factored with the sparsity of the
graph, and conjugate gradients account for the curvature of the objective. The program is not
convex; that its solution is optimal follows from the eigenvalues of L_w. Where an eigenvalue is
below 1, its vector becomes a new column along which the variance grows.
"""

from __future__ import annotations

import numpy as np

from ...core.points import Array, Vector
from ...solvers.monitor import Monitor
from ..sparse.spectrum import proven_bound, smallest_eigenpairs
from .program import Bounds, NewtonSystem, UnfoldingProgram, dots, feasible, principal_axes, squares

FIRST_BARRIER = 0.1  #: first barrier parameter, relative to one that makes the start stationary
START_LENGTH = 0.8  #: length of the start, relative to the longest that the edges allow
BARRIER_FACTOR = 0.2  #: factor of the barrier parameter once the barrier problem is nearly solved
CENTRAL_GRADIENT = 0.1  #: largest relative gradient of a problem that is nearly solved
CENTRAL_PRODUCT = 10.0  #: largest product w c of such a problem, in units of the barrier parameter
CENTRAL_GAIN = 0.1  #: largest gain of a step there, per edge and in units of the parameter
MIN_SLACK = 0.005  #: share of its slack that a step leaves to each edge
MIN_STEP = 1e-12  #: step length below which a step counts as none
ROUNDING = 1e-11  #: smallest tolerance that the barrier parameter follows
PATIENCE = 100  #: number of steps without a narrower interval after which the run ends
NEGLIGIBLE = 1e-4  #: share of the variance, in units of tol, below which a column is dropped
MIN_MARGIN, MAX_MARGIN = 1e-4, 2e-3  #: limits of 1 - eigenvalue that calls for a new column
FIRST_CHECK = 0.1  #: barrier gap, relative to the variance, from which on optimality is checked


def lowrank(
    program: UnfoldingProgram,
    start: Array,
    monitor: Monitor,
    *,
    max_rank: float = np.inf,
    max_steps: float = np.inf,
) -> tuple[Array, Vector]:
    """Maximise the program from a start of full column rank, which is shrunk until feasible.

    Above `max_rank` columns or after `max_steps` steps the run ends as "stalled". Return feasible
    coordinates along their principal axes, and the multipliers with the best bound.
    """
    run = _Run(program, start, monitor)
    with monitor.running():
        try:
            while not monitor.status:
                run.advance()
                is_stuck = run.n_failed >= 3 or monitor.n_steps > run.best_step + PATIENCE
                if is_stuck or monitor.n_steps >= max_steps or run.Y.shape[1] > max_rank:
                    monitor.status = monitor.status or "stalled"
        except np.linalg.LinAlgError:  # on the boundary, up to rounding
            monitor.status = "stalled"
    Y = principal_axes(program, feasible(program, run.Y))
    return Y, run.w if run.best_w is None else run.best_w


class _Run:
    """State of a run: the iterate (Y, w), the barrier parameter mu, the best multipliers."""

    def __init__(self, program: UnfoldingProgram, start: Array, monitor: Monitor) -> None:
        self.program, self.monitor, self.n_failed = program, monitor, 0
        self.upper, self.best_gap, self.best_step = np.inf, np.inf, 0
        self.best_w: Vector | None = None
        self.Y = START_LENGTH * feasible(program, program.centred(np.asarray(start, dtype=float)))
        self.d, self.c = _edges(program, self.Y)
        second = smallest_eigenpairs(program, 1 / self.c, 1, tol=1e-3)[0][0]
        self.mu = FIRST_BARRIER / second
        self.w = self.mu / self.c

    def advance(self) -> None:
        """Take one Newton step along an arc, check optimality, record the step."""
        is_central = self._step() and self._residual() < CENTRAL_GRADIENT
        is_growing = is_central and self._check_optimality()
        primal = self.program.objective(feasible(self.program, self.Y))
        gap = max(0.0, self.upper - primal)
        self.monitor.record(Bounds(primal, self.upper, self.Y.shape[1]))
        if not gap >= 0.9 * self.best_gap or np.isinf(gap):
            self.best_gap, self.best_step = gap, self.monitor.n_steps
        if is_central and not is_growing:
            least = max(self.monitor.tol, ROUNDING) * self._variance() / (40 * len(self.c))
            self.mu = max(BARRIER_FACTOR * self.mu, least)

    def _variance(self) -> float:
        return np.trace(self.program.scatter(self.Y))

    def _residual(self) -> float:
        """Return the gradient of the Lagrangian relative to the gradient of the variance."""
        program = self.program
        error = program.divergence(self.w[:, None] * self.d) - program.half_gradient(self.Y)
        return float(np.linalg.norm(error) / np.linalg.norm(program.mass_centred(self.Y)))

    def _step(self) -> bool:
        """Take a Newton step with a second-order correction; return whether mu may decrease."""
        program, d, c, w = self.program, self.d, self.c, self.w
        stiffness, central = w / c, self.mu / c
        newton = NewtonSystem(program, self.Y, w, stiffness, d)
        gradient = program.half_gradient(self.Y) - program.divergence(central[:, None] * d)
        dY, is_convex = newton.solve(gradient, 1e-3)
        gain = float((gradient * dY).sum())
        if not is_convex:
            self._move(dY, np.zeros_like(dY), gain)
            self.w = self.mu / self.c
            return False
        dd = program.differences(dY)
        dw = central - w + stiffness * dots(d, dd)
        second = (dw * dots(d, dd) + w * squares(dd) / 2) / c
        force = -program.divergence(dw[:, None] * dd + second[:, None] * d)
        bend, is_convex = newton.solve(force, 1e-2)
        size, bent = float(np.linalg.norm(dY)), float(np.linalg.norm(bend))
        bend *= is_convex * min(1.0, size / max(bent, 1e-300))
        bend_w = is_convex * (second + stiffness * dots(d, program.differences(bend)))
        t = self._move(dY, bend, gain)
        self._move_multipliers(dw, bend_w)
        product = (self.w * self.c).max() / self.mu
        return t > 0.1 and product < CENTRAL_PRODUCT and gain < CENTRAL_GAIN * self.mu * len(c)

    def _move(self, dY: Array, bend: Array, gain: float) -> float:
        """Follow Y + t dY + t² bend as far as edges and barrier objective allow; return t."""
        program, t, d = self.program, 1.0, self.d
        dd, bend_d = program.differences(dY), program.differences(bend)
        first, second = dots(d, dd), squares(dd) / 2 + dots(d, bend_d)
        third, fourth = dots(dd, bend_d), squares(bend_d) / 2

        def slack(t: float) -> Vector:
            return self.c - t * (first + t * (second + t * (third + t * fourth)))

        while (slack(t) < MIN_SLACK * self.c).any() and t > MIN_STEP:
            t *= 0.8
        before = self._barrier_objective(self.Y, self.c)
        while t > MIN_STEP:
            Y = self.Y + t * dY + t**2 * bend
            d, c = _edges(program, Y)
            enough = before + 1e-4 * t * gain - 1e-12 * abs(before)
            if (c > 0).all() and self._barrier_objective(Y, c) >= enough:
                self.Y, self.d, self.c, self.n_failed = Y, d, c, 0
                return t
            t *= 0.5
        self.n_failed += 1
        return 0.0

    def _barrier_objective(self, Y: Array, c: Vector) -> float:
        return self.program.objective(Y) / 2 + self.mu * np.log(c).sum()

    def _move_multipliers(self, dw: Vector, bend: Vector) -> None:
        """Follow w + s dw + s² bend as far as w stays positive, and limit w to be near mu / c."""
        s, central = 1.0, self.mu / self.c
        while (self.w + s * dw + s**2 * bend < MIN_SLACK * self.w).any():
            s *= 0.8
        self.w = np.clip(self.w + s * dw + s**2 * bend, 1e-10 * central, 1e10 * central)

    def _check_optimality(self) -> bool:
        """Update the upper bound from w, or add columns; return whether a column still grows."""
        program, barrier = self.program, 2 * (self.w @ self.c) / self._variance()
        if barrier > FIRST_CHECK:
            return False
        try:
            values, vectors = smallest_eigenpairs(program, self.w, self.Y.shape[1] + 2, tol=1e-6)
        except np.linalg.LinAlgError:
            return False
        level = 1 - np.clip(10 * self._residual(), MIN_MARGIN, MAX_MARGIN)
        self._drop_columns()
        # a column grows if the objective stretches it more than the edges hold it
        stretch = np.einsum("ij,ij->j", self.Y, program.half_gradient(self.Y))
        is_growing = (self.w @ self.d**2 < level * stretch).any()
        if is_growing or self._add_columns(values, vectors, level):
            return True
        is_near = barrier < 3 * max(self.monitor.tol, ROUNDING)
        upper = proven_bound(program, self.w) if is_near else np.inf
        if upper < self.upper:
            self.upper, self.best_w = upper, self.w.copy()
        return False

    def _drop_columns(self) -> None:
        """Rotate Y to its principal axes, and drop axes of negligible variance."""
        Y = principal_axes(self.program, self.Y)
        variance = np.diag(self.program.scatter(Y))
        self.Y = Y[:, variance > NEGLIGIBLE * self.monitor.tol * variance.sum()]
        self.d, self.c = _edges(self.program, self.Y)

    def _add_columns(self, values: Vector, vectors: Array, level: float) -> bool:
        """Add columns along vectors with a value below a level; return whether any is new."""
        program, rank = self.program, self.Y.shape[1]
        for vector in vectors[:, values < level].T:
            axes = self.Y / np.sqrt(np.diag(program.scatter(self.Y)))
            new = vector[:, None] - axes @ (axes.T @ program.mass_centred(vector[:, None]))
            size = program.scatter(new)[0, 0]
            if size > 0.25:  # otherwise the columns nearly contain the vector
                self._add_column(new, size)
        return self.Y.shape[1] > rank

    def _add_column(self, new: Array, size: float) -> None:
        """Append a column of the best length for the barrier, while the others make room."""
        program, stiffness = self.program, self.w / self.c
        taken = squares(program.differences(new)) / 2
        newton = NewtonSystem(program, self.Y, self.w, stiffness, self.d)
        force = program.divergence((self.w * taken / self.c)[:, None] * self.d)
        bend, is_convex = newton.solve(-force, 1e-2)
        length = self._best_length(taken, size)
        best = self._with_column(new, length, 0.0 * bend)
        for _ in range(40 if is_convex else 0):
            longer = self._with_column(new, length, length * bend)
            if longer[0] < best[0]:
                break
            best, length = longer, 1.5 * length
        self.Y, self.d, self.c = best[1:]
        self.w = self.mu / self.c

    def _with_column(
        self, new: Array, length: float, bend: Array
    ) -> tuple[float, Array, Array, Vector]:
        """Return the barrier objective with a new column, and its Y, differences and slacks."""
        Y = np.hstack([self.Y + bend, np.sqrt(length) * new])
        d, c = _edges(self.program, Y)
        return (self._barrier_objective(Y, c) if (c > 0).all() else -np.inf), Y, d, c

    def _best_length(self, taken: Vector, size: float) -> float:
        """Return the best squared length of a column; length 1 takes `taken` of the slacks."""
        low, high = 0.0, (self.c / np.maximum(taken, 1e-300)).min()
        for _ in range(60):
            middle = (low + high) / 2
            stretch = size / 2 * (1 - middle * size / self.program.sigma)
            is_too_short = self.mu * (taken / (self.c - middle * taken)).sum() < stretch
            low, high = (middle, high) if is_too_short else (low, middle)
        return max(low, 1e-12 * high)


def _edges(program: UnfoldingProgram, Y: Array) -> tuple[Array, Vector]:
    """Return the differences and the slacks of the edges."""
    d = program.differences(Y)
    return d, program.slack(d)
