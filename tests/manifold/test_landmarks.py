import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold import MaximumVarianceUnfolding
from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.landmarks import Landmarks


def path(lengths):
    edges = np.column_stack([np.arange(len(lengths)), np.arange(1, len(lengths) + 1)])
    return NeighborGraph.of(edges, np.asarray(lengths) ** 2, np.arange(len(lengths) + 1))


def landmarks_of(graph, n, seed=0):
    return Landmarks.of(graph, n, np.random.RandomState(seed))


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(500, random_state=0)[0]


@pytest.fixture(scope="module")
def exact(roll):
    return MaximumVarianceUnfolding().fit(roll)


def relative_error(Y, expected):
    """After the best motion, relative to the radius."""
    Y, expected = Y - Y.mean(axis=0), expected - expected.mean(axis=0)
    left, _, right = np.linalg.svd(Y.T @ expected)
    return np.linalg.norm(Y @ left @ right - expected) / np.linalg.norm(expected)


def test_ways_run_along_the_graph(rng):
    lengths = rng.uniform(0.5, 2.0, size=30)
    line = np.r_[0, np.cumsum(lengths)]
    chosen = landmarks_of(path(lengths), 6)
    np.testing.assert_allclose(chosen.path_lengths, np.abs(line[chosen.chosen][:, None] - line))
    assert (np.diff(chosen.chosen) > 0).all()


def test_on_a_path_the_landmarks_are_a_path(rng):
    lengths = rng.uniform(0.5, 2.0, size=40)
    line = np.r_[0, np.cumsum(lengths)]
    found = landmarks_of(path(lengths), 7)
    at = line[found.chosen]
    expected = np.column_stack([np.arange(6), np.arange(1, 7)])
    np.testing.assert_array_equal(found.graph.edges, expected)
    np.testing.assert_allclose(found.graph.squared, np.diff(at) ** 2)
    cell = np.abs(line[:, None] - at).argmin(axis=1)
    np.testing.assert_array_equal(found.graph.masses, np.bincount(cell))
    # the coordinates of the landmarks are those of the line, so all points get their own
    np.testing.assert_allclose(found.place(at[:, None])[:, 0], line, atol=1e-8)


def test_the_graph_is_connected_and_weighs_as_much(roll):
    graph = neighbor_graph(np.vstack([roll, roll[:50]]))
    for n in (3, 20, 300):
        small = landmarks_of(graph, n).graph
        assert small.n_points == n
        assert small.components()[0] == 1
        assert small.masses.sum() == 550
        assert (small.masses >= 1).all()
        assert (small.edges[:, 0] < small.edges[:, 1]).all()


def test_edges_allow_what_the_whole_graph_allows(roll, exact):
    """No edge between landmarks is shorter than in the exact unfolding."""
    found = landmarks_of(exact.graph_, 60)
    Y = exact.full_embedding_[found.chosen]
    i, j = found.graph.edges.T
    assert (((Y[i] - Y[j]) ** 2).sum(axis=1) <= found.graph.squared * (1 + 1e-9)).all()


def test_landmarks_keep_their_places(roll, rng):
    found = landmarks_of(neighbor_graph(roll), 40)
    Y = rng.normal(size=(40, 2))
    placed = found.place(Y)
    assert placed.shape == (500, 2)
    np.testing.assert_array_equal(placed[found.chosen], Y)


@pytest.mark.parametrize(("n", "bound"), [(50, 0.2), (100, 0.14), (250, 0.09)])
def test_close_to_the_exact_unfolding(roll, exact, n, bound):
    found = MaximumVarianceUnfolding(n_landmarks=n, random_state=0).fit(roll)
    assert found.status_ == "optimal"
    assert found.dual_coef_ is None
    assert found.certificate_.relative_gap <= 1e-5
    assert relative_error(found.embedding_, exact.embedding_) < bound
    np.testing.assert_array_equal(found.transform(roll), found.embedding_)


def test_enough_landmarks_are_the_exact_problem(roll, exact):
    for n in (500, 10_000):
        same = MaximumVarianceUnfolding(n_landmarks=n).fit(roll)
        np.testing.assert_array_equal(same.embedding_, exact.embedding_)
        np.testing.assert_array_equal(same.dual_coef_, exact.dual_coef_)
        assert same.certificate_ == exact.certificate_


def test_the_choice_is_that_of_random_state(roll):
    one, same, other = (
        MaximumVarianceUnfolding(n_landmarks=40, random_state=seed).fit_transform(roll)
        for seed in (0, np.random.RandomState(0), 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_landmarks_of_each_component(roll):
    X = np.vstack([roll[:150], roll[:150] + 500, roll[:15] - 500])
    found = MaximumVarianceUnfolding(
        n_landmarks=30, random_state=0, on_disconnected="separate"
    ).fit(X)
    assert found.status_ == "optimal"
    assert found.dual_coef_ is None
    assert found.embedding_.shape == (315, 2)
    np.testing.assert_array_equal(found.transform(X), found.embedding_)


def test_memory_is_that_of_the_landmarks():
    """A square of the points would be 200 MB."""
    graph = neighbor_graph(make_swiss_roll(5000, random_state=0)[0])
    tracemalloc.start()
    found = landmarks_of(graph, 40)
    found.place(np.zeros((40, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.path_lengths.shape == (40, 5000)
    assert peak < 60e6
