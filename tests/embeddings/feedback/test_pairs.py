"""Pairs, graded pairs and triplets: what cleaning merges, units, and what may be drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from frobmetric.embeddings import ComparedTriplets, GradedPairs, SimilarPairs, TooFewExamplesError
from frobmetric.embeddings.feedback.base import draw_ordered
from frobmetric.evaluation.agreement import pair_similarity

X = np.array([[0.0], [1.0], [3.0], [7.0], [1.0]])  # the last equals the second


def _pairs(rng, n_objects, n_pairs):
    every = np.column_stack(np.triu_indices(n_objects, 1))
    return rng.permutation(every)[:n_pairs]


def test_pairs_are_merged_by_majority():
    pairs = [(0, 1), (1, 0), (4, 0), (2, 3), (3, 2), (2, 2), (1, 4), (0, 3)]
    cleaned, cleaning = SimilarPairs(pairs, [1, 1, -1, 1, -1, 1, 1, -1]).cleaned(X)
    assert cleaned._index.tolist() == [[0, 1], [0, 3]]
    assert cleaned._value.tolist() == [1, -1]
    assert str(cleaning) == (
        "8 pairs: 1 repeated (merged), 3 contradicted (dropped), 1 about equal vectors (dropped), "
        "1 about an object and itself (dropped); 2 left"
    )


def test_triplets_are_merged_by_majority():
    triplets = [(0, 1, 2), (0, 4, 2), (0, 2, 1), (2, 3, 0), (2, 0, 3), (0, 1, 4), (0, 0, 1)]
    cleaned, cleaning = ComparedTriplets(triplets).cleaned(X)
    assert cleaned._index.tolist() == [[0, 1, 2]]
    assert (cleaning.duplicates, cleaning.contradictions) == (1, 3)
    assert (cleaning.equal_points, cleaning.self_pairs) == (1, 1)


def test_repeated_graded_pairs_get_their_mean():
    cleaned, cleaning = GradedPairs([(0, 1), (4, 0), (2, 3), (2, 2)], [1, 3, 5, 0]).cleaned(X)
    assert cleaned._index.tolist() == [[0, 1], [2, 3]]
    assert cleaned._value.tolist() == [2, 5]
    assert (cleaning.duplicates, cleaning.self_pairs) == (1, 1)


def test_equal_scores_are_ties():
    with pytest.raises(TooFewExamplesError, match=r"2 tied \(dropped\); 0 left"):
        GradedPairs([(0, 1), (2, 3)], [2, 2]).cleaned(X)


def test_booleans_and_signs_say_the_same():
    pairs = [(0, 1), (2, 3), (0, 2)]
    ours = SimilarPairs(pairs, [True, False, True])
    np.testing.assert_array_equal(ours._value, SimilarPairs(pairs, [1, -1, 1])._value)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 2), st.integers(1, 30))
def test_drawn_rows_differ_by_more_than_the_margin(value, margin, max_rows):
    value = np.array(value)
    upper, lower = draw_ordered(value, margin, max_rows, 0)
    assert (value[upper] > value[lower] + margin).all()
    n_all = (value[:, None] > value + margin).sum()
    assert len(upper) == min(n_all, max_rows)
    assert len(set(zip(upper.tolist(), lower.tolist(), strict=True))) == len(upper)


@pytest.mark.parametrize("n_objects", [30, 400])
def test_the_mean_over_units_is_the_measure(rng, n_objects):
    """With 30 objects all are connected; with 400 many groups are small."""
    vectors = rng.normal(size=(n_objects, 3))
    pairs = _pairs(rng, n_objects, 150)
    similarity = pair_similarity(vectors, vectors, pairs)
    y, score = rng.choice([-1, 1], 150), rng.integers(0, 6, 150)
    auc = SimilarPairs(pairs, y).scores(vectors, vectors)
    assert auc.mean() == pytest.approx(roc_auc_score(y, similarity))
    rho = GradedPairs(pairs, score).scores(vectors, vectors)
    assert rho.mean() == pytest.approx(spearmanr(similarity, score).statistic)
    triplets = np.column_stack([pairs, (pairs[:, 1] + 1) % n_objects])
    triplets = triplets[(triplets[:, 2:] != triplets[:, :2]).all(axis=1)]
    far = pair_similarity(vectors, vectors, triplets[:, [0, 2]])
    near = pair_similarity(vectors, vectors, triplets[:, :2])
    accuracy = ComparedTriplets(triplets).scores(vectors, vectors)
    assert accuracy.mean() == pytest.approx(np.mean(near > far))


def test_separate_pairs_are_units_of_their_own(rng):
    vectors = rng.normal(size=(80, 2))
    feedback = GradedPairs(np.arange(80).reshape(40, 2), rng.normal(size=40), hold_out="objects")
    assert feedback.unit == "objects"
    assert len(feedback.scores(vectors, vectors)) == 40
    folds = feedback.folds(vectors, 5, 0)
    assert [(len(training), len(held_out)) for training, held_out in folds] == [(32, 8)] * 5


def test_connected_pairs_have_objects_as_units(rng):
    vectors = rng.normal(size=(20, 2))
    feedback = GradedPairs(_pairs(rng, 20, 190), rng.normal(size=190))
    assert len(feedback.scores(vectors, vectors)) == 20


def test_units_give_the_spread_over_objects(rng):
    """Each object has an effect of its own; pairs that share it are not independent."""
    found, spread = [], []
    for _ in range(200):
        effect = rng.normal(size=30)
        vectors = np.column_stack([np.arange(30.0), rng.normal(size=30)])
        pairs = _pairs(rng, 30, 435)
        noise = effect[pairs].sum(axis=1) * 200
        scores = GradedPairs(pairs, pair_similarity(vectors, vectors, pairs) + noise).scores(
            vectors, vectors
        )
        found.append(scores.mean())
        spread.append(scores.std(ddof=1) / np.sqrt(len(scores)))
    assert 0.7 * np.std(found) < np.mean(spread) < 2 * np.std(found)


def test_a_fold_needs_both_kinds_of_pairs(rng):
    vectors = rng.normal(size=(6, 2))
    feedback = SimilarPairs([(0, 1), (2, 3), (4, 5)], [1, 1, -1])
    with pytest.raises(TooFewExamplesError, match="fewer than 2 of 3 folds"):
        feedback.folds(vectors, 3, 0)


def test_examples_that_do_not_differ_give_no_comparison():
    for feedback in (SimilarPairs([(0, 1)], [1]), GradedPairs([(0, 1), (1, 2)], [1, 1])):
        with pytest.raises(TooFewExamplesError, match="without a difference to learn from"):
            feedback.comparisons(X, X)


def test_wrong_examples_are_refused():
    with pytest.raises(ValueError, match=r"pairs\[0\] = \(0, -1\) is out of range"):
        SimilarPairs([(0, -1)], [1])
    with pytest.raises(ValueError, match="pairs is empty"):
        SimilarPairs([], [])
    with pytest.raises(ValueError, match=r"y\[0\] = 0; expected \+1"):
        SimilarPairs([(0, 1)], [0])
    with pytest.raises(ValueError, match=r"y has shape \(2,\)"):
        SimilarPairs([(0, 1)], [1, 1])
    with pytest.raises(ValueError, match=r"score\[0\] = nan must be finite"):
        GradedPairs([(0, 1)], [np.nan])
    with pytest.raises(ValueError, match="margin is -1"):
        GradedPairs([(0, 1)], [1], margin=-1)
    with pytest.raises(ValueError, match="triplets has shape"):
        ComparedTriplets([(0, 1)])
    with pytest.raises(ValueError, match="the list of triplets has row 9, but there are 5 vectors"):
        ComparedTriplets([(0, 1, 9)]).cleaned(X)
