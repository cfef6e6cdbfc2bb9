"""Simplification of a plain SDP before it is solved: rows, equations, blocks, scaling and faces.

Each step returns a simpler problem and a `Lift`, which turns an answer of that problem into one of
the problem before. Every step is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..core import PSD, Equal, FrobeniusSDP, Nonnegative, Product, Sparse
from ..core.cones import Cone
from ..core.matrices import Scaled
from ..core.points import Array, Index, Symmetric, Vector
from ..core.stacking import Beside
from ..solvers import Monitor
from ..solvers.plain import GramSolver, Units, senses, targets

#: Relative difference up to which two rows, or two right-hand sides, are the same number.
SAME = 1e-14
#: Rounds of the search for W; it ends early when W vanishes or is found.
ROUNDS = 300
#: Distance of W from both sets, relative to its norm, at which it is accepted, and exact.
FOUND, EXACT = 1e-9, 1e-14
#: Rounds that must halve that distance, before and after W is accepted.
SLOW, QUICK = 50, 8
#: Weight of the term that makes W large, in each round.
GROWTH = 0.1


def _same(value: Array) -> Array:
    return value


@dataclass(frozen=True)
class Lift:
    """The way back from a simpler problem: maps from its X and y to X and y of the problem before.

    `lower_x` and `lower_y` are the opposite maps, for a start that the user gives.
    """

    X: Callable[[Symmetric], Symmetric] = _same
    y: Callable[[Vector], Vector] = _same
    lower_x: Callable[[Symmetric], Symmetric] = _same
    lower_y: Callable[[Vector], Vector] = _same

    def after(self, later: Lift) -> Lift:
        """Return the way back over two steps: first over `later`, then over this one."""
        return Lift(
            lambda X: self.X(later.X(X)),
            lambda y: self.y(later.y(y)),
            lambda X: later.lower_x(self.lower_x(X)),
            lambda y: later.lower_y(self.lower_y(y)),
        )


def _scatter(values: Array, places: Index, shape: tuple[int, ...]) -> Array:
    """Return an array that is zero except at these places."""
    whole = np.zeros(shape)
    whole.flat[places] = values
    return whole


def simplify(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Units, Lift, Fewer]:
    """Drop repeated rows, turn rows into equations, split blocks, scale.

    Returns the simple problem, its units, the way back, and the problem with fewer rows.
    """
    fewer = drop_rows(problem)
    equations, first = with_slacks(fewer.problem)
    blocks, second = split_blocks(equations)
    scaled, units, third = scale(blocks)
    norm_b, norm_c = (float(np.linalg.norm(v)) for v in (targets(problem), problem.cost))
    units = replace(units, rows=fewer.weights * units.rows, norm_b=norm_b, norm_c=norm_c)
    return scaled, units, fewer.lift.after(first).after(second).after(third), fewer


class Fewer(NamedTuple):
    """A problem without redundant rows; `contradiction` is a y with b.y > 0 and A*(y) = 0, if any.

    `weights` are the norms of each remaining row and the rows that it implies, relative to its own.
    """

    problem: FrobeniusSDP
    lift: Lift
    notes: tuple[str, ...]
    weights: Vector
    contradiction: Vector | None


def drop_rows(problem: FrobeniusSDP) -> Fewer:
    """Drop rows that are zero, or multiples of rows that imply them; their y is 0.

    Rows that are not sparse matrices stay, and so do all rows where some contradict each other.
    """
    A, audit = problem.constraints, _RowAudit(targets(problem), senses(problem))
    sparse = A.as_sparse()
    if sparse is not None:
        size = abs(sparse.rows).sum(axis=1)
        audit.check_zeros(np.flatnonzero(size == 0))
        for rows, factors in _multiples(sparse.rows, size):
            audit.check_multiples(rows, factors)
    kept, notes = np.flatnonzero(audit.weights2), tuple(audit.notes)
    if audit.contradiction is not None or len(kept) == A.shape[0]:
        return Fewer(problem, Lift(), notes, np.ones(A.shape[0]), audit.contradiction)
    fewer = replace(problem, constraints=A.restrict(kept), loss=problem.loss.restrict(kept))
    lift = Lift(y=lambda y: _scatter(y, kept, (A.shape[0],)), lower_y=lambda y: y[kept])
    return Fewer(fewer, lift, notes, np.sqrt(audit.weights2[kept]), None)


class _RowAudit:
    """Search for redundant and contradictory rows; dropped rows have the weight 0."""

    def __init__(self, b: Vector, sense: Vector) -> None:
        self.b, self.sense, self.weights2 = b, sense, np.ones(len(b))
        self.notes: list[str] = []
        self.contradiction: Vector | None = None

    def check_zeros(self, rows: Index) -> None:
        b, sense = self.b[rows], self.sense[rows]
        short = np.where(sense == 0, np.abs(b), sense * b)
        is_met = short <= SAME * np.abs(self.b).max(initial=0.0)
        for r in rows[~is_met]:
            self._contradict(f"row {r} is zero and asks for {self.b[r]:g}", [r], [self.b[r]])
        for r in rows[is_met][len(rows) == len(self.b) :]:  # one row must stay
            self.weights2[r] = 0.0
            self.notes.append(f"row {r} is zero and holds for every X: dropped")

    def check_multiples(self, rows: Index, factors: Vector) -> None:
        """Compare rows <factor_r A, X>, which with their b_r are bounds on one number, <A, X>."""
        level, side = self.b[rows] / factors, self.sense[rows] * np.sign(factors)
        lower, upper = np.where(side >= 0, level, -np.inf), np.where(side <= 0, level, np.inf)
        low, high = int(np.argmax(lower)), int(np.argmin(upper))
        if lower[low] - upper[high] > SAME * np.abs(level).max():
            note = "rows {} and {} contradict each other".format(*np.sort(rows[[low, high]]))
            self._contradict(note, rows[[low, high]], [1 / factors[low], -1 / factors[high]])
            return
        ends = [k for k, bound in ((low, lower), (high, upper)) if np.isfinite(bound[k])]
        equal = np.flatnonzero(side == 0)
        kept = [int(equal[np.argmax(np.abs(factors[equal]))])] if len(equal) else ends
        dropped = np.delete(np.arange(len(rows)), kept)
        self.weights2[rows[dropped]] = 0.0
        self.weights2[rows[kept]] += np.sum(factors[dropped] ** 2) / factors[kept] ** 2
        others = " and ".join(f"row {r}" for r in np.unique(rows[kept]))
        self.notes += [f"row {r} says no more than {others}: dropped" for r in rows[dropped]]

    def _contradict(self, note: str, rows: Any, y: Any) -> None:
        self.notes.append(f"{note}: no X meets that")
        self.contradiction = np.zeros(len(self.b))
        self.contradiction[rows] = y


def _multiples(rows: sp.csr_array, size: Vector) -> Iterator[tuple[Index, Vector]]:
    """Yield every set of two or more rows that are multiples of the first, with their factors."""
    probed = rows.copy()
    probed.data *= np.cos(1 + np.sqrt(2) * rows.indices)  # another number for every place
    mark = np.abs(probed.sum(axis=1)) / np.where(size > 0, size, np.nan)
    order = np.argsort(mark)[: np.count_nonzero(size)]  # NaN comes last
    for alike in np.split(order, np.flatnonzero(np.diff(mark[order]) > 1e-10) + 1):
        left = np.sort(alike)
        while len(left) > 1:
            rest, first = rows[left], rows[left[:1]]
            pivot = first.indices[np.argmax(np.abs(first.data))]
            factors = rest[:, [pivot]].toarray() / first[0, pivot]
            apart = abs(rest - sp.csr_array(factors) @ first).max(axis=1).toarray()
            same = np.ravel(apart) <= SAME * size[left]
            if np.count_nonzero(same) > 1:
                yield left[same], factors[same, 0]
            left = left[~same]


def with_slacks(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Lift]:
    """Turn inequalities into equations with a non-negative block of slacks."""
    sense = senses(problem)
    rows = np.flatnonzero(sense)
    if not len(rows):
        return problem, Lift()
    size, shape = int(np.prod(problem.cone.shape)), problem.cone.shape
    entries = (-sense[rows], (rows, np.arange(len(rows))))
    slack = Sparse(sp.csr_array(entries, shape=(len(sense), len(rows))), Nonnegative(len(rows)))
    inside, b = problem.constraints, targets(problem)
    beside = Beside([inside, slack], (problem.cone, slack.cone))
    sparse = beside.as_sparse()
    cone = Product((problem.cone, slack.cone)) if sparse is None else sparse.cone
    cost, A = np.concatenate([problem.cost.ravel(), np.zeros(len(rows))]), sparse or beside
    equations = replace(problem, constraints=A, loss=Equal(b), cost=cost, prior=0 * cost, cone=cone)

    def lower_x(X: Symmetric) -> Symmetric:
        room = sense * (inside.forward(X) - b)
        return np.concatenate([X.ravel(), np.maximum(0, room[rows])])

    return equations, Lift(lambda X: X[:size].reshape(shape), lower_x=lower_x)


def split_blocks(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Lift]:
    """Split blocks into parts that neither cost nor rows connect.

    The entries of X between them change nothing, so they can be zero; blocks of order one are
    collected in a single non-negative one.
    """
    A = problem.constraints.as_sparse()
    if A is None or not problem.cone.is_solid:
        return problem, Lift()
    touched = np.abs(problem.cost.ravel())
    touched[np.unique(A.rows.indices)] = 1.0
    groups, singles = _components(problem.cone, touched)
    parts: list[Cone] = [PSD(len(group)) for group in groups]
    if singles:
        parts.append(Nonnegative(len(singles)))
    if problem.cone.blocks() == tuple(parts):
        return problem, Lift()
    places = np.concatenate([group.ravel() for group in groups] + [np.array(singles, dtype=int)])
    cone, shape = Product(tuple(parts)), problem.cone.shape
    rows, cost = Sparse(A.rows[:, places], cone), problem.cost.ravel()[places]
    smaller = replace(problem, constraints=rows, cost=cost, prior=0 * cost, cone=cone)
    lift = Lift(lambda X: _scatter(X, places, shape), lower_x=lambda X: X.ravel()[places])
    return smaller, lift


def _components(cone: Cone, touched: Vector) -> tuple[list[Index], list[int]]:
    """Return the places of each connected part in X, as a square array, and of single entries."""
    groups: list[Index] = []
    singles: list[int] = []
    start = 0
    for block in cone.blocks():
        n, size = block.shape[0], int(np.prod(block.shape))
        if block.is_diagonal:
            singles.extend(range(start, start + size))
        else:
            entries = touched[start : start + size].reshape(n, n)
            _, label = connected_components(sp.csr_array(entries))
            order = np.argsort(label, kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
                if len(members) == 1:
                    singles.append(start + int(members[0]) * (n + 1))
                else:
                    groups.append(start + members[:, None] * n + members)
        start += size
    return groups, singles


def scale(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Units, Lift]:
    """Scale rows to norm one, then b and C to norm one if they are larger."""
    norms = problem.constraints.norms()
    norms = np.where(norms > 0, norms, 1.0)
    b = targets(problem) / norms
    primal = max(1.0, float(np.linalg.norm(b)))
    dual = max(1.0, float(np.linalg.norm(problem.cost)))
    divided = Scaled(problem.constraints, 1 / norms)
    rows, cost = divided.as_sparse() or divided, problem.cost / dual
    scaled = replace(problem, constraints=rows, loss=Equal(b / primal), cost=cost)
    lift = Lift(
        X=lambda X: primal * X,
        y=lambda y: dual * y / norms,
        lower_x=lambda X: X / primal,
        lower_y=lambda y: y * norms / dual,
    )
    return scaled, Units(norms, primal, dual, 0.0, 0.0), lift


class Exposure(NamedTuple):
    """y with b.y = 0 and W = A*(y) in the cone, and the problem on the face that it exposes."""

    y: Vector
    problem: FrobeniusSDP


def reduce_to_face(problem: FrobeniusSDP, gram: GramSolver, monitor: Monitor) -> Exposure | None:
    """Return the problem on the face of its feasible set, None if that is the whole cone.

    If no feasible X has full rank, some y with b.y = 0 has W = A*(y) positive semidefinite and not
    zero, and <W, X> = b.y = 0 confines every feasible X to the null space of W. On such a
    problem the dual optimum is out of reach and every method slows down; on the face it is an
    ordinary problem.
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
    """Look for the largest W with eigenvalues in [0, 1], by Douglas-Rachford splitting.

    On regular problems it arrives at zero within a few rounds.
    """
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
