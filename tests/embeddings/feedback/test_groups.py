"""Kinds of similar objects are held out as a whole, so that a gain is one on new kinds."""

import numpy as np
import pytest

from frobmetric import EmbeddingAdapter
from frobmetric.embeddings import ComparedTriplets, GradedPairs, SimilarPairs
from frobmetric.embeddings.feedback.groups import N_KINDS, kinds_of_objects, unit_values
from frobmetric.evaluation.agreement import Estimate


def separate_kinds(rng, n_pairs=24):
    """Return vectors of kinds with two features each, of which the first alone makes the score."""
    kind = np.repeat(np.arange(N_KINDS), 2 * n_pairs)
    X = np.zeros((len(kind), 3 * N_KINDS))
    X[np.arange(len(kind)), kind] = 4.0
    signal, noise = rng.normal(size=(2, len(kind)))
    X[np.arange(len(kind)), N_KINDS + kind] = signal
    X[np.arange(len(kind)), 2 * N_KINDS + kind] = noise
    pairs = np.arange(len(kind)).reshape(-1, 2)
    return X, pairs, -np.abs(np.diff(signal[pairs], axis=1)).ravel(), kind


def test_kinds_are_found_and_kept_together(rng):
    X, pairs, score, kind = separate_kinds(rng)
    found = kinds_of_objects(X, pairs, 0)
    assert len(set(zip(kind, found, strict=True))) == N_KINDS
    for training, held_out in GradedPairs(pairs, score).folds(X, 5, 0):
        assert not np.isin(kind[held_out._index], kind[training._index]).any()
        assert len(held_out.scores(X, X)) == len(np.unique(kind[held_out._index]))


def test_connected_objects_are_of_one_kind_and_others_of_none(rng):
    X = rng.normal(size=(200, 3))
    chains = np.arange(180).reshape(60, 3)
    index = np.vstack([chains[:, :2], chains[:, 1:]])
    kind = kinds_of_objects(X, index, 0)
    assert (kind[chains] == kind[chains[:, :1]]).all()
    assert (kind[180:] == -1).all()
    assert kind.max() == N_KINDS - 1


def test_there_are_at_most_as_many_kinds_as_different_groups(rng):
    X = np.repeat(rng.normal(size=(4, 3)), 10, axis=0)
    assert kinds_of_objects(X, np.arange(40).reshape(-1, 2), 0).max() == 3


@pytest.mark.slow
def test_what_helps_known_kinds_only_is_not_claimed(rng):
    X, pairs, score, _ = separate_kinds(rng)
    known = EmbeddingAdapter().fit(X, GradedPairs(pairs, score, hold_out="objects"))
    assert known.changed_
    with pytest.warns(UserWarning, match=f"5 folds of {N_KINDS} kinds of objects"):
        adapter = EmbeddingAdapter().fit(X, GradedPairs(pairs, score))
    assert not adapter.changed_


@pytest.mark.slow
def test_what_helps_all_kinds_is_claimed(rng):
    X = rng.normal(size=(600, 8))
    pairs = np.arange(600).reshape(-1, 2)
    score = -np.linalg.norm(np.diff(X[pairs][:, :, :2], axis=1)[:, 0], axis=1)
    adapter = EmbeddingAdapter(unit_length=False).fit(X, GradedPairs(pairs, score))
    assert adapter.changed_
    assert adapter.report_.unit == "kinds of objects"


def test_an_example_counts_once_for_each_unit():
    kind = np.array([0, 0, 1, 1])
    triplets = np.array([[0, 2, 3], [2, 3, 2], [0, 1, 0]])
    values = unit_values(Estimate(0.5, np.array([0.3, -0.1, -0.2])), triplets, kind)
    total = np.array([0.3 - 0.2, 0.3 - 0.1])
    np.testing.assert_allclose(values, 0.5 + 2 * (total - total.mean()))


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: SimilarPairs([(0, 1), (2, 3)], [1, -1], **options),
        lambda **options: GradedPairs([(0, 1), (2, 3)], [1, 2], **options),
        lambda **options: ComparedTriplets([(0, 1, 2)], **options),
    ],
)
def test_what_is_held_out_has_a_name(make):
    assert make(hold_out="kinds").unit == "kinds of objects"
    assert make(hold_out="objects").unit == "objects"
    with pytest.raises(ValueError, match="hold_out is 'pairs'; expected one of"):
        make(hold_out="pairs")
