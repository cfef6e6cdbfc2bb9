"""Nested dissection: an order in which to eliminate the points of a sparse graph.

A separator cuts the graph into two halves that no edge joins. It is eliminated after both halves,
and each half is cut again. A front consists of points that are eliminated together, its pivots,
and of its border: the points eliminated later that are then joined with the pivots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from ...core.points import Index, Mask

#: Pivots and children of each front, children first.
Tree: TypeAlias = list[tuple[Index, tuple[int, ...]]]

LEAF = 50  #: number of points up to which a part is not cut any more


@dataclass(frozen=True, eq=False)
class Front:
    """Points that are eliminated together, and their border.

    `nodes` are the pivots, then the border. `edges` are the numbers of the edges that first
    appear in this front, between the local points `low` and `high`; `placed` has the positions
    of the children's borders among the nodes.
    """

    nodes: Index
    n_pivots: int
    edges: Index
    low: Index
    high: Index
    children: tuple[int, ...]
    placed: tuple[Index, ...]

    @property
    def pivots(self) -> Index:
        return self.nodes[: self.n_pivots]

    @property
    def border(self) -> Index:
        return self.nodes[self.n_pivots :]


def nested_dissection(edges: Index, n_points: int, leaf: int = LEAF) -> list[Front]:
    """Return the fronts of a graph, which has each edge once; a front comes after its children."""
    i, j = edges.T.astype(np.int32)  # not all versions of csgraph take 64 bits
    half = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n_points, n_points))
    adjacency = (half + half.T).tocsr()
    tree: Tree = []
    _dissect(adjacency, np.arange(n_points), leaf, tree)
    return _fronts(adjacency, edges, tree)


def _dissect(adjacency: sp.csr_array, nodes: Index, leaf: int, tree: Tree) -> list[int]:
    """Append (pivots, children) of a part to the tree, children first; return the part's roots."""
    inner = adjacency[nodes][:, nodes]
    n_parts, part = csgraph.connected_components(inner, directed=False)
    if n_parts > 1 and len(nodes) > leaf:
        parts = [nodes[part == k] for k in range(n_parts)]
        return [root for piece in parts for root in _dissect(adjacency, piece, leaf, tree)]
    everything = np.ones(len(nodes), bool)
    separator, left = _cut(inner) if len(nodes) > leaf else (everything, everything)
    children: list[int] = []
    if not separator.all():
        for half in (left & ~separator, ~left & ~separator):
            if half.any():
                children += _dissect(adjacency, nodes[half], leaf, tree)
    tree.append((nodes[separator], tuple(children)))
    return [len(tree) - 1]


def _cut(inner: sp.csr_array) -> tuple[Mask, Mask]:
    """Halve by distance from a far end; return the smallest separator and the first half."""
    order = csgraph.breadth_first_order(inner, 0, directed=False, return_predecessors=False)
    distance = csgraph.dijkstra(inner, directed=False, indices=order[-1], unweighted=True)
    left = np.zeros(inner.shape[0], dtype=bool)
    left[np.argsort(distance, kind="stable")[: len(left) // 2]] = True
    rows, columns = np.flatnonzero(left), np.flatnonzero(~left)
    separator = np.zeros(len(left), dtype=bool)
    in_rows, in_columns = _vertex_cover(inner[rows][:, columns].tocsr())
    separator[rows[in_rows]] = separator[columns[in_columns]] = True
    return separator, left


def _vertex_cover(crossing: sp.csr_array) -> tuple[Index, Index]:
    """Return the smallest vertex cover of a bipartite graph, from a largest matching (König)."""
    column_of = csgraph.maximum_bipartite_matching(crossing, perm_type="column")
    matched = np.flatnonzero(column_of >= 0)
    row_of = np.full(crossing.shape[1], -1)
    row_of[column_of[matched]] = matched
    seen_row = (column_of < 0) & (np.diff(crossing.indptr) > 0)
    seen_column = np.zeros(crossing.shape[1], dtype=bool)
    reached = np.flatnonzero(seen_row)
    while reached.size:  # along alternating paths from the rows without a partner
        columns = np.unique(crossing[reached].indices)
        columns = columns[~seen_column[columns]]
        seen_column[columns] = True
        reached = row_of[columns]
        reached = reached[(reached >= 0) & ~seen_row[reached]]
        seen_row[reached] = True
    return matched[~seen_row[matched]], np.flatnonzero(seen_column)


def _fronts(adjacency: sp.csr_array, edges: Index, tree: Tree) -> list[Front]:
    """Return the fronts of an elimination tree, with the borders that fill-in gives them."""
    turn, front_of, local = (np.empty(adjacency.shape[0], dtype=int) for _ in range(3))
    turn[np.concatenate([pivots for pivots, _ in tree])] = np.arange(len(turn))
    for number, (pivots, _) in enumerate(tree):
        front_of[pivots] = number
    first = np.where(turn[edges[:, 0]] < turn[edges[:, 1]], edges[:, 0], edges[:, 1])
    by_front = np.argsort(front_of[first], kind="stable")
    starts = np.searchsorted(front_of[first][by_front], np.arange(len(tree) + 1))
    fronts: list[Front] = []
    for number, (pivots, children) in enumerate(tree):
        borders = [fronts[child].border for child in children]
        border = np.unique(np.concatenate([adjacency[pivots].indices, *borders]))
        border = border[turn[border] > turn[pivots[-1]]]
        nodes = np.concatenate([pivots, border[np.argsort(turn[border])]])
        local[nodes] = np.arange(len(nodes))
        numbers = by_front[starts[number] : starts[number + 1]]
        low, high = np.sort(local[edges[numbers]], axis=1).T
        placed = tuple(local[border] for border in borders)
        fronts.append(Front(nodes, len(pivots), numbers, low, high, children, placed))
    return fronts
