"""Nearest neighbours against a sort of all distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from frobmetric.search import exact as _neighbors
from frobmetric.search.exact import NeighborSearch, blocks, nearest, neighbor_order, pair_values
from frobmetric.search.mining import Mining
from frobmetric.search.tuning import Tuning


def by_hand(values, k, labels=None):
    """A stable sort of each row, points with the query's label left out."""
    rows = []
    for i, row in enumerate(values):
        order = [j for j in np.argsort(row, kind="stable") if np.isfinite(row[j])]
        if labels is not None:
            order = [j for j in order if labels[1][j] != labels[0][i]]
        rows.append((order + k * [-1])[:k])
    return np.array(rows)


@pytest.mark.parametrize("n_features", [2, 20])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_the_nearest_of_random_points(rng, n_features, offset):
    points = rng.normal(size=(200, n_features)) + offset
    queries = rng.normal(size=(50, n_features)) + offset
    found = nearest(queries, points, 5)
    np.testing.assert_array_equal(found, by_hand(cdist(queries, points, "sqeuclidean"), 5))


@pytest.mark.parametrize("spare", [0, 8])
@pytest.mark.parametrize("block", [1, 100, 1 << 22])
@pytest.mark.parametrize("n_features", [2, 9])
def test_ties_go_by_number(rng, monkeypatch, spare, block, n_features):
    """On a small grid with duplicates almost every choice of neighbours is one among ties."""
    monkeypatch.setattr(_neighbors, "BLOCK", block)
    points = rng.integers(2, size=(150, n_features)).astype(float) + 7
    labels = np.arange(150), np.arange(150)
    values = cdist(points, points, "sqeuclidean")
    search = NeighborSearch(points, tuning=Tuning(spare=spare))
    for k in (1, 4, 30, 149, 160):
        found = search.nearest(points, k, labels=labels)
        np.testing.assert_array_equal(found, by_hand(values, k, labels))


@pytest.mark.parametrize("spare", [0, 2])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_ties_beyond_what_the_search_found(rng, spare, n_classes):
    """More ties than spare neighbours, in large groups and in small ones searched at once."""
    X = rng.integers(0, 2, size=(90, 4)).astype(float)
    y, values = rng.integers(0, n_classes, size=90), cdist(X, X, "sqeuclidean")
    search = NeighborSearch(X, tuning=Tuning(spare=spare, few_distances=0))
    near, far = Mining(X, y, 3, 3, 0.0).exact(np.arange(90), search)
    np.fill_diagonal(values, np.inf)
    is_same = y[:, None] == y
    np.testing.assert_array_equal(near, by_hand(np.where(is_same, values, np.inf), 3))
    np.testing.assert_array_equal(far, by_hand(np.where(is_same, np.inf, values), 3))


@pytest.mark.parametrize("n_labels", [1, 2, 60])
def test_points_with_the_label_of_a_query_are_left_out(rng, n_labels):
    points, queries = rng.normal(size=(120, 3)), rng.normal(size=(40, 3))
    labels = rng.integers(n_labels, size=40), rng.integers(n_labels, size=120)
    expected = by_hand(cdist(queries, points, "sqeuclidean"), 6, labels)
    np.testing.assert_array_equal(nearest(queries, points, 6, labels=labels), expected)


def test_within_a_tie_the_smallest_numbers_are_chosen():
    points = np.array([[1.0 + 1e-9], [-1.0], [1.0], [0.5], [5.0]])
    zero = np.zeros((1, 1))
    assert nearest(zero, points, 2).tolist() == [[3, 1]]
    assert nearest(zero, points, 2, tie=1e-8).tolist() == [[3, 0]]
    assert nearest(zero, points, 3, tie=1e-8).tolist() == [[3, 1, 0]]  # the nearest first


@pytest.mark.parametrize("unit", [2.0**-530, 2.0**530])
def test_squares_may_overflow(rng, unit):
    points = rng.integers(9, size=(60, 4)) * unit
    values = cdist(points / unit, points / unit, "sqeuclidean")
    np.testing.assert_array_equal(nearest(points, points, 4), by_hand(values, 4))


def test_single_precision_is_compared_in_double(rng):
    points = rng.normal(size=(100, 8)).astype(np.float32) + np.float32(100)
    values = cdist(points.astype(float), points.astype(float), "sqeuclidean")
    np.testing.assert_array_equal(nearest(points, points, 9), by_hand(values, 9))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "precomputed"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_other_metrics_and_sparse_points(rng, metric, is_sparse):
    points = rng.integers(3, size=(90, 5)) * 1.0
    if metric == "cosine":  # equal angles are not equal numbers
        points = rng.random((90, 5))
    values = cdist(points, points, "cityblock" if metric == "precomputed" else metric)
    given_points = values if metric == "precomputed" else points
    if is_sparse and metric != "precomputed":
        given_points = sp.csr_array(given_points)
    found = NeighborSearch(given_points, metric=metric).nearest(given_points, 3)
    np.testing.assert_array_equal(found, by_hand(values, 3))


def test_a_function_is_a_metric(rng):
    def metric(a, b):
        return abs(a - b).max()

    points = rng.normal(size=(40, 3))
    found = NeighborSearch(points, metric=metric).nearest(points[:9], 3)
    np.testing.assert_array_equal(found, by_hand(cdist(points[:9], points, "chebyshev"), 3))


def test_no_queries_have_no_neighbours(rng):
    assert nearest(np.empty((0, 3)), rng.normal(size=(40, 3)), 2).shape == (0, 2)


def test_pairs_of_close_points_are_accurate():
    points = np.array([[2.0**40, 0.0], [2.0**40 + 2.0**-10, 0.0]])
    pairs = np.array([[0, 1], [1, 1]])
    assert pair_values(points, points, pairs).tolist() == [2.0**-20, 0.0]
    assert pair_values(sp.csr_array(points), sp.csr_array(points), pairs)[0] == 2.0**-20
    assert pair_values(points, points, pairs, "cityblock").tolist() == [2.0**-10, 0.0]


def test_all_points_in_order():
    distances = np.array([[0.0, 2.0, 1.0, 2.0 + 1e-12], [5.0, 0.0, 5.0, 1.0]])
    assert neighbor_order(distances, np.array([0, 1])).tolist() == [[2, 1, 3], [3, 0, 2]]


def test_blocks_are_all_rows(monkeypatch):
    monkeypatch.setattr(_neighbors, "BLOCK", 10)
    assert list(blocks(5, 4)) == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert list(blocks(2, 99)) == [slice(0, 1), slice(1, 2)]


def test_sparse_points_without_ties(rng):
    points = rng.random((60, 8)) * (rng.random((60, 8)) < 0.5)
    found = nearest(sp.csr_array(points[:9]), sp.csr_array(points), 3)
    np.testing.assert_array_equal(found, by_hand(cdist(points[:9], points), 3))
