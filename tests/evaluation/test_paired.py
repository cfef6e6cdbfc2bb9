"""Paired errors: counts, intervals whose coverage is computed, an exact test, and verdicts."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial

from frobmetric.evaluation.paired import LEVEL, PairedErrors, Z, error_interval


def test_counts():
    before = np.array([True, True, True, False, False, False])
    after = np.array([True, False, False, True, False, False])
    errors = PairedErrors.from_mistakes(before, after)
    assert errors == PairedErrors(n_samples=6, n_both=1, n_fixed=2, n_broken=1)
    assert (errors.n_before, errors.n_after) == (3, 2)
    assert errors.difference == pytest.approx(-1 / 6)


@pytest.mark.parametrize(
    ("before", "after"), [([True], [True, False]), ([0, 1], [1, 0]), ([], []), ([[True]], [[True]])]
)
def test_masks_that_do_not_fit(before, after):
    with pytest.raises(ValueError, match="expected two masks"):
        PairedErrors.from_mistakes(before, after)


@pytest.mark.parametrize(("fixed", "broken", "pvalue"), [(5, 0, 0.0625), (0, 5, 0.0625), (0, 0, 1)])
def test_exact_mcnemar_test(fixed, broken, pvalue):
    assert PairedErrors(100, 3, fixed, broken).pvalue == pytest.approx(pvalue)


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
    low, high = PairedErrors(counts[0], 0, *counts[1:]).interval
    assert _score(*counts, low) == pytest.approx(Z, abs=1e-4)
    assert _score(*counts, high) == pytest.approx(-Z, abs=1e-4)


def test_intervals_at_the_edges():
    low, high = PairedErrors(100, 0, 0, 0).interval  # no difference seen is not none
    assert (low, high) == pytest.approx((-(Z**2) / (100 + Z**2), Z**2 / (100 + Z**2)))
    low, high = PairedErrors(20, 0, 20, 0).interval
    assert low == -1
    assert -0.9 < high < -0.6
    assert PairedErrors(20, 0, 0, 20).interval == pytest.approx((-high, 1))


def test_the_interval_contains_zero_if_and_only_if_the_test_does_not_reject():
    for n_different in range(1, 60):
        for n_fixed in range(n_different + 1):
            errors = PairedErrors(100, 0, n_fixed, n_different - n_fixed)
            low, high = errors.interval
            assert (low <= 0 <= high) == (errors.pvalue > LEVEL)
            assert low <= errors.difference <= high


def test_coverage_of_the_interval():
    """Exactly: the probability of all counts whose interval contains the true difference."""
    n, coverages = 40, []
    counts = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    low, high = np.array([PairedErrors(n, 0, a, b).interval for a, b, _ in counts]).T
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
        (PairedErrors(100, 8, 12, 2), "helped"),
        (PairedErrors(100, 8, 2, 12), "hurt"),
        (PairedErrors(100, 8, 4, 2), "unclear"),
        (PairedErrors(50, 8, 0, 0), "unclear"),
        (PairedErrors(2000, 80, 4, 5), "no difference"),
        (PairedErrors(100, 0, 0, 3), "nothing to gain"),
        (PairedErrors(100, 0, 0, 9), "hurt"),
    ],
)
def test_verdicts(errors, verdict):
    assert errors.verdict == errors.to_dict()["verdict"] == verdict


def test_number_of_samples_that_would_tell():
    few = PairedErrors(100, 5, 8, 4)
    assert few.verdict == "unclear"
    ratio = int(np.ceil(few.n_needed / 100))
    assert ratio > 1
    assert PairedErrors(100 * ratio, 5, 8 * ratio, 4 * ratio).verdict == "helped"
    assert PairedErrors(100, 5, 4, 4).n_needed == np.inf


def test_texts():
    text = str(PairedErrors(178, 3, 5, 0))
    assert text.startswith("-2.8 points [-6.4, +0.0]; 5 put right, 0 spoiled; exact McNemar")
    assert PairedErrors(5000, 3, 5, 0).points().startswith("-0.10 points [-0.2")
    data = PairedErrors(178, 3, 5, 0).to_dict()
    assert json.loads(json.dumps(data)) == data
