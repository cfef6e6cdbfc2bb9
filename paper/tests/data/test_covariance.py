"""Covariances within classes, and maps that make a covariance the identity."""

import numpy as np
import pytest

from frobmetric_paper.data.covariance import whitening, within_covariance


def test_the_covariance_within_classes_is_the_mean_over_samples(rng):
    y = np.array([3, 3, 3, 7, 7, 9])
    X = rng.normal(size=(6, 2))
    expected = sum(np.cov(X[y == c].T, bias=True) * np.mean(y == c) for c in (3, 7))
    np.testing.assert_allclose(within_covariance(X, y), expected)


@pytest.mark.parametrize("rank", [4, 2])
def test_whitening_makes_the_covariance_the_identity(rank, rng):
    X = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 4))
    covariance = X.T @ X / 30
    L = whitening(covariance)
    assert L.shape == (4, rank)
    np.testing.assert_allclose(L.T @ covariance @ L, np.eye(rank), atol=1e-10)
    np.testing.assert_allclose(L @ L.T, np.linalg.pinv(covariance, rcond=1e-10), rtol=1e-6)
