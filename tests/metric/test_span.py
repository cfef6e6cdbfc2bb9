"""Wide data: the problem in the span of the samples is the same problem."""

import numpy as np
import pytest

from frobmetric import FrobMetric
from frobmetric.metric.span import Frame, unit_mean_square


def test_coordinates_keep_every_distance(rng):
    X = rng.normal(size=(12, 40))
    frame = Frame.of(X)
    Z, scale = unit_mean_square(X)
    assert frame.Z.shape == (12, 12)
    assert frame.scale == scale
    np.testing.assert_allclose(frame.Z @ frame.Z.T, Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(frame.basis.T @ frame.basis, np.eye(12), atol=1e-12)
    assert Frame.of(X.T).basis is None


def test_the_metric_is_the_one_of_all_features(rng):
    X, y = rng.normal(size=(20, 30)), np.arange(20) % 2
    within = FrobMetric(C=10, tol=1e-8).fit(X, y)
    # a prior of zero changes nothing, but keeps the features
    whole = FrobMetric(C=10, tol=1e-8, prior=np.zeros((30, 30))).fit(X, y)
    assert within.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(
        within.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), atol=1e-4)


def test_thousands_of_features_need_no_matrix_of_their_order(rng):
    X, y = rng.normal(size=(40, 5000)), np.arange(40) % 2
    metric = FrobMetric(n_components="rank", keep_dual=True, C=100).fit(X, y)
    assert metric.components_.shape == (metric.rank_, 5000)
    assert metric.certify(X).relative_gap <= 1e-3


def test_nci60(data_folder):
    """64 samples of 6,830 genes."""
    with np.load(data_folder / "nci60.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["labels"]
    kept = np.isin(y, [name for name in np.unique(y) if (y == name).sum() > 3])
    metric = FrobMetric(n_components="rank").fit(X[kept], y[kept])
    assert metric.certificate_.relative_gap <= 1e-3
