from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.methods.lowrank import lowrank
from frobmetric.manifold.methods.program import UnfoldingProgram, feasible, principal_axes
from frobmetric.manifold.sparse.spectrum import proven_bound
from unfolding_runs import run_method

#: Clarabel's own tolerance, relative to the optimum.
CLARABEL = 1e-6
TOL = 1e-5


def unfold(program, start, **options):
    return run_method(lowrank, program, start, **options)


def make_graph(edges, squared, masses=None):
    edges = np.array(edges)
    n = edges.max() + 1
    point_of = np.repeat(np.arange(n), np.ones(n, int) if masses is None else masses)
    return NeighborGraph.of(edges, np.array(squared, dtype=float), point_of)


def random_graph(rng, n, with_masses=False):
    """A connected graph with lengths that nothing is known of."""
    tree = {(int(rng.integers(k)), k) for k in range(1, n)}
    pairs = list(combinations(range(n), 2))
    more = {pairs[k] for k in rng.integers(len(pairs), size=rng.integers(2 * n))}
    edges = sorted(tree | more)
    masses = rng.integers(1, 5, n) if with_masses else None
    return make_graph(edges, rng.uniform(0.2, 3.0, len(edges)), masses)


def path(squared):
    return make_graph([(i, i + 1) for i in range(len(squared))], squared)


def ring(n):
    return make_graph([*((i, i + 1) for i in range(n - 1)), (0, n - 1)], np.ones(n))


def star(squared):
    return make_graph([(0, i + 1) for i in range(len(squared))], squared)


def simplex(n):
    pairs = list(combinations(range(n), 2))
    return make_graph(pairs, np.ones(len(pairs)))


def random_start(program, rank, seed=0):
    return np.random.default_rng(seed).normal(size=(program.n_points, rank))


def squared_distances(Y):
    return ((Y[:, None] - Y[None]) ** 2).sum(axis=-1)


def check_usable(program, answer):
    """What holds however a run ended: a feasible Y along its axes, and w that proves a bound."""
    Y, w = answer.Y, answer.w
    assert len(Y) == program.n_points
    assert np.isfinite(Y).all()
    lengths = (program.differences(Y) ** 2).sum(axis=1)
    assert (lengths <= program.squared * (1 + 1e-12)).all()
    inner, size = program.scatter(Y), np.trace(program.scatter(Y))
    np.testing.assert_allclose(program.masses @ Y, 0, atol=1e-9 * np.sqrt(size))
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-10 * size)
    assert (np.diff(np.diag(inner)) <= 1e-10 * size).all()
    assert w.shape == (program.n_edges,)
    assert (w >= 0).all()
    assert program.objective(Y) <= proven_bound(program, w) < np.inf
    assert answer.n_iter == len(answer.history)


def check_optimal(program, answer, tol=TOL):
    assert answer.status == "optimal"
    check_usable(program, answer)
    bound = proven_bound(program, answer.w)
    assert bound - program.objective(answer.Y) <= 1.001 * tol * bound


STEPS = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.1])
LINE = np.concatenate([[0], np.cumsum(STEPS)])
PENTAGON = 5 / (4 * np.sin(np.pi / 5) ** 2)

#: Graph, sigma, optimum.
CLOSED_FORMS = {
    "edge": (path([4.0]), np.inf, 2.0),
    "path": (path(STEPS**2), np.inf, ((LINE - LINE.mean()) ** 2).sum()),
    "star": (star(np.ones(5)), np.inf, 5.0),
    # one arm is longer than all others together, which go the other way
    "long arm": (star([1.0, 1.0, 16.0]), np.inf, 1 + 1 + 16 - (4 - 2) ** 2 / 4),
    "triangle": (simplex(3), np.inf, 1.0),
    "square": (ring(4), np.inf, 2.0),
    "pentagon": (ring(5), np.inf, PENTAGON),
    "tetrahedron": (simplex(4), np.inf, 1.5),
    "simplex": (simplex(9), np.inf, 4.0),
    "heavy edge": (make_graph([(0, 1)], [4.0], [3, 1]), np.inf, 3.0),
    # x = 1/2 of the edge at most, and x - x² / (2 sigma) grows until x = sigma
    "edge, tight": (path([1.0]), 2.0, 0.5 - 0.25 / 4),
    "edge, loose": (path([1.0]), 0.2, 0.1),
    "triangle, tight": (simplex(3), 2.0, 2 * (0.5 - 0.25 / 4)),
    "simplex, tight": (simplex(6), 5.0, 5 * (0.5 - 0.25 / 10)),
    "pentagon, tight": (ring(5), 10.0, PENTAGON - 2 * (PENTAGON / 2) ** 2 / 20),
}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(name, rank):
    graph, sigma, optimum = CLOSED_FORMS[name]
    program = UnfoldingProgram(graph, sigma)
    answer = unfold(program, random_start(program, rank))
    check_optimal(program, answer)
    assert program.objective(answer.Y) == pytest.approx(optimum, rel=2 * TOL)
    assert program.objective(answer.Y) <= optimum * (1 + 1e-12)


def test_shapes():
    """Distances between all points, where the optimum is unique."""
    corner = np.arange(5)
    apart = np.minimum(abs(corner[:, None] - corner), 5 - abs(corner[:, None] - corner))
    for graph, expected in [
        (path(STEPS**2), (LINE[:, None] - LINE) ** 2),
        (simplex(6), 1 - np.eye(6)),
        (ring(5), (np.sin(np.pi * apart / 5) / np.sin(np.pi / 5)) ** 2),
    ]:
        program = UnfoldingProgram(graph)
        Y = unfold(program, random_start(program, 3), tol=1e-7).Y
        np.testing.assert_allclose(squared_distances(Y), expected, atol=1e-3 * expected.max())


def oracle(program):
    """The optimum over Gram matrices of the points, times the roots of their masses.

    The direction of these roots only costs, so X = Q Z Qᵀ leaves it out. With that direction
    Clarabel does not always reach its tolerance.
    """
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    root = np.sqrt(program.masses)
    Q = scipy.linalg.null_space(root[None])
    Z = cp.Variable((Q.shape[1], Q.shape[1]), PSD=True)
    objective = cp.trace(Z)
    if np.isfinite(program.sigma):
        objective -= cp.sum_squares(Z) / (2 * program.sigma)
    rows = program.differences(Q / root[:, None])
    lengths = np.array([np.outer(row, row).ravel() for row in rows]) @ cp.vec(Z, order="C")
    statement = cp.Problem(cp.Maximize(objective), [lengths <= program.squared])
    best = statement.solve(solver=cp.CLARABEL)
    assert statement.status == "optimal"
    return best


@pytest.mark.parametrize("with_masses", [False, True])
@pytest.mark.parametrize("sigma", [np.inf, 100.0, 20.0])
@pytest.mark.parametrize("n", range(6, 16, 3))
def test_random_graphs_against_the_oracle(n, sigma, with_masses):
    for seed in range(2):
        rng = np.random.default_rng([seed, n])
        program = UnfoldingProgram(random_graph(rng, n, with_masses), sigma)
        answer = unfold(program, random_start(program, int(rng.integers(1, 5))))
        best = oracle(program)
        check_optimal(program, answer)
        assert program.objective(answer.Y) <= best * (1 + CLARABEL)
        assert best * (1 - CLARABEL) <= proven_bound(program, answer.w)


def test_masses_are_points_that_coincide(rng):
    """Repeating a point, held by a short edge, comes to the same."""
    graph = random_graph(rng, 8)
    masses = np.array([1, 2, 1, 3, 1, 1, 2, 1])
    heavy = UnfoldingProgram(replace(graph, masses=masses.astype(float)))
    point_of = np.repeat(np.arange(8), masses)
    first = np.searchsorted(point_of, np.arange(8))
    copies = [(first[p], k) for k, p in enumerate(point_of) if first[p] != k]
    edges, squared = [*first[graph.edges], *copies], [*graph.squared, *(1e-8 for _ in copies)]
    apart = UnfoldingProgram(make_graph(edges, squared))
    answers = [unfold(program, random_start(program, 3)) for program in (heavy, apart)]
    check_optimal(heavy, answers[0])
    expected = heavy.objective(answers[0].Y)
    assert apart.objective(answers[1].Y) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", ["triangle", "pentagon", "tetrahedron", "simplex"])
def test_a_start_on_a_line_grows_the_columns_it_lacks(name):
    """In one dimension all of these are stationary, and far from the optimum."""
    graph, _, optimum = CLOSED_FORMS[name]
    program = UnfoldingProgram(graph)
    rank = {"triangle": 2, "pentagon": 2, "tetrahedron": 3, "simplex": 8}[name]
    line = np.arange(program.n_points, dtype=float)[:, None]
    flat = feasible(program, line)
    assert program.objective(flat) < 0.9 * optimum
    answer = unfold(program, line)
    check_optimal(program, answer)
    assert program.objective(answer.Y) == pytest.approx(optimum, rel=2 * TOL)
    carried = np.diag(program.scatter(answer.Y))
    assert (carried > 1e-2 * optimum).sum() == rank
    assert answer.history[0].rank == 1


def test_columns_that_the_optimum_does_not_need_vanish():
    program = UnfoldingProgram(path(STEPS**2))
    answer = unfold(program, random_start(program, 5))
    check_optimal(program, answer)
    carried = np.diag(program.scatter(answer.Y))
    assert carried[1:].sum() < 1e-4 * carried[0]


def test_max_rank_ends_the_run_where_more_columns_are_needed():
    program = UnfoldingProgram(simplex(6))
    answer = unfold(program, random_start(program, 1), max_rank=3)
    assert answer.status == "stalled"
    check_usable(program, answer)
    check_optimal(program, unfold(program, random_start(program, 1), max_rank=5))


@pytest.fixture
def program(rng):
    return UnfoldingProgram(random_graph(rng, 14, with_masses=True), 100.0)


def test_the_history_holds_the_optimum_between_its_bounds(program):
    answer = unfold(program, random_start(program, 2), tol=1e-6)
    check_optimal(program, answer, tol=1e-6)
    history, optimum = answer.history, program.objective(answer.Y)
    assert history[-1].primal == pytest.approx(optimum, rel=1e-12)
    assert history[-1].dual == pytest.approx(proven_bound(program, answer.w), rel=1e-9)
    assert history[-1].rank == answer.Y.shape[1]
    assert all(step.dual >= optimum for step in history)
    assert all(step.primal <= history[-1].dual for step in history)
    assert all(step.gap == step.dual - step.primal for step in history)
    assert (np.diff([step.seconds for step in history]) >= 0).all()


@pytest.mark.parametrize("sigma", [np.inf, 100.0])
@pytest.mark.parametrize("max_iter", [1, 5, 10])
def test_max_iter_leaves_a_usable_answer(program, max_iter, sigma):
    program.sigma = sigma
    answer = unfold(program, random_start(program, 2), tol=1e-12, max_iter=max_iter)
    assert answer.status == "max_iter"
    assert answer.n_iter == max_iter
    check_usable(program, answer)


def test_a_callback_can_stop(program):
    seen = []

    def stop_at_four(step):
        seen.append(step)
        return len(seen) == 4

    answer = unfold(program, random_start(program, 2), callback=stop_at_four)
    assert answer.status == "stopped"
    assert list(answer.history) == seen
    check_usable(program, answer)


def test_a_callback_sees_every_step(program):
    seen = []
    answer = unfold(program, random_start(program, 2), callback=seen.append)
    assert answer.status == "optimal"
    # the last step ends the run by itself
    assert list(answer.history)[: len(seen)] == seen
    assert len(answer.history) - len(seen) <= 1


@pytest.mark.parametrize("at", [1, 7])
def test_an_interruption_keeps_what_there_is(program, at):
    seen = []

    def press_ctrl_c(step):
        seen.append(step)
        if len(seen) == at:
            raise KeyboardInterrupt

    answer = unfold(program, random_start(program, 2), callback=press_ctrl_c)
    assert answer.status == "interrupted"
    assert list(answer.history) == seen
    check_usable(program, answer)


def test_other_errors_of_a_callback_are_not_swallowed(program):
    def fail(step):
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="disk"):
        unfold(program, random_start(program, 2), callback=fail)


def test_two_runs_give_the_same_bytes(program):
    start = random_start(program, 2)
    given = start.copy()
    one, two = unfold(program, start), unfold(program, start)
    assert one.Y.tobytes() == two.Y.tobytes()
    assert one.w.tobytes() == two.w.tobytes()
    np.testing.assert_array_equal(start, given)


@pytest.mark.parametrize("sigma", [np.inf, 100.0])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_do_not_matter(rng, scale, sigma):
    graph = random_graph(rng, 12)
    plain = UnfoldingProgram(graph, sigma)
    scaled = UnfoldingProgram(replace(graph, squared=scale * graph.squared), scale * sigma)
    start = random_start(plain, 3)
    expected = unfold(plain, start)
    check_optimal(plain, expected)
    for answer in (unfold(scaled, start), unfold(scaled, np.sqrt(scale) * start)):
        check_optimal(scaled, answer)
        found = scaled.objective(answer.Y) / scale
        assert found == pytest.approx(plain.objective(expected.Y), rel=2 * TOL)


@pytest.mark.parametrize("n_columns", [3, 1])
def test_the_optimum_of_a_swiss_roll(n_columns):
    X, _ = make_swiss_roll(200, random_state=0)
    program = UnfoldingProgram(neighbor_graph(X, 6))
    answer = unfold(program, X[:, :n_columns])
    check_optimal(program, answer)
    assert program.objective(answer.Y) == pytest.approx(32690.82, rel=2e-5)


def test_feasible_shrinks_and_stretches(rng):
    graph = random_graph(rng, 10)
    for sigma in (np.inf, 5.0):
        program = UnfoldingProgram(graph, sigma)
        Y = rng.normal(size=(10, 2))
        for length in (1e-3, 1e3):
            found = feasible(program, length * Y)
            part = ((program.differences(found) ** 2).sum(axis=1) / program.squared).max()
            # a shorter Y may be better where a Frobenius term is to be paid for
            is_kept = np.isfinite(sigma) and length < 1
            assert part == pytest.approx(1) or is_kept
            if is_kept:
                np.testing.assert_array_equal(found, length * Y)


def test_principal_axes_turn_and_centre(rng):
    program = UnfoldingProgram(random_graph(rng, 10, with_masses=True))
    Y = rng.normal(size=(10, 3)) + 4
    axes = principal_axes(program, Y)
    np.testing.assert_allclose(squared_distances(axes), squared_distances(Y))
    samples = np.repeat(axes, program.masses.astype(int), axis=0)
    np.testing.assert_allclose(samples.mean(axis=0), 0, atol=1e-12)
    singular = np.linalg.svd(samples, compute_uv=False)
    np.testing.assert_allclose(samples.T @ samples, np.diag(singular**2), atol=1e-10)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 3.0])
def test_new_columns_know_of_the_frobenius_term(sigma):
    program = UnfoldingProgram(simplex(4), sigma)
    answer = unfold(program, random_start(program, 1), tol=TOL)
    # at most sigma along each of three axes, and 1/2 from the edges
    size = min(0.5, sigma)
    assert program.objective(answer.Y) == pytest.approx(3 * (size - size**2 / (2 * sigma)), rel=TOL)
