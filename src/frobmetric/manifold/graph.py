"""Neighbour graph of the samples: the distances that an unfolding has to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..core.checks import require_parts
from ..core.points import Index, Mask, Vector
from ..search.exact import Metric
from .samples import FeatureSamples, GraphSamples, as_samples, components

COINCIDENT = 2.0**-40  #: distance, relative to the longest edge, up to which points are one


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Distinct points and the squared length of every edge between them.

    Attributes
    ----------
    edges : ndarray of shape (n_edges, 2)
        Points (i, j) with i < j, each edge once, in lexicographic order.
    squared : ndarray of shape (n_edges,)
        Squared distances, positive.
    masses : ndarray of shape (n_points,)
        Number of samples that coincide in each point.
    point_of : ndarray of shape (n_samples,)
        Point of each sample.
    representative : ndarray of shape (n_points,)
        First sample of each point.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import MaximumVarianceUnfolding
    >>> from frobmetric.manifold import neighbor_graph
    >>> neighbor_graph(np.arange(6.0)[:, None], 2).edges.shape
    (7, 2)
    """

    edges: Index
    squared: Vector
    masses: Vector
    point_of: Index
    representative: Index

    @classmethod
    def of(cls, edges: Index, squared: Vector, point_of: Index) -> Self:
        """Build the graph from its edges and the point of each sample."""
        _, first, count = np.unique(point_of, return_index=True, return_counts=True)
        return cls(edges, squared, count.astype(np.float64), point_of, first)

    @property
    def n_points(self) -> int:
        return len(self.masses)

    def __repr__(self) -> str:
        return f"NeighborGraph(n_points={self.n_points}, n_edges={len(self.edges)})"

    def components(self) -> tuple[int, Index]:
        """Return the number of connected components, and the component of each point."""
        return components(self.edges, self.n_points)

    def restrict(self, points: Index) -> NeighborGraph:
        """Return the graph of these points and their samples, both renumbered in their order."""
        number = np.full(self.n_points, -1)
        points = np.unique(points)
        number[points] = np.arange(len(points))
        edges, point_of = number[self.edges], number[self.point_of]
        inside = (edges >= 0).all(axis=1)
        return NeighborGraph.of(edges[inside], self.squared[inside], point_of[point_of >= 0])


def neighbor_graph(
    X: Any, n_neighbors: int = 6, *, metric: Metric = "euclidean", extra_edges: bool = False
) -> NeighborGraph:
    """Join two points if one of them is among the nearest points of the other.

    Samples at distance 0, or closer than 2**-40 of the longest edge, are first merged into one
    point; neighbours are then searched among distinct points. Ties between equal distances are
    broken by the order of the samples.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or distances if `metric="precomputed"`: a symmetric array, whose smallest
        entries make the edges, or a sparse matrix, whose stored entries are the edges, each
        stored in one or in both directions.
    n_neighbors : int, default=6
        Number of nearest points; ignored where X is a sparse matrix of distances.
    metric : str or callable, default="euclidean"
        Metric of `sklearn.neighbors.NearestNeighbors`, or "precomputed".
    extra_edges : bool, default=False
        Also join all pairs among the nearest points of each point, which keeps the angles
        between neighbours, too.

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold import neighbor_graph
    >>> graph = neighbor_graph(np.array([[0.0], [1.0], [1.0], [3.0]]), 1)
    >>> graph.edges
    array([[0, 1],
           [1, 2]])
    >>> graph.squared, graph.point_of
    (array([1., 4.]), array([0, 1, 1, 2]))
    """
    samples = as_samples(X, metric)
    point_of, reason = samples.coincident(), ""
    if len(point_of) == 1:
        raise ValueError("X has n_samples=1; one sample alone has nothing to unfold, give several")
    while point_of.any():
        edges, squared = samples.edges(point_of, n_neighbors, extra_edges)
        _check_squares(squared)
        tiny = squared <= COINCIDENT**2 * squared.max()
        if not tiny.any():
            return NeighborGraph.of(edges, squared, point_of)
        point_of = components(edges[tiny], point_of.max() + 1)[1][point_of]
        reason = "; the squares of their distances vanish in float64, multiply X by a constant if "
        reason += "they should not"
    raise ValueError(
        f"all {len(point_of)} samples are the same point; there is nothing to unfold{reason}"
    )


def connect_components(
    graph: NeighborGraph, X: Any, n_neighbors: int = 6, *, metric: Metric = "euclidean"
) -> NeighborGraph:
    """Add short edges until a graph is connected.

    Each component but the largest is joined with the others by its `n_neighbors` shortest edges;
    this is repeated until there is one component. One edge alone would let the components turn
    about it, and the variance would stretch them to a line.

    Parameters
    ----------
    graph : NeighborGraph
    X, n_neighbors, metric
        The arguments of `neighbor_graph` that made the graph; X must not be a sparse graph.

    Returns
    -------
    NeighborGraph
        Connected graph; the given one if it has one component.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold import neighbor_graph
    >>> from frobmetric.manifold.graph import connect_components
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> connect_components(neighbor_graph(X, 1), X, 1).edges
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    parts = ("components", "edges", "representative")
    require_parts(graph, parts, name="graph", expected="a NeighborGraph, as of neighbor_graph")
    n_components, label = graph.components()
    if n_components == 1:
        return graph
    samples = as_samples(X, metric)
    if isinstance(samples, GraphSamples):  # without the distances between components
        raise ValueError(disconnected_message(graph, samples, n_neighbors))
    points, edges = samples.take(graph.representative), graph.edges
    while n_components > 1:
        others = np.delete(np.arange(n_components), np.bincount(label).argmax())
        added = [_shortest_edges(points, label == other, n_neighbors) for other in others]
        edges = np.unique(np.vstack([edges, *added]), axis=0)
        n_components, label = components(edges, graph.n_points)
    squared = points.squared(edges)
    _check_squares(squared)
    if (squared <= COINCIDENT**2 * squared.max()).any():
        raise ValueError(
            f"the neighbour graph has {describe_components(graph)}, which are too far apart to be "
            "unfolded together: more than 2**40 times as far as some neighbours; remove outliers, "
            "or set on_disconnected='separate' to unfold each alone"
        )
    return NeighborGraph.of(edges, squared, graph.point_of)


def _shortest_edges(points: FeatureSamples, inside: Mask, count: int) -> Index:
    """Return the shortest edges between the points inside and outside, lower numbers first."""
    rows, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    new = points.X[rows]
    if points.metric == "precomputed":
        new = new[:, others]
    nearest, squared = points.take(others).nearest(min(count, len(others)), new)
    shortest = np.argsort(squared, axis=None, kind="stable")[:count]
    row, column = np.unravel_index(shortest, squared.shape)
    return np.sort(np.column_stack([rows[row], others[nearest[row, column]]]), axis=1)


def describe_components(graph: NeighborGraph) -> str:
    """Describe the number and the sizes of the components, and name samples of the smallest."""
    label_of = graph.components()[1][graph.point_of]
    sizes = np.bincount(label_of)
    if len(sizes) == 1:
        return f"1 component of {sizes[0]} samples"
    members = np.flatnonzero(label_of == sizes.argmin())
    named = ", ".join(map(str, members[:3])) + (", ..." if len(members) > 3 else "")
    counts = [str(size) for size in np.sort(sizes)[::-1]]
    if len(counts) > 5:
        counts[4:] = [f"{len(counts) - 4} smaller ones: {counts[4]} to {counts[-1]}"]
    listed = ", ".join(counts[:-1]) + " and " + counts[-1]
    return f"{len(sizes)} components of {listed} samples (the smallest holds samples {named})"


def disconnected_message(
    graph: NeighborGraph, X: Any, n_neighbors: int, *, metric: Metric = "euclidean"
) -> str:
    """Describe the components and what connects them; the arguments are `neighbor_graph`'s."""
    advice = as_samples(X, metric).advice(graph.representative, n_neighbors)
    return (
        f"the neighbour graph has {describe_components(graph)}; {advice}, or set "
        "on_disconnected='separate' to unfold each alone"
    )


def require_connected(
    graph: NeighborGraph, X: Any, n_neighbors: int, *, metric: Metric = "euclidean"
) -> None:
    """Refuse a graph of several components; the arguments are as in `neighbor_graph`."""
    if graph.components()[0] > 1:
        raise ValueError(disconnected_message(graph, X, n_neighbors, metric=metric))


def _check_squares(squared: Vector) -> None:
    if not len(squared):
        raise ValueError("X is a sparse graph without edges; store the distances to neighbours")
    if not squared.max() < np.inf:
        raise ValueError(
            "the squares of the distances between samples overflow in float64; divide X by a "
            "constant so that distances are near 1"
        )
