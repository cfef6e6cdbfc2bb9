"""Unfolding a few landmarks, and placing all other points between them.

Distances run along the graph: a landmark is joined with those whose cells (the points closer to
them than to any other) touch its own, by the shortest way over that border. Such an edge is no
shorter than what the whole graph allows, so the landmarks' problem leaves out constraints and
adds none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from .extension import Extension
from .graph import NeighborGraph

#: Landmarks that a point is placed by, before `Extension` takes half as many again.
N_NEAREST = 8


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Chosen points, the graph between them, and the way from each of them to every point."""

    graph: NeighborGraph
    chosen: np.ndarray
    ways: np.ndarray

    @classmethod
    def of(cls, graph, n_landmarks, random):
        """Landmarks of a connected graph, drawn at random.

        Parameters
        ----------
        graph : NeighborGraph
        n_landmarks : int
        random : RandomState
        """
        chosen = np.sort(random.choice(graph.n_points, n_landmarks, replace=False))
        i, j = graph.edges.T
        shape = (graph.n_points, graph.n_points)
        lengths = sp.csr_array((np.sqrt(graph.squared), (i, j)), shape=shape)
        ways = dijkstra(lengths, directed=False, indices=chosen)
        return cls(_border_graph(graph, ways), chosen, ways)

    def place(self, Y):
        """All points, from the coordinates of the landmarks."""
        between = self.ways[:, self.chosen]
        between = (between + between.T) / 2  # the two directions differ by rounding
        return Extension(between, Y, N_NEAREST, "precomputed").place(self.ways.T)


def _border_graph(graph, ways):
    """Edges between landmarks whose cells touch; a landmark weighs as much as its cell."""
    cell, reach = ways.argmin(axis=0), ways.min(axis=0)
    ends = np.sort(cell[graph.edges], axis=1)
    crossing = ends[:, 0] < ends[:, 1]
    ends, (i, j) = ends[crossing], graph.edges[crossing].T
    length = reach[i] + np.sqrt(graph.squared[crossing]) + reach[j]
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    shortest = np.full(len(edges), np.inf)
    np.minimum.at(shortest, which.ravel(), length)
    count = len(ways)
    masses = np.bincount(cell, weights=graph.masses, minlength=count)
    each = np.arange(count)
    return NeighborGraph(edges, shortest**2, masses, each, each)
