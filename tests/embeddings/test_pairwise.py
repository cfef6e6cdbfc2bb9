"""Pairs under an adapter: distances, thresholds with a promise, and exact explanations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from changed_maps import forge
from frobmetric import EmbeddingAdapter, load, save
from frobmetric.embeddings import RelevantDocuments
from frobmetric.model import explain_distance
from frobmetric.neighbors import promised_threshold

N_FEATURES = 6
SETTINGS = {
    "both": {},
    "query": {"side": "query"},
    "short": {"n_components": 3},
    "any length": {"unit_length": False},
    "weights": {"structure": "diagonal"},
}


def fitted(rng, y=None, **options):
    X = rng.normal(size=(60, N_FEATURES))
    y = np.arange(60) % 3 if y is None else y
    X[:, :3] += 2 * np.eye(3)[y]
    return EmbeddingAdapter(strength=100.0, **options).fit(X, y), X


def mapped(adapter, pairs):
    return adapter.transform_query(pairs[:, 0]), adapter.transform(pairs[:, 1])


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_distances_are_those_of_mapped_vectors(rng, options):
    adapter, _ = fitted(rng, **options)
    pairs = rng.normal(size=(20, 2, N_FEATURES))
    expected = np.linalg.norm(np.subtract(*mapped(adapter, pairs)), axis=1)
    assert_allclose(adapter.pair_distance(pairs), expected, atol=1e-12)
    assert_allclose(adapter.pair_score(pairs), -expected, atol=1e-12)


def test_distances_do_not_depend_on_the_order_unless_queries_are_mapped(rng):
    pairs = rng.normal(size=(20, 2, N_FEATURES))
    adapter, _ = fitted(rng)
    assert np.array_equal(adapter.pair_distance(pairs), adapter.pair_distance(pairs[:, ::-1]))
    assert adapter.pair_distance(pairs[:1, [0, 0]])[0] == 0
    adapter, _ = fitted(rng, side="query")
    assert not np.allclose(adapter.pair_distance(pairs), adapter.pair_distance(pairs[:, ::-1]))


def test_a_zero_vector_is_at_distance_one_of_unit_vectors(rng):
    adapter, _ = fitted(rng)
    pairs = np.stack([np.zeros((4, N_FEATURES)), rng.normal(size=(4, N_FEATURES))], axis=1)
    assert_allclose(adapter.pair_distance(pairs), 1)


def verification(rng):
    """Return pairs of new objects, +1 or -1, with two identities each."""
    person = np.arange(1200) // 2
    centre = rng.normal(size=(600, N_FEATURES))
    X = centre[person] + 0.3 * rng.normal(size=(1200, N_FEATURES))
    same = np.column_stack([np.arange(0, 1200, 2), np.arange(1, 1200, 2)])
    pairs = np.vstack([same, rng.permutation(1200).reshape(-1, 2)])
    y = np.where(person[pairs[:, 0]] == person[pairs[:, 1]], 1, -1)
    return X[pairs], y, person[pairs]


def test_the_promise_is_that_of_the_function(rng):
    adapter, _ = fitted(rng)
    pairs, y, people = verification(rng)
    given = {"max_false_match": 0.05, "confidence": 0.9, "identities": people}
    assert adapter.promise_threshold(pairs, y, **given) is adapter
    promise = promised_threshold(adapter.pair_score(pairs), y, **given)
    assert adapter.promise_ == promise
    assert adapter.threshold_ == -promise.threshold
    expected = np.where(adapter.pair_score(pairs) >= promise.threshold, 1, -1)
    assert np.array_equal(adapter.predict(pairs), expected)


def test_an_impossible_promise_is_refused_and_changes_nothing(rng):
    adapter, _ = fitted(rng)
    pairs, y, people = verification(rng)
    with pytest.raises(ValueError, match="needs at least 2995 independent"):
        adapter.promise_threshold(pairs, y, max_false_match=0.001, identities=people)
    assert not hasattr(adapter, "threshold_")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_promise_on_known_vectors_warns(rng, dtype):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, N_FEATURES)).astype(np.float32)
    X[:, :3] += 2 * np.eye(3, dtype=np.float32)[y]
    adapter = EmbeddingAdapter(strength=100.0).fit(X, y)
    pairs = X[rng.permutation(60).reshape(-1, 2)].astype(dtype)
    with pytest.warns(UserWarning, match="60 of the 60 points are points that the model"):
        adapter.promise_threshold(pairs, -np.ones(30), max_false_match=0.2)


def test_queries_of_the_fit_are_known_too(rng):
    X, Q = rng.normal(size=(30, N_FEATURES)), rng.normal(size=(30, N_FEATURES))
    feedback = RelevantDocuments(Q, np.column_stack([np.arange(30), np.arange(30)]))
    adapter = EmbeddingAdapter(strength=1.0).fit(X, feedback)
    with pytest.warns(UserWarning, match="60 of the 60 points"):
        adapter.promise_threshold(np.stack([Q, X], axis=1), -np.ones(30), max_false_match=0.2)


def test_thresholds_are_set_calibrated_and_forgotten(rng):
    adapter, X = fitted(rng)
    assert not hasattr(adapter, "predict")
    with pytest.raises(AttributeError) as raised:
        adapter.predict(X[None, :2])
    assert "call promise_threshold" in str(raised.value.__cause__)
    pairs, y, people = verification(rng)
    adapter.promise_threshold(pairs, y, max_false_match=0.05, identities=people)
    adapter.calibrate_threshold(pairs, y)
    assert not hasattr(adapter, "promise_")
    assert np.mean(adapter.predict(pairs) == y) > 0.8
    assert adapter.set_threshold(0.5).threshold_ == 0.5
    with pytest.raises(ValueError, match="expected a distance"):
        adapter.set_threshold(np.nan)
    adapter.fit(X, np.arange(60) % 3)
    assert not hasattr(adapter, "threshold_")


def test_a_promise_is_part_of_the_file(rng, tmp_path):
    adapter, _ = fitted(rng, side="query")
    pairs, y, people = verification(rng)
    adapter.promise_threshold(pairs, y, max_false_match=0.05, identities=people)
    save(adapter, tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.promise_ == adapter.promise_
    assert np.array_equal(loaded.predict(pairs), adapter.predict(pairs))
    with pytest.raises(ValueError, match="is not the threshold of promise_"):
        forge(adapter, "threshold.distance", 0.1)


@pytest.mark.parametrize("by", ["features", "components", [2, 4], {"first": [0]}], ids=str)
@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_explanations_are_exact(rng, options, by):
    adapter, _ = fitted(rng, **options)
    a, b = rng.normal(size=(2, N_FEATURES))
    found = adapter.explain(a, b, by=by)
    squared = adapter.pair_distance([[a, b]])[0] ** 2
    assert_allclose([found.total, found.parts.sum()], squared, atol=1e-12)
    if by == "components":
        difference = np.subtract(*mapped(adapter, np.array([[a, b]])))[0]
        assert_allclose(found.parts, difference**2, atol=1e-12)


def test_without_unit_length_the_parts_are_those_of_a_metric(rng):
    adapter, _ = fitted(rng, unit_length=False)
    a, b = rng.normal(size=(2, N_FEATURES))
    expected = explain_distance(adapter.components_, a, b)
    assert_allclose(adapter.explain(a, b).parts, expected.parts, atol=1e-12)


def test_lengths_of_vectors_do_not_matter_at_unit_length(rng):
    adapter, _ = fitted(rng)
    a, b = rng.normal(size=(2, N_FEATURES))
    assert_allclose(adapter.explain(3 * a, b).parts, adapter.explain(a, b).parts, atol=1e-12)


@pytest.mark.parametrize("by", ["features", "components", [2, 4]], ids=str)
@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_a_search_is_explained_by_ranks_and_parts(rng, options, by):
    adapter, X = fitted(rng, **options)
    query, candidates = X[0], X[1:20]
    if by == "components" and options.get("side") == "query":
        with pytest.raises(ValueError, match="no components in common"):
            adapter.explain_search(query, candidates, by=by)
        return
    found = adapter.explain_search(query, candidates, by=by)
    pairs = np.stack(np.broadcast_arrays(query, candidates), axis=1)
    order = np.argsort(adapter.pair_distance(pairs))
    assert np.array_equal(found.rank_after[order], np.arange(1, 20))
    if adapter.unit_length:
        pairs = pairs / np.linalg.norm(pairs, axis=2, keepdims=True)
    before = np.sum((pairs[:, 0] - pairs[:, 1]) ** 2, axis=1)
    assert np.array_equal(found.rank_before[np.argsort(before)], np.arange(1, 20))
    after = adapter.pair_distance(pairs) ** 2
    change = after / after.mean() - before / before.mean()
    assert_allclose(found.moved.sum(axis=1), change, atol=1e-12)


def test_an_unchanged_embedding_moves_nothing(rng):
    X = rng.normal(size=(40, N_FEATURES))
    with pytest.warns(UserWarning, match="embedding unchanged"):
        adapter = EmbeddingAdapter().fit(X, np.arange(40) % 4)
    found = adapter.explain_search(X[0], X[1:])
    assert np.array_equal(found.rank_before, found.rank_after)
    assert_allclose(found.moved, 0, atol=1e-12)


def test_names_of_a_data_frame_name_the_parts(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.normal(size=(30, 3)), columns=["title", "text", "author"])
    adapter = EmbeddingAdapter(strength=1.0).fit(X, np.arange(30) % 3)
    assert adapter.explain(X.iloc[0], X.iloc[1]).names == ("title", "text", "author")
    assert adapter.explain(X.iloc[0], X.iloc[1], feature_names=list("abc")).names == ("a", "b", "c")
