"""Spearman's rho and the AUC of pairs: oracles, ties, and influences against the jackknife."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from frobmetric.evaluation import pair_auc, spearman
from frobmetric.evaluation.agreement import (
    estimate_auc,
    estimate_mean,
    estimate_spearman,
    pair_similarity,
)


def _pairs(rng, n_objects=30, n_pairs=80, n_features=3):
    every = np.column_stack(np.triu_indices(n_objects, 1))  # none twice: no ties
    X = rng.normal(size=(n_objects, n_features))
    return X, rng.permutation(every)[:n_pairs]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=3, max_size=30))
def test_estimates_are_those_of_scipy_and_scikit_learn(rows):
    x, y = np.array(rows, dtype=float).T
    if len(np.unique(x)) > 1 and len(np.unique(y)) > 1:
        rho = estimate_spearman(x, y)
        assert rho.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        assert rho.influence.sum() == pytest.approx(0, abs=1e-10)
    is_similar = y > 1
    if is_similar.any() and not is_similar.all():
        auc = estimate_auc(x, is_similar)
        assert auc.value == pytest.approx(roc_auc_score(is_similar, x))
        assert auc.influence.sum() == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
def test_measures_of_vectors(rng, metric):
    X, pairs = _pairs(rng)
    left, right = X[pairs].transpose(1, 0, 2)
    similarity = {
        "euclidean": -np.linalg.norm(left - right, axis=1),
        "inner_product": (left * right).sum(axis=1),
        "cosine": (left * right).sum(axis=1)
        / np.linalg.norm(left, axis=1)
        / np.linalg.norm(right, axis=1),
    }[metric]
    score = rng.integers(0, 6, len(pairs))
    y = rng.choice([-1, 1], len(pairs))
    assert spearman(X, pairs, score, metric=metric) == pytest.approx(
        spearmanr(similarity, score).statistic
    )
    assert pair_auc(X, pairs, y, metric=metric) == pytest.approx(roc_auc_score(y, similarity))


def _jackknife(estimate, *arrays):
    """Return what leaving out each example changes, to first order its influence."""
    n = len(arrays[0])
    whole = estimate(*arrays).value
    keep = ~np.eye(n, dtype=bool)
    return np.array([whole - estimate(*(a[rows] for a in arrays)).value for rows in keep])


@pytest.mark.parametrize("is_tied", [False, True])
def test_influences_are_what_the_jackknife_finds(rng, is_tied):
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    if is_tied:
        x, y = np.round(2 * x), np.round(y)
    for estimate, arrays in (
        (estimate_spearman, (x, y)),
        (estimate_auc, (x, y > 0)),
        (estimate_mean, (x, 1 + y**2)),
    ):
        ours, theirs = estimate(*arrays).influence, _jackknife(estimate, *arrays)
        assert np.corrcoef(ours, theirs)[0, 1] > 0.999
        assert ours.std() == pytest.approx(theirs.std(), rel=0.05)


def test_influences_give_the_spread_of_the_estimate(rng):
    found, spread = [], []
    for _ in range(300):
        x = rng.normal(size=100)
        rho = estimate_spearman(x, x + rng.normal(size=100))
        found.append(rho.value)
        spread.append(np.sqrt(np.sum(rho.influence**2)))
    assert np.mean(spread) == pytest.approx(np.std(found), rel=0.15)


def test_without_a_difference_there_is_no_correlation():
    assert np.isnan(spearman([[0.0], [1.0], [2.0]], [(0, 1), (1, 2)], [1, 2]))
    assert np.isnan(spearman([[0.0], [1.0], [3.0]], [(0, 1), (1, 2)], [2, 2]))


def test_equal_points_are_at_distance_zero_exactly(rng):
    X = rng.normal(size=(4, 50)) + 1e8
    X[3] = X[0]
    assert pair_similarity(X, X, np.array([[0, 3]])).tolist() == [0.0]


def test_wrong_arguments_are_refused():
    X, pairs = [[0.0], [1.0], [3.0]], [(0, 1), (1, 2)]
    with pytest.raises(ValueError, match=r"pairs\[0\] = \(0, 7\) is out of range"):
        spearman(X, [(0, 7)], [1])
    with pytest.raises(ValueError, match=r"score\[1\] = nan must be finite"):
        spearman(X, pairs, [1, np.nan])
    with pytest.raises(TypeError, match="a number for each pair"):
        spearman(X, pairs, ["a", "b"])
    with pytest.raises(ValueError, match="all 2 pairs are similar"):
        pair_auc(X, pairs, [1, 1])
    with pytest.raises(ValueError, match="metric is 'l1'"):
        spearman(X, pairs, [1, 2], metric="l1")


@pytest.mark.parametrize(
    ("encoder", "known"), [("wordllama", (0.524, 0.744, 0.695)), ("use", (0.502, 0.648, 0.604))]
)
def test_sentence_pairs_have_the_known_correlations(data_folder, encoder, known):
    path = data_folder / "embeddings" / "sts_2012_2014.npz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    with np.load(path) as data:
        names = ("pairs", "score", "year", "split")
        pairs, score, year, split = (data[name] for name in names)
        X = data[encoder].astype(np.float32)
    for number, value in zip((2012, 2013, 2014), known, strict=True):
        rows = (year == number) & (split == "test")
        rho = spearman(X, pairs[rows], score[rows], metric="cosine")
        assert rho == pytest.approx(value, abs=1e-3)
