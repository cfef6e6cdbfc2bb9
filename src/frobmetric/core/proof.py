"""Proofs as plain arrays, for `frobmetric.verify`: a problem, its answer and what is claimed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .cones import PSD
from .losses import Hinge, SmoothedHinge, SquaredHinge
from .points import Array, Point, Symmetric, Vector
from .problem import FrobeniusSDP

#: Losses that the verifier knows, by the name that it has for them.
LOSS_NAMES = {Hinge: "hinge", SmoothedHinge: "smoothed_hinge", SquaredHinge: "squared_hinge"}


def state_proof(problem: FrobeniusSDP, point: Point | Symmetric, u: Vector) -> dict[str, Array]:
    """Return the proof that (M, u) gives, with the interval that it proves as its claim.

    u is in its box. A matrix M is replaced by its positive part, which is factored.
    """
    from ..verify import prove  # here, as `python -m frobmetric.verify` has to import it first

    found, loss = problem.constraints.as_quadruplets(), problem.loss
    name = LOSS_NAMES.get(type(loss))
    if found is None or name is None or not isinstance(problem.cone, PSD):
        kind = f"{type(problem.constraints).__name__} with {loss} over {problem.cone!r}"
        raise ValueError(
            f"this problem has {kind}; expected comparisons of distances (pairs, triplets, "
            f"quadruplets) with one of {[each.__name__ for each in LOSS_NAMES]} over PSD matrices "
            "for a proof in exact arithmetic; certify it with exact=False"
        )
    points, rows = found
    slack = problem.cost - problem.constraints.adjoint(u)
    parts = {
        "points": points.toarray() if sp.issparse(points) else points,
        "weight": loss.weight,  # type: ignore[attr-defined]
        "target": np.broadcast_to(loss.target, u.shape),  # type: ignore[attr-defined]
        "smoothing": getattr(loss, "smoothing", 1.0),
        "cost": problem.cost,
        "prior": problem.prior,
        "sigma": problem.sigma,
        "offset": problem.offset,
        "u": u,
        "factor": _factor(problem.cone, point),
        "dual_factor": _factor(problem.cone, slack - problem.prior / problem.sigma),
        "claim": np.zeros(2),
    }
    proof = {key: np.array(value, dtype=np.float64) for key, value in parts.items()}
    proof |= {"rows": np.array(rows, dtype=np.int64), "loss": np.array(name)}
    proof["claim"] = np.array(prove(proof))
    return proof


def _factor(cone: PSD, M: Point | Symmetric) -> Array:
    """Return a factor of the positive part of M."""
    return cone.split(M).positive().factor() if isinstance(M, np.ndarray) else M.factor()
