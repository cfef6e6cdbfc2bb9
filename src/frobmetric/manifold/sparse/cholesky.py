"""Cholesky factors and inertia of sparse matrices with an r x r block per point and per edge.

Each front of a nested dissection is a small dense matrix. LAPACK eliminates its pivots, and the
Schur complement on its border is added to the parent front.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from ...core.points import Array, Index
from .dissection import Front, nested_dissection

MIN_PIVOT = 1e-14  #: pivot, relative to its front, whose sign rounding may have changed
MIN_INNER_PIVOT = 1e-9  #: pivot with which the rest of the elimination would lose its accuracy


@dataclass(frozen=True, eq=False)
class Factor:
    """Inverse of the Cholesky factor L of a matrix A, front by front.

    Where a front has the columns (L₁; L₂) of L, its triangle and the rows of its border,
    `columns` has (L₁⁻¹; -L₂ L₁⁻¹): one product with it is the forward substitution of a front,
    one with its transpose the backward substitution.
    """

    order: Index
    places: list[Index]
    columns: list[Array]

    def solve(self, B: Array) -> Array:
        """Return A^-1 B, with B of shape (n_points, r)."""
        X, r, starts, start = B[self.order], B.shape[1], [], 0
        for place, column in zip(self.places, self.columns, strict=True):
            stop = start + column.shape[1] // r
            x = (column @ X[start:stop].ravel()).reshape(-1, r)
            X[start:stop] = x[: stop - start]
            X[place[stop - start :]] += x[stop - start :]
            starts.append(start)
            start = stop
        fronts = list(zip(starts, self.places, self.columns, strict=True))
        for start, place, column in reversed(fronts):
            X[start : start + column.shape[1] // r] = (X[place].ravel() @ column).reshape(-1, r)
        solution = np.empty_like(X)
        solution[self.order] = X
        return solution


class Elimination:
    """Elimination of the points of a graph, for any matrix with its sparsity.

    A matrix has symmetric r x r blocks: `diagonal` one for each point, `off_diagonal` one for
    each edge.
    """

    def __init__(self, edges: Index, n_points: int) -> None:
        self.fronts = nested_dissection(edges, n_points)
        self.order = np.concatenate([front.pivots for front in self.fronts])
        turn = np.empty(n_points, dtype=int)
        turn[self.order] = np.arange(n_points)
        self.places = [turn[front.nodes] for front in self.fronts]

    def factor(self, diagonal: Array, off_diagonal: Array) -> Factor:
        """Factor a matrix; raise a `LinAlgError` if it is not positive definite."""
        complements: dict[int, Array] = {}
        columns: list[Array] = []
        for number, front in enumerate(self.fronts):
            matrix = _assemble(front, diagonal, off_diagonal, complements)
            size = front.n_pivots * diagonal.shape[1]
            triangle, failed = lapack.dpotrf(matrix[:size, :size], lower=1)
            if failed:
                raise np.linalg.LinAlgError("the matrix is not positive definite")
            inverse, below = lapack.dtrtri(triangle, lower=1)[0], matrix[size:, :size]
            if len(below):
                below = blas.dtrsm(1.0, triangle, below, side=1, lower=1, trans_a=1)
                corner = matrix[size:, size:]
                complements[number] = blas.dsyrk(-1.0, below, beta=1.0, c=corner, lower=1)
                below = blas.dtrsm(-1.0, triangle, below, side=1, lower=1)
            columns.append(np.concatenate([inverse, below]))
        return Factor(self.order, self.places, columns)

    def count_negative(self, diagonal: Array, off_diagonal: Array) -> int:
        """Count the negative eigenvalues of a matrix, by Sylvester's law of inertia.

        A `LinAlgError` is raised if a pivot is so small that the count would not be certain.
        """
        complements: dict[int, Array] = {}
        negative = 0
        for number, front in enumerate(self.fronts):
            matrix = _assemble(front, diagonal, off_diagonal, complements)
            size = front.n_pivots * diagonal.shape[1]
            values, vectors = np.linalg.eigh(matrix[:size, :size], UPLO="L")
            smallest = MIN_INNER_PIVOT if len(matrix) > size else MIN_PIVOT
            if np.abs(values).min() <= smallest * np.abs(matrix).max():
                raise np.linalg.LinAlgError("a pivot is too small to tell its sign")
            negative += int((values < 0).sum())
            below = matrix[size:, :size] @ vectors
            complements[number] = matrix[size:, size:] - (below / values) @ below.T
        return negative


def _assemble(
    front: Front, diagonal: Array, off_diagonal: Array, complements: dict[int, Array]
) -> Array:
    """Return the dense matrix of a front, its lower triangle, with its children's complements.

    `complements` has the Schur complement of each front whose parent is not assembled yet.
    """
    r, n, pivots = diagonal.shape[1], len(front.nodes), np.arange(front.n_pivots)
    matrix = np.zeros((n * r, n * r), order="F")
    blocks = matrix.T.reshape(n, r, n, r)
    blocks[front.low, :, front.high, :] = off_diagonal[front.edges]
    blocks[pivots, :, pivots, :] = diagonal[front.pivots]
    for child, placed in zip(front.children, front.placed, strict=True):
        if child in complements:
            rows = (placed[:, None] * r + np.arange(r)).ravel()
            matrix[np.ix_(rows, rows)] += complements.pop(child)
    return matrix
