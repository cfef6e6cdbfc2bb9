"""Constraints of which each shard has a part: the only ones that send matrices to the shards."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..core.constraints import Quadruplets
from ..core.matrices import Constraints
from ..core.points import Factored, Point, Symmetric
from .vectors import BroughtRows, Sharded, map_shards, reduce_shards

#: Largest number of rows that are brought to memory, bytes of their points, and floating-point
#: operations of a product with these, which then takes no longer than messages do.
MOST_ROWS, MOST_BYTES, MOST_WORK = 250_000, 1 << 27, 2e10


class ShardedConstraints(Constraints):
    """Rows of several shards: forward stays sharded, and the adjoint is a sum over the shards.

    Parameters
    ----------
    parts : Sharded
        Constraints of each shard.
    order : int
        Number of rows of M.
    n_rows : int
        Number of rows of all shards; counted if not given.
    """

    def __init__(self, parts: Sharded, order: int, n_rows: int | None = None) -> None:
        self.parts = parts
        if n_rows is None:
            n_rows = int(parts.reduce(operator.add, _n_rows).get())
        self.shape = (n_rows, order)

    def forward(self, M: Point | Symmetric) -> Any:
        return map_shards(_forward, self.parts, self._shared(M))

    def adjoint(self, u: Any) -> Symmetric:
        return reduce_shards(operator.add, _adjoint, self.parts, u).get()

    def forward_bound(self, M: Point) -> tuple[Any, Any]:
        both = map_shards(_forward_bound, self.parts, self._shared(M))
        return both.map(operator.itemgetter(0)), both.map(operator.itemgetter(1))

    def adjoint_error(self, u: Any, n_more: int = 0) -> float:
        n_more += self.parts.engine.n_shards
        return float(reduce_shards(operator.add, _adjoint_error, self.parts, u, n_more))

    def restrict(self, rows: Any) -> Constraints:
        if isinstance(rows, BroughtRows):
            found = map_shards(_comparisons, self.parts, rows).reduce(operator.add, _same).get()
            return _in_memory([each for part in found for each in part])
        return ShardedConstraints(map_shards(_restrict, self.parts, rows), self.shape[1], len(rows))

    def bring(self, rows: Any) -> Any:
        """Return rows that are brought to memory, if few are and messages would take longer."""
        if not self.parts.engine.is_remote:
            return rows
        sizes = rows.reduce(operator.add, _length).get()
        if not 0 < sum(sizes) <= MOST_ROWS:
            return rows
        sums = map_shards(_comparisons, self.parts, rows).reduce(operator.add, _points_of).get()
        if None in sums:
            return rows
        n_points, order = sum(sums), self.shape[1]
        is_small = 8 * n_points * order <= MOST_BYTES and 2 * n_points * order**2 <= MOST_WORK
        return BroughtRows(rows, sizes) if is_small else rows

    def norms(self) -> Any:
        return map_shards(_norms, self.parts)

    def sample_rows(self, every: int, run: int, first: int = 0) -> Any:
        sizes = self.parts.reduce(operator.add, _size).get()
        starts = first + np.cumsum([0, *sizes[:-1]])
        firsts = Sharded.put(self.parts.engine, starts.tolist())
        return map_shards(_sample_rows, self.parts, every, run, firsts)

    def _shared(self, M: Any) -> Sharded:
        # of a point only the factor is sent: its product is as large again
        M = Factored(M.factor()) if hasattr(M, "factor") else M
        return self.parts.share(M)


def _in_memory(found: list[tuple[Any, Any]]) -> Quadruplets:
    """Return the comparisons of several sets of points."""
    starts = np.cumsum([0, *(len(points) for points, _ in found[:-1])])
    rows = [index + start for (_, index), start in zip(found, starts, strict=True)]
    return Quadruplets(np.concatenate([points for points, _ in found]), np.concatenate(rows))


def _comparisons(part: Constraints, rows: Any) -> list[Any]:
    """Return points and comparisons of some rows, as a list; a None in it for other constraints."""
    return [[leaf.as_quadruplets() for leaf in part.restrict(rows).leaves()]]


def _points_of(found: list[Any]) -> list[int | None]:
    return [None if each is None else len(each[0]) for part in found for each in part]


def _same(piece: Any) -> Any:
    return piece


def _length(piece: Any) -> list[int]:
    return [len(piece)]


def _n_rows(part: Constraints) -> int:
    return part.shape[0]


def _forward(part: Constraints, M: Any) -> Any:
    return part.forward(M)


def _adjoint(part: Constraints, u: Any) -> Symmetric:
    return part.adjoint(u)


def _forward_bound(part: Constraints, M: Point) -> tuple[Any, Any]:
    return part.forward_bound(M)


def _adjoint_error(part: Constraints, u: Any, n_more: int) -> float:
    return part.adjoint_error(u, n_more)


def _restrict(part: Constraints, rows: Any) -> Constraints:
    return part.restrict(rows)


def _size(part: Constraints) -> list[int]:
    return [part.shape[0]]


def _sample_rows(part: Constraints, every: int, run: int, first: int) -> Any:
    return part.sample_rows(every, run, first)


def _norms(part: Constraints) -> Any:
    return part.norms()
