"""Paired differences of every kind: intervals, their coverage, an exact test, and verdicts."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial, norm, ttest_rel

from frobmetric.evaluation.paired import (
    LEVEL,
    PairedErrors,
    Z,
    error_interval,
    paired_recalls,
    paired_residuals,
    paired_scores,
    residual_interval,
    root_mean,
)


def test_counts():
    before = np.array([True, True, True, False, False, False])
    after = np.array([True, False, False, True, False, False])
    errors = PairedErrors.from_mistakes(before, after)
    assert errors == PairedErrors.from_counts(6, n_both=1, n_fixed=2, n_broken=1)
    assert (errors.n_before, errors.n_after) == (3, 2)
    assert errors.estimate == pytest.approx(-1 / 6)


@pytest.mark.parametrize(
    ("before", "after"), [([True], [True, False]), ([0, 1], [1, 0]), ([], []), ([[True]], [[True]])]
)
def test_masks_that_do_not_fit(before, after):
    with pytest.raises(ValueError, match="expected two masks"):
        PairedErrors.from_mistakes(before, after)


@pytest.mark.parametrize(("fixed", "broken", "pvalue"), [(5, 0, 0.0625), (0, 5, 0.0625), (0, 0, 1)])
def test_exact_mcnemar_test(fixed, broken, pvalue):
    assert PairedErrors.from_counts(100, 3, fixed, broken).pvalue == pytest.approx(pvalue)


def test_wilson_interval_of_an_error():
    assert error_interval(0, 100) == pytest.approx((0.0, 0.037), abs=5e-4)
    assert error_interval(100, 100) == pytest.approx((0.963, 1.0), abs=5e-4)


def _score(n, n_fixed, n_broken, delta):
    """Return the score statistic at a difference, with rates that maximise the likelihood."""

    def loss(rate):  # of fixed samples; that of broken ones is larger by delta
        rates = np.array([rate, rate + delta, 1 - 2 * rate - delta])
        counts = np.array([n_fixed, n_broken, n - n_fixed - n_broken])
        return -np.sum(counts[counts > 0] * np.log(np.maximum(rates[counts > 0], 1e-300)))

    bounds = (max(0, -delta), (1 - delta) / 2)
    rate = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
    variance = n * (2 * rate + delta - delta**2)
    return (n_broken - n_fixed - n * delta) / np.sqrt(variance)


@pytest.mark.parametrize("counts", [(50, 12, 2), (50, 3, 20), (200, 40, 10), (30, 9, 0)])
def test_the_interval_ends_where_the_score_test_rejects(counts):
    low, high = PairedErrors.from_counts(counts[0], 0, *counts[1:]).interval
    assert _score(*counts, low) == pytest.approx(Z, abs=1e-4)
    assert _score(*counts, high) == pytest.approx(-Z, abs=1e-4)


def test_intervals_at_the_edges():
    low, high = PairedErrors.from_counts(100, 0, 0, 0).interval  # no difference seen is not none
    assert (low, high) == pytest.approx((-(Z**2) / (100 + Z**2), Z**2 / (100 + Z**2)))
    low, high = PairedErrors.from_counts(20, 0, 20, 0).interval
    assert low == -1
    assert -0.9 < high < -0.6
    assert PairedErrors.from_counts(20, 0, 0, 20).interval == pytest.approx((-high, 1))


def test_the_interval_contains_zero_if_and_only_if_the_test_does_not_reject():
    for n_different in range(1, 60):
        for n_fixed in range(n_different + 1):
            errors = PairedErrors.from_counts(100, 0, n_fixed, n_different - n_fixed)
            low, high = errors.interval
            assert (low <= 0 <= high) == (errors.pvalue > LEVEL)
            assert low <= errors.estimate <= high


def test_coverage_of_the_interval():
    """Exactly: the probability of all counts whose interval contains the true difference."""
    n, coverages = 40, []
    counts = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    low, high = np.array([PairedErrors.from_counts(n, 0, a, b).interval for a, b, _ in counts]).T
    for rates in [(0.0, 0.01), (0.02, 0.02), (0.1, 0.0), (0.05, 0.15), (0.2, 0.2), (0.4, 0.1)]:
        difference = rates[1] - rates[0]
        holds = (low <= difference + 1e-12) & (difference <= high + 1e-12)
        weight = multinomial.pmf(counts, n, [*rates, 1 - sum(rates)])
        coverages.append(weight[holds].sum())
    assert min(coverages) > 0.93
    assert np.mean(coverages) > 0.95


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        (PairedErrors.from_counts(100, 8, 12, 2), "helped"),
        (PairedErrors.from_counts(100, 8, 2, 12), "hurt"),
        (PairedErrors.from_counts(100, 8, 4, 2), "unclear"),
        (PairedErrors.from_counts(50, 8, 0, 0), "unclear"),
        (PairedErrors.from_counts(2000, 80, 4, 5), "no difference"),
        (PairedErrors.from_counts(100, 0, 0, 3), "nothing to gain"),
        (PairedErrors.from_counts(100, 0, 0, 9), "hurt"),
    ],
)
def test_verdicts(errors, verdict):
    assert errors.verdict == errors.to_dict()["verdict"] == verdict


def test_number_of_samples_that_would_tell():
    few = PairedErrors.from_counts(100, 5, 8, 4)
    assert few.verdict == "unclear"
    ratio = int(np.ceil(few.n_needed / 100))
    assert ratio > 1
    assert PairedErrors.from_counts(100 * ratio, 5, 8 * ratio, 4 * ratio).verdict == "helped"
    assert PairedErrors.from_counts(100, 5, 4, 4).n_needed == np.inf


def test_texts():
    text = str(PairedErrors.from_counts(178, 3, 5, 0))
    assert text.startswith("-2.8 points [-6.4, +0.0]; 5 put right, 0 spoiled; exact McNemar")
    assert PairedErrors.from_counts(5000, 3, 5, 0).points().startswith("-0.10 points [-0.2")
    data = PairedErrors.from_counts(178, 3, 5, 0).to_dict()
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (10, -1, 2, 3), (10, 5, 5, 5)])
def test_counts_that_are_not_possible(counts):
    with pytest.raises(ValueError, match="expected numbers of samples"):
        PairedErrors.from_counts(*counts)


# Residuals


def test_the_difference_of_residuals_is_that_of_the_roots():
    pair = paired_residuals(np.array([4.0, 0.0]), np.array([1.0, 1.0]))
    assert pair.estimate == pytest.approx(1 - np.sqrt(2))


@pytest.mark.parametrize(
    ("factor", "noise", "verdict"),
    [(0.5, 0.0, "helped"), (2.0, 0.0, "hurt"), (1.0, 0.0, "no difference"), (1.0, 1.0, "unclear")],
)
def test_verdicts_of_residuals(factor, noise, verdict):
    rng = np.random.default_rng(0)
    before = rng.normal(size=60) ** 2
    after = factor * before + noise * (rng.normal(size=60) ** 2 - before)
    pair = paired_residuals(before, after)
    assert pair.verdict == pair.to_dict()["verdict"] == verdict
    assert (pair.interval[0] > 0 or pair.interval[1] < 0) == (verdict in ("helped", "hurt"))


def test_the_interval_covers_the_true_error():
    """Of 50 samples of normal residuals about 95 % of the intervals have the true error."""
    rng = np.random.default_rng(1)
    intervals = [residual_interval(rng.normal(size=100) ** 2) for _ in range(50)]
    share = np.mean([low <= 1 <= high for low, high in intervals])
    assert share >= 0.86


def test_the_interval_of_residuals_is_that_of_the_normal_approximation():
    squares = np.random.default_rng(2).normal(size=2000) ** 2
    low, high = residual_interval(squares)
    deviation = squares.std() / np.sqrt(2000) / (2 * root_mean(squares))
    assert [low, high] == pytest.approx(
        [root_mean(squares) - 1.96 * deviation, root_mean(squares) + 1.96 * deviation], abs=2e-3
    )


def test_points():
    pair = paired_residuals(np.full(2000, 0.25), np.full(2000, 0.36))
    assert pair.points() == "+10.00 points [+10.00, +10.00]"


# Scores


def test_the_interval_of_scores_is_that_of_the_paired_t_test(rng):
    before, after = rng.normal(size=(2, 30))
    gain = paired_scores(before, after, confidence=0.9)
    interval = ttest_rel(after, before).confidence_interval(0.9)
    np.testing.assert_allclose(gain.interval, [interval.low, interval.high])
    np.testing.assert_allclose(gain.estimate, after.mean() - before.mean())


def test_the_interval_of_recalls_is_normal(rng):
    before, after = rng.random((2, 30))
    gain = paired_recalls(before, after)
    error = np.std(after - before, ddof=1) / np.sqrt(30)
    expected = after.mean() - before.mean() + norm.ppf([0.5, 0.025, 0.975]) * error
    np.testing.assert_allclose([gain.estimate, *gain.interval], expected)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([0.4, 0.5, 0.7, 1.0], "helped"),
        ([0.1, 0.3, 0.5, 0.7], "hurt"),
        ([0.2, 0.4, 0.6, 0.8], "no difference"),
        ([0.3, 0.3, 0.7, 0.7], "unclear"),
    ],
)
def test_verdicts_of_scores(after, verdict):
    assert paired_scores([0.2, 0.4, 0.6, 0.8], after).verdict == verdict


def test_one_unit_tells_nothing():
    gain = paired_scores([0.0], [1.0])
    assert gain.verdict == "unclear"
    assert gain.interval == (-np.inf, np.inf)


@pytest.mark.parametrize(("before", "after"), [([], []), ([1.0], [1.0, 2.0]), ([[1.0]], [[1.0]])])
def test_scores_of_other_units_are_refused(before, after):
    with pytest.raises(ValueError, match="one number for each of the same units"):
        paired_scores(before, after)


def test_a_design_effect_widens_the_interval(rng):
    before, after = rng.normal(size=(2, 30))
    narrow, wide = (paired_scores(before, after, design_effect=d) for d in (1.0, 2.0))
    widths = [high - low for low, high in (narrow.interval, wide.interval)]
    np.testing.assert_allclose(widths[1], np.sqrt(2) * widths[0])
