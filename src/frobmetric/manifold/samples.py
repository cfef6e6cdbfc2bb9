"""Samples given by features, by distances or by a graph, and their nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..checks.arguments import MetricFunction, as_metric, asymmetry, check_count, check_flag
from ..checks.samples import check_array
from ..core.points import Array, Data, Index, Vector
from ..runtime.progress import working
from ..search.exact import Metric, NeighborSearch, blocks, pair_values
from ..search.rows import distinct_rows

SYMMETRY = 1e-8  #: relative error allowed on the diagonal and between two entries of a distance
REACH = 3  #: multiple of `n_neighbors` up to which one that connects the graph is looked for
CHEAP = 1 << 18  #: largest number of neighbours of all points that is found to look for it


def as_samples(
    X: Any, metric: Metric = "euclidean", estimator: object = None
) -> FeatureSamples | GraphSamples:
    """Return X, checked, as `FeatureSamples`, `DistanceSamples` or `GraphSamples`.

    An X that is one of these is returned as it is.
    """
    if isinstance(X, (FeatureSamples, GraphSamples)):
        return X
    metric = as_metric(metric)
    if metric in ("mahalanobis", "seuclidean"):
        raise ValueError(
            f"metric={metric!r} needs parameters that cannot be given; scale or transform X, and "
            "use metric='euclidean'"
        )
    is_distances = metric == "precomputed"
    options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": not is_distances}
    if estimator is not None:
        options |= {"estimator": estimator, "ensure_min_samples": 2}
    X = check_array(X, input_name="X", **options)
    if not is_distances:
        return FeatureSamples(X, "euclidean" if metric in ("l2", "minkowski") else metric)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)  # the methods of SciPy reorder a matrix in place
        X.sum_duplicates()
    check_distances(X)
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}; with metric='precomputed' it must be square: the distances "
            "between the samples, or a sparse graph of them"
        )
    wrong = np.flatnonzero(X.diagonal() > SYMMETRY * X.max())
    if len(wrong):
        raise ValueError(
            f"X[{wrong[0]}, {wrong[0]}] = {X.diagonal()[wrong[0]]}; the distance of a sample to "
            "itself must be 0: set the diagonal to 0, or give features and another metric"
        )
    return GraphSamples.of(X) if sp.issparse(X) else DistanceSamples.of(X)


@dataclass(frozen=True, eq=False)
class FeatureSamples:
    """Samples given by their features, with a metric."""

    X: Data
    metric: str | MetricFunction = "euclidean"

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    def coincident(self) -> Index:
        """Return a number for each sample, the same number for equal samples."""
        return distinct_rows(self.X)[1]

    def take(self, index: Index) -> FeatureSamples:
        return self if len(index) == self.n_samples else replace(self, X=self.X[index])

    def squared(self, pairs: Index, new: Data | None = None) -> Vector:
        """Return squared distances of samples (or new samples) pairs[:, 0] from pairs[:, 1]."""
        values = pair_values(self.X if new is None else new, self.X, pairs, self.metric)
        with np.errstate(over="ignore"):
            return values if self.metric == "euclidean" else values**2

    def nearest(self, k: int, new: Data = None) -> tuple[Index, Array]:
        """Return the k neighbours of each sample (or new sample) and their squared distances."""
        n_rows = self.n_samples if new is None else new.shape[0]
        with working("searching for neighbours", n_rows * self.n_samples, "distances"):
            if new is None:
                numbers = np.arange(self.n_samples)
                number = self._search.nearest(self.X, k, labels=(numbers, numbers))
            else:
                number = self._search.nearest(new, k)
        pairs = np.column_stack([np.repeat(np.arange(len(number)), k), number.ravel()])
        return number, self.squared(pairs, new).reshape(number.shape)

    def edges(self, point_of: Index, n_neighbors: int, extra_edges: bool) -> tuple[Index, Vector]:
        points = self.take(np.unique(point_of, return_index=True)[1])
        most = points.n_samples - 1
        check_count(n_neighbors, name="n_neighbors")
        if n_neighbors > most:
            raise ValueError(
                f"n_neighbors={n_neighbors} is too large: the {len(point_of)} samples are "
                f"{most + 1} distinct points, so each has {most} others; set n_neighbors to at "
                f"most {most}, or give more distinct samples"
            )
        edges = _union(points.nearest(n_neighbors)[0], extra_edges)
        return edges, points.squared(edges)

    def advice(self, representative: Index, n_neighbors: int) -> str:
        """Return how to connect the components of the graph."""
        enough = self.take(representative)._connecting(n_neighbors)
        connects = "" if enough is None else f"; {enough} connects them"
        return f"raise n_neighbors ({n_neighbors} now{connects})"

    def _connecting(self, n_neighbors: int) -> int | None:
        """Return the smallest number of neighbours that connects all; None if not found."""
        n = self.n_samples
        most = min(REACH * n_neighbors, n - 1)
        if most * n > CHEAP:
            return None
        nearest = self.nearest(most)[0]
        counts = range(n_neighbors + 1, most + 1)
        connected = (k for k in counts if components(_union(nearest[:, :k], False), n)[0] == 1)
        return next(connected, None)

    @cached_property
    def _search(self) -> NeighborSearch:
        return NeighborSearch(self.X, metric=self.metric)


@dataclass(frozen=True, eq=False)
class DistanceSamples(FeatureSamples):
    """Samples given by all their distances; new samples by their distances from these."""

    metric: str = "precomputed"

    @classmethod
    def of(cls, X: Array) -> Self:
        for rows in blocks(len(X), len(X)):
            one, other = X[rows], X[:, rows].T
            bad = np.argwhere(np.abs(one - other) > SYMMETRY * np.maximum(one, other))
            if len(bad):
                i, j = bad[0] + [rows.start, 0]
                raise asymmetry(X[i, j], X[j, i], i, j, name="X")
        return cls(X)

    def coincident(self) -> Index:
        return components(np.argwhere(self.X == 0), len(self.X))[1]

    def take(self, index: Index) -> FeatureSamples:
        return self if len(index) == len(self.X) else DistanceSamples(self.X[np.ix_(index, index)])


@dataclass(frozen=True, eq=False)
class GraphSamples:
    """Samples given by the edges of their graph: pairs, lower number first, and distances."""

    n_samples: int
    pairs: Index
    distance: Vector

    @classmethod
    def of(cls, X: sp.csr_array) -> Self:
        entries = np.column_stack(X.tocoo().coords)
        apart = entries[:, 0] != entries[:, 1]
        pairs, distance = np.sort(entries[apart], axis=1), X.data[apart]
        order = np.lexsort(pairs.T[::-1])
        pairs, distance = pairs[order], distance[order]
        forth, back = distance[:-1], distance[1:]
        is_twin = (pairs[:-1] == pairs[1:]).all(axis=1)
        bad = np.flatnonzero(is_twin & (np.abs(forth - back) > SYMMETRY * np.maximum(forth, back)))
        if len(bad):
            raise asymmetry(forth[bad[0]], back[bad[0]], *pairs[bad[0]], name="X")
        return cls(X.shape[0], pairs, distance)

    def coincident(self) -> Index:
        return components(self.pairs[self.distance == 0], self.n_samples)[1]

    def edges(self, point_of: Index, n_neighbors: int, extra_edges: bool) -> tuple[Index, Vector]:
        """Return the stored edges, the shortest one where several join the same points."""
        if extra_edges:
            raise ValueError(
                "extra_edges=True needs the distances between the neighbours of a point, and X is "
                "a sparse graph that does not hold them; give features or an array of all "
                "distances, or set extra_edges=False"
            )
        edges, shortest = shortest_edges(point_of[self.pairs], self.distance)
        with np.errstate(over="ignore"):
            return edges, shortest**2

    def advice(self, representative: Index, n_neighbors: int) -> str:
        return "add edges between them to X"


def check_distances(X: Data) -> None:
    """Refuse an array or a sparse matrix with an entry that is negative, NaN or infinite."""
    values = X.data if sp.issparse(X) else X
    bad = np.argwhere(~(values >= 0) | np.isinf(values))
    if len(bad):
        i, j = np.column_stack(X.tocoo().coords)[bad[0, 0]] if sp.issparse(X) else bad[0]
        negative = "Negative values in data: " if X[i, j] < 0 else ""  # scikit-learn's phrase
        raise ValueError(
            f"{negative}X[{i}, {j}] = {X[i, j]} is not a distance; entries must be non-negative "
            "and finite (no NaN, no infinity)"
        )


def components(edges: Index, n: int) -> tuple[int, Index]:
    """Return the number of connected components, and the component of each of n nodes."""
    ends = sp.coo_array((np.ones(len(edges), bool), tuple(edges.T)), shape=(n, n))
    count, labels = connected_components(ends, directed=False)
    return count, labels.astype(np.int64)


def shortest_edges(ends: Index, lengths: Vector) -> tuple[Index, Vector]:
    """Return every pair of different nodes once, lower number first, and its smallest length."""
    ends = np.sort(ends, axis=1)
    apart = ends[:, 0] < ends[:, 1]
    edges, which = np.unique(ends[apart], axis=0, return_inverse=True)
    shortest = np.full(len(edges), np.inf)
    np.minimum.at(shortest, which.ravel(), lengths[apart])
    return edges, shortest


def _union(nearest: Index, extra_edges: bool) -> Index:
    """Return the edges of each point to its nearest, and between these if asked for."""
    check_flag(extra_edges, name="extra_edges")
    n, k = nearest.shape
    star = np.column_stack([np.arange(n), nearest])
    first, second = np.triu_indices(k + 1, 1)  # the pairs with the point itself come first
    count = None if extra_edges else k
    ends = np.stack([star[:, first[:count]], star[:, second[:count]]], axis=-1).reshape(-1, 2)
    keys = np.unique(np.sort(ends, axis=1) @ [n, 1])
    return np.column_stack(np.divmod(keys, n)).astype(np.int64)
