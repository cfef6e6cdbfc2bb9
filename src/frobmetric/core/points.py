"""Names of the arrays of the mathematics, and elements of a cone stored as factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.linalg
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from .checks import as_array, as_finite
from .rounding import TINY, gamma, norm
from .threads import threads_for_order

Array: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = Array
#: Element of the space of a cone: (n, n) for PSD, flat for a product of blocks.
Symmetric: TypeAlias = Array
#: Row numbers of the data.
Index: TypeAlias = NDArray[np.intp]
#: Truth values, one for each entry.
Mask: TypeAlias = NDArray[np.bool_]
#: Increasing row numbers of constraints.
Rows: TypeAlias = Index
#: Data, one sample a row: a dense array or a CSR matrix.
Data: TypeAlias = Any


@runtime_checkable
class Point(Protocol):
    """An element M of a cone, stored as a factor, M = L @ L.T, where it has one.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core.points import Factored, Point
    >>> point: Point = Factored(np.array([[1.0], [2.0]]))
    >>> point.rank
    1
    """

    @property
    def rank(self) -> int: ...
    @property
    def rounding(self) -> float:
        """Bound on the rounding error of `dense`, in Frobenius norm."""
        return 0.0

    def factor(self) -> Array: ...
    def dense(self) -> Symmetric: ...


@dataclass(frozen=True)
class Factored(Point):
    """The positive semidefinite matrix L @ L.T, L of shape (n, rank).

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core.points import Factored
    >>> Factored(np.array([[1.0], [2.0]])).dense()
    array([[1., 2.],
           [2., 4.]])
    """

    L: Array

    def __post_init__(self) -> None:
        L = self.L
        # single precision too is made double: bounds on rounding are those of double precision
        if not (type(L) is np.ndarray and L.dtype == np.float64 and L.ndim == 2):
            object.__setattr__(self, "L", as_finite(L, name="L", ndim=2))

    @property
    def rank(self) -> int:
        return int(self.L.shape[1])

    @property
    def rounding(self) -> float:
        # |fl(L L.T) - L L.T| <= gamma |L| |L.T| entry by entry
        size = norm(self.L)
        return gamma(self.rank + 2) * size * size + self.L.size * len(self.L) * TINY

    def factor(self) -> Array:
        return self.L

    def dense(self) -> Symmetric:
        return self._product

    @cached_property
    def _product(self) -> Symmetric:
        with threads_for_order(len(self.L)):
            return self.L @ self.L.T


@dataclass(frozen=True)
class Diagonal(Point):
    """The diagonal matrix of a non-negative vector, stored as that vector."""

    values: Vector

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values))

    def factor(self) -> Array:
        return np.diag(np.sqrt(self.values))[:, self.values > 0]

    def dense(self) -> Symmetric:
        return self.values


@dataclass(frozen=True)
class Unfactored(Point):
    """A matrix as it is: not symmetric, so that it has no factor L with M = L @ L.T.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core.points import Unfactored
    >>> Unfactored(np.array([[0.0, 1.0]])).dense()
    array([[0., 1.]])
    """

    matrix: Array

    @property
    def rank(self) -> int:
        """Largest possible rank; the true one would take a decomposition."""
        return min(self.matrix.shape)

    def factor(self) -> Array:
        raise TypeError("a matrix that is not symmetric has no factor L @ L.T; use `dense`")

    def dense(self) -> Array:
        return self.matrix


@dataclass(frozen=True)
class Blocks(Point):
    """A block-diagonal point: one point for each block."""

    parts: tuple[Point, ...]

    @property
    def rank(self) -> int:
        return sum(part.rank for part in self.parts)

    @property
    def rounding(self) -> float:
        return sum(part.rounding for part in self.parts)

    def factor(self) -> Array:
        return scipy.linalg.block_diag(*(part.factor() for part in self.parts))

    def dense(self) -> Symmetric:
        return np.concatenate([part.dense().ravel() for part in self.parts])


def as_vector(u: Any) -> Vector:
    """Return u as an array; one of another kind, such as a sharded one, stays as it is."""
    if isinstance(u, NDArrayOperatorsMixin):
        return u  # type: ignore[return-value]
    return as_array(u, name="u")


def as_dense(M: Point | Symmetric) -> Symmetric:
    """Return M as an array, however it is stored."""
    if isinstance(M, np.ndarray):
        return M
    return M.dense() if hasattr(M, "dense") else as_array(M, name="M")
