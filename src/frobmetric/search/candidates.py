"""Candidates for nearest neighbours: blocked products of low precision, exact distances after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..core.points import Array, Index, Mask, Vector
from ..core.threads import map_blocks
from ..runtime.progress import advance
from .products import LeftOut, Products, kind_of_products
from .sketches import ROUNDING, Points, Sketch

#: Labels of queries and of points: a point with the label of a query is left out.
Labels: TypeAlias = tuple[Index, Index]
#: Pairs of a query and a point, by row and number, with the bounds of their squared distance.
Entries: TypeAlias = tuple[Index, Index, Vector, Vector]
#: Queries, which of them are settled, the limits of these, and the entries within.
Settled: TypeAlias = tuple[Index, Mask, Vector, Entries]

#: Smallest squared distance that is told from 0.
TINY = 1e-250


@dataclass(frozen=True, eq=False)
class Candidates:
    """Points that may be the nearest of some queries, and a bound on the distances of all others.

    The entries are pairs of a query and a point, ordered by query, distance and number. Results
    for several blocks of points are merged by `merge_candidates`.
    """

    #: Number of the query of each entry, in order.
    row: Index
    #: Number of the point of each entry.
    number: Index
    #: Squared distance of each entry, from differences in double precision.
    value: Vector
    #: Lower bound, for each query, on the squared distances of the points that are not listed.
    edge: Vector
    #: Upper bound of the squared distance of each entry: the value, unless points are short.
    largest: Vector


def block_candidates(
    queries: Array,
    points: Points | Array,
    n_neighbors: int,
    *,
    labels: Labels | None = None,
    tie: float = 0.0,
    offset: int = 0,
) -> Candidates:
    """Return the points of one block that may be among the nearest of all blocks.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_features)
    points : Points or ndarray of shape (n_points, n_features)
        Squares of coordinates must neither overflow nor vanish. Of `ShortPoints` the values are
        lower bounds, and the edge of a query with too many candidates is 0.
    n_neighbors : int
    labels : tuple of two arrays of int, optional
        Labels of the queries and of the points: points with a query's label are left out.
    tie : float, default=0.0
        Distances are ties if coordinates moved by less than this could make them equal.
    offset : int, default=0
        Number of the first point of the block.

    Returns
    -------
    Candidates
    """
    points = points if isinstance(points, Points) else Points(points)
    left_out = None if labels is None else LeftOut(*labels)
    search = _Search(queries, points, n_neighbors, left_out, tie)
    is_small = len(points) <= search.n_least
    found = search.all_points() if is_small else search.by_sketches()
    return replace(found, number=found.number + offset)


def merge_candidates(
    parts: Sequence[Candidates], n_neighbors: int, *, tie: float = 0.0
) -> tuple[Index, Mask]:
    """Return the nearest points of each query, and whether each answer is certain.

    Parameters
    ----------
    parts : sequence of Candidates
        Results of `block_candidates` for the same queries and different points.
    n_neighbors : int
    tie : float, default=0.0
        Of the points tied with the last neighbour, the smallest numbers are chosen.

    Returns
    -------
    number : ndarray of int of shape (n_queries, n_neighbors)
        By distance and then by number; -1 where there are fewer.
    is_certain : ndarray of bool of shape (n_queries,)
        False where a point that no part lists could be among the nearest.
    """
    every = join_candidates(parts)
    radius = _radius(every.row, every.value, len(every.edge), n_neighbors)
    found = choose(every.row, every.number, every.value, radius, n_neighbors, tie)
    return found, _is_certain(every.edge, radius + tie_width(radius, tie))


def possible_neighbors(
    parts: Sequence[Candidates], n_neighbors: int, *, tie: float = 0.0
) -> tuple[Index, Index, Mask]:
    """Return the pairs that may be nearest by the bounds of short points, and which are certain.

    Parameters
    ----------
    parts : sequence of Candidates
        Results of `block_candidates` for the same queries and different points.
    n_neighbors : int
    tie : float, default=0.0

    Returns
    -------
    row, number : ndarray of int of shape (n_pairs,)
        All neighbours of the queries that are certain, with their ties, are among these pairs.
    is_certain : ndarray of bool of shape (n_queries,)
    """
    every = join_candidates(parts)
    radius = _radius(every.row, every.largest, len(every.edge), n_neighbors)
    limit = radius + tie_width(radius, tie)
    is_certain = _is_certain(every.edge, limit)
    is_possible = is_certain[every.row] & ~(every.value > limit[every.row])
    return every.row[is_possible], every.number[is_possible], is_certain


def join_candidates(parts: Sequence[Candidates]) -> Candidates:
    """Return the candidates of the same queries in several parts as one, not in order."""
    names = ("row", "number", "value", "largest")
    entries = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Candidates(**entries, edge=np.min([part.edge for part in parts], axis=0))


def _is_certain(edge: Vector, limit: Vector) -> Mask:
    return (edge == np.inf) | (edge > limit)


# One block of points


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for the points of a block that may be near some queries."""

    queries: Array
    points: Points
    n_neighbors: int
    left_out: LeftOut | None
    tie: float

    @property
    def n_least(self) -> int:
        """Number of points whose distances are computed first."""
        return self.n_neighbors + self.points.tuning.n_more

    def by_sketches(self) -> Candidates:
        """Return the candidates, by sketches of growing precision until one settles a query."""
        settled, pending = [], np.arange(self.queries.shape[0])
        sketches = self.points.sketches()
        for sketch in sketches:
            is_last = sketch is sketches[-1] and self.points.is_whole
            most = None if is_last else self.points.tuning.many + 4 * self.n_neighbors
            parts, pending = self._try(sketch, pending, most)
            settled += parts
            if not len(pending):
                break
        return _join(settled, self.queries.shape[0], pending)

    def _try(self, sketch: Sketch, rows: Index, most: int | None) -> tuple[list[Settled], Index]:
        """Return the candidates of the queries that a sketch settles, and the other queries."""
        kind = kind_of_products(sketch, self.points, self.n_least, len(rows))
        copies = kind.copies_of(self.points, sketch, self.n_least)

        def find(part: slice) -> tuple[Settled | None, Index]:
            if most is None or sketch.is_useful:
                return self._find(kind(sketch, copies, self.queries[rows[part]]), rows[part], most)
            return None, rows[part]

        step = kind.n_queries(self.points)
        found = map_blocks(
            find, len(rows), step, 2.0 * len(rows) * len(self.points) * sketch.length
        )
        parts = [part for part, _ in found if part is not None]
        return parts, np.concatenate([rows[:0], *(others for _, others in found)])

    def _find(self, products: Products, rows: Index, most: int | None) -> tuple[Settled, Index]:
        products.compute(self.left_out, rows)
        limit = self._limit(products)
        row, number, is_settled = self._within(products, limit, most)
        # bounds alone leave out no entry of a query later
        if most is not None and not self.points.is_whole:
            is_settled &= np.bincount(row, minlength=len(rows)) <= most
            row, number = row[is_settled[row]], number[is_settled[row]]
        products.sketch.count(is_settled)
        advance(int(np.count_nonzero(is_settled)) * len(self.points), "distances")
        edge = limit / (1 + ROUNDING)
        entries = self._listed(products.queries, row, number, edge)
        return (rows, is_settled, edge, entries), rows[~is_settled]

    def _limit(self, products: Products) -> Vector:
        """Return a squared distance of each query that contains its neighbours and their ties."""
        least = products.least
        n_tried = min(self.n_least, least.shape[1])
        if n_tried < self.n_neighbors:
            return np.full(len(least), np.inf)
        groups = np.argpartition(least, n_tried - 1, axis=1)[:, :n_tried]
        row = np.repeat(np.arange(len(least)), n_tried)
        members = products.members(row, groups.ravel())
        entry, place = np.arange(len(row)), members.argmin(axis=1)
        is_point = members[entry, place] < products.sketch.nowhere
        number = products.copies.numbers(groups.ravel(), place)[is_point]
        value = np.full(len(row), np.inf)
        value[is_point] = self.points.largest_values(products.queries, row[is_point], number)
        radius = np.partition(value.reshape(groups.shape), self.n_neighbors - 1, axis=1)
        radius = radius[:, self.n_neighbors - 1]
        return (radius + tie_width(radius, self.tie)) * (1 + 8 * ROUNDING) + TINY

    def _within(
        self, products: Products, limit: Vector, most: int | None
    ) -> tuple[Index, Index, Mask]:
        """Return the pairs that may be within the limits, and the queries that these settle.

        A query with more than `most` groups of such points is not settled and has no pairs.
        """
        sketch, least = products.sketch, products.least
        threshold = sketch.thresholds(limit, products.norm2)
        threshold[~products.is_near] = np.inf
        is_within = least <= threshold[:, None]
        is_settled = np.ones(len(limit), dtype=bool)
        if most is not None:
            is_settled = products.is_near & (np.count_nonzero(is_within, axis=1) <= most)
            is_within[~is_settled] = False
        row, group = np.divmod(np.flatnonzero(is_within), is_within.shape[1])
        members = products.members(row, group)
        is_candidate = (members <= threshold[row, None]) & (members < sketch.nowhere)
        entry, place = np.divmod(np.flatnonzero(is_candidate), members.shape[1])
        return row[entry], products.copies.numbers(group[entry], place), is_settled

    def _listed(self, queries: Array, row: Index, number: Index, edge: Vector) -> Entries:
        """Return the pairs whose values are up to the edge, in order, with their values."""
        rough = self.points.rough_values(queries, row, number)
        is_near = ~(rough > (1 + 4 * ROUNDING) * edge[row])
        row, number = row[is_near], number[is_near]
        value = self.points.values(queries, row, number)
        is_listed = ~(value > edge[row])
        row, number, value = row[is_listed], number[is_listed], value[is_listed]
        if self.points.is_whole:
            row, number, value = _without_late_ties(row, number, value, self.n_neighbors)
        return row, number, value, self._largest(queries, row, number, value)

    def _largest(self, queries: Array, row: Index, number: Index, value: Vector) -> Vector:
        """Return upper bounds of the squared distances of entries."""
        return value if self.points.is_whole else self.points.largest_values(queries, row, number)

    def all_points(self) -> Candidates:
        """Return all points as candidates."""
        n_queries = self.queries.shape[0]
        is_listed = np.ones((n_queries, len(self.points)), dtype=bool)
        if self.left_out is not None:
            is_listed[self.left_out.pairs(slice(None))] = False
        row, number = np.nonzero(is_listed)
        value = self.points.values(self.queries, row, number)
        advance(is_listed.size, "distances")
        largest = self._largest(self.queries, row, number, value)
        return Candidates(row, number, value, np.full(n_queries, np.inf), largest)


# Entries


def _join(parts: Sequence[Settled], n_queries: int, pending: Index) -> Candidates:
    """Join candidates of disjoint parts of the queries; pending queries have none."""
    edge = np.full(n_queries, np.inf)
    columns: list[list[Any]] = [[np.empty(0, dtype=np.intp)] for _ in range(4)]
    edge[pending] = 0.0
    for rows, is_settled, limit, (row, *others) in parts:
        edge[rows[is_settled]] = limit[is_settled]
        for column, entries in zip(columns, (rows[row], *others), strict=True):
            column.append(entries)
    row, number, value, largest = map(np.concatenate, columns)
    order = np.argsort(row, kind="stable")
    return Candidates(row[order], number[order], value[order], edge, largest[order])


def _without_late_ties(
    row: Index, number: Index, value: Vector, n_neighbors: int
) -> tuple[Index, Index, Vector]:
    """Return the entries in order; of equal distances, the smallest numbers are enough."""
    order = np.lexsort((number, value, row))
    row, number, value = row[order], number[order], value[order]
    is_new = np.ones(len(row), dtype=bool)
    is_new[1:] = (np.diff(row) > 0) | (np.diff(value) > 0)
    is_kept = place_in_row(np.cumsum(is_new)) < n_neighbors
    return row[is_kept], number[is_kept], value[is_kept]


def _radius(row: Index, value: Vector, n_rows: int, n_neighbors: int) -> Vector:
    """Return the value of the last neighbour in each row, infinite where there are fewer."""
    order = np.lexsort((value, row))
    row, value = row[order], value[order]
    is_last = place_in_row(row) == n_neighbors - 1
    radius = np.full(n_rows, np.inf)
    radius[row[is_last]] = value[is_last]
    return radius


def choose(
    row: Index, number: Index, value: Vector, radius: Vector, n_neighbors: int, tie: float
) -> Index:
    """Return the numbers of the nearest of each row, by value and then by number.

    Entries are given by row, number and value; `radius` is the value of the last neighbour. Of the
    entries tied with it, the smallest numbers are chosen; -1 where there are fewer.
    """
    width = tie_width(radius, tie)
    is_within = (value <= (radius + width)[row]) & (value < np.inf)
    row, number, value = row[is_within], number[is_within], value[is_within]
    is_tied = value >= (radius - width)[row]
    chosen = np.lexsort((number, is_tied, row))
    chosen = chosen[place_in_row(row[chosen]) < n_neighbors]
    chosen = chosen[np.lexsort((number[chosen], value[chosen], row[chosen]))]
    found = np.full((len(radius), n_neighbors), -1, dtype=np.intp)
    found[row[chosen], place_in_row(row[chosen])] = number[chosen]
    return found


def tie_width(squared: Vector, tie: float) -> Vector:
    """Return how much squared distances change if coordinates move by `tie`; 0 if infinite."""
    if tie == 0:
        return np.zeros(len(squared))
    return np.where(np.isfinite(squared), 2 * np.sqrt(squared) * tie + tie**2, 0.0)


def place_in_row(row: Index) -> Index:
    """Return the position of each entry within its row; rows are in order."""
    return np.arange(len(row)) - np.searchsorted(row, row)
