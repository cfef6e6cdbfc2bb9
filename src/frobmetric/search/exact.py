"""Exact nearest neighbours with ties by row number, and blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from ..core.points import Array, Data, Index, Mask, Vector
from ..runtime.environment import limit_threads
from ..runtime.progress import advance
from .candidates import Labels, block_candidates, choose, merge_candidates, tie_width
from .sketches import Points
from .tuning import TUNING, Tuning

#: Name of a metric of scikit-learn, or a function of two points.
Metric: TypeAlias = str | Callable[[Any, Any], float]

#: Numbers held at a time where distances are computed.
BLOCK = 1 << 22
#: Bound on the rounding error of a squared distance from products, relative to squared norms; and
#: of a distance in another metric, relative to the largest that was found.
ROUNDING = 1e-12
#: Points are far from the origin if the square of their mean exceeds this many times their spread.
FAR = 4.0
#: Squares of numbers between these bounds neither overflow nor vanish.
SAFE = (1e-100, 1e100)
#: Largest coordinate of a query, in units of the points: all of them are equally far.
FARTHEST = 2.0**400
#: Up to this many features a tree is faster than products.
FEW_FEATURES = 6
#: Last bits of a distance that `neighbor_order` rounds away: 32 of 52 remain to be compared.
TIE_BITS = 20


class NeighborSearch:
    """Exact search for the nearest of some points.

    Dense points with more than a few features are searched by `block_candidates`. For all others a
    search of scikit-learn (a tree, or products of blocks) finds a few more candidates than asked
    for. Its Euclidean distances cancel where points are close to each other and far from the
    origin. So points far from the origin are centred for it, and wherever its rounding could matter
    the candidates are compared again by distances from differences; if the search ended within the
    ties, all points are.

    Points are dense or sparse; with metric="precomputed" they are an array of all distances.
    """

    def __init__(
        self,
        points: Data,
        *,
        metric: Metric = "euclidean",
        n_jobs: int | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self.metric, self.n_jobs, self.tuning = metric, n_jobs, tuning or TUNING
        self._unit = _unit(points) if metric == "euclidean" else 1.0
        self.points = points if self._unit == 1 else points / self._unit
        self._pool: Index | None = None

    def nearest(
        self, queries: Data, n_neighbors: int, *, labels: Labels | None = None, tie: float = 0.0
    ) -> Index:
        """Return the numbers of the nearest points of each query, (n_queries, n_neighbors).

        They are ordered by distance and then by number; -1 where there are fewer. `labels` are
        integers of at least 0 for the queries and for the points: points with the label of a query
        are not its neighbours. Distances are ties if coordinates moved by less than `tie`, in all,
        could make them equal; of the points tied with the last neighbour, the smallest numbers are
        chosen.
        """
        if self._unit != 1:
            with np.errstate(over="ignore"):  # queries that are far from all points
                queries = queries / self._unit
            queries = queries if sp.issparse(queries) else np.clip(queries, -FARTHEST, FARTHEST)
        return self._nearest(queries, n_neighbors, labels, tie / self._unit)

    def nearest_rows(
        self, rows: Index, pool: Index, n_neighbors: int, *, labels: Labels | None, tie: float = 0.0
    ) -> Index:
        """Return the nearest of the points `pool` to the points `rows`; all are row numbers.

        The points are prepared once for all calls. The other parameters are as in `nearest`.
        """
        # prepared before the copy, which then has the same centre
        prepared = self._prepared.subset(pool) if self._is_dense else self._moved_points[pool]
        part = copy(self)
        vars(part).pop("_search", None)
        part._pool = pool
        setattr(part, "_prepared" if self._is_dense else "_moved_points", prepared)
        number = part._nearest(self.points[rows], n_neighbors, labels, tie / self._unit)
        return np.where(number < 0, -1, pool[number])

    def _nearest(self, queries: Data, n_neighbors: int, labels: Labels | None, tie: float) -> Index:
        n_points = self.points.shape[0] if self._pool is None else len(self._pool)
        n_left_out = _most_left_out(labels)
        labels = labels if n_left_out else None
        n_neighbors = int(n_neighbors)  # one of 8 bits would wrap around
        reach = n_neighbors + self.tuning.spare + n_left_out
        is_small = queries.shape[0] * n_points <= self.tuning.few_distances
        if reach >= n_points or is_small:
            return self._among_all(queries, n_neighbors, labels, tie)
        if self._is_dense:
            return self._in_blocks(queries, n_neighbors, labels, tie)
        moved = self._moved(queries)
        distance, number = self._in_the_tree(moved, reach, n_points)
        value = distance**2 if self.metric == "euclidean" else distance
        rounding = self._rounding(moved, value)
        edge = value[:, -1].copy()
        if labels is not None:
            value[labels[1][number] == labels[0][:, None]] = np.inf
            order = np.argsort(value, axis=1, kind="stable")
            value = np.take_along_axis(value, order, axis=1)
            number = np.take_along_axis(number, order, axis=1)
        is_sure, limit = _certain(value, n_neighbors, tie, rounding)
        is_wide = ~(edge > limit)
        found = number[:, :n_neighbors].copy()
        rows = np.flatnonzero(~is_sure & ~is_wide)
        value[rows] = np.where(value[rows] <= limit[rows, None], value[rows], np.inf)
        found[rows] = self._among(queries[rows], number[rows], value[rows], n_neighbors, tie)
        rows = np.flatnonzero(is_wide)
        if len(rows):
            labels = None if labels is None else (labels[0][rows], labels[1])
            found[rows] = self._among_all(queries[rows], n_neighbors, labels, tie)
        return found

    def _in_blocks(
        self, queries: Data, n_neighbors: int, labels: Labels | None, tie: float
    ) -> Index:
        """Return the nearest dense points, by candidates of blocks of them."""
        parts = []
        with limit_threads(self.n_jobs):
            for block, offset in self._prepared.blocks(self.tuning.n_points):
                some = labels and (labels[0], labels[1][offset : offset + len(block)])
                part = block_candidates(
                    queries, block, n_neighbors, labels=some, tie=tie, offset=offset
                )
                parts.append(part)
        return merge_candidates(parts, n_neighbors, tie=tie)[0]

    @property
    def _is_dense(self) -> bool:
        """Whether the points are dense, Euclidean, and too many-dimensional for a tree."""
        is_euclidean = self.metric == "euclidean" and not sp.issparse(self.points)
        return is_euclidean and self.points.shape[1] > FEW_FEATURES

    @cached_property
    def _prepared(self) -> Points:
        return Points(self.points, tuning=self.tuning)

    @cached_property
    def _search(self) -> NearestNeighbors:
        algorithm = "auto"
        if self.metric == "euclidean":
            is_tree = self.points.shape[1] <= FEW_FEATURES and not sp.issparse(self.points)
            algorithm = "kd_tree" if is_tree else "brute"
        search = NearestNeighbors(algorithm=algorithm, metric=self.metric, n_jobs=self.n_jobs)
        return search.fit(self._moved_points)

    @cached_property
    def _moved_points(self) -> Data:
        return self._moved(self.points)

    @cached_property
    def _center(self) -> Vector | None:
        """Mean of dense points that are far from the origin, otherwise None."""
        if sp.issparse(self.points):
            return None
        center = self.points.mean(axis=0, dtype=np.float64)
        spread = row_norms(self.points, squared=True).mean() - center @ center
        return center if center @ center > FAR * spread else None

    def _moved(self, points: Data) -> Data:
        """Return points as float64 without the mean, as the fast search needs them."""
        if self.metric != "euclidean":
            return points
        points = points.astype(np.float64, copy=False)
        return points if self._center is None else points - self._center

    def _rounding(self, moved: Data, value: Array) -> Vector:
        """Return a bound on the error of differences of distances that the search found."""
        if self.metric != "euclidean":
            return np.full(len(value), ROUNDING * value.max(initial=0.0))
        return ROUNDING * (self._largest_norm + row_norms(moved, squared=True))

    @cached_property
    def _largest_norm(self) -> float:
        return row_norms(self._moved_points, squared=True).max()

    def _among(
        self, queries: Data, number: Index, value: Array, n_neighbors: int, tie: float
    ) -> Index:
        """Return the nearest candidates (entries of finite value) by their exact distances."""
        row, column = np.nonzero(value < np.inf)
        points = number[row, column]
        points = points if self._pool is None else self._pool[points]
        pairs = np.column_stack([row, points])
        value[row, column] = pair_values(queries, self.points, pairs, self.metric)
        return _select(value, number, n_neighbors, tie)

    def _in_the_tree(self, moved: Data, reach: int, n_points: int) -> tuple[Array, Index]:
        """Return the distances and the numbers of the nearest points; report progress.

        Queries do not depend on each other, so that their parts give the same answer.
        """
        parts = []
        step = self.tuning.n_queries
        for start in range(0, max(1, moved.shape[0]), step):
            part = moved[start : start + step]
            parts.append(self._search.kneighbors(part, reach))
            advance(part.shape[0] * n_points, "distances")
        distance, number = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return distance, number

    def _among_all(
        self, queries: Data, n_neighbors: int, labels: Labels | None, tie: float
    ) -> Index:
        """Return the nearest among all points."""
        points = self.points if self._pool is None else self.points[self._pool]
        n_points = points.shape[0]
        found = np.empty((queries.shape[0], n_neighbors), dtype=np.intp)
        for rows in blocks(len(found), n_points):
            value = _values_of_all(queries[rows], points, self.metric)
            if labels is not None:
                value[labels[0][rows, None] == labels[1]] = np.inf
            number = np.broadcast_to(np.arange(n_points), value.shape)
            found[rows] = _select(value, number, n_neighbors, tie)
            advance(value.size, "distances")
        return found


def nearest(
    queries: Data,
    points: Data,
    n_neighbors: int,
    *,
    labels: Labels | None = None,
    tie: float = 0.0,
    n_jobs: int | None = None,
) -> Index:
    """Return the Euclidean neighbours of queries; see `NeighborSearch.nearest`."""
    search = NeighborSearch(points, n_jobs=n_jobs)
    return search.nearest(queries, n_neighbors, labels=labels, tie=tie)


def pair_values(first: Data, second: Data, pairs: Index, metric: Metric = "euclidean") -> Vector:
    """Return the distances of pairs of rows, squared if they are Euclidean.

    Euclidean ones come from differences, so that distances of close points are accurate. With
    metric="precomputed" `first` holds the distances.
    """
    if metric == "precomputed":
        return first[pairs[:, 0], pairs[:, 1]]
    values = np.empty(len(pairs))
    if metric == "euclidean":
        # sparse rows, both and their differences, hold an index beside each number
        size = 8 * second.nnz // second.shape[0] if sp.issparse(second) else second.shape[1]
        for part in blocks(len(pairs), size):
            away = first[pairs[part, 0]].astype(np.float64, copy=False) - second[pairs[part, 1]]
            with np.errstate(over="ignore", under="ignore"):
                values[part] = row_norms(away, squared=True)
        return values
    order = np.argsort(pairs[:, 0], kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(pairs[order, 0])) + 1):
        if len(some):
            row = first[pairs[some[:1], 0]]
            values[some] = pairwise_distances(row, second[pairs[some, 1]], metric=metric)[0]
    return values


def _values_of_all(queries: Data, points: Data, metric: Metric) -> Array:
    if metric == "euclidean" and not sp.issparse(points):
        return cdist(queries, points, "sqeuclidean")
    shape = (queries.shape[0], points.shape[0])
    pairs = np.column_stack([grid.ravel() for grid in np.indices(shape)])
    return pair_values(queries, points, pairs, metric).reshape(shape)


def neighbor_order(distances: Array, rows: Index) -> Index:
    """Return for each point of `rows` the numbers of all other points, from near to far.

    `distances` has shape (n_rows, n_points) and is overwritten; distances that agree to 32 bits
    are ties, decided by number.
    """
    n_points = distances.shape[1]
    bits = max(TIE_BITS, (n_points - 1).bit_length())
    # nonnegative floats are ordered as their bits are: the last ones make room for the number, and
    # sorting integers is several times as fast as a stable argsort
    keys = distances.view(np.int64)
    keys += 1 << (bits - 1)
    keys &= -(1 << bits)
    keys |= np.arange(n_points)
    keys[np.arange(len(rows)), rows] = -1
    keys.sort(axis=1)
    keys &= (1 << bits) - 1
    return keys[:, 1:]


def blocks(n_rows: int, row_size: int) -> Iterator[slice]:
    """Return slices of rows that hold about `BLOCK` numbers each."""
    step = max(1, BLOCK // max(1, row_size))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _unit(points: Data) -> float:
    """Return a power of two to divide by where squares of coordinates would leave the range."""
    largest = float(max(points.max(), -points.min()))
    is_safe = largest == 0 or SAFE[0] < largest < SAFE[1]
    return 1.0 if is_safe else 2.0 ** np.frexp(largest)[1]


def _most_left_out(labels: Labels | None) -> int:
    """Return the largest number of points that a query leaves out by its label."""
    if labels is None or not len(labels[0]):
        return 0
    of_queries, of_points = labels
    return int(np.bincount(of_points, minlength=of_queries.max() + 1)[of_queries].max())


def _certain(value: Array, n_neighbors: int, tie: float, rounding: Vector) -> tuple[Mask, Vector]:
    """Return the rows of sorted values whose order is certain, and the limit of candidates.

    Neither rounding nor ties can make a neighbour of a point whose value is above the limit.
    """
    radius = value[:, n_neighbors - 1]
    limit = radius + tie_width(radius, tie) + rounding
    with np.errstate(invalid="ignore"):  # inf - inf, where squares overflowed: not certain
        is_apart = np.diff(value[:, :n_neighbors], axis=1) > rounding[:, None]
    is_beyond = value[:, n_neighbors : n_neighbors + 1] > limit[:, None]
    return np.all(is_apart, axis=1) & np.all(is_beyond, axis=1), limit


def _select(value: Array, number: Index, n_neighbors: int, tie: float) -> Index:
    """Return the numbers of the smallest values in each row, by value and then by number."""
    k = min(n_neighbors, value.shape[1])
    radius = np.partition(value, k - 1, axis=1)[:, k - 1]
    limit = radius + tie_width(radius, tie)
    row, column = np.nonzero((value <= limit[:, None]) & (value < np.inf))
    return choose(row, number[row, column], value[row, column], radius, n_neighbors, tie)
