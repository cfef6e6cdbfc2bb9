"""Which rows need no more work: their u is known wherever the optimum is in a ball around M."""

from __future__ import annotations

import numpy as np

from ..core.losses import Loss
from ..core.types import Vector


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
