"""Working on few rows must not change the answer, and screening must never be wrong."""

import importlib

import numpy as np
import pytest
from sklearn.datasets import load_digits

from frobmetric import mine_triplets
from frobmetric.core import FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, Triplets, certify
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.solvers import Interrupted, State, solve
from frobmetric.solvers.active_set import gap_radius, settled
from random_problems import EXAMPLES, make_loss, random_problem

module = importlib.import_module("frobmetric.solvers.active_set")
SOFT = (Hinge, SmoothedHinge, SquaredHinge)


@pytest.fixture
def small_parts(monkeypatch):
    """Let small problems go through every stage."""
    monkeypatch.setattr(module, "FEW_ROWS", 50)
    monkeypatch.setattr(module, "SAMPLE", 400)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    Z, _ = unit_mean_square(X[:500])
    return Z, mine_triplets(Z, y[:500])


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", SOFT)
@pytest.mark.parametrize("C", [10.0, 1e4])
def test_same_optimum_as_all_rows_at_once(digits, kind, C):
    Z, mined = digits
    problem = FrobeniusSDP(mined.constraints(Z), kind(C * mined.share))
    rounds = solve(problem, solver="active_set", tol=1e-4)
    whole = solve(problem, solver="quasi_newton", tol=1e-4)
    assert rounds.status == "optimal"
    assert rounds.certificate.relative_gap <= 1e-4
    # each u bounds the other's M from below, up to rounding, or `certify` raises
    assert 0 <= certify(problem, whole.point, rounds.u).relative_gap <= 2e-4
    assert 0 <= certify(problem, rounds.point, whole.u).relative_gap <= 2e-4
    assert rounds.n_iter > len(rounds.history)


@pytest.mark.usefixtures("small_parts")
def test_cost_and_prior_survive_restriction(rng):
    A = EXAMPLES[Triplets](rng, 6, 3000)
    problem = random_problem(rng, A, Hinge(np.full(3000, 1e-3)), with_cost=True, with_prior=True)
    rounds = solve(problem, solver="active_set", tol=1e-5, max_iter=5000)
    whole = solve(problem, solver="quasi_newton", tol=1e-5, max_iter=5000)
    assert rounds.certificate.relative_gap <= 1e-5
    assert rounds.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-5)


@pytest.mark.usefixtures("small_parts")
def test_an_interruption_in_the_first_rough_solve_leaves_a_metric(digits, monkeypatch):
    Z, mined = digits
    problem = FrobeniusSDP(mined.constraints(Z), Hinge(1e4 * mined.share))
    evaluate, calls = FrobeniusSDP.evaluate, []

    def press_ctrl_c(self, u):
        calls.append(len(u))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return evaluate(self, u)

    monkeypatch.setattr(FrobeniusSDP, "evaluate", press_ctrl_c)
    with pytest.raises(Interrupted) as info:
        solve(problem, solver="active_set")
    assert calls[5] < len(mined.share)
    assert info.value.solution.point.rank > 0
    assert len(info.value.solution.u) == mined.n_triplets


@pytest.mark.parametrize("kind", SOFT)
@pytest.mark.parametrize("seed", range(10))
def test_the_gap_ball_never_settles_a_row_wrongly(kind, seed):
    rng = np.random.default_rng(seed)
    A = EXAMPLES[Triplets](rng, 5, 60)
    problem = random_problem(rng, A, make_loss(kind, rng, 60), with_cost=True, with_prior=True)
    exact = solve(problem, solver="quasi_newton", tol=1e-9, max_iter=20_000)
    for tol in (0.5, 1e-1, 1e-3, 1e-6):
        rough = solve(problem, solver="quasi_newton", tol=tol, max_iter=20_000)
        found = problem.evaluate(rough.u)
        radius = gap_radius(problem.sigma, found.gap) * A.norms()
        is_settled, u = settled(problem.loss, found.margins, radius)
        margins = A.forward(exact.point)
        assert (np.abs(found.margins - margins) <= radius * (1 + 1e-6) + 1e-6).all()
        np.testing.assert_allclose(exact.u[is_settled], u[is_settled], atol=1e-4)
    # the squared hinge has a slope of its own at every margin below the target
    assert is_settled.any() or kind is SquaredHinge


def test_norms_bound_the_rows(rng):
    for make in EXAMPLES.values():
        A = make(rng, 4, 10)
        exact = [np.linalg.norm(A.adjoint(e)) for e in np.eye(A.shape[0])]
        assert (A.norms() >= np.array(exact) * (1 - 1e-12)).all()


def test_a_restricted_problem_has_the_same_dual(rng):
    A = EXAMPLES[Triplets](rng, 5, 30)
    problem = random_problem(rng, A, make_loss(Hinge, rng, 30), with_cost=True, with_prior=True)
    u = problem.loss.upper * rng.random(30)
    found, rows = problem.evaluate(u), np.arange(0, 30, 3)
    part = problem.restrict(rows, u, found.slack)
    moved = u.copy()
    moved[rows] = part.loss.upper * rng.random(10)
    inside, whole = part.evaluate(moved[rows]), problem.evaluate(moved)
    assert inside.dual == pytest.approx(whole.dual)
    assert inside.primal <= whole.primal + 1e-12
    extended = problem.extend(inside, moved)
    assert extended.primal == pytest.approx(whole.primal)
    assert extended.dual == pytest.approx(whole.dual)


def test_a_sample_of_all_rows_is_the_problem(rng):
    A = EXAMPLES[Triplets](rng, 5, 30)
    problem = random_problem(rng, A, make_loss(Hinge, rng, 30), with_cost=True, with_prior=True)
    same = problem.sample(np.arange(30))
    u = problem.loss.upper * rng.random(30)
    assert same.evaluate(u).primal == pytest.approx(problem.evaluate(u).primal)


@pytest.mark.usefixtures("small_parts")
def test_a_given_start_is_used(digits):
    Z, mined = digits
    problem = FrobeniusSDP(mined.constraints(Z), Hinge(1e3 * mined.share))
    first = solve(problem, solver="active_set")
    again = solve(problem, solver="active_set", start=State(u=first.u))
    assert again.n_iter == 1
