"""Proofs that a plain SDP has no answer.

Primal infeasible: some y has b.y = 1 and A*(y) nowhere positive, so that no X in the cone can
have A X = b. Dual infeasible: some X in the cone has A X = 0 and <C, X> = -1, so that the
objective falls without end along it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core import FrobeniusSDP
from ..core.types import Symmetric, Vector
from ..solvers.gram import GramSolver
from ..solvers.watch import Watch
from .presolve import senses, targets

#: Rounds of each search.
ROUNDS = 400
#: Distance between the ray and its projection, relative to its norm, at which it counts as found.
FOUND = 1e-9
#: Largest error of a ray of the problem as given that still proves something.
ACCEPTED = 1e-7
#: Relative rounding of A*(y), whose terms may cancel.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Ray:
    """A proof of infeasibility, measured on the problem as given.

    Attributes
    ----------
    kind : {"primal_infeasible", "dual_infeasible"}
    vector : ndarray
        y with b.y = 1, or X with <C, X> = -1.
    error : float
        How far A*(y) is from nowhere positive, relative to its norm; or |A X| relative to
        |X| and the norms of the rows. No feasible answer has a norm below about 1 / error.
    """

    kind: str
    vector: Symmetric
    error: float


def find_ray(
    problem: FrobeniusSDP, gram: GramSolver, X: Symmetric, y: Vector, watch: Watch
) -> tuple[str, Symmetric] | None:
    """Look for a proof from where iterates went; the kind and the vector, None if none is found."""
    ray = _primal_ray(problem, gram, y, watch)
    if ray is not None:
        return "primal_infeasible", ray
    ray = _dual_ray(problem, gram, X, watch)
    return None if ray is None else ("dual_infeasible", ray)


def verify_ray(problem: FrobeniusSDP, kind: str, vector: Symmetric) -> Ray | None:
    """The ray scaled and measured on a problem as given; None if it proves nothing."""
    if kind == "primal_infeasible":
        return _verified_y(problem, vector)
    return _verified_x(problem, vector)


def _verified_y(problem: FrobeniusSDP, y: Vector) -> Ray | None:
    y = np.clip(y, problem.loss.lower, problem.loss.upper)
    gain = float(targets(problem) @ y)
    if gain <= 0:
        return None
    y = y / gain
    W = problem.constraints.adjoint(y)
    # what the terms of W leave when they cancel is nothing
    rounding = ROUNDING * float(np.abs(y) @ problem.constraints.norms())
    above = max(0.0, -problem.cone.min_eigenvalue(-W) - rounding)
    error = above / max(float(np.linalg.norm(W)), np.finfo(float).tiny) if above else 0.0
    return Ray("primal_infeasible", y, error) if error <= ACCEPTED else None


def _verified_x(problem: FrobeniusSDP, X: Symmetric) -> Ray | None:
    X = problem.cone.split(X).clipped()
    fall = -float(np.vdot(problem.cost, X))
    if fall <= 0:
        return None
    X = X / fall
    moved, sense = problem.constraints.forward(X), senses(problem)
    broken = np.where(sense == 0, np.abs(moved), np.maximum(0, -sense * moved))
    size = np.maximum(problem.constraints.norms(), np.finfo(float).tiny)
    error = float((broken / size).max(initial=0.0)) / float(np.linalg.norm(X))
    return Ray("dual_infeasible", X, error) if error <= ACCEPTED else None


def _primal_ray(
    problem: FrobeniusSDP, gram: GramSolver, y: Vector, watch: Watch
) -> Vector | None:
    A, b = problem.constraints, targets(problem)
    along = gram(b)
    length = float(b @ along)
    if length <= 0:
        return None
    # equations without a solution have a y with A*(y) = 0, which `gram` magnifies
    alone = gram(along / float(np.linalg.norm(along)))
    alone = alone / float(np.linalg.norm(alone))
    if float(np.linalg.norm(A.adjoint(alone))) <= FOUND * float(b @ alone):
        return alone

    def nearest(W: Symmetric) -> Vector:
        """The y with b.y = 1 whose -A*(y) is nearest to W."""
        y = gram(A.forward(-W))
        return y + (1 - float(b @ y)) / length * along

    gain = float(b @ y)
    start = -A.adjoint(y / gain) if gain > 0 else np.zeros(problem.cone.shape)
    W = _meeting(problem, lambda V: -A.adjoint(nearest(V)), start, watch)
    return None if W is None else nearest(W)


def _dual_ray(
    problem: FrobeniusSDP, gram: GramSolver, X: Symmetric, watch: Watch
) -> Symmetric | None:
    A, C = problem.constraints, problem.cost
    slope = C - A.adjoint(gram(A.forward(C)))
    steep = float(np.vdot(slope, slope))
    if steep <= 1e-20 * float(np.vdot(C, C)):
        return None

    def nearest(V: Symmetric) -> Symmetric:
        """The X nearest to V with A X = 0 and <C, X> = -1."""
        V = V - A.adjoint(gram(A.forward(V)))
        return V - (1 + float(np.vdot(C, V))) / steep * slope

    fall = -float(np.vdot(C, X))
    start = X / fall if fall > 0 else np.zeros(problem.cone.shape)
    return _meeting(problem, nearest, start, watch)


def _meeting(
    problem: FrobeniusSDP, nearest: Callable[[Symmetric], Symmetric], V: Symmetric, watch: Watch
) -> Symmetric | None:
    """A point of an affine set and the cone, by Douglas-Rachford splitting."""
    before = np.inf
    for round_ in range(ROUNDS):
        inside = problem.cone.split(V).clipped()
        reached = nearest(2 * inside - V)
        apart = float(np.linalg.norm(reached - inside))
        size = float(np.linalg.norm(inside))
        if apart <= FOUND * size:
            return inside
        if watch.count():
            return None
        V = V + reached - inside
        if round_ % 100 == 99:
            if apart > before / 2:
                return None
            before = apart
    return None
