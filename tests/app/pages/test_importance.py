"""Intervals of the shares of features: they hold the share, and those of other samples."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from frobmetric import FrobMetric
from frobmetric.app.pages.importance import _draw, _intervals, find_importance
from frobmetric.app.pages.spaces import Spaces


def _importance(X, y, units="within", n_refits=8):
    model = FrobMetric(units=units)
    spaces = Spaces.of(model.fit(X, y), X, np.ones(X.shape[1]))
    return find_importance(spaces, model, X, y, n_refits, 0)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_intervals_hold_the_estimates(load):
    found = _importance(*load(return_X_y=True))
    low, high = found.intervals.T
    inside = (low <= found.after) & (found.after <= high)
    assert inside.mean() >= 0.9
    assert (high - low).max() < 0.8  # they say something


def _table(seed):
    """Return samples whose first feature decides the class, among eight others."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(120, 9))
    return X, (X[:, 0] + 0.5 * random.normal(size=120) > 0).astype(int)


@pytest.mark.slow
def test_intervals_hold_the_mean_shares_of_other_samples():
    others = [_importance(*_table(100 + seed), n_refits=0).after for seed in range(30)]
    truth = np.mean(others, axis=0)
    bounds = np.array([_importance(*_table(seed), n_refits=12).intervals for seed in range(12)])
    covered = (bounds[:, :, 0] <= truth) & (truth <= bounds[:, :, 1])
    assert 0.8 <= covered.mean() <= 0.999  # meant: 0.9


def test_samples_are_drawn_once_from_each_class():
    y = np.repeat([0, 1, 2], [50, 10, 3])
    rows = _draw(y, 0.5, np.random.default_rng(0))
    assert len(np.unique(rows)) == len(rows)
    assert np.bincount(y[rows]).tolist() == [25, 5, 2]


def test_the_spread_of_smaller_parts_is_scaled():
    shares = 0.5 + np.array([[-0.1], [0.0], [0.1]])
    half, tenth = (_intervals(np.array([0.5]), shares, part)[0] for part in (0.5, 0.1))
    assert half - 0.5 == pytest.approx(3 * (tenth - 0.5))
    assert half[1] - 0.5 == pytest.approx(2.92 * 0.1, abs=1e-3)  # Student's t, two degrees


@pytest.mark.filterwarnings("ignore:classes with fewer than")
def test_classes_that_are_too_small_have_no_intervals():
    y = np.repeat([0, 1, 2], 2)
    X = y[:, None] + 0.1 * np.random.default_rng(0).normal(size=(6, 2))
    assert "two samples at most" in _importance(X, y, n_refits=2).note
    assert "two refits or more" in _importance(*load_iris(return_X_y=True), n_refits=1).note
