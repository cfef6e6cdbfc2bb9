"""Preconditioned conjugate gradients: the one iterative solver of linear systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .types import Array, Vector

#: Linear map from an array to an array of the same shape.
Map = Callable[[Array], Array]


class CGResult(NamedTuple):
    """Approximate solution of a linear system, and why the iteration ended.

    Attributes
    ----------
    x : ndarray
        The solution, of the shape of the right-hand side.
    direction : ndarray or None
        Search direction along which the system is not positive definite, which ended the
        iteration; None if there was no such direction.
    curvature, slope : float
        direction.T V direction, which is not positive, and direction.T residual, which is.
    """

    x: Array
    direction: Array | None = None
    curvature: float = 0.0
    slope: float = 0.0

    @property
    def is_convex(self) -> bool:
        """Whether every search direction had positive curvature."""
        return self.direction is None


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
    """Solve V x = right for a symmetric positive (semi)definite V that is given by its products.

    Parameters
    ----------
    product : callable
        x -> V x.
    right : ndarray of any shape
    preconditioner : ndarray or callable
        Positive diagonal that approximates V, or a map that approximates x -> V^-1 x.
    accuracy : float
        Relative size of the residual, in the norm of the preconditioner, at which to stop.
    max_products : int
        Largest number of products with V.
    should_stop : callable, optional
        Asked before each product; a true answer ends the iteration with the present x.
    min_curvature : float
        The iteration also ends at a direction whose curvature, relative to its slope, is at most
        this large: V is not positive definite there.

    Returns
    -------
    CGResult
    """
    precondition = preconditioner if callable(preconditioner) else _divide_by(preconditioner)
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


def _divide_by(diagonal: Vector) -> Map:
    return lambda residual: residual / diagonal
