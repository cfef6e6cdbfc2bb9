"""Maximum variance unfolding by a primal-dual interior-point method in the coordinates.

Each step solves one sparse system: (L_w + Σ_e k_e d_e d_eᵀ) is factored with the sparsity of the
graph, and what the objective takes off it is left to conjugate gradients. The program is not
convex; that its answer is optimal follows from the eigenvalues of L_w. Where an eigenvalue is
below 1, its vector is a new column along which the variance grows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...core.solution import Step
from ...core.threads import one_thread
from ..sparse.spectrum import proven_bound, smallest_eigenpairs
from .newton import NewtonSystem
from .program import dots, squares

#: The start: the barrier is so much weaker than the one that keeps the start from moving.
WEAKER = 0.1
#: The start is shrunk to this part of the longest that the edges allow.
SHRUNK = 0.8
#: How much weaker the barrier gets once its own problem is nearly solved.
FASTER = 0.2
#: Which it is where the relative gradient, the variation of the products w c and what another
#: step could gain, per edge in units of the barrier, are at most so large.
CENTRAL_GRADIENT, CENTRAL_PRODUCT, CENTRAL_GAIN = 0.1, 10.0, 0.1
#: The part of its slack that a step leaves to each edge.
LEFT = 0.005
#: Shorter steps are none.
SHORTEST = 1e-12
#: The barrier gets no weaker than for this tolerance ...
ROUNDING = 1e-11
#: ... and a run ends whose interval has not become narrower for so many steps.
IDLE = 100
#: Columns with a smaller part of the variance than this times tol are dropped.
NEGLIGIBLE = 1e-4
#: Eigenvalues so far below 1 call for a new column: ten times the relative gradient, within these.
SEEN, CERTAIN = 1e-4, 2e-3
#: The gap due to the barrier, relative to the variance, at which optimality is first looked at.
LOOK = 0.1


@dataclass(frozen=True)
class Unfolded:
    """The feasible Y, the multipliers w, and why the run ended (as in `frobmetric.Solution`)."""

    Y: np.ndarray
    w: np.ndarray
    status: str
    history: tuple[Step, ...]
    n_iter: int


def unfold(program, Y, tol=1e-5, max_iter=1000, callback=None, max_rank=None):
    """Maximise the program from a start.

    Parameters
    ----------
    program : UnfoldingProgram
    Y : ndarray of shape (n_points, r)
        Any start of full column rank; it is shrunk until it is feasible.
    tol : float
        Relative difference of the bounds at which the run ends.
    max_iter : int
    callback : callable, optional
        Called with a `Step` after each step; a true answer ends the run.
    max_rank : int, optional
        End with the status "rank" where more columns are needed.

    Returns
    -------
    Unfolded
    """
    with one_thread():
        run = _Run(program, Y, tol, callback, max_rank or program.n_points)
        try:
            while not run.status and len(run.history) < max_iter:
                run.advance()
        except KeyboardInterrupt:
            run.status = "interrupted"
        except np.linalg.LinAlgError:  # on the boundary up to rounding
            run.status = "stalled"
        return run.answer()


@dataclass
class _Run:
    """One run: where it is (Y, w, mu), and the best multipliers so far."""

    program: object
    Y: np.ndarray
    tol: float
    callback: Callable | None
    max_rank: int
    status: str = ""
    history: list[Step] = field(default_factory=list)
    upper: float = np.inf
    best_w: np.ndarray | None = None
    stuck: int = 0
    best_gap: float = np.inf
    best_step: int = 0

    def __post_init__(self):
        self._began, program = time.perf_counter(), self.program
        Y = program.centred(np.asarray(self.Y, dtype=float))
        self.Y = SHRUNK * feasible(program, Y)
        self.d, self.c = _edges(program, self.Y)
        second = smallest_eigenpairs(program, 1 / self.c, 1, tol=1e-3)[0][0]
        self.mu = WEAKER / second
        self.w = self.mu / self.c

    def advance(self):
        """One step of Newton along an arc, then a look at where it led."""
        is_central = self._step() and self._residual() < CENTRAL_GRADIENT
        has_grown = is_central and self._judge()
        self._record()
        if is_central and not has_grown:
            least = max(self.tol, ROUNDING) * self._variance() / (40 * len(self.c))
            self.mu = max(FASTER * self.mu, least)

    def answer(self):
        """The feasible coordinates, along their principal axes, and the best multipliers."""
        w = self.w if self.best_w is None else self.best_w
        Y = principal_axes(self.program, feasible(self.program, self.Y))
        return Unfolded(Y, w, self.status or "max_iter", tuple(self.history), len(self.history))

    def _variance(self):
        return np.trace(self.program.gram(self.Y))

    def _residual(self):
        """The gradient of the Lagrangian relative to that of the variance."""
        program = self.program
        error = program.divergence(self.w[:, None] * self.d) - program.slope(self.Y)
        return np.linalg.norm(error) / np.linalg.norm(program.spread(self.Y))

    def _step(self):
        """Newton's step for the present barrier, with its correction; whether it arrived."""
        program, d, c, w = self.program, self.d, self.c, self.w
        stiffness, central = w / c, self.mu / c
        newton = NewtonSystem(program, self.Y, w, stiffness, d)
        gradient = program.slope(self.Y) - program.divergence(central[:, None] * d)
        dY, is_convex = newton.solve(gradient, 1e-3)
        gain = float((gradient * dY).sum())
        if not is_convex:
            t = self._move(dY, np.zeros_like(dY), gain)
            self.w = self.mu / self.c
            return False
        dd = program.differences(dY)
        dw = central - w + stiffness * dots(d, dd)
        push = (dw * dots(d, dd) + w * squares(dd) / 2) / c
        force = -program.divergence(dw[:, None] * dd + push[:, None] * d)
        bend, is_convex = newton.solve(force, 1e-2)
        bend *= is_convex * min(1.0, np.linalg.norm(dY) / max(np.linalg.norm(bend), 1e-300))
        bent = is_convex * (push + stiffness * dots(d, program.differences(bend)))
        t = self._move(dY, bend, gain)
        self._reweigh(dw, bent)
        products = (self.w * self.c).max() / self.mu
        return t > 0.1 and products < CENTRAL_PRODUCT and gain < CENTRAL_GAIN * self.mu * len(c)

    def _move(self, dY, bend, gain):
        """Along Y + t dY + t² bend as far as the edges and the barrier's objective allow; t."""
        program, t = self.program, 1.0
        room = _arc(self.c, self.d, program.differences(dY), program.differences(bend))
        while (room(t) < LEFT * self.c).any() and t > SHORTEST:
            t *= 0.8
        before = self._barrier_objective(self.Y, self.c)
        while t > SHORTEST:
            Y = self.Y + t * dY + t**2 * bend
            d, c = _edges(program, Y)
            enough = before + 1e-4 * t * gain - 1e-12 * abs(before)
            if (c > 0).all() and self._barrier_objective(Y, c) >= enough:
                self.Y, self.d, self.c, self.stuck = Y, d, c, 0
                return t
            t *= 0.5
        self.stuck += 1
        return 0.0

    def _barrier_objective(self, Y, c):
        return self.program.objective(Y) / 2 + self.mu * np.log(c).sum()

    def _reweigh(self, dw, bent):
        """W along its own arc, as far as it stays positive and not absurdly off the centre."""
        s, central = 1.0, self.mu / self.c
        while (self.w + s * dw + s**2 * bent < LEFT * self.w).any():
            s *= 0.8
        self.w = np.clip(self.w + s * dw + s**2 * bent, 1e-10 * central, 1e10 * central)

    def _judge(self):
        """Bounds from w; true if there is a column that is new, or has not grown up yet."""
        program, barrier = self.program, 2 * (self.w @ self.c) / self._variance()
        if barrier > LOOK:
            return False
        try:
            values, vectors = smallest_eigenpairs(program, self.w, self.Y.shape[1] + 2, tol=1e-6)
        except np.linalg.LinAlgError:
            return False
        level = 1 - np.clip(10 * self._residual(), SEEN, CERTAIN)
        self._trim()
        if self._is_growing(level) or self._add(values, vectors, level):
            return True
        near = barrier < 3 * max(self.tol, ROUNDING)
        upper = proven_bound(program, self.w) if near else np.inf
        if upper < self.upper:
            self.upper, self.best_w = upper, self.w.copy()
        return False

    def _trim(self):
        """Turn Y into its principal axes, and drop those that carry nothing."""
        Y = principal_axes(self.program, self.Y)
        carried = np.diag(self.program.gram(Y))
        self.Y = Y[:, carried > NEGLIGIBLE * self.tol * carried.sum()]
        self.d, self.c = _edges(self.program, self.Y)

    def _is_growing(self, level):
        """Whether some column pulls more than the edges hold."""
        pull = np.einsum("ij,ij->j", self.Y, self.program.slope(self.Y))
        return bool((self.w @ self.d**2 < level * pull).any())

    def _add(self, values, vectors, level):
        """A column along each vector that the variance can still grow along; true if any."""
        program, rank = self.program, self.Y.shape[1]
        for vector in vectors[:, values < level].T:
            axes = self.Y / np.sqrt(np.diag(program.gram(self.Y)))
            new = vector[:, None] - axes @ (axes.T @ program.spread(vector[:, None]))
            size = program.gram(new)[0, 0]
            if size > 0.25:  # it is not one of those that are there
                self._grow(new, size)
        if self.Y.shape[1] > self.max_rank:
            self.status = "rank"
        return self.Y.shape[1] > rank

    def _grow(self, new, size):
        """Append a column, as long as is best for the barrier while the others make room for it."""
        program, d = self.program, self.d
        taken = squares(program.differences(new)) / 2
        newton = NewtonSystem(program, self.Y, self.w, self.w / self.c, d)
        force = program.divergence((self.w * taken / self.c)[:, None] * d)
        bend, is_convex = newton.solve(-force, 1e-2)
        length = self._growth(taken, size)
        best = self._grown(new, length, 0.0 * bend)
        for _ in range(40 if is_convex else 0):
            longer = self._grown(new, length, length * bend)
            if longer[0] < best[0]:
                break
            best, length = longer, 1.5 * length
        self.Y, self.d, self.c = best[1:]
        self.w = self.mu / self.c

    def _grown(self, new, length, bend):
        """The barrier's objective with such a column, and what it is computed from."""
        Y = np.hstack([self.Y + bend, np.sqrt(length) * new])
        d, c = _edges(self.program, Y)
        return (self._barrier_objective(Y, c) if (c > 0).all() else -np.inf), Y, d, c

    def _growth(self, taken, size):
        """How long a new column, squared, is best for the present barrier; `taken` of the slack."""
        low, high = 0.0, (self.c / np.maximum(taken, 1e-300)).min()
        for _ in range(60):
            middle = (low + high) / 2
            pull = size / 2 * (1 - middle * size / self.program.sigma)
            grows = self.mu * (taken / (self.c - middle * taken)).sum() < pull
            low, high = (middle, high) if grows else (low, middle)
        return max(low, 1e-12 * high)

    def _record(self):
        primal = self.program.objective(feasible(self.program, self.Y))
        gap = max(0.0, self.upper - primal)
        seconds = time.perf_counter() - self._began
        step = Step(primal, self.upper, gap, self.Y.shape[1], seconds)
        self.history.append(step)
        if not gap >= 0.9 * self.best_gap or np.isinf(gap):
            self.best_gap, self.best_step = gap, len(self.history)
        if self.status:
            return
        if gap <= self.tol * abs(self.upper) < np.inf:
            self.status = "optimal"
        elif self.callback is not None and self.callback(step):
            self.status = "stopped"
        elif self.stuck >= 3 or len(self.history) > self.best_step + IDLE:
            self.status = "stalled"


def feasible(program, Y):
    """Y, shrunk until every edge is met; stretched until one is tight where that only helps."""
    longest = np.sqrt((squares(program.differences(Y)) / program.squared).max())
    return Y / (longest if np.isinf(program.sigma) else max(longest, 1.0))


def principal_axes(program, Y):
    """Y, centred and turned so that its columns are its principal axes, the widest first."""
    Y = program.centred(Y)
    return Y @ np.linalg.eigh(program.gram(Y))[1][:, ::-1]


def _edges(program, Y):
    d = program.differences(Y)
    return d, program.slack(d)


def _arc(c, d, dd, bend):
    """The slacks as a function of t along d + t dd + t² bend."""
    first, second = dots(d, dd), squares(dd) / 2 + dots(d, bend)
    third, fourth = dots(dd, bend), squares(bend) / 2
    return lambda t: c - t * (first + t * (second + t * (third + t * fourth)))
