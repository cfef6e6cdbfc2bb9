"""Preconditioned conjugate gradients: the one iterative solver of linear systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .points import Array, Vector

#: Linear map from an array to an array of the same shape.
Map = Callable[[Array], Array]


class CGResult(NamedTuple):
    """Approximate solution x of V x = right, and why the iteration ended.

    `direction` is a search direction along which V is not positive definite, None if there was
    none; `curvature` is direction.T V direction, and `slope` direction.T (right - V x) > 0.
    """

    x: Array
    direction: Array | None = None
    curvature: float = 0.0
    slope: float = 0.0


def conjugate_gradients(
    product: Map,
    right: Array,
    preconditioner: Vector | Map,
    *,
    accuracy: float,
    max_products: int,
    should_stop: Callable[[], bool] = lambda: False,
    min_curvature: float = 0.0,
) -> CGResult:
    """Solve V x = right for a symmetric positive (semi)definite V, given by `product` x -> V x.

    The preconditioner is a positive diagonal that approximates V, or a map that approximates
    x -> V^-1 x; in its norm the residual is to shrink by the factor `accuracy`. `should_stop` is
    asked before each product. The iteration also ends at a direction whose curvature, relative
    to its slope, is at most `min_curvature`: V is not positive definite there.
    """

    def precondition(residual: Array) -> Array:
        return preconditioner(residual) if callable(preconditioner) else residual / preconditioner

    x, residual = np.zeros_like(right), right
    direction = precondition(residual)
    slope = float(np.vdot(residual, direction))
    goal = accuracy**2 * slope
    for _ in range(max_products):
        if slope <= goal or should_stop():
            break
        image = product(direction)
        curvature = float(np.vdot(direction, image))
        if curvature <= min_curvature * slope:
            return CGResult(x, direction, curvature, slope)
        length = slope / curvature
        x, residual = x + length * direction, residual - length * image
        scaled = precondition(residual)
        slope, before = float(np.vdot(residual, scaled)), slope
        direction = scaled + slope / before * direction
    return CGResult(x)
