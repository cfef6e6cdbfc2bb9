from itertools import combinations

import numpy as np
import pytest

from frobmetric.manifold.certificate import certify_unfolding
from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.methods.equal import equal
from frobmetric.manifold.methods.program import UnfoldingProgram
from unfolding_runs import run_method

TOL = 1e-5


def unfold_equal(program, start, **options):
    return run_method(equal, program, start, **options)


def make_program(edges, lengths, sigma=np.inf):
    edges = np.array(edges)
    squared = np.asarray(lengths, dtype=float) ** 2
    return UnfoldingProgram(NeighborGraph.of(edges, squared, np.arange(edges.max() + 1)), sigma)


def path(lengths):
    return make_program([(i, i + 1) for i in range(len(lengths))], lengths)


def simplex(n):
    pairs = list(combinations(range(n), 2))
    return make_program(pairs, np.ones(len(pairs)))


def start(program, rank=3):
    return np.random.default_rng(0).normal(size=(program.n_points, rank))


def distances2(Y):
    return ((Y[:, None] - Y[None]) ** 2).sum(axis=-1)


def check_optimal(program, answer, optimum):
    proof = certify_unfolding(program, answer.Y, answer.w, constraints="equal")
    assert answer.status == "optimal"
    assert proof.violation <= TOL
    assert proof.relative_gap <= TOL
    assert proof.primal == pytest.approx(optimum, rel=3 * TOL)


def test_a_path_is_a_straight_line():
    lengths = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    program = path(lengths)
    answer = unfold_equal(program, start(program))
    line = np.r_[0, np.cumsum(lengths)]
    check_optimal(program, answer, ((line - line.mean()) ** 2).sum())
    np.testing.assert_allclose(distances2(answer.Y), (line[:, None] - line) ** 2, rtol=1e-3)


def test_a_line_with_distances_to_the_next_but_one():
    """Rigid: many multipliers prove the optimum, some of them negative."""
    n = 20
    edges = [(i, j) for i in range(n) for j in (i + 1, i + 2) if j < n]
    program = make_program(edges, [j - i for i, j in edges])
    check_optimal(program, unfold_equal(program, start(program)), n * (n**2 - 1) / 12)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_a_simplex(n):
    program = simplex(n)
    answer = unfold_equal(program, start(program, min(3, n - 1)))
    check_optimal(program, answer, (n - 1) / 2)
    np.testing.assert_allclose(distances2(answer.Y), 1 - np.eye(n), atol=1e-4)


def test_a_triangle_of_any_sides():
    """The edge that inequalities would let shrink keeps its length."""
    program = make_program([(0, 1), (1, 2), (0, 2)], [3.0, 4.0, 2.0])
    answer = unfold_equal(program, start(program, 2))
    check_optimal(program, answer, (9 + 16 + 4) / 3)


def test_a_cycle_of_four_equal_sides_is_a_square():
    program = make_program([(0, 1), (1, 2), (2, 3), (0, 3)], np.ones(4))
    answer = unfold_equal(program, start(program))
    check_optimal(program, answer, 2.0)


def test_with_a_frobenius_term():
    """The gram matrix is fixed by its edges: sigma only changes the objective."""
    pairs = list(combinations(range(5), 2))
    program = make_program(pairs, np.ones(len(pairs)), sigma=2.0)
    answer = unfold_equal(program, start(program))
    check_optimal(program, answer, 4 * (0.5 - 0.25 / 4))


def oracle(program):
    """The optimum over Gram matrices, by cvxpy with Clarabel."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    n = program.n_points
    X = cp.Variable((n, n), PSD=True)
    lengths = [
        X[i, i] + X[j, j] - 2 * X[i, j] for i, j in zip(program.first, program.second, strict=True)
    ]
    statement = cp.Problem(
        cp.Maximize(cp.trace(X)), [cp.hstack(lengths) == program.squared, cp.sum(X) == 0]
    )
    return statement.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [2, 3])
def test_random_graphs_against_the_oracle(seed, k):
    """The bound always holds; where no multipliers are optimal it stays a little above."""
    X = np.random.default_rng(seed).normal(size=(8, 3))
    graph = neighbor_graph(X, k)
    if graph.components()[0] > 1:
        graph = graph.restrict(np.flatnonzero(graph.components()[1] == 0))
    program = UnfoldingProgram(graph)
    answer = unfold_equal(program, start(program), tol=TOL)
    proof, best = (
        certify_unfolding(program, answer.Y, answer.w, constraints="equal"),
        oracle(program),
    )
    assert answer.status in ("optimal", "stalled", "max_iter")
    assert proof.dual >= best * (1 - 1e-6)
    assert proof.dual == pytest.approx(best, rel=0.05)
    assert proof.violation <= 1e-3
    assert proof.primal == pytest.approx(best, rel=1e-2)
    if answer.status == "optimal":
        assert proof.violation <= TOL
        assert proof.primal == pytest.approx(best, rel=3 * TOL)


def test_contradictory_distances_end():
    """1 + 1 < 10: the bound falls below zero, which no variance is, and the run ends."""
    program = make_program([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, 10.0])
    answer = unfold_equal(program, start(program, 2))
    proof = certify_unfolding(program, answer.Y, answer.w, constraints="equal")
    assert answer.status == "stalled"
    assert np.isfinite(answer.Y).all()
    assert proof.violation > 0.1
    assert proof.dual < 0


def test_max_iter_callback_and_interruption_keep_what_there_is():
    program, seen = path(np.arange(1.0, 9.0)), []

    def stop(step):
        seen.append(step)
        return len(seen) == 2

    def press_ctrl_c(step):
        raise KeyboardInterrupt

    options = {"tol": 1e-14}
    for answer, status in [
        (unfold_equal(program, start(program), max_iter=1, **options), "max_iter"),
        (unfold_equal(program, start(program), callback=stop, **options), "stopped"),
        (unfold_equal(program, start(program), callback=press_ctrl_c, **options), "interrupted"),
    ]:
        assert answer.status == status
        assert answer.n_iter == len(answer.history)
        assert np.isfinite(answer.Y).all()
        assert certify_unfolding(program, answer.Y, answer.w, constraints="equal").dual < np.inf
    assert len(seen) == 2


def test_ctrl_c_during_the_start(monkeypatch):
    """Before the first step there is the rough unfolding, and it is kept."""
    program = path(np.ones(6))
    factor, calls = program.factor, []

    def press_ctrl_c(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return factor(*arguments)

    monkeypatch.setattr(program, "factor", press_ctrl_c)
    answer = unfold_equal(program, start(program))
    assert answer.status == "interrupted"
    assert answer.n_iter == 0
    assert np.isfinite(answer.Y).all()


def test_two_runs_give_the_same_bytes():
    X = np.random.default_rng(0).normal(size=(15, 3))
    program = UnfoldingProgram(neighbor_graph(X, 3))
    one, two = (unfold_equal(program, start(program)) for _ in range(2))
    assert one.Y.tobytes() == two.Y.tobytes()
    assert one.w.tobytes() == two.w.tobytes()
