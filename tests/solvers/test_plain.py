"""The solvers of plain SDPs, each alone: against closed forms, and their errors."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import (
    PSD,
    AtLeast,
    Equal,
    FrobeniusSDP,
    Hinge,
    LowRank,
    Product,
    Sparse,
    certify,
)
from frobmetric.core.cones import Face
from frobmetric.solvers import FROBENIUS_SOLVERS, PLAIN_SOLVERS, Monitor, State, solve
from frobmetric.solvers.interior import _blocks, interior, is_quick, work_of_step
from frobmetric.solvers.plain import Units, gram_solver
from random_problems import blocks, dense_rows, psd, symmetric


def _largest_eigenvalue(rng, n=8):
    """maximise <S, X> with trace X = 1: minus the largest eigenvalue of S."""
    S = symmetric(rng, n)
    problem = FrobeniusSDP(
        Sparse.from_matrices([np.eye(n)]), Equal(np.ones(1)), cost=-S, sigma=np.inf
    )
    return problem, -float(np.linalg.eigvalsh(S)[-1])


def _with_known_answer(rng, m=6):
    """X* and Z* of complementary range give b and C; on two PSD blocks and a non-negative one."""
    A = blocks(rng, m)
    cone, y = A.cone, rng.normal(size=m)
    X, Z = [], []
    for part in cone.cones:
        n = part.shape[0]
        if part.is_diagonal:
            X.append(np.array([1.0] + [0.0] * (n - 1)))
            Z.append(np.array([0.0] + [1.0] * (n - 1)))
        else:
            Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
            half = (n + 1) // 2
            X.append((Q[:, :half] @ Q[:, :half].T).ravel())
            Z.append((Q[:, half:] @ Q[:, half:].T).ravel())
    X, Z = np.concatenate(X), np.concatenate(Z)
    problem = FrobeniusSDP(A, Equal(A.forward(X)), cost=A.adjoint(y) + Z, sigma=np.inf, cone=cone)
    return problem, float(problem.cost @ X)


METHODS = pytest.mark.parametrize("method", PLAIN_SOLVERS.values(), ids=PLAIN_SOLVERS)
MAKERS = pytest.mark.parametrize("make", [_largest_eigenvalue, _with_known_answer])


@METHODS
@MAKERS
def test_every_method_alone_finds_the_known_optimum(method, make, rng):
    problem, optimum = make(rng)
    monitor = Monitor(1e-7, 20_000)
    method(problem, State(), monitor)
    assert monitor.status == "optimal"
    assert monitor.best.primal == pytest.approx(optimum, rel=1e-5, abs=1e-5)
    assert monitor.best.error <= 1e-7


@METHODS
def test_errors_of_an_iterate_are_those_of_its_definition(method, rng):
    problem, _ = _with_known_answer(rng)
    monitor = Monitor(1e-5, 20_000)
    method(problem, State(), monitor)
    best, b = monitor.best, problem.loss.target
    residual = np.linalg.norm(problem.constraints.forward(best.point) - b)
    assert best.eta_p == pytest.approx(residual / (1 + np.linalg.norm(b)), abs=1e-12)
    Z = problem.cost - problem.constraints.adjoint(best.u)
    outside = np.sqrt(problem.cone.split(Z).negative_norm2)
    assert outside / (1 + np.linalg.norm(problem.cost)) <= best.eta_d + 1e-12
    assert problem.cone.min_eigenvalue(best.point) >= -1e-10


@METHODS
def test_a_method_ends_when_told(method, rng):
    problem, _ = _with_known_answer(rng)
    monitor = Monitor(1e-12, 20_000, callback=lambda step: True)
    method(problem, State(), monitor)
    assert monitor.status == "stopped"
    assert len(monitor.history) == 1


@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
@MAKERS
def test_solve_certifies_every_method(solver, make, rng):
    problem, optimum = make(rng)
    solution = solve(problem, solver=solver, tol=1e-6, max_iter=20_000)
    assert solution.status == "optimal"
    certificate = certify(problem, solution.point, solution.u)
    assert certificate == solution.certificate
    assert certificate.error <= 1e-5
    assert certificate.primal == pytest.approx(optimum, rel=1e-4, abs=1e-4)
    assert certificate.distance_bound == np.inf
    assert solution.history[-1].seconds >= 0


@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
def test_a_start_is_a_state(solver, rng):
    problem, _ = _with_known_answer(rng)
    first = solve(problem, solver=solver, tol=1e-6, max_iter=20_000)
    state = State(first.u, first.point, 1.0)
    again = solve(problem, solver=solver, tol=1e-6, max_iter=20_000, start=state)
    assert again.certificate.primal == pytest.approx(first.certificate.primal, abs=1e-4)


@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 2.0}, "has sigma=2 and equations: use another solver, or .*solve_sdp"),
        ({"loss": AtLeast(np.ones(1))}, "has sigma=inf and rows that are not equations"),
        ({"loss": Hinge(np.ones(1))}, "has sigma=inf and rows that are not equations"),
    ],
)
def test_problems_that_are_not_plain_are_refused(solver, change, message, rng):
    problem = replace(_largest_eigenvalue(rng)[0], **change)
    with pytest.raises(ValueError, match=f"solver='{solver}' is for plain SDPs.* {message}"):
        solve(problem, solver=solver)


def test_interior_needs_sparse_rows(rng):
    problem, _ = _largest_eigenvalue(rng)
    factors = replace(problem, constraints=LowRank([np.eye(8)]))
    with pytest.raises(ValueError, match=r"1 rows of LowRank on .*: use solver='admm'"):
        solve(factors, solver="interior")
    assert solve(factors, solver="admm", tol=1e-5).status == "optimal"


@pytest.mark.parametrize("solver", FROBENIUS_SOLVERS)
def test_other_solvers_name_the_function_for_plain_sdps(solver, rng):
    with pytest.raises(ValueError, match=r"sigma=inf has no Frobenius term.*solve_sdp"):
        solve(_largest_eigenvalue(rng)[0], solver=solver)


def test_scaled_units_measure_the_problem_as_given(rng):
    problem, _ = _largest_eigenvalue(rng)
    X, y = psd(rng, 8), rng.normal(size=1)
    given = Units.of(problem).measure("", problem, (X, y, 1.0), (np.ones(1), 2.0), 8)
    smaller = FrobeniusSDP(
        Sparse.from_matrices([np.eye(8) / 4]),
        Equal(np.ones(1) / 8),
        cost=problem.cost / 5,
        sigma=np.inf,
    )
    units = Units(np.array([4.0]), 2.0, 5.0, 1.0, float(np.linalg.norm(problem.cost)))
    scaled = X / 2, y * 4 / 5, 1.0
    same = units.measure("", smaller, scaled, (np.ones(1) / 8, 2 / 5), 8)
    assert same.step(0.0)[1:6] == pytest.approx(given.step(0.0)[1:6])


def test_gram_of_rows_that_are_not_written_out_is_the_same(rng):
    factors = [rng.normal(size=(6, 2)) for _ in range(5)]
    known = LowRank(factors)
    written = Sparse.from_matrices([F @ F.T for F in factors])
    v = rng.normal(size=5)
    np.testing.assert_allclose(gram_solver(known)(v), gram_solver(written)(v), rtol=1e-6)


def test_schur_matrix_by_entries_by_rows_and_by_definition(rng):
    A = Sparse.from_matrices([np.round(symmetric(rng, 7), 0) for _ in range(5)])
    problem = FrobeniusSDP(A, Equal(np.ones(5)), sigma=np.inf)
    (block,) = _blocks(A, problem.cone)
    X, inverse = psd(rng, 7), psd(rng, 7)
    rows = dense_rows(A)
    wanted = [[np.trace(P @ X @ Q @ inverse) for Q in rows] for P in rows]
    wanted = (np.array(wanted) + np.array(wanted).T) / 2
    for found in (block._schur_by_entries(X, inverse), block._schur_by_rows(X, inverse)):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_interior_point_is_no_choice_for_faces_and_rows_not_written_out(rng):
    cone = Face(np.eye(4)[:, :3])
    rows = Sparse(sp.csr_array(np.eye(4).reshape(1, -1)), cone)
    on_face = FrobeniusSDP(rows, Equal(np.ones(1)), sigma=np.inf, cone=cone)
    low_rank = FrobeniusSDP(LowRank([np.ones(4)]), Equal(np.ones(1)), sigma=np.inf)
    assert work_of_step(on_face) == work_of_step(low_rank) == np.inf
    assert not is_quick(on_face, np.inf)


def test_interior_point_leaves_dependent_rows_to_others(rng):
    """It ends without an answer; the caller goes on with another method."""
    rows = Sparse.from_matrices([np.eye(3), np.eye(3)])
    problem = FrobeniusSDP(rows, Equal(np.array([1.0, 2.0])), cost=np.eye(3), sigma=np.inf)
    monitor = Monitor(1e-6, 500)
    interior(problem, State(), monitor)
    assert monitor.status in ("stalled", "max_iter")
    assert monitor.error > 1e-3


def test_product_of_one_block_is_that_block(rng):
    problem, optimum = _largest_eigenvalue(rng)
    cone = Product((PSD(8),))
    flat = FrobeniusSDP(
        Sparse(problem.constraints.rows, cone),
        problem.loss,
        cost=problem.cost.ravel(),
        sigma=np.inf,
        cone=cone,
    )
    monitor = Monitor(1e-7, 500)
    interior(flat, State(), monitor)
    assert monitor.best.primal == pytest.approx(optimum, abs=1e-5)
