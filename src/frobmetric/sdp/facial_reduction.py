"""Facial reduction: if no feasible X has full rank, work on the face that holds them all.

Then some y with b.y = 0 has W = A*(y) positive semidefinite and not zero, so that <W, X> = b.y = 0
confines every feasible X to the null space of W. On such a problem the dual optimum is out of
reach and every method slows down; on the face it is an ordinary problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core import FrobeniusSDP
from ..core.types import Symmetric, Vector
from ..solvers import Monitor
from ..solvers.plain import GramSolver, targets

#: Rounds of the search for W; it ends early when W vanishes or is found.
ROUNDS = 300
#: Distance of W from both sets, relative to its norm, at which it is accepted, and exact.
FOUND, EXACT = 1e-9, 1e-14
#: Rounds that must halve that distance, before and after W is accepted.
SLOW, QUICK = 50, 8
#: Weight of the term that makes W large, in each round.
GROWTH = 0.1


@dataclass(frozen=True)
class Exposure:
    """y with b.y = 0 and W = A*(y) in the cone, and the problem on the face that it exposes."""

    y: Vector
    problem: FrobeniusSDP


def reduce_to_face(problem: FrobeniusSDP, gram: GramSolver, monitor: Monitor) -> Exposure | None:
    """Return the problem on the face of its feasible set, None if that is the whole cone.

    Douglas-Rachford splitting looks for the largest W in {A*(y) : b.y = 0} with eigenvalues in
    [0, 1]. On regular problems it arrives at zero within a few rounds.
    """
    y = _exposing_vector(problem, gram, monitor)
    if y is None:
        return None
    face = problem.cone.face(problem.constraints.adjoint(y), np.sqrt(FOUND))
    return None if face is problem.cone else Exposure(y, replace(problem, cone=face))


def lift_dual_from_face(problem: FrobeniusSDP, exposure: Exposure, y: Vector) -> Vector:
    """Return a y for the whole cone: C - A*(y) stays the same on the face, and W is added outside.

    A large multiple of W makes C - A*(y) + t W positive up to a part of size 1 / t. b.y would be
    the same but for rounding, which grows with t; the best t has the smallest sum of both errors.
    """
    A, cone, b = problem.constraints, problem.cone, targets(problem)
    Z, W = problem.cost - A.adjoint(y), A.adjoint(exposure.y)
    size, value = 1 + float(np.linalg.norm(problem.cost)), float(b @ y)
    best, least = y, np.inf
    for t in 10.0 ** np.arange(-2, 13):
        moved = y - t * exposure.y
        outside = float(np.sqrt(cone.split(Z + t * W).negative_norm2))
        error = outside / size + abs(float(b @ moved) - value) / (1 + abs(value))
        if error < least:
            best, least = moved, error
        elif error > 10 * least:
            break
    return best


def _exposing_vector(problem: FrobeniusSDP, gram: GramSolver, monitor: Monitor) -> Vector | None:
    A, cone, identity = problem.constraints, problem.cone, problem.cone.identity()
    b = targets(problem)
    along = gram(b)
    length = float(b @ along)

    def nearest(V: Symmetric) -> Vector:
        """Return the y with b.y = 0 whose A*(y) is nearest to V."""
        y = gram(A.forward(V))
        return y - (float(b @ y) / length) * along if length > 0 else y

    V, best, least, seen = identity, None, np.inf, [np.inf]
    for _ in range(ROUNDS):
        inside = cone.split(V).clipped(1.0)
        size = float(np.linalg.norm(inside))
        if size <= FOUND or monitor.count():
            return None
        y = nearest(2 * inside - V + GROWTH * identity)
        reached = A.adjoint(y)
        seen.append(float(np.linalg.norm(reached - inside)) / size)
        if seen[-1] < least:
            best, least = y, seen[-1]
        patience = QUICK if least <= FOUND else SLOW
        if least <= EXACT or min(seen[-patience:]) > seen[-patience:][0] / 2:
            break  # exact, or as near as it gets
        V = V + reached - inside
    return best if least <= FOUND else None
