"""Sparse matrices with a block of r x r for each point and each edge of a graph: their factors.

Each front of a nested dissection is a small dense matrix, which LAPACK eliminates; what that
leaves on its border is added to the front's parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from .dissection import Front, nested_dissection


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor L of a matrix A, front by front: a triangle, and the rows below it."""

    fronts: list[Front]
    columns: list[tuple[np.ndarray, np.ndarray]]

    def solve(self, B):
        """A^-1 B, with B of shape (n_points, r)."""
        X, r = B.copy(), B.shape[1]
        for front, (triangle, below) in zip(self.fronts, self.columns, strict=True):
            x = blas.dtrsv(triangle, X[front.pivots].ravel(), lower=1)
            X[front.pivots] = x.reshape(-1, r)
            X[front.border] -= (below @ x).reshape(-1, r)
        for front, (triangle, below) in zip(self.fronts[::-1], self.columns[::-1], strict=True):
            x = X[front.pivots].ravel() - below.T @ X[front.border].ravel()
            X[front.pivots] = blas.dtrsv(triangle, x, lower=1, trans=1).reshape(-1, r)
        return X


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
    >>> from frobmetric.manifold.multifrontal import Elimination
    >>> path = Elimination(np.array([[0, 1], [1, 2]]), 3)
    >>> factor = path.factor(np.full((3, 1, 1), 2.0), np.full((2, 1, 1), -1.0))
    >>> factor.solve(np.array([[1.0], [0.0], [1.0]])).ravel().round(12)
    array([1., 1., 1.])
    """

    def __init__(self, edges, n_points):
        self.fronts = nested_dissection(edges, n_points)

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
            triangle, failed = lapack.dpotrf(matrix[:size, :size], lower=1, clean=0)
            if failed:
                raise np.linalg.LinAlgError("the matrix is not positive definite")
            below = matrix[size:, :size]
            if len(below):
                below = blas.dtrsm(1.0, triangle, below, side=1, lower=1, trans_a=1)
                left[number] = blas.dsyrk(-1.0, below, beta=1.0, c=matrix[size:, size:], lower=1)
            columns.append((triangle, below))
        return Factor(self.fronts, columns)

    def count_negative(self, diagonal, off_diagonal):
        """How many eigenvalues of a symmetric matrix are below 0, by Sylvester's law of inertia.

        A pivot that cannot be told from 0 counts as negative.
        """
        left, negative = {}, 0
        for number, front in enumerate(self.fronts):
            matrix = _assemble(front, diagonal, off_diagonal, left)
            size = front.n_pivots * diagonal.shape[1]
            values, vectors = np.linalg.eigh(matrix[:size, :size], UPLO="L")
            tiny = np.finfo(float).eps * np.abs(values).max(initial=0.0)
            values[np.abs(values) <= tiny] = -max(tiny, np.finfo(float).tiny)
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
