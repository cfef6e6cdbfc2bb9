import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.core import AtLeast, FrobeniusSDP, Hinge, Quadruplets, Sparse, Triplets, certify
from frobmetric.solvers import FROBENIUS_SOLVERS, Interrupted, State, solve
from random_problems import EXAMPLES


@pytest.fixture
def problem(rng):
    return FrobeniusSDP(EXAMPLES[Triplets](rng, 6, 60), Hinge(np.full(60, 1 / 60)))


@pytest.mark.parametrize("name", FROBENIUS_SOLVERS)
def test_every_solver_reaches_the_same_certified_optimum(problem, name):
    solution = solve(problem, solver=name, tol=1e-7, max_iter=10_000)
    assert solution.status == "optimal"
    assert solution.certificate.relative_gap <= 1e-7
    reference = solve(problem, solver="lbfgsb", tol=1e-7, max_iter=10_000)
    # each u bounds the other's M from below, up to rounding, or `certify` raises
    assert 0 <= certify(problem, reference.point, solution.u).relative_gap <= 2e-7
    assert 0 <= certify(problem, solution.point, reference.u).relative_gap <= 2e-7


def test_history_leads_to_the_answer(problem):
    solution = solve(problem, tol=1e-5)
    last = solution.history[-1]
    assert solution.n_iter >= len(solution.history)
    assert last.primal == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert last.rank == solution.point.rank
    assert [s.seconds for s in solution.history] == sorted(s.seconds for s in solution.history)


def test_narrow_boxes_are_solved_too(rng):
    """SciPy's own gradient test would accept u = 0 where the box is narrower than 1e-5."""
    A = EXAMPLES[Triplets](rng, 6, 60)
    solution = solve(FrobeniusSDP(A, Hinge(np.full(60, 1e-9))))
    assert solution.certificate.relative_gap <= 1e-3
    assert solution.u.max() > 0


def test_max_iter_ends_with_a_warning(problem):
    with pytest.warns(ConvergenceWarning, match=r"after 3 steps with relative gap .* > tol=1e-09"):
        solution = solve(problem, tol=1e-9, max_iter=3)
    assert solution.status == "max_iter"
    gaps = [step.gap / step.primal for step in solution.history]
    assert solution.certificate.relative_gap <= 1.001 * min(gaps)


def test_infeasible_hard_rows_end_with_a_warning():
    problem = FrobeniusSDP(Sparse.from_matrices([-np.eye(2)]), AtLeast(np.array([1.0])))
    with pytest.warns(ConvergenceWarning):
        solution = solve(problem, max_iter=200)
    assert solution.status in ("max_iter", "stalled")
    assert solution.certificate.violation > 0


def test_a_callback_can_stop(problem):
    seen = []

    def stop_at_five(step):
        seen.append(step)
        return len(seen) == 5

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(problem, tol=1e-12, callback=stop_at_five)
    assert solution.status == "stopped"
    assert solution.n_iter == 5
    assert list(solution.history) == seen


def test_an_interruption_keeps_the_best_iterate(problem):
    def press_ctrl_c(step):
        if step.gap < 0.1 * step.primal:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as info:
        solve(problem, tol=1e-12, callback=press_ctrl_c)
    assert isinstance(info.value, Interrupted)
    solution = info.value.solution
    assert solution.status == "interrupted"
    assert solution.certificate.relative_gap < 0.1


def test_warm_start_from_the_answer_ends_at_once(problem):
    first = solve(problem, tol=1e-6, max_iter=5000)
    for start in (first, State(u=first.u)):
        again = solve(problem, tol=1e-6, start=start)
        assert again.history[0].relative_gap <= 1e-6
        np.testing.assert_array_equal(again.u, first.u)
    again = solve(problem, tol=1e-6, start=State(point=first.point), max_iter=5000)
    assert again.certificate.relative_gap <= 1e-6


def test_bad_arguments_are_refused(problem):
    with pytest.raises(ValueError, match=r"solver='cplex' is not known; choose one of .*lbfgsb"):
        solve(problem, solver="cplex")
    with pytest.raises(ValueError, match="tol=0"):
        solve(problem, tol=0)
    with pytest.raises(ValueError, match="tol is nan"):
        solve(problem, tol=np.nan)
    with pytest.raises(ValueError, match="max_iter=0"):
        solve(problem, max_iter=0)
    with pytest.raises(ValueError, match=r"u of shape \(3,\); this problem has 60"):
        solve(problem, start=State(u=np.zeros(3)))


@pytest.mark.parametrize("solver", ["auto", "quasi_newton", "active_set", "lbfgsb"])
@pytest.mark.parametrize("weight", [1e2, 1e4, 1e6])
def test_a_flat_valley_is_not_walked_in_short_steps(solver, weight):
    """Two rows m >= 1 and one -m >= 1: along u_1 + u_2 = u_3 the dual rises without curvature."""
    rows = np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]])
    problem = FrobeniusSDP(Quadruplets(np.array([[0.0], [1.0]]), rows), Hinge(np.full(3, weight)))
    solution = solve(problem, solver=solver, tol=1e-6, max_iter=200)
    assert solution.status == "optimal"
    # at m = 1 the contradicted row costs 2, and m itself a half
    assert solution.certificate.primal == pytest.approx(2 * weight + 0.5)
