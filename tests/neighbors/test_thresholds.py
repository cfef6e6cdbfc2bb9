"""Thresholds against a search over all cuts, curves against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score, roc_auc_score, roc_curve

from frobmetric.neighbors.thresholds import Roc, as_same, best_cut, best_threshold, mean_roc


def rates(score, same, threshold):
    said = score >= threshold
    return said[same].mean(), (~said[~same]).mean()


def cuts_by_hand(score):
    """One threshold in each interval that decides differently."""
    distinct = np.unique(score)
    return [*distinct, distinct[-1] + 1]


def goal_by_hand(strategy, score, same, threshold):
    said = score >= threshold
    tpr, tnr = rates(score, same, threshold)
    if strategy == "accuracy":
        return accuracy_score(same, said)
    if strategy == "f_beta":
        return fbeta_score(same, said, beta=2.0, zero_division=0)
    kept, free = (tnr, tpr) if strategy == "max_tpr" else (tpr, tnr)
    return free if kept >= 0.7 else -1.0


def options(strategy):
    return {"accuracy": {}, "f_beta": {"beta": 2.0}}.get(strategy, {"min_rate": 0.7})


scored = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({same for _, same in rows}) == 2
)


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@settings(max_examples=40, deadline=None)
@given(rows=scored)
def test_no_other_cut_is_better(strategy, rows):
    score, same = (np.array(column) for column in zip(*rows, strict=True))
    threshold = best_threshold(score / 3, same, strategy, **options(strategy))
    goals = [goal_by_hand(strategy, score / 3, same, t) for t in cuts_by_hand(score / 3)]
    assert np.isfinite(threshold)
    found = goal_by_hand(strategy, score / 3, same, threshold)
    assert found == pytest.approx(max(goals), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(rows=scored)
def test_the_curve_is_that_of_scikit_learn(rows):
    score, same = (np.array(column) for column in zip(*rows, strict=True))
    roc = Roc.of(score, same)
    fpr, tpr, _ = roc_curve(same, score, drop_intermediate=False)
    np.testing.assert_allclose(roc.fpr, fpr, atol=1e-15)
    np.testing.assert_allclose(roc.tpr, tpr, atol=1e-15)
    assert roc.area == pytest.approx(roc_auc_score(same, score), abs=1e-12)
    assert (np.diff(roc.thresholds) < 0).all()
    for i, threshold in enumerate(roc.thresholds):
        tpr_here, tnr_here = rates(score, same, threshold)
        assert (tpr_here, 1 - tnr_here) == pytest.approx((roc.tpr[i], roc.fpr[i]))


weighted = st.lists(
    st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 12)), min_size=2, max_size=30
).filter(lambda rows: len({same for _, same, weight in rows if weight}) == 2)


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@settings(max_examples=60, deadline=None)
@given(rows=weighted)
def test_weights_are_repetitions_and_zero_is_absence(strategy, rows):
    score, same, weight = (np.array(column) for column in zip(*rows, strict=True))
    score, goal = score / 3, options(strategy)
    found = best_threshold(score, same, strategy, weight=weight, **goal)
    often = best_threshold(np.repeat(score, weight), np.repeat(same, weight), strategy, **goal)
    assert found == often
    real = weight > 0
    left = best_cut(score[real], same[real], strategy, weight=weight[real], **goal)
    assert best_cut(score, same, strategy, weight=weight, **goal) == left
    for unit in (2.0**-40, 0.25):
        assert best_threshold(score, same, strategy, weight=weight * unit, **goal) == found


@settings(max_examples=60, deadline=None)
@given(rows=weighted)
def test_no_other_cut_is_more_accurate_by_weight(rows):
    score, same, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = best_threshold(score, same, weight=weight / 7)
    right = [
        accuracy_score(same, score >= t, sample_weight=weight)
        for t in [found, *cuts_by_hand(score)]
    ]
    assert right[0] == pytest.approx(max(right), abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ([1, 0], ValueError, "all 1 pairs are mismatched; a threshold needs"),
        ([0, 2], ValueError, "all 1 pairs are matched; a threshold needs"),
        ([0, 0], ValueError, "weight is zero for every comparison"),
        ([1, -1], ValueError, r"weight\[1\] = -1.0 must be non-negative and finite"),
        ([1, np.nan], ValueError, r"weight\[1\] = nan must be"),
        ([1], ValueError, r"weight has shape \(1,\)"),
        (["1", "2"], TypeError, "weight has dtype <U1; expected one number for each"),
    ],
)
def test_bad_weights_are_said(weight, error, words):
    with pytest.raises(error, match=words):
        best_threshold([1.0, 2.0], [0, 1], weight=weight)


def test_the_threshold_is_midway():
    assert best_threshold([1.0, 2.0, 4.0, 9.0], [0, 0, 1, 1]) == 3.0
    assert best_threshold([1.0, 2.0, 4.0, 9.0], [-1, -1, 1, 1]) == 3.0


def test_all_and_none_have_finite_thresholds_outside():
    score, same = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    assert (score < best_threshold(score, same)).all()
    assert (score >= best_threshold(score, same, "max_tpr", min_rate=0)).all()
    assert (score < best_threshold(score, same, "max_tnr", min_rate=0)).all()


def test_of_equal_optima_the_middle_one():
    score, same = np.arange(5.0), np.array([True, False, True, False, True])
    right = {t: accuracy_score(same, score >= t) for t in (-0.5, 0.5, 1.5, 2.5, 3.5, 4.5)}
    best = sorted(t for t in right if right[t] == max(right.values()))
    assert len(best) == 3
    assert best_threshold(score, same) == best[1]
    # of two, the higher
    assert best_threshold([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]) == 2.5


def test_the_bounded_rate_decides_among_equals():
    # matched pairs at 2 and 3, mismatched at 0 and 1: any cut below 2 finds all matched pairs
    score, same = np.arange(4.0), np.array([False, False, True, True])
    assert best_threshold(score, same, "max_tpr", min_rate=0.0) == 1.5
    assert best_threshold(score, same, "max_tnr", min_rate=0.0) == 1.5


def test_a_rate_just_met_is_met():
    score, same = np.arange(20.0), np.repeat([False, True], 10)
    same[9], same[10] = True, False
    tpr, tnr = rates(score, same, best_threshold(score, same, "max_tpr", min_rate=0.9))
    assert (tpr, tnr) == (1.0, 0.9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_numbers_are_told_apart(dtype):
    for low in (1.0, -1.0, 0.0, 3e30):
        low = dtype(low)
        score = np.array([low, np.nextafter(low, dtype(np.inf))], dtype=dtype)
        threshold = best_threshold(score, [False, True])
        np.testing.assert_array_equal(score >= threshold, [False, True])


def test_the_order_of_the_pairs_does_not_matter(rng):
    score, same = rng.integers(10, size=60) / 7, rng.random(60) < 0.5
    order = rng.permutation(60)
    for strategy in ("accuracy", "f_beta", "max_tpr", "max_tnr"):
        first = best_threshold(score, same, strategy, **options(strategy))
        again = best_threshold(score[order], same[order], strategy, **options(strategy))
        assert again == first


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
def test_worth_orders_scores_of_the_same_pairs(strategy, rng):
    same = rng.random(50) < 0.4
    found = []
    for noise in (0.1, 0.5, 1.0, 2.0, 9.0):
        score = same + noise * rng.normal(size=50)
        threshold, worth = best_cut(score, same, strategy, **options(strategy))
        assert threshold == best_threshold(score, same, strategy, **options(strategy))
        found.append((worth, goal_by_hand(strategy, score, same, threshold)))
    assert [goal for _, goal in sorted(found)] == sorted(goal for _, goal in found)


def test_equal_error_rate():
    assert Roc.of([0, 1, 2, 3], [0, 0, 1, 1]).equal_error_rate == 0.0
    assert Roc.of([0, 1, 2, 3], [1, 1, 0, 0]).equal_error_rate == 1.0
    assert Roc.of([5, 5, 5], [0, 1, 1]).equal_error_rate == pytest.approx(0.5)
    roc = Roc.of([0, 1, 2, 3], [0, 1, 0, 1])  # (0, 1/2) and (1/2, 1/2): meets fnr = 1/2
    assert roc.equal_error_rate == pytest.approx(0.5)


def test_at_takes_the_upper_end_of_vertical_pieces():
    roc = Roc.of([4, 3, 2, 1], [1, 0, 1, 0])
    np.testing.assert_allclose(roc.at([0.0, 0.25, 0.5, 0.75, 1.0]), [0.5, 0.5, 1.0, 1.0, 1.0])
    diagonal = Roc.of([1, 1], [0, 1])
    np.testing.assert_allclose(diagonal.at([0.0, 0.3, 1.0]), [0.0, 0.3, 1.0])


def test_mean_over_folds(rng):
    grid = np.linspace(0, 1, 11)
    rocs = [Roc.of(rng.normal(size=40), np.arange(40) % 2) for _ in range(3)]
    expected = sum(roc.at(grid) for roc in rocs) / 3
    np.testing.assert_allclose(mean_roc(rocs, grid), expected)
    np.testing.assert_allclose(mean_roc(rocs[:1], rocs[0].fpr), rocs[0].at(rocs[0].fpr))
    with pytest.raises(ValueError, match="rocs is empty"):
        mean_roc([], grid)
    with pytest.raises(ValueError, match=r"numbers in \[0, 1\]"):
        mean_roc(rocs, [0.5, 1.5])


@pytest.mark.parametrize(
    ("score", "same", "words"),
    [
        ([1.0, 2.0], [1, 1], "all 2 pairs are matched; a threshold needs"),
        ([1.0, 2.0], [0, 0], "all 2 pairs are mismatched; a threshold needs"),
        ([1.0, np.nan], [0, 1], r"score\[1\] = nan must be finite"),
        ([np.inf, 0.0], [0, 1], r"score\[0\] = inf must be finite"),
        ([[1.0, 2.0]], [0, 1], r"score has shape \(1, 2\)"),
        (["a", "b"], [0, 1], "expected one number a pair"),
        ([1.0, 2.0, 3.0], [0, 1], r"same has shape \(2,\); there are 3 pairs"),
        ([1.0, 2.0], [0, 2], r"same\[1\] = .*2.*; expected booleans, 0 and 1, or -1 and \+1"),
        ([1.0, 2.0, 3.0], [0, 1, -1], "same has both 0 and -1"),
        ([1.0, 2.0], ["yes", "no"], r"same\[0\] = "),
    ],
)
def test_bad_scores_are_said(score, same, words):
    with pytest.raises(ValueError, match=words):
        best_threshold(score, same)
    with pytest.raises(ValueError, match=words):
        Roc.of(score, same)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "best"}, r"strategy is 'best'; expected one of \['accuracy', 'f_beta'"),
        ({"strategy": "max_tpr"}, "needs min_rate, the smallest true negative rate"),
        ({"strategy": "max_tnr"}, "needs min_rate, the smallest true positive rate"),
        ({"strategy": "max_tpr", "min_rate": 1.5}, r"min_rate is 1.5; expected a rate in \[0, 1\]"),
        ({"strategy": "max_tnr", "min_rate": -0.1}, "min_rate is -0.1"),
        ({"strategy": "max_tnr", "min_rate": np.nan}, "min_rate is nan"),
        ({"min_rate": 0.5}, "min_rate is 0.5 with strategy='accuracy', which does not use it"),
        ({"strategy": "f_beta", "beta": 0}, "beta is 0; expected a positive"),
    ],
)
def test_bad_options_are_said(options, words):
    with pytest.raises(ValueError, match=words):
        best_threshold([1.0, 2.0], [0, 1], **options)


def test_marks_of_matched_pairs():
    for same in ([True, False], [1, 0], [1, -1], [1.0, -1.0], np.array([1, 0], dtype=np.uint8)):
        np.testing.assert_array_equal(as_same(same, 2), [True, False])
    np.testing.assert_array_equal(as_same([1, 1], 2), [True, True])
