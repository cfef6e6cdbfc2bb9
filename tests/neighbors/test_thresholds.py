"""Thresholds against a search over all cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, fbeta_score

from frobmetric.neighbors import best_threshold


def threshold_of(score, same, strategy="accuracy", **options):
    """The threshold alone, for booleans."""
    return best_threshold(score, np.where(same, 1, -1), strategy=strategy, **options)[0]


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
    threshold = threshold_of(score / 3, same, strategy, **options(strategy))
    goals = [goal_by_hand(strategy, score / 3, same, t) for t in cuts_by_hand(score / 3)]
    assert np.isfinite(threshold)
    found = goal_by_hand(strategy, score / 3, same, threshold)
    assert found == pytest.approx(max(goals), abs=1e-12)


weighted = st.lists(
    st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 12)), min_size=2, max_size=30
).filter(lambda rows: len({same for _, same, weight in rows if weight}) == 2)


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@settings(max_examples=60, deadline=None)
@given(rows=weighted)
def test_weights_are_repetitions_and_zero_is_absence(strategy, rows):
    score, same, weight = (np.array(column) for column in zip(*rows, strict=True))
    score, goal = score / 3, options(strategy)
    found = threshold_of(score, same, strategy, sample_weight=weight, **goal)
    often = threshold_of(np.repeat(score, weight), np.repeat(same, weight), strategy, **goal)
    assert found == often
    real = weight > 0
    y, goal = np.where(same, 1, -1), {"strategy": strategy, **goal}
    left = best_threshold(score[real], y[real], sample_weight=weight[real], **goal)
    assert best_threshold(score, y, sample_weight=weight, **goal) == left
    for unit in (2.0**-40, 0.25):
        assert threshold_of(score, same, sample_weight=weight * unit, **goal) == found


@settings(max_examples=60, deadline=None)
@given(rows=weighted)
def test_no_other_cut_is_more_accurate_by_weight(rows):
    score, same, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = threshold_of(score, same, sample_weight=weight / 7)
    right = [
        accuracy_score(same, score >= t, sample_weight=weight)
        for t in [found, *cuts_by_hand(score)]
    ]
    assert right[0] == pytest.approx(max(right), abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ([1, 0], ValueError, r"all 1 pairs are dissimilar \(-1\); give at least one pair"),
        ([0, 2], ValueError, r"all 1 pairs are similar \(\+1\); give at least one pair"),
        ([0, 0], ValueError, "sample_weight is zero for all pairs"),
        ([1, -1], ValueError, r"sample_weight\[1\] = -1.0 must be non-negative and finite"),
        ([1], ValueError, r"sample_weight has shape \(1,\)"),
        (["1", "2"], TypeError, "sample_weight has dtype <U1; expected a number for each"),
    ],
)
def test_bad_weights_are_said(weight, error, words):
    with pytest.raises(error, match=words):
        best_threshold([1.0, 2.0], [-1, 1], sample_weight=weight)


def test_the_threshold_is_midway():
    assert threshold_of([1.0, 2.0, 4.0, 9.0], [0, 0, 1, 1]) == 3.0
    assert best_threshold([1.0, 2.0, 4.0, 9.0], [-1, -1, 1, 1])[0] == 3.0


def test_all_and_none_have_finite_thresholds_outside():
    score, same = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    assert (score < threshold_of(score, same)).all()
    assert (score >= threshold_of(score, same, "max_tpr", min_rate=0)).all()
    assert (score < threshold_of(score, same, "max_tnr", min_rate=0)).all()


def test_of_equal_optima_the_middle_one():
    score, same = np.arange(5.0), np.array([True, False, True, False, True])
    right = {t: accuracy_score(same, score >= t) for t in (-0.5, 0.5, 1.5, 2.5, 3.5, 4.5)}
    best = sorted(t for t in right if right[t] == max(right.values()))
    assert len(best) == 3
    assert threshold_of(score, same) == best[1]
    # of two, the higher
    assert threshold_of([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]) == 2.5


def test_the_bounded_rate_decides_among_equals():
    # similar pairs at 2 and 3, dissimilar at 0 and 1: any cut below 2 finds all similar pairs
    score, same = np.arange(4.0), np.array([False, False, True, True])
    assert threshold_of(score, same, "max_tpr", min_rate=0.0) == 1.5
    assert threshold_of(score, same, "max_tnr", min_rate=0.0) == 1.5


def test_a_rate_just_met_is_met():
    score, same = np.arange(20.0), np.repeat([False, True], 10)
    same[9], same[10] = True, False
    tpr, tnr = rates(score, same, threshold_of(score, same, "max_tpr", min_rate=0.9))
    assert (tpr, tnr) == (1.0, 0.9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_numbers_are_told_apart(dtype):
    for low in (1.0, -1.0, 0.0, 3e30):
        low = dtype(low)
        score = np.array([low, np.nextafter(low, dtype(np.inf))], dtype=dtype)
        threshold = threshold_of(score, [False, True])
        np.testing.assert_array_equal(score >= threshold, [False, True])


def test_the_order_of_the_pairs_does_not_matter(rng):
    score, same = rng.integers(10, size=60) / 7, rng.random(60) < 0.5
    order = rng.permutation(60)
    for strategy in ("accuracy", "f_beta", "max_tpr", "max_tnr"):
        first = threshold_of(score, same, strategy, **options(strategy))
        again = threshold_of(score[order], same[order], strategy, **options(strategy))
        assert again == first


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
def test_values_order_scores_of_the_same_pairs(strategy, rng):
    same = rng.random(50) < 0.4
    found = []
    for noise in (0.1, 0.5, 1.0, 2.0, 9.0):
        score = same + noise * rng.normal(size=50)
        y, goal = np.where(same, 1, -1), {"strategy": strategy, **options(strategy)}
        threshold, value = best_threshold(score, y, **goal)
        found.append((value, goal_by_hand(strategy, score, same, threshold)))
    assert [goal for _, goal in sorted(found)] == sorted(goal for _, goal in found)


@pytest.mark.parametrize(
    ("score", "y", "words"),
    [
        ([1.0, 2.0], [1, 1], r"all 2 pairs are similar \(\+1\); give at least one pair of either"),
        ([1.0, 2.0], [-1, -1], r"all 2 pairs are dissimilar \(-1\); give"),
        ([1.0, np.nan], [-1, 1], r"score\[1\] = nan must be finite"),
        ([np.inf, 0.0], [-1, 1], r"score\[0\] = inf must be finite"),
        ([[1.0, 2.0]], [-1, 1], r"score has shape \(1, 2\)"),
        (["a", "b"], [-1, 1], "expected one number a pair"),
        ([1.0, 2.0, 3.0], [-1, 1], r"y has shape \(2,\); there are 3 pairs"),
        ([1.0, 2.0], [-1, 2], r"y\[1\] = 2; expected \+1 \(similar\) or -1"),
        (
            [1.0, 2.0],
            [0, 1],
            r"y\[0\] = 0; .* convert booleans, or 0 and 1, by np.where\(y, 1, -1\)",
        ),
        ([1.0, 2.0], [True, False], r"y\[0\] = True; expected \+1 \(similar\) or -1"),
        ([1.0, 2.0], ["yes", "no"], r"y\[0\] = yes; expected \+1"),
    ],
)
def test_bad_scores_are_said(score, y, words):
    with pytest.raises(ValueError, match=words):
        best_threshold(score, y)


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
        ({"strategy": "f_beta", "beta": -1}, "beta is -1; expected a finite number of at least 0"),
    ],
)
def test_bad_options_are_said(options, words):
    with pytest.raises(ValueError, match=words):
        best_threshold([1.0, 2.0], [-1, 1], **options)


def test_beta_of_zero_maximises_precision():
    score, y = [5.0, 4.0, 3.0, 2.0, 1.0], [1, -1, 1, 1, -1]
    threshold, value = best_threshold(score, y, strategy="f_beta", beta=0)
    assert 4.0 < threshold < 5.0
    assert value == 1.0
