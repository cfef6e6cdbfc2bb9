"""Doubts about labels: wrong labels are found by their dual variables."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from frobmetric import BoostMetric, FrobMetric
from frobmetric.app.pages.doubts import find_doubts

X, y = load_iris(return_X_y=True)
WRONG = np.array([3, 20, 140])


@pytest.fixture(scope="module")
def spoiled():
    labels = y.copy()
    labels[WRONG] = [2, 1, 0]
    return labels


@pytest.fixture(scope="module")
def votes(spoiled):
    return cross_val_predict(KNeighborsClassifier(3), X, spoiled)


@pytest.fixture(scope="module")
def doubts(spoiled, votes):
    metric = FrobMetric(keep_dual=True).fit(X, spoiled)
    return find_doubts(metric, X, spoiled, metric.transform(X), votes)


def test_wrong_labels_are_the_most_doubtful(doubts):
    assert set(doubts.samples[:3]) == set(WRONG)
    assert (np.diff(doubts.shares) <= 0).all()
    assert doubts.shares.max() <= 1
    assert doubts.notes == ()


def test_hardest_triplets_have_negative_margins_and_distinct_anchors(doubts, spoiled):
    anchors, near, far = doubts.triplets.T
    assert len(set(anchors)) == len(anchors)
    assert (spoiled[anchors] == spoiled[near]).all()
    assert (spoiled[anchors] != spoiled[far]).all()
    assert (np.diff(doubts.margins) >= 0).all()
    assert doubts.margins[0] < 0
    assert 0 < doubts.n_at_bound < doubts.n_triplets


def test_a_model_without_dual_variables_is_fitted_again(spoiled, votes, doubts):
    metric = FrobMetric().fit(X, spoiled)
    again = find_doubts(metric, X, spoiled, metric.transform(X), votes)
    assert "fitted again" in again.notes[0]
    assert len(again.notes) == 1
    np.testing.assert_array_equal(again.samples, doubts.samples)


def test_a_model_of_other_data_is_told_from_one_of_these(spoiled, votes):
    metric = FrobMetric().fit(X[::2], y[::2])
    found = find_doubts(metric, X, spoiled, metric.transform(X), votes)
    assert "learned from other data" in found.notes[1]


def test_triplets_of_more_rows_are_not_of_these_samples(votes):
    metric = FrobMetric(keep_dual=True).fit(X, y)
    found = find_doubts(metric, X[:60], y[:60], metric.transform(X[:60]), y[:60])
    assert "not of these samples" in found.notes[0]
    assert not len(found.triplets)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "no dual variables"),
        (BoostMetric(loss="exponential"), "no upper bound"),
        (FrobMetric(loss="squared_hinge"), "no upper bound"),
    ],
)
def test_other_models_have_a_reason(model, reason, votes):
    fitted = None if model is None else model.fit(X, y)
    found = find_doubts(fitted, X, y, X, votes)
    assert reason in found.notes[0]
    assert not len(found.samples)
