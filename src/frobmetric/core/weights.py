"""Constraints on a vector of weights: one for each feature, or one for each block of features.

A weighted squared distance is linear in the weights, so comparisons of weighted distances are rows
f_r . w. The cone of the weights is `Nonnegative`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .cones import Cone, Nonnegative
from .constraints import Pairs, Quadruplets
from .kernels import BLOCK, block_differences, laplacian_diagonal, pair_products
from .matrices import Constraints, Sparse
from .points import Array, Index, Point, Rows, Symmetric, Vector, as_dense
from .rounding import gamma, row_norms
from .threads import Result, map_blocks


class WeightedPairs(Pairs):
    """Row r is the squared distance sum_k w_k (x_ik - x_jk)^2 of the r-th pair (i, j).

    It is the restriction of `Pairs` to diagonal matrices. Nothing of the size of pairs x features
    is stored.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    pairs : integer ndarray of shape (n_pairs, 2)
    """

    def forward(self, M: Point | Symmetric) -> Vector:
        w = as_dense(M)
        if w.min(initial=0.0) < 0:
            return pair_products(self.X * w, self.X, self.first, self.second)
        used = w > 0
        image = np.ascontiguousarray(self.X[:, used]) * np.sqrt(w[used])
        return pair_products(image, image, self.first, self.second)

    def adjoint(self, u: Vector) -> Symmetric:
        return laplacian_diagonal(self.X, self._indptr, self._indices, self._sorted(u))

    def default_cone(self) -> Cone:
        return Nonnegative(self.shape[1])

    def _image_error(self, M: Point) -> Vector:
        return gamma(4) * row_norms(self.X * np.sqrt(as_dense(M)))

    @cached_property
    def _lengths(self) -> Vector:
        norms = np.empty(self.shape[0])

        def measure(rows: slice) -> None:
            squares = (self.X[self.first[rows]] - self.X[self.second[rows]]) ** 2
            np.sqrt(np.einsum("ij,ij->i", squares, squares), out=norms[rows])

        block = max(1, BLOCK // max(1, self.shape[1]))
        map_blocks(measure, self.shape[0], block, 20.0 * self.shape[0] * self.shape[1])
        return norms


class WeightedQuadruplets(Quadruplets):
    """Row r states of (a, b, c, d) that a and b are closer than c and d, in weighted distances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    quadruplets : integer ndarray of shape (n_rows, 4)
    """

    measure = WeightedPairs


class Vectors(Constraints):
    """Rows given as vectors: row r is f_r . w.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n)
        The vectors f_r.
    """

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        self.shape = (int(rows.shape[0]), int(rows.shape[1]))

    def forward(self, M: Point | Symmetric) -> Vector:
        w, margins = as_dense(M), np.empty(self.shape[0])

        def multiply(rows: slice) -> None:
            np.dot(self.rows[rows], w, out=margins[rows])

        self._map(multiply)
        return margins

    def adjoint(self, u: Vector) -> Symmetric:
        total: Vector = np.zeros(self.shape[1])
        for part in self._map(lambda rows: u[rows] @ self.rows[rows]):
            total += part
        return total

    @classmethod
    def of_blocks(cls, X: Array, quadruplets: Index, block_of: Index) -> Vectors:
        """Return the rows of quadruplets with one weight for each block of features.

        Entry k of f_r is the squared distance of (c, d) minus that of (a, b) in the features of
        block k; `block_of` has the number of the block of each feature.
        """
        return cls(block_differences(X, quadruplets, block_of))

    def restrict(self, rows: Rows) -> Vectors:
        return Vectors(self.rows[rows])

    def norms(self) -> Vector:
        return self._norms

    @cached_property
    def _norms(self) -> Vector:
        return np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))

    def second_moment(self, rates: Vector) -> Array:
        total: Array = np.zeros((self.shape[1], self.shape[1]))
        for part in self._map(lambda rows: (self.rows[rows].T * rates[rows]) @ self.rows[rows]):
            total += part
        return total

    def default_cone(self) -> Cone:
        return Nonnegative(self.shape[1])

    def as_sparse(self) -> Sparse:
        return Sparse(sp.csr_array(self.rows), Nonnegative(self.shape[1]))

    def _map(self, work: Callable[[slice], Result]) -> list[Result]:
        n_rows, n = self.shape
        return map_blocks(work, n_rows, max(1, BLOCK // max(1, n)), 2.0 * n_rows * n)


#: Every kind of constraints on weights; the contract tests loop over it.
WEIGHTS = (WeightedPairs, WeightedQuadruplets, Vectors)
