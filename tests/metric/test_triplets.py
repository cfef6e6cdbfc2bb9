import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from frobmetric import mine_triplets
from frobmetric.metric import triplets as module
from frobmetric.metric.sets import as_triplets, triplets_from_arrays


def neighbors_by_hand(X, y, k, n_impostors):
    """All distances, a stable sort, one sample at a time."""
    D = cdist(X, X).round(9)
    np.fill_diagonal(D, np.inf)
    rows = []
    for i in range(len(X)):
        order = np.argsort(D[i], kind="stable")
        near = [j for j in order if y[j] == y[i] and j != i][:k]
        far = [j for j in order if y[j] != y[i]][:n_impostors]
        rows += [(i, a, b) for a in near for b in far]
    return sorted((int(i), int(a), int(b)) for i, a, b in rows)


def as_set(mined):
    return sorted(tuple(row) for row in mined.to_array().tolist())


@pytest.mark.parametrize("small_class", [0, 32])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_exact_neighbors(rng, monkeypatch, small_class, n_classes):
    monkeypatch.setattr(module, "SMALL_CLASS", small_class)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % n_classes
    mined = mine_triplets(X, y, 3, 2)
    assert as_set(mined) == neighbors_by_hand(X, y, 3, 2)
    assert mined.n_triplets == 90 * 6


@pytest.mark.parametrize("block", [50, 1 << 22])
def test_ties_and_duplicates_go_by_row_number(rng, monkeypatch, block):
    """A small grid: nearly every distance is shared by many pairs, and points repeat."""
    monkeypatch.setattr(module, "BLOCK", block)
    X = rng.integers(0, 3, size=(80, 3)).astype(float)
    y = rng.integers(0, 3, size=80)
    expected = neighbors_by_hand(X, y, 3, 3)
    assert as_set(mine_triplets(X, y)) == expected
    # scaling by 0.1 rounds every coordinate, but breaks no tie
    assert as_set(mine_triplets(X * 0.1 + 7, y)) == expected


def test_no_sample_is_its_own_neighbor_among_duplicates():
    X = np.zeros((8, 2))
    X[6:] = 1.0
    T = mine_triplets(X, np.array([0, 0, 0, 0, 0, 0, 1, 1]), 1).to_array()
    assert (T[:, 0] != T[:, 1]).all()
    assert len(T) == 8


def test_far_from_the_origin(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    assert as_set(mine_triplets(X + 1e6, y)) == as_set(mine_triplets(X, y))


def test_small_classes_give_what_they_have():
    X = np.arange(9.0)[:, None]
    y = np.array(["a"] * 6 + ["b"] * 2 + ["c"])
    with pytest.warns(UserWarning, match=r"n_neighbors \+ 1 = 4 samples .*: b \(2\), c \(1\)"):
        mined = mine_triplets(X, y)
    T = mined.to_array()
    assert sorted(set(T[:, 0].tolist())) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (T[:, 0] == 6).sum() == 3
    assert mined.n_triplets == len(T) == 6 * 9 + 2 * 3


def test_impostors_may_be_fewer_too():
    X, y = np.arange(7.0)[:, None], np.array([0] * 5 + [1] * 2)
    T = mine_triplets(X, y, 1, 4, warn_small=False).to_array()
    assert (T[:, 0] == 0).sum() == 2
    assert (T[:, 0] == 6).sum() == 4


def test_blocks_and_rows_are_the_same_constraints(rng):
    X, y = rng.normal(size=(30, 3)), np.r_[np.zeros(25, int), 1, 1, 2, 2, 2]
    mined = mine_triplets(X, y, warn_small=False)
    assert len(mined.blocks) > 1
    given = as_triplets(mined.to_array(), 30)
    M, u = np.eye(3), rng.random(mined.n_triplets)
    np.testing.assert_allclose(mined.constraints(X).forward(M), given.constraints(X).forward(M))
    np.testing.assert_allclose(mined.constraints(X).adjoint(u), given.constraints(X).adjoint(u))
    for triplets in (mined, given):
        again = triplets_from_arrays(triplets.to_arrays())
        np.testing.assert_array_equal(again.to_array(), mined.to_array())
        np.testing.assert_allclose(again.share.sum(), 1)


def test_a_precomputed_graph_replaces_the_search(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    graph = kneighbors_graph(X, 59, mode="distance")
    assert as_set(mine_triplets(X, y, graph=graph)) == as_set(mine_triplets(X, y))
    short = mine_triplets(X, y, graph=kneighbors_graph(X, 4, mode="distance"))
    assert 0 < short.n_triplets < mine_triplets(X, y).n_triplets


@pytest.mark.parametrize("bad", [np.eye(3), None])
def test_a_graph_of_another_kind_is_refused(rng, bad):
    X, y = rng.normal(size=(6, 3)), np.arange(6) % 2
    graph = bad if bad is not None else kneighbors_graph(X[:5], 2, mode="distance")
    with pytest.raises(ValueError, match=r"expected a sparse matrix of shape \(6, 6\)"):
        mine_triplets(X, y, graph=graph)


def test_labels_that_allow_no_triplet_are_refused(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match="y has one class"):
        mine_triplets(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="no triplet can be formed"):
        mine_triplets(X, [1, 2, 3, 4], warn_small=False)
    with pytest.raises(ValueError, match="inconsistent"):
        mine_triplets(X, [1, 2, 3])


@pytest.mark.parametrize(
    ("triplets", "error", "match"),
    [
        (np.empty((0, 3), int), ValueError, "triplets is empty"),
        ([[0, 1]], ValueError, r"shape \(1, 2\); expected \(n_triplets, 3\)"),
        ([[0.0, 1.0, 2.0]], TypeError, "dtype float64; expected integers"),
        ([[0, 1, 2], [0, 1, 9]], ValueError, r"triplets\[1\] = \(0, 1, 9\) is out of range"),
        ([[0, -1, 2]], ValueError, r"triplets\[0\] = \(0, -1, 2\) is out of range"),
        (
            [[0, 1, 2], [4, 4, 1]],
            ValueError,
            r"triplets\[1\] = \(4, 4, 1\) compares a point with it",
        ),
        ([[0, 3, 3]], ValueError, "the three indices must differ"),
    ],
)
def test_bad_triplets_are_refused(triplets, error, match):
    with pytest.raises(error, match=match):
        as_triplets(triplets, 5)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1.0], r"shape \(1,\); there are 2 comparisons"),
        ([1.0, -1.0], r"triplet_weight\[1\] = -1.0 must be non-negative"),
        ([np.nan, 1.0], r"triplet_weight\[0\] = nan"),
        ([0.0, 0.0], "zero for every comparison"),
    ],
)
def test_bad_weights_are_refused(weight, match):
    with pytest.raises(ValueError, match=match):
        as_triplets([[0, 1, 2], [1, 2, 3]], 4, weight)


@pytest.mark.parametrize("spare", [0, 2, 8])
@pytest.mark.parametrize("small_class", [0, 32])
def test_ties_beyond_what_the_search_found(rng, monkeypatch, spare, small_class):
    """More ties than spare neighbours, with and without a search of all classes at once."""
    monkeypatch.setattr(module, "SPARE", spare)
    monkeypatch.setattr(module, "SMALL_CLASS", small_class)
    X = rng.integers(0, 2, size=(90, 4)).astype(float)
    y = rng.integers(0, 4, size=90)
    assert as_set(mine_triplets(X, y)) == neighbors_by_hand(X, y, 3, 3)
