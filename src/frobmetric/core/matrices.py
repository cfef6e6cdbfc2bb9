"""The protocol of constraints; rows given as matrices, by factors or as two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from .cones import PSD, Cone
from .points import Array, Point, Rows, Symmetric, Vector, as_dense


class Constraints(Protocol):
    """The map A, of shape (n_constraints, n) where M has n rows."""

    shape: tuple[int, int]

    def forward(self, M: Point | Symmetric) -> Vector:
        """Return <A_r, M> of every row; M is a point (work in its rank) or a symmetric matrix."""

    def adjoint(self, u: Vector) -> Symmetric:
        """Return the sum of u_r A_r."""

    def restrict(self, rows: Rows) -> Constraints:
        """Return the constraints of these rows only; `rows` are increasing."""

    def norms(self) -> Vector:
        """Return an upper bound on |A_r|_F of every row."""

    def sample_rows(self, every: int, run: int, first: int = 0) -> Rows:
        """Return one of so many rows, in runs of neighbouring rows: these share points.

        Rows are counted from `first`, the number of the first one where these are a part of more.
        """
        return np.flatnonzero(np.arange(first, first + self.shape[0]) // run % every == 0)

    def second_moment(self, rates: Vector) -> Array | None:
        """Return the matrix sum_r rates_r A_r A_r.T of rows that are vectors, None if too large."""
        return None

    def default_cone(self) -> Cone:
        """Return the cone of M where none is given."""
        return PSD(self.shape[1])

    def as_sparse(self) -> Sparse | None:
        """Return the rows as sparse matrices, None if they are not available in that form."""
        return None


class Sparse(Constraints):
    """Rows given as sparse symmetric matrices, on any cone.

    Parameters
    ----------
    rows : sparse matrix of shape (n_rows, size of the cone's elements)
        Row r is A_r, flattened.
    cone : Cone
    """

    def __init__(self, rows: sp.sparray, cone: Cone) -> None:
        self.cone = cone
        self.rows = sp.csr_array(rows)
        self.shape = (self.rows.shape[0], cone.shape[0])

    @classmethod
    def from_matrices(cls, matrices: Sequence[Array]) -> Sparse:
        """Return the constraints with one row for each symmetric matrix, dense or sparse."""
        flat = [sp.csr_array(A).reshape((1, -1)) for A in matrices]
        return cls(sp.vstack(flat), PSD(matrices[0].shape[0]))

    def forward(self, M: Point | Symmetric) -> Vector:
        return self.rows @ as_dense(M).ravel()

    def adjoint(self, u: Vector) -> Symmetric:
        return (self.rows.T @ u).reshape(self.cone.shape)

    def restrict(self, rows: Rows) -> Sparse:
        return Sparse(self.rows[rows], self.cone)

    def norms(self) -> Vector:
        return np.sqrt(self.rows.multiply(self.rows).sum(axis=1))

    def default_cone(self) -> Cone:
        return self.cone

    def as_sparse(self) -> Sparse:
        return self


class Scaled(Constraints):
    """The rows of other constraints, each times a factor."""

    def __init__(self, inner: Constraints, factors: Vector) -> None:
        self.inner, self.factors, self.shape = inner, factors, inner.shape

    def forward(self, M: Point | Symmetric) -> Vector:
        return self.factors * self.inner.forward(M)

    def adjoint(self, u: Vector) -> Symmetric:
        return self.inner.adjoint(self.factors * u)

    def restrict(self, rows: Rows) -> Scaled:
        return Scaled(self.inner.restrict(rows), self.factors[rows])

    def norms(self) -> Vector:
        return np.abs(self.factors) * self.inner.norms()

    def default_cone(self) -> Cone:
        return self.inner.default_cone()

    def as_sparse(self) -> Sparse | None:
        inner = self.inner.as_sparse()
        return inner and Sparse(sp.diags_array(self.factors) @ inner.rows, inner.cone)


class LowRank(Constraints):
    """Rows A_r = F_r diag(w_r) F_r.T given by their factors; none is ever formed.

    Parameters
    ----------
    factors : sequence of ndarrays of shape (n, rank of the row)
        A vector stands for one column.
    weights : sequence of ndarrays of shape (rank of the row,), optional
        Ones if not given: positive semidefinite rows.
    """

    def __init__(self, factors: Sequence[Array], weights: Sequence[Vector] | None = None) -> None:
        columns = [np.asarray(F, dtype=float).reshape(len(F), -1) for F in factors]
        ranks = [F.shape[1] for F in columns]
        self._columns = np.hstack(columns)
        self._row = np.repeat(np.arange(len(columns)), ranks)
        weights = [np.ones(rank) for rank in ranks] if weights is None else weights
        self._weights = np.concatenate([np.ravel(w).astype(float) for w in weights])
        if len(self._weights) != len(self._row):
            raise ValueError(
                f"the factors have {len(self._row)} columns and there are {len(self._weights)} "
                "weights; give one weight a column"
            )
        self.shape = (len(columns), len(self._columns))

    def forward(self, M: Point | Symmetric) -> Vector:
        if isinstance(M, np.ndarray):
            squares = np.einsum("ik,ik->k", self._columns, M @ self._columns)
        else:
            squares = np.sum((M.factor().T @ self._columns) ** 2, axis=0)
        return np.bincount(self._row, self._weights * squares, self.shape[0]).astype(float)

    def adjoint(self, u: Vector) -> Symmetric:
        return (self._columns * (self._weights * u[self._row])) @ self._columns.T

    def restrict(self, rows: Rows) -> LowRank:
        columns = [np.flatnonzero(self._row == r) for r in rows]
        return LowRank([self._columns[:, k] for k in columns], [self._weights[k] for k in columns])

    def norms(self) -> Vector:
        lengths = np.sum(self._columns**2, axis=0)
        return np.bincount(self._row, np.abs(self._weights) * lengths, self.shape[0]).astype(float)


class MatrixFree(Constraints):
    """Rows given by two functions: M -> <A_r, M> for all rows, and u -> the sum of u_r A_r.

    Parameters
    ----------
    forward, adjoint : callables
        Functions of an array of the cone's shape, and of a vector of shape (n_rows,). They must
        be each other's adjoint, which the constructor checks on one pair of random arguments.
    n_rows : int
    cone : Cone
    """

    def __init__(
        self,
        forward: Callable[[Symmetric], Vector],
        adjoint: Callable[[Vector], Symmetric],
        n_rows: int,
        cone: Cone,
    ) -> None:
        self._forward, self._adjoint, self.cone = forward, adjoint, cone
        self.shape = (n_rows, cone.shape[0])
        self._check()

    def forward(self, M: Point | Symmetric) -> Vector:
        return np.asarray(self._forward(as_dense(M)), dtype=float)

    def adjoint(self, u: Vector) -> Symmetric:
        return np.asarray(self._adjoint(u), dtype=float)

    def restrict(self, rows: Rows) -> MatrixFree:
        def spread(u: Vector) -> Vector:
            whole = np.zeros(self.shape[0])
            whole[rows] = u
            return whole

        return MatrixFree(
            lambda M: self.forward(M)[rows], lambda u: self.adjoint(spread(u)), len(rows), self.cone
        )

    def norms(self) -> Vector:
        """Return the exact norms, by one call of `adjoint` for each row; computed once."""
        return self._norms

    def default_cone(self) -> Cone:
        return self.cone

    @cached_property
    def _norms(self) -> Vector:
        return np.array([np.linalg.norm(self.adjoint(e)) for e in np.eye(self.shape[0])])

    def _check(self) -> None:
        rng = np.random.default_rng(0)
        u, S = rng.normal(size=self.shape[0]), rng.normal(size=self.cone.shape)
        S = S + S.T if S.ndim == 2 and self.cone.is_symmetric else S
        v, A_u = self.forward(S), self.adjoint(u)
        for name, given, expected in (("forward", v, u), ("adjoint", A_u, S)):
            if given.shape != expected.shape:
                raise ValueError(f"{name} returns shape {given.shape}; expected {expected.shape}")
        size = float(np.linalg.norm(u) * np.linalg.norm(v) + 1e-300)
        if not abs(u @ v - np.vdot(A_u, S)) <= 1e-8 * size:
            raise ValueError(
                f"<u, forward(S)> = {u @ v:.6g} and <adjoint(u), S> = {np.vdot(A_u, S):.6g} for "
                "a random S: these functions are not each other's adjoint"
            )
