"""cvxpy problems solved by FROBMETRIC: against CLARABEL, and by the conditions of optimality."""

import contextlib
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

REASON = "needs cvxpy 1.9 or later: pip install frobmetric[sdp]"
cp = pytest.importorskip("cvxpy", minversion="1.9", reason=REASON)
interface = pytest.importorskip("frobmetric.sdp.cvxpy", reason=REASON)
cones = pytest.importorskip("frobmetric.sdp.cvxpy.cones", reason=REASON)
Elimination = pytest.importorskip("frobmetric.sdp.cvxpy.elimination", reason=REASON).Elimination
FROBMETRIC = interface.FROBMETRIC
TOL = 1e-7


def symmetric(n, seed=0):
    S = np.random.default_rng(seed).normal(size=(n, n))
    return (S + S.T) / 2


def graph(n, seed=0):
    """The adjacency matrix of a random graph."""
    edges = np.triu(np.random.default_rng(seed).random((n, n)) < 0.4, 1)
    return (edges + edges.T).astype(float)


# Problems: each has an answer


def lovasz_theta():
    edges = np.triu(graph(10))
    X = cp.Variable((10, 10), PSD=True)
    return cp.Problem(cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, cp.multiply(edges, X) == 0])


def theta_of_pentagon():
    edges = [(i, (i + 1) % 5) for i in range(5)]
    X = cp.Variable((5, 5), symmetric=True)
    rows = [X[i, j] == 0 for i, j in edges]
    return cp.Problem(cp.Maximize(cp.sum(X)), [X >> 0, cp.trace(X) == 1, *rows])


def max_cut():
    W = graph(12)
    X = cp.Variable((12, 12), PSD=True)
    laplacian = np.diag(W.sum(axis=0)) - W
    return cp.Problem(cp.Maximize(cp.trace(laplacian @ X) / 4), [cp.diag(X) == 1])


def nearest_correlation():
    X = cp.Variable((8, 8), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - symmetric(8))), [cp.diag(X) == 1])


def nearest_bounded_correlation():
    X, G = cp.Variable((7, 7), symmetric=True), symmetric(7)
    rows = [X >> 0, cp.diag(X) == 1, X >= -0.2, X[0, 1] <= 0.1, cp.sum(X) <= 20]
    return cp.Problem(cp.Minimize(3 * cp.sum_squares(X - G) + cp.trace(G @ X)), rows)


def projection():
    X = cp.Variable((6, 6), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - symmetric(6))))


def nearest_correlation_by_norm():
    X = cp.Variable((6, 6), PSD=True)
    return cp.Problem(cp.Minimize(cp.norm(X - symmetric(6), "fro")), [cp.diag(X) == 1])


def nearest_weighted_correlation():
    X, weight = cp.Variable((6, 6), PSD=True), np.random.default_rng(3).random((6, 6))
    distance = cp.sum_squares(cp.multiply(weight, X - symmetric(6)))
    return cp.Problem(cp.Minimize(distance), [cp.diag(X) == 1])


def smallest_eigenvalue():
    t = cp.Variable()
    return cp.Problem(cp.Maximize(t), [symmetric(7) - t * np.eye(7) >> 0])


def largest_eigenvalue_of_a_sum():
    x = cp.Variable(4)
    return cp.Problem(cp.Minimize(cp.lambda_max(symmetric(4) + cp.diag(x))), [cp.sum(x) == 0])


def matrix_inequality():
    x, c = cp.Variable(4), np.array([1.0, 2.0, -1.0, 0.5])
    sums = sum(x[i] * symmetric(5, seed=i + 1) for i in range(4))
    return cp.Problem(cp.Minimize(c @ x), [10 * np.eye(5) + sums >> 0, x <= 9, x >= -9])


def matrix_inequality_with_equations():
    problem = matrix_inequality()
    (x,) = problem.variables()
    return cp.Problem(problem.objective, [*problem.constraints, cp.sum(x) == 1, x[0] == 2 * x[1]])


def mixed_rows():
    X, z, C = cp.Variable((4, 4), PSD=True), cp.Variable(3), symmetric(4)
    rows = [
        X[0, 0] + z[0] == 2,
        cp.trace(X) >= 1 + z[1],
        z[2] + z[1] == X[0, 1] + 1,
        cp.norm(z) <= 3,
    ]
    return cp.Problem(cp.Minimize(cp.trace((C @ C) @ X) + cp.norm1(z) + 1), rows)


def two_matrices():
    X, Y = cp.Variable((4, 4), PSD=True), cp.Variable((3, 3), PSD=True)
    rows = [cp.trace(X) == 1, Y - X[:3, :3] >> 0, Y[0, 1] == 0.3]
    return cp.Problem(cp.Minimize(cp.trace(symmetric(4) @ X) + cp.trace(Y)), rows)


def cone_beside_matrix():
    X, t = cp.Variable((5, 5), PSD=True), cp.Variable()
    rows = [cp.norm(X[0]) <= t, cp.trace(X) == 2, cp.SOC(t, X[1, 1:3]), t <= 1]
    return cp.Problem(cp.Minimize(cp.trace(symmetric(5) @ X) + t), rows)


def large_cone():
    F, x = np.random.default_rng(0).normal(size=(60, 5)), cp.Variable(5)
    return cp.Problem(cp.Minimize(cp.norm(F @ x - 1) + cp.norm1(x) / 2), [x >= -0.1])


def nuclear_norm():
    X, G = cp.Variable((3, 4)), np.random.default_rng(0).normal(size=(3, 4))
    return cp.Problem(cp.Minimize(cp.normNuc(X) + cp.norm(X - G, "fro")))


def quadratic_form():
    C, x = symmetric(5), cp.Variable(5)
    return cp.Problem(cp.Minimize(cp.quad_form(x, C @ C) - x[0]), [cp.sum(x) == 1, x <= 0.4])


def linear_program():
    p, z = cp.Variable((1, 1), PSD=True), cp.Variable(2)
    rows = [p[0, 0] + z[0] >= 2, z[0] <= 1, z[0] >= -1, z[1] == p[0, 0]]
    return cp.Problem(cp.Minimize(3 * p[0, 0] + z[0]), rows)


def equations_only():
    z = cp.Variable(3)
    return cp.Problem(cp.Minimize(z[0]), [z[0] == 1, z[1] + z[2] == 2])


def redundant_rows():
    X, C = cp.Variable((4, 4)), symmetric(4)
    rows = [X >> 0, cp.trace(X) == 1, 2 * cp.trace(X) == 2, X == X.T, X[0, 0] <= np.inf]
    return cp.Problem(cp.Minimize(cp.trace(C @ X)), rows)


def hermitian_matrix():
    X = cp.Variable((3, 3), hermitian=True)
    C = symmetric(3) + 1j * np.array([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]])
    return cp.Problem(cp.Minimize(cp.real(cp.trace(C @ X))), [X >> 0, cp.real(cp.trace(X)) == 1])


PROBLEMS = [
    lovasz_theta,
    theta_of_pentagon,
    max_cut,
    nearest_correlation,
    nearest_bounded_correlation,
    projection,
    nearest_correlation_by_norm,
    nearest_weighted_correlation,
    smallest_eigenvalue,
    largest_eigenvalue_of_a_sum,
    matrix_inequality,
    matrix_inequality_with_equations,
    mixed_rows,
    two_matrices,
    cone_beside_matrix,
    large_cone,
    nuclear_norm,
    quadratic_form,
    linear_program,
    equations_only,
    redundant_rows,
    hermitian_matrix,
]
every_problem = pytest.mark.parametrize("make", PROBLEMS, ids=lambda make: make.__name__)


def values(problem):
    """The dual values of all constraints, one after the other."""
    parts = [part.value for row in problem.constraints for part in row.dual_variables]
    return np.concatenate([np.ravel(part) for part in parts])


# Answers


@every_problem
def test_the_answer_is_that_of_clarabel(make):
    problem = make()
    result = problem.solve(solver=FROBMETRIC, tol=TOL)
    assert problem.status == "optimal"
    assert problem.solver_stats.extra_stats["certificate"].error <= TOL
    broken = max((np.max(row.violation()) for row in problem.constraints), default=0.0)
    due = problem.solve(solver=cp.CLARABEL)
    assert result == pytest.approx(due, rel=1e-5, abs=1e-5)
    assert broken <= 1e-5


@every_problem
def test_x_and_multipliers_are_optimal_in_the_form_of_cvxpy(make):
    data, _, _ = make().get_problem_data(FROBMETRIC)
    answer = FROBMETRIC.solve_via_data(data, False, False, {"tol": TOL})
    conic = interface.as_conic(data)
    x, v = answer.x, answer.multipliers
    slack = conic.b - conic.A @ x
    size = 1 + np.linalg.norm(v) + np.linalg.norm(x)
    assert np.linalg.norm(conic.P @ x + conic.c + conic.A.T @ v) <= 1e-4 * size
    assert outside(conic.dims, slack, is_dual=False) <= 1e-5 * size
    assert outside(conic.dims, v, is_dual=True) <= 1e-5 * size
    assert abs(slack @ v) <= 1e-5 * size**2


def outside(dims, vector, is_dual):
    """Return the distance of a vector from the cones, or from their duals."""
    numbers = vector[dims.zero : dims.zero + dims.nonneg]
    missed = [-numbers.min(initial=0.0)]
    if not is_dual:
        missed.append(np.abs(vector[: dims.zero]).max(initial=0.0))
    at = dims.zero + dims.nonneg
    for d in dims.soc:
        missed.append(np.linalg.norm(vector[at + 1 : at + d]) - vector[at])
        at += d
    for n in dims.psd:
        size = n * (n + 1) // 2
        full = cones.semidefinite(n).matrix.T @ vector[at : at + size]
        missed.append(-np.linalg.eigvalsh(full.reshape(n, n))[0])
        at += size
    return max(missed)


@pytest.mark.parametrize(
    "make",
    [
        max_cut,
        nearest_correlation,
        nearest_correlation_by_norm,
        smallest_eigenvalue,
        matrix_inequality,
        matrix_inequality_with_equations,
        mixed_rows,
        cone_beside_matrix,
        linear_program,
    ],
    ids=lambda make: make.__name__,
)
def test_dual_values_are_those_of_clarabel(make):
    problem = make()
    problem.solve(solver=FROBMETRIC, tol=1e-9)
    result = values(problem)
    problem.solve(solver=cp.CLARABEL)
    due = values(problem)
    np.testing.assert_allclose(result, due, atol=1e-3 * (1 + np.abs(due).max()))


def test_a_dual_value_is_the_slope_of_the_optimum():
    X, side = cp.Variable((4, 4), PSD=True), cp.Parameter(value=1.0)
    row = cp.trace(X) <= side
    problem = cp.Problem(cp.Maximize(cp.trace(symmetric(4) @ X)), [row])
    first = problem.solve(solver=FROBMETRIC, tol=TOL)
    slope = row.dual_value
    side.value = 1.1
    assert problem.solve(solver=FROBMETRIC, tol=TOL) - first == pytest.approx(0.1 * slope, abs=1e-5)


@pytest.mark.parametrize("make", [nearest_correlation, nearest_bounded_correlation, projection])
def test_a_frobenius_term_is_recognised(make):
    problem = make()
    problem.solve(solver=FROBMETRIC)
    sdp = problem.solver_stats.extra_stats["solution"].problem
    assert sdp.sigma == pytest.approx(1 / 6 if make is nearest_bounded_correlation else 1 / 2)
    assert sdp.cone.shape == problem.variables()[0].shape
    certificate = problem.solver_stats.extra_stats["certificate"]
    assert certificate.primal == pytest.approx(problem.value, rel=1e-6)
    assert certificate.bound <= problem.value + 1e-6


@pytest.mark.parametrize("make", [nearest_weighted_correlation, quadratic_form])
def test_other_quadratic_terms_become_second_order_cones(make):
    problem = make()
    problem.solve(solver=FROBMETRIC)
    assert problem.solver_stats.extra_stats["solution"].problem.sigma == np.inf


def test_without_quadratic_objectives_on_request():
    problem = nearest_correlation()
    due = problem.solve(solver=FROBMETRIC)
    assert problem.solve(solver=FROBMETRIC, use_quad_obj=False) == pytest.approx(due, rel=1e-5)
    assert problem.solver_stats.extra_stats["solution"].problem.sigma == np.inf


def test_the_smaller_of_the_two_forms_is_solved():
    for make, is_primal, sign in ((max_cut, True, -1), (smallest_eigenvalue, False, 1)):
        problem = make()  # a maximisation, so that the primal has the other sign
        problem.solve(solver=FROBMETRIC)
        extra = problem.solver_stats.extra_stats
        assert extra["is_primal"] is is_primal
        assert extra["certificate"].primal == pytest.approx(sign * problem.value, rel=1e-5)


def test_several_matrices_in_one_constraint():
    X = cp.Variable((2, 3, 3))
    rows = [X >> 0, cp.trace(X[0]) == 1, X[1] >> X[0] - np.eye(3), X[0, 0, 1] == X[1, 0, 1] + 0.1]
    costs = cp.trace(symmetric(3) @ X[0]) + cp.trace(X[1])
    problem = cp.Problem(cp.Minimize(costs), [*rows, X[0] == X[0].T, X[1] == X[1].T])
    backend = {"canon_backend": cp.SCIPY_CANON_BACKEND}  # cvxpy's own choice, with a warning
    result = problem.solve(solver=FROBMETRIC, tol=TOL, **backend)
    assert result == pytest.approx(problem.solve(solver=cp.CLARABEL, **backend), abs=1e-5)


# No answer


def infeasible_matrix():
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == -1])


def infeasible_inequality():
    x = cp.Variable(2)
    flat = x[0] * np.diag([1.0, -1.0]) + x[1] * np.diag([-1.0, 1.0])
    return cp.Problem(cp.Minimize(x[0] - x[1]), [flat >> np.eye(2)])


def infeasible_equations():
    z = cp.Variable(3)
    return cp.Problem(cp.Minimize(z[0]), [z[0] + z[1] == 1, 2 * z[0] + 2 * z[1] == 3, z >= -5])


def infeasible_frobenius_term():
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - symmetric(4))), [cp.trace(X) == -1])


def infeasible_bound():
    X = cp.Variable((2, 2), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] >= np.inf])


INFEASIBLE = [
    infeasible_matrix,
    infeasible_inequality,
    infeasible_equations,
    infeasible_frobenius_term,
]


@pytest.mark.parametrize("make", [*INFEASIBLE, infeasible_bound], ids=lambda make: make.__name__)
def test_infeasible(make):
    problem = make()
    assert problem.solve(solver=FROBMETRIC) == np.inf
    assert problem.status == "infeasible"
    assert problem.variables()[0].value is None


@pytest.mark.parametrize("make", INFEASIBLE, ids=lambda make: make.__name__)
def test_the_proof_of_infeasibility_proves_it(make):
    problem = make()
    data, _, _ = problem.get_problem_data(FROBMETRIC)
    problem.solve(solver=FROBMETRIC)
    conic, v = interface.as_conic(data), problem.solver_stats.extra_stats["ray"]
    v = v / np.linalg.norm(v)
    assert conic.b @ v < -1e-3
    assert np.linalg.norm(conic.A.T @ v) <= 1e-6
    assert outside(conic.dims, v, is_dual=True) <= 1e-6
    assert values(problem).size == len(values(solved_by_clarabel(make)))


@pytest.mark.parametrize("small", [1e-5, 1e-7, 1e-10])
def test_a_far_answer_is_not_infeasible(small):
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == small, X[0, 1] == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver=FROBMETRIC)
    assert problem.status not in ("infeasible", "infeasible_inaccurate", "unbounded")


def test_a_proof_of_the_rounded_sdp_only_is_inaccurate(monkeypatch):
    monkeypatch.setattr(interface, "proves_infeasible", lambda conic, v: False)
    problem = infeasible_matrix()
    with pytest.warns(UserWarning, match="inaccurate"):
        problem.solve(solver=FROBMETRIC)
    assert problem.status == "infeasible_inaccurate"


def test_rays_of_cones_are_checked_exactly():
    """t >= |x| with t = 5, x = (3, 4) on the boundary, and one that is off by a rounding."""
    A, b = sp.csr_array((3, 0)), np.array([-1.0, 0.0, 0.0])
    conic = cones.Conic(A, b, np.zeros(0), sp.csr_array((0, 0)), cones.Dims(0, 0, (3,)))
    assert interface.proves_infeasible(conic, np.array([5.0, 3.0, 4.0]))
    assert not interface.proves_infeasible(conic, np.array([5.0, 3.0, np.nextafter(4.0, 5)]))
    assert not interface.proves_infeasible(conic, np.array([np.nan, 3.0, 4.0]))


def solved_by_clarabel(make):
    problem = make()
    problem.solve(solver=cp.CLARABEL)
    return problem


def unbounded_matrix():
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(X)), [X[0, 0] == 1])


def unbounded_inequality():
    t = cp.Variable()
    return cp.Problem(cp.Minimize(t), [t * np.eye(3) << np.eye(3)])


def unbounded_free_variable():
    z = cp.Variable(2)
    return cp.Problem(cp.Minimize(z[0] + z[1]), [z[0] - z[1] == 1])


def unbounded_without_rows():
    return cp.Problem(cp.Minimize(cp.Variable()))


UNBOUNDED = [
    unbounded_matrix,
    unbounded_inequality,
    unbounded_free_variable,
    unbounded_without_rows,
]


@pytest.mark.parametrize("make", UNBOUNDED, ids=lambda make: make.__name__)
def test_unbounded(make):
    problem = make()
    data, _, _ = problem.get_problem_data(FROBMETRIC)
    problem.solve(solver=FROBMETRIC)
    assert problem.status == "unbounded"
    conic, d = interface.as_conic(data), problem.solver_stats.extra_stats["ray"]
    d = d / np.linalg.norm(d)
    assert conic.c @ d < -1e-3
    assert outside(conic.dims, -conic.A @ d, is_dual=False) <= 1e-6


def stopped(problem, **options):
    """Solve, and swallow the two warnings: cvxpy's, and ours with the errors."""
    with (
        pytest.warns(UserWarning, match="Solution may be inaccurate"),
        pytest.warns(ConvergenceWarning, match="FROBMETRIC did not reach tol="),
    ):
        problem.solve(solver=FROBMETRIC, **options)
    return problem


def test_too_few_steps_are_a_user_limit():
    problem = stopped(max_cut(), max_iter=2)
    assert problem.status == "user_limit"
    assert problem.variables()[0].value.shape == (12, 12)


def test_no_time_is_a_user_limit():
    assert stopped(nearest_correlation_by_norm(), time_limit=0.0).status == "user_limit"


@pytest.fixture
def miss_tolerance(monkeypatch):
    """Let solve_sdp miss its tolerance by a given error."""

    def miss(error, status):
        def solve(*args, **kwargs):
            result = interface_solve(*args, **kwargs)
            certificate = replace(result.certificate, relative_gap=error)
            return replace(result, status=status, certificate=certificate)

        interface_solve = interface.solve_sdp
        monkeypatch.setattr(interface, "solve_sdp", solve)

    return miss


def test_small_errors_are_inaccurate(miss_tolerance):
    miss_tolerance(1e-4, "max_iter")
    assert stopped(max_cut()).status == "optimal_inaccurate"


def test_a_stalled_run_is_an_error(miss_tolerance):
    miss_tolerance(0.5, "stalled")
    with (
        pytest.warns(ConvergenceWarning, match="stalled"),
        pytest.raises(cp.SolverError, match="FROBMETRIC"),
    ):
        max_cut().solve(solver=FROBMETRIC)


# Statistics, starts, options and refusals


def test_statistics():
    problem = max_cut()
    problem.solve(solver=FROBMETRIC)
    stats = problem.solver_stats
    assert stats.solver_name == "FROBMETRIC"
    assert stats.num_iters > 0
    assert stats.solve_time > 0
    assert stats.setup_time > 0
    assert set(stats.extra_stats) == {"certificate", "solution", "is_primal", "ray"}
    assert stats.extra_stats["ray"] is None


@pytest.fixture
def starts(monkeypatch):
    """Record the start of each call of solve_sdp."""
    given, solve = [], interface.solve_sdp

    def spy(*args, **kwargs):
        given.append(kwargs.get("start"))
        return solve(*args, **kwargs)

    monkeypatch.setattr(interface, "solve_sdp", spy)
    return given


@pytest.mark.parametrize("is_quadratic", [False, True])
def test_parameters_are_solved_again_from_the_last_answer(starts, is_quadratic):
    C, X = cp.Parameter((5, 5), symmetric=True), cp.Variable((5, 5), PSD=True)
    cost = cp.sum_squares(X - C) if is_quadratic else cp.trace(C @ X)
    problem = cp.Problem(cp.Minimize(cost), [cp.diag(X) == 1])
    for seed in range(3):
        C.value = symmetric(5) + 0.1 * symmetric(5, seed=seed)
        result = problem.solve(solver=FROBMETRIC, tol=TOL, warm_start=seed < 2)
        due = cp.Problem(problem.objective, problem.constraints).solve(solver=cp.CLARABEL)
        assert result == pytest.approx(due, abs=1e-5)
    assert [start is not None for start in starts] == [False, True, False]


def test_an_answer_of_another_shape_is_no_start():
    data, _, _ = max_cut().get_problem_data(FROBMETRIC)
    cache = {}
    FROBMETRIC.solve_via_data(data, True, False, {}, cache)
    data, _, _ = two_matrices().get_problem_data(FROBMETRIC)
    assert FROBMETRIC.solve_via_data(data, True, False, {}, cache).status == "optimal"


def test_a_start_that_leads_to_no_answer_is_dropped(monkeypatch):
    solve = interface.solve_sdp

    def stall(*args, start=None, **kwargs):
        result = solve(*args, **kwargs)
        return result if start is None else replace(result, status="stalled")

    monkeypatch.setattr(interface, "solve_sdp", stall)
    problem = max_cut()
    for _ in range(2):
        problem.solve(solver=FROBMETRIC)
        assert problem.status == "optimal"


def test_infinite_matrices_are_refused():
    t = cp.Variable()
    problem = cp.Problem(cp.Minimize(t), [t * np.eye(2) >> np.diag([np.inf, 0])])
    with pytest.raises(ValueError, match="semidefinite constraint contains infinity"):
        problem.solve(solver=FROBMETRIC)


def test_verbose_writes_lines(capsys):
    max_cut().solve(solver=FROBMETRIC)
    assert capsys.readouterr().out == ""
    max_cut().solve(solver=FROBMETRIC, verbose=True)
    out = capsys.readouterr().out
    assert "primal" in out
    assert "optimal after" in out
    infeasible_equations().solve(solver=FROBMETRIC, verbose=True)
    assert "is unbounded" in capsys.readouterr().out


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="no option 'eps'; its options are tol, max_iter"):
        max_cut().solve(solver=FROBMETRIC, eps=1e-3)


def test_options_are_checked():
    with pytest.raises(ValueError, match="tol=-1 must be positive"):
        max_cut().solve(solver=FROBMETRIC, tol=-1)


def test_exponential_cones_are_refused():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [cp.sum(x) == 1])
    with pytest.raises(cp.SolverError, match=r"FROBMETRIC solves .* needs ExpCone: use another"):
        problem.solve(solver=FROBMETRIC)


def test_power_cones_are_refused():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(x[0]), [cp.PowCone3D(x[0], x[1], x[2], 0.3), x[1] == 1])
    with pytest.raises(cp.SolverError, match="needs PowCone3D"):
        problem.solve(solver=FROBMETRIC)


def test_integers_are_refused():
    x = cp.Variable(2, integer=True)
    with pytest.raises(cp.SolverError, match=r"mixed-integer.*FROBMETRIC"):
        cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.5]).solve(solver=FROBMETRIC)


def test_the_paper_is_cited():
    assert "Efficient Dual Approach" in FROBMETRIC.cite({})


def test_without_cvxpy_the_extra_is_named():
    script = (
        "import sys; sys.modules['cvxpy'] = None\n"
        "import frobmetric, frobmetric.sdp\n"
        "try:\n    import frobmetric.sdp.cvxpy\n"
        "except ImportError as error:\n    sys.stdout.write(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install frobmetric[sdp]" in done.stdout


# The pieces


@pytest.mark.parametrize("d", [2, 3, 4, 9])
def test_second_order_cones_are_images(d, rng):
    image = cones.second_order(d)
    (cone,) = image.cones
    for _ in range(10):
        L, z = rng.normal(size=(*cone.shape, 2))[..., 0], rng.normal(size=d - 1)
        t, *inside = image.matrix @ (L @ L.T).ravel()
        assert np.linalg.norm(inside) <= t
        for nearby in (-1e-3, 1e-3):
            dual = image.matrix.T @ np.r_[np.linalg.norm(z) + nearby, z]
            assert np.sign(cone.min_eigenvalue(dual.reshape(cone.shape))) == np.sign(nearby)


def test_large_cones_give_the_same_answer_as_small_ones(monkeypatch):
    problem = nearest_correlation_by_norm()
    due = problem.solve(solver=FROBMETRIC, tol=TOL)
    monkeypatch.setattr(cones, "LARGEST_CONE", 5)
    assert problem.solve(solver=FROBMETRIC, tol=TOL) == pytest.approx(due, rel=1e-5)


@pytest.mark.parametrize("density", [0.05, 0.2, 1.0])
def test_elimination_is_exact(density, rng):
    for _ in range(5):
        F = rng.normal(size=(14, 9)) * (rng.random((14, 9)) < density)
        F = np.c_[F, F[:, 0] - 2 * F[:, 1]]  # a column that depends on others
        G, f, p = rng.normal(size=(14, 6)), rng.normal(size=10), rng.normal(size=6)
        h = F @ f + G @ p
        result = Elimination(sp.csr_array(F), sp.csr_array(G), h, np.zeros(14))
        assert result.rows.shape[0] == 14 - np.linalg.matrix_rank(F)
        np.testing.assert_allclose(result.rows @ p, result.sides, atol=1e-8)
        np.testing.assert_allclose(F @ result.solution(p) + G @ p, h, atol=1e-8)
        cf = F.T @ rng.normal(size=14)
        cost, fall = result.cost(cf, np.zeros(6))
        Y = result.multipliers(rng.normal(size=result.rows.shape[0]), cf)
        np.testing.assert_allclose(F.T @ Y, cf, atol=1e-8)
        assert fall is None
        assert cf @ result.solution(p) == pytest.approx(
            cost @ p + cf @ result.solution(np.zeros(6)), abs=1e-8
        )


def test_elimination_finds_a_direction_that_no_equation_feels(rng):
    F = rng.normal(size=(5, 3))
    F[:, 2] = F[:, 0] + F[:, 1]
    result = Elimination(sp.csr_array(F), sp.csr_array((5, 0)), np.zeros(5), np.zeros(5))
    cf = np.array([1.0, 1.0, 3.0])
    _, fall = result.cost(cf, np.zeros(0))
    assert cf @ fall < 0
    np.testing.assert_allclose(F @ fall, 0, atol=1e-12)
