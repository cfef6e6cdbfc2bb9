"""Maximum variance unfolding by an interior-point method on the dual of the paper's problem.

With a Frobenius term the dual is a problem in the multipliers alone, one an edge:

    minimise over w >= 0:   D(w) = bᵀw + sigma/2 ‖(J - L_w)_+‖²_F

whose gradient is the slack b - A(X) of X = sigma (J - L_w)_+, one eigen-decomposition. Along the
path w_e slack_e = mu every slack is positive, so X is feasible and mu times the number of edges
is the gap. Each step solves (D'' + diag(c/w)) dw = mu/w - slack by conjugate gradients, with c the
slacks that the method aims at; D'' is never formed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize_scalar

from ...core.solution import Step
from ...core.threads import one_thread
from ..sparse.spectrum import proven_bound
from .lowrank import Unfolded, feasible
from .program import squares

#: The gap due to the first barrier, relative to the first bound.
FIRST = 0.1
#: How much weaker the barrier gets after a full step and after a shorter one.
FASTER, SLOWER = 0.1, 0.2
#: Which it does after a step longer than this that promised less than so much mu per edge.
LONG, CENTRAL = 0.3, 1.0
#: The gap due to the last barrier, in units of tol.
LAST = 0.3
#: The part of a multiplier that a step leaves to it.
LEFT = 0.02
#: How far, as a factor, c may be from mu / w.
APART = 1e3
#: Relative accuracy of a step, and most products for it.
ACCURACY, MOST_PRODUCTS = 0.02, 500
#: Share of the predicted descent that a step must reach; shorter steps than the second are none.
SUFFICIENT, SHORTEST = 1e-4, 1e-6
#: Steps without a better bound from above or below before the run ends.
PATIENCE = 30
#: Number of points from which products are in single precision: six digits, in half the time.
SINGLE = 150


def unfold_weights(program, tol, max_iter, callback):
    """What `frobmetric.manifold.methods.dual.unfold_dual` does with a finite sigma."""
    with one_thread():
        run = _Run(program, tol, callback)
        try:
            while not run.status and len(run.history) < max_iter:
                run.advance()
        except KeyboardInterrupt:
            run.status = "interrupted"
        status, history = run.status or "max_iter", tuple(run.history)
        return Unfolded(run.best_Y, run.best_w, status, history, len(history))


def is_proven(program, Y, w, tol):
    """Whether w proves that a feasible Y is optimal."""
    bound = proven_bound(program, w)
    return bound - program.objective(Y) <= tol * bound < np.inf


@dataclass
class _Run:
    """One run: where it is (w, c, mu), and the best of both sides so far."""

    program: object
    tol: float
    callback: Callable | None
    status: str = ""
    history: list[Step] = field(default_factory=list)
    lower: float = -np.inf
    upper: float = np.inf
    idle: int = 0

    def __post_init__(self):
        self._began = time.perf_counter()
        self.w = _start(self.program)
        self.here = GramPoint(self.program, self.w)
        self._compare()
        self.mu = FIRST * self.upper / len(self.w)
        self.c = self.mu / self.w

    def advance(self):
        """One step of Newton, then a look at where it led."""
        mu, w, c = self.mu, self.w, self.c
        pull, stiffness = mu / w - self.here.slack, c / w
        dw = Curvature(self.program, self.here).solve(pull, stiffness)
        gain = float(pull @ dw)
        t = self._move(dw, gain)
        dc = mu / w - c - stiffness * dw
        c, central = c + _length(c, dc) * dc, mu / self.w
        self.c = np.clip(c, central / APART, central * APART)
        self._compare()
        self._record()
        if t > LONG and gain < CENTRAL * mu * len(w):
            last = LAST * self.tol * self.upper / len(w)
            self.mu = min(mu, max((FASTER if t > 0.9 else SLOWER) * mu, last))

    def _move(self, dw, gain):
        """Along dw as far as the signs and the barrier's objective allow; the part taken."""
        t, before = _length(self.w, dw), self._barrier_objective(self.here)
        while t > SHORTEST:
            there = GramPoint(self.program, self.w + t * dw)
            enough = before - SUFFICIENT * t * gain + 1e-12 * abs(before)
            if self._barrier_objective(there) <= enough:
                self.w, self.here = there.w, there
                return t
            t /= 2
        return 0.0

    def _barrier_objective(self, point):
        return point.bound - self.mu * np.log(point.w).sum()

    def _compare(self):
        """Keep the multipliers and the coordinates if they are the best so far."""
        self.idle += 1
        Y = feasible(self.program, self.here.Y)
        lower = self.program.objective(Y)
        if lower > self.lower:
            self.lower, self.best_Y, self.idle = lower, Y, 0
        if self.here.bound < self.upper:
            self.upper, self.best_w, self.idle = self.here.bound, self.w, 0

    def _record(self):
        gap, seconds = max(0.0, self.upper - self.lower), time.perf_counter() - self._began
        step = Step(self.lower, self.upper, gap, self.here.rank, seconds)
        self.history.append(step)
        wants_stop = self.callback is not None and self.callback(step)
        is_small = gap <= self.tol * self.upper
        if is_small and is_proven(self.program, self.best_Y, self.best_w, self.tol):
            self.status = "optimal"
        elif wants_stop:
            self.status = "stopped"
        elif self.idle >= PATIENCE:
            self.status = "stalled"


class GramPoint:
    """X = sigma (J - L_w)_+ with the eigenvalues of J - L_w, and all that follows from it.

    `values` fall, and the last one is that of the constant vector, put there; `vectors` are
    scaled to Σ_i m_i v_i² = 1. `Y` has the Gram matrix X and is along its principal axes; `slack`
    is the gradient of D, and `bound` is D(w).
    """

    def __init__(self, program, w):
        self.w, root = w, np.sqrt(program.masses)
        constant = root / np.linalg.norm(root)
        flow = w[:, None] * program.differences(np.diag(1 / root))
        laplacian = program.divergence(flow) / root[:, None]
        beyond = 1 + 2 * laplacian.diagonal().max()  # all eigenvalues
        S = np.eye(len(root)) - laplacian - beyond * np.outer(constant, constant)
        values, vectors = np.linalg.eigh(S)
        self.values, self.vectors = values[::-1], vectors[:, ::-1] / root[:, None]
        self.rank = np.count_nonzero(values > len(root) * np.finfo(float).eps * abs(values).max())
        kept = self.values[: self.rank]
        self.Y = self.vectors[:, : self.rank] * np.sqrt(program.sigma * kept)
        self.slack = program.squared - squares(program.differences(self.Y))
        self.bound = float(program.squared @ w + program.sigma / 2 * (kept @ kept))


class Curvature:
    """A generalised second derivative of D at one point, and solves with it.

    Its product with v is sigma A(P [Omega o (Pᵀ L_v P)] Pᵀ); Omega is 1, 0 and a quotient where
    the signs of two eigenvalues are +, - and mixed. L_v P is needed for the positive ones only.
    """

    def __init__(self, program, point):
        self.program, n, r = program, program.n_points, point.rank
        self.kind = np.float32 if n >= SINGLE else np.float64
        above, below = point.values[:r], point.values[r:, None]
        share = above / (above - below)
        U = program.differences(point.vectors)
        plus, mixed = U[:, :r] ** 2, (U[:, r:] ** 2) @ share
        self.diagonal = program.sigma * (plus.sum(1) ** 2 + 2 * (plus * mixed).sum(1))
        self.omega = np.vstack([np.ones((r, r)), 2 * share]).astype(self.kind)
        self.vectors = np.ascontiguousarray(point.vectors, dtype=self.kind)
        self.edges = np.ascontiguousarray(U[:, :r], dtype=self.kind)

    def apply(self, v):
        size = np.abs(v).max() or 1.0  # single precision has a narrow range
        flow = (v / size).astype(self.kind)[:, None] * self.edges
        inner = self.vectors.T @ self.program.divergence(flow).astype(self.kind, copy=False)
        moved = self.program.differences(self.vectors @ (self.omega * inner))
        return self.program.sigma * size * np.einsum("ij,ij->i", moved, self.edges).astype(float)

    def solve(self, right, stiffness):
        """(D'' + diag(stiffness)) x = right, by conjugate gradients."""
        diagonal = self.diagonal + stiffness
        x, residual = np.zeros_like(right), right
        p = z = residual / diagonal
        first = now = float(residual @ z)
        for _ in range(MOST_PRODUCTS):
            Hp = self.apply(p) + stiffness * p
            bend = float(p @ Hp)
            if bend <= 0:  # rounding
                break
            x, residual = x + now / bend * p, residual - now / bend * Hp
            z = residual / diagonal
            before, now = now, float(residual @ z)
            if now <= ACCURACY**2 * first:
                break
            p = z + now / before * p
        return x


def _start(program):
    """The multiple of 1/b with the best bound, among those that some eigenvalue is near 1 for."""
    w = program.squared.mean() / program.squared
    values = 1 - GramPoint(program, w).values[:-1]  # the last one belongs to the constant vector

    def bound(log_t):
        below = np.maximum(0, 1 - np.exp(log_t) * values)
        return np.exp(log_t) * (program.squared @ w) + program.sigma / 2 * (below**2).sum()

    bounds = np.log([0.1 / values[-1], 10 / values[0]])
    found = minimize_scalar(bound, bounds=bounds, method="bounded")
    return np.exp(found.x) * w


def _length(x, dx):
    """How far x may go along dx, at most 1, to keep a part of each entry."""
    return min(1.0, (1 - LEFT) / max(float((-dx / x).max()), 1e-300))
