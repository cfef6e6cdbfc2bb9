"""Sparse matrices with a block of r x r for each point and each edge of a graph: their factors.

Each front of a nested dissection is a small dense matrix, which LAPACK eliminates; what that
leaves on its border is added to the front's parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from .dissection import nested_dissection

#: Pivots below this part of their front could have either sign ...
UNCERTAIN = 1e-14
#: ... and below this would spoil the rest of the elimination.
UNSTABLE = 1e-9


@dataclass(frozen=True, eq=False)
class Factor:
    """The inverse of the Cholesky factor L of a matrix A, front by front.

    Where L has the columns (L₁; L₂) of a front, its triangle and the rows of its border, `columns`
    has (L₁⁻¹; -L₂ L₁⁻¹): one product with it eliminates a front, one with its transpose goes back.
    """

    order: np.ndarray
    places: list[np.ndarray]
    columns: list[np.ndarray]

    def solve(self, B):
        """A^-1 B, with B of shape (n_points, r)."""
        X, r, starts, start = B[self.order], B.shape[1], [], 0
        for place, column in zip(self.places, self.columns, strict=True):
            stop = start + column.shape[1] // r
            x = (column @ X[start:stop].ravel()).reshape(-1, r)
            X[start:stop] = x[: stop - start]
            X[place[stop - start :]] += x[stop - start :]
            starts.append(start)
            start = stop
        for start, place, column in zip(
            starts[::-1], self.places[::-1], self.columns[::-1], strict=True
        ):
            X[start : start + column.shape[1] // r] = (X[place].ravel() @ column).reshape(-1, r)
        solution = np.empty_like(X)
        solution[self.order] = X
        return solution


class Elimination:
    """The order in which the points of a graph are eliminated, for any matrix of its pattern.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        Each edge once.
    n_points : int

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.sparse.cholesky import Elimination
    >>> path = Elimination(np.array([[0, 1], [1, 2]]), 3)
    >>> factor = path.factor(np.full((3, 1, 1), 2.0), np.full((2, 1, 1), -1.0))
    >>> factor.solve(np.array([[1.0], [0.0], [1.0]])).ravel().round(12)
    array([1., 1., 1.])
    """

    def __init__(self, edges, n_points):
        self.fronts = nested_dissection(edges, n_points)
        self.order = np.concatenate([front.pivots for front in self.fronts])
        turn = np.empty(n_points, dtype=int)
        turn[self.order] = np.arange(n_points)
        self.places = [turn[front.nodes] for front in self.fronts]

    def factor(self, diagonal, off_diagonal):
        """The Cholesky factor of a positive definite matrix.

        Parameters
        ----------
        diagonal : ndarray of shape (n_points, r, r)
        off_diagonal : ndarray of shape (n_edges, r, r)
            Symmetric blocks.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        left, columns = {}, []
        for number, front in enumerate(self.fronts):
            matrix = _assemble(front, diagonal, off_diagonal, left)
            size = front.n_pivots * diagonal.shape[1]
            triangle, failed = lapack.dpotrf(matrix[:size, :size], lower=1)
            if failed:
                raise np.linalg.LinAlgError("the matrix is not positive definite")
            inverse, below = lapack.dtrtri(triangle, lower=1)[0], matrix[size:, :size]
            if len(below):
                below = blas.dtrsm(1.0, triangle, below, side=1, lower=1, trans_a=1)
                left[number] = blas.dsyrk(-1.0, below, beta=1.0, c=matrix[size:, size:], lower=1)
                below = blas.dtrsm(-1.0, triangle, below, side=1, lower=1)
            columns.append(np.concatenate([inverse, below]))
        return Factor(self.order, self.places, columns)

    def count_negative(self, diagonal, off_diagonal):
        """How many eigenvalues of a symmetric matrix are below 0, by Sylvester's law of inertia.

        Raises
        ------
        numpy.linalg.LinAlgError
            If a pivot cannot be told from 0, so that the count would not be certain.
        """
        left, negative = {}, 0
        for number, front in enumerate(self.fronts):
            matrix = _assemble(front, diagonal, off_diagonal, left)
            size = front.n_pivots * diagonal.shape[1]
            values, vectors = np.linalg.eigh(matrix[:size, :size], UPLO="L")
            least = UNSTABLE if len(matrix) > size else UNCERTAIN
            if np.abs(values).min() <= least * np.abs(matrix).max():
                raise np.linalg.LinAlgError("a pivot is too small to tell its sign")
            negative += int((values < 0).sum())
            below = matrix[size:, :size] @ vectors
            left[number] = matrix[size:, size:] - (below / values) @ below.T
        return negative


def _assemble(front, diagonal, off_diagonal, left):
    """The dense matrix of a front, its lower triangle, with what its children left to it."""
    r, n, pivots = diagonal.shape[1], len(front.nodes), np.arange(front.n_pivots)
    matrix = np.zeros((n * r, n * r), order="F")
    blocks = matrix.T.reshape(n, r, n, r)
    blocks[front.low, :, front.high, :] = off_diagonal[front.edges]
    blocks[pivots, :, pivots, :] = diagonal[front.pivots]
    for child, placed in zip(front.children, front.placed, strict=True):
        if child in left:
            rows = (placed[:, None] * r + np.arange(r)).ravel()
            matrix[np.ix_(rows, rows)] += left.pop(child)
    return matrix
