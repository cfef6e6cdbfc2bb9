"""The problem of large margins around target neighbours, and its bounds.

With targets (i, j), weights w_i and all samples l of other classes it is to minimise over M >= 0

    reg sum_ij w_i d2(i, j) + (1 - reg) sum_ijl w_i max(0, 1 + d2(i, j) - d2(i, l)).

In coordinates in which the targets scatter equally in all directions the first sum is a multiple of
trace(M), and a vector u of one number for each triplet bounds the minimum from below:

    maximise sum u   subject to   sum_r u_r (A_il - A_ij) <= pull I,   0 <= u_r <= (1 - reg) w_i.

Triplets that are not looked at have u = 0, so that a bound from some triplets is one for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..core.kernels import image, laplacian_product, pair_products
from ..core.points import Array, Index, Mask, Vector
from .impostors import Pairs, impostor_blocks

#: Deviations below this, relative to the largest one, are rounding.
CONSTANT = 1e-12
#: Smallest scatter of the targets in a direction, relative to the largest one.
FLOOR = 1e-8
#: Triplets with a margin up to one plus this are in the working set.
SLACK = 0.3
#: Triplets that a working set may hold.
MOST_TRIPLETS = 1 << 23
#: Width of the corner of the hinge at first: beyond the slack, u = 0 wherever it was centred.
WIDTH = SLACK


@dataclass(frozen=True, eq=False)
class LargeMargin:
    """Problem of large margins in coordinates in which targets scatter equally everywhere."""

    Z: Array
    labels: Index
    targets: Index  # (n, n_neighbors), row numbers
    weight: Array
    regularization: float
    basis: Array  # map from the coordinates that were given to those of Z
    is_floored: bool  # whether targets do not differ in some directions

    @classmethod
    def of(
        cls, X: Array, labels: Index, targets: Index, weight: Vector, regularization: float
    ) -> Self:
        """Return the problem of samples in any coordinates."""
        unit = X.std(axis=0)
        unit[unit <= CONSTANT * unit.max()] = 1.0
        X, scatter = X / unit, np.zeros((X.shape[1], X.shape[1]))
        for column in targets.T:
            away = X - X[column]
            scatter += (away * weight[:, None]).T @ away
        values, vectors = np.linalg.eigh(scatter)
        total = weight.sum() * targets.shape[1]
        floor = FLOOR * (values[-1] or total)
        is_floored = bool((X @ vectors[:, values < floor]).std(axis=0).max(initial=0.0) > CONSTANT)
        basis = vectors * np.sqrt(total / np.maximum(values, floor))
        given = labels, targets, weight, regularization
        return cls(X @ basis, *given, basis / unit[:, None], is_floored)

    @property
    def pull(self) -> float:
        """Cost of trace(M)."""
        return self.regularization * float(self.weight.sum()) * self.targets.shape[1]

    @property
    def push(self) -> Array:
        """Weight of the triplets of each anchor."""
        return (1 - self.regularization) * self.weight

    @property
    def unit(self) -> float:
        """Mean loss of a triplet that falls short of its margin by one."""
        return float(self.push.mean())

    def near(self, image_of_Z: Array, rows: Index) -> Array:
        """Return the squared distances of these rows to their targets, (n_rows, n_neighbors)."""
        k = self.targets.shape[1]
        first, second = np.repeat(rows, k), self.targets[rows].ravel()
        return pair_products(image_of_Z, image_of_Z, first, second).reshape(-1, k)

    def blocks(self, L: Array, rows: Index, slack: float = 0.0) -> Iterator[Pairs]:
        """Yield the pairs (i, l) with a margin below 1 + slack for some target; see `impostors`."""
        moved = image(self.Z, L)
        radius2 = np.zeros(len(self.Z))
        radius2[rows] = 1 + slack + self.near(moved, rows).max(axis=1)
        return impostor_blocks(moved, self.labels, radius2, rows)

    def objective(self, L: Array) -> float:
        """Return the objective at M = L @ L.T, with all triplets, few of them held at a time."""
        near = self.near(image(self.Z, L), np.arange(len(self.Z)))
        loss = 0.0
        for first, _, far in self.blocks(L, np.arange(len(self.Z))):
            short = np.maximum(0.0, 1 + near[first] - far[:, None])
            loss += float(self.push[first] @ short.sum(axis=1))
        return self.pull * float(np.sum(L**2)) + loss

    def working_set(self, L: Array, rows: Index) -> WorkingSet:
        """Return the triplets of these anchors that have small margins; of fewer, if too many."""
        while True:
            parts, n_pairs, most = [], 0, MOST_TRIPLETS // self.targets.shape[1]
            for first, second, _ in self.blocks(L, rows, SLACK):
                parts.append((first, second))
                n_pairs += len(first)
                if n_pairs > most and len(rows) > 1:
                    break
            else:
                first, second = (np.concatenate(side) for side in zip(*parts, strict=True))
                return WorkingSet(self, rows, first, second)
            rows = rows[: len(rows) // 2]


class WorkingSet:
    """Triplets (i, j, l): some anchors i, their targets j, and the pairs (i, l) of a search.

    The corner of the hinge of a triplet is rounded around `center`, a share of its weight: its u is
    this share and more, the more the margin falls short of one. With a center at the optimal u the
    rounded problem has the same solution as the problem itself.
    """

    def __init__(self, problem: LargeMargin, rows: Index, first: Index, second: Index) -> None:
        self.problem, self.rows, self.first, self.second = problem, rows, first, second
        n, k = problem.targets.shape
        self.is_whole = len(rows) == n
        self.pull = problem.pull * float(problem.weight[rows].sum() / problem.weight.sum())
        self.upper = problem.push[first][:, None]
        self.center, self.width = np.zeros((len(first), k)), WIDTH
        self._place = np.zeros(n, dtype=np.intp)
        self._place[rows] = np.arange(len(rows))
        # the pattern of all pairs, first those of targets, is fixed: sort it once
        start = np.concatenate([np.repeat(rows, k), first])
        self._order = np.argsort(start, kind="stable")
        self._indptr = np.concatenate([[0], np.cumsum(np.bincount(start, minlength=n))])
        self._indices = np.concatenate([problem.targets[rows].ravel(), second])[self._order]

    def evaluate(self, L: Array) -> Evaluation:
        """Return the objective at M = L @ L.T, and what the u of the rounded hinge tells."""
        short, anchor = self._short(L), self._place[self.first]
        share = np.clip(self.center + short / self.width, 0.0, 1.0)
        u = share * self.upper
        slope = float(np.sum(u * short))
        curve = self.width / 2 * float(np.sum(self.upper * (share - self.center) ** 2))
        loss = float(np.sum(self.upper * np.maximum(short, 0.0, out=short)))
        trace = self.pull * float(np.sum(L**2))
        values = trace + loss, trace + slope - curve, loss - slope
        return Evaluation(*values, float(u.sum()), self._push(anchor, u), self.pull, share)

    def scale(self, L: Array) -> float:
        """Return the number c >= 1 for which the objective at c M is smallest.

        No other triplets than those of the working set count at c M either.
        """
        excess, weight = self._short(L) - 1, np.broadcast_to(self.upper, self.center.shape)
        is_active = excess > -1
        excess, weight = excess[is_active], weight[is_active]
        slope = self.pull * float(np.sum(L**2)) + float(weight @ excess)
        # a triplet with a negative excess counts up to c = -1 / excess
        order = np.argsort(excess)[: np.count_nonzero(excess < 0)]
        slopes = slope - np.cumsum((weight * excess)[order])
        if slope >= 0 or not len(order):
            return 1.0
        place = min(int(np.searchsorted(slopes, 0.0)), len(order) - 1)
        return float(-1 / excess[order[place]])

    def _short(self, L: Array) -> Array:
        """Return by how much the margins fall short of one, (n_pairs, n_neighbors)."""
        moved = image(self.problem.Z, L)
        far = pair_products(moved, moved, self.first, self.second)
        short = self.problem.near(moved, self.rows)[self._place[self.first]]
        short += 1 - far[:, None]
        return short

    def _push(self, anchor: Index, u: Array) -> Array:
        """Return sum_r u_r (A_ij - A_il)."""
        near = [np.bincount(anchor, column, len(self.rows)) for column in u.T]
        weights = np.concatenate([np.stack(near, axis=1).ravel(), -u.sum(axis=1)])
        return laplacian_product(self.problem.Z, self._indptr, self._indices, weights[self._order])

    def recenter(self, other: WorkingSet) -> None:
        """Copy the width, and the centers of the triplets that another working set holds too."""
        self.width = other.width
        if len(other.first):
            place, is_known = self._find(other)
            self.center = np.where(is_known[:, None], other.center[place], 0.0)

    def joined(self, other: WorkingSet) -> WorkingSet:
        """Return the triplets of both working sets, as long as they are not too many."""
        is_mine = np.isin(other.first, self.rows)
        if len(self.first):
            is_mine &= ~other._find(self)[1]
        if self.center.size + is_mine.sum() * self.center.shape[1] > MOST_TRIPLETS:
            return self
        first = np.concatenate([self.first, other.first[is_mine]])
        second = np.concatenate([self.second, other.second[is_mine]])
        both = WorkingSet(self.problem, self.rows, first, second)
        both.width, both.center = self.width, np.concatenate([self.center, other.center[is_mine]])
        return both

    def _find(self, other: WorkingSet) -> tuple[Index, Mask]:
        """Return the place of each pair in another working set, and whether it is there at all."""
        n = len(self.problem.Z)
        keys, known = self.first * n + self.second, other.first * n + other.second
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, keys, sorter=order), len(known) - 1)]
        return place, known[place] == keys


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Objective at M, the one with rounded corners, and the u of the latter.

    `corners` is how much the corners add to the gap. `total` is the sum of u, `push` the matrix
    sum_r u_r (A_ij - A_il), and `share` has u as shares of the weights.
    """

    primal: float
    smooth: float
    corners: float
    total: float
    push: Array
    pull: float
    share: Array

    def gradient(self, L: Array) -> Array:
        """Return the gradient of `smooth` in L."""
        return 2 * (self.push @ L + self.pull * L)

    def bound(self, pull: float | None = None) -> float:
        """Return a lower bound of the minimum: u, scaled until it is feasible."""
        pull = self.pull if pull is None else pull
        values = np.linalg.eigvalsh(self.push)
        largest = -values[0] + len(values) * np.finfo(float).eps * np.abs(values).max()
        return self.total * (min(1.0, pull / largest) if largest > 0 else 1.0)
