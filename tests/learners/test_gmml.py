"""GMML: its closed form, the geodesic, the prior, and contracts."""

import numpy as np
import pytest

from frobmetric.learners import GMML, GMML_Supervised
from pair_learner_checks import CLASSES, IRIS, class_separation, iris_pairs


def scatters(pairs, y):
    """Return the scatters of similar and of dissimilar pairs."""
    V = pairs[:, 0] - pairs[:, 1]
    return (V[y > 0].T @ V[y > 0] / np.sum(y > 0), V[y < 0].T @ V[y < 0] / np.sum(y < 0))


def power(A, p):
    values, vectors = np.linalg.eigh(A)
    return (vectors * values**p) @ vectors.T


def test_metric_solves_its_equation_and_minimises_its_objective(rng):
    index, y = iris_pairs()
    S, D = scatters(IRIS[index], y)
    M = GMML(reg=0).fit(IRIS[index], y).get_mahalanobis_matrix()
    np.testing.assert_allclose(M @ S @ M, D, atol=1e-10 * np.abs(D).max())

    def objective(M):
        return np.trace(M @ S) + np.trace(np.linalg.inv(M) @ D)

    for _ in range(20):
        E = 0.01 * rng.normal(size=(4, 4))
        assert objective(M) <= objective((np.eye(4) + E) @ M @ (np.eye(4) + E).T)


@pytest.mark.parametrize("t", [0, 0.2, 0.7, 1])
def test_metric_is_on_the_geodesic(t):
    index, y = iris_pairs()
    S, D = scatters(IRIS[index], y)
    M = GMML(t=t, reg=0).fit(IRIS[index], y).get_mahalanobis_matrix()
    outer, inner = power(S, -0.5), power(S, 0.5)
    expected = outer @ power(inner @ D @ inner, t) @ outer
    np.testing.assert_allclose(M, expected, rtol=1e-8, atol=1e-10)


def test_prior_has_a_share_of_both_traces():
    index, y = iris_pairs()
    S, D = scatters(IRIS[index], y)
    prior = np.diag([1.0, 2.0, 4.0, 8.0])
    M = GMML(reg=0.3, prior=prior).fit(IRIS[index], y).get_mahalanobis_matrix()
    S = S + 0.3 * np.trace(S) * np.linalg.inv(prior) / np.trace(np.linalg.inv(prior))
    D = D + 0.3 * np.trace(D) * prior / np.trace(prior)
    np.testing.assert_allclose(M @ S @ M, D, atol=1e-10 * np.abs(D).max())
    other = GMML(reg=0.3, prior=5 * prior).fit(IRIS[index], y).get_mahalanobis_matrix()
    np.testing.assert_allclose(other, M, rtol=1e-9)


def test_dependent_features_need_a_prior():
    index, y = iris_pairs()
    pairs = np.concatenate([IRIS[index], np.ones((len(y), 2, 1))], axis=2)
    with pytest.raises(np.linalg.LinAlgError, match="reg"):
        GMML(reg=0).fit(pairs, y)
    M = GMML().fit(pairs, y).get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(M)[0] > 0


def test_more_features_than_points(rng):
    X, y = rng.normal(size=(20, 40)), np.repeat([0, 1], 10)
    metric = GMML_Supervised(n_constraints=30, random_state=0).fit(X, y)
    assert np.isfinite(metric.components_).all()
    assert np.linalg.matrix_rank(metric.components_) == 40


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        GMML_Supervised().fit(IRIS, np.zeros(150))


@pytest.mark.parametrize("t", [-0.1, 1.1, "half"])
def test_places_outside_of_the_geodesic_are_refused(t):
    index, y = iris_pairs()
    with pytest.raises(ValueError, match="between 0 and 1"):
        GMML(t=t).fit(IRIS[index], y)


def test_separates_iris():
    metric = GMML_Supervised(random_state=0)
    before = class_separation(IRIS, CLASSES)
    assert class_separation(metric.fit_transform(IRIS, CLASSES), CLASSES) < before
