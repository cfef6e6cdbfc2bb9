"""The cones that M belongs to, and their projections.

Every cone works on plain arrays, so that sums, multiples and inner products are NumPy's own: a
symmetric matrix for `PSD`, a vector for `Nonnegative`, and for `Product` the flattened blocks one
after the other. `AllMatrices`, which need not be symmetric, are in a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from .checks import as_count
from .points import Array, Blocks, Diagonal, Factored, Point, Symmetric, Vector
from .threads import threads_for_order

#: Order from which single precision is faster, where it is allowed.
ROUGH_ORDER = 150
#: Largest order of a matrix; no machine has the memory of a larger one.
MOST_ORDER = 2**17
#: Largest length of a diagonal block.
MOST_LENGTH = 2**28


class NumericalError(ArithmeticError):
    """A computation left the range of floating-point numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import PSD, NumericalError
    >>> try:
    ...     PSD(2).split(np.diag([1.0, np.inf]))
    ... except NumericalError as error:
    ...     print(str(error).partition(";")[0])
    the matrix to project contains NaN or infinity
    """


class Cone(Protocol):
    """A closed convex cone with a projection in closed form, and by default one block.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import PSD, Cone
    >>> cone: Cone = PSD(3)
    >>> cone.shape
    (3, 3)
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def is_diagonal(self) -> bool:
        """Whether the elements are vectors, which stand for diagonal matrices."""
        return False

    @property
    def is_symmetric(self) -> bool:
        """Whether its matrices are symmetric."""
        return True

    @property
    def is_solid(self) -> bool:
        """Whether the cone has interior points."""
        return True

    def identity(self) -> Symmetric: ...
    def split(self, S: Symmetric) -> Split: ...
    def min_eigenvalue(self, S: Symmetric) -> float:
        """Return the smallest eigenvalue: negative outside, infinity if nothing is outside."""

    def is_element(self, point: Point) -> bool:
        """Return whether a point is in the cone by its form, without any rounding."""
        return False

    def blocks(self) -> tuple[Cone, ...]:
        """Return the cones of the diagonal blocks, none of which is a product."""
        return (self,)

    def cut(self, S: Symmetric) -> list[Symmetric]:
        """Return the blocks of an element, one for each of `blocks()`."""
        return [S]

    def face(self, W: Symmetric, tol: float) -> Cone:
        """Return the elements of the cone that are orthogonal to W, an element of the cone.

        Eigenvalues of W up to `tol` times the largest count as zero. The result is this same
        object if W exposes no smaller face that can be represented.
        """
        return self


class Split(Protocol):
    """An element as positive part, its projection on the cone, plus negative part."""

    @property
    def positive_norm2(self) -> float: ...
    @property
    def negative_norm2(self) -> float: ...
    @property
    def lowest(self) -> float:
        """Smallest eigenvalue, 0 if there is none."""

    @property
    def n_positive(self) -> int:
        """Number of eigenvalues that are positive beyond rounding."""

    def positive(self, scale: float = 1.0) -> Point: ...
    def negative(self) -> Point:
        """Return minus the negative part, as an element of the dual cone by its form alone."""

    def clipped(self, upper: float = np.inf) -> Symmetric:
        """Return the element with its eigenvalues moved into [0, upper]."""

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        """Return the derivative of the positive part in direction H (one of them, if several).

        `rough` allows single precision: six digits, in half the time.
        """


@dataclass(frozen=True)
class Signs:
    """A vector as positive part plus negative part, with their squared norms.

    The values are the eigenvalues of the diagonal matrix that the vector stands for.
    """

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

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.values > 0))

    def positive(self, scale: float = 1.0) -> Point:
        return Diagonal(scale * np.maximum(self.values, 0))

    def negative(self) -> Point:
        return Diagonal(np.maximum(-self.values, 0))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        return np.clip(self.values, 0, upper)

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        return np.where(self.values > 0, H, 0.0)


@dataclass(frozen=True)
class Eigenpairs(Signs):
    """S = P diag(values) P.T with the eigenvalues rising.

    P has fewer columns than rows if the cone is a face; `outside` is then the squared norm of the
    part of S outside of the face, all of which is negative part.
    """

    vectors: Array
    outside: float = 0.0

    @property
    def n_positive(self) -> int:
        if not len(self.values):
            return 0
        rounding = len(self.values) * np.finfo(float).eps * np.abs(self.values).max()
        return int(np.count_nonzero(self.values > rounding))

    @property
    def negative_norm2(self) -> float:
        return super().negative_norm2 + self.outside

    def positive(self, scale: float = 1.0) -> Factored:
        """Return scale * (S)_+, its leading direction first."""
        leading = slice(len(self.values) - self.n_positive, None)
        roots = np.sqrt(scale * self.values[leading])
        return Factored(np.ascontiguousarray((self.vectors[:, leading] * roots)[:, ::-1]))

    def negative(self) -> Factored:
        # without `outside`: that part belongs to the dual cone of a face up to rounding only
        is_minus = self.values < 0
        return Factored(self.vectors[:, is_minus] * np.sqrt(-self.values[is_minus]))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        is_plus = self.values > 0
        L = self.vectors[:, is_plus] * np.sqrt(np.minimum(self.values[is_plus], upper))
        with threads_for_order(len(L)):
            return L @ L.T

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        """Return P [Omega o (P.T H P)] P.T without forming P.T H P.

        Omega is 1, 0 and a quotient where the signs are +, - and mixed. Only products with the
        smaller of the two sides of P are needed: if that is the negative one, the derivative is
        H minus the derivative of the negative part.
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
        """Eigenvectors of positive and of other eigenvalues, and Omega between them."""
        is_plus = self.values > 0
        plus, minus = (np.ascontiguousarray(self.vectors[:, k]) for k in (is_plus, ~is_plus))
        above, below = self.values[is_plus, None], self.values[None, ~is_plus]
        return plus, minus, above / (above - below)

    @cached_property
    def _single_sides(self) -> tuple[Array, ...]:
        return tuple(side.astype(np.float32) for side in self._sides)


def _one_sided(H: Symmetric, inner: Array, outer: Array, share: Array) -> Symmetric:
    """Return P [Omega o (P.T H P)] P.T; Omega is 1 on `inner`, `share` between the two, else 0."""
    U = inner.T @ H
    half = inner @ ((U @ inner / 2) @ inner.T + (share * (U @ outer)) @ outer.T)
    return half + half.T


@dataclass(frozen=True)
class PSD(Cone):
    """Positive semidefinite matrices of order n; projects by one eigen-decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import PSD
    >>> split = PSD(2).split(np.diag([3.0, -1.0]))
    >>> split.positive().dense()
    array([[3., 0.],
           [0., 0.]])
    """

    n: int

    def __post_init__(self) -> None:
        n = as_count(self.n, name="n", at_least=0, at_most=MOST_ORDER)
        object.__setattr__(self, "n", n)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def identity(self) -> Symmetric:
        return np.eye(self.n)

    def split(self, S: Symmetric) -> Eigenpairs:
        check_finite(S)
        with threads_for_order(self.n):
            return Eigenpairs(*np.linalg.eigh(S))

    def min_eigenvalue(self, S: Symmetric) -> float:
        check_finite(S)
        return float(np.linalg.eigvalsh(S)[0]) if self.n else 0.0

    def is_element(self, point: Point) -> bool:
        return isinstance(point, Factored) and len(point.L) == self.n

    def face(self, W: Symmetric, tol: float) -> PSD | Face:
        values, vectors = np.linalg.eigh(W)
        is_zero = values < tol * max(1.0, float(np.abs(values).max(initial=0.0)))
        return self if is_zero.all() else Face(np.ascontiguousarray(vectors[:, is_zero]))


@dataclass(frozen=True)
class Face(Cone):
    """The positive semidefinite matrices with range in the span of some orthonormal columns.

    It projects by one eigen-decomposition of their order. Its dual cone is larger than itself:
    the matrices that are positive semidefinite on that span.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core.cones import Face
    >>> face = Face(np.array([[1.0], [0.0]]))
    >>> face.split(np.diag([2.0, 5.0])).positive().dense()
    array([[2., 0.],
           [0., 0.]])
    """

    basis: Array
    is_solid = False

    def __repr__(self) -> str:
        return f"Face(n={self.basis.shape[0]}, rank={self.basis.shape[1]})"

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.basis), len(self.basis))

    def identity(self) -> Symmetric:
        return self.basis @ self.basis.T

    def split(self, S: Symmetric) -> Eigenpairs:
        check_finite(S)
        with threads_for_order(len(S)):
            inside = self.basis.T @ S @ self.basis
            values, vectors = np.linalg.eigh(inside)
            beyond = max(0.0, float(np.vdot(S, S)) - float(np.vdot(inside, inside)))
            return Eigenpairs(values, self.basis @ vectors, beyond)

    def min_eigenvalue(self, S: Symmetric) -> float:
        check_finite(S)
        return PSD(self.basis.shape[1]).min_eigenvalue(self.basis.T @ S @ self.basis)


@dataclass(frozen=True)
class Nonnegative(Cone):
    """Vectors with n non-negative entries: a diagonal block.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Nonnegative
    >>> Nonnegative(3).split(np.array([1.0, -2.0, 3.0])).positive().dense()
    array([1., 0., 3.])
    """

    n: int
    is_diagonal = True

    def __post_init__(self) -> None:
        n = as_count(self.n, name="n", at_least=0, at_most=MOST_LENGTH)
        object.__setattr__(self, "n", n)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    def identity(self) -> Symmetric:
        return np.ones(self.n)

    def split(self, S: Symmetric) -> Signs:
        check_finite(S)
        return Signs(S)

    def min_eigenvalue(self, S: Symmetric) -> float:
        check_finite(S)
        return float(S.min(initial=np.inf))

    def is_element(self, point: Point) -> bool:
        if not (isinstance(point, Diagonal) and point.values.shape == self.shape):
            return False
        return bool((point.values >= 0).all())


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

    @property
    def n_positive(self) -> int:
        return sum(part.n_positive for part in self.parts)

    def positive(self, scale: float = 1.0) -> Blocks:
        return Blocks(tuple(part.positive(scale) for part in self.parts))

    def negative(self) -> Blocks:
        return Blocks(tuple(part.negative() for part in self.parts))

    def clipped(self, upper: float = np.inf) -> Symmetric:
        return np.concatenate([part.clipped(upper).ravel() for part in self.parts])

    def derivative(self, H: Symmetric, rough: bool = False) -> Symmetric:
        pairs = zip(self.parts, self.cut(H), strict=True)
        return np.concatenate([part.derivative(block, rough).ravel() for part, block in pairs])


@dataclass(frozen=True)
class Product(Cone):
    """A product of cones; its elements are the flattened blocks one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import PSD, Nonnegative, Product
    >>> Product((PSD(2), Nonnegative(3))).shape
    (7,)
    """

    cones: tuple[Cone, ...]

    def __str__(self) -> str:
        blocks = self.blocks()
        if len(blocks) <= 4:
            return " x ".join(map(str, blocks))
        largest = max(blocks, key=lambda cone: cone.shape[0])
        return f"a product of {len(blocks)} cones, the largest {largest}"

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(prod(cone.shape) for cone in self.cones),)

    @property
    def is_diagonal(self) -> bool:
        return all(cone.is_diagonal for cone in self.cones)

    @property
    def is_solid(self) -> bool:
        return all(cone.is_solid for cone in self.cones)

    @property
    def is_symmetric(self) -> bool:
        return all(cone.is_symmetric for cone in self.cones)

    def identity(self) -> Symmetric:
        return np.concatenate([cone.identity().ravel() for cone in self.cones])

    def split(self, S: Symmetric) -> BlockSplit:
        pairs = zip(self.cones, self.parts(S), strict=True)
        return BlockSplit(tuple(cone.split(part) for cone, part in pairs), self.parts)

    def min_eigenvalue(self, S: Symmetric) -> float:
        pairs = zip(self.cones, self.parts(S), strict=True)
        return min(cone.min_eigenvalue(part) for cone, part in pairs)

    def is_element(self, point: Point) -> bool:
        if not (isinstance(point, Blocks) and len(point.parts) == len(self.cones)):
            return False
        pairs = zip(self.cones, point.parts, strict=True)
        return all(cone.is_element(part) for cone, part in pairs)

    def blocks(self) -> tuple[Cone, ...]:
        return tuple(block for cone in self.cones for block in cone.blocks())

    def cut(self, S: Symmetric) -> list[Symmetric]:
        pairs = zip(self.cones, self.parts(S), strict=True)
        return [block for cone, part in pairs for block in cone.cut(part)]

    def face(self, W: Symmetric, tol: float) -> Product:
        pairs = zip(self.cones, self.parts(W), strict=True)
        faces = tuple(cone.face(part, tol) for cone, part in pairs)
        is_whole = all(face is cone for face, cone in zip(faces, self.cones, strict=True))
        return self if is_whole else Product(faces)

    def parts(self, S: Symmetric) -> list[Symmetric]:
        """Return the part of an element that belongs to each of `cones`."""
        ends = np.cumsum([prod(cone.shape) for cone in self.cones])[:-1]
        parts = np.split(S, ends)
        return [part.reshape(cone.shape) for part, cone in zip(parts, self.cones, strict=True)]


def check_finite(S: Symmetric) -> None:
    """Refuse to project a matrix with NaN or infinity."""
    # eigh answers NaN and infinity with wrong numbers and without a warning
    if not np.isfinite(S).all():
        raise NumericalError(
            "the matrix to project contains NaN or infinity; bring the data to values near 1 "
            "(for example unit mean squared norm), or lower the weights of the loss"
        )
