"""Search for rays, which may prove that a plain SDP has no answer.

Primal infeasible: some y has b.y = 1 and A*(y) no positive eigenvalue, so that no X in the cone can
have A X = b. Dual infeasible: some X in the cone has A X = 0 and <C, X> = -1, so that the
objective falls without limit along it. Whether a ray proves that is decided in `rays` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from ..core import Equal, FrobeniusSDP, Nonnegative, Product, Sparse, Stack
from ..core.points import Array, Symmetric, Vector, as_dense
from ..core.stacking import Beside
from ..solvers import Monitor, State
from ..solvers.interior import interior, work_of_step
from ..solvers.plain import GramSolver, PlainIterate, targets

#: Rounds of each search by splitting.
ROUNDS = 200
#: Error of an auxiliary problem below which its answer is tried as a proof.
ROUGH = 1e-3
#: Distance between the ray and its projection, relative to its norm, at which it is accepted.
FOUND = 1e-9


def find_rays(
    problem: FrobeniusSDP, gram: GramSolver, state: State, monitor: Monitor, thorough: bool
) -> Iterator[tuple[str, Symmetric]]:
    """Yield kinds and vectors that are nearly rays, first near an iterate (X, y).

    A ray as far from the boundary as there is one, which the interior-point method finds, comes
    after each that is found by splitting; a thorough search tries it in any case.
    """
    y = np.zeros(problem.constraints.shape[0]) if state.u is None else state.u
    X = np.zeros(problem.cone.shape) if state.point is None else as_dense(state.point)
    searches: tuple[tuple[str, Callable[..., Symmetric | None], Symmetric], ...] = (
        ("primal_infeasible", _primal_ray, y),
        ("dual_infeasible", _dual_ray, X),
    )
    inside = {"primal_infeasible": _deepest_y, "dual_infeasible": _deepest_x}
    is_small, seen = bool(np.isfinite(work_of_step(problem))), set()
    for kind, search, start in searches:
        vector = search(problem, gram, start, monitor)
        if vector is not None:
            yield kind, vector
            seen.add(kind)
            if is_small and (deep := inside[kind](problem, monitor)) is not None:
                yield kind, deep
    for kind in inside:
        if thorough and is_small and kind not in seen:
            deep = inside[kind](problem, monitor)
            if deep is not None:
                yield kind, deep


def _deepest_y(problem: FrobeniusSDP, monitor: Monitor) -> Vector | None:
    """Maximise s with -A*(y) - s I in the cone, b.y >= s and b.y - <I, A*(y)> <= 1.

    If s is 0 the method ends in the middle of all rays.
    """
    A, b, identity = problem.constraints, targets(problem), problem.cone.identity()
    columns = np.column_stack([np.append(-b, 1.0), np.append(b - A.forward(identity), 0.0)])
    sides = np.append(np.zeros(len(b)), 1.0)
    cost = np.append(np.zeros(identity.size), [0.0, 1.0])
    answer = _solve_widened(problem, [identity], columns, cost, sides, monitor)
    return None if answer is None or float(b @ answer.u[:-1]) <= 0 else answer.u[:-1]


def _deepest_x(problem: FrobeniusSDP, monitor: Monitor) -> Symmetric | None:
    """Maximise s with X = Z + s I and A X = 0, Z in the cone, <C, X> + s <= 0 and tr X <= 1.

    The unknown r = s + 1 is not negative. If s is 0 the method ends in the middle of all rays.
    """
    A, C, identity = problem.constraints, problem.cost, problem.cone.identity()
    A_I, slope, order = A.forward(identity), float(np.vdot(C, identity)) + 1, float(identity.sum())
    columns = np.zeros((len(A_I) + 2, 3))
    columns[:, 0] = [*A_I, slope, order]
    columns[-2, 1] = columns[-1, 2] = 1.0
    sides = np.array([*A_I, slope, 1 + order])
    cost = np.append(np.zeros(identity.size), [-1.0, 0.0, 0.0])
    answer = _solve_widened(problem, [C, identity], columns, cost, sides, monitor)
    if answer is None:
        return None
    Z, r = answer.point[:-3].reshape(identity.shape), answer.point[-3]
    X = Z + (r - 1) * identity
    return X if float(np.vdot(C, X)) < 0 else None


def _solve_widened(
    problem: FrobeniusSDP,
    more: list[Symmetric],
    columns: Array,
    cost: Vector,
    b: Vector,
    monitor: Monitor,
) -> PlainIterate | None:
    """Return the best iterate on a problem with more rows and non-negative variables."""
    extra = Sparse(sp.csr_array(np.array([row.ravel() for row in more])), problem.cone)
    cones = problem.cone, Nonnegative(columns.shape[1])
    A = Stack([problem.constraints, extra])
    rows = Beside([A, Sparse(sp.csr_array(columns), cones[1])], cones)
    wider = FrobeniusSDP(rows, Equal(b), cost, sigma=np.inf, cone=Product(cones))
    inner = monitor.inner(FOUND)
    interior(wider, State(), inner)
    return inner.best if inner.best is not None and inner.error <= ROUGH else None


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
