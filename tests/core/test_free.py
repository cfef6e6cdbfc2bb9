"""Problems without a cone: M is any matrix."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric import FrobeniusSDP, certify, solve
from frobmetric.core import AllMatrices, Bilinear, Hinge, NumericalError, SquaredHinge
from frobmetric.core.points import Unfactored
from frobmetric.exceptions import CertificateError
from frobmetric.solvers import FROBENIUS_SOLVERS

active_set = importlib.import_module("frobmetric.solvers.active_set")

SOLVERS = pytest.mark.parametrize("solver", sorted(set(FROBENIUS_SOLVERS) - {"auto"}))


def _problem(rng, *, weight=0.3, prior=None):
    A, B = rng.normal(size=(7, 3)), rng.normal(size=(9, 4))
    anchors, candidates = rng.integers(0, 7, (30, 2)), rng.integers(0, 9, (30, 2))
    index = np.stack([anchors, candidates], axis=2).reshape(30, 4)
    return FrobeniusSDP(Bilinear(A, B, index), Hinge(np.full(30, weight)), prior=prior)


def test_every_matrix_is_its_own_projection(rng):
    cone, S, H = AllMatrices(3, 5), rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    split = cone.split(S)
    np.testing.assert_array_equal(split.positive(2.0).dense(), 2 * S)
    np.testing.assert_array_equal(split.clipped(), S)
    np.testing.assert_array_equal(split.derivative(H), H)
    assert split.positive_norm2 == pytest.approx(np.linalg.norm(S) ** 2)
    assert split.negative_norm2 == 0.0
    assert split.n_positive == split.positive().rank == 3
    assert cone.min_eigenvalue(S) == np.inf
    np.testing.assert_array_equal(cone.identity(), np.eye(3, 5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_refused(bad):
    with pytest.raises(NumericalError, match="NaN or infinity"):
        AllMatrices(2, 1).split(np.array([[1.0], [bad]]))


def test_a_matrix_without_a_factor_says_so():
    with pytest.raises(TypeError, match="not symmetric"):
        Unfactored(np.ones((2, 3))).factor()


def test_the_text_of_a_problem_names_the_matrices(rng):
    text = str(_problem(rng, prior=np.eye(3, 4)))
    assert "minimise over M in AllMatrices(n_rows=3, n_columns=4)" in text
    assert "30 of Bilinear" in text
    assert "prior of norm 1.73" in text


@SOLVERS
def test_every_solver_reaches_a_small_gap(solver, rng):
    problem = _problem(rng, prior=np.eye(3, 4))
    solution = solve(problem, solver=solver, tol=1e-7, max_iter=10_000)
    assert solution.status == "optimal"
    assert certify(problem, solution.point.dense(), solution.u).relative_gap <= 1e-7


def test_rounds_of_rows_lead_to_the_answer_of_all_rows(rng, monkeypatch):
    A, B = rng.normal(size=(40, 5)), rng.normal(size=(60, 5))
    queries, candidates = rng.integers(0, 40, 2000), rng.integers(0, 60, (2000, 2))
    index = np.column_stack([queries, candidates[:, 0], queries, candidates[:, 1]])
    problem = FrobeniusSDP(Bilinear(A, B, index), Hinge(np.full(2000, 1e-3)), prior=np.eye(5))
    together = solve(problem, solver="quasi_newton", tol=1e-6)
    monkeypatch.setattr(active_set, "FEW_ROWS", 50)
    monkeypatch.setattr(active_set, "SAMPLE", 200)
    in_rounds = solve(problem, solver="active_set", tol=1e-6)
    assert in_rounds.status == together.status == "optimal"
    distance = np.linalg.norm(in_rounds.point.dense() - together.point.dense())
    bounds = in_rounds.certificate.distance_bound, together.certificate.distance_bound
    assert distance <= sum(bounds)


def test_a_certificate_accepts_any_matrix_and_refuses_other_shapes(rng):
    problem = _problem(rng)
    certificate = certify(problem, rng.normal(size=(3, 4)), np.zeros(30))
    assert certificate.dual <= solve(problem).certificate.primal <= certificate.primal
    with pytest.raises(CertificateError, match="shape"):
        certify(problem, np.eye(3), np.zeros(30))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), weight=st.floats(1e-3, 1e3))
def test_a_row_alone_has_a_closed_form(seed, weight):
    """With W = u A_1 the hinge asks for u = min(weight, 1 / |A_1|^2)."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    problem = FrobeniusSDP(Bilinear(A, B, np.array([[0, 0, 1, 1]])), Hinge(np.array([weight])))
    row = np.outer(A[0], B[0]) - np.outer(A[1], B[1])
    solution = solve(problem, tol=1e-8)
    expected = min(weight, 1 / np.linalg.norm(row) ** 2) * row
    np.testing.assert_allclose(solution.point.dense(), expected, rtol=1e-4, atol=1e-7)


def test_squared_hinges_have_the_answer_of_a_linear_system(rng):
    """With few rows all are active: W = A*(u) with (A A* + 1 / (2 weight)) u = 1."""
    A, B = rng.normal(size=(6, 8)), rng.normal(size=(6, 9))
    index = np.array([[0, 0, 1, 1], [2, 2, 2, 3], [4, 4, 5, 5]])
    constraints = Bilinear(A, B, index)
    rows = np.array([constraints.adjoint(e).ravel() for e in np.eye(3)])
    u = np.linalg.solve(rows @ rows.T + np.eye(3) / 2.0, np.ones(3))
    assert (u > 0).all()
    solution = solve(FrobeniusSDP(constraints, SquaredHinge(np.ones(3))), tol=1e-10)
    np.testing.assert_allclose(solution.point.dense(), constraints.adjoint(u), atol=1e-5)
