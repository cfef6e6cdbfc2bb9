"""Bounds of the optimum from any M and any u, with every rounding error bounded.

Nothing that a solver or a decomposition returns is trusted. M is the exact product of its factor,
so it belongs to the cone whatever its factor is. And for any N in the dual cone

    sum_r -loss_r*(-u_r) + <prior, Z> - sigma/2 |Z|^2 + offset,   Z = cost - A*(u) - N

is a lower bound of the optimum: N is the multiplier of M in the cone. The best N is minus the
negative part of S(u); it is formed as a product F F.T of computed eigenvectors, so that it belongs
to the dual cone even where these are wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .cones import Cone
from .points import Point, Symmetric, Vector
from .problem import FrobeniusSDP
from .rounding import EPS, SUM, TINY, gamma, inner, norm


class Bound(NamedTuple):
    """A computed objective with a bound on its rounding error, and the violation of constraints."""

    value: float
    error: float
    violation: float = 0.0


def primal_bound(problem: FrobeniusSDP, point: Point) -> Bound:
    """Return the primal objective at M; with hard rows, which it leaves out, their violation."""
    margins, reach = problem.constraints.forward_bound(point)
    reach = reach + EPS * np.abs(margins)
    losses, worst = problem.loss.value(margins), problem.loss.value_bound(margins, reach)
    M = point.dense()
    cost, cost_error = inner(problem.cost, M)
    moved = norm(M - problem.prior)
    wide = moved * (1 + EPS) + point.rounding
    distance = moved * moved / (2 * problem.sigma)  # a power of a float raises OverflowError
    error = float(worst) - float(losses)
    error += cost_error + norm(problem.cost) * point.rounding
    error += (wide - moved) * (wide + moved) / (2 * problem.sigma) + gamma(SUM + 8) * distance
    error += 4 * (TINY + TINY / problem.sigma) * (wide > 0)  # squares that underflow
    terms = (cost, distance, float(losses), problem.offset)
    violation = problem.loss.violation_bound(margins, reach)
    return Bound(sum(terms), error + 8 * EPS * sum(map(abs, terms)), violation)


def dual_bound(problem: FrobeniusSDP, u: Vector) -> Bound:
    """Return the dual objective at a u in its box.

    Without a Frobenius term it bounds the optimum only if S(u) has no positive part, whose relative
    norm is the violation.
    """
    value, _ = problem.loss.conjugate(u)
    error, terms = float(problem.loss.conjugate_error(u)), [float(value), problem.offset]
    slack = problem.cost - problem.constraints.adjoint(u)
    slack_error = problem.constraints.adjoint_error(u, n_more=1) + EPS * norm(slack)
    sigma, N = problem.sigma, problem.cone.split(problem.prior / problem.sigma - slack).negative()
    Z = slack - N.dense()
    off = slack_error + N.rounding + EPS * norm(Z) + TINY * bool(np.any(slack))
    violation = 0.0
    if np.isinf(sigma):
        violation = (norm(Z) + off) / (1 + norm(problem.cost))
    else:
        linear, linear_error = inner(problem.prior, Z)
        square, square_error = inner(Z, Z)
        terms += [linear, -sigma / 2 * square]
        # the objective is a parabola in Z, with the slope prior - sigma Z
        slope = norm(problem.prior - sigma * Z) + EPS * (norm(problem.prior) + sigma * norm(Z))
        error += (slope + sigma / 2 * off) * off + linear_error + sigma / 2 * square_error
        error += 4 * TINY * (off > 0)
    return Bound(sum(terms), error + 8 * EPS * sum(map(abs, terms)), violation)


def lowest_eigenvalue(cone: Cone, S: Symmetric, error: float = 0.0) -> float:
    """Return a lower bound on the smallest eigenvalue of a matrix that S approximates.

    `error` bounds its distance from S in Frobenius norm. What S lacks to its lowest eigenvalue
    times the identity plus an element of the cone, formed as a product, is no larger than its norm.
    """
    guess = cone.min_eigenvalue(S)
    if not np.isfinite(guess):
        return -guess
    moved = S - guess * cone.identity()
    N = cone.split(moved).positive()
    rest = norm(moved - N.dense()) + N.rounding + 2 * EPS * norm(moved) + error
    return guess - rest - EPS * abs(guess)
