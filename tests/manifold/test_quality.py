"""Neighbourhood curves against their definitions."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.utils import check_random_state

from frobmetric.core import threads
from frobmetric.manifold import quality
from frobmetric.manifold.quality import coranking_matrix, neighborhood_quality

# Two lines of four points.          neighbours, near to far     ranks in Y of those of X
#   X = 0, 1, 3, 7    Y = 0, 5, 1, 2    of X       of Y
#                             point 0   1, 2, 3    2, 3, 1             3, 1, 2
#                             point 1   0, 2, 3    3, 2, 0             3, 2, 1
#                             point 2   1, 0, 3    0, 3, 1 (a tie)     3, 1, 2
#                             point 3   2, 1, 0    2, 0, 1             1, 3, 2
LINE = np.array([[0.0], [1.0], [3.0], [7.0]])
MOVED = np.array([[0.0], [5.0], [1.0], [2.0]])
CORANKS = [[1, 0, 3], [2, 1, 1], [1, 3, 0]]


def by_definition(X, Y, chosen=None):
    """Q, B and R from the ranks of integer points, whose squared distances have no rounding."""
    n = len(X)
    chosen = np.arange(n) if chosen is None else chosen
    rho, r = (integer_ranks(points)[chosen] for points in (X, Y))
    outside = np.ones((len(chosen), n), dtype=bool)
    outside[np.arange(len(chosen)), chosen] = False
    q, b = [], []
    for K in range(1, n):
        inside = outside & (rho <= K) & (r <= K)
        q.append(inside.sum() / (K * len(chosen)))
        b.append(((inside & (rho < r)).sum() - (inside & (rho > r)).sum()) / (K * len(chosen)))
    K = np.arange(1, n - 1)
    return np.array(q), np.array(b), ((n - 1) * np.array(q)[:-1] - K) / (n - 1 - K)


def integer_ranks(points):
    points = np.asarray(points).astype(int)
    ranks = np.zeros((len(points), len(points)), dtype=int)
    for i, point in enumerate(points):
        squared = ((points - point) ** 2).sum(axis=1)
        others = [j for j in sorted(range(len(points)), key=lambda j: (squared[j], j)) if j != i]
        ranks[i, others] = np.arange(1, len(points))
    return ranks


def assert_same(quality, expected):
    for name, curve in zip(("q_nx", "b_nx", "r_nx"), expected, strict=True):
        np.testing.assert_array_equal(getattr(quality, name), curve, err_msg=name)


def curves(quality):
    return quality.q_nx, quality.b_nx, quality.r_nx


def with_ties(rng, n=40, n_features=3):
    """Integer points on a small grid, so with duplicates, and a poor embedding of them."""
    X = rng.integers(0, 4, (n, n_features)).astype(float)
    return X, X[:, :2] + rng.integers(0, 2, (n, 2))


def test_four_points_by_hand():
    np.testing.assert_array_equal(coranking_matrix(LINE, MOVED), CORANKS)
    quality = neighborhood_quality(LINE, MOVED)
    # Q: the upper left corners of the matrix hold 1, 1 + 0 + 2 + 1 and 12 pairs
    np.testing.assert_allclose(quality.q_nx, [1 / 4, 4 / 8, 12 / 12])
    # B: above the diagonal less below it, 0 - 0, 0 - 2 and (0 + 3 + 1) - (2 + 1 + 3)
    np.testing.assert_allclose(quality.b_nx, [0, -2 / 8, -2 / 12])
    # R: (3/4 - 1) / 2 and (3/2 - 2) / 1; its area (-1/8 + (-1/2)/2) / (1 + 1/2)
    np.testing.assert_allclose(quality.r_nx, [-1 / 8, -1 / 2])
    assert quality.area == pytest.approx(-1 / 4)


def test_a_perfect_embedding(rng):
    X = rng.normal(size=(30, 3))
    quality = neighborhood_quality(X, X @ np.linalg.qr(rng.normal(size=(3, 3)))[0] * 5 + 1)
    np.testing.assert_array_equal(quality.q_nx, 1)
    np.testing.assert_array_equal(quality.b_nx, 0)
    np.testing.assert_array_equal(quality.r_nx, 1)
    assert quality.area == pytest.approx(1)


def test_a_random_embedding_has_no_quality(rng):
    X, Y = rng.normal(size=(2, 400, 2))
    assert abs(neighborhood_quality(X, Y).area) < 0.02


@pytest.mark.parametrize("n_features", [1, 3, quality.MANY_FEATURES])
def test_as_defined_also_with_ties(rng, n_features):
    X, Y = with_ties(rng, n_features=n_features)
    Y = np.pad(Y[:, : min(2, n_features)], ((0, 0), (0, 1)))
    assert_same(neighborhood_quality(X, Y), by_definition(X, Y))


def test_the_coranking_matrix_gives_the_curves(rng):
    X, Y = with_ties(rng)
    q, n = coranking_matrix(X, Y), len(X)
    assert q.dtype.kind == "i"
    np.testing.assert_array_equal(q.sum(axis=0), n)
    np.testing.assert_array_equal(q.sum(axis=1), n)
    K = np.arange(1, n)
    corners = [q[:k, :k] for k in K]
    kept = np.array([corner.sum() for corner in corners])
    behaviour = np.array([np.triu(c, 1).sum() - np.tril(c, -1).sum() for c in corners])
    curve = neighborhood_quality(X, Y)
    np.testing.assert_array_equal(curve.q_nx, kept / (K * n))
    np.testing.assert_array_equal(curve.b_nx, behaviour / (K * n))


def test_blocks_and_threads_change_nothing(rng, monkeypatch):
    X, Y = with_ties(rng)
    expected, matrix = curves(neighborhood_quality(X, Y)), coranking_matrix(X, Y)
    monkeypatch.setattr(threads, "SMALL_WORK", 0)
    monkeypatch.setattr(threads, "_n_threads", lambda: 3)
    for block in (1, 3 * len(X), 1 << 20):
        monkeypatch.setattr(quality, "BLOCK", block)
        assert_same(neighborhood_quality(X, Y), expected)
        np.testing.assert_array_equal(coranking_matrix(X, Y), matrix)


def test_memory_is_that_of_the_blocks(rng, monkeypatch):
    monkeypatch.setattr(quality, "BLOCK", 1 << 14)
    X = rng.normal(size=(2000, 3))
    neighborhood_quality(X[:10], X[:10])  # what the first call imports
    tracemalloc.start()
    neighborhood_quality(X, X[:, :2])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6 < 2000 * 2000 * 8 / 4


def test_sampled_neighbourhoods_are_among_all_points(rng):
    X, Y = with_ties(rng)
    chosen = np.sort(check_random_state(3).choice(len(X), 7, replace=False))
    sampled = neighborhood_quality(X, Y, n_rows=7, random_state=3)
    assert_same(sampled, by_definition(X, Y, chosen))
    assert_same(neighborhood_quality(X, Y, n_rows=len(X)), by_definition(X, Y))


def cylinder():
    """300 points spread evenly over a cylinder of radius 1 and height 3, and their angles."""
    i = np.arange(300)
    angle = 2 * np.pi * (i * (np.sqrt(5) - 1) / 2 % 1)
    return np.column_stack([np.cos(angle), np.sin(angle), i / 100]), angle


def test_crushing_is_intrusive_and_tearing_extrusive():
    X, angle = cylinder()
    flattened = neighborhood_quality(X, X[:, 1:])
    cut_open = neighborhood_quality(X, np.column_stack([angle, X[:, 2]]))
    nearest = slice(4, 100)
    assert (flattened.b_nx[nearest] > 0).all()
    assert (cut_open.b_nx[nearest] < 0).all()


def test_given_distances_are_those_of_the_points(rng):
    X, Y = with_ties(rng)
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    distances[0, 1] *= -1 if distances[0, 1] == 0 else 1  # a negative zero is a zero
    np.fill_diagonal(distances, 7.0)  # is not looked at
    expected = by_definition(X, Y)
    for given_distances in (distances, distances.tolist(), distances.astype(np.float32)):
        assert_same(neighborhood_quality(given_distances, Y, metric="precomputed"), expected)


def test_other_metrics_and_sparse_data(rng):
    X, Y = with_ties(rng)
    manhattan = np.abs(X[:, None] - X).sum(axis=2)
    expected = curves(neighborhood_quality(manhattan, Y, metric="precomputed"))
    for data in (X, sp.csr_array(X), X.astype(int)):
        assert_same(neighborhood_quality(data, Y, metric="manhattan"), expected)
    for data in (sp.csr_array(X), sp.coo_matrix(X), sp.csc_array(X) * 2.0**900):
        assert_same(neighborhood_quality(data, Y), by_definition(X, Y))

    def euclidean(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    assert_same(neighborhood_quality(X, Y, metric=euclidean), by_definition(X, Y))


@pytest.mark.parametrize("n_features", [3, 100])
@pytest.mark.parametrize(("offset", "unit"), [(0, 2.0**900), (0, 2.0**-1040), (2.0**40, 1)])
def test_neither_unit_nor_place_matters(rng, n_features, offset, unit):
    X, Y = with_ties(rng, n_features=n_features)
    assert_same(neighborhood_quality(X * unit + offset, Y), by_definition(X, Y))
    assert_same(neighborhood_quality(X, Y * unit + offset), by_definition(X, Y))


def test_ties_that_rounding_broke_are_ties():
    """A turned grid: equal distances differ in their last bits."""
    grid = np.array([[i, j] for i in range(7) for j in range(7)], dtype=float)
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    assert_same(neighborhood_quality(grid, grid @ turn), by_definition(grid, grid))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    Y=arrays(np.int64, (12, 2), elements=st.integers(-5, 5)),
    shift=st.integers(-1000, 1000),
    factor=st.sampled_from([1, 2, 3, 2.0**-20]),
    turn=st.sampled_from([[[1, 0], [0, -1]], [[0, 1], [1, 0]], [[3, -4], [4, 3]]]),
)
def test_similar_embeddings_are_equally_good(Y, shift, factor, turn):
    X = np.arange(36).reshape(12, 3) % 7
    expected = curves(neighborhood_quality(X, Y))
    assert_same(neighborhood_quality(X, (Y @ turn + shift) * factor), expected)
    assert_same(neighborhood_quality(X, np.pad(Y, ((0, 0), (0, 1)))), expected)


def test_bad_input_is_named(rng):
    X = rng.normal(size=(5, 2))
    hole, infinite = X.copy(), sp.csr_array(X)
    hole[3, 1], infinite[2, 0] = np.nan, np.inf
    for arguments, message in (
        ((X, X[:4]), "X has 5 rows and Y has 4; expected one row of Y for each of X"),
        ((X[:2], X[:2]), "X has 2 rows; ranks need at least 3 points"),
        ((hole, X), "row 3 of X holds NaN or infinity; expected finite numbers: remove"),
        ((infinite, X), "row 2 of X holds NaN or infinity"),
        ((X, hole), "row 3 of Y holds NaN or infinity"),
        ((X, X, "precomputed"), r"X has shape \(5, 2\) and metric = 'precomputed'; .*square"),
        ((sp.csr_array(X), X, "canberra"), r"X is sparse and metric = 'canberra'.*X\.toarray"),
        ((X @ X.T - 9, X, "precomputed"), "point 0 to point 0 is -.*finite and not negative"),
        ((np.full((5, 5), np.nan), X, "precomputed"), "to point 0 is nan"),
        ((X, X[:, 0]), "1D array"),
    ):
        X_given, Y_given, *metric = arguments
        options = {"metric": metric[0]} if metric else {}
        for judge in (neighborhood_quality, coranking_matrix):
            with pytest.raises(ValueError, match=message):
                judge(X_given, Y_given, **options)
    for rows in (0, 6, 2.5):
        with pytest.raises(ValueError, match=f"n_rows = {rows}; expected an integer from 1 to 5"):
            neighborhood_quality(X, X, n_rows=rows)
