"""Methods for problem P2: against a generic solver, and their parts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core.points import Factored
from frobmetric.metric.boost import LOSSES
from frobmetric.metric.boost.problem import Exponential, Logistic
from frobmetric.metric.boost.solvers import METHODS, Ledger, best_step, boost, principal
from frobmetric.solvers import Monitor
from trace_problems import matrices, random_problem

SMOOTH = ["logistic", "exponential"]
#: Relative tolerance of Clarabel.
CLARABEL = 1e-6


def clarabel(problem, loss):
    """The optimum of P2 by a generic solver."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    n, weight = problem.order, problem.loss.weight
    M = cp.Variable((n, n), PSD=True)
    v = matrices(problem.constraints).reshape(-1, n * n) @ cp.vec(M, order="C")
    terms = {
        "hinge": lambda: cp.pos(1 - v),
        "logistic": lambda: cp.logistic(-v),
        "exponential": lambda: cp.exp(-v),
    }
    statement = cp.Problem(cp.Minimize(cp.trace(M) + weight @ terms[loss]()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        best = statement.solve(solver=cp.CLARABEL)
    return best, statement.status == "optimal"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_lies_between_dual_and_primal(loss, seed):
    problem = random_problem(seed, loss, n=2 + seed % 5, m=5 + 5 * seed)
    solution = boost(problem, METHODS[loss, True], tol=1e-4, max_iter=20_000)
    best, is_accurate = clarabel(problem, loss)
    slack = (CLARABEL if is_accurate else 100 * CLARABEL) * (1 + abs(best))
    assert solution.status == "optimal"
    assert solution.certificate.relative_gap <= 1e-4
    assert solution.certificate.dual <= best + slack
    assert best <= solution.certificate.primal + slack


@pytest.mark.parametrize("kind", [Logistic, Exponential])
def test_the_best_step_has_no_slope(kind, rng):
    loss, margins, change = kind(np.full(20, 5.0)), rng.normal(size=20), rng.normal(1, 1, 20)
    step = best_step(2.0, loss, margins, change)
    assert step > 0
    assert loss.multiplier(margins + step * change) @ change == pytest.approx(2.0, rel=1e-6)
    assert best_step(2.0, loss, margins, -np.abs(change)) == 0


def test_negligible_columns_are_dropped(rng):
    L = rng.normal(size=(5, 5)) * np.array([1, 1, 1e-7, 1e-8, 1])
    point = principal(Factored(L), 1e-3)
    assert point.rank == 3
    np.testing.assert_allclose(point.dense(), L @ L.T, atol=1e-6)
    assert (np.diff(np.linalg.norm(point.L, axis=0)) <= 0).all()


def test_optimal_is_what_the_certificate_says():
    def hopeful(problem, start, ledger):
        margins = problem.constraints.forward(start)
        found = problem.bounds(start, margins, problem.loss.multiplier(margins))
        ledger.record(replace(found, primal=found.dual))

    problem = random_problem(0, "exponential", C=10.0)
    with pytest.warns(ConvergenceWarning, match=r"hopeful ended \(stalled\).* > tol=0.001"):
        solution = boost(problem, hopeful, tol=1e-3, max_iter=10)
    assert solution.status == "stalled"
    assert solution.certificate.relative_gap > 1e-3


@pytest.mark.parametrize("loss", SMOOTH)
def test_stages_converge_to_the_same_optimum(loss):
    problem = random_problem(2, loss, C=20.0, n=2, m=10)
    slow = boost(problem, METHODS[loss, False], tol=5e-3, max_iter=10_000)
    fast = boost(problem, METHODS[loss, True], tol=1e-6, max_iter=10_000)
    assert slow.status == "optimal"
    assert fast.certificate.dual <= slow.certificate.primal
    assert slow.certificate.primal <= fast.certificate.primal * 1.006


class TestBadStart:
    """A start from which the exponential loss is astronomic."""

    def test_a_start_worse_than_zero_is_left_out(self):
        problem = random_problem(0, "exponential", C=10.0)
        solution = boost(
            problem,
            METHODS["exponential", True],
            tol=1e-3,
            max_iter=3000,
            start=Factored(20 * np.eye(4)),
        )
        from_zero = boost(problem, METHODS["exponential", True], tol=1e-3, max_iter=3000)
        assert solution.status == "optimal"
        assert solution.certificate == from_zero.certificate

    def test_a_good_start_is_used(self):
        problem = random_problem(0, "exponential", C=10.0)
        first = boost(problem, METHODS["exponential", True], tol=1e-3, max_iter=3000)
        again = boost(
            problem, METHODS["exponential", True], tol=1e-3, max_iter=3000, start=first.point
        )
        assert again.n_iter < first.n_iter
        assert again.certificate.relative_gap <= 1e-3

    def test_the_rounding_of_a_huge_objective_is_forgotten(self):
        """A bound from one step beside an objective from another: only theirs counts."""
        problem = random_problem(0, "exponential", C=10.0)
        bad, zero = Factored(20 * np.eye(4)), Factored(np.zeros((4, 0)))
        far, near = (
            problem.bounds(at, v, problem.loss.multiplier(v))
            for at, v in ((p, problem.constraints.forward(p)) for p in (bad, zero))
        )
        ledger = Ledger(Monitor(1e-3, 10))
        far = replace(far, dual=near.dual * 1.01)
        assert not ledger.record(far)
        assert not ledger.record(near)
        assert ledger.best.gap == near.primal - far.dual
        assert ledger.best.gap > 1e-3 * near.primal
