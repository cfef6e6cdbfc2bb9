"""ITML: the optimum beside an independent solver, its certificate, bounds, and contracts."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from frobmetric import ITML
from frobmetric.exceptions import NonPSDError
from frobmetric.learners import ITML_Supervised
from frobmetric.learners.logdet import LogDetProblem
from pair_learner_checks import CLASSES, IRIS, class_separation, iris_pairs


def objective(M, V, y, bounds, gamma=1.0, prior=None):
    """Return the objective of the problem as the paper states it, with the best slacks."""
    prior = np.eye(len(M)) if prior is None else prior
    d, bound = np.einsum("ij,jk,ik->i", V, M, V), np.where(y > 0, *bounds)
    slack = np.where(y > 0, np.maximum(d, bound), np.minimum(d, bound))
    ratio = M @ np.linalg.inv(prior)
    divergence = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(M)
    return divergence + gamma * np.sum(slack / bound - np.log(slack / bound) - 1)


def optimum(V, y, bounds, gamma=1.0, prior=None):
    """Return the optimal M of a small problem by a conic solver."""
    cvxpy = pytest.importorskip("cvxpy")
    n = V.shape[1]
    prior = np.eye(n) if prior is None else prior
    bound = np.where(y > 0, *bounds)
    M, xi = cvxpy.Variable((n, n), PSD=True), cvxpy.Variable(len(y), pos=True)
    d = cvxpy.hstack([v @ M @ v for v in V])
    cost = cvxpy.trace(np.linalg.inv(prior) @ M) - cvxpy.log_det(M)
    cost += gamma * cvxpy.sum(cvxpy.multiply(1 / bound, xi) - cvxpy.log(xi))
    rows = [cvxpy.multiply(y, d) <= cvxpy.multiply(y, xi)]
    cvxpy.Problem(cvxpy.Minimize(cost), rows).solve(solver="CLARABEL")
    return M.value


@pytest.mark.parametrize("gamma", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_optimum_is_that_of_a_conic_solver(gamma, prior):
    index, y = iris_pairs(15)
    pairs = IRIS[index]
    metric = ITML(gamma=gamma, prior=prior, tol=1e-9).fit(pairs, y)
    V = pairs[:, 0] - pairs[:, 1]
    points = np.unique(pairs.reshape(-1, 4), axis=0)
    M0 = np.eye(4) if prior == "identity" else np.linalg.inv(np.cov(points.T))
    expected = optimum(V, y, metric.bounds_, gamma, M0)
    M = metric.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, expected, rtol=1e-3, atol=1e-3 * np.abs(M).max())
    value = objective(M, V, y, metric.bounds_, gamma, M0)
    assert metric.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert value <= objective(expected, V, y, metric.bounds_, gamma, M0) + 1e-9
    assert metric.certificate_.relative_gap <= 1e-8


def test_certificate_holds_the_optimum_at_every_step():
    index, y = iris_pairs(50)
    best = ITML(tol=1e-10).fit(IRIS[index], y)
    M_best = best.get_mahalanobis_matrix()
    for max_iter in range(1, 6):
        metric = ITML(max_iter=max_iter, tol=1e-12)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            metric.fit(IRIS[index], y)
        proof = metric.certificate_
        assert proof.dual <= best.certificate_.primal <= proof.primal
        distance = np.linalg.norm(metric.get_mahalanobis_matrix() - M_best)
        assert distance <= proof.distance_bound
        assert metric.n_iter_ == max_iter


def test_gradient_is_that_of_finite_differences(rng):
    Z, y = rng.normal(size=(30, 3)), np.repeat([1, -1], 15)
    problem, R = LogDetProblem(Z, y, np.ones(30)), np.eye(3) + 0.1 * rng.normal(size=(3, 3))

    def value(h):
        return problem.evaluate(R @ np.linalg.cholesky(np.eye(3) + _symmetric(h))).primal

    def gradient(h):
        return problem.evaluate(R).gradient.ravel()

    assert check_grad(value, gradient, np.zeros(9), epsilon=1e-7) < 1e-4


def _symmetric(h):
    return (h.reshape(3, 3) + h.reshape(3, 3).T) / 2


def test_gap_from_the_gradient_is_primal_minus_dual(rng):
    Z, y = 0.7 * rng.normal(size=(40, 3)), np.repeat([1, -1], 20)
    problem = LogDetProblem(Z, y, rng.uniform(0.1, 2, 40))
    point = problem.evaluate(problem.start()).after_newton_step().after_newton_step()
    assert point.gap == pytest.approx(point.primal - problem.dual(point.multiplier), rel=1e-6)


def test_pairs_that_the_prior_satisfies_leave_it():
    pairs = np.array([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 9.0]]])
    metric = ITML().fit(pairs, [1, -1], bounds=(2, 50))
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), np.eye(2), atol=1e-6)
    assert metric.certificate_.primal < 1e-10


@pytest.mark.parametrize("bounds", [(20.0, 100.0), np.array([[20.0, 100.0]]), [[20], [100]]])
def test_bounds_are_two_numbers_in_any_shape(bounds):
    pairs = np.array([[[-10.0, 0.0], [10.0, 0.0]], [[0.0, 50.0], [0.0, -60.0]]])
    assert ITML().fit(pairs, [1, -1], bounds=bounds).bounds_.tolist() == [20, 100]
    X, y = np.array([[0, 0], [0, 1], [2, 0], [2, 1]]), [1, 0, 1, 0]
    metric = ITML_Supervised(n_constraints=2).fit(X, y, bounds=bounds)
    assert metric.bounds_.tolist() == [20, 100]


@pytest.mark.parametrize("bounds", ["weird", ["weird1", "weird2"], [1, 2, 3], [-1, 2], [np.nan, 1]])
def test_other_bounds_are_refused(bounds):
    index, y = iris_pairs(20)
    with pytest.raises((ValueError, TypeError)):
        ITML().fit(IRIS[index], y, bounds=bounds)


def test_default_bounds_are_percentiles_of_distances():
    index, y = iris_pairs(60)
    metric = ITML(preprocessor=IRIS).fit(index, y)
    points = np.unique(IRIS[index].reshape(-1, 4), axis=0)
    expected = np.percentile(pairwise_distances(points), (5, 95))
    np.testing.assert_allclose(metric.bounds_, expected, rtol=1e-9)


def test_bounds_of_many_points_are_close_to_the_percentiles(rng):
    points = rng.normal(size=(3000, 2))
    metric = ITML().fit(points.reshape(-1, 2, 2), np.tile([1, -1], 750))
    expected = np.percentile(pairwise_distances(points), (5, 95))
    np.testing.assert_allclose(metric.bounds_, expected, rtol=0.05)


def test_bound_of_zero_is_a_small_one():
    index, y = iris_pairs(20)
    metric = ITML().fit(IRIS[index], y, bounds=[0, 1])
    assert metric.bounds_.tolist() == [1e-9, 1]
    assert metric.certificate_.relative_gap <= 1e-3


def test_more_features_than_points_change_nothing_outside_their_span(rng):
    points = rng.normal(size=(8, 30))
    pairs, y = points.reshape(4, 2, 30), [1, 1, -1, -1]
    metric = ITML(tol=1e-8).fit(pairs, y)
    assert metric.certificate_.relative_gap <= 1e-7
    basis = np.linalg.qr((points[1:] - points[0]).T)[0]
    other = rng.normal(size=30)
    other -= basis @ (basis.T @ other)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix() @ other, other, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-50, 1e-3, 1e3, 1e50])
def test_units_of_any_size_are_solved(scale):
    index, y = iris_pairs(30)
    metric = ITML().fit(scale * IRIS[index], y)
    assert metric.certificate_.relative_gap <= 1e-3
    assert np.isfinite(metric.components_).all()


@pytest.mark.parametrize("gamma", [1e-6, 1e3, 1e6])
def test_weights_of_any_size_are_solved(gamma):
    index, y = iris_pairs(50)
    assert ITML(gamma=gamma).fit(IRIS[index], y).certificate_.relative_gap <= 1e-3


def test_constant_feature_keeps_its_prior():
    index, y = iris_pairs(30)
    pairs = np.concatenate([IRIS[index], np.ones((len(y), 2, 1))], axis=2)
    M = ITML(tol=1e-12).fit(pairs, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(M[4], [0, 0, 0, 0, 1], atol=1e-9)


def test_one_class_gives_similar_pairs_only():
    with pytest.warns(UserWarning, match="0 distinct dissimilar"):
        metric = ITML_Supervised(n_constraints=20, random_state=0).fit(IRIS, np.zeros(150))
    assert metric.certificate_.relative_gap <= 1e-3
    assert np.linalg.eigvalsh(metric.get_mahalanobis_matrix())[-1] < 1 + 1e-6


def test_equal_rows_of_two_classes_say_nothing():
    X = np.concatenate([IRIS[:30], IRIS[:30], IRIS[60:90]])
    y = np.repeat([0, 1, 2], 30)
    metric = ITML_Supervised(n_constraints=200, random_state=0).fit(X, y)
    assert metric.certificate_.relative_gap <= 1e-3


def test_separates_iris():
    metric = ITML_Supervised(n_constraints=200, random_state=0)
    assert class_separation(metric.fit_transform(IRIS, CLASSES), CLASSES) < 0.2


def test_priors():
    index, y = iris_pairs(30)
    doubled = np.concatenate([IRIS[index], IRIS[index][:, :, :1]], axis=2)
    with pytest.raises(np.linalg.LinAlgError, match="covariance"):
        ITML(prior="covariance").fit(doubled, y)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ITML(prior=np.diag([1, 1, 1, 0.0])).fit(IRIS[index], y)
    with pytest.raises(NonPSDError):
        ITML(prior=np.diag([1, 1, 1, -1.0])).fit(IRIS[index], y)
    a, b = (ITML(prior="random", random_state=3).fit(IRIS[index], y) for _ in range(2))
    assert np.array_equal(a.components_, b.components_)
