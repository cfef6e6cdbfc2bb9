"""The neighbour graph of the samples: which distances an unfolding has to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .samples import as_samples, components

#: Points closer than this, relative to the longest edge, are one point.
COINCIDENT = 2.0**-40


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Distinct points, and the squared length of every edge between them.

    Attributes
    ----------
    edges : ndarray of shape (n_edges, 2)
        Points (i, j) with i < j, each edge once, in lexicographic order.
    squared : ndarray of shape (n_edges,)
        Squared distances, positive.
    masses : ndarray of shape (n_points,)
        How many samples coincide in each point.
    point_of : ndarray of shape (n_samples,)
        The point of each sample.
    representative : ndarray of shape (n_points,)
        The first sample of each point.
    """

    edges: np.ndarray
    squared: np.ndarray
    masses: np.ndarray
    point_of: np.ndarray
    representative: np.ndarray

    @classmethod
    def of(cls, edges, squared, point_of):
        """The graph from its edges and the point of each sample."""
        _, first, count = np.unique(point_of, return_index=True, return_counts=True)
        return cls(edges, squared, count.astype(np.float64), point_of, first)

    @property
    def n_points(self):
        return len(self.masses)

    def components(self):
        """How many connected components there are, and the component of each point."""
        return components(self.edges, self.n_points)

    def restrict(self, points):
        """The graph of these points alone, numbered anew in increasing order.

        Its samples are the samples of these points, in their order, also numbered anew.
        """
        number = np.full(self.n_points, -1)
        points = np.unique(points)
        number[points] = np.arange(len(points))
        edges, point_of = number[self.edges], number[self.point_of]
        inside = (edges >= 0).all(axis=1)
        return NeighborGraph.of(edges[inside], self.squared[inside], point_of[point_of >= 0])


def neighbor_graph(X, n_neighbors=6, *, metric="euclidean", extra_edges=False):
    """The graph that joins each point with its nearest, and with those it is a nearest of.

    Samples at distance 0, or closer than 2**-40 of the longest edge, are merged into one point
    first; neighbours are looked for among distinct points. Equal distances are decided by the
    order of the samples.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or distances if `metric="precomputed"`: a symmetric array from which the nearest
        are taken, or a sparse matrix whose stored entries are the edges, each of them stored in
        one or in both directions.
    n_neighbors : int
        Ignored where X is a sparse matrix of distances.
    metric : str or callable
        A metric of `sklearn.neighbors.NearestNeighbors`, or "precomputed".
    extra_edges : bool
        Also join all pairs among the nearest of each point, which keeps the angles between
        neighbours, too.

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.graph import neighbor_graph
    >>> graph = neighbor_graph(np.array([[0.0], [1.0], [1.0], [3.0]]), 1)
    >>> graph.edges
    array([[0, 1],
           [1, 2]])
    >>> graph.squared, graph.point_of
    (array([1., 4.]), array([0, 1, 1, 2]))
    """
    samples = as_samples(X, metric)
    point_of = samples.coincident()
    _check_several(point_of)
    while True:
        edges, squared = samples.edges(point_of, n_neighbors, extra_edges)
        _check_squares(squared)
        tiny = squared <= COINCIDENT**2 * squared.max()
        if not tiny.any():
            return NeighborGraph.of(edges, squared, point_of)
        point_of = components(edges[tiny], point_of.max() + 1)[1][point_of]
        _check_several(
            point_of,
            "; the squares of their distances vanish in float64, multiply X "
            "by a constant if they should not",
        )


def describe_components(graph):
    """The number and the sizes of the components in words, and where the smallest is.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.graph import describe_components, neighbor_graph
    >>> graph = neighbor_graph(np.array([[0.0], [1.0], [2.0], [90.0], [91.0]]), 1)
    >>> describe_components(graph)
    '2 components of 3 and 2 samples (the smallest holds samples 3, 4)'
    """
    label_of = graph.components()[1][graph.point_of]
    sizes = np.bincount(label_of)
    if len(sizes) == 1:
        return f"1 component of {sizes[0]} samples"
    members = np.flatnonzero(label_of == sizes.argmin())
    named = ", ".join(map(str, members[:3])) + (", ..." if len(members) > 3 else "")
    words = [str(size) for size in np.sort(sizes)[::-1]]
    if len(words) > 5:
        words[4:] = [f"{len(words) - 4} smaller ones: {words[4]} to {words[-1]}"]
    counts = ", ".join(words[:-1]) + " and " + words[-1]
    return f"{len(sizes)} components of {counts} samples (the smallest holds samples {named})"


def require_connected(graph, X, n_neighbors, *, metric="euclidean"):
    """Refuse a graph of several components, and say what would connect them.

    The arguments are those that `neighbor_graph` made the graph of.
    """
    if graph.components()[0] > 1:
        advice = as_samples(X, metric).advice(graph.representative, n_neighbors)
        raise ValueError(
            f"the neighbour graph has {describe_components(graph)}; {advice}, or set "
            "components='separate' to unfold each alone"
        )


def _check_several(point_of, why=""):
    if len(point_of) == 1:
        raise ValueError("X has n_samples=1; one sample alone has nothing to unfold, give several")
    if not point_of.any():
        raise ValueError(
            f"all {len(point_of)} samples are the same point; there is nothing to unfold{why}"
        )


def _check_squares(squared):
    if not len(squared):
        raise ValueError("X is a sparse graph without edges; store the distances to neighbours")
    if not squared.max() < np.inf:
        raise ValueError(
            "the squares of the distances between samples overflow in float64; divide X by a "
            "constant so that distances are near 1"
        )
