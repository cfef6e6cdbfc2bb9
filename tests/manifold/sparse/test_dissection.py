from itertools import chain, combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.manifold.sparse.dissection import LEAF, _vertex_cover, nested_dissection


def path(n):
    return [(i, i + 1) for i in range(n - 1)]


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
    return np.concatenate([np.stack(pair, axis=-1).reshape(-1, 2) for pair in pairs]).tolist()


def random_edges(rng, n, density):
    return [pair for pair in combinations(range(n), 2) if rng.random() < density]


def near_points(n):
    """A sparse graph of random points of the plane, most likely in several parts."""
    X = np.random.default_rng(0).random((n, 2))
    return [(i, j) for i, j in combinations(range(n), 2) if np.hypot(*(X[i] - X[j])) < 0.09]


#: Edges and the number of points.
GRAPHS = {
    "point": ([], 1),
    "edge": ([(0, 1)], 2),
    "points without edges": ([], 100),
    "path": (path(130), 130),
    "cycle": ([*path(90), (0, 89)], 90),
    "star": ([(0, i) for i in range(1, 120)], 120),
    "star, its centre last": ([(i, 119) for i in range(119)], 120),
    "complete": (list(combinations(range(60), 2)), 60),
    "grid": (grid(14, 11), 154),
    "two paths and a point": ([*path(60), *((i + 60, j + 60) for i, j in path(60))], 121),
    "two grids": ([*grid(8, 8), *((i + 64, j + 64) for i, j in grid(8, 8))], 128),
    "plane": (near_points(160), 160),
}


def dissect(edges, n_points, **options):
    return nested_dissection(np.array(edges, dtype=int).reshape(-1, 2), n_points, **options)


def eliminate(edges, order):
    """What each point is joined with when it is eliminated: all its neighbours with each other."""
    joined = {v: set() for v in order}
    for i, j in edges:
        joined[i].add(j)
        joined[j].add(i)
    later = {}
    for v in order:
        later[v] = joined.pop(v)
        for a in later[v]:
            joined[a] = (joined[a] | later[v]) - {a, v}
    return later


def check_fronts(fronts, edges, n_points):
    order = np.concatenate([front.pivots for front in fronts])
    assert sorted(order.tolist()) == list(range(n_points))
    turn = np.argsort(order)
    assert sorted(chain.from_iterable(f.edges.tolist() for f in fronts)) == list(range(len(edges)))
    children = [child for front in fronts for child in front.children]
    assert len(children) == len(set(children))
    for number, front in enumerate(fronts):
        assert front.n_pivots > 0
        assert all(child < number for child in front.children)
        assert (np.diff(turn[front.nodes]) > 0).all()
        assert (front.low < front.high).all()
        assert (front.low < front.n_pivots).all()
        for own, low, high in zip(front.edges, front.low, front.high, strict=True):
            assert set(front.nodes[[low, high]].tolist()) == set(edges[own])
        for child, placed in zip(front.children, front.placed, strict=True):
            np.testing.assert_array_equal(front.nodes[placed], fronts[child].border)
    # what a front leaves on its border has to go on to somebody
    roots = set(range(len(fronts))) - set(children)
    assert all(len(fronts[root].border) == 0 for root in roots)
    check_borders(fronts, edges, order.tolist())


def check_borders(fronts, edges, order):
    later = eliminate(edges, order)
    for front in fronts:
        pivots = front.pivots.tolist()
        met = set().union(*(later[v] for v in pivots)) - set(pivots)
        assert set(front.border.tolist()) == met


@pytest.mark.parametrize("leaf", [1, 5, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_point_and_edge_has_one_front(name, leaf):
    edges, n_points = GRAPHS[name]
    check_fronts(dissect(edges, n_points, leaf=leaf), edges, n_points)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 25),
    leaf=st.integers(1, 6),
    density=st.floats(0, 1),
)
def test_random_graphs(seed, n, leaf, density):
    edges = random_edges(np.random.default_rng(seed), n, density)
    check_fronts(dissect(edges, n, leaf=leaf), edges, n)


def test_the_direction_and_order_of_edges_do_not_matter(rng):
    edges = np.array(grid(9, 9))
    mixed = rng.permutation(np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1]))
    check_fronts(dissect(mixed, 81, leaf=4), [tuple(e) for e in mixed.tolist()], 81)
    for one, other in zip(dissect(edges, 81), dissect(mixed, 81), strict=True):
        np.testing.assert_array_equal(one.nodes, other.nodes)


def test_parts_without_a_cut_are_one_front():
    assert len(dissect(path(LEAF), LEAF)) == 1
    assert len(dissect(path(LEAF + 1), LEAF + 1)) == 3
    assert len(dissect(path(7), 7, leaf=7)) == 1
    assert [front.n_pivots for front in dissect([], 1)] == [1]


def test_components_are_never_joined():
    edges, n_points = GRAPHS["two grids"]
    for front in dissect(edges, n_points, leaf=10):
        assert len(set(front.nodes // 64)) == 1


def test_a_star_is_cut_at_its_centre():
    fronts = dissect(*GRAPHS["star"], leaf=20)
    assert fronts[-1].pivots.tolist() == [0]
    assert all(front.border.tolist() == [0] for front in fronts[:-1])


def test_a_complete_graph_is_dense():
    fronts = dissect(*GRAPHS["complete"], leaf=20)
    assert sum(front.n_pivots for front in fronts) == 60
    assert max(len(front.nodes) for front in fronts) == 60


def factor_size(fronts):
    pivots = np.array([front.n_pivots for front in fronts])
    return (pivots * (pivots + 1) // 2 + pivots * [len(f.border) for f in fronts]).sum()


def test_the_separators_of_a_grid_are_small():
    fronts = dissect(grid(40, 40), 1600, leaf=20)
    assert max(front.n_pivots for front in fronts) <= 80
    assert max(len(front.nodes) for front in fronts) <= 160
    assert factor_size(fronts) < 1600 * 40  # row by row, a band of 40 is filled
    assert factor_size(dissect(grid(40, 40), 1600)) < 0.1 * (1600 * 1601 // 2)


def test_the_separators_of_a_path_are_points():
    fronts = dissect(path(2000), 2000)
    assert all(front.n_pivots == 1 for front in fronts if front.children)
    assert all(len(front.border) <= 2 for front in fronts)
    assert all(front.n_pivots <= LEAF for front in fronts)


def smallest_cover(pairs, n_rows, n_columns):
    points = [*((0, i) for i in range(n_rows)), *((1, j) for j in range(n_columns))]
    for size in range(len(points) + 1):
        for chosen in map(set, combinations(points, size)):
            if all((0, i) in chosen or (1, j) in chosen for i, j in pairs):
                return size
    raise AssertionError("all points together are a cover")


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 5),
    n_columns=st.integers(1, 5),
    density=st.floats(0, 1),
)
def test_the_vertex_cover_is_the_smallest(seed, n_rows, n_columns, density):
    crossing = np.random.default_rng(seed).random((n_rows, n_columns)) < density
    pairs = np.argwhere(crossing).tolist()
    rows, columns = _vertex_cover(sp.csr_array(crossing.astype(float)))
    assert all(i in rows or j in columns for i, j in pairs)
    assert len(set(rows)) + len(set(columns)) == len(rows) + len(columns)
    assert len(rows) + len(columns) == smallest_cover(pairs, n_rows, n_columns)
