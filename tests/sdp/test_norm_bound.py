"""`solve_norm_bounded` against cvxpy, and against answers in closed form."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import LowRank
from frobmetric.sdp import make_sdp, solve_norm_bounded
from frobmetric.solvers import Interrupted
from random_problems import dense_rows, psd, symmetric

SENSES = np.array(["=", "<=", ">="])


def random_bounded(seed):
    """A feasible plain SDP, most often without a bounded set, and a bound on |X|^2."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    m = int(rng.integers(1, n + 1))
    C, A, senses = symmetric(rng, n), [symmetric(rng, n) for _ in range(m)], rng.choice(SENSES, m)
    X = psd(rng, n) + 0.1 * np.eye(n)
    room = {"=": 0, "<=": 0.3, ">=": -0.3}
    b = [np.vdot(a, X) + room[sense] for a, sense in zip(A, senses, strict=True)]
    return make_sdp(C, A, b, list(senses)), float(np.vdot(X, X) * 10 ** rng.uniform(-0.7, 1.5))


def clarabel(problem, delta):
    """The optimum with |X|^2 <= delta, infinity if there is none."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    n = problem.cone.n
    X = cp.Variable((n, n), PSD=True)
    rules = [cp.sum_squares(X) <= delta]
    sense = np.broadcast_to(problem.loss.sense, problem.loss.target.shape)
    for r, A in enumerate(dense_rows(problem.constraints)):
        short = cp.sum(cp.multiply(A, X)) - problem.loss.target[r]
        rules.append(cp.Zero(short) if sense[r] == 0 else cp.NonNeg(sense[r] * short))
    objective = cp.Minimize(cp.sum(cp.multiply(problem.cost, X)))
    return cp.Problem(objective, rules).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(
    "group", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 10))]
)
def test_random_problems_against_the_oracle(group):
    for seed in range(5 * group, 5 * group + 5):
        problem, delta = random_bounded(seed)
        solution, best = solve_norm_bounded(problem, delta), clarabel(problem, delta)
        if np.isinf(best):
            check_too_small(problem, delta, solution)
            continue
        certificate = solution.certificate
        assert solution.status == "optimal", seed
        assert certificate.error <= 1e-6, seed
        assert certificate.primal == pytest.approx(best, rel=1e-5, abs=1e-5), seed
        assert certificate.bound <= best + 1e-6 * (1 + abs(best)), seed
        assert np.vdot(solution.X, solution.X) <= delta * (1 + 1e-6), seed
        assert problem.cone.min_eigenvalue(solution.X) >= -1e-10, seed
        check_bound(problem, delta, solution)


def check_bound(problem, delta, solution):
    """d(y, sigma) - delta / (2 sigma), from its definition."""
    if np.isinf(solution.sigma):
        return
    y, sigma = solution.y, solution.sigma
    values = np.linalg.eigvalsh(problem.constraints.adjoint(y) - problem.cost)
    dual = problem.loss.target @ y - sigma / 2 * np.sum(np.maximum(values, 0) ** 2)
    assert solution.certificate.bound == pytest.approx(dual - delta / (2 * sigma), abs=1e-9)


def check_too_small(problem, delta, solution):
    """Every feasible X has 1 = b.y <= <A*(y), X> <= |(A*(y))_+| |X|."""
    assert solution.status == "primal_infeasible"
    y, loss = solution.ray.vector, problem.loss
    assert loss.target @ y == pytest.approx(1)
    assert (y >= loss.lower).all()
    assert (y <= loss.upper).all()
    values = np.linalg.eigvalsh(problem.constraints.adjoint(y))
    norm = np.linalg.norm(np.maximum(values, 0))
    assert solution.ray.error == pytest.approx(norm)
    assert 1 / norm**2 > delta


def eigenvalues(n):
    """Minimise <diag(1..n), X> with trace X = 1: |X|^2 is between 1/n and 1."""
    return make_sdp(np.diag(np.arange(1.0, n + 1)), [np.eye(n)], [1.0])


def test_the_bound_decides_the_rank():
    """X is the projection of a diagonal on the simplex, so all is known."""
    for delta in (0.3, 0.5, 0.9):
        solution = solve_norm_bounded(eigenvalues(4), delta, tol=1e-8)
        x, sigma = np.diag(solution.X), solution.sigma
        assert np.sum(x**2) == pytest.approx(delta, rel=1e-6)
        kept = x > 1e-6
        np.testing.assert_allclose(np.diff(x[kept]), -sigma, atol=1e-5)
        assert solution.status == "optimal"


def test_bound_that_does_not_matter():
    solution = solve_norm_bounded(eigenvalues(3), 5.0)
    assert (solution.status, solution.sigma) == ("optimal", np.inf)
    assert solution.certificate.primal == pytest.approx(1, abs=1e-5)
    assert solution.certificate.bound <= 1 + 1e-9


def test_bound_that_is_just_met():
    """The smallest feasible X has |X|^2 = 1/4, and it is the only one."""
    solution = solve_norm_bounded(eigenvalues(4), 0.25)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.X, np.eye(4) / 4, atol=1e-3)


def test_bound_that_is_too_small():
    problem = eigenvalues(4)
    solution = solve_norm_bounded(problem, 0.2)
    check_too_small(problem, 0.2, solution)
    assert 1 / solution.ray.error**2 == pytest.approx(0.25, rel=1e-3)


def test_rows_that_nothing_meets():
    problem = make_sdp(np.eye(2), [np.eye(2)], [-1.0])
    assert solve_norm_bounded(problem, 7.0).status == "primal_infeasible"


def test_unbounded_without_the_norm():
    """The plain SDP has no answer: all of the norm goes where C is negative."""
    problem = make_sdp(np.diag([1.0, -1.0]), [np.diag([1.0, 0.0])], [1.0])
    solution = solve_norm_bounded(problem, 10.0)
    assert solution.certificate.primal == pytest.approx(1 - 3, abs=1e-5)
    np.testing.assert_allclose(solution.X, np.diag([1.0, 3.0]), atol=1e-3)


def test_nothing_to_minimise(rng):
    A = [symmetric(rng, 4) for _ in range(2)]
    problem = make_sdp(np.zeros((4, 4)), A, [np.trace(a) for a in A], offset=3.0)
    solution = solve_norm_bounded(problem, 4.0)
    assert (solution.status, solution.certificate.primal) == ("optimal", 3.0)
    assert not solution.y.any()


def test_blocks_and_factors(rng):
    problem = make_sdp([np.diag([1.0, 2.0]), np.array([3.0])], [[np.eye(2), np.ones(1)]], [1.0])
    solution = solve_norm_bounded(problem, 0.5)
    assert np.vdot(solution.X, solution.X) == pytest.approx(0.5, rel=1e-5)
    same = solve_norm_bounded(eigenvalues(3), 0.5)
    assert solution.certificate.primal == pytest.approx(same.certificate.primal, abs=1e-5)
    factors = make_sdp(np.diag([1.0, 2.0, 3.0]), LowRank([np.eye(3)]), [1.0])
    assert solve_norm_bounded(factors, 0.5).certificate.primal == pytest.approx(
        same.certificate.primal, abs=1e-5
    )


def test_multiplier_of_the_bound_is_a_slope():
    """The optimum falls by 1 / (2 sigma) as delta grows by one."""
    problem, delta = random_bounded(0)
    h = 1e-3 * delta
    middle = solve_norm_bounded(problem, delta, tol=1e-8)
    assert np.isfinite(middle.sigma)
    ahead, behind = (solve_norm_bounded(problem, delta + t, tol=1e-8) for t in (h, -h))
    slope = (ahead.certificate.primal - behind.certificate.primal) / (2 * h)
    assert slope == pytest.approx(-1 / (2 * middle.sigma), rel=1e-3)


def test_warm_start_needs_fewer_steps():
    problem, delta = random_bounded(0)
    cold = solve_norm_bounded(problem, delta)
    warm = solve_norm_bounded(problem, 1.01 * delta, start=cold)
    assert warm.status == "optimal"
    assert warm.n_iter < solve_norm_bounded(problem, 1.01 * delta).n_iter


def test_ends_early_with_an_answer():
    problem, delta = random_bounded(0)
    with pytest.warns(
        ConvergenceWarning,
        match=r"solve_norm_bounded ended \(max_iter\) after .* \(gap\) > tol=1e-09",
    ):
        few = solve_norm_bounded(problem, delta, tol=1e-9, max_iter=15)
    assert few.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        late = solve_norm_bounded(problem, delta, tol=1e-9, time_limit=0.0)
    assert np.isfinite(late.certificate.error)
    stopped = solve_norm_bounded(problem, delta, callback=lambda step: True)
    assert stopped.status == "stopped"


def test_interruption_hands_over_the_best_answer():
    problem, delta = random_bounded(0)
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) == 25:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as error:
        solve_norm_bounded(problem, delta, tol=1e-9, callback=interrupt)
    assert error.value.solution.status == "interrupted"
    assert error.value.solution.problem is problem


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, np.inf, 5e-324, 1e80])
def test_delta_must_be_a_number_that_squares_can_be_divided_by(delta):
    with pytest.raises(ValueError, match=r"delta is nan|delta=.*; expected a number between 6e-76"):
        solve_norm_bounded(eigenvalues(2), delta)


@pytest.mark.parametrize("bad", [{"tol": 0.0}, {"tol": np.nan}, {"max_iter": 0}])
def test_limits_must_make_sense(bad):
    with pytest.raises(
        ValueError, match=r"tol=0.0 must be positive|tol is nan|max_iter=0 must be at least 1"
    ):
        solve_norm_bounded(eigenvalues(2), 1.0, **bad)


def test_frobenius_term_is_refused():
    problem = make_sdp(np.eye(2), [np.eye(2)], [1.0], sigma=2.0)
    with pytest.raises(ValueError, match=r"sigma=2.0; .* give sigma=np.inf"):
        solve_norm_bounded(problem, 1.0)
