from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import make_swiss_roll

from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.methods import HIGH_RANK, SOLVERS, Unfolding, solve_unfolding, stack

TOL = 1e-5
ROLL = make_swiss_roll(60, random_state=0)[0]


def solve(graph, **options):
    defaults = {
        "sigma": np.inf,
        "constraints": "at_most",
        "solver": "auto",
        "tol": TOL,
        "max_iter": 1000,
        "callback": None,
    }
    return solve_unfolding(graph, **(defaults | options))


def path(lengths):
    edges = np.column_stack([np.arange(len(lengths)), np.arange(1, len(lengths) + 1)])
    return NeighborGraph.of(edges, np.asarray(lengths) ** 2.0, np.arange(len(lengths) + 1))


def simplex(n):
    edges = np.column_stack(np.triu_indices(n, 1))
    return NeighborGraph.of(edges, np.ones(len(edges)), np.arange(n))


def check_proof(graph, found, sigma=np.inf, tol=TOL):
    """Both bounds, from scratch and in the units of the graph."""
    i, j = graph.edges.T
    assert (((found.Y[i] - found.Y[j]) ** 2).sum(axis=1) <= graph.squared * (1 + 1e-9)).all()
    samples = found.Y[graph.point_of]
    centred = samples - samples.mean(axis=0)
    gram = centred.T @ centred
    primal = np.trace(gram) - (gram**2).sum() / (2 * sigma)
    L = np.zeros((graph.n_points, graph.n_points))
    np.add.at(L, (np.r_[i, j], np.r_[i, j]), np.r_[found.w, found.w])
    np.add.at(L, (np.r_[i, j], np.r_[j, i]), -np.r_[found.w, found.w])
    values = scipy.linalg.eigh(L, np.diag(graph.masses), eigvals_only=True)[1:]
    assert (found.w >= 0).all()
    dual = (
        graph.squared @ found.w / values[0]
        if np.isinf(sigma)
        else graph.squared @ found.w + sigma / 2 * (np.maximum(0, 1 - values) ** 2).sum()
    )
    assert found.certificate.primal == pytest.approx(primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(dual, rel=1e-6)
    assert found.certificate.primal <= found.certificate.dual
    assert found.certificate.relative_gap <= tol
    assert found.certificate.violation == 0
    np.testing.assert_allclose(gram, np.diag(found.eigenvalues), atol=1e-9 * primal)
    assert (np.diff(found.eigenvalues) <= 0).all()
    assert found.status == "optimal"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sigma", [1e4, 300.0])
def test_every_solver_proves_its_optimum(solver, sigma):
    graph = neighbor_graph(np.vstack([ROLL[:30], ROLL[:10]]), 5)
    check_proof(graph, solve(graph, sigma=sigma, solver=solver), sigma)


@pytest.mark.parametrize("solver", ["auto", "lowrank"])
def test_every_solver_without_a_frobenius_term(solver):
    graph = neighbor_graph(ROLL[:12], 4)
    found = solve(graph, solver=solver, tol=1e-3, max_iter=5000)
    check_proof(graph, found, tol=1e-3)


@pytest.mark.parametrize("sigma", [100.0, 3.0, 1e-2, 1e-8])
def test_auto_turns_to_the_gram_matrix_where_the_rank_is_high(sigma):
    """As sigma falls the optimum comes to have all eigenvalues sigma: the edges are slack."""
    graph = neighbor_graph(ROLL)
    found = solve(graph, sigma=sigma)
    check_proof(graph, found, sigma)
    assert found.Y.shape[1] > HIGH_RANK
    if sigma < 1e-1:
        assert found.certificate.primal == pytest.approx(sigma * 59 / 2, rel=1e-4)


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e-150, 1e150])
def test_units(factor):
    graph = neighbor_graph(ROLL)
    plain, scaled = solve(graph), solve(neighbor_graph(factor * ROLL))
    for name in ("primal", "dual"):
        expected = getattr(plain.certificate, name)
        found = getattr(scaled.certificate, name) / factor / factor
        assert found == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(
        np.abs(scaled.Y / factor), np.abs(plain.Y), atol=1e-3 * np.abs(plain.Y).max()
    )
    assert scaled.history[-1].primal / factor / factor == pytest.approx(plain.history[-1].primal)


def test_units_of_sigma_are_those_of_the_variance():
    plain = solve(neighbor_graph(ROLL), sigma=1e4)
    scaled = solve(neighbor_graph(1e3 * ROLL), sigma=1e10)
    assert scaled.certificate.primal == pytest.approx(1e6 * plain.certificate.primal, rel=1e-7)
    assert scaled.certificate.dual == pytest.approx(1e6 * plain.certificate.dual, rel=1e-7)


def test_a_variance_that_overflows_is_refused():
    graph = neighbor_graph(1e153 * ROLL)
    assert np.isfinite(graph.squared).all()
    with pytest.raises(ValueError, match=r"variance of the embedding overflows .* divide X by"):
        solve(graph)


def test_lengths_whose_squares_are_nearly_zero():
    found = solve(neighbor_graph(1e-158 * ROLL), sigma=1.0)
    assert found.status == "optimal"
    assert 0 < found.certificate.primal < 1e-310


@pytest.mark.parametrize(
    ("constraints", "solver"),
    [("at_most", "auto"), ("at_most", "lowrank"), ("at_most", "dual"), ("equal", "auto")],
)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_axes_that_carry_nothing_are_left_out(n, constraints, solver):
    options = {"constraints": constraints, "solver": solver, "max_iter": 5000}
    if solver == "dual":
        options["sigma"] = 1e6  # too large to have an effect
    line = solve(path(np.ones(n - 1)), **options)
    assert line.Y.shape[1] <= n - 1
    assert line.eigenvalues[0] == pytest.approx(line.certificate.primal, rel=1e-4)
    full = solve(simplex(n), **options)
    assert full.Y.shape == (n, n - 1)
    np.testing.assert_allclose(full.eigenvalues, 0.5, rtol=1e-4)


def test_the_dual_method_needs_a_sigma_and_inequalities():
    with pytest.raises(ValueError, match=r"solver='dual' needs .*='equal'; use solver='auto'"):
        solve(path(np.ones(3)), sigma=1.0, constraints="equal", solver="dual")
    with pytest.raises(ValueError, match=r"solver='dual' needs .* no sigma; use solver='auto'"):
        solve(path(np.ones(3)), solver="dual")


def test_a_single_point():
    alone = NeighborGraph.of(np.zeros((0, 2), int), np.zeros(0), np.zeros(3, int))
    found = solve(alone)
    assert found.status == "optimal"
    assert found.Y.shape == (1, 0)
    assert (found.certificate.primal, found.certificate.dual) == (0, 0)


def test_steps_are_reported_in_the_units_of_the_graph():
    seen, graph = [], neighbor_graph(1e4 * ROLL)
    found = solve(graph, callback=seen.append)
    assert found.history[: len(seen)] == seen
    assert found.n_iter == len(found.history)
    assert found.history[-1].primal == pytest.approx(found.certificate.primal, rel=1e-9)
    assert found.history[-1].dual == pytest.approx(found.certificate.dual, rel=1e-6)


def two_paths():
    """Points 0, 1, 4, 5 are one path, 2 and 3 another, 6 is alone."""
    edges = np.array([[0, 1], [1, 4], [2, 3], [4, 5]])
    graph = NeighborGraph.of(edges, np.array([1.0, 4.0, 9.0, 1.0]), np.arange(7))
    labels = graph.components()[1]
    parts = [solve(graph.restrict(np.flatnonzero(labels == k))) for k in range(3)]
    return graph, labels, parts


def test_stacked_components_lie_side_by_side():
    graph, labels, parts = two_paths()
    whole = stack(graph, labels, parts)
    assert whole.status == "optimal"
    assert whole.n_iter == sum(part.n_iter for part in parts) == len(whole.history)
    right = -np.inf
    for label, part in enumerate(parts):
        inside = whole.Y[labels == label]
        assert inside[:, 0].min() > right
        right = inside[:, 0].max()
        before, after = part.Y[:, None] - part.Y[None], inside[:, None] - inside[None]
        np.testing.assert_allclose((after**2).sum(-1), (before**2).sum(-1), atol=1e-9)
    assert whole.certificate.primal == sum(part.certificate.primal for part in parts)
    assert whole.certificate.dual == sum(part.certificate.dual for part in parts)
    assert whole.certificate.relative_gap <= TOL
    # every multiplier belongs to its edge: on a path only one set of them is optimal
    np.testing.assert_array_equal(whole.w[[0, 1, 3]], parts[0].w)
    np.testing.assert_array_equal(whole.w[2], parts[1].w[0])
    assert whole.eigenvalues[0] == sum(part.eigenvalues[0] for part in parts[:2])


def test_one_component_is_itself():
    part = solve(path(np.ones(4)))
    assert stack(None, None, [part]) is part


def test_single_points_do_not_overlap():
    graph = NeighborGraph.of(np.array([[0, 3]]), np.ones(1), np.arange(5))
    labels = graph.components()[1]
    parts = [solve(graph.restrict(np.flatnonzero(labels == k))) for k in range(4)]
    x = stack(graph, labels, parts).Y[:, 0]
    assert len(np.unique(x)) == 5
    assert np.ptp(x) < 2


def test_nothing_found_in_any_component():
    graph, labels, parts = two_paths()
    empty = [replace(part, Y=part.Y[:, :0], eigenvalues=np.zeros(0)) for part in parts]
    whole = stack(graph, labels, empty)
    np.testing.assert_array_equal(whole.Y, np.zeros((7, 1)))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["optimal", "optimal", "optimal"], "optimal"),
        (["optimal", "max_iter", "optimal"], "max_iter"),
        (["max_iter", "stalled", "optimal"], "stalled"),
        (["max_iter", "optimal", "stopped"], "stopped"),
        (["max_iter", "interrupted", "max_iter"], "interrupted"),
        (["stopped", "stalled", "interrupted"], "interrupted"),
    ],
)
def test_the_status_of_several(statuses, expected):
    graph, labels, parts = two_paths()
    ended = [replace(part, status=status) for part, status in zip(parts, statuses, strict=True)]
    assert stack(graph, labels, ended).status == expected


def test_parts_without_multipliers_have_none_together():
    graph, labels, parts = two_paths()
    assert stack(graph, labels, [replace(parts[0], w=None), *parts[1:]]).w is None
    assert isinstance(stack(graph, labels, parts), Unfolding)
