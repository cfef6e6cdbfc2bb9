"""Stored vectors are moved towards their class only as far as held-out samples gain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from frobmetric import EmbeddingAdapter
from frobmetric.embeddings import move_stored
from frobmetric.neighbors import knn_predict


def noisy(rng, n=400, noise=0.6):
    y = np.arange(n) % 4
    return np.eye(8)[y] + noise * rng.normal(size=(n, 8)), y


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("side", ["both", "query"])
def test_moved_vectors_help_new_queries(rng, side):
    X, y = noisy(rng)
    new, y_new = noisy(rng, n=2000)
    adapter = EmbeddingAdapter(strength=10.0, side=side).fit(X, y)
    stored = move_stored(adapter, X, y)
    assert stored.share > 0
    assert stored.report.gain.interval[0] > 0
    Q = adapter.transform_query(new)
    right = [
        np.mean(knn_predict(Z, y, Q, n_neighbors=1) == y_new)
        for Z in (adapter.transform(X), stored.vectors)
    ]
    assert right[1] > right[0] + 0.02


@pytest.mark.parametrize("unit_length", [True, False])
def test_a_share_is_the_share_of_the_way_to_the_mean(rng, unit_length):
    X, y = noisy(rng)
    adapter = EmbeddingAdapter(strength=10.0, unit_length=unit_length).fit(X, y)
    stored = move_stored(adapter, X, y, shares=[0.5])
    assert stored.share == 0.5
    Z = adapter.transform(X)
    means = np.array([Z[y == c].mean(axis=0) for c in range(4)])
    expected = Z + 0.5 * ((unit(means) if unit_length else means)[y] - Z)
    assert_allclose(stored.vectors, unit(expected) if unit_length else expected, atol=1e-12)


def test_random_labels_move_nothing(rng):
    X = rng.normal(size=(200, 6))
    adapter = EmbeddingAdapter(strength=1.0).fit(X, np.arange(200) % 4)
    stored = move_stored(adapter, X, rng.integers(4, size=200))
    assert stored.share == 0
    assert_allclose(stored.vectors, adapter.transform(X))
    assert "no significant gain" in repr(stored)


@pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning")
def test_an_unchanged_embedding_can_still_be_moved(rng):
    X, y = noisy(rng)
    adapter = EmbeddingAdapter().fit(X, rng.integers(4, size=len(X)))
    assert not adapter.changed_
    assert move_stored(adapter, X, y).share > 0


def test_too_few_samples_move_nothing_and_say_why(rng):
    X, y = noisy(rng)
    adapter = EmbeddingAdapter(strength=1.0).fit(X, y)
    stored = move_stored(adapter, X[:4], y[:4])
    assert stored.share == 0
    assert "can be held out" in stored.report.line()


@pytest.mark.parametrize("shares", [[], [0.0, 0.5], [0.5, 1.5], [-0.1]])
def test_shares_are_checked(rng, shares):
    X, y = noisy(rng, n=40)
    adapter = EmbeddingAdapter(strength=1.0).fit(X, y)
    with pytest.raises(ValueError, match="expected numbers above 0 and up to 1"):
        move_stored(adapter, X, y, shares=shares)
