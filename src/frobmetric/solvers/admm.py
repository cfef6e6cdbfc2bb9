"""ADMM on the dual of a plain SDP, the boundary-point method: a robust way to a first answer.

y, Z and X are updated in turn; each round costs one solve with A A* and one eigen-decomposition.
"""

from __future__ import annotations

import numpy as np

from ..core.problem import FrobeniusSDP
from .monitor import Monitor, State
from .plain import GramSolver, Units, begin, gram_solver, targets

#: Length of the step in X; convergence is proven below (1 + sqrt 5) / 2.
STEP = 1.618
#: Rounds between two changes of sigma, and the largest factor of a change.
PATIENCE, FACTOR = 12, 1.7


def admm(
    problem: FrobeniusSDP,
    state: State,
    monitor: Monitor,
    *,
    gram: GramSolver | None = None,
    units: Units | None = None,
) -> State:
    """Run rounds of ADMM until the monitor ends them; return the last iterate.

    `gram` solves with A A*; `units` are those of the problem as the user gave it.
    """
    X, y, sigma, units = begin(problem, state, units, "admm")
    gram = gram or gram_solver(problem.constraints)
    cost, cone, A, b = problem.cost, problem.cone, problem.constraints, targets(problem)
    slack = cost - A.adjoint(y)
    Z = slack + cone.split(-slack).clipped()  # the nearest element of the dual cone
    A_cost = A.forward(cost)
    balance, n_rounds, ended = 0.0, 0, False
    while not ended:
        n_rounds += 1
        y = gram((b - A.forward(X)) / sigma + A_cost - A.forward(Z))
        slack = cost - A.adjoint(y)
        V = X / sigma - slack
        split = cone.split(V)
        part = split.clipped()
        inside, Z = sigma * part, part - V
        X = X + STEP * (inside - X)
        residuals = b - A.forward(inside), float(np.linalg.norm(slack - Z))
        iterate = units.measure("admm", problem, (inside, y, sigma), residuals, split.n_positive)
        ended = monitor.record(iterate)
        balance += np.log(max(iterate.eta_d, 1e-300) / max(iterate.eta_p, 1e-300))
        if n_rounds % PATIENCE == 0 and not ended:
            sigma *= float(np.clip(np.exp(balance / PATIENCE / 2), 1 / FACTOR, FACTOR))
            balance = 0.0
    return State(y, inside, sigma)
