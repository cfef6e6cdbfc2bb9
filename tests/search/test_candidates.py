"""Candidates of blocks of points against all distances, on data that spoil low precision."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from frobmetric.core import kernels
from frobmetric.search import products as _products
from frobmetric.search import sketches as _sketches
from frobmetric.search.candidates import block_candidates, merge_candidates
from frobmetric.search.exact import NeighborSearch
from frobmetric.search.sketches import Points, Sketch
from frobmetric.search.tuning import Tuning

N = 400


def search_of(points, **tuning):
    """Return a search that always goes by candidates."""
    return NeighborSearch(points, tuning=Tuning(few_distances=0, **tuning))


def by_hand(X, k, labels=None):
    """All distances from differences, a stable sort."""
    X = X.astype(float)
    values = np.array([((X / abs(X).max() - x) ** 2).sum(axis=1) for x in X / abs(X).max()])
    if labels is not None:
        values[labels[0][:, None] == labels[1]] = np.inf
    return np.argsort(values, axis=1, kind="stable")[:, :k]


def outlier(X, size):
    X = X.copy()
    X[N // 2] *= size
    return X


DATA = {
    "normal": lambda X, rng: X,
    "decaying": lambda X, rng: X / np.arange(1, X.shape[1] + 1),
    "integers": lambda X, rng: rng.integers(0, 3, size=X.shape) * 1.0,
    "duplicates": lambda X, rng: X[rng.integers(N // 4, size=N)],
    "equal": lambda X, rng: np.ones_like(X),
    "far away": lambda X, rng: np.round(X * 2**10) / 2**10 + 1e8,
    "small": lambda X, rng: X * 2.0**-600,
    "large": lambda X, rng: X * 2.0**600,
    "single precision": lambda X, rng: X.astype(np.float32),
    "an outlier": lambda X, rng: outlier(X, 1e8),
    "an outlier out of range": lambda X, rng: outlier(X, 1e30),
    "tight clusters": lambda X, rng: rng.integers(0, 2, size=(N, 1)) + 2.0**-18 * X,
}


@pytest.mark.parametrize("n_features", [7, 60])
@pytest.mark.parametrize("kind", DATA)
def test_neighbours_are_exact(rng, kind, n_features):
    X = DATA[kind](rng.normal(size=(N, n_features)), rng)
    labels = np.arange(N), np.arange(N)
    found = search_of(X).nearest(X, 4, labels=labels)
    expected = by_hand(X, 4, labels)
    scaled = X / abs(X.astype(float)).max()
    values = cdist(scaled, scaled, "sqeuclidean")
    np.testing.assert_array_equal(
        np.take_along_axis(values, found, 1), np.take_along_axis(values, expected, 1)
    )
    if kind in ("normal", "integers", "equal", "duplicates", "far away"):
        np.testing.assert_array_equal(found, expected)


def test_an_outlier_spoils_its_own_row_only(rng):
    points = Points(outlier(rng.normal(size=(N, 40)), 1e30))
    block_candidates(points.coordinates, points, 3)
    single = points._sketches[0]
    assert single.dtype == np.float32
    assert single._n_settled >= N - 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_leading", [3, 30])
def test_products_are_lower_bounds(rng, dtype, n_leading):
    X = np.vstack([rng.normal(size=(60, 30)), 1e5 * rng.normal(size=(9, 30)), np.zeros((2, 30))])
    X[-1, 0] = 1e25
    frame = _sketches.Frame.of(X)
    frame = frame._replace(directions=frame.directions[:, :n_leading])
    sketch = Sketch(X, frame, dtype, n_leading)
    moved = frame(X)
    norm2 = (moved**2).sum(axis=1)
    short, is_near = sketch.of_queries(moved, norm2)
    bound = 2 * (short @ sketch.points.T).astype(float) + (1 - sketch.slack) * norm2[:, None]
    exact = cdist(moved, moved, "sqeuclidean")
    assert (bound <= exact)[is_near].all()
    assert is_near.sum() >= 70
    if n_leading == 30:
        assert (exact - bound)[:60, :60].max() < 1e-3


@pytest.mark.parametrize("tie", [0.0, 0.3])
def test_blocks_of_points_merge_to_the_answer(rng, tie):
    """Parts may come from other processes; each has its own centre and unit."""
    X = rng.integers(0, 3, size=(N, 8)) * 1.0
    labels = np.arange(N), np.arange(N)
    ends = [0, 90, 95, 96, 300, N]
    parts = [
        block_candidates(X, X[i:j], 5, labels=(labels[0], labels[1][i:j]), tie=tie, offset=i)
        for i, j in pairwise(ends)
    ]
    parts = pickle.loads(pickle.dumps(parts))
    found, is_certain = merge_candidates(parts, 5, tie=tie)
    assert is_certain.all()
    np.testing.assert_array_equal(found, search_of(X).nearest(X, 5, labels=labels, tie=tie))


def test_the_edge_is_below_all_that_is_not_listed(rng):
    X = rng.normal(size=(N, 9))
    found = block_candidates(X, X, 3)
    values = cdist(X, X, "sqeuclidean")
    np.testing.assert_allclose(found.value, values[found.row, found.number], atol=1e-12)
    values[found.row, found.number] = np.inf
    assert (values.min(axis=1) >= found.edge * (1 - 1e-12)).all()


def test_an_answer_beyond_the_edge_is_not_certain(rng):
    X = rng.normal(size=(N, 9))
    part = block_candidates(X, X, 3)
    _, is_certain = merge_candidates([part], 3)
    assert is_certain.all()
    _, is_certain = merge_candidates([part], 30)
    assert not is_certain.any()


def test_no_queries(rng):
    part = block_candidates(np.empty((0, 9)), rng.normal(size=(N, 9)), 3)
    assert merge_candidates([part], 3)[0].shape == (0, 3)


@pytest.mark.parametrize(("k", "products"), [(3, 1000), (60, 1 << 20), (300, 1 << 20)])
def test_blocks_and_threads_change_nothing(rng, k, products):
    X = rng.normal(size=(N, 30)) / np.arange(1, 31)
    expected = by_hand(X, k)
    for points in (90, 1 << 16):
        tuning = {"n_points": points, "n_held": products}
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                found = search_of(X, **tuning).nearest(X, k)
                np.testing.assert_array_equal(found, expected)


def test_without_numba(rng, monkeypatch):
    monkeypatch.setattr("frobmetric.core.kernels.compiled", lambda: None)
    monkeypatch.setattr("frobmetric.core.kernels.BLOCK", 100)
    X = rng.normal(size=(N, 30))
    np.testing.assert_array_equal(search_of(X).nearest(X, 3), by_hand(X, 3))


@pytest.mark.skipif(kernels.compiled() is None, reason="needs numba (extra `fast`)")
@pytest.mark.parametrize("n_features", [9, 40])
@pytest.mark.parametrize("kind", [*DATA, "without labels", "classes"])
def test_products_in_tiles_find_the_same(rng, kind, n_features):
    """Neither the number of queries nor that of points is one of whole tiles."""
    X, labels = rng.normal(size=(N, n_features)), (np.arange(N), np.arange(N))
    X = DATA.get(kind, lambda X, rng: X / np.arange(1, n_features + 1))(X, rng)
    if kind in ("without labels", "classes"):
        y = rng.integers(0, 3, size=N) + 2**40  # more than 32 bits
        labels = None if kind == "without labels" else (y, y)
    parts = {}
    for threshold in (np.inf, 0):
        tuning = Tuning(large=threshold, fewest=0, n_fused=30)
        points = Points(X / abs(X).max(), tuning=tuning)
        kind_of = _products.kind_of_products(points.sketches()[0], points, 10, N)
        assert kind_of is (_products.Products if threshold else _products.FusedProducts)
        parts[threshold] = block_candidates(points.coordinates, points, 4, labels=labels)
    found = [merge_candidates([part], 4)[0] for part in parts.values()]
    np.testing.assert_array_equal(*found)
    assert (found[0] >= 0).all()


@pytest.mark.skipif(kernels.compiled() is None, reason="needs numba (extra `fast`)")
def test_the_least_products_of_groups(rng):
    n_features, n_tiles = 37, 3
    P = rng.normal(size=(2 * kernels.ROWS, n_features)).astype(np.float32)
    tiles = rng.normal(size=(n_tiles, n_features, kernels.WIDTH)).astype(np.float32)
    of_rows = rng.integers(0, 3, len(P)).astype(np.int32)
    of_points = rng.integers(0, 3, n_tiles * kernels.WIDTH).astype(np.int32)
    of_points[: kernels.GROUP] = of_rows[0]  # nothing is left for the first row
    expected = P.astype(float) @ np.hstack(tiles.astype(float))
    expected[of_rows[:, None] == of_points] = np.inf
    groups = expected.reshape(len(P), -1, kernels.GROUP)
    least = np.empty(groups.shape[:2], dtype=np.float32)
    loops = kernels.compiled()
    loops.least_of_groups(P, tiles, of_rows, of_points, least)
    np.testing.assert_allclose(least, groups.min(axis=2), rtol=1e-5, atol=1e-4)
    assert least[0, 0] == np.inf
    row, group = (grid.ravel() for grid in np.indices(least.shape))
    products = np.empty((len(row), kernels.GROUP), dtype=np.float32)
    loops.group_products(P, tiles, of_rows, of_points, row, group, products)
    np.testing.assert_allclose(products.reshape(groups.shape), groups, rtol=1e-5, atol=1e-4)


def test_a_sketch_that_settles_too_little_is_given_up(rng):
    """Clusters so tight that single precision cannot tell their points apart."""
    X = rng.integers(0, 2, size=(N, 1)) + 2.0**-18 * rng.normal(size=(N, 9))
    search = search_of(X, trial=50, many=1, n_held=50 * N)
    np.testing.assert_array_equal(search.nearest(X, 3), by_hand(X, 3))
    assert len(search._prepared.sketches()) == 1
