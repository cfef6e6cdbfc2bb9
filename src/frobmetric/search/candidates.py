"""Candidates for nearest neighbours: blocked products of low precision, exact distances after."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.threads import map_blocks
from ..runtime.progress import advance
from .products import LeftOut, kind_of_products
from .sketches import ROUNDING, Points

#: Points whose products are computed at a time.
POINTS = 1 << 16
#: Additional points whose distances are computed to bound that of the last neighbour.
SPARE = 6
#: Smallest squared distance that is told from 0.
TINY = 1e-250
#: A query with more groups of candidates than this is searched again in more detail.
MANY = 256


@dataclass(frozen=True, eq=False)
class Candidates:
    """Points that may be the nearest of some queries, and a bound on the distances of all others.

    The entries are pairs of a query and a point, ordered by query, distance and number. Results
    for several blocks of points are merged by `merge_candidates`.
    """

    #: Number of the query of each entry, in order.
    row: np.ndarray
    #: Number of the point of each entry.
    number: np.ndarray
    #: Squared distance of each entry, from differences in double precision.
    value: np.ndarray
    #: Lower bound, for each query, on the squared distances of the points that are not listed.
    edge: np.ndarray
    #: Upper bound of the squared distance of each entry: the value, unless points are short.
    largest: np.ndarray


def block_candidates(queries, points, n_neighbors, *, labels=None, tie=0.0, offset=0):
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
    found = search.all_points() if len(points) <= n_neighbors + SPARE else search.by_sketches()
    return replace(found, number=found.number + offset)


def merge_candidates(parts, n_neighbors, *, tie=0.0):
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


def possible_neighbors(parts, n_neighbors, *, tie=0.0):
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


def join_candidates(parts):
    """Return the candidates of the same queries in several parts as one, not in order."""
    names = ("row", "number", "value", "largest")
    entries = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Candidates(**entries, edge=np.min([part.edge for part in parts], axis=0))


def _is_certain(edge, limit):
    return (edge == np.inf) | (edge > limit)


# One block of points


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for the points of a block that may be near some queries."""

    queries: np.ndarray
    points: Points
    n_neighbors: int
    left_out: LeftOut | None
    tie: float

    def by_sketches(self):
        """Return the candidates, by sketches of growing precision until one settles a query."""
        settled, pending = [], np.arange(self.queries.shape[0])
        sketches = self.points.sketches()
        for sketch in sketches:
            is_last = sketch is sketches[-1] and self.points.is_whole
            most = None if is_last else MANY + 4 * self.n_neighbors
            parts, pending = self._try(sketch, pending, most)
            settled += parts
            if not len(pending):
                break
        return _join(settled, self.queries.shape[0], pending)

    def _try(self, sketch, rows, most):
        """Return the candidates of the queries that a sketch settles, and the other queries."""
        n_least = self.n_neighbors + SPARE
        kind = kind_of_products(sketch, self.points, n_least, len(rows))
        copies = kind.copies_of(self.points, sketch, n_least)

        def find(part):
            if most is None or sketch.is_useful:
                return self._find(kind(sketch, copies, self.queries[rows[part]]), rows[part], most)
            return None, rows[part]

        step = kind.n_queries(len(self.points))
        found = map_blocks(
            find, len(rows), step, 2.0 * len(rows) * len(self.points) * sketch.length
        )
        parts = [part for part, _ in found if part is not None]
        return parts, np.concatenate([rows[:0], *(others for _, others in found)])

    def _find(self, products, rows, most):
        products.compute(self.left_out, rows)
        limit = self._limit(products)
        row, number, is_settled = self._within(products, limit, most)
        if not self.points.is_whole:  # no exact distance will leave out entries of a query
            is_settled &= np.bincount(row, minlength=len(rows)) <= most
            row, number = row[is_settled[row]], number[is_settled[row]]
        products.sketch.count(is_settled)
        advance(np.count_nonzero(is_settled) * len(self.points), "distances")
        edge = limit / (1 + ROUNDING)
        entries = self._listed(products.queries, row, number, edge)
        return (rows, is_settled, edge, entries), rows[~is_settled]

    def _limit(self, products):
        """Return a squared distance of each query that contains its neighbours and their ties."""
        least = products.least
        n_tried = min(self.n_neighbors + SPARE, least.shape[1])
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

    def _within(self, products, limit, most):
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

    def _listed(self, queries, row, number, edge):
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

    def _largest(self, queries, row, number, value):
        """Return upper bounds of the squared distances of entries."""
        return value if self.points.is_whole else self.points.largest_values(queries, row, number)

    def all_points(self):
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


def _join(parts, n_queries, pending):
    """Return the candidates of all queries from those of some queries each; others have none."""
    edge, columns = np.full(n_queries, np.inf), [[np.empty(0, dtype=np.intp)] for _ in range(4)]
    edge[pending] = 0.0
    for rows, is_settled, limit, (row, *others) in parts:
        edge[rows[is_settled]] = limit[is_settled]
        for column, entries in zip(columns, (rows[row], *others), strict=True):
            column.append(entries)
    row, number, value, largest = map(np.concatenate, columns)
    order = np.argsort(row, kind="stable")
    return Candidates(row[order], number[order], value[order], edge, largest[order])


def _without_late_ties(row, number, value, n_neighbors):
    """Return the entries in order; of equal distances, the smallest numbers are enough."""
    order = np.lexsort((number, value, row))
    row, number, value = row[order], number[order], value[order]
    is_new = np.ones(len(row), dtype=bool)
    is_new[1:] = (np.diff(row) > 0) | (np.diff(value) > 0)
    is_kept = place_in_row(np.cumsum(is_new)) < n_neighbors
    return row[is_kept], number[is_kept], value[is_kept]


def _radius(row, value, n_rows, n_neighbors):
    """Return the value of the last neighbour in each row, infinite where there are fewer."""
    order = np.lexsort((value, row))
    row, value = row[order], value[order]
    is_last = place_in_row(row) == n_neighbors - 1
    radius = np.full(n_rows, np.inf)
    radius[row[is_last]] = value[is_last]
    return radius


def choose(row, number, value, radius, n_neighbors, tie):
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


def tie_width(squared, tie):
    """Return how much squared distances change if coordinates move by `tie`; 0 if infinite."""
    if tie == 0:
        return np.zeros(len(squared))
    return np.where(np.isfinite(squared), 2 * np.sqrt(squared) * tie + tie**2, 0.0)


def place_in_row(row):
    """Return the position of each entry within its row; rows are in order."""
    return np.arange(len(row)) - np.searchsorted(row, row)
