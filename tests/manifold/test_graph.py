import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from frobmetric.manifold import samples as module
from frobmetric.manifold.graph import (
    connect_components,
    describe_components,
    neighbor_graph,
    require_connected,
)
from frobmetric.search import exact as _neighbors


def edges_by_hand(D, k, extra_edges=False):
    """The graph as a set of pairs, one point at a time, ties in the order of the points."""
    pairs = set()
    for i in range(len(D)):
        near = [j for j in np.argsort(D[i], kind="stable").tolist() if j != i][:k]
        pairs |= {frozenset((i, j)) for j in near}
        if extra_edges:
            pairs |= {frozenset((a, b)) for a in near for b in near if a != b}
    return sorted(tuple(sorted(pair)) for pair in pairs)


def as_pairs(graph):
    return [tuple(edge) for edge in graph.edges.tolist()]


def differences(X):
    """Squared distances in full accuracy."""
    return ((X[:, None] - X[None]) ** 2).sum(axis=-1)


def assert_is_graph(graph, n_samples):
    i, j = graph.edges.T
    assert (i < j).all()
    assert as_pairs(graph) == sorted(set(as_pairs(graph)))
    assert graph.edges.dtype == np.int64
    assert graph.squared.dtype == graph.masses.dtype == np.float64
    assert (graph.squared > 0).all()
    assert len(graph.squared) == len(graph.edges)
    assert graph.masses.sum() == n_samples == len(graph.point_of)
    assert (graph.point_of[graph.representative] == np.arange(graph.n_points)).all()
    assert (graph.representative[graph.point_of] <= np.arange(n_samples)).all()


@pytest.mark.parametrize("extra_edges", [False, True])
@pytest.mark.parametrize("n_features", [2, 30])
def test_all_kinds_of_input_agree_with_brute_force(rng, n_features, extra_edges):
    X = rng.normal(size=(60, n_features)) + 100
    squared = differences(X)
    expected = edges_by_hand(squared, 4, extra_edges)
    D = np.sqrt(squared)
    for data, metric in [
        (X, "euclidean"),
        (X, "l2"),
        (X, "minkowski"),
        (X.tolist(), "euclidean"),
        (sp.csr_matrix(X), "euclidean"),
        (sp.coo_array(X), "euclidean"),
        (D, "precomputed"),
        (D.tolist(), "precomputed"),
    ]:
        graph = neighbor_graph(data, 4, metric=metric, extra_edges=extra_edges)
        assert_is_graph(graph, 60)
        assert as_pairs(graph) == expected
        np.testing.assert_allclose(graph.squared, squared[tuple(graph.edges.T)], rtol=1e-14)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
def test_other_metrics(rng, metric):
    X = rng.normal(size=(40, 3))
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    for extra_edges in (False, True):
        graph = neighbor_graph(X, 3, metric=metric, extra_edges=extra_edges)
        assert as_pairs(graph) == edges_by_hand(D, 3, extra_edges)
        np.testing.assert_allclose(graph.squared, D[tuple(graph.edges.T)] ** 2, rtol=1e-9)


def test_callable_metric(rng):
    X = rng.normal(size=(20, 2))

    def metric(a, b):
        return 2 * np.abs(a - b).max()

    graph = neighbor_graph(X, 2, metric=metric)
    plain = neighbor_graph(X, 2, metric="chebyshev")
    assert as_pairs(graph) == as_pairs(plain)
    np.testing.assert_allclose(graph.squared, 4 * plain.squared)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(
        np.int64, st.tuples(st.integers(3, 12), st.integers(1, 3)), elements=st.integers(0, 3)
    ),
    k=st.integers(1, 4),
)
def test_grids_with_ties_and_duplicates(X, k):
    """Points are the distinct rows by first appearance, neighbours are found among them."""
    rows = list(dict.fromkeys(map(tuple, X.tolist())))
    if k >= len(rows):
        with pytest.raises(ValueError, match="same point" if len(rows) == 1 else "too large"):
            neighbor_graph(X, k)
        return
    points = np.array(rows, dtype=float)
    squared = differences(points)
    expected = edges_by_hand(squared, k)
    D = np.sqrt(differences(X.astype(float)))
    for data, metric in [(X, "euclidean"), (sp.csr_array(X), "euclidean"), (D, "precomputed")]:
        graph = neighbor_graph(data, k, metric=metric)
        assert_is_graph(graph, len(X))
        assert graph.point_of.tolist() == [rows.index(row) for row in map(tuple, X.tolist())]
        assert as_pairs(graph) == expected
        np.testing.assert_allclose(graph.squared, squared[tuple(graph.edges.T)], rtol=1e-15)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 5), exponent=st.integers(-100, 100))
def test_units_and_order_do_not_matter(seed, k, exponent):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 2))
    order = rng.permutation(15)
    graph = neighbor_graph(X, k)
    assert as_pairs(neighbor_graph(X * 2.0**exponent, k)) == as_pairs(graph)
    shuffled = neighbor_graph(X[order], k)
    assert {frozenset(order[e].tolist()) for e in shuffled.edges} == set(
        map(frozenset, as_pairs(graph))
    )
    assert sorted(shuffled.squared) == sorted(graph.squared)


@pytest.mark.parametrize("n_features", [2, 30])
def test_close_points_far_from_the_origin_keep_their_accuracy(rng, n_features):
    X = np.repeat(rng.integers(-9, 9, size=(20, n_features)), 2, axis=0) + 2.0**32
    X[::2, 0] += 2.0**-15
    graph = neighbor_graph(X, 1)
    assert as_pairs(graph)[:2] == [(0, 1), (2, 3)]
    assert (graph.squared == 2.0**-30).all()


@pytest.mark.parametrize("block", [1, 50])
def test_blocks_do_not_matter(rng, monkeypatch, block):
    X = rng.normal(size=(30, 4))
    D = cdist(X, X)
    whole = neighbor_graph(X, 3)
    monkeypatch.setattr(_neighbors, "BLOCK", block)
    for data, metric in [(X, "euclidean"), (D, "precomputed")]:
        assert as_pairs(neighbor_graph(data, 3, metric=metric)) == as_pairs(whole)
    np.testing.assert_array_equal(neighbor_graph(X, 3).squared, whole.squared)
    D[20, 7] = D[7, 20] = 1.0
    D[20, 25] = 9.0
    with pytest.raises(ValueError, match=r"X\[20, 25\] = 9 and X\[25, 20\]"):
        neighbor_graph(D, 3, metric="precomputed")


@pytest.mark.parametrize("gap", [1e-14, 1e-170, 1e-300])
def test_points_that_rounding_cannot_tell_apart_are_merged(rng, gap):
    """Also along a chain, and where it leaves too few neighbours for the first search."""
    X = rng.normal(size=(12, 2))
    X[5:] = [0.0, 0.0]
    X[5:, 0] = np.arange(7) * gap
    for data, metric in [(X, "euclidean"), (np.sqrt(differences(X)), "precomputed")]:
        graph = neighbor_graph(data, 2, metric=metric)
        assert_is_graph(graph, 12)
        assert graph.point_of.tolist() == [0, 1, 2, 3, 4] + 7 * [5]
        assert graph.masses.tolist() == 5 * [1.0] + [7.0]
        assert as_pairs(graph) == edges_by_hand(differences(X[:6]), 2)


def test_points_that_the_metric_does_not_tell_apart_are_merged(rng):
    """Ten multiples of each of five rows: for the cosine five points."""
    rows = rng.normal(size=(5, 3))
    X = np.concatenate([rows * factor for factor in np.linspace(1, 7, 10)])
    graph = neighbor_graph(X, 2, metric="cosine")
    assert graph.point_of.tolist() == 10 * [0, 1, 2, 3, 4]
    assert as_pairs(graph) == edges_by_hand(cdist(rows, rows, "cosine"), 2)


def test_negative_zero_is_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, -0.0], [5.0, 5.0]])
    for data in (X, sp.csr_matrix(X)):
        assert neighbor_graph(data, 1).point_of.tolist() == [0, 0, 1, 1, 2]


def test_zero_distances_merge_transitively():
    D = np.array([[0, 0, 1, 3], [0, 0, 0, 3], [1, 0, 0, 3], [3, 3, 3, 0]], dtype=float)
    graph = neighbor_graph(D, 1, metric="precomputed")
    assert graph.point_of.tolist() == [0, 0, 0, 1]
    assert as_pairs(graph) == [(0, 1)]
    assert graph.squared.tolist() == [9.0]


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.csc_array])
def test_sparse_graph_is_the_graph(rng, form, include_self):
    X = rng.normal(size=(40, 2))
    stored = kneighbors_graph(X, 4 + include_self, mode="distance", include_self=include_self)
    expected = neighbor_graph(X, 4)
    for data in (form(stored), form(stored.maximum(stored.T)), form(sp.triu(stored + 0 * stored))):
        graph = neighbor_graph(data, 99, metric="precomputed")
        pairs = {tuple(sorted(p)) for p in np.argwhere(data.toarray()).tolist()}
        assert as_pairs(graph) == sorted(pairs)
        assert pairs <= set(as_pairs(expected))
        squared = differences(X)[tuple(graph.edges.T)]
        np.testing.assert_allclose(graph.squared, squared, rtol=1e-13)
    assert as_pairs(neighbor_graph(form(stored), metric="precomputed")) == as_pairs(expected)


def test_sparse_graph_merges_stored_zeros_and_keeps_the_shortest_edge():
    rows, columns, values = [0, 1, 0, 3], [1, 2, 2, 2], [0.0, 2.0, 3.0, 5.0]
    data = sp.coo_array((values, (rows, columns)), shape=(4, 4))
    graph = neighbor_graph(data, metric="precomputed")
    assert_is_graph(graph, 4)
    assert graph.point_of.tolist() == [0, 0, 1, 2]
    assert as_pairs(graph) == [(0, 1), (1, 2)]
    assert graph.squared.tolist() == [4.0, 25.0]


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_input_is_left_alone(metric):
    """A CSR matrix out of order, with an entry in two parts and a stored zero."""
    parts = np.array([1.0, 2.0, 4.0, 0.0]), np.array([3, 1, 1, 2]), np.array([0, 3, 4, 4, 4])
    X = sp.csr_array(parts, shape=(4, 4), copy=True)
    graph = neighbor_graph(X, 1, metric=metric)
    for before, after in zip(parts, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(after, before)
    if metric == "precomputed":
        assert as_pairs(graph) == [(0, 1), (0, 2)]
        assert graph.squared.tolist() == [36.0, 1.0]


def test_components_and_restriction(rng):
    X = rng.normal(size=(24, 2))
    X[8:15] += 50
    X[15:] -= 50
    X[20], X[9] = X[16], X[8]
    X = X[rng.permutation(24)]
    graph = neighbor_graph(X, 3)
    count, labels = graph.components()
    assert count == 3
    for label in range(count):
        points = np.flatnonzero(labels == label)
        samples = np.flatnonzero(labels[graph.point_of] == label)
        part, alone = graph.restrict(points), neighbor_graph(X[samples], 3)
        assert_is_graph(part, len(samples))
        for name in ("edges", "squared", "masses", "point_of", "representative"):
            np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))


def islands(sizes, gap):
    """Pieces of a line, one unit between neighbours, far from each other."""
    starts = np.arange(len(sizes)) * gap
    return np.concatenate([s + np.arange(n) for s, n in zip(starts, sizes, strict=True)])[:, None]


def test_disconnected_graph_is_refused_with_a_number_that_helps():
    X = islands([5, 12, 8], 40.0)
    for data, metric in [(X, "euclidean"), (cdist(X, X), "precomputed")]:
        graph = neighbor_graph(data, 3, metric=metric)
        with pytest.raises(ValueError, match="neighbour graph has 3 components") as error:
            require_connected(graph, data, 3, metric=metric)
        assert str(error.value) == (
            "the neighbour graph has 3 components of 12, 8 and 5 samples (the smallest holds "
            "samples 0, 1, 2, ...); raise n_neighbors (3 now; 8 connects them), or set "
            "on_disconnected='separate' to unfold each alone"
        )
        assert neighbor_graph(data, 7, metric=metric).components()[0] > 1
        assert neighbor_graph(data, 8, metric=metric).components()[0] == 1


def test_disconnected_graph_without_a_cheap_answer(monkeypatch):
    X = islands([20, 20], 99.0)
    graph = neighbor_graph(X, 2)
    with pytest.raises(ValueError, match=r"raise n_neighbors \(2 now\), or"):
        require_connected(graph, X, 2)
    X = islands([4, 4], 99.0)
    graph = neighbor_graph(X, 2)
    with pytest.raises(ValueError, match=r"2 now; 4 connects them"):
        require_connected(graph, X, 2)
    near = islands([3, 3], 99.0)
    with pytest.raises(ValueError, match=r"2 now; 3 connects them"):
        require_connected(neighbor_graph(near, 2), near, 2)
    monkeypatch.setattr(module, "CHEAP", 10)
    with pytest.raises(ValueError, match=r"raise n_neighbors \(2 now\), or"):
        require_connected(graph, X, 2)
    stored = kneighbors_graph(X, 2, mode="distance")
    with pytest.raises(ValueError, match="add edges between them to X, or set on_disconnected"):
        require_connected(
            neighbor_graph(stored, metric="precomputed"), stored, 2, metric="precomputed"
        )


def test_connected_graph_passes():
    X = make_swiss_roll(200, random_state=0)[0]
    graph = neighbor_graph(X)
    require_connected(graph, X, 6)
    assert describe_components(graph) == "1 component of 200 samples"


def shortest_spanning_edges(D, labels):
    """Kruskal's algorithm over all pairs of points of different components."""
    labels, chosen = labels.copy(), []
    pairs = zip(*np.triu_indices(len(D), 1), strict=True)
    for i, j in sorted(pairs, key=lambda pair: D[pair]):
        if labels[i] != labels[j]:
            chosen.append((i, j))
            labels[labels == labels[j]] = labels[i]
    return chosen


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_components_are_connected_by_a_minimum_spanning_tree(rng, metric, form):
    X = np.vstack(
        [rng.normal(size=(n, 3)) + shift for n, shift in [(9, 0), (5, 40), (7, 90), (6, 99)]]
    )
    X = X[rng.permutation(len(X))]
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    data = D if metric == "precomputed" else form(X)
    graph = neighbor_graph(data, 3, metric=metric)
    assert graph.components()[0] == 4
    connected = connect_components(graph, data, 1, metric=metric)
    assert connected.components()[0] == 1
    before, after = (set(map(tuple, each.edges.tolist())) for each in (graph, connected))
    assert before < after
    assert after - before == set(shortest_spanning_edges(D, graph.components()[1]))
    assert connected.edges.tolist() == sorted(connected.edges.tolist())
    np.testing.assert_allclose(connected.squared, D[tuple(connected.edges.T)] ** 2)
    np.testing.assert_array_equal(connected.point_of, graph.point_of)
    assert connect_components(connected, data, metric=metric) is connected


@pytest.mark.parametrize("k", [2, 3, 20])
def test_components_are_connected_by_their_shortest_edges(rng, k):
    X = np.vstack([rng.normal(size=(n, 2)) + shift for n, shift in [(9, 0), (5, 40), (7, 90)]])
    D, graph = cdist(X, X), neighbor_graph(X, 3)
    labels, expected = graph.components()[1], set(map(tuple, graph.edges.tolist()))
    for label in (1, 2):  # the largest component is the first
        inside = labels == label
        pairs = [(i, j) for i in np.flatnonzero(inside) for j in np.flatnonzero(~inside)]
        shortest = sorted(pairs, key=lambda pair: D[pair])[:k]
        expected |= {(int(min(pair)), int(max(pair))) for pair in shortest}
    connected = connect_components(graph, X, k)
    assert set(map(tuple, connected.edges.tolist())) == expected
    assert connected.components()[0] == 1


def test_connecting_counts_coinciding_samples_once(rng):
    X = np.vstack([rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 50])
    X = np.repeat(X, 3, axis=0)
    connected = connect_components(neighbor_graph(X, 2), X, 2)
    assert connected.components()[0] == 1
    assert connected.n_points == 10
    np.testing.assert_array_equal(connected.masses, 3)


def test_components_that_are_too_far_apart_are_not_connected(rng):
    X = np.vstack([rng.normal(size=(5, 2)), 1e14 + 100 * rng.normal(size=(5, 2))])
    with pytest.raises(ValueError, match=r"too far apart .* set on_disconnected='separate'"):
        connect_components(neighbor_graph(X, 2), X, 2)
    X = np.vstack([rng.normal(size=(5, 2)), 1e155 + 1e141 * rng.normal(size=(5, 2))])
    X[:5] *= 1e141
    with pytest.raises(ValueError, match="overflow in float64; divide X by a constant"):
        connect_components(neighbor_graph(X, 2), X, 2)


def test_sparse_graphs_are_not_connected(rng):
    X = np.vstack([rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 50])
    stored = kneighbors_graph(X, 2, mode="distance")
    graph = neighbor_graph(stored, metric="precomputed")
    with pytest.raises(
        ValueError, match=r"2 components .* add edges between them to X, or set on_disc"
    ):
        connect_components(graph, stored, metric="precomputed")


def test_many_components_are_summed_up():
    graph = neighbor_graph(islands([2, 2, 3, 4, 5, 6, 7, 2], 99.0), 1)
    words = describe_components(graph)
    assert words.startswith("8 components of 7, 6, 5, 4 and 4 smaller ones: 3 to 2 samples (the")
    assert words.endswith("holds samples 0, 1)")


def entry(D, i, j, value):
    D = D.copy()
    D[i, j] = value
    return D


DISTANCES = cdist(np.arange(6.0)[:, None], np.arange(6.0)[:, None])


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
@pytest.mark.parametrize(
    ("i", "j", "value", "words"),
    [
        (
            1,
            3,
            -2.0,
            r"X\[1, 3\] = -2.0 is not a distance; entries must be non-negative and finite",
        ),
        (4, 2, np.nan, r"X\[4, 2\] = nan is not a distance"),
        (0, 5, np.inf, r"X\[0, 5\] = inf is not a distance"),
        (2, 2, 0.5, r"X\[2, 2\] = 0.5; the distance of a sample to itself must be 0"),
        (1, 4, 3.5, r"X is not symmetric: X\[1, 4\] = 3.5 and X\[4, 1\] = 3; pass \(X"),
        (4, 1, 3.00001, r"X\[1, 4\] = 3 and X\[4, 1\] = 3.00001; pass \(X \+ X.T\) / 2"),
    ],
)
def test_entries_that_are_no_distances(form, i, j, value, words):
    with pytest.raises(ValueError, match=words):
        neighbor_graph(form(entry(DISTANCES, i, j, value)), 2, metric="precomputed")


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_rounding_in_distances_is_forgiven(form):
    D = entry(entry(DISTANCES, 1, 2, 1 + 1e-12), 3, 3, 1e-12)
    graph = neighbor_graph(form(D), 2, metric="precomputed")
    assert (1, 2) in as_pairs(graph)


@pytest.mark.parametrize(
    ("X", "arguments", "words"),
    [
        (np.ones((30, 3)), {}, "all 30 samples are the same point; there is nothing to unfold"),
        (np.zeros((4, 4)), {"metric": "precomputed"}, "all 4 samples are the same point"),
        (np.ones((1, 3)), {}, "n_samples=1; one sample alone"),
        (np.arange(5.0)[:, None], {}, "n_neighbors=6 is too large: the 5 samples are 5 distinct"),
        (
            np.repeat(np.arange(3.0), 9)[:, None],
            {"n_neighbors": 3},
            "n_neighbors=3 is too large: the 27 samples are 3 distinct points.* at most 2",
        ),
        (np.eye(9), {"n_neighbors": 0}, "n_neighbors is 0; expected an integer of at least 1"),
        (np.eye(9), {"n_neighbors": 2.0}, "n_neighbors is 2.0; expected an integer"),
        (np.eye(9), {"n_neighbors": True}, "n_neighbors is True; expected an integer"),
        (np.eye(9), {"metric": "crow"}, "'metric' parameter .* Got 'crow'"),
        (np.eye(9), {"metric": "seuclidean"}, "metric='seuclidean' needs parameters"),
        (np.eye(9) * 1e-200, {}, "all 9 samples .* squares .* vanish in float64, multiply X by a"),
        (np.eye(9) * 1e200, {}, "squares .* overflow in float64; divide X by a constant"),
        (np.ones((3, 4)), {"metric": "precomputed"}, r"shape \(3, 4\); .* must be square"),
        (sp.csr_array((3, 4)), {"metric": "precomputed"}, r"shape \(3, 4\); .* must be square"),
        (sp.csr_array((4, 4)), {"metric": "precomputed"}, "sparse graph without edges"),
        (
            sp.csr_array(DISTANCES),
            {"metric": "precomputed", "extra_edges": True},
            "extra_edges=True needs the distances between the neighbours",
        ),
        (np.full((9, 2), np.nan), {}, "NaN"),
    ],
)
def test_refusals(X, arguments, words):
    with pytest.raises(ValueError, match=words):
        neighbor_graph(X, **arguments)


def test_memory_stays_linear():
    """A square of the samples would be 800 MB."""
    X = make_swiss_roll(10_000, random_state=0)[0]
    tracemalloc.start()
    graph = neighbor_graph(X, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6
    assert graph.n_points == 10_000
    assert 25_000 <= len(graph.edges) <= 50_000
