"""Every method embeds, tells its time, keeps to its limit; CSDP states the problem as written."""

import os

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from frobmetric.manifold.graph import neighbor_graph
from frobmetric.manifold.methods.program import UnfoldingProgram
from frobmetric_paper.baselines import (
    EMBEDDING,
    Embedded,
    EmbeddingBaseline,
    ProgramFailedError,
    ProgramMissingError,
    TimeLimitError,
)
from frobmetric_paper.baselines.embedding import (
    ORIGINAL,
    OUR_TOL,
    WELL_POSED,
    InWorker,
    coordinates,
    perturbed,
    power,
)

CSDP = {"original": EMBEDDING["csdp_original"], "well-posed": EMBEDDING["csdp_well_posed"]}
ISOMAP, LLE, EXACT = (EMBEDDING[name] for name in ("isomap", "lle", "ours_exact"))


@pytest.fixture
def roll():
    return make_swiss_roll(40, random_state=0)[0]


@pytest.fixture
def few():
    """Ten points, one of which is there three times."""
    X = np.random.default_rng(3).normal(size=(8, 2))
    return np.vstack([X, X[:1], X[:1]])


def variance(X):
    return np.square(X - X.mean(axis=0)).sum()


def weighted(X, graph):
    """The distinct points, each times the root of its mass."""
    return X[graph.representative] * np.sqrt(graph.masses)[:, None]


def unfolded(graph, are_equal):
    """The largest variance by cvxpy with Clarabel, in coordinates in which m.T X m = 0 is so."""
    cp = pytest.importorskip("cvxpy")
    m, n = graph.masses, graph.n_points
    centred = np.linalg.svd(m[None])[2][1:].T
    Z = cp.Variable((n - 1, n - 1), PSD=True)
    X = centred @ Z @ centred.T
    rows = [X[i, i] + X[j, j] - 2 * X[i, j] for i, j in graph.edges]
    pairs = zip(rows, graph.squared, strict=True)
    near = [row == b if are_equal else row <= b for row, b in pairs]
    problem = cp.Problem(cp.Maximize(m @ cp.diag(X)), near)
    return problem.solve(solver="CLARABEL")


# The problems that CSDP is given


@pytest.mark.parametrize("formulation", [ORIGINAL, WELL_POSED], ids=lambda f: f.name)
def test_the_rows_measure_distances_and_the_cost_is_the_variance(formulation, few):
    graph = neighbor_graph(few, 3)
    centred = few - few.mean(axis=0)
    points = weighted(centred, graph)
    problem = formulation.state(graph)
    found = problem.constraints.forward(points @ points.T)
    np.testing.assert_allclose(found[: len(graph.edges)], graph.squared, atol=1e-12)
    np.testing.assert_allclose(found[len(graph.edges) :], 0, atol=1e-12)
    assert -np.vdot(problem.cost, points @ points.T) == pytest.approx(variance(few))
    assert problem.sigma == np.inf


def test_only_the_well_posed_objective_ignores_the_position(few):
    graph = neighbor_graph(few, 3)
    moved = weighted(few + 5.0, graph)
    assert -np.vdot(WELL_POSED.state(graph).cost, moved @ moved.T) == pytest.approx(variance(few))
    assert -np.vdot(ORIGINAL.state(graph).cost, moved @ moved.T) > 2 * variance(few)


def test_coordinates_are_those_of_the_gram_matrix(few):
    program = UnfoldingProgram(neighbor_graph(few, 3))
    points = weighted(few + 5.0, neighbor_graph(few, 3))
    Y = coordinates(program, (points @ points.T).ravel())
    np.testing.assert_allclose(program.slack(program.differences(Y)), 0, atol=1e-10)
    gram = program.scatter(Y)
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert (np.diff(np.diag(gram)) <= 1e-10).all()
    assert np.trace(gram) == pytest.approx(variance(few))


@pytest.mark.parametrize("name", CSDP)
def test_csdp_finds_the_optimum_of_a_generic_solver(name, few, available):
    # two neighbours: with more, equalities leave no room to move
    found = available(CSDP[name]).embed(few, 2, 2, 60, 1)
    optimum = unfolded(neighbor_graph(few, 2), are_equal=name == "original")
    assert found.objective == pytest.approx(optimum, rel=1e-4)
    assert found.embedding.shape == (10, 2)
    assert sum(found.spectrum) == pytest.approx(found.objective)
    assert variance(found.embedding) == pytest.approx(sum(found.spectrum[:2]))
    np.testing.assert_array_equal(found.embedding[[8, 9]], found.embedding[[0, 0]])


def test_csdp_is_certified_where_the_problem_is_well_posed(few, available):
    proven = available(CSDP["well-posed"]).embed(few, 3, 2, 60, 1).certificate
    optimum = unfolded(neighbor_graph(few, 3), are_equal=False)
    assert proven["primal"] <= optimum * (1 + 1e-6)
    assert proven["dual"] >= optimum * (1 - 1e-6)
    assert 0 <= proven["relative_gap"] <= 1e-4
    assert proven["violation"] == 0


def test_csdp_says_how_far_equalities_are_broken(few, available):
    proven = available(CSDP["original"]).embed(few, 2, 2, 60, 1).certificate
    optimum = unfolded(neighbor_graph(few, 2), are_equal=True)
    assert proven["dual"] >= optimum * (1 - 1e-6)
    assert 0 <= proven["violation"] < 1e-3


def test_csdp_is_ended_at_the_limit(roll, available):
    with pytest.raises(TimeLimitError, match=r"> 0\.001 s"):
        available(CSDP["well-posed"]).embed(roll, 6, 2, 1e-3, 1)


# Methods in Python


def test_isomap_is_that_of_scikit_learn(roll, in_process):
    result = ISOMAP.embed(roll, 8)
    np.testing.assert_allclose(result.embedding, Isomap(n_neighbors=8).fit_transform(roll))
    assert result.seconds > 0
    assert (result.objective, result.certificate, result.remark) == (None, None, "")


def test_lle_is_that_of_scikit_learn(roll, in_process):
    there = LocallyLinearEmbedding(n_neighbors=8, random_state=0).fit_transform(roll)
    np.testing.assert_allclose(np.abs(LLE.embed(roll, 8).embedding), np.abs(there), atol=1e-8)


@pytest.mark.parametrize("n", [20, pytest.param(30, marks=pytest.mark.slow)])
def test_ours_is_certified_and_exact(n, roll, in_process):
    result = EXACT.embed(roll[:n], 6)
    assert result.remark == ""
    assert result.certificate["relative_gap"] <= OUR_TOL
    assert result.objective == pytest.approx(sum(result.spectrum))
    optimum = unfolded(neighbor_graph(roll[:n], 6), are_equal=False)
    assert result.objective == pytest.approx(optimum, rel=1e-5)


def test_the_perturbed_problem_comes_near_the_exact_one_as_sigma_grows(roll, in_process):
    exact = EXACT.embed(roll, 6).objective
    near, far = (perturbed(sigma).embed(roll, 6) for sigma in (1e8, 1e3))
    assert near.objective == pytest.approx(exact, rel=1e-3)
    assert far.objective < 0.99 * exact
    assert near.certificate["relative_gap"] <= OUR_TOL


def test_a_warning_becomes_the_remark(in_process):
    apart = np.concatenate([np.linspace(0, 1, 15), np.linspace(90, 91, 15)])[:, None]
    assert "connected components" in ISOMAP.embed(apart, 3).remark


@pytest.mark.slow
def test_a_worker_embeds(roll):
    assert ISOMAP.embed(roll, 6).embedding.shape == (40, 2)


def test_a_worker_is_ended_at_the_limit(roll, tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\n\n\ndef embed(_):\n    time.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    endless = EmbeddingBaseline(name="endless", method=InWorker("endless:embed"))
    with pytest.raises(TimeLimitError, match=r"> 0.1 s"):
        endless.embed(roll, 6, limit=0.1)


def test_a_method_that_fails_says_why(roll):
    broken = EmbeddingBaseline(name="broken", method=InWorker("math:sqrt"))
    with pytest.raises(ProgramFailedError, match="TypeError"):
        broken.embed(roll, 6)


def test_nan_is_a_failure(roll):
    broken = EmbeddingBaseline(name="broken", method=lambda X, *_: Embedded(X * np.nan, 0.1))
    with pytest.raises(ProgramFailedError, match="broken answered with NaN or infinity"):
        broken.embed(roll, 6)


def test_a_method_that_is_absent_says_why(roll):
    absent = EmbeddingBaseline(name="absent", method=None, missing=lambda: "no such thing")
    with pytest.raises(ProgramMissingError, match="absent cannot run here: no such thing"):
        absent.embed(roll, 6)


@pytest.mark.parametrize(("number", "text"), [(1e5, "1e5"), (100.0, "1e2"), (2e10, "2e10")])
def test_sigma_is_written_as_people_write_it(number, text):
    assert power(number) == text
    assert perturbed(number).name == f"ours_{text}"
