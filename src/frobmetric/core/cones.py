"""The cones that M lives in, and their projections.

Every cone works on plain arrays, so that sums, multiples and inner products are NumPy's own: a
symmetric matrix for `PSD`, a vector for `Nonnegative`, and for `Product` the flattened blocks one
after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from .points import Blocks, Diagonal, Factored, Point
from .threads import threads_for_order
from .types import Array, Symmetric, Vector

#: Order from which single precision pays where it is allowed.
ROUGH_ORDER = 150


class NumericalError(ArithmeticError):
    """A computation left the range of floating-point numbers."""


class Split(Protocol):
    """A symmetric matrix as positive part plus negative part."""

    @property
    def positive_norm2(self) -> float: ...
    @property
    def negative_norm2(self) -> float: ...
    @property
    def lowest(self) -> float:
        """The smallest eigenvalue, 0 if there is none."""

    def positive(self, scale: float = 1.0) -> Point: ...
    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        """How the positive part moves with the matrix in direction H (one choice, if several).

        `rough` allows single precision: six digits, in half the time.
        """

    def clipped(self, upper: float = np.inf) -> Symmetric:
        """The matrix with its eigenvalues moved into [0, upper]."""


class Cone(Protocol):
    """A closed convex cone with a projection in closed form."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def identity(self) -> Symmetric: ...
    def split(self, S: Symmetric) -> Split: ...
    def min_eigenvalue(self, S: Symmetric) -> float: ...


@dataclass(frozen=True)
class Eigenpairs:
    """S = P diag(values) P.T with the eigenvalues rising.

    P has fewer columns than rows if the cone is a face; `outside` is then the squared norm of
    what S has beyond it, which is all negative part.
    """

    values: Vector
    vectors: Array
    outside: float = 0.0

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
        return float(np.sum(np.minimum(self.values, 0) ** 2)) + self.outside

    @property
    def lowest(self) -> float:
        return float(self.values[0]) if len(self.values) else 0.0

    def positive(self, scale: float = 1.0) -> Factored:
        """scale * (S)_+, its leading direction first."""
        leading = slice(len(self.values) - self.n_positive, None)
        roots = np.sqrt(scale * self.values[leading])
        return Factored(np.ascontiguousarray((self.vectors[:, leading] * roots)[:, ::-1]))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        kept = self.values > 0
        L = self.vectors[:, kept] * np.sqrt(np.minimum(self.values[kept], upper))
        with threads_for_order(len(L)):
            return L @ L.T

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        """P [Omega o (P.T H P)] P.T, without forming P.T H P.

        Omega is 1, 0 and a quotient where the signs are +, - and mixed. Only products with the
        smaller of the two sides of P are needed: if that is the negative one, the derivative is
        H less that of the negative part.
        """
        if rough and len(H) >= ROUGH_ORDER:
            size = float(np.abs(H).max()) or 1.0  # single precision has a narrow range
            single = (H / size).astype(np.float32)
            return size * self._moved(single, *self._single_sides).astype(float)
        return self._moved(H, *self._sides)

    def _moved(self, H: Any, plus: Array, minus: Array, share: Array) -> Symmetric:
        whole = self.vectors.shape[0] == self.vectors.shape[1]
        with threads_for_order(len(H)):
            if whole and plus.shape[1] > minus.shape[1]:
                return H - _one_sided(H, minus, plus, 1 - share.T)
            return _one_sided(H, plus, minus, share)

    @cached_property
    def _sides(self) -> tuple[Array, Array, Array]:
        """The eigenvectors of positive and of other eigenvalues, and Omega between them."""
        is_plus = self.values > 0
        plus, minus = (np.ascontiguousarray(self.vectors[:, k]) for k in (is_plus, ~is_plus))
        above, below = self.values[is_plus, None], self.values[None, ~is_plus]
        return plus, minus, above / (above - below)

    @cached_property
    def _single_sides(self) -> tuple[Array, ...]:
        return tuple(side.astype(np.float32) for side in self._sides)


def _one_sided(H: Symmetric, own: Array, other: Array, share: Array) -> Symmetric:
    """P [Omega o (P.T H P)] P.T with Omega 1 on `own`, `share` between the two, else 0."""
    U = own.T @ H
    half = own @ ((U @ own / 2) @ own.T + (share * (U @ other)) @ other.T)
    return half + half.T


@dataclass(frozen=True)
class PSD:
    """Positive semidefinite matrices of order n; projects by one eigen-decomposition."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def identity(self) -> Symmetric:
        return np.eye(self.n)

    def split(self, S: Symmetric) -> Eigenpairs:
        _check_finite(S)
        with threads_for_order(self.n):
            return Eigenpairs(*np.linalg.eigh(S))

    def min_eigenvalue(self, S: Symmetric) -> float:
        _check_finite(S)
        return float(np.linalg.eigvalsh(S)[0]) if self.n else 0.0


@dataclass(frozen=True)
class Face:
    """The positive semidefinite matrices with range in the span of some orthonormal columns.

    It projects by one eigen-decomposition of their order. Its dual cone is larger than itself:
    the matrices that are positive semidefinite on that span.
    """

    basis: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.basis), len(self.basis))

    def identity(self) -> Symmetric:
        return self.basis @ self.basis.T

    def split(self, S: Symmetric) -> Eigenpairs:
        _check_finite(S)
        with threads_for_order(len(S)):
            inside = self.basis.T @ S @ self.basis
            values, vectors = np.linalg.eigh(inside)
            beyond = max(0.0, float(np.vdot(S, S)) - float(np.vdot(inside, inside)))
            return Eigenpairs(values, self.basis @ vectors, beyond)

    def min_eigenvalue(self, S: Symmetric) -> float:
        _check_finite(S)
        return PSD(self.basis.shape[1]).min_eigenvalue(self.basis.T @ S @ self.basis)


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

    @property
    def lowest(self) -> float:
        return float(self.values.min()) if len(self.values) else 0.0

    def positive(self, scale: float = 1.0) -> Diagonal:
        return Diagonal(scale * np.maximum(self.values, 0))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        return np.clip(self.values, 0, upper)

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        return np.where(self.values > 0, H, 0.0)


@dataclass(frozen=True)
class Nonnegative:
    """Vectors with n non-negative entries: a diagonal block."""

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def identity(self) -> Symmetric:
        return np.ones(self.n)

    def split(self, S: Symmetric) -> Signs:
        _check_finite(S)
        return Signs(S)

    def min_eigenvalue(self, S: Symmetric) -> float:
        _check_finite(S)
        return float(S.min(initial=np.inf))


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

    @property
    def lowest(self) -> float:
        return min(part.lowest for part in self.parts)

    def positive(self, scale: float = 1.0) -> Blocks:
        return Blocks(tuple(part.positive(scale) for part in self.parts))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        return np.concatenate([part.clipped(upper).ravel() for part in self.parts])

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        pairs = zip(self.parts, self.cut(H), strict=True)
        return np.concatenate([part.derivative(block, rough).ravel() for part, block in pairs])


@dataclass(frozen=True)
class Product:
    """A product of cones; its elements are the flattened blocks one after the other."""

    cones: tuple[Cone, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(prod(cone.shape) for cone in self.cones),)

    def identity(self) -> Symmetric:
        return np.concatenate([cone.identity().ravel() for cone in self.cones])

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


def _check_finite(S: Symmetric) -> None:
    # eigh answers NaN and infinity with garbage and no word of it
    if not np.isfinite(S).all():
        raise NumericalError(
            "the matrix to project contains NaN or infinity; bring the data to values near 1 "
            "(for example unit mean squared norm), or lower the weights of the loss"
        )
