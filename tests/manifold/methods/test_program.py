from itertools import combinations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.manifold.graph import NeighborGraph
from frobmetric.manifold.methods.program import UnfoldingProgram, squares

SIGMAS = [np.inf, 3.0]


def random_graph(rng, n, with_masses=True):
    """A connected graph with lengths that nothing is known of."""
    tree = {(int(rng.integers(k)), k) for k in range(1, n)}
    pairs = list(combinations(range(n), 2))
    more = {pairs[k] for k in rng.integers(len(pairs), size=n)}
    edges = np.array(sorted(tree | more))
    point_of = np.arange(n)
    if with_masses:
        point_of = rng.permutation(np.concatenate([point_of, rng.integers(n, size=2 * n)]))
    return NeighborGraph.of(edges, rng.uniform(0.3, 3.0, len(edges)), point_of)


def random_program(rng, n=12, sigma=np.inf, with_masses=True):
    return UnfoldingProgram(random_graph(rng, n, with_masses), sigma)


def laplacian(program, weights):
    """L_w, entry by entry."""
    L = np.zeros((program.n_points, program.n_points))
    for i, j, w in zip(program.first, program.second, weights, strict=True):
        L[i, i] += w
        L[j, j] += w
        L[i, j] -= w
        L[j, i] -= w
    return L


def centring(program):
    m = program.masses
    return np.diag(m) - np.outer(m, m) / m.sum()


@pytest.mark.parametrize("with_masses", [False, True])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_half_gradient_and_half_hessian_are_derivatives_of_the_objective(rng, sigma, with_masses):
    program = random_program(rng, sigma=sigma, with_masses=with_masses)
    Y, V, U = rng.normal(size=(3, 12, 3))
    t = 1e-5
    ahead, behind = program.objective(Y + t * V), program.objective(Y - t * V)
    expected = (ahead - behind) / (2 * t)
    assert 2 * np.vdot(program.half_gradient(Y), V) == pytest.approx(expected, rel=1e-7)
    change = (program.half_gradient(Y + t * V) - program.half_gradient(Y - t * V)) / (2 * t)
    curvature = program.half_hessian(Y)
    np.testing.assert_allclose(curvature(V), change, rtol=1e-6, atol=1e-6 * np.abs(change).max())
    assert np.vdot(curvature(V), U) == pytest.approx(np.vdot(curvature(U), V))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_objective_is_that_of_all_samples(rng, sigma):
    """Written with the Gram matrix of the samples, in which points that coincide are repeated."""
    graph = random_graph(rng, 9)
    Y = rng.normal(size=(9, 3)) + 5
    samples = Y[graph.point_of]
    X = (samples - samples.mean(axis=0)) @ (samples - samples.mean(axis=0)).T
    program = UnfoldingProgram(graph, sigma)
    assert len(X) > 9
    assert program.objective(Y) == pytest.approx(np.trace(X) - (X**2).sum() / (2 * sigma))
    values = np.linalg.eigvalsh(X)[-3:]
    np.testing.assert_allclose(np.linalg.eigvalsh(program.scatter(Y)), values)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_translations_and_rotations_change_nothing(rng, sigma):
    program = random_program(rng, sigma=sigma)
    Y = rng.normal(size=(12, 3))
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert program.objective(Y @ Q + 7) == pytest.approx(program.objective(Y))
    np.testing.assert_allclose(
        program.half_gradient(Y @ Q + 7), program.half_gradient(Y) @ Q, atol=1e-10
    )
    np.testing.assert_allclose(program.half_gradient(Y).sum(axis=0), 0, atol=1e-10)


def test_centred_and_spread_are_those_of_the_masses(rng):
    program = random_program(rng)
    Y = rng.normal(size=(12, 2)) + 3
    np.testing.assert_allclose(program.masses @ program.centred(Y), 0, atol=1e-12)
    np.testing.assert_allclose(program.mass_centred(Y), centring(program) @ Y, atol=1e-12)
    np.testing.assert_allclose(program.scatter(Y), Y.T @ centring(program) @ Y)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20), r=st.integers(1, 4))
def test_divergence_is_the_adjoint_of_differences(seed, n, r):
    rng = np.random.default_rng(seed)
    program = random_program(rng, n)
    Y, flow = rng.normal(size=(n, r)), rng.normal(size=(program.n_edges, r))
    expected = np.vdot(program.differences(Y), flow)
    assert np.vdot(Y, program.divergence(flow)) == pytest.approx(expected, abs=1e-10)
    w = rng.normal(size=program.n_edges)
    found = program.divergence(w[:, None] * program.differences(Y))
    np.testing.assert_allclose(found, laplacian(program, w) @ Y, atol=1e-10)


def test_slack_is_half_of_what_is_left_of_each_edge(rng):
    program = random_program(rng)
    Y = rng.normal(size=(12, 3))
    for e, (i, j) in enumerate(zip(program.first, program.second, strict=True)):
        left = program.squared[e] - np.linalg.norm(Y[i] - Y[j]) ** 2
        assert program.slack(program.differences(Y))[e] == pytest.approx(left / 2)
    np.testing.assert_allclose(squares(Y), np.linalg.norm(Y, axis=1) ** 2)


@pytest.mark.parametrize("n", [2, 12, 90])
@pytest.mark.parametrize("r", [1, 2, 4])
def test_the_factor_solves_up_to_a_translation(rng, r, n):
    program = random_program(rng, n)
    d = program.differences(rng.normal(size=(n, r)))
    weights, stiffness = rng.uniform(0.5, 2.0, size=(2, program.n_edges))
    B = program.divergence(rng.normal(size=d.shape))  # every column sums to 0
    X = program.factor(weights, stiffness, d).solve(B)
    dX = program.differences(X)
    flow = weights[:, None] * dX + (stiffness * np.einsum("ij,ij->i", d, dX))[:, None] * d
    np.testing.assert_allclose(program.divergence(flow), B, atol=1e-9)
    A = sum(
        np.kron(np.outer(e, e), w * np.eye(r) + k * np.outer(v, v))
        for e, w, k, v in zip(program.differences(np.eye(n)), weights, stiffness, d, strict=True)
    )
    expected = (np.linalg.pinv(A) @ B.ravel()).reshape(n, r)
    np.testing.assert_allclose(X - X.mean(axis=0), expected, atol=1e-9)


def test_the_laplacian_factor_solves_up_to_a_translation(rng):
    program = random_program(rng, 60)
    weights = rng.uniform(0.5, 2.0, program.n_edges)
    b = program.divergence(rng.normal(size=(program.n_edges, 1)))
    x = program.laplacian_factor(weights).solve(b)
    expected = np.linalg.pinv(laplacian(program, weights)) @ b
    np.testing.assert_allclose(x - x.mean(), expected, atol=1e-9)


def test_a_laplacian_that_is_not_semidefinite_has_no_factor(rng):
    program = random_program(rng, 20)
    weights = np.ones(program.n_edges)
    weights[0] = -100.0
    with pytest.raises(np.linalg.LinAlgError, match="Laplacian is not positive definite"):
        program.laplacian_factor(weights)
    with pytest.raises(np.linalg.LinAlgError, match="Laplacian is not positive definite"):
        program.factor(weights, np.zeros(program.n_edges), np.ones((program.n_edges, 2)))


@pytest.mark.parametrize("n", [2, 15, 80])
@pytest.mark.parametrize("signed", [False, True])
def test_counts_generalised_eigenvalues(rng, n, signed):
    program = random_program(rng, n)
    weights = rng.uniform(-0.5 if signed else 0.1, 1.0, program.n_edges)
    values = scipy.linalg.eigvalsh(laplacian(program, weights), np.diag(program.masses))
    middle = (values[1:] + values[:-1]) / 2
    for level in [*middle[np.diff(values) > 1e-5], values[-1] + 1, values[0] - 1]:
        assert program.count_below(weights, level) == (values < level).sum()
