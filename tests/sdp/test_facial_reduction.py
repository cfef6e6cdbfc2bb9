"""Problems whose feasible X are all singular, with answers in closed form."""

import numpy as np
import pytest

from frobmetric.core import Face, Product
from frobmetric.sdp import make_sdp, solve_sdp
from frobmetric.sdp.facial_reduction import lift_dual_from_face, reduce_to_face
from frobmetric.sdp.presolve import simplify
from frobmetric.solvers import Monitor
from frobmetric.solvers.plain import gram_solver
from random_problems import psd, symmetric


def face_of(problem):
    """The reduced problem, None if the face is the whole cone."""
    simple = simplify(problem)[0]
    monitor = Monitor(1e-6, 10_000)
    return simple, reduce_to_face(simple, gram_solver(simple.constraints), monitor)


def smallest_eigenvalue_without(C, V):
    """Minimise <C, X> with <V V.T, X> = 0 and trace X = 1: the eigenvalue, and the problem."""
    n, k = V.shape
    Q = np.linalg.qr(np.hstack([V, np.eye(n)]))[0][:, k:n]
    return np.linalg.eigvalsh(Q.T @ C @ Q)[0], make_sdp(C, [V @ V.T, np.eye(n)], [0, 1])


@pytest.mark.parametrize("seed", range(10))
def test_eigenvalue_on_a_face(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    V = rng.normal(size=(n, int(rng.integers(1, n - 1))))
    expected, problem = smallest_eigenvalue_without(symmetric(rng, n), V)
    solution = solve_sdp(problem)
    assert solution.status == "optimal"
    assert solution.certificate.primal == pytest.approx(expected, abs=1e-5)
    assert solution.certificate.bound <= expected + 1e-9
    assert np.linalg.norm(solution.X @ V) <= 1e-3


def test_zero_diagonal_entry_and_centred_matrices():
    C = np.diag([-5.0, 1.0, 2.0])
    C[1, 2] = C[2, 1] = 0.5
    expected, problem = smallest_eigenvalue_without(C, np.eye(3)[:, :1])
    assert solve_sdp(problem).certificate.primal == pytest.approx(1.5 - np.sqrt(0.5), abs=1e-5)
    assert expected == pytest.approx(1.5 - np.sqrt(0.5))
    # centred: the ones are orthogonal to X, and C counts on the rest only
    expected, problem = smallest_eigenvalue_without(np.diag(np.arange(6.0)), np.ones((6, 1)))
    solution = solve_sdp(problem)
    assert solution.certificate.primal == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(solution.X.sum(axis=0), 0, atol=1e-4)


def test_face_in_one_block_of_several(rng):
    C = [symmetric(rng, 4), np.array([3.0, 2.0]), np.diag([9.0, 8.0])]
    V = rng.normal(size=(4, 2))
    rows = [[V @ V.T, None, None], [np.eye(4), np.ones(2), np.eye(2)]]
    Q = np.linalg.qr(np.hstack([V, np.eye(4)]))[0][:, 2:4]
    expected = min(np.linalg.eigvalsh(Q.T @ C[0] @ Q)[0], 2.0)
    assert solve_sdp(make_sdp(C, rows, [0, 1])).certificate.primal == pytest.approx(
        expected, abs=1e-5
    )


def test_only_zero_is_feasible():
    for C in (np.eye(2), -np.eye(2)):
        solution = solve_sdp(make_sdp(C, [np.eye(2)], [0]))
        assert solution.status == "optimal"
        assert solution.certificate.primal == pytest.approx(0, abs=2e-6)


def test_gap_between_primal_and_dual_closes_on_the_face():
    """X_11 = 0 makes X_12 = 0, so X_00 = 1; the dual of the whole cone has the optimum 0."""
    E = np.zeros((3, 3))
    E[1, 2] = E[2, 1] = E[0, 0] = 1
    solution = solve_sdp(make_sdp(np.diag([1.0, 0, 0]), [np.diag([0.0, 1, 0]), E], [0, 1]))
    assert solution.X[0, 0] == pytest.approx(1, abs=1e-5)
    assert solution.certificate.primal == pytest.approx(1, abs=1e-5)


def test_face_is_the_smallest_one(rng):
    V = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    C = psd(rng, 6)
    simple, exposure = face_of(make_sdp(C, [V @ V.T, np.eye(6)], [0, 1]))
    assert isinstance(exposure.problem.cone, Face)
    basis = exposure.problem.cone.basis
    assert basis.shape == (6, 4)
    np.testing.assert_allclose(V.T @ basis, 0, atol=1e-6)
    b = simple.loss.target
    assert abs(float(b @ exposure.y)) <= 1e-9
    assert simple.cone.min_eigenvalue(simple.constraints.adjoint(exposure.y)) >= -1e-8


def test_regular_problems_are_left_alone(rng):
    A = [symmetric(rng, 5) for _ in range(4)]
    _, exposure = face_of(make_sdp(np.eye(5), A, [np.trace(a) for a in A]))
    assert exposure is None


def test_face_of_a_block(rng):
    v = rng.normal(size=3)
    rows = [[np.outer(v, v), None], [np.eye(3), np.ones(2)]]
    C = [symmetric(rng, 3), np.ones(2)]
    _, exposure = face_of(make_sdp(C, rows, [0, 1]))
    assert isinstance(exposure.problem.cone, Product)
    assert [type(part) for part in exposure.problem.cone.cones].count(Face) == 1


def test_lifted_dual_keeps_its_value(rng):
    """On the face C - A*(y) is positive; y moved along the exposing vector makes it so at large."""
    V = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    _, problem = smallest_eigenvalue_without(symmetric(rng, 5), V)
    simple, exposure = face_of(problem)
    on_face = exposure.problem.cone
    slack = on_face.min_eigenvalue(simple.cost) - 1e-3
    y = slack * gram_solver(simple.constraints)(simple.constraints.forward(np.eye(5)))
    assert on_face.min_eigenvalue(simple.cost - simple.constraints.adjoint(y)) > 0
    lifted = lift_dual_from_face(simple, exposure, y)
    b = simple.loss.target
    assert float(b @ lifted) == pytest.approx(float(b @ y), abs=1e-6)
    assert simple.cone.min_eigenvalue(simple.cost - simple.constraints.adjoint(lifted)) >= -1e-8
