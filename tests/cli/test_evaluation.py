"""The comparison of a learned metric with the Euclidean one."""

import numpy as np
import pytest

from frobmetric.cli.evaluation import ErrorComparison, compare, knn_mistakes
from frobmetric.io.tables import Table
from frobmetric.metric import FrobMetric


def comparison(euclidean=20, learned=10, fixed=12, broken=2, spread_ratio=1.0):
    return ErrorComparison(3, 100, euclidean, learned, fixed, broken, spread_ratio)


def test_wilson_interval():
    low, high = comparison(learned=0).to_dict()["learned"]["interval"]
    assert (low, round(high, 3)) == (0.0, 0.037)
    low, high = comparison(euclidean=100).to_dict()["euclidean"]["interval"]
    assert (round(low, 3), high) == (0.963, 1.0)


@pytest.mark.parametrize(("fixed", "broken", "pvalue"), [(5, 0, 0.0625), (0, 5, 0.0625), (0, 0, 1)])
def test_mcnemar_test(fixed, broken, pvalue):
    assert comparison(fixed=fixed, broken=broken).pvalue == pytest.approx(pvalue)


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
