"""ADMM on the dual of a plain SDP, the boundary-point method: a robust way to a first answer.

y, Z and X are updated in turn; each round costs one solve with A A* and one eigen-decomposition.
"""

from __future__ import annotations

import numpy as np

from ..core.problem import FrobeniusSDP
from ..core.types import Symmetric, Vector
from .gram import GramSolver
from .watch import Watch

#: Length of the step in X; convergence is proven below (1 + sqrt 5) / 2.
STEP = 1.618
#: Rounds between two looks at sigma, and the factor by which it then moves at most.
PATIENCE, FACTOR = 12, 1.7


def admm(
    problem: FrobeniusSDP,
    gram: GramSolver,
    X: Symmetric,
    y: Vector,
    sigma: float,
    watch: Watch,
    tol: float,
    rounds: int,
) -> tuple[Symmetric, Vector, float]:
    """Rounds of ADMM until the errors are below `tol`; where they led, X in the cone."""
    cost, cone, A = problem.cost, problem.cone, problem.constraints
    _, b = problem.loss.conjugate(y)
    free = cost - A.adjoint(y)
    Z = free + cone.split(-free).clipped()  # the nearest element of the dual cone
    pulled = A.forward(cost)
    balance = 0.0
    for round_ in range(1, rounds + 1):
        y = gram((b - A.forward(X)) / sigma + pulled - A.forward(Z))
        free = cost - A.adjoint(y)
        V = X / sigma - free
        part = cone.split(V).clipped()
        inside, Z = sigma * part, part - V
        X = X + STEP * (inside - X)
        missed, uncovered = b - A.forward(inside), float(np.linalg.norm(free - Z))
        step = watch.step("admm", problem, inside, y, missed, uncovered, sigma)
        if watch.record(inside, y, step) or watch.count() or step.error <= tol:
            break
        balance += np.log(max(step.eta_d, 1e-300) / max(step.eta_p, 1e-300))
        if round_ % PATIENCE == 0:
            sigma *= float(np.clip(np.exp(balance / PATIENCE / 2), 1 / FACTOR, FACTOR))
            balance = 0.0
    return inside, y, sigma
