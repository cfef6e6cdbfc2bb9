"""The protocol of constraints; rows given as matrices, by factors or as two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .checks import (
    MOST,
    as_array,
    as_count,
    as_finite,
    as_sequence,
    require_callable,
    require_parts,
)
from .cones import PSD, Cone
from .points import Array, Data, Index, Point, Rows, Symmetric, Vector, as_dense
from .rational import Row, as_row, combine, outer_row
from .rounding import EPS, TINY, gamma, norm, row_norms

#: Largest number of rows that are given by two functions: each needs a call of its own.
MOST_ROWS = 2**31


class Constraints(Protocol):
    """The map A, of shape (n_constraints, n) where M has n rows.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Constraints, Pairs
    >>> rows: Constraints = Pairs(np.eye(3), np.array([[0, 1], [1, 2]]))
    >>> rows.adjoint(np.array([1.0, 0.0]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """

    shape: tuple[int, int]

    def forward(self, M: Point | Symmetric) -> Vector:
        """Return <A_r, M> of every row; M is a point (work in its rank) or a symmetric matrix."""

    def adjoint(self, u: Vector) -> Symmetric:
        """Return the sum of u_r A_r."""

    @property
    def n_roundings(self) -> int:
        """Largest number of roundings of a term of `forward` and `adjoint`, if both are sums."""
        return max(self.shape[0], prod(self.default_cone().shape)) + 8

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        """Return <A_r, M> of every row, as `forward` does, and a bound on the error of each.

        M is the exact product of its factor.
        """
        size = gamma(self.n_roundings) * norm(M.dense()) + M.rounding
        return self.forward(M), self.norms() * (1 + gamma(self.n_roundings)) * size + TINY

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        """Return a bound on the rounding error of `adjoint`, in Frobenius norm.

        `n_more` is the number of further roundings of its terms.
        """
        return gamma(self.n_roundings + n_more) * float(np.abs(u) @ self.norms()) + u.any() * TINY

    def restrict(self, rows: Rows) -> Constraints:
        """Return the constraints of these rows only; `rows` are increasing."""

    def norms(self) -> Vector:
        """Return an upper bound on |A_r|_F of every row."""

    def sample_rows(self, every: int, run: int, first: int = 0) -> Rows:
        """Return one of so many rows, in runs of neighbouring rows: these share points.

        Rows are counted from `first`, the number of the first one where these are a part of more.
        """
        return np.flatnonzero(np.arange(first, first + self.shape[0]) // run % every == 0)

    def bring(self, rows: Rows) -> Rows:
        """Return the rows such that what they select is in the memory of this process.

        Constraints in shards do so where few rows are selected: `restrict`, and vectors indexed by
        the returned rows, then give arrays. All others return the rows as they are.
        """
        return rows

    def second_moment(self, rates: Vector) -> Array | None:
        """Return the matrix sum_r rates_r A_r A_r.T of rows that are vectors, None if too large."""
        return None

    def default_cone(self) -> Cone:
        """Return the cone of M where none is given."""
        return PSD(self.shape[1])

    def as_sparse(self) -> Sparse | None:
        """Return the rows as sparse matrices, None if they are not available in that form."""
        return None

    def as_exact(self, most: int) -> list[Row] | None:
        """Return the rows in rational numbers, exactly as they are given, flattened.

        None if they have more than `most` entries, or no such form.
        """
        n = self.shape[1]
        is_matrix = self.default_cone().shape == (n, n)  # not a vector of weights
        is_small = 8 * self.shape[0] * n**2 <= most
        found = self.as_quadruplets() if is_matrix and is_small else None
        if found is None:
            return None
        points, rows = _dense_fractions(found[0]), found[1].tolist()
        signs = Fraction(-1), Fraction(1)
        return [
            outer_row([_difference(points, a, b), _difference(points, c, d)], signs)
            for a, b, c, d in rows
        ]

    def leaves(self) -> tuple[Constraints, ...]:
        """Return the constraints that are stacked here, none of which is a stack."""
        return (self,)

    def as_quadruplets(self) -> tuple[Data, Index] | None:
        """Return points and rows (a, b, c, d) of them, None if there is no such form.

        Row r is the squared distance of c and d minus that of a and b.
        """
        return None


class Sparse(Constraints):
    """Rows given as sparse symmetric matrices, on any cone.

    Parameters
    ----------
    rows : sparse matrix of shape (n_rows, size of the cone's elements)
        Row r is A_r, flattened.
    cone : Cone

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from frobmetric.core import PSD, Sparse
    >>> rows = Sparse(sp.csr_array(np.eye(2).reshape(1, 4)), PSD(2))
    >>> rows.adjoint(np.array([3.0]))
    array([[3., 0.],
           [0., 3.]])
    """

    def __init__(self, rows: sp.sparray, cone: Cone) -> None:
        require_parts(cone, ("shape", "split"), name="cone", expected="a cone such as PSD(n)")
        self.cone = cone
        self.rows = rows if _is_plain(rows) else _as_sparse_rows(rows, cone)
        self.shape = (self.rows.shape[0], cone.shape[0])

    @classmethod
    def from_matrices(cls, matrices: Sequence[Array]) -> Sparse:
        """Return the constraints with one row for each symmetric matrix, dense or sparse."""
        expected = "symmetric matrices of one order"
        given = as_sequence(matrices, name="matrices", expected=expected)
        made = [A if sp.issparse(A) else as_array(A, name="a matrix") for A in given]
        shapes = {A.shape for A in made}
        n = made[0].shape[0] if made and made[0].ndim else 0
        if shapes != {(n, n)}:
            raise ValueError(
                f"matrices have the shapes {sorted(shapes)}; expected {expected}; give (n, n) each"
            )
        return cls(sp.vstack([sp.csr_array(A).reshape((1, -1)) for A in made]), PSD(n))

    def forward(self, M: Point | Symmetric) -> Vector:
        return self.rows @ as_dense(M).ravel()

    def adjoint(self, u: Vector) -> Symmetric:
        return (self.rows.T @ u).reshape(self.cone.shape)

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        n_terms = np.diff(self.rows.indptr).max(initial=0)
        sizes = abs(self.rows) @ np.abs(M.dense()).ravel()
        error = gamma(n_terms + 2) * sizes + self.norms() * M.rounding + n_terms * TINY
        return self.forward(M), error

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        n_terms = np.bincount(self.rows.indices).max(initial=0)
        sizes = abs(self.rows).T @ np.abs(u)
        return gamma(n_terms + 2 + n_more) * norm(sizes) + u.any() * self.rows.nnz * TINY

    def restrict(self, rows: Rows) -> Sparse:
        return Sparse(self.rows[rows], self.cone)

    def norms(self) -> Vector:
        return row_norms(self.rows)

    def default_cone(self) -> Cone:
        return self.cone

    def as_sparse(self) -> Sparse:
        return self

    def as_exact(self, most: int) -> list[Row] | None:
        if self.rows.nnz > most:
            return None
        ends = zip(self.rows.indptr.tolist(), self.rows.indptr[1:].tolist(), strict=False)
        places, values = self.rows.indices, self.rows.data
        return [as_row(places[a:b].tolist(), values[a:b].tolist()) for a, b in ends]


def _dense_fractions(points: Data) -> list[list[Fraction]]:
    dense = points.toarray() if sp.issparse(points) else points
    return [[Fraction(value) for value in row] for row in dense.astype(np.float64).tolist()]


def _difference(points: list[list[Fraction]], a: int, b: int) -> list[Fraction]:
    return [x - y for x, y in zip(points[a], points[b], strict=True)]


def _is_plain(rows: Any) -> bool:
    return isinstance(rows, sp.csr_array) and rows.dtype == np.float64


def _as_sparse_rows(rows: Any, cone: Cone) -> sp.csr_array:
    """Return rows of finite numbers, each an element of the cone, flattened."""
    numbers = rows if sp.issparse(rows) else as_array(rows, name="rows")
    size = int(np.prod(cone.shape))
    if numbers.ndim != 2 or numbers.shape[1] != size:
        raise ValueError(f"rows has shape {numbers.shape}; expected (n_rows, {size}); reshape it")
    made = sp.csr_array(numbers)
    as_finite(made.data, name="rows", most=MOST)
    return made.astype(np.float64)


def _as_columns(factors: Any) -> list[Array]:
    """Return factors of rows as matrices with equally many rows."""
    expected = "an array of shape (n, rank) for each row"
    given = as_sequence(factors, name="factors", expected=expected)
    made = [as_finite(F, name="a factor", most=MOST) for F in given]
    made = [F.reshape(len(F), 1) if F.ndim == 1 else F for F in made]
    if {F.ndim for F in made} != {2} or len({len(F) for F in made}) != 1:
        raise ValueError(
            f"factors have the shapes {[F.shape for F in made[:5]]}; expected {expected}, and at "
            "least one row; reshape them"
        )
    return made


class Scaled(Constraints):
    """The rows of other constraints, each times a factor."""

    def __init__(self, inner: Constraints, factors: Vector) -> None:
        self.inner, self.factors, self.shape = inner, factors, inner.shape

    def forward(self, M: Point | Symmetric) -> Vector:
        return self.factors * self.inner.forward(M)

    def adjoint(self, u: Vector) -> Symmetric:
        return self.inner.adjoint(self.factors * u)

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        values, error = self.inner.forward_bound(M)
        sizes = np.abs(self.factors)
        return self.factors * values, sizes * (error + EPS * np.abs(values)) + TINY

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        return self.inner.adjoint_error(self.factors * u, n_more + 1)

    def restrict(self, rows: Rows) -> Scaled:
        return Scaled(self.inner.restrict(rows), self.factors[rows])

    def norms(self) -> Vector:
        return np.abs(self.factors) * self.inner.norms()

    def default_cone(self) -> Cone:
        return self.inner.default_cone()

    def as_sparse(self) -> Sparse | None:
        inner = self.inner.as_sparse()
        return inner and Sparse(sp.diags_array(self.factors) @ inner.rows, inner.cone)

    def as_exact(self, most: int) -> list[Row] | None:
        inner = self.inner.as_exact(most)
        factors = map(Fraction, self.factors.tolist())
        return inner and [combine([row], [c]) for row, c in zip(inner, factors, strict=True)]


class LowRank(Constraints):
    """Rows A_r = F_r diag(w_r) F_r.T given by their factors; none is ever formed.

    Parameters
    ----------
    factors : sequence of ndarrays of shape (n, rank of the row)
        A vector stands for one column.
    weights : sequence of ndarrays of shape (rank of the row,), optional
        Ones if not given: positive semidefinite rows.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import LowRank
    >>> from frobmetric.core.points import Factored
    >>> rows = LowRank([np.array([[1.0], [1.0]])])
    >>> rows.forward(Factored(np.eye(2)))
    array([2.])
    """

    def __init__(self, factors: Sequence[Array], weights: Sequence[Vector] | None = None) -> None:
        columns = _as_columns(factors)
        ranks = [F.shape[1] for F in columns]
        self._columns = np.hstack(columns)
        self._row = np.repeat(np.arange(len(columns)), ranks)
        weights = [np.ones(rank) for rank in ranks] if weights is None else weights
        given = as_sequence(weights, name="weights", expected="weights of the columns of each row")
        parts = [as_finite(w, name="weights", most=MOST).ravel() for w in given]
        self._weights = np.concatenate(parts) if parts else np.empty(0)
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

    @property
    def n_roundings(self) -> int:
        return max(self._columns.shape) + 8

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        L = M.factor()
        relative, size = gamma(sum(L.shape) + self.n_roundings), norm(L)
        return self.forward(M), 4 * relative * size * size * self.norms() + TINY

    def restrict(self, rows: Rows) -> LowRank:
        columns = [np.flatnonzero(self._row == r) for r in rows]
        return LowRank([self._columns[:, k] for k in columns], [self._weights[k] for k in columns])

    def norms(self) -> Vector:
        lengths = row_norms(self._columns.T) ** 2
        sizes = np.where(lengths > 0, np.abs(self._weights) * lengths + TINY, 0.0)
        sizes = np.bincount(self._row, sizes, self.shape[0]).astype(float)
        return sizes * (1 + gamma(self.n_roundings))

    def as_exact(self, most: int) -> list[Row] | None:
        if len(self._row) * self.shape[1] ** 2 > most:
            return None
        columns = _dense_fractions(self._columns.T)
        weights = [Fraction(value) for value in self._weights.tolist()]
        groups = [np.flatnonzero(self._row == r) for r in range(self.shape[0])]
        return [outer_row([columns[k] for k in g], [weights[k] for k in g]) for g in groups]


class MatrixFree(Constraints):
    """Rows given by two functions: M -> <A_r, M> for all rows, and u -> the sum of u_r A_r.

    Parameters
    ----------
    forward, adjoint : callables
        Functions of an array of the cone's shape, and of a vector of shape (n_rows,). They must
        be each other's adjoint, which the constructor checks on one pair of random arguments.
    n_rows : int
    cone : Cone

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import MatrixFree, PSD
    >>> from frobmetric.core.points import Factored
    >>> def trace(M):
    ...     return np.array([np.trace(M)])
    ...
    >>> def spread(u):
    ...     return u[0] * np.eye(2)
    ...
    >>> MatrixFree(trace, spread, 1, PSD(2)).shape
    (1, 2)
    """

    def __init__(
        self,
        forward: Callable[[Symmetric], Vector],
        adjoint: Callable[[Vector], Symmetric],
        n_rows: int,
        cone: Cone,
    ) -> None:
        require_parts(cone, ("shape", "split"), name="cone", expected="a cone such as PSD(n)")
        require_callable(forward, name="forward", is_optional=False)
        require_callable(adjoint, name="adjoint", is_optional=False)
        self._forward, self._adjoint, self.cone = forward, adjoint, cone
        self.shape = (as_count(n_rows, name="n_rows", at_least=0, at_most=MOST_ROWS), cone.shape[0])
        self._check()

    def forward(self, M: Point | Symmetric) -> Vector:
        return as_array(self._forward(as_dense(M)), name="forward(M)")

    def adjoint(self, u: Vector) -> Symmetric:
        return as_array(self._adjoint(u), name="adjoint(u)")

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
        S = rng.normal(size=self.cone.shape)
        S = S + S.T if S.ndim == 2 and self.cone.is_symmetric else S
        v = self.forward(S)
        _require_shape("forward", v, self.shape[:1])  # before there is a u, which may be huge
        u = rng.normal(size=self.shape[0])
        A_u = self.adjoint(u)
        _require_shape("adjoint", A_u, S.shape)
        size = float(np.linalg.norm(u) * np.linalg.norm(v) + 1e-300)
        if not abs(u @ v - np.vdot(A_u, S)) <= 1e-8 * size:
            raise ValueError(
                f"<u, forward(S)> = {u @ v:.6g} and <adjoint(u), S> = {np.vdot(A_u, S):.6g} for "
                "a random S: these functions are not each other's adjoint"
            )


def _require_shape(name: str, given: Array, expected: tuple[int, ...]) -> None:
    """Refuse what a function of the user returned in another shape."""
    if given.shape != expected:
        raise ValueError(f"{name} returns shape {given.shape}; expected {expected}")
