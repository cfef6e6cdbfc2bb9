"""LDML: its gradient, and its optimum against a generic solver."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import Pairs
from frobmetric_paper.baselines import METRIC, ldml


@pytest.fixture
def problem(rng):
    """Two overlapping classes in three dimensions, and all their pairs."""
    y = np.arange(16) % 2
    X = rng.normal(size=(16, 3)) + np.outer(y, [1.0, 0.5, 0.0])
    pairs = np.column_stack(np.triu_indices(16, 1))
    return X, pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def loss(X, pairs, signs, L, bias):
    d2 = (((X[pairs[:, 0]] - X[pairs[:, 1]]) @ L) ** 2).sum(axis=1)
    return np.logaddexp(0, signs * (d2 - bias)).mean()


def test_gradient(problem, rng):
    X, pairs, signs = problem
    fit = ldml.LogisticLoss(Pairs(X, pairs), signs)
    B = rng.normal(size=(3, 3))
    point = np.append((B @ B.T).ravel(), 0.7)
    H = rng.normal(size=(3, 3))
    direction = np.append((H + H.T).ravel(), rng.normal())
    step = 1e-6
    slope = (fit(point + step * direction)[0] - fit(point - step * direction)[0]) / (2 * step)
    assert fit(point)[1] @ direction == pytest.approx(slope, rel=1e-6)


def test_the_loss_is_that_of_the_answer(problem):
    L, bias, detail = ldml.learn_from_pairs(*problem)
    assert loss(*problem, L, bias) == pytest.approx(detail["loss"], rel=1e-10)


def test_optimum_is_that_of_a_generic_solver(problem):
    cp = pytest.importorskip("cvxpy")
    X, pairs, signs = problem
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    rows = np.einsum("ri,rj->rij", differences, differences).reshape(len(pairs), -1)
    M, b = cp.Variable((3, 3), PSD=True), cp.Variable()
    margin = cp.multiply(signs, b - rows @ cp.vec(M, order="C"))
    program = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-margin)) / len(pairs)))
    program.solve(solver="CLARABEL")
    L, bias, detail = ldml.learn_from_pairs(X, pairs, signs, tol=1e-7)
    assert detail["loss"] == pytest.approx(program.value, abs=1e-6)
    np.testing.assert_allclose(L @ L.T, M.value, atol=1e-2)
    assert bias == pytest.approx(float(b.value), abs=1e-2)


def test_optimality_conditions(problem):
    X, pairs, signs = problem
    L, bias, detail = ldml.learn_from_pairs(X, pairs, signs, tol=1e-8)
    fit = ldml.LogisticLoss(Pairs(X, pairs), signs)
    G, at_bias = fit.unpack(fit(np.append((L @ L.T).ravel(), bias))[1])
    assert np.linalg.eigvalsh(G)[0] > -1e-6
    assert abs(np.vdot(G, L @ L.T)) < 1e-6
    assert abs(at_bias) < 1e-6
    assert detail["gap"] <= 1e-8


def test_units_do_not_matter(problem):
    X, pairs, signs = problem
    L, bias, _ = ldml.learn_from_pairs(X, pairs, signs, tol=1e-8)
    units = np.array([1.0, 100.0, 0.01])
    L_other, bias_other, _ = ldml.learn_from_pairs(X * units + 5, pairs, signs, tol=1e-8)
    assert bias_other == pytest.approx(bias, rel=1e-4)
    np.testing.assert_allclose(
        (X * units) @ L_other @ L_other.T @ (X * units).T, X @ L @ L.T @ X.T, atol=1e-2
    )


def test_features_that_depend_on_each_other(problem):
    X, pairs, signs = problem
    detail = ldml.learn_from_pairs(X, pairs, signs)[2]
    L, _, wide = ldml.learn_from_pairs(np.column_stack([X, X[:, 0]]), pairs, signs)
    assert wide["loss"] == pytest.approx(detail["loss"], abs=2e-4)
    assert len(L) == 4


def test_too_few_steps_warn(problem):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        ldml.learn_from_pairs(*problem, tol=1e-10, max_iter=3)


def test_pairs_of_one_kind_are_refused(problem):
    X, pairs, signs = problem
    with pytest.raises(ValueError, match="one kind"):
        ldml.learn_from_pairs(X, pairs[signs > 0], signs[signs > 0])


def test_it_learns_from_given_pairs(problem, in_process):
    X, pairs, signs = problem
    fitted = METRIC["ldml"].fit(X, pairs=(pairs, signs), parameters={"tol": 1e-5})
    L, bias, detail = ldml.learn_from_pairs(X, pairs, signs, tol=1e-5)
    np.testing.assert_allclose(fitted.L @ fitted.L.T, L @ L.T)
    assert fitted.detail["bias"] == pytest.approx(bias)
    assert fitted.detail["n_pairs"] == len(pairs)
    assert fitted.detail["loss"] == pytest.approx(detail["loss"])
