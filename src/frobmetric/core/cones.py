"""The cones that M lives in, their projections, and points kept as factors.

Every cone works on plain arrays, so that sums, multiples and inner products are NumPy's own: a
symmetric matrix for `PSD`, a vector for `Nonnegative`, and for `Product` the flattened blocks one
after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
import scipy.linalg

from .threads import threads_for_order
from .types import Array, Symmetric, Vector


class NumericalError(ArithmeticError):
    """A computation left the range of floating-point numbers."""


class Point(Protocol):
    """An element M of a cone, kept factored: M = L @ L.T."""

    @property
    def rank(self) -> int: ...
    @property
    def norm2(self) -> float: ...
    def factor(self) -> Array: ...
    def dense(self) -> Symmetric: ...


class Split(Protocol):
    """A symmetric matrix as positive part plus negative part."""

    @property
    def positive_norm2(self) -> float: ...
    @property
    def negative_norm2(self) -> float: ...
    def positive(self, scale: float = 1.0) -> Point: ...
    def derivative(self, H: Symmetric) -> Symmetric:
        """How the positive part moves with the matrix in direction H (one choice, if several)."""


class Cone(Protocol):
    """A closed convex cone with a projection in closed form."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def split(self, S: Symmetric) -> Split: ...
    def min_eigenvalue(self, S: Symmetric) -> float: ...


@dataclass(frozen=True)
class Factored:
    """The positive semidefinite matrix L @ L.T, L of shape (n, rank)."""

    L: Array

    @property
    def rank(self) -> int:
        return int(self.L.shape[1])

    @property
    def norm2(self) -> float:
        gram = self.L.T @ self.L
        return float(np.vdot(gram, gram))

    def factor(self) -> Array:
        return self.L

    def dense(self) -> Symmetric:
        return self.L @ self.L.T


@dataclass(frozen=True)
class Eigenpairs:
    """S = P diag(values) P.T with the eigenvalues rising."""

    values: Vector
    vectors: Array

    @property
    def n_positive(self) -> int:
        """How many eigenvalues stand above rounding."""
        if not len(self.values):
            return 0
        rounding = len(self.values) * np.finfo(float).eps * np.abs(self.values).max()
        return int(np.count_nonzero(self.values > rounding))

    @property
    def positive_norm2(self) -> float:
        return float(np.sum(np.maximum(self.values, 0) ** 2))

    @property
    def negative_norm2(self) -> float:
        return float(np.sum(np.minimum(self.values, 0) ** 2))

    def positive(self, scale: float = 1.0) -> Factored:
        """scale * (S)_+, its leading direction first."""
        leading = slice(len(self.values) - self.n_positive, None)
        roots = np.sqrt(scale * self.values[leading])
        return Factored(np.ascontiguousarray((self.vectors[:, leading] * roots)[:, ::-1]))

    def derivative(self, H: Symmetric) -> Symmetric:
        # P [Omega o (P' H P)] P', with Omega 1, 0 and a quotient where the signs are +, - and mixed
        plus, minus = np.maximum(self.values, 0), np.maximum(-self.values, 0)
        size = plus[:, None] + minus[None, :]
        share = np.divide(plus[:, None], size, out=np.ones_like(size), where=size > 0)
        is_plus = self.values > 0
        omega = np.where(is_plus[:, None], share, share.T)
        omega[np.ix_(~is_plus, ~is_plus)] = 0.0
        return self.vectors @ (omega * (self.vectors.T @ H @ self.vectors)) @ self.vectors.T


@dataclass(frozen=True)
class PSD:
    """Positive semidefinite matrices of order n; projects by one eigen-decomposition."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def split(self, S: Symmetric) -> Eigenpairs:
        _check_finite(S)
        with threads_for_order(self.n):
            return Eigenpairs(*np.linalg.eigh(S))

    def min_eigenvalue(self, S: Symmetric) -> float:
        _check_finite(S)
        return float(np.linalg.eigvalsh(S)[0]) if self.n else 0.0


@dataclass(frozen=True)
class Diagonal:
    """The diagonal matrix of a non-negative vector, kept as that vector."""

    values: Vector

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values))

    @property
    def norm2(self) -> float:
        return float(self.values @ self.values)

    def factor(self) -> Array:
        return np.diag(np.sqrt(self.values))[:, self.values > 0]

    def dense(self) -> Symmetric:
        return self.values


@dataclass(frozen=True)
class Signs:
    """A vector as positive part plus negative part."""

    values: Vector

    @property
    def positive_norm2(self) -> float:
        return float(np.sum(np.maximum(self.values, 0) ** 2))

    @property
    def negative_norm2(self) -> float:
        return float(np.sum(np.minimum(self.values, 0) ** 2))

    def positive(self, scale: float = 1.0) -> Diagonal:
        return Diagonal(scale * np.maximum(self.values, 0))

    def derivative(self, H: Symmetric) -> Symmetric:
        return np.where(self.values > 0, H, 0.0)


@dataclass(frozen=True)
class Nonnegative:
    """Vectors with n non-negative entries: a diagonal block."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def split(self, S: Symmetric) -> Signs:
        _check_finite(S)
        return Signs(S)

    def min_eigenvalue(self, S: Symmetric) -> float:
        _check_finite(S)
        return float(S.min(initial=np.inf))


@dataclass(frozen=True)
class Blocks:
    """A block-diagonal point, one point a block."""

    parts: tuple[Point, ...]

    @property
    def rank(self) -> int:
        return sum(part.rank for part in self.parts)

    @property
    def norm2(self) -> float:
        return sum(part.norm2 for part in self.parts)

    def factor(self) -> Array:
        return scipy.linalg.block_diag(*(part.factor() for part in self.parts))

    def dense(self) -> Symmetric:
        return np.concatenate([part.dense().ravel() for part in self.parts])


@dataclass(frozen=True)
class BlockSplit:
    """The positive and negative parts of each block; `cut` gives the blocks of an element."""

    parts: tuple[Split, ...]
    cut: Callable[[Symmetric], list[Symmetric]]

    @property
    def positive_norm2(self) -> float:
        return sum(part.positive_norm2 for part in self.parts)

    @property
    def negative_norm2(self) -> float:
        return sum(part.negative_norm2 for part in self.parts)

    def positive(self, scale: float = 1.0) -> Blocks:
        return Blocks(tuple(part.positive(scale) for part in self.parts))

    def derivative(self, H: Symmetric) -> Symmetric:
        pairs = zip(self.parts, self.cut(H), strict=True)
        return np.concatenate([part.derivative(block).ravel() for part, block in pairs])


@dataclass(frozen=True)
class Product:
    """A product of cones; its elements are the flattened blocks one after the other."""

    cones: tuple[Cone, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(prod(cone.shape) for cone in self.cones),)

    def split(self, S: Symmetric) -> BlockSplit:
        return BlockSplit(tuple(cone.split(block) for cone, block in self.blocks(S)), self.cut)

    def min_eigenvalue(self, S: Symmetric) -> float:
        return min(cone.min_eigenvalue(block) for cone, block in self.blocks(S))

    def cut(self, S: Symmetric) -> list[Symmetric]:
        return [block for _, block in self.blocks(S)]

    def blocks(self, S: Symmetric) -> Iterator[tuple[Cone, Symmetric]]:
        """Each cone with its own block of S."""
        start = 0
        for cone in self.cones:
            stop = start + prod(cone.shape)
            yield cone, S[start:stop].reshape(cone.shape)
            start = stop


def as_dense(M: Point | Symmetric) -> Symmetric:
    """M as an array, whichever way it is kept."""
    return M if isinstance(M, np.ndarray) else M.dense()


def _check_finite(S: Symmetric) -> None:
    # eigh answers NaN and infinity with garbage and no word of it
    if not np.isfinite(S).all():
        raise NumericalError(
            "the matrix to project contains NaN or infinity; bring the data to values near 1 "
            "(for example unit mean squared norm), or lower the weights of the loss"
        )
