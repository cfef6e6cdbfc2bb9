"""Sparse combinations of given directions: a linear program, Newton's method and a proof.

The weights of the directions are few and the triplets are many, so steps are taken in the weights.
The corner of each hinge is rounded over a width of margin, and each Newton step is a small problem
of non-negative least squares. The multipliers of the rounded hinges are inside the box of the dual
program; scaled until they satisfy its other constraints, they prove a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linprog, nnls

from ..core.kernels import block_differences
from ..core.points import Array, Factored, Index, Mask, Vector
from ..core.rounding import SUM, gamma, norm
from ..core.solution import Certificate, Step
from .learner import certificate_of

#: Triplets times directions up to which the whole program is written out.
FEW_NUMBERS = 50_000
#: Options of the simplex method: its smallest tolerances.
SIMPLEX = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
#: First width over which the corner of a hinge is rounded, and the share that the next one has.
FIRST_WIDTH, NARROWER = 4.0, 0.3
#: Smallest width.
LAST_WIDTH = 1e-6
#: Most steps for one width.
MOST_STEPS = 40
#: A width is done with when the gap is at most this multiple of what the rounded corners cost.
DONE = 1.3
#: Number of directions, and of triplets of a program, that may enter in one step.
ENTERING = 100
#: Numbers that the matrix of a step may have: if there are more rows, some stand for all.
MOST_NUMBERS = 1 << 22
#: Smallest and largest ridge of the matrix of a step whose diagonal is one; it grows when a step
#: turns out to be too long by this factor.
RIDGES, SHORT = (1e-10, 1.0), 0.03
#: Smallest diagonal that is scaled to one, as a share of the largest.
SMALLEST = 1e-12
#: Trials of the length of a step, and slope at which it ends, as a share of that at its start.
MOST_TRIALS, FLAT = 40, 0.1
#: Growth of a step that ends with more than a share of the slope at its start.
LONGER, STEEP = 4.0, 0.5
EPS = float(np.finfo(np.float64).eps)


class Answer(NamedTuple):
    """Weights, multipliers, number of iterates, and whether the gap is small enough."""

    weight: Array
    u: Array
    n_iter: int
    is_converged: bool


@dataclass(frozen=True, eq=False)
class SparseCombination:
    """Problem of weights w >= 0 of directions b, with M = sum_b w_b b b.T.

    Minimise beta sum(w) + sum_r share_r max(0, 1 - margin_r), where a margin is the squared
    distance of (anchor, far) minus that of (anchor, near) under M.
    """

    X: Array
    #: Triplets (anchor, near, far) as row numbers of X, and as constraints.
    index: Index
    rows: Any
    share: Array
    #: Directions, one in each row.
    basis: Array
    beta: float

    def minimise(
        self, tol: float, max_iter: int, report: Callable[[Step], Any] | None = None
    ) -> Answer:
        """Narrow the width until the gap is at most `tol` times the objective.

        Where corners are few and far between, the simplex method is better: it solves programs of
        few numbers, and those that the steps leave unfinished.
        """
        search = _Search(self, tol, max_iter, report)
        if len(self.share) * len(self.basis) <= FEW_NUMBERS:
            search.solve_programs(np.ones(len(self.share), bool), np.ones(len(self.basis), bool))
        w, width = np.zeros(len(self.basis)), FIRST_WIDTH
        while not search.is_over and width > LAST_WIDTH:
            w = search.minimise_rounded(w, width)
            width *= NARROWER
        if not search.is_over:
            is_near = self.residuals(search.weight) > -1
            search.solve_programs(is_near, search.weight > 0)
        return Answer(search.weight, search.u, search.n_iter, search.is_converged)

    def certify(self, weight: Array, u: Array) -> Certificate:
        """Return the certificate of weights and multipliers."""
        u, used = np.clip(u, 0.0, self.share), np.flatnonzero(weight)
        # the weights are the squares of the rounded roots, so that M is a product
        point = Factored(self.basis[used].T * np.sqrt(weight[used]))
        margins, reach = self.rows.forward_bound(point)
        primal = self.value(weight, 1 - (margins - reach))
        # the matrix in `reach` is known up to the error of the adjoint
        size, S = norm(self.basis) ** 2, self.rows.adjoint(u)
        rounding = size * (self.rows.adjoint_error(u) + gamma(2 * len(S) + 4) * norm(S))
        dual = self.bound(u, self.reach(u) + rounding)
        return certificate_of(primal, dual, gamma(SUM + 8) * primal)

    def residuals(self, weight: Array) -> Array:
        """Return 1 - margin of each triplet."""
        return 1 - self.margins(weight)

    def margins(self, weight: Array) -> Array:
        """Return the margin of each triplet; the weights may have any sign."""
        used = np.flatnonzero(weight)
        M = (self.basis[used].T * weight[used]) @ self.basis[used]
        return self.rows.forward(M)

    def value(self, weight: Array, residuals: Array) -> float:
        """Return the objective."""
        return float(self.beta * weight.sum() + self.share @ np.maximum(residuals, 0.0))

    def reach(self, u: Array) -> Array:
        """Return the weighted sum of the margins of each direction, which is not to exceed beta."""
        return np.einsum("ij,ij->i", self.basis @ self.rows.adjoint(u), self.basis)

    def bound(self, u: Array, reach: Array) -> float:
        """Return the lower bound of multipliers, scaled until no direction exceeds beta."""
        return float(u.sum()) * min(1.0, self.beta / max(float(reach.max()), self.beta))

    def multipliers(self, residuals: Array, width: float) -> Array:
        """Return the slopes of the rounded hinges."""
        return self.share * np.clip(residuals / width + 0.5, 0.0, 1.0)

    def vertex(self, some: Index, columns: Index) -> tuple[Array, Array]:
        """Return weights and multipliers of the program of some triplets and directions.

        Its units are chosen so that the largest margin and the smallest cost of each weight are 1.
        """
        w, u = np.zeros(len(self.basis)), np.zeros(len(self.share))
        margins = self._margins_of(some, columns)
        size = np.abs(margins).max(axis=0)
        size[size == 0] = 1.0
        unit = self.beta / size.max()
        rows = sp.hstack([sp.csr_array(margins / size), sp.eye_array(len(some))])
        costs = np.concatenate([self.beta / size, self.share[some]]) / unit
        target, options = np.full(len(some), -1.0), SIMPLEX
        found = linprog(costs, A_ub=-rows, b_ub=target, method="highs", options=options)
        if found.x is not None:
            w[columns] = np.maximum(found.x[: len(columns)], 0.0) / size
            u[some] = np.clip(-unit * found.ineqlin.marginals, 0.0, self.share[some])
        return w, u

    def _margins_of(self, some: Index, columns: Index) -> Array:
        """Return the margins of some triplets in some directions, each of weight one."""
        used, place = np.unique(self.index[some], return_inverse=True)
        quadruplets = place.reshape(-1, 3)[:, [0, 1, 0, 2]]
        image = self.X[used] @ self.basis[columns].T
        return block_differences(image, quadruplets, np.arange(len(columns)))

    def curvature(self, u: Array, width: float, columns: Index) -> Array:
        """Return the second derivatives of the rounded hinges in the weights of some directions.

        If no hinge is at its corner, those of all count as if they were.
        """
        curved = np.flatnonzero((u > 0) & (u < self.share))
        curved = curved if len(curved) else np.arange(len(u))
        every = 1 + len(curved) * len(columns) // MOST_NUMBERS
        some = curved[::every]
        slopes = self._margins_of(some, columns)
        return (slopes.T * (every / width * self.share[some])) @ slopes


class _Search:
    """Course of a minimisation: its steps, the best weights and the best multipliers so far."""

    def __init__(
        self,
        problem: SparseCombination,
        tol: float,
        max_iter: int,
        report: Callable[[Step], Any] | None,
    ) -> None:
        self.problem, self.tol, self.max_iter, self.report = problem, tol, max_iter, report
        self.weight, self.u = np.zeros(len(problem.basis)), np.zeros(len(problem.share))
        self.primal, self.dual, self.n_iter = float(problem.share.sum()), 0.0, 0
        self.started, self.ridge = perf_counter(), RIDGES[0]

    @property
    def is_converged(self) -> bool:
        return self.primal - self.dual <= self.tol * self.primal

    @property
    def is_over(self) -> bool:
        return self.is_converged or self.n_iter >= self.max_iter

    def minimise_rounded(self, w: Vector, width: float) -> Vector:
        """Return weights that about minimise the objective with hinges rounded over a width."""
        problem, residuals = self.problem, self.problem.residuals(w)
        for _ in range(MOST_STEPS):
            u = problem.multipliers(residuals, width)
            reach = problem.reach(u)
            gap = self._record(w, residuals, u, reach)
            corners = float(problem.share @ np.maximum(residuals, 0.0) - u @ residuals)
            if self.is_over or gap <= DONE * corners:
                break
            step = self._direction(w, problem.beta - reach, u, width)
            slope = float((problem.beta - reach) @ step)
            if not slope < 0:
                break
            change = -problem.margins(step)
            length = self._length(w, step, residuals, change, width)
            self.ridge = float(np.clip(self.ridge * (0.1 if length > SHORT else 100.0), *RIDGES))
            w, residuals = np.maximum(w + length * step, 0.0), residuals + length * change
        return w

    def solve_programs(self, is_row: Mask, is_column: Mask) -> None:
        """Solve programs of some triplets and directions, which grow by those that they violate."""
        problem = self.problem
        while 0 < np.count_nonzero(is_row) * np.count_nonzero(is_column) <= MOST_NUMBERS:
            w, u = problem.vertex(np.flatnonzero(is_row), np.flatnonzero(is_column))
            residuals, reach = problem.residuals(w), problem.reach(u)
            self._record(w, residuals, u, reach)
            new_rows = _largest(np.where(is_row, 0.0, residuals))
            new_columns = _largest(np.where(is_column, 0.0, reach - problem.beta))
            if self.is_over or not len(new_rows) + len(new_columns):
                break
            is_row[new_rows], is_column[new_columns] = True, True

    def _record(self, w: Vector, residuals: Vector, u: Vector, reach: Vector) -> float:
        """Keep what is better than before, and return the gap of this iterate."""
        primal, dual = self.problem.value(w, residuals), self.problem.bound(u, reach)
        self.n_iter += 1
        if primal < self.primal:
            self.primal, self.weight = primal, w
        if dual >= self.dual:
            self.dual, self.u = dual, u
        if self.report is not None:
            gap, rank = self.primal - self.dual, int(np.count_nonzero(self.weight))
            self.report(Step(self.primal, self.dual, gap, rank, perf_counter() - self.started))
        return primal - dual

    def _direction(self, w: Vector, gradient: Vector, u: Vector, width: float) -> Vector:
        """Return the Newton step, in weights that are positive or about to be."""
        entering = _largest(np.where(w == 0, -gradient, 0.0))
        columns = np.sort(np.concatenate([np.flatnonzero(w), entering]))
        if not len(columns):
            return np.zeros_like(w)
        H = self.problem.curvature(u, width, columns)
        step, here = np.zeros_like(w), (w[columns], gradient[columns])
        step[columns] = _nonnegative_minimum(H, *here, self.ridge) - w[columns]
        return step

    def _length(
        self, w: Vector, step: Vector, residuals: Vector, change: Vector, width: float
    ) -> float:
        """Return the length of a step at whose end the slope is small, while weights are >= 0."""
        fixed = self.problem.beta * float(step.sum())

        def slope(length: float) -> float:
            u = self.problem.multipliers(residuals + length * change, width)
            return fixed + float(u @ change)

        shrinking = step < 0
        most = float(np.min(w[shrinking] / -step[shrinking], initial=np.inf))
        start, low, length = slope(0.0), 0.0, 1.0
        if not start < 0:  # rounding: the weights are as good as these numbers can make them
            return low
        below, reached = start, slope(length)
        while reached < STEEP * start and length < most and np.isfinite(length):
            low, below, length = length, reached, min(LONGER * length, most)
            reached = slope(length)
        if reached <= 0:
            return length
        high, above = length, reached
        for _ in range(MOST_TRIALS):
            share = below / (below - above)
            length = low + min(max(share, 0.05), 0.95) * (high - low)
            reached = slope(length)
            if FLAT * start <= reached <= 0:
                return length
            if reached > 0:
                high, above = length, reached
            else:
                low, below = length, reached
        return low


def _largest(values: Vector) -> Index:
    """Return the places of the largest positive values."""
    order = np.argsort(-values)[:ENTERING]
    return order[values[order] > 0]


def _nonnegative_minimum(H: Array, w: Vector, gradient: Vector, ridge: float) -> Vector:
    """Return x >= 0 with the least gradient.T (x - w) + (x - w).T H (x - w) / 2."""
    diagonal = np.diag(H)
    scale = 1 / np.sqrt(np.maximum(diagonal, max(SMALLEST * diagonal.max(), np.finfo(float).tiny)))
    H = scale[:, None] * H * scale + ridge * np.eye(len(w))
    root = scipy.linalg.cholesky(H, check_finite=False)
    right = H @ (w / scale) - scale * gradient
    right = scipy.linalg.solve_triangular(root, right, trans=1, check_finite=False)
    return scale * nnls(root, right, maxiter=30 * len(w))[0]
