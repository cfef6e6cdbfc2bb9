"""Regression: triplets from targets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from frobmetric import FrobMetric
from frobmetric.checks.parameters import InvalidParameterError
from frobmetric.learning.targets import mine_by_targets, target_groups


@pytest.fixture(scope="module")
def noisy():
    """Samples whose target depends on the first two of ten features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 10))
    return X, X[:, 0] + np.sin(2 * X[:, 1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(12, 80), st.sampled_from([0, 1]))
def test_in_every_triplet_the_far_sample_is_farther_in_y(seed, n, decimals):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), np.round(rng.exponential(size=n), decimals + 1)
    anchor, near, far = mine_by_targets(X, y, n_neighbors=2).to_array().T
    assert (np.abs(y[far] - y[anchor]) > np.abs(y[near] - y[anchor])).all()
    assert (anchor != near).all()


def test_neighbours_are_the_nearest_of_those_near_and_far_in_y(noisy):
    X, y = noisy
    anchor, near, far = mine_by_targets(X, y, n_neighbors=1).to_array().T
    rank = np.abs(y - y[anchor][:, None]).argsort(axis=1).argsort(axis=1)
    distance = np.linalg.norm(X - X[anchor][:, None], axis=2)
    distance[np.arange(len(anchor)), anchor] = np.inf
    # groups of targets stand for their samples, so that the edge of the quarter is not sharp
    for chosen, is_surely_in in ((near, rank < 0.2 * len(y)), (far, rank > 0.45 * len(y))):
        nearest = np.where(is_surely_in, distance, np.inf).min(axis=1)
        assert (distance[np.arange(len(anchor)), chosen] <= nearest + 1e-12).all()
    assert (rank[np.arange(len(near)), near] < 0.3 * len(y)).all()
    assert (rank[np.arange(len(far)), far] > 0.3 * len(y)).all()


def test_the_metric_finds_the_features_that_matter(noisy):
    X, y = noisy
    metric = FrobMetric(targets="values").fit(X[:300], y[:300])
    weight = np.diag(metric.get_mahalanobis_matrix())
    assert weight[:2].min() > 3 * weight[2:].max()
    errors = [
        np.mean((KNeighborsRegressor().fit(A, y[:300]).predict(B) - y[300:]) ** 2)
        for A, B in ((X[:300], X[300:]), (metric.transform(X[:300]), metric.transform(X[300:])))
    ]
    assert errors[1] < 0.5 * errors[0]
    assert metric.certificate_.relative_gap <= 1e-3


@pytest.mark.filterwarnings("ignore:the learned metric satisfies")
def test_it_does_no_harm_on_diabetes():
    X, y = load_diabetes(return_X_y=True)
    ratios = []
    for seed in range(5):
        train = np.random.default_rng(seed).permutation(len(y)) < 300
        scale = StandardScaler().fit(X[train])
        Z = scale.transform(X)
        metric = FrobMetric(targets="values").fit(Z[train], y[train])
        error = [
            np.mean(
                (KNeighborsRegressor().fit(A[train], y[train]).predict(A[~train]) - y[~train]) ** 2
            )
            for A in (Z, metric.transform(Z))
        ]
        ratios.append(error[1] / error[0])
    assert np.mean(ratios) < 1.05


def test_targets_of_minus_one_are_values(noisy):
    X, y = noisy
    metric = FrobMetric(targets="values").fit(X, np.where(np.arange(len(y)) % 5, y, -1.0))
    assert getattr(metric, "n_unlabeled_", None) is None


def test_groups_have_equal_shares_and_keep_equal_targets_together():
    y = np.repeat(np.arange(10.0), 7)
    group = target_groups(y)
    assert np.bincount(group).tolist() == [14] * 5
    assert all(len(set(group[y == value])) == 1 for value in range(10))
    assert set(target_groups(np.append(np.zeros(50), 1.0)).tolist()) == {0, 1}


def test_continuous_labels_are_refused_with_the_way_out(noisy):
    with pytest.raises(ValueError, match=r"targets='values'"):
        FrobMetric().fit(*noisy)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(400), "all 400 targets are 0"),
        (np.append(np.ones(399), np.nan), "NaN"),
        (np.array(["a", "b"] * 200), "could not convert"),
    ],
)
def test_bad_targets_are_refused(noisy, y, message):
    with pytest.raises(ValueError, match=message):
        FrobMetric(targets="values").fit(noisy[0], y)


def test_shards_take_classes_only(noisy):
    dask_array = pytest.importorskip("dask.array")
    X, y = noisy
    with pytest.raises(InvalidParameterError, match="targets='values' needs all samples in memory"):
        FrobMetric(targets="values").fit(dask_array.from_array(X), y)
