import numpy as np
import pytest
import scipy.linalg

from frobmetric.core.solution import Certificate
from frobmetric.manifold import certify_unfolding
from frobmetric.manifold.certificate import UnfoldingCertificate, make_certificate
from frobmetric.manifold.graph import NeighborGraph, neighbor_graph
from frobmetric.manifold.methods.program import UnfoldingProgram


def triangle(sigma=np.inf):
    """Sides of 1: the maximum variance is 1, with the multipliers 1/3."""
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    return UnfoldingProgram(NeighborGraph.of(edges, np.ones(3), np.arange(3)), sigma)


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def random_program(rng, sigma=np.inf):
    X = rng.normal(size=(20, 3))
    X[15:] = X[:5]
    return UnfoldingProgram(neighbor_graph(X, 5), sigma), X[:15]


def eigenvalues(program, w):
    """Of the Laplacian against the masses, the one of the constant vector left out."""
    L = np.zeros((program.n_points, program.n_points))
    for i, j, weight in zip(program.first, program.second, w, strict=True):
        L[[i, j], [i, j]] += weight
        L[[i, j], [j, i]] -= weight
    return scipy.linalg.eigh(L, np.diag(program.masses), eigvals_only=True)[1:]


def test_the_optimum_of_a_triangle():
    proof = certify_unfolding(triangle(), CORNERS, np.full(3, 1 / 3))
    assert proof.primal == pytest.approx(1)
    assert proof.dual == pytest.approx(1)
    assert proof.relative_gap < 1e-9
    assert proof.violation == 0


def test_multiples_of_the_multipliers_prove_the_same():
    for size in (1e-6, 1.0, 1e6):
        assert certify_unfolding(triangle(), CORNERS, np.full(3, size)).dual == pytest.approx(1)


@pytest.mark.parametrize("sigma", [np.inf, 30.0])
def test_any_point_and_any_multipliers_against_the_formulas(rng, sigma):
    program, X = random_program(rng, sigma)
    for _ in range(5):
        Y = 0.3 * X @ rng.normal(size=(3, 3))
        w = rng.uniform(0.1, 2.0, size=program.n_edges)
        proof = certify_unfolding(program, Y, w)
        samples = np.repeat(Y, program.masses.astype(int), axis=0)
        centred = samples - samples.mean(axis=0)
        variance, gram = (centred**2).sum(), centred @ centred.T
        assert proof.primal == pytest.approx(variance - (gram**2).sum() / (2 * sigma))
        values = eigenvalues(program, w)
        below = np.maximum(0, 1 - values)
        bound = (
            program.squared @ w / values[0]
            if np.isinf(sigma)
            else program.squared @ w + sigma / 2 * (below**2).sum()
        )
        assert proof.dual == pytest.approx(bound, rel=1e-6)
        assert proof.dual >= bound * (1 - 1e-12)
        lengths = ((Y[program.first] - Y[program.second]) ** 2).sum(axis=1)
        excess = (lengths / program.squared - 1).max()
        assert proof.violation == pytest.approx(max(excess, 0))


@pytest.mark.parametrize("sigma", [np.inf, 5.0])
def test_weak_duality(rng, sigma):
    """A feasible embedding is never above a bound, whatever the two are."""
    program, X = random_program(rng, sigma)
    for _ in range(20):
        Y = X @ np.linalg.qr(rng.normal(size=(3, 3)))[0] * rng.uniform(0, 1, size=3)
        w = rng.uniform(0, 1, size=program.n_edges) ** 3
        proof = certify_unfolding(program, Y, w)
        assert proof.violation == 0
        assert proof.primal <= proof.dual


def test_an_infeasible_embedding_is_noticed():
    proof = certify_unfolding(triangle(), 1.01 * CORNERS, np.ones(3))
    assert proof.violation == pytest.approx(1.01**2 - 1)
    assert "maximum <= 1; the embedding has 1.0201 and misses" in str(proof)


def test_equations_are_missed_by_shorter_edges_too():
    assert certify_unfolding(triangle(), 0.9 * CORNERS, np.ones(3)).violation == 0
    proof = certify_unfolding(triangle(), 0.9 * CORNERS, np.ones(3), constraints="equal")
    assert proof.violation == pytest.approx(1 - 0.81)


def test_multipliers_of_both_signs_prove_something_of_equations_only():
    w = np.array([1.0, 1.0, -0.1])
    assert certify_unfolding(triangle(), CORNERS, w).dual == np.inf
    proof = certify_unfolding(triangle(), CORNERS, w, constraints="equal")
    assert proof.dual == pytest.approx(1.9 / eigenvalues(triangle(), w)[0])
    assert 1 <= proof.dual < np.inf


@pytest.mark.parametrize(
    "w",
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, np.nan], [1.0, 1.0, np.inf], [-1.0, -1.0, -1.0]],
)
@pytest.mark.parametrize("constraints", ["at_most", "equal"])
def test_multipliers_that_prove_nothing(w, constraints):
    proof = certify_unfolding(triangle(), CORNERS, np.array(w), constraints=constraints)
    assert proof.dual == proof.relative_gap == np.inf


@pytest.mark.parametrize("constraints", ["at_most", "equal"])
def test_what_is_not_a_number_is_not_feasible(constraints):
    Y = CORNERS.copy()
    Y[1, 1] = np.nan
    proof = certify_unfolding(triangle(), Y, np.ones(3), constraints=constraints)
    assert not proof.violation <= 1
    assert not proof.relative_gap <= 1
    assert "misses" in str(proof)


def test_common_fields():
    proof = make_certificate(99.0, 100.0, 0.0, sigma=8.0)
    assert isinstance(proof, Certificate)
    assert (proof.gap, proof.error, proof.distance_bound) == (1.0, 0.01, 4.0)
    assert make_certificate(99.0, 100.0, 0.0).distance_bound == np.inf
    broken = make_certificate(99.0, 100.0, 0.1, sigma=8.0)
    assert (broken.error, broken.distance_bound) == (0.1, np.inf)
    assert broken.describe_error() == "relative gap 1.0e-02 and violation 1.0e-01"
    assert proof.describe_error() == "relative gap 1.0e-02"


def test_the_optimal_gram_matrix_is_within_the_distance_bound():
    """Of two points at distance 2: x - x² / (2 sigma) for the eigenvalue x <= 2."""
    pair = NeighborGraph.of(np.array([[0, 1]]), np.array([4.0]), np.arange(2))
    program = UnfoldingProgram(pair, 1.0)
    Y = np.array([[-0.3], [0.3]])  # x = 0.18, and x = sigma is optimal
    proof = certify_unfolding(program, Y, np.full(1, 1e-9))
    assert proof.dual == pytest.approx(0.5)
    assert proof.distance_bound == pytest.approx(1 - 0.18)


def test_words_and_numbers():
    proof = make_certificate(np.float64(99.0), np.float64(100.0), 0)
    assert proof == UnfoldingCertificate(99.0, 100.0, 1.0, 0.01)
    numbers = {name: value for name, value in vars(proof).items() if name != "scope"}
    assert all(type(number) is float for number in numbers.values())
    assert str(proof) == "maximum in [99, 100], gap 1.0e-02"
    assert str(make_certificate(1.0, np.inf, 0)) == "maximum in [1, inf], gap inf"
    assert make_certificate(0.0, 0.0, 0.0).relative_gap == np.inf
