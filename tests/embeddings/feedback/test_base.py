"""The contract that every kind of feedback keeps: cleaning, folds, comparisons, scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.embeddings import (
    Clicks,
    ComparedTriplets,
    GradedPairs,
    Labels,
    RankedLists,
    RelevantDocuments,
    SimilarPairs,
    TooFewExamplesError,
)
from frobmetric.embeddings.feedback.base import Cleaning
from frobmetric.embeddings.feedback.groups import N_KINDS
from frobmetric.evaluation import make_retrieval_scorer

N, D = 60, 4


def _squared(A, B, pairs):
    return np.square(A[pairs[:, 0]] - B[pairs[:, 1]]).sum(axis=1)


def _labels(rng, X):
    return Labels(rng.integers(0, 5, N))


def _pairs(rng, X):
    pairs = rng.integers(0, N, size=(400, 2))
    return SimilarPairs(pairs, _squared(X, X, pairs) < 6)


def _graded(rng, X):
    pairs = rng.integers(0, N, size=(400, 2))
    return GradedPairs(pairs, np.round(-_squared(X, X, pairs)))


def _triplets(rng, X):
    triplets = rng.integers(0, N, size=(2000, 3))
    near, far = (_squared(X, X, triplets[:, [0, i]]) for i in (1, 2))
    return ComparedTriplets(np.where((near <= far)[:, None], triplets, triplets[:, [0, 2, 1]]))


def _queries(rng, is_own):
    return rng.normal(size=(20, D)) if is_own else rng.choice(N, 20, replace=False)


def _order(queries, X):
    vectors = X[queries] if queries.ndim == 1 else queries
    return np.argsort(np.linalg.norm(vectors[:, None] - X, axis=2), axis=1)


def _relevant(rng, X, is_own=True):
    queries = _queries(rng, is_own)
    order = _order(queries, X)
    rows = [(q, order[q, place], 1 + place % 3) for q in range(20) for place in (1, 2, 4)]
    return RelevantDocuments(queries, rows, n_negatives=5)


def _lists(rng, X, is_own=True):
    queries = _queries(rng, is_own)
    order = _order(queries, X)
    return RankedLists(queries, [order[q, 1 : 2 + rng.integers(1, 9)] for q in range(20)])


def _clicks(rng, X, is_own=True):
    queries = _queries(rng, is_own)
    shown = [rng.choice(N, 6, replace=False) for _ in range(20)]
    return Clicks(queries, shown, [rng.choice(6, 2, replace=False) for _ in range(20)])


MAKERS = {
    "labels": _labels,
    "pairs": _pairs,
    "graded": _graded,
    "triplets": _triplets,
    "relevant": _relevant,
    "lists": _lists,
    "clicks": _clicks,
    "relevant, rows": lambda rng, X: _relevant(rng, X, False),
    "lists, rows": lambda rng, X: _lists(rng, X, False),
    "clicks, rows": lambda rng, X: _clicks(rng, X, False),
}
EVERY = pytest.mark.parametrize("name", sorted(MAKERS))


def _make(name, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    feedback = MAKERS[name](rng, X)
    return X, feedback, X if feedback.queries is None else feedback.queries


def _vectors(index, A, B):
    """Return the vectors that comparisons are about, as a set of rows."""
    anchors, candidates = A[index[:, [0, 2]]], B[index[:, [1, 3]]]
    return anchors.reshape(-1, D), candidates.reshape(-1, D)


def _as_set(rows):
    return {row.tobytes() for row in np.ascontiguousarray(rows)}


@EVERY
def test_comparisons_are_rows_with_positive_weights(name):
    X, feedback, A = _make(name)
    feedback, cleaning = feedback.cleaned(X)
    assert isinstance(cleaning, Cleaning)
    index, weight = feedback.comparisons(A, X, 0)
    assert index.shape == (len(weight), 4)
    assert index.dtype == np.intp
    assert (index >= 0).all()
    assert (index[:, [0, 2]] < len(A)).all()
    assert (index[:, [1, 3]] < len(X)).all()
    assert (weight > 0).all()
    assert weight.mean() == pytest.approx(1)
    # no comparison is decided by construction
    assert (X[index[:, 1]] != X[index[:, 3]]).any(axis=1).sum() + (
        index[:, 0] != index[:, 2]
    ).sum() >= len(index)


@EVERY
def test_rows_are_limited_and_drawn_by_seed(name):
    X, feedback, A = _make(name)
    index, weight = feedback.comparisons(A, X, 0, max_rows=17)
    assert 0 < len(index) == len(weight) <= 17
    again = feedback.comparisons(A, X, 0, max_rows=17)[0]
    np.testing.assert_array_equal(index, again)
    with pytest.raises(ValueError, match="max_rows is 0"):
        feedback.comparisons(A, X, 0, max_rows=0)


@EVERY
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), n_folds=st.integers(2, 5))
def test_folds_share_no_unit(name, seed, n_folds):
    X, feedback, A = _make(name, seed)
    X[N - 8 :] = X[:8]  # equal vectors are one object
    feedback, _ = feedback.cleaned(X)
    for training, held_out in feedback.folds(X, n_folds, seed):
        assert len(held_out.scores(A, X))
        try:
            index, _ = training.comparisons(A, X, 0)
        except TooFewExamplesError:
            continue
        anchors, candidates = _vectors(index, A, X)
        used = _as_set(anchors) | (_as_set(candidates) if feedback.queries is None else set())
        assert not used & _as_set(_held_out_vectors(held_out, A))


def _held_out_vectors(held_out, A):
    """Return the vectors of the units of a held-out part."""
    if isinstance(held_out, Labels):
        return A[held_out._rows]
    if hasattr(held_out, "_index"):
        return A[held_out._index].reshape(-1, D)
    rows = held_out._pairs if isinstance(held_out, RelevantDocuments) else held_out._rows
    return A[held_out._anchors.numbers(np.unique(rows[:, 0]))]


@EVERY
def test_held_out_units_together_are_all_units(name):
    X, feedback, A = _make(name)
    feedback, _ = feedback.cleaned(X)
    folds = feedback.folds(X, 4, 0)
    assert len(folds) == 4
    n_units = sum(len(held_out.scores(A, X)) for _, held_out in folds)
    if feedback.unit == "kinds of objects":
        assert n_units == N_KINDS
    elif feedback.unit == "objects":  # some examples have objects in several folds
        assert n_units > 10
    else:
        assert n_units == len(feedback.scores(A, X))
    again = [held_out.scores(A, X) for _, held_out in feedback.folds(X, 4, 0)]
    for (_, held_out), scores in zip(folds, again, strict=True):
        np.testing.assert_array_equal(held_out.scores(A, X), scores)


@EVERY
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_the_unit_of_the_vectors_does_not_matter(name, scale):
    X, feedback, A = _make(name)
    scaled = scale * A, scale * X
    np.testing.assert_allclose(feedback.scores(*scaled), feedback.scores(A, X), atol=1e-9)
    ours, known = feedback.comparisons(*scaled, 0, 50), feedback.comparisons(A, X, 0, 50)
    np.testing.assert_array_equal(ours[0], known[0])


@EVERY
def test_fewer_units_have_the_same_scores(name):
    X, feedback, A = _make(name)
    _, held_out = feedback.cleaned(X)[0].folds(X, 2, 0)[0]
    every, some = held_out.scores(A, X), held_out.drawn(5, 0).scores(A, X)
    is_cheap = name.startswith(("pairs", "graded", "triplets", "lists", "clicks"))
    assert len(some) == (len(every) if is_cheap else 5)
    assert np.isin(some, every).all()


@EVERY
def test_scores_are_finite_and_depend_on_the_ranking_only(name, rng):
    X, feedback, A = _make(name)
    feedback, _ = feedback.cleaned(X)
    scores = feedback.scores(A, X)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(feedback.scores(3 * A, 3 * X), scores, atol=1e-12)
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    np.testing.assert_allclose(feedback.scores(A @ turn, X @ turn), scores, atol=1e-9)
    constant = feedback.scores(0 * A, 0 * X)
    assert np.isfinite(constant).all()


@EVERY
def test_scores_do_not_depend_on_the_order_of_rows(name):
    """The same objects under other row numbers: the mean is the same."""
    X, feedback, A = _make(name)
    order = np.random.default_rng(1).permutation(N)
    place = np.argsort(order)
    moved = _renumbered(feedback, order, place)
    B = X[order]
    before = feedback.scores(A, X).mean()
    assert moved.scores(B if feedback.queries is None else A, B).mean() == pytest.approx(before)


def _renumbered(feedback, order, place):
    moved = type(feedback).__new__(type(feedback))
    moved.__dict__.update(feedback.__dict__)
    if isinstance(feedback, Labels):
        return Labels(feedback._label[order])
    if hasattr(feedback, "_index"):
        moved._index = place[feedback._index]
        return moved
    column = "_pairs" if isinstance(feedback, RelevantDocuments) else "_rows"
    rows = getattr(feedback, column).copy()
    rows[:, 1:] = place[rows[:, 1:]]
    setattr(moved, column, rows)
    if feedback.queries is None:
        anchors = type(feedback._anchors)(place[feedback._anchors.rows])
        moved._anchors = anchors
    return moved


@EVERY
def test_single_precision_gives_nearly_the_same(name):
    X, feedback, A = _make(name)
    single = feedback.scores(A.astype(np.float32), X.astype(np.float32))
    np.testing.assert_allclose(single.mean(), feedback.scores(A, X).mean(), atol=0.02)


@EVERY
@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_other_similarities(name, metric):
    X, feedback, A = _make(name)
    feedback, _ = feedback.cleaned(X)
    scores = feedback.scores(A, X, metric=metric)
    assert scores.shape == feedback.scores(A, X).shape
    A, X = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, X))
    # at unit length all similarities rank alike
    np.testing.assert_allclose(
        feedback.scores(A, X, metric=metric), feedback.scores(A, X), atol=1e-9
    )
    np.testing.assert_array_equal(
        feedback.comparisons(A, X, 0, 50, metric)[0], feedback.comparisons(A, X, 0, 50)[0]
    )


@EVERY
def test_bad_vectors_are_refused(name):
    X, feedback, A = _make(name)
    for bad, message in (
        (np.full_like(X, np.nan), "NaN or infinity"),
        (X[:0], "at least one of each"),
        (X[:, 0], "expected numbers of shape"),
        (X[:3], "vectors"),
    ):
        for call in (feedback.cleaned, lambda M: feedback.scores(A, M), feedback.folds):
            with pytest.raises(ValueError, match=message):
                call(bad)
        with pytest.raises(ValueError, match=message):
            feedback.comparisons(A, bad)
    with pytest.raises(ValueError, match="metric is 'l1'"):
        feedback.scores(A, X, metric="l1")
    with pytest.raises(ValueError, match="metric is 'l1'"):
        feedback.comparisons(A, X, metric="l1")


@EVERY
def test_too_many_folds_are_refused(name):
    X, feedback, _ = _make(name)
    with pytest.raises(TooFewExamplesError, match="fewer than n_folds=1000"):
        feedback.folds(X, 1000)
    with pytest.raises(ValueError, match="n_folds is 1"):
        feedback.folds(X, 1)


@EVERY
def test_a_measure_that_does_not_fit_is_refused(name):
    X, feedback, A = _make(name)
    wrong = "Spearman" if feedback.measure != "Spearman" else "AUC"
    with pytest.raises(ValueError, match=f"{wrong}"):
        feedback.scores(A, X, wrong)
    default = feedback.scores(A, X)
    np.testing.assert_array_equal(feedback.scores(A, X, feedback.measure.lower()), default)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"labels", "relevant"}))
def test_if_all_vectors_are_equal_nothing_is_left(name):
    X, feedback, _ = _make(name)
    with pytest.raises(TooFewExamplesError, match="give examples that a map"):
        feedback.cleaned(np.zeros_like(X))


@EVERY
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_cleaning_accounts_for_every_example(name, seed):
    X, feedback, A = _make(name, seed)
    X[N - 20 :] = X[:20]
    cleaned, counts = feedback.cleaned(X)
    removed = counts.duplicates + counts.contradictions + counts.equal_points
    removed += counts.self_pairs + counts.ties + counts.incomplete
    assert counts.n_given == len(feedback) == counts.n_kept + removed
    again, none = cleaned.cleaned(X)
    assert none.n_kept == counts.n_kept
    np.testing.assert_allclose(again.scores(A, X).mean(), cleaned.scores(A, X).mean())


@pytest.mark.parametrize("name", ["pairs", "graded", "triplets", "lists", "lists, rows"])
def test_comparisons_hold_where_the_examples_come_from(name):
    X, feedback, A = _make(name)
    feedback, _ = feedback.cleaned(X)
    index, _ = feedback.comparisons(A, X, 0)
    near, far = _squared(A, X, index[:, :2]), _squared(A, X, index[:, 2:])
    assert (near <= far + (1 if name == "graded" else 0)).all()
    assert feedback.scores(A, X).mean() == pytest.approx(1, abs=0.02)


@EVERY
def test_scorers_take_feedback(name):
    X, feedback, A = _make(name)

    class Identity:
        def transform(self, X):
            return X

    value = make_retrieval_scorer(feedback.measure)(Identity(), X, feedback)
    assert value == pytest.approx(feedback.scores(A, X).mean())


def test_the_sentence_of_a_cleaning():
    assert str(Cleaning("pairs", 3, 3)) == "3 pairs, none dropped"
    text = str(
        Cleaning("pairs", 12345, 12340, contradictions=2, equal_points=1, ties=1, incomplete=1)
    )
    assert text == (
        "12,345 pairs: 2 contradicted (dropped), 1 about equal vectors (dropped), 1 tied "
        "(dropped), 1 without a counterpart (dropped); 12,340 left"
    )
