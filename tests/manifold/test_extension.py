import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from frobmetric.manifold.extension import Extension
from frobmetric.manifold.graph import neighbor_graph
from frobmetric.search import exact as _neighbors


def flat(rng, n, n_dimensions, n_features=10):
    """Points of a plane: their coordinates in it, and in the space around it."""
    Y = rng.uniform(-1, 1, size=(n, n_dimensions))
    frame = np.linalg.qr(rng.normal(size=(n_features, n_dimensions)))[0]
    return Y @ frame.T + rng.normal(size=n_features), Y


def roll(n, noise=0.0):
    """A swiss roll and its coordinates along the sheet: the arc length of r = t, and the width."""
    X, t = make_swiss_roll(n, noise=noise, random_state=0)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return X, np.column_stack([arc, X[:, 1]])


def relative_error(placed, Y):
    radius2 = ((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean()
    return np.sqrt(((placed - Y) ** 2).sum(axis=1).mean() / radius2)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_dimensions=st.integers(1, 4))
def test_exact_on_flat_data(seed, n_dimensions):
    rng = np.random.default_rng(seed)
    X, Y = flat(rng, 120, n_dimensions)
    placed = Extension(X[:90], Y[:90], 6).place(X[90:])
    np.testing.assert_allclose(placed, Y[90:], rtol=0, atol=1e-10)


def test_exact_for_any_affine_embedding(rng):
    """Not only for isometric ones: shrunk by different factors, sheared, shifted."""
    X, Y = flat(rng, 100, 3)
    Y = Y @ np.array([[0.2, 0.0, 1.0], [3.0, 0.5, 0.0], [0.0, 0.1, 2.0]]) + 7
    np.testing.assert_allclose(Extension(X[:80], Y[:80]).place(X[80:]), Y[80:], atol=1e-9)


def test_fewer_components_than_the_sheet_has(rng):
    """The first coordinate of a sheet alone: the other direction must be seen, too."""
    X, Y = flat(rng, 400, 2)
    inside = np.flatnonzero((np.abs(Y) < 0.8).all(axis=1) & (np.arange(400) >= 350))
    placed = Extension(X[:350], Y[:350, :1]).place(X[inside])
    assert np.abs(placed - Y[inside, :1]).max() < 0.02


def test_training_points_keep_their_places(rng):
    X, Y = roll(150)
    for data, metric in [
        (X, "euclidean"),
        (sp.csr_array(X), "euclidean"),
        (X, "manhattan"),
        (cdist(X, X), "precomputed"),
    ]:
        np.testing.assert_array_equal(Extension(data, Y, 6, metric).place(data), Y)


def test_duplicates_share_a_point(rng):
    X, Y = roll(60)
    X = X[rng.integers(0, 60, size=100)]
    graph = neighbor_graph(X, 5)
    Y = rng.normal(size=(graph.n_points, 2))
    new = X[:40] + 0.1 * rng.normal(size=(40, 3))
    rows = Extension(X, Y, 5, representative=graph.representative)
    np.testing.assert_array_equal(rows.place(X), Y[graph.point_of])
    distances = Extension(cdist(X, X), Y, 5, "precomputed", representative=graph.representative)
    np.testing.assert_array_equal(distances.place(cdist(X, X)), Y[graph.point_of])
    np.testing.assert_allclose(distances.place(cdist(new, X)), rows.place(new), rtol=1e-8)


def test_samples_merged_by_rounding_share_a_place(rng):
    X = rng.normal(size=(40, 3))
    X[20:] = X[:20] + 1e-15
    graph = neighbor_graph(X, 5)
    Y = rng.normal(size=(graph.n_points, 2))
    placed = Extension(X, Y, 5, representative=graph.representative).place(X)
    assert graph.n_points == 20
    np.testing.assert_array_equal(placed, Y[graph.point_of])


def test_duplicate_neighbors_have_a_defined_answer(rng):
    """Points that should have been merged: all neighbours in one place, or in two."""
    X = np.repeat([[0.0, 0.0], [4.0, 0.0]], 10, axis=0)
    Y = np.repeat([[1.0], [5.0]], 10, axis=0)
    extension = Extension(X, Y, 4)
    np.testing.assert_allclose(extension.place(np.array([[1.0, 0.0]])), [[1.0]])
    np.testing.assert_allclose(
        Extension(X, Y, 10).place(np.array([[1.0, 0.0], [0.0, 3.0]])), [[2.0], [1.0]]
    )
    np.testing.assert_array_equal(extension.place(X), Y)


def test_close_to_a_training_point_is_close_to_its_place():
    X, Y = roll(300, noise=0.3)
    extension = Extension(X, Y)
    direction = np.array([0.6, 0.0, 0.8])
    for h in (1e-2, 1e-4, 1e-6, 1e-8):
        assert np.abs(extension.place(X + h * direction) - Y).max() < 20 * h


def test_swiss_roll_between_its_points():
    X, Y = roll(1000)
    placed = Extension(X[:900], Y[:900]).place(X[900:])
    assert relative_error(placed, Y[900:]) < 1e-3


def test_noise_across_the_sheet_is_not_followed(rng):
    """A sheet with noise in ten directions: a map that follows them all is off by 0.1."""
    X, Y = flat(rng, 1000, 2)
    X = X + 0.02 * rng.normal(size=X.shape)
    placed = Extension(X[:900], Y[:900]).place(X[900:])
    assert relative_error(placed, Y[900:]) < 0.05


def test_distances_agree_with_coordinates():
    X, Y = roll(200)
    rows = Extension(X[:150], Y[:150]).place(X[150:])
    D = cdist(X[:150], X[:150])
    given = Extension(D, Y[:150], metric="precomputed").place(cdist(X[150:], X[:150]))
    np.testing.assert_allclose(given, rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("train", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("new", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_sparse_agrees_with_dense(rng, train, new):
    X = np.where(rng.random((80, 6)) < 0.5, 0.0, rng.normal(size=(80, 6)))
    Y = rng.normal(size=(60, 2))
    expected = Extension(X[:60], Y).place(X[60:])
    np.testing.assert_allclose(Extension(train(X[:60]), Y).place(new(X[60:])), expected, rtol=1e-8)


def test_far_away_the_map_is_continued(rng):
    X, Y = flat(rng, 50, 2)
    far = X[:1] + 1e6 * (X[1:2] - X[:1])
    expected = Y[:1] + 1e6 * (Y[1:2] - Y[:1])
    np.testing.assert_allclose(Extension(X, Y).place(far), expected, rtol=1e-6)


def test_off_the_sheet_is_projected(rng):
    X, Y = flat(rng, 50, 2)
    normal = np.linalg.svd(X - X.mean(axis=0))[2][-1]
    placed = Extension(X, Y, 25).place(X[:5] + 3 * normal)
    np.testing.assert_allclose(placed, Y[:5], atol=1e-9)


@pytest.mark.parametrize("block", [1, 1 << 22])
def test_too_far_is_refused(rng, monkeypatch, block):
    monkeypatch.setattr(_neighbors, "BLOCK", block)
    X, Y = flat(rng, 50, 2)
    for n_features in (2, 10):
        new = X[:3, :n_features].copy()
        new[1] = 1e200
        with pytest.raises(ValueError, match=r"new sample 1 is so far .* overflow; check"):
            Extension(X[:, :n_features], Y).place(new)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_fewer_neighbors_than_dimensions(rng, n):
    """With n points the answer lies in their affine hull, and is exact on it."""
    X, Y = flat(rng, n, 5)
    share = rng.dirichlet(np.ones(n), size=7)
    np.testing.assert_allclose(Extension(X, Y, 1).place(share @ X), share @ Y, atol=1e-9)
    assert np.isfinite(Extension(X, Y, 1).place(rng.normal(size=(5, 10)))).all()


def test_components_are_not_mixed(rng):
    """Two sheets side by side in the data, far apart and turned in the embedding."""
    X, Y = flat(rng, 200, 2)
    component = np.arange(200) % 2
    shifted = X + 3 * component[:, None]
    Y[component == 1] = 100 - Y[component == 1]
    train = np.arange(200) < 160
    mixed = Extension(shifted[train], Y[train], 60, component=component[train])
    np.testing.assert_allclose(mixed.place(shifted[~train]), Y[~train], atol=1e-9)


def test_blocks_do_not_matter(rng, monkeypatch):
    X, Y = roll(100)
    extension = Extension(X[:80], Y[:80])
    whole = extension.place(X[80:])
    monkeypatch.setattr(_neighbors, "BLOCK", 400)
    np.testing.assert_allclose(extension.place(X[80:]), whole, rtol=1e-12)


def test_units_of_the_data_do_not_matter():
    X, Y = roll(100)
    expected = Extension(X[:80], Y[:80]).place(X[80:])
    for unit in (1e-100, 1e100):
        placed = Extension(X[:80] * unit, Y[:80]).place(X[80:] * unit)
        np.testing.assert_allclose(placed, expected, rtol=1e-9)


def test_survives_pickling():
    X, Y = roll(60)
    extension = Extension(X[:50], Y[:50])
    expected = extension.place(X[50:])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(extension)).place(X[50:]), expected)


def test_a_sparse_graph_places_nothing(rng):
    X, Y = flat(rng, 30, 2)
    stored = kneighbors_graph(X, 4, mode="distance")
    with pytest.raises(ValueError, match=r"cannot be placed: .* sparse graph"):
        Extension(stored, Y, metric="precomputed").place(cdist(X, X))
