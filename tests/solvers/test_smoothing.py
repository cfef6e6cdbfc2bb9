"""Newton's method with a smoothed loss: the same optimum as other methods, at any strength."""

import importlib

import numpy as np
import pytest

from frobmetric.core import FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, certify
from frobmetric.core.constraints import Triplets
from frobmetric.core.losses import Mixed
from frobmetric.core.weights import Vectors
from frobmetric.solvers import State, solve
from frobmetric.solvers.smoothing import suits
from random_problems import EXAMPLES

module = importlib.import_module("frobmetric.solvers.smoothing")
SOFT = (Hinge, SmoothedHinge, SquaredHinge)


def _rows(rng, m=400, n=6):
    """Rows that some weights, a third of them zero, satisfy up to noise."""
    F = rng.normal(size=(m, n))
    margins = F @ (rng.uniform(0, 2, n) * (np.arange(n) % 3 > 0)) + 0.3 * rng.normal(size=m)
    return Vectors(F * np.sign(margins)[:, None])


def _problem(rng, kind=Hinge, C=10.0, m=400):
    prior = np.full(6, 0.5)
    return FrobeniusSDP(_rows(rng, m), kind(np.full(m, C / m)), prior=prior, sigma=0.7)


@pytest.mark.parametrize("kind", SOFT)
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_same_optimum_as_the_dual_methods(kind, C, rng):
    problem = _problem(rng, kind, C)
    ours = solve(problem, solver="smoothing", tol=1e-8)
    other = solve(problem, solver="newton", tol=1e-5, max_iter=5000)
    assert ours.status == "optimal"
    assert ours.certificate.relative_gap <= 1e-8
    assert 0 <= certify(problem, other.point, ours.u).relative_gap <= 2e-5


@pytest.mark.parametrize("m", [40, 2000])
def test_hardly_any_regularisation_is_no_obstacle(m, rng):
    solution = solve(_problem(rng, C=1e8, m=m), tol=1e-6)
    assert solution.status == "optimal"
    assert solution.certificate.relative_gap <= 1e-6


def test_a_sample_of_rows_is_enough_for_a_step(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    solution = solve(_problem(rng, C=100.0, m=2000), solver="smoothing", tol=1e-7)
    assert solution.certificate.relative_gap <= 1e-7


def test_the_default_method_works_on_few_rows_of_many(rng, monkeypatch):
    active_set = importlib.import_module("frobmetric.solvers.active_set")
    monkeypatch.setattr(active_set, "FEW_ROWS", 50)
    monkeypatch.setattr(active_set, "SAMPLE", 400)
    problem = _problem(rng, C=100.0, m=3000)
    rounds, whole = solve(problem, tol=1e-7), solve(problem, solver="smoothing", tol=1e-7)
    assert rounds.certificate.relative_gap <= 1e-7
    assert rounds.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-7)


def test_cost_start_and_mixed_losses(rng):
    rows = _rows(rng, 300)
    loss = Mixed((Hinge(np.full(100, 0.1)), SquaredHinge(np.full(100, 0.1)), Hinge(np.zeros(100))))
    problem = FrobeniusSDP(rows, loss, cost=rng.normal(size=6), prior=np.ones(6))
    solution = solve(problem, solver="smoothing", tol=1e-8)
    again = solve(problem, solver="smoothing", tol=1e-7, start=State(u=solution.u))
    assert solution.certificate.relative_gap <= 1e-8
    assert again.n_iter <= solution.n_iter


def test_duplicate_and_contradictory_rows(rng):
    F = np.repeat(_rows(rng, 50).rows, 4, axis=0)
    F[1::4] *= -1
    F[2::4] = 0.0
    solution = solve(FrobeniusSDP(Vectors(F), Hinge(np.full(200, 1.0))), tol=1e-8)
    assert solution.certificate.relative_gap <= 1e-8


def test_the_answer_may_be_zero(rng):
    F = -np.abs(rng.normal(size=(30, 4)))
    solution = solve(FrobeniusSDP(Vectors(F), Hinge(np.ones(30)), prior=np.ones(4)), tol=1e-9)
    np.testing.assert_allclose(solution.point.dense(), 0.0, atol=1e-12)


def test_other_problems_are_left_to_newton(rng):
    metric = FrobeniusSDP(EXAMPLES[Triplets](rng, 5, 60), Hinge(np.full(60, 0.1)))
    assert not suits(metric)
    assert suits(_problem(rng))
    assert solve(metric, solver="smoothing").certificate.relative_gap <= 1e-3
