"""Triplets in shards: each shard has its own rows as anchors, and the rows that these need."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...backends.constraints import ShardedConstraints
from ...backends.vectors import Sharded, map_shards
from ..sets import Block, JoinedTriplets, MinedTriplets
from ..triplets import group_by_counts
from .search import Place


@dataclass(frozen=True, eq=False)
class ShardedTriplets:
    """Triplets whose anchors are the rows of each shard, from one or several passes.

    `sets` has the triplets of each shard, by rows of `needed`: the numbers of all rows in them.
    """

    samples: Any
    sets: Sharded
    needed: Sharded
    n_triplets: int
    recall: ClassVar[None] = None  # the search is exact

    @classmethod
    def mined(cls, samples, neighbors, before=None):
        """Return triplets of near and far rows, added to those of the passes before."""
        earlier = None if before is None else before.sets
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
    def share(self):
        """Weight of each row in a mean over all."""
        return self.sets.map(partial(_equal_weights, total=self.n_triplets))

    def constraints(self, Z):
        parts = map_shards(_constraints, self.sets, self._rows(Z))
        return ShardedConstraints(parts, Z.shape[1], self.n_triplets)

    def near_scatter(self, Z):
        """Return the P with <P, M> = mean of d^2(anchor, near) over the triplets."""
        sums = map_shards(_near_scatter, self.sets, self._rows(Z))
        return sums.reduce(operator.add, np.asarray).get() / self.n_triplets

    def _rows(self, Z):
        """Return the rows of Z that each shard needs, those of other shards included."""
        places = map_shards(Place, Z.rows, self.samples.y, self.samples.start).light()
        return self.needed.pairwise(_rows_in, _append, places)


def _lists(neighbors, start, earlier, needed):
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


def _numbers_of(lists):
    rows = [rows.ravel() for part in lists for b in part.blocks for rows in b.lists]
    return np.unique(np.concatenate(rows))


def _local_sets(lists):
    numbers = _numbers_of(lists)
    local = []
    for part in lists:
        blocks = (Block(*(np.searchsorted(numbers, rows) for rows in b.lists)) for b in part.blocks)
        local.append(MinedTriplets(tuple(blocks)))
    return local[0] if len(local) == 1 else JoinedTriplets(tuple(local))


def _rows_in(needed, place):
    """Return the needed rows that are in one shard."""
    local = needed - place.start
    return place.points[local[(local >= 0) & (local < len(place.points))]]


def _append(rows, others):
    return np.concatenate([rows, others])


def _constraints(triplets, rows):
    return triplets.constraints(rows)


def _near_scatter(triplets, rows):
    return triplets.near_scatter(rows) * triplets.n_triplets if triplets.n_triplets else 0.0


def _equal_weights(triplets, *, total):
    return np.full(triplets.n_triplets, 1 / total)
