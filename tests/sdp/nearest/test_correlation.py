"""The nearest correlation matrix: golden values, cvxpy, optimality, and every wrong input."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from frobmetric.sdp import nearest_correlation
from frobmetric.sdp.nearest.correlation import make_exact
from frobmetric.sdp.nearest.entries import ScaledEntries, as_rows
from random_problems import dense_rows

HIGHAM = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
TRIDIAGONAL = 2 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1)


def symmetric(A):
    return (A + A.T) / 2


def uniform(n, rng, unit=True):
    G = symmetric(rng.uniform(-2, 2, (n, n)))
    if unit:
        np.fill_diagonal(G, 1.0)
    return G


def random_correlation(n, rng):
    return np.corrcoef(rng.normal(size=(n, n + 2)))


def root_of(W):
    values, vectors = np.linalg.eigh(W)
    return (vectors * np.sqrt(values)) @ vectors.T


def is_correlation(X, floor=0.0):
    return (
        np.array_equal(X, X.T)
        and np.all(np.diagonal(X) == 1.0)
        and np.abs(X).max() <= 1.0
        and np.linalg.eigvalsh(X)[0] >= floor - 1e-12
    )


def alternating_projections(G, n_iter=3000):
    """Higham's method with Dykstra's correction: slow, and nothing but eigenvalues."""
    X, correction = G, np.zeros_like(G)
    for _ in range(n_iter):
        R = X - correction
        values, vectors = np.linalg.eigh(R)
        Y = (vectors * np.maximum(values, 0)) @ vectors.T
        correction = Y - R
        X = Y - np.diag(np.diagonal(Y) - 1)
    return X


def cvxpy_nearest(G, weigh=lambda D: D, rules=lambda X: [], floor=0.0):
    """The answer of cvxpy with Clarabel; `weigh` takes X - G to what is squared."""
    import cvxpy as cp

    X = cp.Variable(G.shape, symmetric=True)
    statement = cp.Problem(
        cp.Minimize(cp.sum_squares(weigh(X - G))),
        [cp.diag(X) == 1, X - floor * np.eye(len(G)) >> 0, *rules(X)],
    )
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    statement.solve(solver=cp.CLARABEL, **accuracy)
    assert statement.status == "optimal"
    return X.value


# Golden values


def test_higham_three_by_three():
    # X[0, 2] = 2 a^2 - 1 makes it singular; the distance is then least at 4 a^3 = a + 1
    a = max(np.roots([4, 0, -1, -1]).real)
    result = nearest_correlation(HIGHAM)
    b = 2 * a**2 - 1
    np.testing.assert_allclose(result.matrix, [[1, a, b], [a, 1, a], [b, a, 1]], atol=1e-9)
    np.testing.assert_allclose([a, b], [0.76068985, 0.15729811], atol=5e-9)
    assert result.distance == pytest.approx(0.52779046, abs=5e-9)
    assert result.status == "optimal"
    assert result.certificate.violation == 0


def test_tridiagonal():
    X = nearest_correlation(TRIDIAGONAL).matrix
    np.testing.assert_allclose(X, alternating_projections(TRIDIAGONAL), atol=1e-9)
    golden = [-0.8084125, 0.1915875, 0.10677505, -0.65623269]
    np.testing.assert_allclose([*X[0, 1:], X[1, 2]], golden, atol=1e-8)


def test_published_invalid_matrices(data_folder):
    path = data_folder / "correlation_invalid.npz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not in {data_folder}")
    with np.load(path, allow_pickle=False) as file:
        matrices = {name: file[name] for name in file.files if name != "bccd16"}  # n = 3250
    assert len(matrices) == 10
    for name, G in matrices.items():
        result = nearest_correlation(G)
        assert is_correlation(result.matrix), name
        assert result.gradient <= 1e-8, name
        assert result.certificate.relative_gap <= 1e-8, name
        assert_optimal(G, result)


# Optimality, recomputed from the answer


def assert_optimal(G, result, size=1.0):
    """X - G = diag(u) + Z with Z positive semidefinite and X Z = 0."""
    X = result.matrix
    Z = X - G - np.diag(result.multipliers)
    size = max(size, np.linalg.norm(Z))
    assert np.linalg.eigvalsh(Z)[0] >= -1e-7 * size
    assert np.abs(X @ Z).max() <= 1e-7 * size


@pytest.mark.parametrize("n", [2, 5, 20, 60])
def test_answers_are_optimal(n, rng):
    G = uniform(n, rng, unit=False)
    result = nearest_correlation(G)
    assert is_correlation(result.matrix)
    assert result.gradient <= 1e-8
    assert result.certificate.gap <= 1e-9 * result.certificate.primal
    assert result.distance == pytest.approx(np.linalg.norm(result.matrix - G), rel=1e-12)
    assert_optimal(G, result)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(0, 2**31))
def test_no_correlation_matrix_is_nearer(data, n, seed):
    numbers = st.floats(-4, 4, allow_subnormal=False)
    G = symmetric(data.draw(arrays(float, (n, n), elements=numbers)))
    result = nearest_correlation(G)
    assert is_correlation(result.matrix)
    rng = np.random.default_rng(seed)
    for other in (random_correlation(n, rng) if n > 1 else np.ones((1, 1)), np.eye(n)):
        near = 0.99 * result.matrix + 0.01 * other
        assert np.linalg.norm(other - G) >= result.distance - 1e-7
        assert np.linalg.norm(near - G) >= result.distance - 1e-7
        assert np.vdot(result.matrix - G, other - result.matrix) >= -1e-6


def test_correlation_matrix_is_kept(rng):
    for G in (np.eye(4), random_correlation(7, rng), np.ones((5, 5)), np.ones((1, 1))):
        result = nearest_correlation(G)
        np.testing.assert_allclose(result.matrix, G, rtol=0, atol=1e-13)
        assert result.distance < 1e-13


def test_one_by_one():
    result = nearest_correlation([[-3.0]])
    assert result.matrix.tolist() == [[1.0]]
    assert result.distance == pytest.approx(4.0)


def test_large_entries_and_no_positive_eigenvalue(rng):
    for G in (1e4 * uniform(12, rng), -np.eye(5), np.zeros((4, 4)), -1e3 * np.ones((6, 6))):
        result = nearest_correlation(G)
        assert is_correlation(result.matrix)
        assert_optimal(G, result)


def test_uniform_entries_of_order_two_hundred(rng):
    result = nearest_correlation(np.clip(uniform(200, rng), -1, 1))
    assert result.status == "optimal"
    assert result.gradient <= 1e-8


# Against cvxpy


@pytest.mark.parametrize("n", [3, 8])
def test_plain_against_cvxpy(n, rng):
    G = uniform(n, rng, unit=False)
    np.testing.assert_allclose(nearest_correlation(G), cvxpy_nearest(G), atol=1e-5)


@pytest.mark.parametrize("n", [3, 8])
def test_vector_weights_against_cvxpy(n, rng):
    G, w = uniform(n, rng), rng.uniform(0.1, 5, n)
    result = nearest_correlation(G, weights=w)
    root = np.diag(np.sqrt(w))
    np.testing.assert_allclose(result, cvxpy_nearest(G, lambda D: root @ D @ root), atol=1e-5)
    assert result.distance == pytest.approx(np.linalg.norm(root @ (result.matrix - G) @ root))


@pytest.mark.parametrize("n", [3, 8])
def test_matrix_weights_against_cvxpy(n, rng):
    G, B = uniform(n, rng), rng.normal(size=(n, 2 * n))
    W = B @ B.T
    result = nearest_correlation(G, weights=W)
    root = root_of(W)
    np.testing.assert_allclose(result, cvxpy_nearest(G, lambda D: root @ D @ root), atol=1e-5)
    assert result.distance == pytest.approx(np.linalg.norm(root @ (result.matrix - G) @ root))


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_size_of_weights_does_not_matter(size, rng):
    G, w = uniform(10, rng), rng.uniform(1, 2, 10)
    expected = nearest_correlation(G, weights=np.diag(w)).matrix
    result = nearest_correlation(G, weights=size * w)
    np.testing.assert_allclose(result, expected, atol=1e-8)


@pytest.mark.parametrize("n", [3, 7])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_elementwise_against_cvxpy(n, share_missing, rng):
    import cvxpy as cp

    G, H = uniform(n, rng), symmetric(rng.uniform(0.2, 1, (n, n)))
    H[symmetric(rng.random((n, n))) < share_missing] = 0
    result = nearest_correlation(G, elementwise=H, tol=1e-10)
    expected = cvxpy_nearest(G, lambda D: cp.multiply(H, D))
    assert is_correlation(result.matrix)
    np.testing.assert_allclose(H * (result.matrix - expected), 0, atol=1e-5)
    assert result.distance == pytest.approx(np.linalg.norm(H * (expected - G)), rel=1e-7)
    assert result.certificate.gap <= 1e-9 * (1 + result.certificate.primal)


def test_elementwise_ones_are_no_weights(rng):
    G = uniform(9, rng)
    result = nearest_correlation(G, elementwise=np.ones((9, 9)))
    np.testing.assert_allclose(result, nearest_correlation(G), atol=1e-7)


def test_elementwise_completes_missing_entries(rng):
    G = random_correlation(8, rng)
    H = np.ones((8, 8))
    G[0, 1] = G[1, 0] = np.nan
    G[5, 7] = np.nan
    H[0, 1] = H[1, 0] = H[5, 7] = H[7, 5] = 0
    result = nearest_correlation(G, elementwise=H)
    assert result.distance < 1e-4
    np.testing.assert_allclose(result.matrix[H > 0], G[H > 0], atol=1e-4)
    free = nearest_correlation(np.full((3, 3), np.nan), elementwise=np.zeros((3, 3)))
    assert free.distance == 0


@pytest.mark.parametrize("n", [4, 9])
@pytest.mark.parametrize("bounds", [(0, None), (None, 0.2), (-0.3, 0.4), (-0.2, np.nan)])
def test_bounds_against_cvxpy(n, bounds, rng):
    G = uniform(n, rng)
    lower, upper = (np.nan if bound is None else bound for bound in bounds)
    lower, upper = np.nan_to_num(lower, nan=-1.0), np.nan_to_num(upper, nan=1.0)
    off = ~np.eye(n, dtype=bool)
    expected = cvxpy_nearest(G, rules=lambda X: [X[off] >= lower, X[off] <= upper])
    result = nearest_correlation(G, bounds=bounds)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    assert is_correlation(result.matrix)
    assert result.matrix[off].min() >= lower - 1e-8
    assert result.matrix[off].max() <= upper + 1e-8


def test_bounds_of_each_entry(rng):
    G = uniform(6, rng)
    lower, upper = np.full((6, 6), -np.inf), np.full((6, 6), np.nan)
    lower[0, 1] = lower[1, 0] = 0.5
    upper[2, 3] = upper[3, 2] = -0.5
    lower[4, 5] = lower[5, 4] = upper[4, 5] = upper[5, 4] = 0.25
    expected = cvxpy_nearest(G, rules=lambda X: [X[0, 1] >= 0.5, X[2, 3] <= -0.5, X[4, 5] == 0.25])
    np.testing.assert_allclose(nearest_correlation(G, bounds=(lower, upper)), expected, atol=1e-5)


@pytest.mark.parametrize("as_pairs", [False, True])
def test_fixed_against_cvxpy(as_pairs, rng):
    G, C = uniform(8, rng), random_correlation(8, rng)
    mask = np.triu(rng.random((8, 8)) < 0.3, 1)
    G = np.where(mask | mask.T, C, G)
    fixed = list(zip(*map(np.ndarray.tolist, np.nonzero(mask)), strict=True)) if as_pairs else mask
    result = nearest_correlation(G, fixed=fixed)
    np.testing.assert_allclose(result.matrix[mask], C[mask], atol=1e-8)
    np.testing.assert_allclose(
        result, cvxpy_nearest(G, rules=lambda X: [X[mask] == C[mask]]), atol=1e-5
    )


@pytest.mark.parametrize("floor", [0.01, 0.3, 0.99])
def test_min_eigenvalue_against_cvxpy(floor, rng):
    G = uniform(7, rng)
    result = nearest_correlation(G, min_eigenvalue=floor)
    assert is_correlation(result.matrix, floor)
    np.testing.assert_allclose(result, cvxpy_nearest(G, floor=floor), atol=1e-5)


@pytest.mark.parametrize("kind", ["vector", "matrix", "elementwise"])
def test_all_options_together_against_cvxpy(kind, rng):
    import cvxpy as cp

    n = 6
    G, C, B = uniform(n, rng), random_correlation(n, rng), rng.normal(size=(n, 2 * n))
    G[0, 3] = G[3, 0] = C[0, 3] / 2
    H, W = symmetric(rng.uniform(0.2, 1, (n, n))), B @ B.T / n
    root = {"vector": np.diag(np.sqrt(np.diagonal(W))), "matrix": root_of(W)}.get(kind)
    options, weigh = {
        "vector": ({"weights": np.diagonal(W)}, lambda D: root @ D @ root),
        "matrix": ({"weights": W}, lambda D: root @ D @ root),
        "elementwise": ({"elementwise": H, "tol": 1e-9}, lambda D: cp.multiply(H, D)),
    }[kind]
    result = nearest_correlation(
        G, **options, bounds=(-0.4, 0.6), fixed=[(3, 0)], min_eigenvalue=0.1
    )
    off = ~np.eye(n, dtype=bool)
    off[0, 3] = off[3, 0] = False
    expected = cvxpy_nearest(
        G, weigh, lambda X: [X[off] >= -0.4, X[off] <= 0.6, X[0, 3] == G[0, 3]], floor=0.1
    )
    np.testing.assert_allclose(result, expected, atol=1e-4)
    assert is_correlation(result.matrix, 0.1)


# The map, the multipliers, callbacks and warnings


@pytest.mark.parametrize("full", [False, True])
def test_entries_and_their_adjoint_belong_together(full, rng):
    n = 5
    i, j = np.array([0, 1, 1, 1, 2]), np.array([0, 1, 3, 3, 4])
    K = symmetric(rng.normal(size=(n, n))) if full else rng.uniform(1, 2, n)
    rows = ScaledEntries(i, j, K)
    M, u = symmetric(rng.normal(size=(n, n))), rng.normal(size=5)
    whole = K if full else np.diag(K)
    np.testing.assert_allclose(rows.forward(M), (whole @ M @ whole)[i, j])
    assert rows.forward(M) @ u == pytest.approx(np.vdot(M, rows.adjoint(u)))
    norms = [np.linalg.norm(A) for A in dense_rows(rows)]
    np.testing.assert_allclose(rows.norms(), norms)
    part = rows.restrict(np.array([1, 4]))
    np.testing.assert_allclose(part.forward(M), rows.forward(M)[[1, 4]])


@pytest.mark.parametrize("unit", [1.0, 0.7])
def test_what_rounding_leaves_negative_is_shrunk_just_enough(unit):
    rows = as_rows(HIGHAM, (None, 0.9), None, unit)
    M = make_exact(unit * HIGHAM, rows, unit)
    lowest = np.linalg.eigvalsh(M)[0]
    assert abs(lowest) <= 1e-15
    np.testing.assert_allclose(np.diagonal(M), unit)
    np.testing.assert_allclose(M[0, 1], unit / np.sqrt(2))  # eigenvalues 1 and 1 +- sqrt(2)


def test_multipliers_are_slopes(rng):
    # a diagonal of 1 + h is that of G / (1 + h), at (1 + h) times the distance
    G, h = uniform(6, rng), 1e-4
    result = nearest_correlation(G, tol=1e-12)
    up, down = (
        ((1 + t) * nearest_correlation(G / (1 + t), tol=1e-12).distance) ** 2 / 2 for t in (h, -h)
    )
    assert result.multipliers.shape == (6,)
    assert result.multipliers.sum() == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_result_is_an_array_and_frames_are_taken():
    frame = pd.DataFrame(HIGHAM, index=list("abc"), columns=list("abc"))
    result = nearest_correlation(frame)
    np.testing.assert_array_equal(np.asarray(result), result.matrix)
    assert np.asarray(result, dtype=np.float32).dtype == np.float32
    assert np.array(result, copy=True) is not result.matrix
    np.testing.assert_array_equal(result.matrix, nearest_correlation(HIGHAM).matrix)
    assert frame.loc["a", "b"] == 1.0


@pytest.mark.parametrize("options", [{}, {"elementwise": np.ones((3, 3))}])
def test_callback_sees_steps_and_stops(options):
    steps = []
    result = nearest_correlation(HIGHAM, callback=steps.append, **options)
    assert result.status == "optimal"
    assert steps[-1].dual == pytest.approx(result.distance**2 / 2, rel=1e-6)
    result = nearest_correlation(TRIDIAGONAL[:3, :3], callback=lambda step: True, **options)
    assert result.status == "stopped"
    assert is_correlation(result.matrix)


@pytest.mark.parametrize("options", [{}, {"elementwise": HIGHAM + 0.1}])
def test_too_few_steps_warn(options):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        result = nearest_correlation(HIGHAM, max_iter=1, **options)
    assert result.status == "max_iter"
    assert is_correlation(result.matrix)


# Infeasible bounds and fixed entries


@pytest.mark.parametrize("options", [{}, {"elementwise": np.ones((3, 3))}, {"weights": [1, 2, 3]}])
def test_contradicting_fixed_entries_are_named(options):
    G = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    with pytest.raises(ValueError, match=r"no correlation matrix has all.*X\[0, 2\] equal to -0.9"):
        nearest_correlation(G, fixed=np.ones((3, 3), bool), **options)


def test_contradicting_bounds_are_named(rng):
    upper = -0.5 * np.ones((6, 6))  # at best -1/5 each
    with pytest.raises(ValueError, match=r"no correlation matrix has all.*at most -0.5"):
        nearest_correlation(uniform(6, rng), bounds=(None, upper))


def test_fixed_entries_that_are_just_possible(rng):
    G = uniform(5, rng)
    G[:3, :3] = [[1, 0.5, -0.5], [0.5, 1, 0.5], [-0.5, 0.5, 1]]  # singular
    pairs = [(0, 1), (0, 2), (1, 2)]
    with pytest.warns(ConvergenceWarning):
        result = nearest_correlation(G, fixed=pairs, max_iter=60)
    assert is_correlation(result.matrix)
    np.testing.assert_allclose([result.matrix[p] for p in pairs], [0.5, -0.5, 0.5], atol=1e-3)


# Wrong input


def at(i, j, value, n=3):
    A = np.eye(n)
    A[i, j] = A[j, i] = value
    return A


def one_sided(value):
    A = np.zeros((3, 3))
    A[0, 1] = value
    return A


@pytest.mark.parametrize(
    ("G", "options", "words"),
    [
        (np.ones(3), {}, r"G has shape (3,); expected (n, n) with n at least 1"),
        (np.ones((2, 3)), {}, r"G has shape (2, 3)"),
        (np.ones((0, 0)), {}, r"G has shape (0, 0); expected (n, n) with n at least 1"),
        (at(1, 2, np.nan), {}, r"G[1, 2] is nan; every entry must be finite; where it is missing"),
        (at(0, 0, np.inf), {}, r"G[0, 0] is inf"),
        (
            np.eye(3) + one_sided(0.25),
            {},
            r"G is not symmetric: G[0, 1] = 0.25 and G[1, 0] = 0; pass (G + G.T) / 2",
        ),
        (np.eye(3), {"weights": [1, 0, 1]}, "weights[1] = 0; weights must be positive"),
        (np.eye(3), {"weights": [1, 1, -2]}, "weights[2] = -2; weights must be positive"),
        (np.eye(3), {"weights": [1, 1, np.nan]}, "weights[2] = nan"),
        (np.eye(3), {"weights": [1, 1]}, "weights has shape (2,); expected (3,) or (3, 3)"),
        (np.eye(3), {"weights": 2.0}, "weights has shape (); expected (3,) or (3, 3)"),
        (np.eye(3), {"weights": np.ones((3, 3))}, "W must be positive definite"),
        (np.eye(3), {"weights": np.eye(3) + one_sided(1)}, "weights is not symmetric"),
        (np.eye(3), {"elementwise": np.ones(3)}, "elementwise has shape (3,)"),
        (np.eye(3), {"elementwise": np.ones((2, 2))}, "elementwise has shape (2, 2) and G has"),
        (np.eye(3), {"elementwise": at(0, 1, -1)}, "elementwise[0, 1] = -1 is negative"),
        (np.eye(3), {"elementwise": at(0, 1, np.nan)}, "elementwise[0, 1] is nan"),
        (
            at(1, 2, np.nan),
            {"elementwise": np.ones((3, 3))},
            "G[1, 2] is nan; every entry must be finite; where it is missing, give it the weight 0",
        ),
        (
            at(1, 2, np.nan),
            {"elementwise": at(1, 2, 0), "fixed": [(1, 2)]},
            "the fixed entry G[1, 2] = nan",
        ),
        (np.eye(3), {"elementwise": np.eye(3), "weights": np.ones(3)}, "not several"),
        (np.eye(3), {"bounds": (0.5, 0.2)}, "the bounds cross at [0, 1]: 0.5 > 0.2"),
        (np.eye(3), {"bounds": (one_sided(0.5), 1)}, "the lower bounds are not symmetric: 0.5 at"),
        (np.eye(3), {"bounds": (0, np.ones(3))}, "the upper bounds have shape (3,)"),
        (np.eye(3), {"bounds": (1.5, None)}, "the lower bound 1.5 at [0, 1] is above 1"),
        (np.eye(3), {"bounds": (None, -1.5)}, "the upper bound -1.5 at [0, 1] is below -1"),
        (np.eye(3), {"bounds": 0.5}, "bounds must be a pair (lower, upper)"),
        (at(0, 2, 1.25), {"fixed": [(0, 2)]}, "the fixed entry G[0, 2] = 1.25 is not within 1"),
        (
            at(0, 2, 0.95),
            {"fixed": [(0, 2)], "min_eigenvalue": 0.1},
            "the fixed entry G[0, 2] = 0.95 is not within 0.9",
        ),
        (
            at(0, 2, 0.5),
            {"fixed": [(0, 2)], "bounds": (None, 0.2)},
            "the fixed entry G[0, 2] = 0.5 breaks its bounds",
        ),
        (np.eye(3), {"fixed": [(0, 1), (1, 3)]}, "fixed[1] = (1, 3) must be two different numbers"),
        (np.eye(3), {"fixed": [(2, 2)]}, "fixed[0] = (2, 2) must be two different"),
        (np.eye(3), {"fixed": [(0, -1)]}, "fixed[0] = (0, -1)"),
        (np.eye(3), {"fixed": np.ones((2, 2), bool)}, "fixed has shape (2, 2); a mask must have"),
        (np.eye(3), {"fixed": [(0.5, 1)]}, "fixed has shape (1, 2) and type float64"),
        (np.eye(3), {"fixed": [0, 1]}, "fixed has shape (2,) and type int64"),
        (np.eye(3), {"min_eigenvalue": 1.0}, "min_eigenvalue=1.0 must lie in [0, 1)"),
        (np.eye(3), {"min_eigenvalue": -0.1}, "min_eigenvalue=-0.1 must lie in [0, 1)"),
        (np.eye(3), {"min_eigenvalue": np.nan}, "min_eigenvalue is nan; expected a real number"),
        (np.eye(3), {"tol": 0}, "tol=0 must be positive"),
        (np.eye(3), {"max_iter": 0}, "max_iter=0 must be at least 1"),
    ],
)
def test_wrong_input_is_refused(G, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        nearest_correlation(G, **options)


def test_rounding_is_no_asymmetry(rng):
    G = uniform(5, rng)
    result = nearest_correlation(G + 1e-10 * rng.normal(size=G.shape))
    np.testing.assert_allclose(result, nearest_correlation(G), atol=1e-8)


def test_empty_options_ask_for_nothing(rng):
    G = uniform(5, rng)
    expected = nearest_correlation(G).matrix
    for options in ({"fixed": []}, {"bounds": (None, None)}, {"bounds": (-1, 1)}, {"fixed": G > 9}):
        np.testing.assert_array_equal(nearest_correlation(G, **options), expected)
