from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.methods.dual import SINGLE, Curvature, GramPoint, dual
from frobmetric.manifold.methods.lowrank import lowrank
from frobmetric.manifold.methods.program import UnfoldingProgram, gram_problem, squares
from frobmetric.manifold.sparse.spectrum import proven_bound
from unfolding_runs import run_method

TOL = 1e-5


def unfold_dual(program, tol=TOL, **options):
    return run_method(dual, program, tol=tol, **options)


def tiny_graph(n, with_masses=False):
    """The neighbour graph of random points, some of which are there several times."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    if with_masses:
        X = np.vstack([X, np.repeat(X[: n // 2], rng.integers(1, 4, n // 2), axis=0)])
    return neighbor_graph(X, 4)


def roll(n, sigma, factor=1.0):
    X = factor * make_swiss_roll(n, random_state=0)[0]
    return UnfoldingProgram(neighbor_graph(X, 6), factor**2 * sigma)


def optimum_by_clarabel(program):
    """The optimum of the problem as the paper writes it, for the Gram matrix of all samples."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    copies = np.repeat(np.eye(program.n_points), program.masses.astype(int), axis=0)
    centred = scipy.linalg.null_space(program.masses[None, :])
    R = np.linalg.qr(copies @ centred)[1]  # X = Q Z Qᵀ
    Z = cp.Variable(R.shape, PSD=True)
    objective = cp.trace(Z)
    if np.isfinite(program.sigma):
        objective -= cp.sum_squares(Z) / (2 * program.sigma)
    D = program.differences(centred @ np.linalg.inv(R))
    rows = [cp.trace(np.outer(d, d) @ Z) <= b for d, b in zip(D, program.squared, strict=True)]
    return cp.Problem(cp.Maximize(objective), rows).solve(solver="CLARABEL")


def check_feasible(program, answer):
    assert (answer.w >= 0).all()
    lengths = squares(program.differences(answer.Y))
    assert (lengths <= program.squared * (1 + 1e-12)).all()
    inner = program.scatter(answer.Y)
    assert np.abs(inner - np.diag(np.diag(inner))).max() <= 1e-9 * inner.max()
    assert (np.diff(np.diag(inner)) <= 1e-9 * inner.max()).all()


def check_proven(program, answer, tol=TOL):
    assert answer.status == "optimal"
    check_feasible(program, answer)
    bound = proven_bound(program, answer.w)
    assert program.objective(answer.Y) >= (1 - tol) * bound


@pytest.mark.parametrize("sigma", [0.01, 1.0, 10.0, 1e3])
@pytest.mark.parametrize(("n", "with_masses"), [(8, False), (12, True), (15, False)])
def test_agrees_with_clarabel(n, with_masses, sigma):
    program = UnfoldingProgram(tiny_graph(n, with_masses), sigma)
    assert (program.masses.max() > 1) == with_masses
    answer = unfold_dual(program, TOL)
    check_proven(program, answer)
    expected = optimum_by_clarabel(program)
    assert program.objective(answer.Y) == pytest.approx(expected, rel=3 * TOL)


def test_one_edge_by_hand():
    # two points, X = [[x, -x], [-x, x]]: 2x - 2x² / sigma with 4x <= b
    graph = NeighborGraph.of(np.array([[0, 1]]), np.array([4.0]), np.arange(2))
    for sigma, x in [(0.5, 0.25), (8.0, 1.0)]:
        program = UnfoldingProgram(graph, sigma)
        answer = unfold_dual(program, 1e-8)
        check_proven(program, answer, 1e-8)
        assert (answer.Y[0] - answer.Y[1]) ** 2 == pytest.approx(4 * x, rel=1e-4)
        # the multiplier is what is left of the slope
        assert answer.w[0] == pytest.approx(max(0.0, 0.5 - x / sigma), abs=1e-4)


def test_nothing_binds_where_sigma_is_small():
    program = UnfoldingProgram(tiny_graph(12), 1e-6)
    answer = unfold_dual(program)
    check_proven(program, answer)
    assert answer.Y.shape[1] == 11
    assert np.diag(program.scatter(answer.Y)) == pytest.approx(np.full(11, 1e-6), rel=1e-2)


@pytest.mark.parametrize("sigma", [1e2, 1e3, 1e5])
def test_swiss_roll(sigma):
    program = roll(SINGLE + 10, sigma)
    answer = unfold_dual(program, TOL)
    check_proven(program, answer)
    assert answer.history[-1].rank == answer.Y.shape[1]


def test_agrees_with_coordinates():
    program = roll(100, 1e5)
    start = np.random.default_rng(0).normal(size=(100, 4))
    found = run_method(lowrank, program, start, tol=TOL).Y
    answer = unfold_dual(program, TOL)
    assert program.objective(answer.Y) == pytest.approx(program.objective(found), rel=2 * TOL)
    distance = np.linalg.norm(answer.Y @ answer.Y.T - found @ found.T)
    assert distance <= 2 * np.sqrt(2 * 1e5 * TOL * program.objective(found))


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_units_do_not_matter(factor):
    answer, scaled = (unfold_dual(roll(60, 1e2, unit)) for unit in (1.0, factor))
    check_proven(roll(60, 1e2, factor), scaled)
    assert scaled.w == pytest.approx(answer.w, abs=1e-2 * answer.w.max())


def test_tight_tolerance():
    program = roll(SINGLE + 10, 1e2)
    check_proven(program, unfold_dual(program, 1e-9), 1e-9)


@pytest.mark.parametrize("with_masses", [False, True])
def test_gradient_and_curvature(with_masses):
    program = UnfoldingProgram(tiny_graph(15, with_masses), 3.0)
    rng = np.random.default_rng(0)
    w, v = rng.uniform(0.01, 0.3, (2, program.n_edges))
    here = GramPoint(program, w)
    ahead, behind = (GramPoint(program, w + h * v) for h in (1e-5, -1e-5))
    assert 0 < here.rank < 14
    assert (ahead.bound - behind.bound) / 2e-5 == pytest.approx(here.slack @ v, rel=1e-6)
    curvature = Curvature(program, here)
    moved = (ahead.slack - behind.slack) / 2e-5
    assert curvature.apply(v) == pytest.approx(moved, abs=1e-5 * np.abs(moved).max())
    each = [curvature.apply(e)[k] for k, e in enumerate(np.eye(program.n_edges))]
    assert curvature.diagonal == pytest.approx(np.array(each))
    stiffness = rng.uniform(0.1, 1, program.n_edges)
    solved = curvature.solve(v, stiffness)
    assert curvature.apply(solved) + stiffness * solved == pytest.approx(v, abs=0.1 * v.max())


@pytest.mark.parametrize("with_masses", [False, True])
def test_bounds_are_those_of_the_program(with_masses):
    program = UnfoldingProgram(tiny_graph(12, with_masses), 3.0)
    w = np.random.default_rng(0).uniform(0.01, 0.2, program.n_edges)
    here, general = GramPoint(program, w), gram_problem(program).evaluate(-w)
    assert here.bound == pytest.approx(proven_bound(program, w))
    assert here.bound == pytest.approx(-general.dual)
    assert program.objective(here.Y) == pytest.approx(-general.primal)
    assert here.slack == pytest.approx(program.squared - general.margins)
    assert here.rank == general.point.rank


def test_history():
    seen = []
    program = roll(60, 1e2)
    answer = unfold_dual(program, TOL, callback=seen.append)
    assert list(answer.history) == seen
    assert answer.n_iter == len(seen)
    for before, after in pairwise(seen):
        assert before.primal <= after.primal <= after.dual <= before.dual
        assert before.seconds <= after.seconds
    assert seen[-1].primal == pytest.approx(program.objective(answer.Y))
    assert seen[-1].dual == pytest.approx(proven_bound(program, answer.w))
    assert seen[-1].gap <= TOL * seen[-1].dual


def test_max_iter():
    program = roll(60, 1e2)
    answer = unfold_dual(program, TOL, max_iter=3)
    assert (answer.status, answer.n_iter) == ("max_iter", 3)
    check_feasible(program, answer)


def test_callback_stops():
    answer = unfold_dual(roll(60, 1e2), callback=lambda step: step.gap < 0.1 * step.dual)
    assert answer.status == "stopped"
    assert answer.history[-1].gap < 0.1 * answer.history[-1].dual < answer.history[-2].gap


def test_interrupt_keeps_the_best():
    program, seen = roll(60, 1e2), []

    def interrupt(step):
        seen.append(step)
        if len(seen) == 5:
            raise KeyboardInterrupt

    answer = unfold_dual(program, callback=interrupt)
    assert (answer.status, answer.n_iter) == ("interrupted", 5)
    check_feasible(program, answer)
    assert program.objective(answer.Y) == pytest.approx(seen[-1].primal)
    assert proven_bound(program, answer.w) == pytest.approx(seen[-1].dual)


def test_what_cannot_be_proven_is_not_optimal():
    answer = unfold_dual(roll(30, 1e2), tol=0.0)
    assert answer.status == "stalled"
    assert answer.history[-1].gap <= 1e-9 * answer.history[-1].dual
