"""Maximum variance unfolding by an interior-point method on the dual of the paper's problem.

With a Frobenius term the dual is a problem in the multipliers alone, one for each edge:

    minimise over w >= 0:   D(w) = bᵀw + sigma/2 ‖(J - L_w)_+‖²_F

Its gradient is the slack b - A(X) of X = sigma (J - L_w)_+, which takes one eigen-decomposition.
Along the path w_e slack_e = mu every slack is positive, so X is feasible and mu times the number
of edges is the gap. Each step solves (D'' + diag(c/w)) dw = mu/w - slack by conjugate gradients,
where c are the slacks that the method aims at; D'' is never formed.

The Gram matrix X is dense and every step decomposes it, so this method is for a Frobenius term
that keeps many eigenvalues. The weaker the term, the more steps it takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ...core.cg import conjugate_gradients
from ...core.points import Array, Vector
from ...solvers.monitor import Monitor
from ..sparse.spectrum import proven_bound
from .program import NO_PROOF, Bounds, UnfoldingProgram, feasible, squares

FIRST_GAP = 0.1  #: gap due to the first barrier, relative to the first bound
FULL_FACTOR, SHORT_FACTOR = 0.1, 0.2  #: factors of mu after a full and after a shorter step
LONG_STEP = 0.3  #: length of a step after which mu, the barrier parameter, may decrease
CENTRAL_GAIN = 1.0  #: largest predicted gain of such a step, per edge and in units of mu
LAST_GAP = 0.3  #: gap due to the last barrier, in units of tol
MIN_SHARE = 0.02  #: share of a multiplier that a step leaves to it
MAX_FACTOR = 1e3  #: largest factor between c and mu / w
ACCURACY = 0.02  #: relative accuracy of a step
MAX_PRODUCTS = 500  #: largest number of products for one step
SUFFICIENT = 1e-4  #: share of the predicted descent that a step must reach
MIN_STEP = 1e-6  #: step length below which a step counts as none
PATIENCE = 30  #: number of steps without a better bound on either side after which the run ends
SINGLE = 150  #: number of points from which products have single precision, in half the time


def dual(program: UnfoldingProgram, start: Array, monitor: Monitor) -> tuple[Array, Vector]:
    """Maximise a program with a finite sigma through its dual; the start is ignored."""
    run = _Run(program, monitor)
    with monitor.running():
        while not monitor.status:
            run.advance()
    return run.best_Y, run.best_w


class _Run:
    """State of a run: the iterate (w, c), the barrier parameter mu, the best Y and the best w."""

    def __init__(self, program: UnfoldingProgram, monitor: Monitor) -> None:
        self.program, self.monitor = program, monitor
        self.lower, self.upper, self.n_idle = -np.inf, np.inf, 0
        self.w = _start(program)
        self.here = GramPoint(program, self.w)
        self._compare()
        self.mu = FIRST_GAP * self.upper / len(self.w)
        self.c = self.mu / self.w

    def advance(self) -> None:
        """Take one Newton step, update the best iterates, record the step."""
        mu, w, c = self.mu, self.w, self.c
        residual, stiffness = mu / w - self.here.slack, c / w
        dw = Curvature(self.program, self.here).solve(residual, stiffness)
        gain = float(residual @ dw)
        t = self._move(dw, gain)
        dc = mu / w - c - stiffness * dw
        c, central = c + _max_step(c, dc) * dc, mu / self.w
        self.c = np.clip(c, central / MAX_FACTOR, central * MAX_FACTOR)
        self._compare()
        self._record()
        if t > LONG_STEP and gain < CENTRAL_GAIN * mu * len(w):
            last = LAST_GAP * self.monitor.tol * self.upper / len(w)
            self.mu = min(mu, max((FULL_FACTOR if t > 0.9 else SHORT_FACTOR) * mu, last))

    def _move(self, dw: Vector, gain: float) -> float:
        """Follow dw as far as signs and barrier objective allow; return the part of it taken."""
        t, before = _max_step(self.w, dw), self._barrier_objective(self.here)
        while t > MIN_STEP:
            there = GramPoint(self.program, self.w + t * dw)
            enough = before - SUFFICIENT * t * gain + 1e-12 * abs(before)
            if self._barrier_objective(there) <= enough:
                self.w, self.here = there.w, there
                return t
            t /= 2
        return 0.0

    def _barrier_objective(self, point: GramPoint) -> float:
        return point.bound - self.mu * np.log(point.w).sum()

    def _compare(self) -> None:
        """Remember the multipliers and the coordinates if they are the best so far."""
        self.n_idle += 1
        Y = feasible(self.program, self.here.Y)
        lower = self.program.objective(Y)
        if lower > self.lower:
            self.lower, self.best_Y, self.n_idle = lower, Y, 0
        if self.here.bound < self.upper:
            self.upper, self.best_w, self.n_idle = self.here.bound, self.w, 0

    def _record(self) -> None:
        """Record the step; a small gap counts only if counted eigenvalues prove it."""
        tol, violation = self.monitor.tol, 0.0
        if self.upper - self.lower <= tol * self.upper:
            bound = proven_bound(self.program, self.best_w)
            violation = 0.0 if bound - self.lower <= tol * bound < np.inf else NO_PROOF
        self.monitor.record(Bounds(self.lower, self.upper, self.here.rank, violation))
        if self.n_idle >= PATIENCE:
            self.monitor.status = self.monitor.status or "stalled"


class GramPoint:
    """X = sigma (J - L_w)_+ with the eigenvalues of J - L_w, and everything that follows from it.

    `values` decrease; the last one belongs to the constant vector, which is moved there.
    `vectors` are scaled to Σ_i m_i v_i² = 1. `Y` has the Gram matrix X and lies along its
    principal axes; `slack` is the gradient of D, and `bound` is D(w).
    """

    def __init__(self, program: UnfoldingProgram, w: Vector) -> None:
        self.w, root = w, np.sqrt(program.masses)
        constant = root / np.linalg.norm(root)
        laplacian = program.dense_laplacian(w)
        beyond = 1 + 2 * laplacian.diagonal().max()  # all eigenvalues
        S = np.eye(len(root)) - laplacian - beyond * np.outer(constant, constant)
        values, vectors = np.linalg.eigh(S)
        self.values, self.vectors = values[::-1], vectors[:, ::-1] / root[:, None]
        smallest = len(root) * np.finfo(float).eps * abs(values).max()
        self.rank = int(np.count_nonzero(values > smallest))
        positive = self.values[: self.rank]
        self.Y = self.vectors[:, : self.rank] * np.sqrt(program.sigma * positive)
        self.slack = program.squared - squares(program.differences(self.Y))
        self.bound = float(program.squared @ w + program.sigma / 2 * (positive @ positive))


class Curvature:
    """Generalised second derivative of D at one point.

    Its product with v is sigma A(P [Omega o (Pᵀ L_v P)] Pᵀ); Omega is 1, 0 and a quotient where
    the signs of two eigenvalues are +, - and mixed. L_v P is needed for the positive ones only.
    """

    def __init__(self, program: UnfoldingProgram, point: GramPoint) -> None:
        self.program, n, r = program, program.n_points, point.rank
        self.kind: Any = np.float32 if n >= SINGLE else np.float64
        above, below = point.values[:r], point.values[r:, None]
        share = above / (above - below)
        U = program.differences(point.vectors)
        plus, mixed = U[:, :r] ** 2, (U[:, r:] ** 2) @ share
        self.diagonal = program.sigma * (plus.sum(1) ** 2 + 2 * (plus * mixed).sum(1))
        self.omega = np.vstack([np.ones((r, r)), 2 * share]).astype(self.kind)
        self.vectors = np.ascontiguousarray(point.vectors, dtype=self.kind)
        self.edges: Any = np.ascontiguousarray(U[:, :r], dtype=self.kind)

    def apply(self, v: Vector) -> Vector:
        """Return D'' v."""
        size = np.abs(v).max() or 1.0  # single precision has a narrow range
        flow = (v / size).astype(self.kind)[:, None] * self.edges
        inner = self.vectors.T @ self.program.divergence(flow).astype(self.kind, copy=False)
        moved = self.program.differences(self.vectors @ (self.omega * inner))
        return self.program.sigma * size * np.einsum("ij,ij->i", moved, self.edges).astype(float)

    def solve(self, right: Vector, stiffness: Vector) -> Vector:
        """Solve (D'' + diag(stiffness)) x = right by conjugate gradients."""
        return conjugate_gradients(
            lambda x: self.apply(x) + stiffness * x,
            right,
            self.diagonal + stiffness,
            accuracy=ACCURACY,
            max_products=MAX_PRODUCTS,
        ).x


def _start(program: UnfoldingProgram) -> Vector:
    """Return the multiple of 1/b with the best bound, among multiples with an eigenvalue near 1."""
    w = program.squared.mean() / program.squared
    values = 1 - GramPoint(program, w).values[:-1]  # the last one belongs to the constant vector

    def bound(log_t: float) -> float:
        below = np.maximum(0, 1 - np.exp(log_t) * values)
        return np.exp(log_t) * (program.squared @ w) + program.sigma / 2 * (below**2).sum()

    bounds = np.log([0.1 / values[-1], 10 / values[0]])
    return np.exp(minimize_scalar(bound, bounds=bounds, method="bounded").x) * w


def _max_step(x: Vector, dx: Vector) -> float:
    """Return the length of the longest step along dx, at most 1, that leaves a share of each x."""
    return min(1.0, (1 - MIN_SHARE) / max(float((-dx / x).max()), 1e-300))
