from itertools import combinations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.manifold.graph import NeighborGraph
from frobmetric.manifold.methods.program import UnfoldingProgram
from frobmetric.manifold.sparse.spectrum import DENSE, proven_bound, smallest_eigenpairs


def make_program(edges, squared, masses=None, sigma=np.inf):
    edges = np.array(edges)
    n = edges.max() + 1
    point_of = np.repeat(np.arange(n), np.ones(n, int) if masses is None else masses)
    return UnfoldingProgram(NeighborGraph.of(edges, np.array(squared, float), point_of), sigma)


def random_program(rng, n, sigma=np.inf):
    """Random points of the space with masses, and the lengths of some pairs: a tree at least."""
    X = rng.normal(size=(n, 3))
    tree = {(int(rng.integers(k)), k) for k in range(1, n)}
    pairs = list(combinations(range(n), 2))
    edges = np.array(sorted(tree | {pairs[k] for k in rng.integers(len(pairs), size=2 * n)}))
    squared = ((X[edges[:, 0]] - X[edges[:, 1]]) ** 2).sum(axis=1)
    return X, make_program(edges, squared, rng.integers(1, 4, n), sigma)


def all_eigenpairs(program, weights):
    """Of L_w against diag(m), the constant vector included."""
    flow = weights[:, None] * program.differences(np.eye(program.n_points))
    return scipy.linalg.eigh(program.divergence(flow), np.diag(program.masses))


def shrunk(program, Y):
    """Y, centred, times a number with which every edge is met."""
    Y = program.centred(Y)
    return Y / np.sqrt(((program.differences(Y) ** 2).sum(axis=1) / program.squared).max())


@pytest.mark.parametrize("n", [2, 10, DENSE, DENSE + 1, 200])
def test_eigenpairs_are_those_of_scipy(rng, n):
    _, program = random_program(rng, n)
    weights = rng.uniform(0.1, 2.0, program.n_edges)
    values, vectors = smallest_eigenpairs(program, weights, 5)
    n_pairs = min(5, n - 1)
    assert vectors.shape == (n, n_pairs)
    expected, expected_vectors = all_eigenpairs(program, weights)
    np.testing.assert_allclose(values, expected[1:6], rtol=1e-8)
    alignment = vectors.T @ (program.masses[:, None] * expected_vectors[:, 1:6])
    np.testing.assert_allclose(np.abs(alignment), np.eye(n_pairs), atol=1e-5)
    gram = vectors.T @ (program.masses[:, None] * vectors)
    np.testing.assert_allclose(gram, np.eye(n_pairs), atol=1e-8)
    np.testing.assert_allclose(program.masses @ vectors, 0, atol=1e-8)


@pytest.mark.parametrize("n", [20, DENSE + 1])
def test_all_eigenvalues_can_be_asked_for(rng, n):
    _, program = random_program(rng, n)
    weights = rng.uniform(0.1, 2.0, program.n_edges)
    values = smallest_eigenpairs(program, weights, 10 * n)[0]
    np.testing.assert_allclose(values, all_eigenpairs(program, weights)[0][1:], rtol=1e-8)


@pytest.mark.parametrize("n", [30, DENSE + 10])
def test_eigenvalues_that_are_equal(n):
    """Of a star, all but the largest are the weight; of a complete graph, all are the same."""
    star = make_program([(0, i) for i in range(1, n)], np.ones(n - 1))
    values, vectors = smallest_eigenpairs(star, np.full(n - 1, 3.0), 3)
    np.testing.assert_allclose(values, 3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-8)
    pairs = list(combinations(range(n), 2))
    complete = make_program(pairs, np.ones(len(pairs)))
    np.testing.assert_allclose(smallest_eigenpairs(complete, np.ones(len(pairs)), 3)[0], n)


@pytest.mark.parametrize("n", [20, DENSE + 30])
def test_two_calls_give_the_same_bytes(rng, n):
    _, program = random_program(rng, n)
    weights = rng.uniform(0.1, 2.0, program.n_edges)
    one, two = (smallest_eigenpairs(program, weights, 4) for _ in range(2))
    assert [a.tobytes() for a in one] == [a.tobytes() for a in two]


@pytest.mark.parametrize("n", [20, DENSE + 30])
def test_negative_eigenvalues_are_refused(rng, n):
    _, program = random_program(rng, n)
    weights = -rng.uniform(0.1, 2.0, program.n_edges)
    with pytest.raises(np.linalg.LinAlgError):
        smallest_eigenpairs(program, weights, 2)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 15),
    sigma=st.sampled_from([np.inf, 0.3, 3.0, 30.0]),
)
def test_no_feasible_point_is_above_the_bound(seed, n, sigma):
    rng = np.random.default_rng(seed)
    X, program = random_program(rng, n, sigma)
    scale = 10 ** rng.uniform(-2, 1)
    bound = proven_bound(program, scale * rng.uniform(0.01, 1.0, program.n_edges))
    starts = [X, *(rng.normal(size=(n, r)) for r in (1, 2, 3, 5) for _ in range(5))]
    best = max(
        program.objective(length * shrunk(program, Y))
        for Y in starts
        for length in (1.0, 0.7, 0.3, 0.1)
    )
    assert np.isfinite(bound)
    assert best <= bound * (1 + 1e-9)


@pytest.mark.parametrize("n", [8, DENSE + 20])
@pytest.mark.parametrize("sigma", [np.inf, 5.0])
def test_the_bound_is_its_formula(rng, sigma, n):
    _, program = random_program(rng, n, sigma)
    for scale in (0.02, 0.5, 30.0):
        weights = scale * rng.uniform(0.5, 1.0, program.n_edges)
        values, cost = all_eigenpairs(program, weights)[0][1:], program.squared @ weights
        if np.isinf(sigma):
            expected = cost / values[0]
        else:
            expected = cost + sigma / 2 * (np.maximum(0, 1 - values) ** 2).sum()
        assert proven_bound(program, weights) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("sigma", [np.inf, 2.0])
def test_the_bound_holds_for_all_samples(rng, sigma):
    """One point of mass 3 is worth three points that an edge of no length would hold together."""
    edges, squared = [(0, 1), (1, 2), (0, 2)], [1.0, 2.0, 2.5]
    program = make_program(edges, squared, [3, 1, 2], sigma)
    bound = proven_bound(program, np.array([0.9, 0.8, 0.7]))
    for _ in range(200):
        samples = shrunk(program, rng.normal(size=(3, 2)))[[0, 0, 0, 1, 2, 2]]
        X = (samples - samples.mean(axis=0)) @ (samples - samples.mean(axis=0)).T
        assert np.trace(X) - (X**2).sum() / (2 * sigma) <= bound


def optima():
    """Programs with multipliers that are optimal, and the optimum."""
    path, steps = [(i, i + 1) for i in range(6)], np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.5])
    x = np.concatenate([[0], np.cumsum(steps)])
    pull = -np.cumsum(x - x.mean())[:-1]  # what the points on one side of each edge pull
    yield "path", make_program(path, steps**2), pull / steps, ((x - x.mean()) ** 2).sum()
    yield "star", make_program([(0, i) for i in range(1, 6)], np.ones(5)), np.ones(5), 5.0
    pairs = list(combinations(range(7), 2))
    yield "simplex", make_program(pairs, np.full(21, 2.0)), np.full(21, 1 / 7), 6.0
    ring, angle = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], np.pi / 5
    yield (
        "pentagon",
        make_program(ring, np.ones(5)),
        np.full(5, 1 / (4 * np.sin(angle) ** 2)),
        5 / (4 * np.sin(angle) ** 2),
    )
    # two points: x = |y_0 - y_1|² / 2 <= b / 2, of which x - x² / (2 sigma) is left
    yield "tight edge", make_program([(0, 1)], [1.0], sigma=2.0), np.array([0.375]), 0.4375
    yield "loose edge", make_program([(0, 1)], [1.0], sigma=0.2), np.zeros(1), 0.1
    # the simplex with edges of length 1: all six eigenvalues of X are 1/2
    yield "soft simplex", make_program(pairs, np.ones(21), sigma=2.0), np.full(21, 0.75 / 7), 2.625
    yield ("two heavy points", make_program([(0, 1)], [4.0], [3, 1]), np.array([0.75]), 3.0)


@pytest.mark.parametrize(
    ("program", "weights", "optimum"), [pytest.param(*rest, id=name) for name, *rest in optima()]
)
def test_the_bound_is_the_optimum_at_optimal_multipliers(program, weights, optimum):
    if weights.any():
        assert proven_bound(program, weights) == pytest.approx(optimum, rel=1e-9)
    # of others it is above
    for factor in np.random.default_rng(0).uniform(0.5, 1.5, (20, len(weights))):
        assert proven_bound(program, factor * weights + 1e-3) >= optimum * (1 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 12))
def test_multipliers_of_any_sign_bound_what_keeps_all_lengths(seed, n):
    rng = np.random.default_rng(seed)
    X, program = random_program(rng, n)
    weights = rng.uniform(-0.2, 1.0, program.n_edges)
    if all_eigenpairs(program, weights)[0][0] > -1e-9:
        assert proven_bound(program, weights) >= program.objective(X) * (1 - 1e-9)
    assert proven_bound(program, -np.abs(weights)) == np.inf


def test_a_multiplier_below_zero_proves_that_a_bar_keeps_a_rhombus_apart():
    """Points 1 and 3 are heavy, and without the bar between 0 and 2 they would go further."""
    bars, h = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], np.sqrt(0.75)
    program = make_program(bars, np.ones(5), [1, 5, 1, 5])
    rhombus = np.array([[0.5, 0.0], [0.0, h], [-0.5, 0.0], [0.0, -h]])
    np.testing.assert_allclose(program.slack(program.differences(rhombus)), 0, atol=1e-15)
    weights = np.array([2.5, -2.0, 2.5, 2.5, 2.5])
    assert program.objective(rhombus) == pytest.approx(8)
    assert proven_bound(program, weights) == pytest.approx(8)
    # edges that may be shorter allow 10, which is then the least that can be proven
    assert proven_bound(program, np.maximum(weights, 0)) == pytest.approx(10)


@pytest.mark.parametrize("n", [10, DENSE + 20])
def test_multipliers_that_cut_the_graph_prove_nothing(rng, n):
    program = make_program([(i, i + 1) for i in range(n - 1)], np.ones(n - 1))
    for cut in rng.integers(n - 1, size=10):
        weights = rng.uniform(1.0, 2.0, n - 1)
        weights[cut] = 0
        assert proven_bound(program, weights) == np.inf
    assert proven_bound(program, np.zeros(n - 1)) == np.inf


def test_with_a_frobenius_term_a_cut_may_still_be_a_proof():
    """Every eigenvalue of zero costs sigma / 2; infinity is allowed, less than that is not."""
    for seed in range(30):
        weights = np.random.default_rng(seed).uniform(1.0, 2.0, 9)
        weights[seed % 9] = 0
        program = make_program([(i, i + 1) for i in range(9)], np.ones(9), sigma=5.0)
        values = all_eigenpairs(program, weights)[0][1:]
        least = weights.sum() + 2.5 * (np.maximum(0, 1 - values) ** 2).sum()
        assert proven_bound(program, weights) >= least * (1 - 1e-9)


def triangle(squared, sigma=np.inf):
    return make_program([(0, 1), (0, 2), (1, 2)], squared, sigma=sigma)


def test_one_negative_eigenvalue_proves_nothing():
    bent = triangle([4.11273001, 6.48020852, 6.47854769], sigma=5.0)
    assert proven_bound(bent, np.array([0.52643585, -0.6836005, -0.72792187])) == np.inf
    assert proven_bound(triangle([45.0, 2.0, 41.0]), np.array([-1.5, -1.5, 1.5])) == np.inf


def test_a_level_that_is_an_eigenvalue_of_many():
    program = make_program([(0, k) for k in range(1, 60)], np.ones(59), sigma=10.0)
    # a star has the eigenvalues 0, 1 (58 times) and 60
    assert proven_bound(program, np.ones(59)) == pytest.approx(59.0)
