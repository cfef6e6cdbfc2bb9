"""Proofs that a plain SDP has no answer.

Primal infeasible: some y has b.y = 1 and A*(y) no positive eigenvalue, so that no X in the cone can
have A X = b. Dual infeasible: some X in the cone has A X = 0 and <C, X> = -1, so that the
objective falls without limit along it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..core import Beside, Constraints, Equal, FrobeniusSDP, Nonnegative, Product, Sparse, Stack
from ..core.points import Symmetric, Vector, as_dense
from ..solvers import Monitor, State
from ..solvers.interior import interior, work_of_step
from ..solvers.plain import GramSolver, PlainIterate, senses, targets

#: Rounds of each search by splitting.
ROUNDS = 200
#: Error of an auxiliary problem below which its answer is tried as a proof.
ROUGH = 1e-3
#: Distance between the ray and its projection, relative to its norm, at which it is accepted.
FOUND = 1e-9
#: Largest error of a ray of the problem as given that still proves infeasibility.
ACCEPTED = 1e-7
#: Relative rounding of A*(y), whose terms may cancel.
ROUNDING = 1e-14
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Ray:
    """A proof of infeasibility, measured on the problem as given.

    Attributes
    ----------
    kind : {"primal_infeasible", "dual_infeasible"}
    vector : ndarray
        y with b.y = 1, or X with <C, X> = -1.
    error : float
        The largest eigenvalue of A*(y) above zero, relative to its norm; or |A X| relative to
        |X| and the norms of the rows. No feasible answer has a norm below about 1 / error.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> ray = solve_sdp(make_sdp(np.zeros((2, 2)), [np.eye(2)], [-1.0])).ray  # the trace is -1
    >>> ray.kind, ray.vector.round(3).tolist()
    ('primal_infeasible', [-1.0])
    """

    kind: str
    vector: Symmetric = field(repr=False)
    error: float


def find_ray(
    problem: FrobeniusSDP, gram: GramSolver, state: State, monitor: Monitor, thorough: bool
) -> Ray | None:
    """Look for a proof near an iterate (X, y).

    A thorough search also solves auxiliary problems by the interior-point method.
    """
    y = np.zeros(problem.constraints.shape[0]) if state.u is None else state.u
    X = np.zeros(problem.cone.shape) if state.point is None else as_dense(state.point)

    def attempts() -> Iterator[tuple[str, Symmetric | None]]:
        yield "primal_infeasible", _primal_ray(problem, gram, y, monitor)
        yield "dual_infeasible", _dual_ray(problem, gram, X, monitor)
        if thorough and np.isfinite(work_of_step(problem)):
            yield "primal_infeasible", _primal_ray_inside(problem, monitor)
            yield "dual_infeasible", _dual_ray_inside(problem, monitor)

    rays = (verify_ray(problem, kind, vector) for kind, vector in attempts() if vector is not None)
    return next((ray for ray in rays if ray is not None), None)


def _primal_ray_inside(problem: FrobeniusSDP, monitor: Monitor) -> Vector | None:
    """Minimise t with A X + t (b - A(I)) = b and X, t >= 0, by the interior-point method.

    X = I and t = 1 are feasible. If t cannot be 0, the multipliers are a proof.
    """
    A, identity, b = problem.constraints, problem.cone.identity(), targets(problem)
    cost = np.append(np.zeros(identity.size), 1.0)
    answer = _solve_widened(problem, A, b - A.forward(identity), cost, b, monitor)
    return None if answer is None or float(b @ answer.u) <= 0 else answer.u


def _dual_ray_inside(problem: FrobeniusSDP, monitor: Monitor) -> Symmetric | None:
    """Minimise <C, X> with A X = 0 and trace X <= 1, by the interior-point method."""
    trace = Sparse(sp.csr_array(problem.cone.identity().reshape(1, -1)), problem.cone)
    A, last = Stack([problem.constraints, trace]), np.zeros(problem.constraints.shape[0] + 1)
    last[-1] = 1.0
    cost = np.append(problem.cost.ravel(), 0.0)
    answer = _solve_widened(problem, A, last, cost, last, monitor)
    return None if answer is None else answer.point[:-1].reshape(problem.cone.shape)


def _solve_widened(
    problem: FrobeniusSDP, A: Constraints, column: Vector, cost: Vector, b: Vector, monitor: Monitor
) -> PlainIterate | None:
    """Return the best iterate on a problem with one more non-negative variable, within the run."""
    cones = problem.cone, Nonnegative(1)
    rows = Beside([A, Sparse(sp.csr_array(column[:, None]), cones[1])], cones)
    wider = FrobeniusSDP(rows, Equal(b), cost, sigma=np.inf, cone=Product(cones))
    inner = monitor.inner(FOUND)
    interior(wider, State(), inner)
    return inner.best if inner.error <= ROUGH else None


def verify_ray(problem: FrobeniusSDP, kind: str, vector: Symmetric) -> Ray | None:
    """Scale a ray and measure it on a problem as given; None if it proves nothing."""
    norms, is_primal = problem.constraints.norms(), kind == "primal_infeasible"
    if is_primal:
        vector = np.clip(vector, problem.loss.lower, problem.loss.upper)
        gain = float(targets(problem) @ vector)
    else:
        vector = problem.cone.split(vector).clipped()
        gain = -float(np.vdot(problem.cost, vector))
    if gain <= 0:
        return None
    vector = vector / gain
    if is_primal:
        W = problem.constraints.adjoint(vector)
        above = -problem.cone.min_eigenvalue(-W)
        rounding = ROUNDING * float(np.abs(vector) @ norms)  # terms of W may cancel
        error = max(0.0, above - rounding) / max(float(np.linalg.norm(W)), TINY)
    else:
        moved, sense = problem.constraints.forward(vector), senses(problem)
        broken = np.where(sense == 0, np.abs(moved), np.maximum(0, -sense * moved))
        broken = broken / np.maximum(norms, TINY)
        error = float(broken.max(initial=0.0)) / float(np.linalg.norm(vector))
    return Ray(kind, vector, error) if error <= ACCEPTED else None


def _primal_ray(
    problem: FrobeniusSDP, gram: GramSolver, y: Vector, monitor: Monitor
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
        """Return the y with b.y = 1 whose -A*(y) is nearest to W."""
        y = gram(A.forward(-W))
        return y + (1 - float(b @ y)) / length * along

    gain = float(b @ y)
    start = -A.adjoint(y / gain) if gain > 0 else np.zeros(problem.cone.shape)
    W = _common_point(problem, lambda V: -A.adjoint(nearest(V)), start, monitor)
    return None if W is None else nearest(W)


def _dual_ray(
    problem: FrobeniusSDP, gram: GramSolver, X: Symmetric, monitor: Monitor
) -> Symmetric | None:
    A, C = problem.constraints, problem.cost
    slope = C - A.adjoint(gram(A.forward(C)))
    steep = float(np.vdot(slope, slope))
    if steep <= 1e-20 * float(np.vdot(C, C)):
        return None

    def nearest(V: Symmetric) -> Symmetric:
        """Return the X nearest to V with A X = 0 and <C, X> = -1."""
        V = V - A.adjoint(gram(A.forward(V)))
        return V - (1 + float(np.vdot(C, V))) / steep * slope

    fall = -float(np.vdot(C, X))
    start = X / fall if fall > 0 else np.zeros(problem.cone.shape)
    return _common_point(problem, nearest, start, monitor)


def _common_point(
    problem: FrobeniusSDP, nearest: Callable[[Symmetric], Symmetric], V: Symmetric, monitor: Monitor
) -> Symmetric | None:
    """Find a common point of an affine set and the cone, by Douglas-Rachford splitting."""
    before = np.inf
    for round_ in range(ROUNDS):
        inside = problem.cone.split(V).clipped()
        reached = nearest(2 * inside - V)
        apart = float(np.linalg.norm(reached - inside))
        size = float(np.linalg.norm(inside))
        if apart <= FOUND * size:
            return inside
        if monitor.count():
            return None
        V = V + reached - inside
        if round_ % 100 == 99:
            if apart > before / 2:
                return None
            before = apart
    return None
