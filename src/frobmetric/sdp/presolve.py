"""What happens to a plain SDP before it is solved: equations, blocks and scaling, and the way back.

Each step gives a simpler problem and a `Lift`, which turns an answer of that problem into one of
the problem before. Nothing is lost: every step is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..core import PSD, Beside, Constraints, Equal, FrobeniusSDP, Nonnegative, Product, Sparse
from ..core.cones import Cone
from ..core.matrices import Scaled
from ..core.types import Array, Index, Symmetric, Vector
from ..solvers.watch import Units

#: Relative difference up to which two rows, or two right-hand sides, are the same number.
SAME = 1e-14


@dataclass(frozen=True)
class Lift:
    """The way back from a simpler problem: its X and y as those of the problem before.

    `lower_x` and `lower_y` are the way there, for a start that the user gives.
    """

    X: Callable[[Symmetric], Symmetric]
    y: Callable[[Vector], Vector]
    lower_x: Callable[[Symmetric], Symmetric]
    lower_y: Callable[[Vector], Vector]

    def after(self, later: Lift) -> Lift:
        """The way back over both steps, `later` being the one that came after this."""
        return Lift(
            lambda X: self.X(later.X(X)),
            lambda y: self.y(later.y(y)),
            lambda X: later.lower_x(self.lower_x(X)),
            lambda y: later.lower_y(self.lower_y(y)),
        )


def simplify(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Units, Lift, Fewer]:
    """No row twice, equations only, split into blocks, scaled; with the units and the way back."""
    fewer = drop_rows(problem)
    equations, first = with_slacks(fewer.problem)
    blocks, second = split_blocks(equations)
    scaled, units, third = scale(blocks)
    norm_b, norm_c = (float(np.linalg.norm(v)) for v in (targets(problem), problem.cost))
    units = replace(units, rows=fewer.weights * units.rows, norm_b=norm_b, norm_c=norm_c)
    return scaled, units, fewer.lift.after(first).after(second).after(third), fewer


class Fewer(NamedTuple):
    """A problem without the rows that say nothing of their own.

    `weights` tells what each row left stands for: the norm of it and of the rows that it implies,
    relative to its own. `contradiction` is a y with b.y > 0 and A*(y) = 0, None if there is none.
    """

    problem: FrobeniusSDP
    lift: Lift
    notes: tuple[str, ...]
    weights: Vector
    contradiction: Vector | None


def drop_rows(problem: FrobeniusSDP) -> Fewer:
    """Without rows that are zero, or a multiple of others that say as much; their y is 0.

    Rows that are not `Sparse` stay, and so do all where some contradict each other.
    """
    A, ledger = problem.constraints, _Ledger(targets(problem), senses(problem))
    if isinstance(A, Sparse):
        size = abs(A.rows).sum(axis=1)
        ledger.judge_zeros(np.flatnonzero(size == 0))
        for rows, factors in _multiples(A.rows, size):
            ledger.judge_multiples(rows, factors)
    kept, notes = np.flatnonzero(ledger.weights2), tuple(ledger.notes)
    if ledger.contradiction is not None or len(kept) == A.shape[0]:
        same = Lift(_same, _same, _same, _same)
        return Fewer(problem, same, notes, np.ones(A.shape[0]), ledger.contradiction)

    def up(y: Vector) -> Vector:
        whole = np.zeros(A.shape[0])
        whole[kept] = y
        return whole

    fewer = replace(problem, constraints=A.restrict(kept), loss=problem.loss.restrict(kept))
    lift = Lift(_same, up, _same, lambda y: y[kept])
    return Fewer(fewer, lift, notes, np.sqrt(ledger.weights2[kept]), None)


class _Ledger:
    """What is noted of each row; dropped ones have the weight 0."""

    def __init__(self, b: Vector, sense: Vector) -> None:
        self.b, self.sense, self.weights2 = b, sense, np.ones(len(b))
        self.notes: list[str] = []
        self.contradiction: Vector | None = None

    def judge_zeros(self, rows: Index) -> None:
        b, sense = self.b[rows], self.sense[rows]
        short = np.where(sense == 0, np.abs(b), sense * b)
        is_met = short <= SAME * np.abs(self.b).max(initial=0.0)
        for r in rows[~is_met]:
            self._contradict(f"row {r} is zero and asks for {self.b[r]:g}", [r], [self.b[r]])
        for r in rows[is_met][len(rows) == len(self.b) :]:  # one row must stay
            self.weights2[r] = 0.0
            self.notes.append(f"row {r} is zero and holds for every X: dropped")

    def judge_multiples(self, rows: Index, factors: Vector) -> None:
        """Rows <factor_r A, X> with their b_r are bounds on one number, <A, X>."""
        level, side = self.b[rows] / factors, self.sense[rows] * np.sign(factors)
        lower, upper = np.where(side >= 0, level, -np.inf), np.where(side <= 0, level, np.inf)
        low, high = int(np.argmax(lower)), int(np.argmin(upper))
        if lower[low] - upper[high] > SAME * np.abs(level).max():
            words = "rows {} and {} contradict each other".format(*np.sort(rows[[low, high]]))
            self._contradict(words, rows[[low, high]], [1 / factors[low], -1 / factors[high]])
            return
        ends = [k for k, bound in ((low, lower), (high, upper)) if np.isfinite(bound[k])]
        equal = np.flatnonzero(side == 0)
        kept = [int(equal[np.argmax(np.abs(factors[equal]))])] if len(equal) else ends
        dropped = np.delete(np.arange(len(rows)), kept)
        self.weights2[rows[dropped]] = 0.0
        self.weights2[rows[kept]] += np.sum(factors[dropped] ** 2) / factors[kept] ** 2
        said = " and ".join(f"row {r}" for r in np.unique(rows[kept]))
        self.notes += [f"row {r} says no more than {said}: dropped" for r in rows[dropped]]

    def _contradict(self, words: str, rows: Any, y: Any) -> None:
        self.notes.append(f"{words}: no X meets that")
        self.contradiction = np.zeros(len(self.b))
        self.contradiction[rows] = y


def _multiples(rows: sp.csr_array, size: Vector) -> Iterator[tuple[Index, Vector]]:
    """Every set of two or more rows that are multiples of the first, with their factors."""
    probed = rows.copy()
    probed.data *= np.cos(1 + np.sqrt(2) * rows.indices)  # a number of its own for every place
    mark = np.abs(probed.sum(axis=1)) / np.where(size > 0, size, np.nan)
    order = np.argsort(mark)[: np.count_nonzero(size)]  # NaN comes last
    for alike in np.split(order, np.flatnonzero(np.diff(mark[order]) > 1e-10) + 1):
        left = np.sort(alike)
        while len(left) > 1:
            own, first = rows[left], rows[left[:1]]
            pivot = first.indices[np.argmax(np.abs(first.data))]
            factors = own[:, [pivot]].toarray() / first[0, pivot]
            apart = abs(own - sp.csr_array(factors) @ first).max(axis=1).toarray()
            same = np.ravel(apart) <= SAME * size[left]
            if np.count_nonzero(same) > 1:
                yield left[same], factors[same, 0]
            left = left[~same]


def targets(problem: FrobeniusSDP) -> Vector:
    """The right-hand sides of hard rows."""
    return problem.loss.conjugate(np.zeros(problem.constraints.shape[0]))[1]


def senses(problem: FrobeniusSDP) -> Vector:
    """+1 for rows that say at least, -1 for at most, 0 for equal."""
    return np.isfinite(problem.loss.lower).astype(float) - np.isfinite(problem.loss.upper)


def with_slacks(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Lift]:
    """Inequalities become equations with a non-negative block of slacks."""
    sense = senses(problem)
    rows = np.flatnonzero(sense)
    if not len(rows):
        return problem, Lift(_same, _same, _same, _same)
    size, shape = int(np.prod(problem.cone.shape)), problem.cone.shape
    entries = (-sense[rows], (rows, np.arange(len(rows))))
    slack = Sparse(sp.csr_array(entries, shape=(len(sense), len(rows))), Nonnegative(len(rows)))
    inside, b = problem.constraints, targets(problem)
    cone = Product((problem.cone, slack.cone))
    constraints: Constraints = Beside([inside, slack], cone.cones)
    if isinstance(inside, Sparse):
        if isinstance(problem.cone, Product):
            cone = Product((*problem.cone.cones, slack.cone))
        constraints = Sparse(sp.hstack([inside.rows, slack.rows]), cone)
    equations = replace(
        problem,
        constraints=constraints,
        loss=Equal(b),
        cost=np.concatenate([problem.cost.ravel(), np.zeros(len(rows))]),
        prior=None,
        cone=cone,
    )

    def lower_x(X: Symmetric) -> Symmetric:
        room = sense * (inside.forward(X) - b)
        return np.concatenate([X.ravel(), np.maximum(0, room[rows])])

    return equations, Lift(lambda X: X[:size].reshape(shape), _same, lower_x, _same)


def split_blocks(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Lift]:
    """Blocks that neither cost nor rows connect become blocks of their own.

    The entries of X between them change nothing, so they can be zero; blocks of order one are
    collected in a single non-negative one.
    """
    A = problem.constraints
    if not isinstance(A, Sparse):
        return problem, Lift(_same, _same, _same, _same)
    touched = np.abs(problem.cost.ravel())
    touched[np.unique(A.rows.indices)] = 1.0
    groups, singles = _components(problem.cone, touched)
    whole = isinstance(problem.cone, PSD) and len(groups) == 1 and not singles
    if whole or _is_split(problem.cone, len(groups), len(singles)):
        return problem, Lift(_same, _same, _same, _same)
    parts: list[Cone] = [PSD(len(group)) for group in groups]
    if singles:
        parts.append(Nonnegative(len(singles)))
    places = np.concatenate([group.ravel() for group in groups] + [np.array(singles, dtype=int)])
    cone, shape, size = Product(tuple(parts)), problem.cone.shape, touched.size
    smaller = replace(
        problem,
        constraints=Sparse(A.rows[:, places], cone),
        cost=problem.cost.ravel()[places],
        prior=None,
        cone=cone,
    )

    def up(X: Symmetric) -> Symmetric:
        whole = np.zeros(size)
        whole[places] = X
        return whole.reshape(shape)

    return smaller, Lift(up, _same, lambda X: X.ravel()[places], _same)


def _components(cone: Cone, touched: Vector) -> tuple[list[Array], list[int]]:
    """For each connected part its places in X, as a square array; places of single ones."""
    groups, singles, start = [], [], 0
    for part in cone.cones if isinstance(cone, Product) else (cone,):
        size = int(np.prod(part.shape))
        if isinstance(part, Nonnegative):
            singles.extend(range(start, start + size))
        else:
            n = part.shape[0]
            _, label = connected_components(
                sp.csr_array(touched[start : start + size].reshape(n, n))
            )
            order = np.argsort(label, kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
                if len(members) == 1:
                    singles.append(start + int(members[0]) * (n + 1))
                else:
                    groups.append(start + members[:, None] * n + members)
        start += size
    return groups, singles


def _is_split(cone: Cone, n_groups: int, n_singles: int) -> bool:
    """Whether the cone has these blocks already, singles last."""
    if not isinstance(cone, Product):
        return False
    *first, last = cone.cones
    if n_singles == 0:
        return len(cone.cones) == n_groups
    return (
        isinstance(last, Nonnegative)
        and last.n == n_singles
        and len(first) == n_groups
        and all(isinstance(part, PSD) for part in first)
    )


def scale(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Units, Lift]:
    """Rows of norm one, then b and C of norm one if they are larger."""
    norms = problem.constraints.norms()
    norms = np.where(norms > 0, norms, 1.0)
    b = targets(problem) / norms
    primal = max(1.0, float(np.linalg.norm(b)))
    dual = max(1.0, float(np.linalg.norm(problem.cost)))
    scaled = replace(
        problem,
        constraints=_scale_rows(problem.constraints, 1 / norms),
        loss=Equal(b / primal),
        cost=problem.cost / dual,
    )
    units = Units(norms, primal, dual, 0.0, 0.0)
    return (
        scaled,
        units,
        Lift(
            lambda X: primal * X,
            lambda y: dual * y / norms,
            lambda X: X / primal,
            lambda y: y * norms / dual,
        ),
    )


def _scale_rows(constraints: Constraints, factors: Vector) -> Constraints:
    if isinstance(constraints, Sparse):
        return Sparse(sp.diags_array(factors) @ constraints.rows, constraints.cone)
    return Scaled(constraints, factors)


def _same(value: Array) -> Array:
    return value
