"""Problems without an answer: each verdict has a proof, and no proof is given where none is."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import LowRank
from frobmetric.sdp import make_sdp, solve_sdp
from frobmetric.sdp.rays import verify_ray
from random_problems import symmetric


def unit(n, i, j):
    """The matrix A with <A, X> = X_ij."""
    A = np.zeros((n, n))
    A[i, j] = A[j, i] = 1 if i == j else 0.5
    return A


def check_primal_ray(problem, ray):
    """b.y = 1, y has the signs of its rows, and -A*(y) is in the dual cone."""
    y, loss = ray.vector, problem.loss
    assert ray.kind == "primal_infeasible"
    assert float(loss.target @ y) == pytest.approx(1)
    assert (y >= loss.lower).all()
    assert (y <= loss.upper).all()
    W = problem.constraints.adjoint(y)
    assert problem.cone.min_eigenvalue(-W) >= -1e-7 * (1e-6 + np.linalg.norm(W))


def check_dual_ray(problem, ray):
    """X in the cone, <C, X> = -1, and A X = 0 or on the side that its row allows."""
    X, loss = ray.vector, problem.loss
    assert ray.kind == "dual_infeasible"
    assert float(np.vdot(problem.cost, X)) == pytest.approx(-1)
    assert problem.cone.min_eigenvalue(X) >= -1e-12
    moved, sense = problem.constraints.forward(X), np.broadcast_to(loss.sense, loss.target.shape)
    broken = np.where(sense == 0, np.abs(moved), np.maximum(0, -sense * moved))
    assert broken.max() <= 1e-6 * np.linalg.norm(X)


I2, I3 = np.eye(2), np.eye(3)
PRIMAL_INFEASIBLE = {
    "negative trace": (I2, [I2], [-1], "="),
    "correlation of 2": (I2, [unit(2, 0, 0), unit(2, 1, 1), unit(2, 0, 1)], [1, 1, 2], "="),
    "part above the whole": (I2, [I2, unit(2, 0, 0)], [1, 2], ["<=", ">="]),
    "blocks": ([I2, np.ones(2)], [[I2, np.ones(2)], [None, np.array([1, 0])]], [1, 2], "="),
    "factors": (I3, LowRank([np.ones(3), np.ones((3, 1))], [[1], [2]]), [1, 3], "="),
    "more than all": (
        I3,
        [unit(3, 0, 0), unit(3, 1, 1), unit(3, 0, 0) + unit(3, 1, 1)],
        [1, 1, 3],
        "=",
    ),
}


@pytest.mark.parametrize("name", PRIMAL_INFEASIBLE)
def test_primal_infeasible(name):
    problem = make_sdp(*PRIMAL_INFEASIBLE[name])
    solution = solve_sdp(problem)
    assert solution.status == "primal_infeasible"
    check_primal_ray(problem, solution.ray)


@pytest.mark.parametrize("seed", range(8))
def test_random_primal_infeasible(seed):
    """A*(y) = -(a positive definite matrix), b.y > 0."""
    rng = np.random.default_rng(seed)
    n, m = 6, 4
    A, y = [symmetric(rng, n) for _ in range(m - 1)], rng.normal(size=m)
    L = rng.normal(size=(n, n))
    A.append(-(L @ L.T / n + sum(a * v for a, v in zip(A, y, strict=False))) / y[-1])
    b = rng.normal(size=m)
    problem = make_sdp(symmetric(rng, n), A, b + (0.5 - b @ y) * y / (y @ y))
    solution = solve_sdp(problem)
    assert solution.status == "primal_infeasible"
    check_primal_ray(problem, solution.ray)


DUAL_INFEASIBLE = {
    "free diagonal": (-unit(2, 1, 1), [unit(2, 0, 0)], [1], "="),
    "half open": (-I2, [unit(2, 0, 0)], [1], "<="),
    "blocks": ([I2, np.array([1.0, -1.0])], [[I2, np.array([1.0, 0.0])]], [1], "="),
    "at least": (-I3, [I3, unit(3, 0, 0)], [1, 4], [">=", "<="]),
}


@pytest.mark.parametrize("name", DUAL_INFEASIBLE)
def test_dual_infeasible(name):
    problem = make_sdp(*DUAL_INFEASIBLE[name])
    solution = solve_sdp(problem)
    assert solution.status == "dual_infeasible"
    check_dual_ray(problem, solution.ray)


@pytest.mark.parametrize("seed", range(8))
def test_random_dual_infeasible(seed):
    """Rows orthogonal to a positive semidefinite D of low rank with <C, D> < 0."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(6, 1 + seed % 5))
    D = L @ L.T / np.linalg.norm(L @ L.T)
    A = [a - np.vdot(a, D) * D for a in (symmetric(rng, 6) for _ in range(4))]
    C = symmetric(rng, 6)
    problem = make_sdp(C - (np.vdot(C, D) + 0.5) * D, A, [np.trace(a) for a in A])
    solution = solve_sdp(problem)
    assert solution.status == "dual_infeasible"
    check_dual_ray(problem, solution.ray)


# X_00 = 0 forces X_01 = 0, yet 1 is approached; the dual of the last has no ray either
WEAKLY = {
    "primal": (I2, [unit(2, 0, 0), unit(2, 0, 1)], [0, 1]),
    "primal, order 3": (I3, [unit(3, 0, 0), unit(3, 0, 1) + unit(3, 2, 2)], [0, -1]),
    "dual": (unit(2, 0, 1), [unit(2, 0, 0)], [1]),
}


@pytest.mark.parametrize("name", WEAKLY)
def test_weakly_infeasible_problems_get_no_false_verdict(name):
    problem = make_sdp(*WEAKLY[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = solve_sdp(problem, max_iter=500)
    if solution.status == "primal_infeasible":
        check_primal_ray(problem, solution.ray)
    elif solution.status == "dual_infeasible":
        check_dual_ray(problem, solution.ray)
    else:
        assert (solution.status in ("max_iter", "stalled"), solution.ray) == (True, None)


@pytest.mark.parametrize("seed", range(4))
def test_feasible_problems_have_no_ray(seed):
    rng = np.random.default_rng(seed)
    A = [symmetric(rng, 5) for _ in range(3)]
    problem = make_sdp(np.eye(5), A, [np.trace(a) for a in A])
    for _ in range(50):
        y, X = rng.normal(size=3) * 1e8, rng.normal(size=(5, 5))
        assert verify_ray(problem, "primal_infeasible", y) is None
        assert verify_ray(problem, "dual_infeasible", X + X.T) is None


def test_a_ray_is_moved_until_it_is_a_proof():
    """The trace is -1: any y can be moved along that row."""
    problem = make_sdp(I2, [I2, unit(2, 0, 1)], [-1, 0])
    for y in ([-5.0, 0.0], [-1.0, 2 + 1e-9], [-1.0, 2.1]):
        ray = verify_ray(problem, "primal_infeasible", np.array(y))
        assert (ray.error, ray.is_proof) == (0, True)
        check_primal_ray(problem, ray)
    feasible = make_sdp(I2, [I2, unit(2, 0, 1)], [1, 0])
    assert verify_ray(feasible, "primal_infeasible", np.array([-1.0, 2.1])) is None


def test_nearly_equal_rows_are_no_contradiction():
    """The second row is met by X_01 = 5: what differs by 1e-9 is not rounding."""
    A = np.eye(2)
    problem = make_sdp(A, [A, A + 1e-9 * unit(2, 0, 1)], [1, 1 + 1e-9 * 0.3])
    assert verify_ray(problem, "primal_infeasible", np.array([-1.0, 1.0])) is None
