"""Search for neighbours among the rows of all shards, exactly, by sketches of all rows.

Rows near a plane of few dimensions have short sketches, which bound all distances from both sides.
Only sketches meet those of all other shards, and only rows that may be neighbours are sent in full.
Rows that sketches do not settle, or all rows if sketches would not be short, are compared in full
with the rows of all shards.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from ...backends.engine import Pairs
from ...backends.vectors import Sharded, map_shards
from ...core.points import Array, Index, Mask
from ...search.candidates import (
    Candidates,
    block_candidates,
    join_candidates,
    merge_candidates,
    possible_neighbors,
)
from ...search.sketches import Frame, Points, ShortPoints, squared_distances
from ..triplets import TIE

#: Share of the variance along the directions of sketches.
LEADING = 0.99
#: Sketches have at most this share of the coordinates.
SHORT = 0.5
#: Rows that a shard gets from others at a time, as a multiple of those of the largest shard.
ROOM = 2


class Place(NamedTuple):
    """Rows of a shard as points to search, with their classes and numbers, which are in order.

    The frame is that of all shards, so that it is not computed again for each pair of them.
    """

    points: Array
    labels: Index
    numbers: Index
    frame: Frame | None = None

    @classmethod
    def of(cls, points: Array, labels: Index, start: int, frame: Frame | None = None) -> Self:
        """Return all rows of a shard, given the number of the first."""
        return cls(points, labels, start + np.arange(len(points)), frame)

    @classmethod
    def joined(cls, places: Sequence[Place]) -> Self:
        """Return the rows of several shards, without a frame."""
        points, labels, numbers, _ = zip(*places, strict=True)
        return cls(np.concatenate(points), np.concatenate(labels), np.concatenate(numbers))

    def rows(self, chosen: Index | Mask) -> Place:
        """Return some of the rows, without a frame."""
        return Place(self.points[chosen], self.labels[chosen], self.numbers[chosen])

    def rows_of(self, numbers: Index) -> Array:
        """Return the points of those numbers, in order, that are here."""
        place = np.searchsorted(self.numbers, numbers)
        is_here = place < len(self.numbers)
        is_here[is_here] = self.numbers[place[is_here]] == numbers[is_here]
        return self.points[place[is_here]]

    def short(self, frame: Frame) -> Place:
        """Return the sketches of the rows."""
        return self._replace(points=frame.unit * frame.short(frame(self.points)))


class Found(NamedTuple):
    """Candidates of the rows of a shard: neighbours of the same class, and of others."""

    near: Candidates
    far: Candidates


class Possible(NamedTuple):
    """Pairs (row, number) that may be neighbours, near and far, and which rows are certain."""

    pairs: tuple[tuple[Index, Index], ...]
    is_certain: Mask

    @property
    def wanted(self) -> Index:
        """Numbers of the rows in the pairs, in order."""
        return np.unique(np.concatenate([number for _, number in self.pairs]))


@dataclass(frozen=True, eq=False)
class Mining:
    """Exact search for the neighbours of all rows among the rows of all shards."""

    samples: Any
    n_near: int
    n_far: int

    def search(self, Z: Sharded, L: Array | None = None) -> Sharded:
        """Return numbers of near and far rows, -1 where there are fewer, for each shard."""
        points = Z if L is None else Z.map(_product, Z.share(L)).light()
        square = points.reduce(operator.add, _scatter).get()
        return _Search(self, points, Moments.of(square, sum(self.samples.sizes))).neighbors()


class Moments(NamedTuple):
    """Mean and covariance of all rows."""

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, square: Array, n_rows: int) -> Self:
        """Return the moments of rows from the sum of `_scatter`."""
        mean = square[-1, :-1] / n_rows
        return cls(mean, square[:-1, :-1] / n_rows - np.outer(mean, mean))

    @property
    def tie(self) -> float:
        """Distance by which rounding may move a row."""
        return TIE * float(np.sqrt(len(self.mean) * max(0.0, np.trace(self.covariance))))


@dataclass(frozen=True, eq=False)
class _Search:
    """Search in one set of coordinates."""

    mining: Mining
    points: Sharded
    moments: Moments

    @property
    def options(self) -> dict[str, Any]:
        """Numbers of neighbours, near and far, and what is a tie."""
        return {"k": (self.mining.n_near, self.mining.n_far), "tie": self.moments.tie}

    @cached_property
    def places(self) -> Sharded:
        """Rows of all shards."""
        return self._places()

    def _places(self, frame: Any = None) -> Sharded:
        samples = self.mining.samples
        return map_shards(Place.of, self.points, samples.y, samples.start, frame)

    def neighbors(self) -> Sharded:
        """Return the numbers of near and far rows."""
        frame = Frame.of_moments(*self.moments, LEADING)
        if frame.n_leading > SHORT * len(self.moments.mean):
            return self._in_full()
        possible = self._by_sketches(frame)
        settled = self._settled(possible)
        hard = map_shards(_uncertain, self.places, possible)
        if not hard.reduce(operator.add, _n_rows).get():
            return settled
        return map_shards(_filled, settled, possible, self._in_full(hard))

    def _in_full(self, queries: Sharded | None = None) -> Sharded:
        """Return the neighbours of all or some rows of each shard, compared with all rows."""
        places = self._places(self.points.share(Frame.of_moments(*self.moments)))
        pairs = Pairs(partial(_find, kind=Points, **self.options), _joined_found)
        found = (queries or places).pairwise(pairs, places)
        return found.map(partial(_choose, **self.options))

    def _by_sketches(self, frame: Frame) -> Sharded:
        """Return the pairs that may be neighbours by the bounds of sketches."""
        sizes, shorter = self.mining.samples.sizes, len(self.moments.mean) / (frame.n_leading + 1)
        short = self.places.map(Place.short, self.points.share(frame))
        # sketches of several shards take as much memory as the rows of one
        some = short.joined(Place.joined, _groups(np.atleast_2d(sizes), shorter * max(sizes)))
        pairs = Pairs(partial(_find, kind=ShortPoints, **self.options), _joined_found)
        return short.pairwise(pairs, some).map(partial(_possible, **self.options))

    def _settled(self, possible: Sharded) -> Sharded:
        """Return the neighbours among possible ones, whose rows are fetched a part at a time."""
        sizes = self.mining.samples.sizes
        ends = np.cumsum(sizes)
        counts = np.array(possible.reduce(operator.add, partial(_counts, ends)).get())
        parts = []
        for shards in _groups(counts, ROOM * max(sizes)):
            numbers = range(ends[shards[0]] - sizes[shards[0]], ends[shards[-1]])
            wanted = possible.map(partial(_wanted, numbers=numbers))
            pairs = Pairs(_rows_of, partial(_distances, numbers=numbers), shards, at_right=True)
            parts.append(wanted.pairwise(pairs, self.places, self.places, possible))
        return map_shards(partial(_choose_of_parts, **self.options), *parts)


def _groups(counts: Array, most: float) -> list[range]:
    """Return ranges of columns, in order, whose sums are at most so large in each row."""
    groups, start, total = [], 0, np.zeros(len(counts))
    for column, values in enumerate(np.transpose(counts)):
        if column > start and np.max(total + values) > most:
            groups.append(range(start, column))
            start, total = column, np.zeros(len(counts))
        total = total + values
    return [*groups, range(start, np.shape(counts)[1])]


# Pieces


def _product(Z: Array, L: Array) -> Array:
    return Z @ L


def _scatter(points: Array) -> Array:
    """Return the products of all coordinates, and of a last one that is 1."""
    points = np.column_stack([points, np.ones(len(points))])
    return points.T @ points


def _find(
    queries: Place, points: Place, *, kind: type[Points], k: tuple[int, int], tie: float
) -> Found:
    """Return the candidates of some rows among others, class by class."""
    found: tuple[list[Candidates], list[Candidates]] = [], []
    prepared = kind(points.points, points.frame)
    for label in np.unique(queries.labels):
        rows = np.flatnonzero(queries.labels == label)
        is_same = points.labels == label
        for is_chosen, n_neighbors, parts in zip((is_same, ~is_same), k, found, strict=True):
            pool = np.flatnonzero(is_chosen)
            if len(pool):
                numbers = points.numbers[pool]
                labels = queries.numbers[rows], numbers  # a row is not its own neighbour
                some = queries.points[rows], prepared.subset(pool)
                part = block_candidates(*some, n_neighbors, labels=labels, tie=tie)
                parts.append(_renumbered(part, rows, numbers, len(queries.labels)))
    return Found(*(join_candidates([*parts, _none(len(queries.labels))]) for parts in found))


def _renumbered(part: Candidates, rows: Index, numbers: Index, n_queries: int) -> Candidates:
    """Return candidates of some queries as candidates of all, with the numbers of the points."""
    edge = np.full(n_queries, np.inf)
    edge[rows] = part.edge
    return Candidates(rows[part.row], numbers[part.number], part.value, edge, part.largest)


def _none(n_queries: int) -> Candidates:
    """Return no candidates."""
    none = np.empty(0, np.intp)
    return Candidates(none, none, np.empty(0), np.full(n_queries, np.inf), np.empty(0))


def _joined_found(found: Sequence[Found]) -> Found:
    return Found(*map(join_candidates, zip(*found, strict=True)))


def _choose(found: Found, *, k: tuple[int, int], tie: float) -> tuple[Index, ...]:
    """Return the numbers of the nearest among all candidates of a shard."""
    numbers = []
    for candidates, n_neighbors in zip(found, k, strict=True):
        number, is_certain = merge_candidates([candidates], n_neighbors, tie=tie)
        if not is_certain.all():
            raise RuntimeError(
                f"the neighbours of {np.count_nonzero(~is_certain)} rows are not certain"
            )
        numbers.append(number)
    return tuple(numbers)


def _possible(found: Found, *, k: tuple[int, int], tie: float) -> Possible:
    parts = [possible_neighbors([f], n, tie=tie) for f, n in zip(found, k, strict=True)]
    is_certain = parts[0][2] & parts[1][2]
    chosen = ((is_certain[row], row, number) for row, number, _ in parts)
    return Possible(tuple((row[c], number[c]) for c, row, number in chosen), is_certain)


def _counts(ends: Index, possible: Possible) -> list[Index]:
    """Return how many wanted rows are in each shard."""
    shard = np.searchsorted(ends, possible.wanted, side="right")
    return [np.bincount(shard, minlength=len(ends))]


def _wanted(possible: Possible, *, numbers: range) -> Index:
    wanted = possible.wanted
    return wanted[slice(*np.searchsorted(wanted, (numbers.start, numbers.stop)))]


def _rows_of(numbers: Index, place: Place) -> Array:
    return place.rows_of(numbers)


def _distances(rows: Sequence[Array], place: Place, possible: Possible, *, numbers: range) -> Found:
    """Return the pairs with these numbers as candidates, with their distances."""
    points, wanted, parts = np.concatenate(rows), _wanted(possible, numbers=numbers), []
    for row, number in possible.pairs:
        is_here = (number >= numbers.start) & (number < numbers.stop)
        row, number = row[is_here], number[is_here]
        value = squared_distances(place.points, points, row, np.searchsorted(wanted, number))
        edge = np.full(len(place.points), np.inf)
        parts.append(Candidates(row, number, value, edge, value))
    return Found(*parts)


def _choose_of_parts(*found: Found, k: tuple[int, int], tie: float) -> tuple[Index, ...]:
    return _choose(_joined_found(found), k=k, tie=tie)


def _uncertain(place: Place, possible: Possible) -> Place:
    return place.rows(~possible.is_certain)


def _n_rows(place: Place) -> int:
    return len(place.labels)


def _filled(
    settled: tuple[Index, ...], possible: Possible, others: tuple[Index, ...]
) -> tuple[Index, ...]:
    """Return the neighbours with those of uncertain rows."""
    filled = tuple(numbers.copy() for numbers in settled)
    for numbers, other in zip(filled, others, strict=True):
        numbers[~possible.is_certain] = other
    return filled
