"""What happens to a plain SDP before it is solved: equations, blocks and scaling, and the way back.

Each step gives a simpler problem and a `Lift`, which turns an answer of that problem into one of
the problem before. Nothing is lost: every step is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..core import PSD, Beside, Constraints, Equal, FrobeniusSDP, Nonnegative, Product, Sparse
from ..core.cones import Cone
from ..core.matrices import Scaled
from ..core.types import Array, Symmetric, Vector
from ..solvers.watch import Units


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


def simplify(problem: FrobeniusSDP) -> tuple[FrobeniusSDP, Units, Lift]:
    """Equations only, split into blocks, scaled; with the units and the way back."""
    b = targets(problem)
    equations, first = with_slacks(problem)
    blocks, second = split_blocks(equations)
    scaled, units, third = scale(blocks)
    norms = {"norm_b": float(np.linalg.norm(b)), "norm_c": float(np.linalg.norm(problem.cost))}
    return scaled, replace(units, **norms), first.after(second).after(third)


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
    slack = Sparse(
        sp.csr_array(entries, shape=(len(sense), len(rows))), Nonnegative(len(rows))
    )
    inside, b = problem.constraints, targets(problem)
    parts = problem.cone.cones if isinstance(problem.cone, Product) else (problem.cone,)
    cone = Product((*parts, slack.cone))
    constraints = (
        Sparse(sp.hstack([inside.rows, slack.rows]), cone) if isinstance(inside, Sparse)
        else Beside([inside, slack], [problem.cone, slack.cone])
    )
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
        problem, constraints=Sparse(A.rows[:, places], cone), cost=problem.cost.ravel()[places],
        prior=None, cone=cone,
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
            _, label = connected_components(sp.csr_array(touched[start:start + size].reshape(n, n)))
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
        isinstance(last, Nonnegative) and last.n == n_singles and len(first) == n_groups
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
    return scaled, units, Lift(
        lambda X: primal * X,
        lambda y: dual * y / norms,
        lambda X: X / primal,
        lambda y: y * norms / dual,
    )


def _scale_rows(constraints: Constraints, factors: Vector) -> Constraints:
    if isinstance(constraints, Sparse):
        return Sparse(sp.diags_array(factors) @ constraints.rows, constraints.cone)
    return Scaled(constraints, factors)


def _same(value: Array) -> Array:
    return value
