"""Contracts of all learners from pairs, used by the tests of each."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from frobmetric import wrap_pairs
from frobmetric.learning.constraints import Constraints

IRIS, CLASSES = load_iris(return_X_y=True)


def iris_pairs(n=60, seed=0):
    """Return similar and dissimilar pairs of iris as row numbers, with their labels."""
    rows = Constraints(CLASSES).positive_negative_pairs(n, random_state=seed)
    return wrap_pairs(np.arange(len(IRIS)), rows)


def class_separation(X, y):
    """Return the mean distance within classes relative to that between classes."""
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    same = y[:, None] == y[None]
    return distance[same].mean() / distance[~same].mean()


def check_pair_contracts(learner):
    """Assert what a learner from pairs promises for its input."""
    index, y = iris_pairs()
    pairs, M = IRIS[index], None
    for metric, given in [
        (clone(learner), pairs),
        (clone(learner), pairs.tolist()),
        (clone(learner).set_params(preprocessor=IRIS), index),
        (clone(learner).set_params(preprocessor=lambda rows: IRIS[rows]), index),
        (clone(learner), pairs[:, ::-1]),
    ]:
        metric.fit(given, y)
        assert metric.components_.shape == (4, 4)
        assert set(metric.predict(given)) == {-1, 1}
        assert metric.score(given, y) > 0.7
        M = metric.get_mahalanobis_matrix() if M is None else M
        np.testing.assert_allclose(metric.get_mahalanobis_matrix(), M, rtol=1e-6, atol=1e-9)
    single = clone(learner).fit(pairs.astype(np.float32), y)
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(
        single.get_mahalanobis_matrix(), M, rtol=1e-3, atol=1e-4 * np.abs(M).max()
    )


def check_weights(learner):
    """Assert that weights are repetitions, and that a weight of zero removes a pair."""
    index, y = iris_pairs(40)
    pairs, weight = IRIS[index], np.arange(len(y)) % 3
    weighted = clone(learner).fit(pairs, y, sample_weight=weight)
    repeated = clone(learner).fit(np.repeat(pairs, weight, axis=0), np.repeat(y, weight))
    M = repeated.get_mahalanobis_matrix()
    np.testing.assert_allclose(
        weighted.get_mahalanobis_matrix(), M, rtol=1e-5, atol=1e-6 * np.abs(M).max()
    )
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, rel=1e-4)


def check_refusals(learner):
    """Assert that what cannot be learned from is refused, and that nothing is stored then."""
    index, y = iris_pairs(20)
    pairs = IRIS[index]
    broken = pairs.copy()
    broken[0, 0, 0] = np.nan
    for arguments, match in [
        ((broken, y), "NaN"),
        ((pairs, np.ones(len(y))), "similar"),
        ((pairs, None), "y is None"),
        ((pairs[:, :1], y), "pairs"),
        ((index, y), "preprocessor"),
        ((np.repeat(pairs[:, :1], 2, axis=1), y), "equal points"),
    ]:
        metric = clone(learner)
        with pytest.raises(ValueError, match=match):
            metric.fit(*arguments)
        assert not hasattr(metric, "components_")
    with pytest.raises(ValueError, match="strategy"):
        clone(learner).fit(pairs, y, calibration_params={"strategy": "weird"})
    extra = np.concatenate([pairs, pairs[:1, [0, 0]]])
    with pytest.warns(UserWarning, match="equal points"):
        metric = clone(learner).fit(extra, np.append(y, 1))
    plain = clone(learner).fit(pairs, y)
    np.testing.assert_allclose(metric.components_, plain.components_)
