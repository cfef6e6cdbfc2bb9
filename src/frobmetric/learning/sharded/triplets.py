"""Triplets in shards: each shard has its own rows as anchors, and the rows that these need."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from ...backends.constraints import ShardedConstraints
from ...backends.engine import Pairs
from ...backends.vectors import Sharded, map_shards
from ...core import Constraints
from ...core.points import Array, Index, Symmetric, Vector
from ...model.sets import Block, JoinedTriplets, MinedTriplets, TripletSet
from ..triplets import group_by_counts
from .search import Place


class LabelledShards(Protocol):
    """Samples in shards, as far as triplets need them: labels, and the first row of each shard."""

    @property
    def start(self) -> Sharded: ...

    @property
    def y(self) -> Sharded: ...


@dataclass(frozen=True, eq=False)
class ShardedTriplets:
    """Triplets whose anchors are the rows of each shard, from one or several passes.

    `sets` has the triplets of each shard, by rows of `needed`: the numbers of all rows in them.
    """

    samples: LabelledShards
    sets: Sharded
    needed: Sharded
    n_triplets: int
    recall: ClassVar[None] = None  # the search is exact
    #: Constraints that were made last, with their coordinates: the rows in them came from afar.
    _made: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def mined(
        cls, samples: LabelledShards, neighbors: Sharded, before: ShardedTriplets | None = None
    ) -> Self:
        """Return triplets of near and far rows, added to those of the passes before."""
        earlier = None if before is None else before.sets
        if before is not None:
            before._made.clear()
        lists = map_shards(_lists, neighbors, samples.start, earlier, before and before.needed)
        sets, needed = lists.map(_local_sets), lists.map(_numbers_of)
        n_triplets = int(sets.reduce(operator.add, operator.attrgetter("n_triplets")).get())
        if not n_triplets:
            raise ValueError(
                "no triplet can be formed: no sample has both a neighbour of its own class and "
                "one of another class; give at least one class two different samples"
            )
        return cls(samples, sets, needed, n_triplets)

    @property
    def share(self) -> Sharded:
        """Weight of each row in a mean over all."""
        return self.sets.map(partial(_equal_weights, total=self.n_triplets))

    def constraints(self, Z: Any) -> ShardedConstraints:
        if not (self._made and self._made[0] is Z):
            parts = self._with_rows(_constraints, Z)
            self._made[:] = Z, ShardedConstraints(parts, Z.shape[1], self.n_triplets)
        return self._made[1]

    def near_scatter(self, Z: Any) -> Symmetric:
        """Return the P with <P, M> = mean of d^2(anchor, near) over the triplets."""
        sums = self._with_rows(_near_scatter, Z)
        return sums.reduce(operator.add, np.asarray).get() / self.n_triplets

    def _with_rows(self, function: Callable[..., Any], Z: Any) -> Sharded:
        """Return function(rows of Z that a shard needs, triplets); rows come from all shards."""
        places = map_shards(Place.of, Z.rows, self.samples.y, self.samples.start).light()
        pairs = Pairs(_rows_in, function, at_right=True)
        return self.needed.pairwise(pairs, places, self.sets)


def _lists(
    neighbors: tuple[Index, Index], start: int, earlier: TripletSet | None, needed: Any
) -> tuple[Any, ...]:
    """Return sets of triplets by the numbers of all rows: those of this pass after the others."""
    near, far = neighbors
    block = group_by_counts(near, far)
    own = [Block(b.anchors + start, b.near, b.far) for b in block]
    if not own:
        own = [Block(np.empty(0, np.intp), np.empty((0, 1), np.intp), np.empty((0, 1), np.intp))]
    mined = MinedTriplets(tuple(own))
    if earlier is None:
        return (mined,)
    parts = earlier.parts if isinstance(earlier, JoinedTriplets) else (earlier,)
    return (*(part.renumbered(needed) for part in parts), mined)


def _numbers_of(lists: Sequence[MinedTriplets]) -> Index:
    rows = [rows.ravel() for part in lists for b in part.blocks for rows in b.lists]
    return np.unique(np.concatenate(rows))


def _local_sets(lists: Sequence[MinedTriplets]) -> TripletSet:
    numbers = _numbers_of(lists)
    local = []
    for part in lists:
        blocks = []
        for block in part.blocks:
            anchors, near, far = (np.searchsorted(numbers, rows) for rows in block.lists)
            blocks.append(Block(anchors, near, far))
        local.append(MinedTriplets(tuple(blocks)))
    return local[0] if len(local) == 1 else JoinedTriplets(tuple(local))


def _rows_in(needed: Index, place: Place) -> Array:
    return place.rows_of(needed)


def _constraints(rows: Sequence[Array], triplets: TripletSet) -> Constraints:
    return triplets.constraints(np.concatenate(rows))


def _near_scatter(rows: Sequence[Array], triplets: TripletSet) -> Any:
    if not triplets.n_triplets:
        return 0.0
    return triplets.near_scatter(np.concatenate(rows)) * triplets.n_triplets


def _equal_weights(triplets: TripletSet, *, total: int) -> Vector:
    return np.full(triplets.n_triplets, 1 / total)
