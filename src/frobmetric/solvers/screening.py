"""Which rows need no more work: their u is known wherever the optimum is in a ball around M."""

from __future__ import annotations

import numpy as np

from ..core.losses import Loss
from ..core.problem import FrobeniusSDP
from ..core.solution import Solution
from ..core.types import Symmetric, Vector


def settled(loss: Loss, margins: Vector, radius: Vector) -> tuple[Vector, Vector]:
    """Rows whose u is the same at all margins within `radius`, and that u.

    With `radius = rho * |A_r|` and a ball of radius rho around M that contains the optimal matrix
    (`gap_radius`), such a row has this u at the optimum: it can be left out for good.

    Returns
    -------
    is_settled : ndarray of bool, shape (n_rows,)
    u : ndarray of shape (n_rows,)
        Of use where `is_settled`.
    """
    below, above = loss.multiplier(margins - radius), loss.multiplier(margins + radius)
    return below == above, above


def gap_radius(sigma: float, gap: float) -> float:
    """The optimum is at most this far from M(u) when u proves this gap."""
    return float(np.sqrt(sigma * gap))


def previous_optimum_ball(
    problem: FrobeniusSDP, last: Solution, ratio: float
) -> tuple[Symmetric, float]:
    """A ball around the optimum, from the solution where all weights were `ratio` times smaller.

    Both optima are the nearest points to the origin M0 = prior - sigma cost of two sets that
    differ by the factor; the ball has the way between them as its diameter.

    Returns
    -------
    centre : ndarray of the cone's shape
    radius : float
    """
    origin = problem.prior - problem.sigma * problem.cost
    moved = last.point.dense() - origin
    known = last.certificate.distance_bound
    radius = abs(ratio - 1) / 2 * float(np.linalg.norm(moved)) + max(ratio, 1.0) * known
    return origin + (1 + ratio) / 2 * moved, radius
