"""Exact elimination of the free variables of a conic program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...core.points import Array, Index, Vector

#: Rounding of a difference, relative to its terms.
ROUNDING = 1e-13
#: Smallest entry that may be a pivot, relative to the largest entry of its column.
SMALLEST_PIVOT = 1e-2
#: Size of the remainder of a column that depends on the others, relative to the largest one.
DEPENDENT = 1e-10
#: Largest difference of two vectors that count as equal, relative to their size.
EQUAL = 1e-9


@dataclass(frozen=True)
class _Pass:
    """Columns solved for with as many rows: f[columns] = -solved @ (f, p, -1)."""

    rows: Index
    rest: Index
    columns: Index
    inverse: sp.csr_array
    below: sp.csr_array
    solved: sp.csr_array


class Elimination:
    """The equations F f + G p = h without f: rows @ p = sides.

    Gaussian elimination, in which all rows or columns with a single entry are one pass; where
    there are none, connected parts are solved as dense blocks. If several rows could give a
    variable, the one with the smallest `preference` does. `dependent` are the columns that depend
    on others: f is zero there.
    """

    def __init__(self, F: sp.csr_array, G: sp.csr_array, h: Vector, preference: Vector) -> None:
        self._n_rows, self._n_free = F.shape
        self._passes: list[_Pass] = []
        M = sp.hstack([F, G, h[:, None]]).tocsr()
        M.eliminate_zeros()
        number, left = np.arange(self._n_rows), np.arange(self._n_free)
        while left.size:
            rows, columns, inverse = _pivots(M[:, left], preference[number])
            if not rows.size:
                break
            columns, rest = left[columns], np.delete(np.arange(len(number)), rows)
            solved, below = inverse @ M[rows], M[rest][:, columns]
            self._passes.append(_Pass(number[rows], number[rest], columns, inverse, below, solved))
            M, number = _subtract(M[rest], below, solved), number[rest]
            left = np.setdiff1d(left, columns)
        self._number, self.dependent = number, left
        self.rows, self.sides = M[:, self._n_free : -1], M[:, [-1]].toarray().ravel()

    def solution(self, p: Vector, constant: float = 1.0) -> Vector:
        """Return the f of p; with constant 0 the f of a direction p."""
        return self._solve(np.zeros(self._n_free), p, constant)

    def cost(self, cf: Vector, cp: Vector) -> tuple[Vector, Vector | None]:
        """Return the cost of p after f is eliminated, and a direction of f alone that lowers cf."""
        cost = self._costs(cf, cp)[-1]
        direction = np.zeros(self._n_free)
        direction[self.dependent] = -cost[self.dependent]
        is_flat = np.abs(direction).max(initial=0.0) <= EQUAL * np.abs(cf).max(initial=0.0)
        descent = None if is_flat else self._solve(direction, np.zeros(len(cp)), 0.0)
        return cost[self._n_free : -1], descent

    def multipliers(self, y: Vector, cf: Vector) -> Vector:
        """Return the multipliers Y of all equations, F'Y = cf, from y of the remaining rows."""
        Y = np.zeros(self._n_rows)
        Y[self._number] = y
        costs = self._costs(cf, np.zeros(self.rows.shape[1]))
        for done, cost in zip(reversed(self._passes), reversed(costs[:-1]), strict=True):
            due = cost[done.columns] - done.below.T @ Y[done.rest]
            Y[done.rows] = done.inverse.T @ due
        return Y

    def _costs(self, cf: Vector, cp: Vector) -> list[Vector]:
        """Return the cost of (f, p, 1) before each pass and after the last."""
        costs = [np.r_[cf, cp, 0.0]]
        for done in self._passes:
            costs.append(costs[-1] - done.solved.T @ costs[-1][done.columns])
        return costs

    def _solve(self, f: Vector, p: Vector, constant: float) -> Vector:
        whole = np.r_[f, p, -constant]
        for done in reversed(self._passes):
            whole[done.columns] = -(done.solved @ whole)
        return whole[: self._n_free]


def _pivots(F: sp.csr_array, preference: Vector) -> tuple[Index, Index, sp.csr_array]:
    """Return rows, the columns that they give, and the inverse of the block where these meet."""
    rows, columns = _singletons(F, preference)
    if not rows.size:
        columns, rows = _singletons(F.T.tocsr(), np.zeros(F.shape[1]))
    if rows.size:
        return rows, columns, sp.diags_array(1 / F[rows][:, columns].diagonal()).tocsr()
    blocks = [_dense_pivots(F, *places) for places in _connected(F)]
    if not blocks:
        return rows, columns, sp.csr_array((0, 0))
    all_rows, all_columns, inverses = zip(*blocks, strict=True)
    inverse = sp.block_diag(inverses, format="csr")
    return np.concatenate(all_rows), np.concatenate(all_columns), inverse


def _singletons(F: sp.csr_array, preference: Vector) -> tuple[Index, Index]:
    """Return for each column the best of the rows that have an entry there and no other."""
    rows = np.flatnonzero(np.diff(F.indptr) == 1)
    columns, size = F.indices[F.indptr[rows]], np.abs(F.data[F.indptr[rows]])
    largest = np.zeros(F.shape[1])
    np.maximum.at(largest, F.indices, np.abs(F.data))
    is_large = size >= SMALLEST_PIVOT * largest[columns]
    rows, columns, size = rows[is_large], columns[is_large], size[is_large]
    order = np.lexsort((-size, preference[rows], columns))
    columns, first = np.unique(columns[order], return_index=True)
    return rows[order[first]], columns


def _connected(F: sp.csr_array) -> list[tuple[Index, Index]]:
    """Return the rows and columns of each part of F that shares neither with the others."""
    _, label = connected_components(sp.block_array([[None, F], [F.T, None]]))
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    n = F.shape[0]
    return [(part[part < n], part[part >= n] - n) for part in parts if len(part) > 1]


def _dense_pivots(F: sp.csr_array, rows: Index, columns: Index) -> tuple[Index, Index, Array]:
    """Return a largest set of independent columns, rows that give them, and their inverse."""
    dense = F[rows][:, columns].toarray()
    R, order = scipy.linalg.qr(dense, mode="r", pivoting=True)
    rank = np.count_nonzero(np.abs(np.diag(R)) > DEPENDENT * np.abs(R[0, 0]))
    _, best = scipy.linalg.qr(dense[:, order[:rank]].T, mode="r", pivoting=True)
    best, order = best[:rank], order[:rank]
    return rows[best], columns[order], np.linalg.inv(dense[best][:, order])


def _subtract(M: sp.csr_array, below: sp.csr_array, solved: sp.csr_array) -> sp.csr_array:
    """Return M - below @ solved, with zeros where only rounding is left."""
    size = abs(M) + abs(below) @ abs(solved)
    M = M - below @ solved
    return M.multiply(abs(M) > ROUNDING * size).tocsr()
