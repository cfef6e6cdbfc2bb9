"""All matrices as a cone: nothing is projected, and M need not be symmetric or square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cones import Cone, check_finite
from .points import Array, Point, Unfactored


@dataclass(frozen=True)
class Everything:
    """A matrix whose positive part is the whole matrix."""

    matrix: Array
    negative_norm2 = 0.0
    lowest = 0.0

    @property
    def positive_norm2(self) -> float:
        return float(np.vdot(self.matrix, self.matrix))

    @property
    def n_positive(self) -> int:
        return min(self.matrix.shape)

    def positive(self, scale: float = 1.0) -> Unfactored:
        return Unfactored(scale * self.matrix)

    def negative(self) -> Unfactored:
        return Unfactored(np.zeros_like(self.matrix))

    def clipped(self, upper: float = np.inf) -> Array:
        return self.matrix

    def derivative(self, H: Array, rough: bool = False) -> Array:
        return H


@dataclass(frozen=True)
class AllMatrices(Cone):
    """All matrices with n_rows rows and n_columns columns; each is its own projection.

    The dual cone holds the zero matrix only: without a Frobenius term cost - A*(u) must vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import AllMatrices
    >>> AllMatrices(2, 3).shape
    (2, 3)
    """

    n_rows: int
    n_columns: int
    is_symmetric = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_rows, self.n_columns)

    def identity(self) -> Array:
        return np.eye(self.n_rows, self.n_columns)

    def split(self, S: Array) -> Everything:
        check_finite(S)
        return Everything(S)

    def min_eigenvalue(self, S: Array) -> float:
        check_finite(S)
        return np.inf

    def is_element(self, point: Point) -> bool:
        return True
