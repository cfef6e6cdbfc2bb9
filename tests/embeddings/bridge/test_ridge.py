"""Ridge maps: the path against scikit-learn's Ridge, left-out errors against real refits."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from frobmetric.embeddings.bridge.ridge import Cells, RidgePath


@pytest.fixture
def vectors(rng):
    X = rng.standard_normal((40, 6))
    return X, X @ rng.standard_normal((6, 4)) + rng.standard_normal((40, 4))


def path_of(X, Y, n_maps, prior=None):
    cells = Cells.of(X, n_maps, 0)
    features = cells.features(X)
    prior = np.zeros((features.shape[1], Y.shape[1])) if prior is None else prior
    return cells, features, RidgePath.of(features, Y, prior, X.shape[1])


@pytest.mark.parametrize("n_maps", [1, 3, 9])  # with nine, features outnumber the samples
def test_the_path_is_ridge_regression_of_the_features(vectors, rng, n_maps):
    X, Y = vectors
    cells, features, path = path_of(X, Y, n_maps)
    for strength in (1e-3, 0.1, 10.0):
        ridge = Ridge(alpha=strength * path.unit, fit_intercept=False).fit(features, Y)
        np.testing.assert_allclose(path.coefficients(strength), ridge.coef_.T, atol=1e-8)
        new = rng.standard_normal((7, 6))
        expected = cells.features(new) @ ridge.coef_.T
        np.testing.assert_allclose(cells.predict(new, path.coefficients(strength)), expected)


def test_the_ridge_shrinks_to_the_prior(vectors, rng):
    X, Y = vectors
    prior = rng.standard_normal((7, 4))
    path = path_of(X, Y, 1, prior)[2]
    np.testing.assert_allclose(path.coefficients(1e12), prior, atol=1e-8)
    assert np.abs(path.coefficients(1e-3) - prior).max() > 0.1


@pytest.mark.parametrize("n_maps", [1, 3])
def test_left_out_errors_are_those_of_refits(vectors, n_maps):
    X, Y = vectors
    _, features, path = path_of(X, Y, n_maps)
    errors = path.left_out_errors(0.2)
    for i in (0, 17, 39):
        others = np.arange(len(X)) != i
        ridge = Ridge(alpha=0.2 * path.unit, fit_intercept=False)
        ridge.fit(features[others], Y[others])
        np.testing.assert_allclose(errors[i], Y[i] - ridge.predict(features[i : i + 1])[0])


@pytest.mark.parametrize("n_maps", [1, 9])
def test_the_certificate_contains_the_minimum(vectors, n_maps):
    X, Y = vectors
    _, features, path = path_of(X, Y, n_maps)
    certificate = path.certificate(0.3)
    W = path.coefficients(0.3)
    primal = (np.sum((Y - features @ W) ** 2) + 0.3 * path.unit * np.sum(W**2)) / 2
    assert certificate.primal == pytest.approx(primal)
    assert certificate.relative_gap < 1e-12
    assert certificate.distance_bound < 1e-4


def test_a_cell_departs_from_the_common_map(rng):
    """Two clusters with maps of opposite sign: one map cannot serve both."""
    X = rng.standard_normal((80, 3)) + np.repeat([[9.0, 0, 0], [-9.0, 0, 0]], 40, axis=0)
    Y = X[:, 1:] * np.repeat([1.0, -1.0], 40)[:, None]
    errors = [np.abs(path_of(X, Y, n)[2].left_out_errors(1e-5)).mean() for n in (1, 2)]
    assert errors[1] < 0.1 * errors[0]


def test_constant_samples_have_a_map():
    cells, features, path = path_of(np.ones((5, 2)), np.full((5, 3), 2.0), 1)
    assert cells.scale == 1
    mapped = cells.predict(np.ones((1, 2)), path.coefficients(1e-3))
    np.testing.assert_allclose(mapped, 2.0, rtol=1e-3)
    assert features.shape == (5, 3)
