"""Agreement of a certificate that a model claims with the one that is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from ..core.solution import Certificate, Step

#: Largest relative difference of certificates of one answer, computed on two machines.
AGREEMENT = 1e-6


def disagreements(
    claimed: Certificate, recomputed: Certificate, history: Sequence[Step] = ()
) -> list[str]:
    """Return the fields in which two certificates differ by more than rounding.

    "history" is one of them if that of the fit does not lead to the second certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.model.agreement import disagreements
    >>> model = FrobMetric(keep_dual=True).fit(X, y)
    >>> disagreements(model.certificate_, model.certify(X, y))
    []
    """
    size = max(abs(recomputed.primal), abs(recomputed.dual))
    units = dict.fromkeys(("primal", "dual", "gap"), size) | {"relative_gap": 1.0, "violation": 1.0}
    units["min_eigenvalue"] = sqrt(2 * size)  # |M|^2 / 2 <= primal when the prior is zero
    wrong = [
        name
        for name, unit in units.items()
        if not abs(getattr(claimed, name) - getattr(recomputed, name)) <= AGREEMENT * unit
    ]
    # squares are compared, because the root of the gap magnifies its rounding error
    if not abs(claimed.distance_bound**2 - recomputed.distance_bound**2) <= 2 * AGREEMENT * size:
        wrong.append("distance_bound")
    if history and not _leads_to(history, recomputed, max(AGREEMENT * size, recomputed.gap)):
        wrong.append("history")
    return wrong


def _leads_to(history: Sequence[Step], proof: Certificate, allowed: float) -> bool:
    """Return whether a step has the objectives of a proof, and none is below the bound of another.

    Differences up to `allowed` are rounding.
    """
    primal, dual, *_ = np.array(history, dtype=np.float64).T
    away = np.maximum(np.abs(primal - proof.primal), np.abs(dual - proof.dual))
    is_ordered = min(primal.min(), proof.primal) >= max(dual.max(), proof.dual) - allowed
    return bool(away.min() <= allowed and is_ordered)
