"""The nearest covariance matrix: closed forms, cvxpy, multipliers, and every wrong input."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from frobmetric.sdp import nearest_covariance
from random_problems import psd, symmetric

SENSES = ("=", "<=", ">=")


def clipped(S, floor=0.0):
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def as_matrix(row):
    row = row.toarray() if sp.issparse(row) else np.asarray(row)
    return np.outer(row, row) if row.ndim == 1 else row


def cvxpy_nearest(S, A, b, senses, floor=0.0):
    """The answer of cvxpy with Clarabel."""
    import cvxpy as cp

    X = cp.Variable(S.shape, symmetric=True)
    rules = [X - floor * np.eye(len(S)) >> 0]
    for row, value, sense in zip(A, b, senses, strict=True):
        left = cp.sum(cp.multiply(as_matrix(row), X))
        rules.append({"=": left == value, "<=": left <= value, ">=": left >= value}[sense])
    statement = cp.Problem(cp.Minimize(cp.sum_squares(X - S) / 2), rules)
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    statement.solve(solver=cp.CLARABEL, **accuracy)
    assert statement.status == "optimal"
    return X.value


def mixed_rows(rng, n):
    """A dense matrix, a portfolio, a sparse matrix, and a portfolio again."""
    sparse = sp.csr_array(([1.0, 1.0, 2.0], ([0, 1, 2], [1, 0, 2])), shape=(n, n))
    return [symmetric(rng, n), rng.normal(size=n), sparse, np.ones(n)]


def met_by(A, X, rng, senses):
    """Right-hand sides that X meets, inequalities with room to spare."""
    values = np.array([np.vdot(as_matrix(row), X) for row in A])
    room = {"=": 0.0, "<=": 0.1, ">=": -0.1}
    return values + [room[sense] for sense in senses]


# Closed forms


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_without_constraints_eigenvalues_are_raised(floor, rng):
    S = symmetric(rng, 7)
    result = nearest_covariance(S, min_eigenvalue=floor)
    np.testing.assert_allclose(result, clipped(S, floor), atol=1e-12)
    assert np.array_equal(result.matrix, result.matrix.T)
    assert result.distance == pytest.approx(np.linalg.norm(clipped(S, floor) - S))
    assert result.multipliers.shape == (0,)
    assert result.status == "optimal"
    assert result.certificate.relative_gap <= 1e-12
    assert result.certificate.min_eigenvalue == pytest.approx(floor, abs=1e-12)


def test_covariance_matrix_that_meets_all_is_kept(rng):
    S = psd(rng, 5)
    result = nearest_covariance(S, [np.eye(5), np.ones(5)], [np.trace(S), S.sum() + 1], ["=", "<="])
    np.testing.assert_allclose(result, S, atol=1e-12)
    np.testing.assert_allclose(result.multipliers, 0, atol=1e-8)


def test_trace_is_a_shift_of_the_eigenvalues():
    result = nearest_covariance(np.diag([3.0, 1.0, -5.0]), [np.eye(3)], [2.0])
    np.testing.assert_allclose(result, np.diag([2.0, 0.0, 0.0]), atol=1e-8)
    assert result.multipliers == pytest.approx([-1.0])


def test_one_variable():
    result = nearest_covariance([[-2.0]], [[1.0]], [3.0], ">=")
    np.testing.assert_allclose(result, [[3.0]])
    assert result.multipliers == pytest.approx([5.0])


# Against cvxpy


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_one_sense_against_cvxpy(sense, floor, rng):
    n = 6
    S, A = symmetric(rng, n), mixed_rows(rng, n)
    senses = [sense] * 4
    b = met_by(A, psd(rng, n) + floor * np.eye(n), rng, senses)
    result = nearest_covariance(S, A, b, sense, min_eigenvalue=floor)
    np.testing.assert_allclose(result, cvxpy_nearest(S, A, b, senses, floor), atol=1e-5)
    assert np.linalg.eigvalsh(result.matrix)[0] >= floor - 1e-12
    assert result.gradient <= 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_mixed_senses_against_cvxpy(seed):
    rng = np.random.default_rng(seed)
    n = 5
    S, A = 3 * symmetric(rng, n), mixed_rows(rng, n)
    senses = list(rng.choice(SENSES, 4))
    b = met_by(A, psd(rng, n), rng, senses)
    result, finer = (nearest_covariance(S, A, b, senses, tol=tol) for tol in (1e-8, 1e-12))
    np.testing.assert_allclose(result, finer, atol=1e-6)
    expected = cvxpy_nearest(S, A, b, senses)  # whose accuracy is that of the objective, squared
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert result.distance == pytest.approx(np.linalg.norm(expected - S), rel=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 2**31))
def test_answers_are_optimal(n, n_rows, seed):
    """X - S = sum_i u_i A_i + Z: Z positive semidefinite, X Z = 0, u signed and complementary."""
    rng = np.random.default_rng(seed)
    S = symmetric(rng, n)
    A = [symmetric(rng, n) if rng.random() < 0.5 else rng.normal(size=n) for _ in range(n_rows)]
    senses = [str(sense) for sense in rng.choice(SENSES[1:], n_rows)]
    b = met_by(A, psd(rng, n), rng, senses)
    result = nearest_covariance(S, A, b, senses)
    X, u = result.matrix, result.multipliers
    matrices = [as_matrix(row) for row in A]
    Z = X - S - sum((k * B for k, B in zip(u, matrices, strict=True)), np.zeros((n, n)))
    slack = np.array([np.vdot(B, X) for B in matrices]) - b
    signs = np.array([1 if sense == ">=" else -1 for sense in senses])
    size = 1 + np.linalg.norm(X) + np.linalg.norm(Z)
    assert np.linalg.eigvalsh(X)[0] >= -1e-10
    assert np.linalg.eigvalsh(Z)[0] >= -1e-6 * size
    assert np.abs(X @ Z).max() <= 1e-6 * size**2
    assert np.all(signs * u >= 0)
    assert np.all(signs * slack >= -1e-6 * size)
    assert np.all(np.abs(u * slack) <= 1e-5 * size**2)


# Units and multipliers


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit, rng):
    S, A = psd(rng, 6) - np.eye(6), mixed_rows(rng, 6)
    senses = ["=", "<=", ">=", "="]
    b = met_by(A, psd(rng, 6), rng, senses)
    expected = nearest_covariance(S, A, b, senses)
    result = nearest_covariance(
        unit * S, [7 * row for row in A[:1]] + A[1:], unit * b * [7, 1, 1, 1], senses
    )
    np.testing.assert_allclose(result.matrix / unit, expected, atol=1e-6)
    assert result.distance / unit == pytest.approx(expected.distance, rel=1e-6)
    scale = np.abs(expected.multipliers).max()
    np.testing.assert_allclose(
        result.multipliers / unit * [7, 1, 1, 1], expected.multipliers, atol=1e-5 * scale
    )


def test_multipliers_are_slopes(rng):
    n, h = 5, 1e-4
    S, A, senses = symmetric(rng, n), mixed_rows(rng, n), ["=", "<=", ">=", "="]
    b = met_by(A, psd(rng, n), rng, senses)

    def value(b):
        return nearest_covariance(S, A, b, senses, tol=1e-12).distance ** 2 / 2

    slopes = [(value(b + h * e) - value(b - h * e)) / (2 * h) for e in np.eye(4)]
    result = nearest_covariance(S, A, b, senses, tol=1e-12)
    np.testing.assert_allclose(result.multipliers, slopes, atol=1e-4)


def test_portfolio_is_its_matrix(rng):
    S, a = symmetric(rng, 6), rng.normal(size=6)
    by_vector, by_matrix = (
        nearest_covariance(S, [row], [2.0], tol=1e-11) for row in (a, np.outer(a, a))
    )
    np.testing.assert_allclose(by_vector, by_matrix, atol=1e-9)
    np.testing.assert_allclose(by_vector.multipliers, by_matrix.multipliers, atol=1e-8)
    assert a @ by_vector.matrix @ a == pytest.approx(2.0)


def test_rows_of_an_array_are_portfolios(rng):
    S, A = symmetric(rng, 4), rng.normal(size=(2, 4))
    result = nearest_covariance(S, A, [1.0, 2.0])
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", A, result.matrix, A), [1, 2], atol=1e-7)


def test_callback_stops(rng):
    result = nearest_covariance(symmetric(rng, 6), [np.eye(6)], [9.0], callback=lambda step: True)
    assert result.status == "stopped"


def test_contradictions_warn(rng):
    with pytest.warns(ConvergenceWarning):
        nearest_covariance(psd(rng, 4), [np.eye(4), np.eye(4)], [1.0, 2.0], max_iter=40)
    with pytest.warns(ConvergenceWarning):
        nearest_covariance(psd(rng, 4), [np.eye(4)], [-1.0], max_iter=40)


# Wrong input

ONE = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((np.ones((2, 3)),), {}, "S has shape (2, 3); expected (n, n)"),
        ((np.full((2, 2), np.nan),), {}, "S[0, 0] is nan; every entry must be finite"),
        ((np.triu(np.ones((3, 3))),), {}, "S is not symmetric: S[0, 1] = 1 and S[1, 0] = 0"),
        ((ONE, [np.ones(2)], [1]), {}, "A[0] has shape (2,); expected (3, 3), or (3,) for a portf"),
        ((ONE, [ONE, np.ones((3, 2))], [1, 1]), {}, "A[1] has shape (3, 2)"),
        ((ONE, [np.zeros(3)], [1]), {}, "A[0] must be finite and not zero"),
        ((ONE, [ONE * np.nan], [1]), {}, "A[0] must be finite and not zero"),
        ((ONE, [np.triu(np.ones((3, 3)))], [1]), {}, "A[0] is not symmetric: A[0][0, 1] = 1"),
        ((ONE, [sp.csr_array(np.tri(3))], [1]), {}, "A[0] is not symmetric"),
        ((ONE, [ONE], [1, 2]), {}, "b has shape (2,) for 1 constraints; give one number each"),
        ((ONE, [ONE], 1.0), {}, "b has shape () for 1 constraints"),
        ((ONE, ONE, [1.0]), {}, "b has shape (1,) for 3 constraints"),
        ((ONE, [ONE], [np.inf], "<="), {}, "b[0] is inf; leave out constraints"),
        ((ONE, [ONE], [1], "<"), {}, "the sense of row 0 is '<'; a strict inequality has no"),
        ((ONE, [ONE, ONE], [1, 1], ["="]), {}, "there are 1 senses for 2 rows"),
        ((ONE, [ONE, np.ones(3)], [1, -1]), {}, "b[1] = -1 asks for a variance below 0"),
        ((ONE, [np.ones(3)], [1], "<="), {"min_eigenvalue": 0.5}, "asks for a variance below 1.5"),
        ((ONE,), {"min_eigenvalue": -1}, "min_eigenvalue=-1 must be finite and not negative"),
        ((ONE,), {"min_eigenvalue": np.inf}, "min_eigenvalue is inf; expected a number"),
        ((ONE,), {"tol": 0}, "tol=0 must be positive"),
    ],
)
def test_wrong_input_is_refused(arguments, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        nearest_covariance(*arguments, **options)
