"""SDML: the optimum beside an independent solver, problems without one, contracts."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from frobmetric.exceptions import NonPSDError
from frobmetric.learners import SDML, SDML_Supervised
from frobmetric.learners.sparse_inverse import (
    SparseInverseProblem,
    UnboundedError,
    solve_sparse_inverse,
)
from pair_learner_checks import CLASSES, IRIS, class_separation, iris_pairs


def silent(*step):
    """Report nothing."""


def cost_matrix(pairs, y, balance, prior_inverse):
    """Return the matrix P of the problem."""
    V = pairs[:, 0] - pairs[:, 1]
    return prior_inverse + balance * (V.T * y) @ V


def objective(M, P, penalty):
    """Return the objective of the problem as it is stated."""
    outside = np.abs(M).sum() - np.abs(np.diag(M)).sum()
    return np.trace(P @ M) - np.linalg.slogdet(M)[1] + penalty * outside


@pytest.mark.parametrize("penalty", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_optimum_is_that_of_a_conic_solver(prior, penalty):
    cvxpy = pytest.importorskip("cvxpy")
    index, y = iris_pairs(60)
    pairs = IRIS[index]
    metric = SDML(balance_param=5e-4, sparsity_param=penalty, prior=prior).fit(pairs, y)
    points = np.unique(pairs.reshape(-1, 4), axis=0)
    P = cost_matrix(pairs, y, 5e-4, np.eye(4) if prior == "identity" else np.cov(points.T))
    T = cvxpy.Variable((4, 4), PSD=True)
    outside = 1 - np.eye(4)
    cost = cvxpy.trace(P @ T) - cvxpy.log_det(T)
    cost += penalty * cvxpy.sum(cvxpy.abs(cvxpy.multiply(outside, T)))
    cvxpy.Problem(cvxpy.Minimize(cost)).solve(solver="CLARABEL")
    M = metric.get_mahalanobis_matrix()
    assert metric.certificate_.primal == pytest.approx(objective(M, P, penalty), abs=1e-8)
    assert objective(M, P, penalty) <= objective(T.value, P, penalty) + 1e-6
    assert metric.certificate_.gap <= 1e-6
    np.testing.assert_allclose(M, T.value, atol=2e-3 * np.abs(M).max())


def test_without_penalty_the_optimum_is_an_inverse():
    index, y = iris_pairs(40)
    metric = SDML(balance_param=1e-4, sparsity_param=0).fit(IRIS[index], y)
    P = cost_matrix(IRIS[index], y, 1e-4, np.eye(4))
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), np.linalg.inv(P), rtol=1e-9)


def test_large_penalty_gives_a_diagonal_metric():
    index, y = iris_pairs(40)
    metric = SDML(balance_param=1e-4, sparsity_param=10).fit(IRIS[index], y)
    P = cost_matrix(IRIS[index], y, 1e-4, np.eye(4))
    expected = np.diag(1 / np.diag(P))
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), expected, rtol=1e-9)
    assert np.array_equal(metric.components_, np.diag(np.diag(metric.components_)))


def test_one_feature_has_a_closed_form():
    pairs = np.array([[[0.0], [2.0]], [[0.0], [1.0]]])
    metric = SDML(balance_param=0.5).fit(pairs, [1, -1])
    assert metric.get_mahalanobis_matrix() == pytest.approx(1 / (1 + 0.5 * (4 - 1)))


def test_no_pairs_count_with_a_balance_of_zero():
    index, y = iris_pairs(30)
    prior = np.diag([1.0, 2.0, 3.0, 4.0])
    M = SDML(balance_param=0, prior=prior).fit(IRIS[index], y).get_mahalanobis_matrix()
    np.testing.assert_allclose(M, prior, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_random_problems_are_solved_with_sparse_answers(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 12))
    P = X.T @ X / 60
    A = 0.3 * (1 - np.eye(12))
    problem = SparseInverseProblem(P, A)
    T, is_solved = solve_sparse_inverse(problem, silent)
    assert is_solved
    assert (T == 0).any()
    assert problem.primal(T) - problem.dual(np.linalg.inv(T)) <= 1.3e-6
    for _ in range(20):
        other = T + 0.01 * _symmetric(rng.normal(size=(12, 12)))
        assert problem.primal(T) <= problem.primal(other) + 1.3e-6


def _symmetric(S):
    return (S + S.T) / 2


def test_indefinite_matrix_with_a_large_penalty_is_solved():
    P = np.array([[1.0, 1.2], [1.2, 1.0]])  # eigenvalues 2.2 and -0.2
    T, is_solved = solve_sparse_inverse(SparseInverseProblem(P, 0.5 * (1 - np.eye(2))), silent)
    assert is_solved
    np.testing.assert_allclose(np.linalg.inv(T), [[1, 0.7], [0.7, 1]], atol=1e-3)
    with pytest.raises(UnboundedError):
        solve_sparse_inverse(SparseInverseProblem(P, 0.1 * (1 - np.eye(2))), silent)


def test_problem_without_optimum_names_a_balance_that_has_one():
    metric = SDML_Supervised(balance_param=0.5, random_state=0)
    with pytest.raises(RuntimeError, match="balance_param below") as raised:
        metric.fit(IRIS, CLASSES)
    assert not hasattr(metric, "components_")
    limit = float(str(raised.value).split("balance_param below ")[1].split(",")[0])
    metric.set_params(balance_param=0.9 * limit).fit(IRIS, CLASSES)
    assert np.linalg.eigvalsh(metric.get_mahalanobis_matrix())[0] > 0
    pairs = np.array([[[-10.0, 0.0], [10.0, 0.0]], [[0.0, 50.0], [0.0, -60.0]]])
    with pytest.raises(RuntimeError, match="no optimum"):
        SDML(balance_param=100).fit(pairs, [1, -1])


def test_definite_toy_problem():
    pairs = np.array([[[-10.0, 0.0], [10.0, 0.0]], [[0.0, -55.0], [0.0, -60.0]]])
    metric = SDML(prior="covariance").fit(pairs, [1, -1])
    assert metric.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("units", [1e-6, 1e6])
def test_units_of_features_may_differ_widely(units):
    index, y = iris_pairs(40)
    pairs = IRIS[index] * np.array([1.0, units, 1.0, 1.0])
    metric = SDML(balance_param=1e-6, prior="covariance").fit(pairs, y)
    assert metric.certificate_.gap <= 1e-5
    assert (np.diag(metric.components_) > 0).all()


def test_more_features_than_points(rng):
    X, y = rng.normal(size=(20, 40)), np.repeat([0, 1], 10)
    metric = SDML_Supervised(balance_param=1e-3, n_constraints=30, random_state=0).fit(X, y)
    assert metric.components_.shape == (40, 40)
    assert metric.certificate_.relative_gap <= 1e-6


def test_priors():
    index, y = iris_pairs(30)
    doubled = np.concatenate([IRIS[index], IRIS[index][:, :, :1]], axis=2)
    with pytest.raises(np.linalg.LinAlgError, match="covariance"):
        SDML(prior="covariance").fit(doubled, y)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        SDML(prior=np.diag([1, 1, 1, 0.0])).fit(IRIS[index], y)
    with pytest.raises(NonPSDError):
        SDML(prior=np.diag([1, 1, 1, -1.0])).fit(IRIS[index], y)


def test_separates_iris():
    metric = SDML_Supervised(n_constraints=1500, balance_param=5e-5, random_state=0)
    assert class_separation(metric.fit_transform(IRIS, CLASSES), CLASSES) < 0.22


@pytest.mark.parametrize("unit", [1e-3, 1.0, 100.0])
def test_default_of_the_supervised_learner_has_an_optimum_in_all_units(unit):
    X, y = load_wine(return_X_y=True)
    metric = SDML_Supervised(random_state=0).fit(X * unit, y)
    assert metric.certificate_.relative_gap <= 1e-4
    assert 0 < metric.balance_param_ <= 0.5
    given = SDML_Supervised(balance_param=metric.balance_param_, random_state=0).fit(X * unit, y)
    np.testing.assert_array_equal(given.components_, metric.components_)


def test_chosen_balance_is_half_of_the_largest_one():
    pairs, y = [[[0.0, 0.0], [3.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]]], [1, -1]
    metric = SDML(balance_param=None).fit(pairs, y)  # P = diag(1 + 9 b, 1 - 16 b)
    assert metric.balance_param_ == pytest.approx(1 / 32)
    near = [pairs[0], [[0.0, 0.0], [0.0, 0.1]]]  # the limit is 100
    assert SDML(balance_param=None).fit(near, y).balance_param_ == 0.5
