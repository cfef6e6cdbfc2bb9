"""The methods for plain SDPs, each alone: against closed forms, and against what they claim."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import PSD, Equal, Face, FrobeniusSDP, LowRank, Nonnegative, Product, Sparse
from frobmetric.solvers.admm import admm
from frobmetric.solvers.gram import gram_solver
from frobmetric.solvers.interior import _blocks, interior, is_quick, work_of_step
from frobmetric.solvers.proximal import proximal
from frobmetric.solvers.watch import Units, Watch
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
        if isinstance(part, Nonnegative):
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


def _by_admm(problem, watch):
    zero = np.zeros(problem.cone.shape), np.zeros(problem.constraints.shape[0])
    admm(problem, gram_solver(problem.constraints), *zero, 1.0, watch, watch.tol, 5000)


def _by_proximal(problem, watch):
    zero = np.zeros(problem.constraints.shape[0])
    proximal(problem, problem.cone.identity(), zero, 1.0, watch)


METHODS = pytest.mark.parametrize("method", [_by_admm, _by_proximal, interior])
MAKERS = pytest.mark.parametrize("make", [_largest_eigenvalue, _with_known_answer])


@METHODS
@MAKERS
def test_every_method_alone_finds_the_known_optimum(method, make, rng):
    problem, optimum = make(rng)
    watch = Watch(1e-7, 20_000, Units.of(problem))
    method(problem, watch)
    assert watch.status == "optimal"
    assert watch.best.step.primal == pytest.approx(optimum, rel=1e-5, abs=1e-5)
    assert watch.best.step.error <= 1e-7


@METHODS
def test_errors_of_a_step_are_those_of_the_iterate(method, rng):
    problem, _ = _with_known_answer(rng)
    watch = Watch(1e-5, 20_000, Units.of(problem))
    method(problem, watch)
    best, b = watch.best, problem.loss.target
    missed = np.linalg.norm(problem.constraints.forward(best.X) - b) / (1 + np.linalg.norm(b))
    assert best.step.eta_p == pytest.approx(missed, abs=1e-12)
    Z = problem.cost - problem.constraints.adjoint(best.y)
    outside = np.sqrt(problem.cone.split(Z).negative_norm2)
    assert outside / (1 + np.linalg.norm(problem.cost)) <= best.step.eta_d + 1e-12
    assert problem.cone.min_eigenvalue(best.X) >= -1e-10


@METHODS
def test_a_method_ends_when_told(method, rng):
    problem, _ = _with_known_answer(rng)
    watch = Watch(1e-12, 20_000, Units.of(problem), callback=lambda step: True)
    method(problem, watch)
    assert watch.status == "stopped"
    assert len(watch.history) == 1


def test_scaled_units_measure_the_problem_as_given(rng):
    problem, _ = _largest_eigenvalue(rng)
    X, y = psd(rng, 8), rng.normal(size=1)
    given = Watch(1.0, 9, Units.of(problem)).step("", problem, X, y, np.ones(1), 2.0, 1.0)
    smaller = FrobeniusSDP(
        Sparse.from_matrices([np.eye(8) / 4]),
        Equal(np.ones(1) / 8),
        cost=problem.cost / 5,
        sigma=np.inf,
    )
    units = Units(np.array([4.0]), 2.0, 5.0, 1.0, float(np.linalg.norm(problem.cost)))
    same = Watch(1.0, 9, units).step("", smaller, X / 2, y * 4 / 5, np.ones(1) / 8, 2 / 5, 1.0)
    assert same[1:6] == pytest.approx(given[1:6])


def test_gram_of_rows_that_are_not_written_out_is_the_same(rng):
    factors = [rng.normal(size=(6, 2)) for _ in range(5)]
    known = LowRank(factors)
    written = Sparse.from_matrices([F @ F.T for F in factors])
    v = rng.normal(size=5)
    np.testing.assert_allclose(gram_solver(known)(v), gram_solver(written)(v), rtol=1e-6)


def test_schur_matrix_by_entries_by_rows_and_by_definition(rng):
    A = Sparse.from_matrices([np.round(symmetric(rng, 7), 0) for _ in range(5)])
    problem = FrobeniusSDP(A, Equal(np.ones(5)), sigma=np.inf)
    (block,) = _blocks(problem)
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
    """It says nothing false of them; whoever called goes on with another method."""
    rows = Sparse.from_matrices([np.eye(3), np.eye(3)])
    problem = FrobeniusSDP(rows, Equal(np.array([1.0, 2.0])), cost=np.eye(3), sigma=np.inf)
    watch = Watch(1e-6, 500, Units.of(problem))
    interior(problem, watch)
    assert watch.status in ("", "max_iter")
    assert watch.error > 1e-3


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
    watch = Watch(1e-7, 500, Units.of(flat))
    interior(flat, watch)
    assert watch.best.step.primal == pytest.approx(optimum, abs=1e-5)
