"""What happens before an SDP is solved is exact, and can be taken back."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import PSD, LowRank, MatrixFree, Nonnegative, Product, Sparse
from frobmetric.core.cones import Face
from frobmetric.core.stacking import Beside
from frobmetric.sdp import make_sdp, solve_sdp
from frobmetric.sdp.presolve import (
    drop_rows,
    lift_dual_from_face,
    reduce_to_face,
    scale,
    senses,
    simplify,
    split_blocks,
    targets,
    with_slacks,
)
from frobmetric.sdp.rays import verify_ray
from frobmetric.solvers import Monitor
from frobmetric.solvers.plain import gram_solver
from random_problems import psd, symmetric

I2, S, ZERO = np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]]), np.zeros((2, 2))
A = np.array([[0.1, 0.2], [0.2, 0.7]])


def slack_of(problem, y):
    return problem.cost - problem.constraints.adjoint(y)


def check_lift(before, after, lift, rng, volume=1.0):
    """Objectives and rows agree, each with its counterpart across the step."""
    X = after.cone.split(rng.normal(size=after.cone.shape)).clipped()
    y = rng.normal(size=after.constraints.shape[0])
    assert lift.X(X).shape == before.cone.shape
    assert np.vdot(before.cost, lift.X(X)) == pytest.approx(volume * np.vdot(after.cost, X))
    assert targets(before) @ lift.y(y) == pytest.approx(volume * targets(after) @ y)
    np.testing.assert_allclose(lift.lower_x(lift.X(X)).shape, X.shape)
    np.testing.assert_allclose(lift.lower_y(lift.y(y)), y)


# Rows that say nothing, twice the same, or the opposite


@pytest.mark.parametrize(("b", "sense"), [(0, "="), (0, ">="), (5, "<="), (-5, ">="), (0, "<=")])
def test_zero_rows_that_hold_are_dropped(b, sense):
    solution = solve_sdp(make_sdp(-S, [I2, ZERO], [1, b], ["=", sense]))
    assert solution.status == "optimal"
    assert solution.certificate.primal == pytest.approx(-3, abs=1e-5)
    assert solution.notes == ("row 1 is zero and holds for every X: dropped",)
    assert solution.y[1] == 0


def check_contradiction(problem):
    """Found without iterating, by a y with b.y = 1 and A*(y) = 0; X = 0 is certified."""
    solution = solve_sdp(problem)
    assert solution.status == "primal_infeasible"
    assert len(solution.history) == 1
    assert not solution.X.any()
    assert not solution.y.any()
    y = solution.ray.vector
    assert targets(problem) @ y == pytest.approx(1)
    assert (senses(problem) * y >= 0).all()
    terms = np.abs(y) @ problem.constraints.norms()
    assert np.abs(problem.constraints.adjoint(y)).max() <= 1e-14 * terms
    assert verify_ray(problem, "primal_infeasible", y).error == solution.ray.error == 0
    return solution.notes


@pytest.mark.parametrize(("b", "sense"), [(5, "="), (-5, "="), (5, ">="), (-5, "<=")])
def test_zero_rows_that_cannot_hold(b, sense):
    notes = check_contradiction(make_sdp(-S, [I2, ZERO], [1, b], ["=", sense]))
    assert notes == (f"row 1 is zero and asks for {b}: no X meets that",)


@pytest.mark.parametrize("factor", [1, 3, 0.1, -7, 1e5])
def test_repeated_equations_are_dropped(factor):
    once = solve_sdp(make_sdp(-S, [I2, A], [1, 0.3]), tol=1e-8)
    twice = solve_sdp(make_sdp(-S, [I2, A, factor * A], [1, 0.3, factor * 0.3]), tol=1e-8)
    assert twice.status == "optimal"
    assert len(twice.notes) == 1
    assert twice.notes[0].endswith(": dropped")
    assert twice.certificate.primal == pytest.approx(once.certificate.primal, abs=1e-6)
    assert twice.y[1] + factor * twice.y[2] == pytest.approx(once.y[1], abs=1e-5)
    assert np.count_nonzero(twice.y) == 2


@pytest.mark.parametrize(
    ("rows", "b", "sense", "kept"),
    [
        ([A, A], [0.3, 0.2], ["<=", "<="], [1]),
        ([A, A], [0.3, 0.2], [">=", ">="], [0]),
        ([A, -3 * A], [0.3, -0.6], ["<=", ">="], [1]),
        ([A, -3 * A], [0.3, -0.6], ["<=", "<="], [0, 1]),
        ([A, A, A], [0.3, 0.2, 0.2], ["<=", "=", ">="], [1]),
        ([A, 2 * A, A], [0.1, 0.2, 0.5], [">=", ">=", "<="], [0, 2]),
        ([A, A], [0.2, 0.2], [">=", "<="], [0, 1]),
        ([A, A + 1e-9 * I2], [0.2, 0.2], ["=", "="], [0, 1]),
    ],
)
def test_the_tighter_row_stays(rows, b, sense, kept):
    problem = make_sdp(-S, [I2, *rows], [1, *b], ["=", *sense])
    fewer = drop_rows(problem)
    assert fewer.contradiction is None
    left = np.flatnonzero(fewer.lift.y(np.ones(fewer.problem.constraints.shape[0])))
    if len(kept) == 2 and len(rows) == 3:  # of two equal bounds either may stay
        assert len(left) == 3
    else:
        assert left.tolist() == [0, *(1 + k for k in kept)]
    assert len(fewer.notes) == len(rows) - len(kept)


@pytest.mark.parametrize(
    ("rows", "b", "sense"),
    [
        ([A, A], [1, 2], ["=", "="]),
        ([A, 3 * A], [0.3, 1], ["=", "="]),
        ([A, -A], [0.3, 0.3], ["=", "="]),
        ([A, A], [3, 2], [">=", "<="]),
        ([A, A], [2, 3], ["<=", ">="]),
        ([A, -2 * A], [3, -4], [">=", ">="]),
        ([A, A], [2, 1], ["=", "<="]),
        ([A, 0.7 * A], [0.2, 0.5], ["=", ">="]),
    ],
)
def test_contradictions_between_two_rows(rows, b, sense):
    notes = check_contradiction(make_sdp(-S, [I2, *rows], [1, *b], ["=", *sense]))
    assert notes == ("rows 1 and 2 contradict each other: no X meets that",)


def test_dropped_rows_do_not_spoil_the_errors():
    """A repeat a thousand times as large: its error counts too, in the certificate as given."""
    rows = [I2, A, *[1000 * A] * 20]
    solution = solve_sdp(make_sdp(-S, rows, [1, 0.3, *[300.0] * 20]), tol=1e-7)
    assert solution.status == "optimal"
    assert solution.certificate.eta_p <= 1e-7
    assert len(solution.notes) == 20


def test_warm_start_goes_through_dropped_rows():
    problem = make_sdp(-S, [I2, A, 3 * A, ZERO], [1, 0.3, 0.9, 0])
    solution = solve_sdp(problem)
    assert solve_sdp(problem, start=solution).status == "optimal"


def test_only_zero_rows():
    assert solve_sdp(make_sdp(S, [ZERO, ZERO], [0, 0])).certificate.primal == pytest.approx(
        0, abs=1e-6
    )
    assert solve_sdp(make_sdp(-S, [ZERO], [0])).status == "dual_infeasible"


def test_different_rows_all_stay(rng):
    problem = make_sdp(np.eye(5), [symmetric(rng, 5) for _ in range(12)], np.ones(12))
    fewer = drop_rows(problem)
    assert fewer.problem is problem
    assert (fewer.notes, fewer.contradiction) == ((), None)
    factors = LowRank([np.ones(2), np.ones(2)])
    assert drop_rows(make_sdp(I2, factors, [1, 2])).notes == ()


def test_parallel_rows_among_many(rng):
    rows = [symmetric(rng, 4) for _ in range(50)]
    rows += [f * rows[k] for k, f in ((3, 2.0), (3, -1.5), (17, 1 / 3))]
    b = [np.trace(row) for row in rows]
    fewer = drop_rows(make_sdp(np.eye(4), rows, b))
    assert fewer.problem.constraints.shape[0] == 50
    assert sum("no more than row 50:" in note for note in fewer.notes) == 2
    assert fewer.weights.max() == pytest.approx(np.sqrt(1 + 1 / 4 + 9 / 16))


# Slacks, blocks, scale


@pytest.mark.parametrize("kind", ["sparse", "free", "beside"])
def test_slacks_make_equations(kind, rng):
    cone = Product((PSD(3), Nonnegative(2)))
    rows = np.array(
        [np.concatenate([symmetric(rng, 3).ravel(), rng.normal(size=2)]) for _ in range(4)]
    )
    given = Sparse(sp.csr_array(rows), cone)
    if kind == "free":
        given = MatrixFree(given.forward, given.adjoint, 4, cone)
    elif kind == "beside":
        parts = Sparse(given.rows[:, :9], PSD(3)), Sparse(given.rows[:, 9:], Nonnegative(2))
        given = Beside(parts, cone.cones)
    cost = [symmetric(rng, 3), rng.normal(size=2)]
    problem = make_sdp(cost, given, rng.normal(size=4), ["<=", "=", ">=", "<="])
    equations, lift = with_slacks(problem)
    assert not senses(equations).any()
    check_lift(problem, equations, lift, rng)
    X = np.concatenate([psd(rng, 3).ravel(), rng.uniform(0, 1, 2)])
    missed = equations.constraints.forward(lift.lower_x(X)) - targets(equations)
    short = targets(problem) - problem.constraints.forward(X)
    broken = np.where(senses(problem) == 0, -short, np.minimum(0, -senses(problem) * short))
    np.testing.assert_allclose(np.abs(missed), np.abs(broken), atol=1e-12)
    point = equations.cone.split(lift.lower_x(X)).positive()
    np.testing.assert_allclose(
        equations.constraints.forward(point), equations.constraints.forward(point.dense())
    )


def test_equations_need_no_slacks(rng):
    problem = make_sdp(np.eye(3), [symmetric(rng, 3)], [1])
    assert with_slacks(problem)[0] is problem


def test_unconnected_parts_become_blocks(rng):
    """Orders 2 and 3, and two entries that stand alone, shuffled."""
    order = rng.permutation(7)
    place = np.ix_(order, order)

    def scattered():
        M = np.zeros((7, 7))
        M[:2, :2], M[2:5, 2:5] = symmetric(rng, 2), symmetric(rng, 3)
        M[5, 5], M[6, 6] = rng.normal(size=2)
        return M[place]

    problem = make_sdp(scattered(), [scattered() for _ in range(3)], [1, 2, 3])
    blocks, lift = split_blocks(problem)
    kinds = sorted((type(part).__name__, part.n) for part in blocks.cone.cones)
    assert kinds == [("Nonnegative", 2), ("PSD", 2), ("PSD", 3)]
    check_lift(problem, blocks, lift, rng)
    y = rng.normal(size=3)
    assert problem.cone.min_eigenvalue(slack_of(problem, y)) == pytest.approx(
        blocks.cone.min_eigenvalue(slack_of(blocks, y))
    )


def test_what_is_connected_stays_whole(rng):
    problem = make_sdp(symmetric(rng, 4), [np.eye(4)], [1])
    assert split_blocks(problem)[0] is problem


def test_scaled_rows_have_norm_one(rng):
    problem = make_sdp(1e6 * symmetric(rng, 4), [1e4 * symmetric(rng, 4), np.eye(4)], [1e5, 3])
    scaled, units, lift = scale(problem)
    np.testing.assert_allclose(scaled.constraints.norms(), 1)
    assert np.linalg.norm(scaled.cost) == pytest.approx(1)
    assert np.linalg.norm(targets(scaled)) == pytest.approx(1)
    check_lift(problem, scaled, lift, rng, units.primal * units.dual)
    X = psd(rng, 4)
    missed = units.primal * units.rows * (targets(scaled) - scaled.constraints.forward(X))
    expected = targets(problem) - problem.constraints.forward(lift.X(X))
    np.testing.assert_allclose(missed, expected, rtol=1e-9)


def test_all_steps_together(rng):
    C = [np.diag([1.0, 2.0, 3.0]), np.ones(2)]
    rows = [[np.eye(3), np.ones(2)], [2 * np.eye(3), 2 * np.ones(2)], [None, np.array([1.0, 0.0])]]
    problem = make_sdp(C, rows, [1, 2, 0.5], ["=", "=", "<="])
    simple, _, lift, fewer = simplify(problem)
    assert len(fewer.notes) == 1
    X = lift.X(rng.uniform(0, 1, simple.cone.shape))
    assert X.shape == problem.cone.shape
    assert lift.y(np.ones(simple.constraints.shape[0])).shape == (3,)
    solution = solve_sdp(problem)
    assert solution.certificate.primal == pytest.approx(1, abs=1e-5)


# Problems whose feasible X are all singular, with answers in closed form


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
