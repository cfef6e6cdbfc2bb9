"""Landmarks: a few points that are unfolded, with all other points placed between them.

Distances are lengths of paths in the graph. The cell of a landmark has the points closer to it
than to any other landmark; two landmarks are joined if their cells touch, by the shortest path
over the border. Such an edge is at least as long as the whole graph allows, so the landmarks'
problem drops constraints and adds none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from ..core.points import Array, Index
from .extension import Extension
from .graph import NeighborGraph
from .samples import shortest_edges

N_NEAREST = 8  #: number of neighbours for `Extension`


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks of a graph.

    In their own `graph` a landmark has the mass of its cell. `chosen` has the points that are
    landmarks, and `path_lengths` a row for each: its shortest paths to all points.
    """

    graph: NeighborGraph
    chosen: Index
    path_lengths: Array

    @classmethod
    def of(cls, graph: NeighborGraph, n_landmarks: int, random: np.random.RandomState) -> Self:
        """Draw landmarks of a connected graph by a `RandomState`."""
        chosen = np.sort(random.choice(graph.n_points, n_landmarks, replace=False))
        i, j = graph.edges.T.astype(np.int32)  # not all versions of csgraph take 64 bits
        shape = (graph.n_points, graph.n_points)
        lengths = sp.csr_array((np.sqrt(graph.squared), (i, j)), shape=shape)
        path_lengths = dijkstra(lengths, directed=False, indices=chosen)
        return cls(_landmark_graph(graph, path_lengths), chosen, path_lengths)

    def place(self, Y: Array) -> Array:
        """Return the coordinates of all points from the coordinates of the landmarks."""
        between = self.path_lengths[:, self.chosen]
        between = (between + between.T) / 2  # the two directions differ by rounding
        return Extension(between, Y, N_NEAREST, "precomputed").place(self.path_lengths.T)


def _landmark_graph(graph: NeighborGraph, path_lengths: Array) -> NeighborGraph:
    """Return the graph that joins landmarks whose cells touch."""
    cell, reach = path_lengths.argmin(axis=0), path_lengths.min(axis=0)
    i, j = graph.edges.T
    over_border = reach[i] + np.sqrt(graph.squared) + reach[j]
    edges, shortest = shortest_edges(cell[graph.edges], over_border)
    each = np.arange(len(path_lengths))
    masses = np.bincount(cell, weights=graph.masses, minlength=len(each)).astype(float, copy=False)
    return NeighborGraph(edges, shortest**2, masses, each, each)
