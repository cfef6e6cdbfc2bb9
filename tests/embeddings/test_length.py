"""Shorter vectors: bounds, kept shares, and quality against length."""

import numpy as np
import pytest

from frobmetric import EmbeddingAdapter
from frobmetric.embeddings import RelevantDocuments, quality_by_length
from frobmetric.embeddings.length import shorten


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def planted(rng, n=200):
    y = np.arange(n) % 4
    X = rng.normal(size=(n, 12))
    X[:, 8:] = 2 * np.eye(4)[y] + 0.5 * X[:, 8:]
    return X, y


@pytest.mark.parametrize("n_components", [1, 3, 6])
def test_no_squared_distance_of_unit_vectors_changes_by_more_than_the_bound(rng, n_components):
    L, X = rng.normal(size=(6, 6)), unit(rng.normal(size=(40, 6)))
    short = shorten(X @ L, L, n_components)
    full, fewer = X @ L, X @ L @ short.directions
    change = [((V[:, None] - V) ** 2).sum(axis=2) for V in (full, fewer)]
    assert np.all(change[0] - change[1] >= -1e-12)
    assert np.max(change[0] - change[1]) <= short.bound + 1e-12
    assert short.kept_share == pytest.approx((fewer**2).sum() / (full**2).sum())


def test_the_bound_is_attained(rng):
    L = rng.normal(size=(5, 5))
    short = shorten(unit(rng.normal(size=(40, 5))) @ L, L, 2)
    rest = np.linalg.svd(short.directions)[0][:, 2:]  # the directions that are left out
    worst = np.linalg.svd(L @ rest)[0][:, 0]
    a, b = worst @ L, -worst @ L
    change = ((a - b) ** 2).sum() - (((a - b) @ short.directions) ** 2).sum()
    assert change == pytest.approx(short.bound)


def test_scores_of_mapped_queries_change_by_at_most_half_the_bound(rng):
    W, Q, X = (
        rng.normal(size=(6, 6)),
        unit(rng.normal(size=(30, 6))),
        unit(rng.normal(size=(40, 6))),
    )
    short = shorten(X, W, 3, is_symmetric=False)
    V = short.directions
    change = np.abs(Q @ W @ X.T - (Q @ W @ V) @ (X @ V).T)
    assert change.max() <= short.bound / 2 + 1e-12


def test_an_adapter_with_components(rng):
    X, y = planted(rng)
    whole = EmbeddingAdapter(strength=100).fit(X, y)
    assert (whole.kept_share_, whole.truncation_bound_) == (1.0, 0.0)
    adapter = EmbeddingAdapter(strength=100, n_components=3).fit(X, y)
    assert adapter.transform(X).shape == (200, 3)
    assert adapter.get_feature_names_out().tolist() == [f"embeddingadapter{i}" for i in range(3)]
    assert 0 < adapter.kept_share_ < 1
    full, short = (unit(X) @ a.components_.T for a in (whole, adapter))
    change = [((V[:50, None] - V[:50]) ** 2).sum(axis=2) for V in (full, short)]
    assert np.max(change[0] - change[1]) <= adapter.truncation_bound_
    every = EmbeddingAdapter(strength=100, n_components=12).fit(X, y)
    assert every.truncation_bound_ == 0
    np.testing.assert_allclose(
        every.transform(X) @ every.transform(X).T, whole.transform(X) @ whole.transform(X).T
    )


def test_queries_and_documents_are_shortened_alike(rng):
    X, Q = rng.normal(size=(30, 5)), rng.normal(size=(20, 5))
    feedback = RelevantDocuments(Q, [(i, i) for i in range(20)])
    options = {"side": "query", "strength": 10}
    adapter = EmbeddingAdapter(n_components=5, **options).fit(X, feedback)
    whole = EmbeddingAdapter(**options).fit(X, feedback)
    scores = [a.transform_query(Q) @ a.transform(X).T for a in (adapter, whole)]
    np.testing.assert_allclose(*scores, atol=1e-10)


def test_quality_by_length(rng):
    X, y = planted(rng, n=400)
    adapter = EmbeddingAdapter(strength=300).fit(X[:200], y[:200])
    table = quality_by_length(adapter, X[200:], y[200:], [2, 4, 12])
    assert table.scores["adapter"][1] > table.scores["PCA"][1] > 0.2
    # the first features are noise, so that plain truncation is no better than chance
    assert table.scores["truncation"][1] < 0.4
    for way, whole in (("adapter", "adapter"), ("PCA", "unchanged"), ("truncation", "unchanged")):
        assert table.scores[way][-1] == pytest.approx(table.full[whole])
    assert str(table).splitlines()[0].split()[:3] == ["precision@3", "at", "length"]
    assert len(str(table).splitlines()) == 5
    assert "<table" in table._repr_html_()


def test_lengths_are_checked(rng):
    X, y = planted(rng)
    adapter = EmbeddingAdapter(strength=10).fit(X, y)
    for lengths in ([0], [13], [-1]):
        with pytest.raises(ValueError, match="lengths"):
            quality_by_length(adapter, X, y, lengths)
    short = EmbeddingAdapter(strength=10, n_components=2).fit(X, y)
    with pytest.raises(ValueError, match="n_components=None"):
        quality_by_length(short, X, y, [1])
