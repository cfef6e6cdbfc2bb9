"""What the methods of our own do with vectors of one entry a row, besides + - * / and comparisons.

Everything else about u happens in the problem. A vector that lives elsewhere, in shards on other
machines say, needs these functions and that arithmetic, and no second optimiser.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.types import Vector


def dot(a: Vector, b: Vector) -> float:
    """The sum of the products."""
    return float(a @ b)


def largest(a: Vector) -> float:
    """The largest absolute value, 0 of nothing."""
    return float(np.abs(a).max(initial=0.0))


def clip(a: Vector, lower: Vector, upper: Vector) -> Vector:
    """The nearest point of the box."""
    return np.clip(a, lower, upper)


def choose(condition: NDArray[np.bool_], a: Vector | float, b: Vector | float) -> Vector:
    """a where the condition holds, b elsewhere."""
    return np.where(condition, a, b)
