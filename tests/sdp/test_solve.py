"""`solve_sdp` against cvxpy with Clarabel, its multipliers, and how runs begin and end."""

import csv
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import (
    PSD,
    Equal,
    FrobeniusSDP,
    Hard,
    Hinge,
    LowRank,
    MatrixFree,
    Nonnegative,
    Product,
    Sparse,
)
from frobmetric.core.points import Factored
from frobmetric.core.stacking import Beside
from frobmetric.sdp import certify_sdp, make_sdp, read_sdpa, solve_sdp
from frobmetric.sdp.solution import SDPSolution
from frobmetric.solvers import Interrupted, State
from random_problems import dense_rows, psd, symmetric

#: Clarabel's tolerance as set here, with room for what it means in the objective.
CLARABEL = 1e-7
SENSES = np.array([0, -1, 1])


# Random problems, and the same for cvxpy


def random_element(rng, cone, inside=False):
    """A symmetric element, or one in the inside of the cone."""
    if isinstance(cone, Product):
        return np.concatenate([random_element(rng, part, inside).ravel() for part in cone.cones])
    if isinstance(cone, Nonnegative):
        return rng.uniform(0.3, 2, cone.n) if inside else rng.normal(size=cone.n)
    return psd(rng, cone.n) + 0.3 * np.eye(cone.n) if inside else symmetric(rng, cone.n)


def random_cone(rng, seed):
    """One PSD block, or several and a non-negative one; of order 30 in total now and then."""
    most = 15 if seed % 25 == 0 else 5
    if seed % 2:
        return PSD(int(rng.integers(1, 2 * most)))
    orders = rng.integers(1, most // 2 + 1, int(rng.integers(1, 4)))
    return Product((*(PSD(int(n)) for n in orders), Nonnegative(int(rng.integers(1, 4)))))


def random_rows(rng, cone, m, seed):
    """Sparse, matrix-free, or of low rank."""
    rows = np.array([random_element(rng, cone).ravel() for _ in range(m)])
    sparse = Sparse(sp.csr_array(rows), cone)
    if seed // 2 % 3 == 1:
        return MatrixFree(sparse.forward, sparse.adjoint, m, cone)
    if seed // 2 % 3 == 2:
        parts = [_low_rank(rng, part, m) for part in getattr(cone, "cones", [cone])]
        return Beside(parts, cone.cones) if isinstance(cone, Product) else parts[0]
    return sparse


def _low_rank(rng, cone, m):
    if isinstance(cone, Nonnegative):
        return Sparse(sp.csr_array(rng.normal(size=(m, cone.n))), cone)
    ranks = rng.integers(1, 3, m)
    factors = [rng.normal(size=(cone.n, k)) for k in ranks]
    return LowRank(factors, [rng.normal(size=k) for k in ranks])


def random_hard(rng, rows, cone):
    """Rows of all senses that an X in the inside of the cone meets, with room to spare."""
    sense = rng.choice(SENSES, rows.shape[0])
    met = rows.forward(random_element(rng, cone, inside=True))
    return Hard(met - sense * rng.uniform(0.1, 0.6, len(sense)), sense)


def n_rows(rng, cone):
    """Fewer rows than half of the unknowns."""
    unknowns = sum(
        n.n if isinstance(n, Nonnegative) else n.n * (n.n + 1) // 2
        for n in getattr(cone, "cones", [cone])
    )
    return int(rng.integers(1, max(2, min(12, unknowns // 2) + 1)))


def random_regularised(seed):
    rng = np.random.default_rng(seed)
    cone = random_cone(rng, seed)
    rows = random_rows(rng, cone, n_rows(rng, cone), seed)
    return FrobeniusSDP(
        rows,
        random_hard(rng, rows, cone),
        cost=random_element(rng, cone) if rng.random() < 0.7 else None,
        prior=random_element(rng, cone) if rng.random() < 0.7 else None,
        sigma=float(10 ** rng.uniform(-1, 1)),
        cone=cone,
        offset=float(rng.normal()),
    )


def random_plain(seed):
    """Strictly feasible, the dual as well: C = A*(y) + Z with Z in the inside of the cone."""
    rng = np.random.default_rng(1000 + seed)
    cone = random_cone(rng, 1 + seed)
    rows = random_rows(rng, cone, n_rows(rng, cone), seed)
    loss = random_hard(rng, rows, cone)
    size = rng.uniform(0.2, 1.5, rows.shape[0])
    y = np.where(loss.sense == 0, rng.choice([-1, 1], len(size)), loss.sense) * size
    cost = rows.adjoint(y) + random_element(rng, cone, inside=True)
    return FrobeniusSDP(rows, loss, cost, sigma=np.inf, cone=cone)


def clarabel(problem):
    """The optimal value by cvxpy and Clarabel."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    parts, rules = [], []
    for cone in getattr(problem.cone, "cones", [problem.cone]):
        is_matrix = isinstance(cone, PSD)
        parts.append(cp.Variable(cone.shape, symmetric=is_matrix))
        rules.append(parts[-1] >> 0 if is_matrix and cone.n > 1 else parts[-1] >= 0)
    X = cp.hstack([cp.vec(part, order="C") for part in parts])
    v = np.array([A.ravel() for A in dense_rows(problem.constraints)]) @ X
    sense = np.broadcast_to(problem.loss.sense, problem.loss.target.shape)
    for r in range(len(sense)):
        short = v[r] - problem.loss.target[r]
        rules.append(cp.Zero(short) if sense[r] == 0 else cp.NonNeg(sense[r] * short))
    objective = problem.cost.ravel() @ X + problem.offset
    if np.isfinite(problem.sigma):
        objective += cp.sum_squares(X - problem.prior.ravel()) / (2 * problem.sigma)
    statement = cp.Problem(cp.Minimize(objective), rules)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        return statement.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )


def kkt_error(problem, solution):
    """The largest violation of the optimality conditions, from their definition."""
    X, y, loss = solution.X, solution.y, problem.loss
    short = loss.target - problem.constraints.forward(X)
    sense = np.broadcast_to(loss.sense, short.shape)
    Z = problem.cost + (X - problem.prior) / problem.sigma - problem.constraints.adjoint(y)
    scale = 1 + np.linalg.norm(X) * (1 + np.linalg.norm(Z)) + np.linalg.norm(problem.cost)
    errors = [
        np.where(sense == 0, np.abs(short), np.maximum(0, sense * short)).max(),
        np.maximum(0, -sense * y).max(),
        np.abs(y * short).max(),
        max(0.0, -problem.cone.min_eigenvalue(X)),
        max(0.0, -problem.cone.min_eigenvalue(Z)),
        abs(np.vdot(X, Z)),
    ]
    return max(errors) / (scale + np.abs(loss.target).max() * (1 + np.abs(y).max()))


def some_slow(n_quick, n):
    """Groups of an oracle, of which all but the first are long together."""
    slow = (pytest.param(group, marks=pytest.mark.slow) for group in range(n_quick, n))
    return pytest.mark.parametrize("group", [*range(n_quick), *slow])


@some_slow(5, 30)
def test_regularised_problems_against_the_oracle(group):
    for seed in range(10 * group, 10 * group + 10):
        problem = random_regularised(seed)
        solution = solve_sdp(problem, tol=1e-8)
        best = clarabel(problem)
        certificate = certify_sdp(problem, solution.X, solution.y)
        assert solution.status == "optimal", seed
        assert max(certificate.error, solution.certificate.error) <= 1e-8, seed
        assert certificate.primal == pytest.approx(best, rel=CLARABEL, abs=CLARABEL), seed
        assert certificate.bound <= best + CLARABEL * (1 + abs(best)), seed
        assert kkt_error(problem, solution) <= 1e-7, seed


@some_slow(4, 12)
def test_plain_problems_against_the_oracle(group):
    for seed in range(5 * group, 5 * group + 5):
        problem = random_plain(seed)
        solution = solve_sdp(problem, tol=1e-6)
        best = clarabel(problem)
        certificate = certify_sdp(problem, solution.X, solution.y)
        assert solution.status == "optimal", seed
        assert certificate.error <= 1e-6, seed
        assert certificate.primal == pytest.approx(best, rel=1e-5, abs=1e-5), seed
        assert certificate.bound <= best + CLARABEL * (1 + abs(best)), seed
        assert kkt_error(problem, solution) <= 1e-5, seed


# What the multipliers mean


def test_multipliers_are_the_slopes_of_the_optimum(rng):
    for problem in (random_regularised(7), random_plain(5), max_cut(rng, 6)):
        b, h = problem.loss.target, 1e-3
        solution = solve_sdp(problem, tol=1e-10)
        for r in range(len(b)):
            step = h * np.eye(len(b))[r]
            ahead, behind = (
                solve_sdp(replace(problem, loss=replace(problem.loss, target=b + t)), tol=1e-10)
                for t in (step, -step)
            )
            slope = (ahead.certificate.primal - behind.certificate.primal) / (2 * h)
            assert slope == pytest.approx(solution.y[r], rel=1e-3, abs=1e-3)


def test_multipliers_have_the_sign_of_their_rows():
    C, E = np.diag([1.0, 2.0]), [np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.eye(2)]
    solution = solve_sdp(make_sdp(C, E, [1.0, 1.0, 9.0], [">=", "=", "<="]))
    np.testing.assert_allclose(solution.y, [1, 2, 0], atol=1e-5)
    solution = solve_sdp(make_sdp(-C, E, [0.0, 1.0, 3.0], [">=", "=", "<="]))
    np.testing.assert_allclose(solution.y, [0, -1, -1], atol=1e-5)
    assert (solution.y[[0]] >= 0).all()
    assert solution.y[2] <= 0


def test_blocks_come_back_as_given(rng):
    C = [np.diag([1.0, 3.0]), np.array([2.0, 1.0])]
    solution = solve_sdp(make_sdp(C, [[np.eye(2), np.ones(2)]], [1.0]))
    matrix, diagonal = solution.blocks
    assert (matrix.shape, diagonal.shape) == ((2, 2), (2,))
    assert solution.certificate.primal == pytest.approx(1, abs=1e-5)
    assert solve_sdp(make_sdp(C[0], [np.eye(2)], [1.0])).blocks[0].shape == (2, 2)


# Bounds


def max_cut(rng, n):
    weights = rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < 0.6)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return make_sdp(-laplacian / 4, [np.diag(e) for e in np.eye(n)], np.ones(n))


def theta(edges, n):
    """Minus the Lovász number of a graph."""
    rows = [np.eye(n)]
    for i, j in edges:
        A = np.zeros((n, n))
        A[i, j] = A[j, i] = 1
        rows.append(A)
    return make_sdp(-np.ones((n, n)), rows, np.eye(len(rows))[0])


def test_theta_of_the_pentagon_and_its_trace_bound():
    solution = solve_sdp(theta([(k, (k + 1) % 5) for k in range(5)], 5), tol=1e-8)
    assert -solution.certificate.primal == pytest.approx(np.sqrt(5), rel=1e-7)
    assert solution.certificate.trace_bound == pytest.approx(1)
    assert solution.certificate.bound == pytest.approx(-np.sqrt(5), rel=1e-6)


def test_bound_is_below_the_optimum_at_any_accuracy(rng):
    problem = max_cut(rng, 12)
    best = solve_sdp(problem, tol=1e-9)
    assert best.certificate.trace_bound == pytest.approx(12)
    for tol in (1e-1, 1e-2, 1e-3, 1e-4):
        rough = solve_sdp(problem, tol=tol).certificate
        assert rough.bound <= best.certificate.primal + 1e-8
        assert rough.bound == pytest.approx(best.certificate.primal, rel=100 * tol)


def test_no_trace_bound_no_bound():
    """X_11 is unbounded: a slack that is slightly negative could cost anything."""
    problem = make_sdp(np.eye(2), [np.diag([1.0, 0.0])], [1.0])
    certificate = certify_sdp(problem, np.diag([1.0, 0.0]), np.array([1 + 1e-9]))
    assert (certificate.trace_bound, certificate.bound) == (np.inf, -np.inf)
    given = certify_sdp(problem, np.diag([1.0, 0.0]), np.array([1 + 1e-9]), trace_bound=3.0)
    assert given.bound == pytest.approx(1, abs=1e-8)


# How runs begin and end


@pytest.fixture
def cut():
    return max_cut(np.random.default_rng(3), 15)


def test_full_warm_start_needs_fewer_steps(cut):
    cold = solve_sdp(cut)
    again = solve_sdp(cut, start=cold)
    assert again.n_iter < cold.n_iter
    moved = replace(cut, cost=1.001 * cut.cost)
    warm = solve_sdp(moved, start=cold)
    assert warm.status == "optimal"
    assert warm.n_iter < solve_sdp(moved).n_iter


@pytest.mark.parametrize("parts", ["point", "u", "sigma", "point u", "u sigma"])
def test_partial_warm_starts_lead_to_the_same_answer(cut, parts):
    cold = solve_sdp(cut)
    values, vectors = np.linalg.eigh(cold.X)
    point = Factored(vectors * np.sqrt(np.maximum(values, 0)))
    given = {"point": point, "u": cold.y, "sigma": cold.sigma}
    warm = solve_sdp(cut, start=State(**{name: given[name] for name in parts.split()}))
    assert warm.status == "optimal"
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-5)


def test_warm_start_with_a_frobenius_term(cut):
    problem = replace(cut, sigma=30.0)
    cold = solve_sdp(problem, tol=1e-8)
    for start in (cold, State(u=cold.y)):
        warm = solve_sdp(problem, tol=1e-8, start=start)
        assert warm.n_iter < cold.n_iter
        np.testing.assert_allclose(warm.X, cold.X, atol=1e-6)


def test_warm_start_of_the_wrong_size_is_refused(cut):
    with pytest.raises(ValueError, match="shape"):
        solve_sdp(cut, start=State(u=np.zeros(3)))


@pytest.mark.parametrize("kind", ["plain", "regularised"])
def test_callback_sees_every_step_and_stops(kind, cut):
    problem = cut if kind == "plain" else replace(cut, sigma=30.0)
    seen = []

    def stop(step):
        seen.append(step)
        return len(seen) == 3

    solution = solve_sdp(problem, tol=1e-10, callback=stop)
    assert (solution.status, len(seen)) == ("stopped", 3)
    assert tuple(seen) == solution.history
    assert all(step.eta_g >= 0 for step in seen)


@pytest.mark.parametrize("kind", ["plain", "regularised"])
def test_time_limit_leaves_an_answer_and_warns(kind, cut):
    problem = cut if kind == "plain" else replace(cut, sigma=30.0)
    with pytest.warns(ConvergenceWarning, match=r"\(time_limit\) after \d+ steps with.*\(rows\)"):
        solution = solve_sdp(problem, tol=1e-12, time_limit=0.0)
    assert solution.status == "time_limit"
    assert np.isfinite(solution.certificate.error)
    assert problem.cone.min_eigenvalue(solution.X) >= -1e-12


@pytest.mark.parametrize("kind", ["plain", "regularised"])
def test_too_few_steps_warn_with_the_errors(kind, cut):
    problem = cut if kind == "plain" else replace(cut, sigma=30.0)
    with pytest.warns(
        ConvergenceWarning, match=r"\(max_iter\) after .*\(dual\).*\(gap\) > tol=1e-12"
    ):
        solution = solve_sdp(problem, tol=1e-12, max_iter=3)
    assert solution.status == "max_iter"
    assert solution.certificate.error > 1e-12


@pytest.mark.parametrize("kind", ["plain", "regularised"])
def test_interruption_hands_over_the_best_answer(kind, cut):
    problem = cut if kind == "plain" else replace(cut, sigma=30.0)
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted after") as error:
        solve_sdp(problem, tol=1e-10, callback=interrupt)
    solution = error.value.solution
    assert isinstance(solution, SDPSolution)
    assert solution.status == "interrupted"
    assert certify_sdp(problem, solution.X, solution.y) == solution.certificate


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ({}, {"tol": 0.0}, "tol=0.0 must be positive"),
        ({}, {"max_iter": 0}, "max_iter=0 must be at least 1"),
        ({"loss": Hinge(np.ones(1))}, {}, "rows that must hold .* use frobmetric.solve"),
        ({"prior": np.eye(2)}, {}, "a prior without a Frobenius term .* finite sigma"),
    ],
)
def test_what_cannot_be_solved_is_said(change, arguments, words):
    problem = FrobeniusSDP(Sparse.from_matrices([np.eye(2)]), Equal(np.ones(1)), sigma=np.inf)
    with pytest.raises(ValueError, match=words):
        solve_sdp(replace(problem, **change), **arguments)


def test_a_solution_prints_how_good_it_is(cut):
    solution = solve_sdp(cut)
    head, answer, proof = str(solution).splitlines()
    assert head.startswith("optimal (certified to the tolerance): ")
    assert answer == "  X in PSD(n=15), 15 rows, 15 of them with y != 0"
    assert proof == f"  {solution.certificate}"
    assert repr(solution).startswith("SDPSolution(status='optimal', n_iter=")
    assert len(repr(solution)) < 120
    infeasible = solve_sdp(make_sdp(np.eye(2), [np.eye(2)], [-1.0]))
    assert str(infeasible).splitlines()[1] == "  proof in float64, all rounding errors bounded"


# SDPLIB, where it is at hand

#: SDPA's double-double result is minus our optimum.
SDPLIB = ["truss1", "theta1", "qap5", "mcp100", "gpp100"]


@pytest.fixture
def sdplib(data_folder):
    folder = data_folder / "sdplib"
    if not folder.is_dir():
        pytest.skip(f"no sdplib in {data_folder}")
    with open(folder / "problems.csv", newline="") as file:
        listed = {row["problem"]: row for row in csv.DictReader(file)}
    return lambda name: (read_sdpa(folder / f"{name}.dat-s.xz"), listed[name])


@pytest.mark.parametrize("name", SDPLIB)
def test_sdplib_optimum(name, sdplib):
    problem, listed = sdplib(name)
    solution = solve_sdp(problem, tol=1e-6)
    assert solution.status == "optimal"
    assert -solution.certificate.primal == pytest.approx(float(listed["sdpa_dd_primal"]), rel=2e-5)


@pytest.mark.parametrize(
    ("name", "status"), [("infp1", "dual_infeasible"), ("infd1", "primal_infeasible")]
)
def test_sdplib_infeasible(name, status, sdplib):
    solution = solve_sdp(sdplib(name)[0])
    assert solution.status == status
    assert solution.ray.is_proof
