"""The intervals and tests by which `evaluate` judges a metric."""

import doctest

import numpy as np
import pytest
from scipy.stats import binomtest

from frobmetric.cli import evaluation
from frobmetric.cli.evaluation import (
    Comparison,
    compare,
    knn_mistakes,
    mcnemar_pvalue,
    wilson_interval,
)
from frobmetric.io.tables import Table
from frobmetric.metric import FrobMetric


def comparison(euclidean=20, learned=10, fixed=12, broken=2, spread_ratio=1.0):
    return Comparison(3, 100, euclidean, learned, fixed, broken, spread_ratio)


def test_examples():
    assert doctest.testmod(evaluation).failed == 0


@pytest.mark.parametrize(("errors", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (37, 540)])
def test_wilson_is_scipys(errors, trials):
    expected = binomtest(errors, trials).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson_interval(errors, trials), expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(("errors", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_of_impossible_counts(errors, trials):
    with pytest.raises(ValueError, match="expected 0 <= errors <= trials"):
        wilson_interval(errors, trials)


@pytest.mark.parametrize(("fixed", "broken"), [(1, 0), (7, 2), (2, 7), (30, 30), (2000, 1800)])
def test_mcnemar_is_the_binomial_test(fixed, broken):
    expected = binomtest(fixed, fixed + broken).pvalue
    assert mcnemar_pvalue(fixed, broken) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_no_difference():
    assert mcnemar_pvalue(0, 0) == 1.0


def test_knn_mistakes():
    X = np.array([[0.0], [1], [2], [10], [11], [12]])
    y = np.array(list("aaabbb"))
    wrong = knn_mistakes(X, y, np.array([[1.5], [11.5], [2.5]]), np.array(list("abb")))
    assert wrong.tolist() == [False, False, True]


def test_knn_mistakes_says_what_is_wrong():
    X, y = np.ones((2, 1)), np.array([0, 1])
    with pytest.raises(ValueError, match="k=3 neighbours are to vote, but there are only 2"):
        knn_mistakes(X, y, X, y, k=3)
    with pytest.raises(ValueError, match="no label of the test data"):
        knn_mistakes(X, y, X, np.array(["0", "1"]), k=1)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({}, "helped"),
        ({"learned": 18, "fixed": 4, "broken": 2}, "unclear"),
        ({"learned": 20, "fixed": 5, "broken": 5}, "did not help"),
        ({"learned": 30, "fixed": 0, "broken": 10}, "did not help"),
    ],
)
def test_verdicts(counts, verdict):
    result = comparison(**counts)
    assert result.verdict == result.to_dict()["verdict"] == verdict


def test_says_plainly_when_it_did_not_help():
    text = str(comparison(learned=20, fixed=5, broken=5))
    assert "The learned metric did not help here" in text
    assert "Try another C" in text
    assert "scaling" not in text
    assert "scaling the features" in str(comparison(learned=25, broken=17, spread_ratio=300.0))


def test_nothing_to_gain():
    assert "nothing to gain" in str(comparison(euclidean=0, learned=0, fixed=0, broken=0))


def test_a_metric_that_must_help():
    """Five of six features are noise; on the other the classes are apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = np.column_stack([y + rng.normal(scale=0.1, size=400), 3 * rng.normal(size=(400, 5))])
    train, test = Table(X[:200], y[:200]), Table(X[200:], y[200:])
    result = compare(FrobMetric().fit(train.X, train.y), train, test)
    assert result.verdict == "helped"
    assert result.learned == result.euclidean - result.fixed + result.broken
    assert 0.9 < result.spread_ratio < 1.1
