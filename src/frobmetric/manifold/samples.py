"""Samples given by features, by distances or by a graph, and their nearest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array

#: Two entries for one distance, or a diagonal, may be off by this much, relative to distances.
SYMMETRY = 1e-8
#: Neighbours looked up beyond those asked for, so that rounding in the search decides nothing.
SPARE = 8
#: Numbers held at a time where distances are computed or checked.
BLOCK = 1 << 22
#: An `n_neighbors` that connects is looked for up to so many times the given one ...
REACH = 3
#: ... where that takes at most so many neighbours in all.
CHEAP = 1 << 18


def as_samples(X, metric="euclidean"):
    """X, checked, with what its kind can tell about distances.

    Returns
    -------
    FeatureSamples, DistanceSamples or GraphSamples
    """
    if not isinstance(metric, str) or metric != "precomputed":
        _check_metric(metric)
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        return FeatureSamples(X, "euclidean" if metric in ("l2", "minkowski") else metric)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)  # the methods of SciPy reorder a matrix in place
        X.sum_duplicates()
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}; with metric='precomputed' it must be square: the distances "
            "between the samples, or a sparse graph of them"
        )
    check_distances(X)
    _check_diagonal(X.diagonal(), X.max())
    return GraphSamples.of(X) if sp.issparse(X) else DistanceSamples.of(X)


@dataclass(frozen=True, eq=False)
class FeatureSamples:
    """Samples given by their features, with a metric."""

    X: np.ndarray | sp.csr_matrix
    metric: str = "euclidean"

    def coincident(self):
        """A number for each sample, the same for equal ones."""
        numbers = {}
        return np.array([numbers.setdefault(key, len(numbers)) for key in _row_keys(self.X)])

    def take(self, index):
        return self if len(index) == self.X.shape[0] else replace(self, X=self.X[index])

    def squared(self, pairs, new=None):
        """Squared distances of samples (or new ones) pairs[:, 0] from samples pairs[:, 1]."""
        first = self.X if new is None else new
        if self.metric != "euclidean":
            return _metric_squares(first, self.X, pairs, self.metric)
        squared = np.empty(len(pairs))
        # from differences of rows: those of close samples are accurate, too
        for part in blocks(len(pairs), self.X.shape[1]):
            squared[part] = _row_squares(first[pairs[part, 0]] - self.X[pairs[part, 1]])
        return squared

    def nearest(self, k, new=None):
        """The k nearest of each sample (or new one), the nearest first, and their squares."""
        reach = min(k + SPARE, self.X.shape[0] - (new is None))
        query = None if new is None else self._searched(new)
        found = self._search.kneighbors(query, reach, return_distance=False)
        pairs = np.column_stack([np.repeat(np.arange(len(found)), reach), found.ravel()])
        squared = self.squared(pairs, new).reshape(found.shape)
        order = np.lexsort((found, squared), axis=-1)[:, :k]
        return tuple(np.take_along_axis(a, order, axis=1) for a in (found, squared))

    def edges(self, point_of, n_neighbors, extra_edges):
        points = self.take(np.unique(point_of, return_index=True)[1])
        _check_n_neighbors(n_neighbors, points.X.shape[0], len(point_of))
        edges = _union(points.nearest(n_neighbors)[0], extra_edges)
        return edges, points.squared(edges)

    def advice(self, representative, n_neighbors):
        """How to connect the components of the graph."""
        enough = _connecting(self.take(representative), n_neighbors)
        return f"raise n_neighbors ({n_neighbors} now" + (
            ")" if enough is None else f"; {enough} connects them)"
        )

    @cached_property
    def _search(self):
        return NearestNeighbors(metric=self.metric).fit(self._searched(self.X))

    @cached_property
    def _frame(self):
        scale = abs(self.X).max() or 1.0
        return scale, 0.0 if sp.issparse(self.X) else (self.X / scale).mean(axis=0)

    def _searched(self, X):
        """Rows for a search that neither cancels far from the origin nor overflows."""
        if self.metric != "euclidean":
            return X
        scale, shift = self._frame
        return X / scale if sp.issparse(X) else X / scale - shift


@dataclass(frozen=True, eq=False)
class DistanceSamples(FeatureSamples):
    """Samples given by all their distances; new ones by theirs from these."""

    metric: str = "precomputed"

    @classmethod
    def of(cls, X):
        for rows in blocks(len(X), len(X)):
            one, other = X[rows], X[:, rows].T
            bad = np.argwhere(np.abs(one - other) > SYMMETRY * np.maximum(one, other))
            if len(bad):
                i, j = bad[0] + [rows.start, 0]
                raise _asymmetry(i, j, X[i, j], X[j, i])
        return cls(X)

    def coincident(self):
        return components(np.argwhere(self.X == 0), len(self.X))[1]

    def take(self, index):
        return self if len(index) == len(self.X) else DistanceSamples(self.X[np.ix_(index, index)])

    def squared(self, pairs, new=None):
        with np.errstate(over="ignore"):
            return (self.X if new is None else new)[tuple(pairs.T)] ** 2


@dataclass(frozen=True, eq=False)
class GraphSamples:
    """Samples given by the edges of their graph: pairs, lower number first, and distances."""

    n_samples: int
    pairs: np.ndarray
    distance: np.ndarray

    @classmethod
    def of(cls, X):
        entries = np.column_stack(X.tocoo().coords)
        apart = entries[:, 0] != entries[:, 1]
        pairs, distance = np.sort(entries[apart], axis=1), X.data[apart]
        order = np.lexsort(pairs.T[::-1])
        pairs, distance = pairs[order], distance[order]
        forth, back = distance[:-1], distance[1:]
        twin = (pairs[:-1] == pairs[1:]).all(axis=1)
        bad = np.flatnonzero(twin & (np.abs(forth - back) > SYMMETRY * np.maximum(forth, back)))
        if len(bad):
            raise _asymmetry(*pairs[bad[0]], forth[bad[0]], back[bad[0]])
        return cls(X.shape[0], pairs, distance)

    def coincident(self):
        return components(self.pairs[self.distance == 0], self.n_samples)[1]

    def edges(self, point_of, n_neighbors, extra_edges):
        """The stored edges; of several between two points the shortest counts."""
        if extra_edges:
            raise ValueError(
                "extra_edges=True needs the distances between the neighbours of a point, and X is "
                "a sparse graph that does not hold them; give features or an array of all "
                "distances, or set extra_edges=False"
            )
        ends = np.sort(point_of[self.pairs], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        edges, which = np.unique(ends[apart], axis=0, return_inverse=True)
        shortest = np.full(len(edges), np.inf)
        np.minimum.at(shortest, which, self.distance[apart])
        with np.errstate(over="ignore"):
            return edges, shortest**2

    def advice(self, representative, n_neighbors):
        return "add edges between them to X"


def blocks(n_rows, row_size):
    """Slices of rows that together hold about `BLOCK` numbers."""
    step = max(1, BLOCK // max(1, row_size))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def check_distances(X):
    """Refuse an array or a sparse matrix with an entry that is no distance."""
    values = X.data if sp.issparse(X) else X
    bad = np.argwhere(~(values >= 0) | np.isinf(values))
    if len(bad):
        i, j = np.column_stack(X.tocoo().coords)[bad[0, 0]] if sp.issparse(X) else bad[0]
        negative = "Negative values in data: " if X[i, j] < 0 else ""  # scikit-learn's phrase
        raise ValueError(
            f"{negative}X[{i}, {j}] = {X[i, j]} is not a distance; entries must be non-negative "
            "and finite (no NaN, no infinity)"
        )


def _union(nearest, extra_edges):
    """The edges of each point with its nearest, and among these if asked for."""
    n, k = nearest.shape
    star = np.column_stack([np.arange(n), nearest])
    first, second = np.triu_indices(k + 1, 1)  # the pairs with the point itself come first
    count = None if extra_edges else k
    ends = np.stack([star[:, first[:count]], star[:, second[:count]]], axis=-1).reshape(-1, 2)
    keys = np.unique(np.sort(ends, axis=1) @ [n, 1])
    return np.column_stack(np.divmod(keys, n)).astype(np.int64)


def _connecting(samples, n_neighbors):
    """The smallest number of neighbours that gives one component; None if not cheaply found."""
    n = samples.X.shape[0]
    most = min(REACH * n_neighbors, n - 1)
    if most * n > CHEAP:
        return None
    nearest = samples.nearest(most)[0]
    counts = range(n_neighbors + 1, most + 1)
    connected = (k for k in counts if components(_union(nearest[:, :k], False), n)[0] == 1)
    return next(connected, None)


def components(edges, n):
    """How many, and the one of each of n nodes, numbered in the order of their first nodes."""
    ends = sp.coo_array((np.ones(len(edges), bool), tuple(edges.T)), shape=(n, n))
    count, labels = connected_components(ends, directed=False)
    return count, labels.astype(np.int64)


def _row_keys(X):
    """One key a row, equal for equal rows."""
    if not sp.issparse(X):
        return (row.tobytes() for row in X + 0.0)  # -0.0 becomes 0.0
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in spans)


def _row_squares(difference):
    with np.errstate(over="ignore", under="ignore"):
        if sp.issparse(difference):
            return np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", difference, difference)


def _metric_squares(first, second, pairs, metric):
    """Squared distances in any metric, one call for each row of `first`."""
    squared = np.empty(len(pairs))
    order = np.argsort(pairs[:, 0], kind="stable")
    starts = np.flatnonzero(np.diff(pairs[order, 0]))
    for part in np.split(order, starts + 1):
        row = first[pairs[part[:1], 0]]
        squared[part] = pairwise_distances(row, second[pairs[part, 1]], metric=metric)[0] ** 2
    return squared


def _check_metric(metric):
    if metric in ("mahalanobis", "seuclidean"):
        raise ValueError(
            f"metric={metric!r} needs parameters that cannot be given; scale or transform X, and "
            "use metric='euclidean'"
        )


def _check_n_neighbors(n_neighbors, n_points, n_samples):
    if not isinstance(n_neighbors, Integral) or isinstance(n_neighbors, bool) or n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be an integer of at least 1")
    if n_neighbors >= n_points:
        raise ValueError(
            f"n_neighbors={n_neighbors} is too large: the {n_samples} samples are {n_points} "
            f"distinct points, so each has {n_points - 1} others; set n_neighbors to at most "
            f"{n_points - 1}, or give more distinct samples"
        )


def _check_diagonal(diagonal, largest):
    bad = np.flatnonzero(diagonal > SYMMETRY * largest)
    if len(bad):
        raise ValueError(
            f"X[{bad[0]}, {bad[0]}] = {diagonal[bad[0]]}; the distance of a sample to itself must "
            "be 0: set the diagonal to 0, or give features and another metric"
        )


def _asymmetry(i, j, forth, back):
    return ValueError(
        f"X[{i}, {j}] = {forth} and X[{j}, {i}] = {back} differ; a distance must be the same in "
        "both directions: symmetrise X, for example by (X + X.T) / 2"
    )
