"""Triplets from labels and from pairs against loops that follow the definitions."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from frobmetric import mine_triplets, triplets_from_pairs
from frobmetric.learning.triplets import CompletedPairs, mine_distinct
from frobmetric.model.sets import as_triplets, triplets_from_arrays
from frobmetric.search import exact as _neighbors
from frobmetric.search import mining


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


@pytest.mark.parametrize("small_group", [0, 32])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_exact_neighbors(rng, monkeypatch, small_group, n_classes):
    monkeypatch.setattr(mining, "SMALL_GROUP", small_group)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % n_classes
    mined = mine_triplets(X, y, n_neighbors=3, n_impostors=2)
    assert as_set(mined) == neighbors_by_hand(X, y, 3, 2)
    assert mined.n_triplets == 90 * 6


@pytest.mark.parametrize("block", [50, 1 << 22])
def test_ties_and_duplicates_go_by_row_number(rng, monkeypatch, block):
    """A small grid: nearly every distance is shared by many pairs, and points repeat."""
    monkeypatch.setattr(_neighbors, "BLOCK", block)
    X = rng.integers(0, 3, size=(80, 3)).astype(float)
    y = rng.integers(0, 3, size=80)
    expected = neighbors_by_hand(X, y, 3, 3)
    assert as_set(mine_distinct(X, y)) == expected
    # scaling by 0.1 rounds every coordinate, but breaks no tie
    assert as_set(mine_distinct(X * 0.1 + 7, y)) == expected


def test_no_sample_is_its_own_neighbor_among_duplicates():
    X = np.zeros((8, 2))
    X[6:] = 1.0
    T = mine_distinct(X, np.array([0, 0, 0, 0, 0, 0, 1, 1]), n_neighbors=1).to_array()
    assert (T[:, 0] != T[:, 1]).all()
    assert len(T) == 8


def test_far_from_the_origin(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    assert as_set(mine_triplets(X + 1e6, y)) == as_set(mine_triplets(X, y))


def test_small_groupes_give_what_they_have():
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
    T = mine_triplets(X, y, n_neighbors=1, n_impostors=4, warn_small=False).to_array()
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
    with pytest.raises(ValueError, match=r"expected \(4,\)"):
        mine_triplets(X, [1, 2, 3])


@pytest.mark.parametrize(
    ("triplets", "error", "match"),
    [
        (np.empty((0, 3), int), ValueError, "triplets is empty"),
        ([[0, 1]], ValueError, r"shape \(1, 2\); expected \(n_rows, 3\): triplets"),
        ([[0.0, 1.0, 2.0]], TypeError, "dtype float64; expected integers"),
        ([[0, 1, 2], [0, 1, 9]], ValueError, r"triplets\[1\] = \(0, 1, 9\) is out of range"),
        ([[0, -1, 2]], ValueError, r"triplets\[0\] = \(0, -1, 2\) is out of range"),
        (
            [[0, 1, 2], [4, 4, 1]],
            ValueError,
            r"triplets\[1\] = \(4, 4, 1\) compares a point with it",
        ),
        ([[0, 3, 3]], ValueError, "compares a distance with itself"),
    ],
)
def test_bad_triplets_are_refused(triplets, error, match):
    with pytest.raises(error, match=match):
        as_triplets(triplets, 5)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1.0], r"shape \(1,\); there are 2 triplets"),
        ([1.0, -1.0], r"triplet_weight\[1\] = -1.0 must be non-negative"),
        ([np.nan, 1.0], r"triplet_weight\[0\] = nan"),
        ([0.0, 0.0], "zero for all triplets"),
    ],
)
def test_bad_weights_are_refused(weight, match):
    with pytest.raises(ValueError, match=match):
        as_triplets([[0, 1, 2], [1, 2, 3]], 4, weight)


@pytest.mark.parametrize("small_group", [0, 32])
def test_ties_beyond_what_the_search_found(rng, monkeypatch, small_group):
    """More ties than spare neighbours, with and without a search of all classes at once."""
    monkeypatch.setattr(mining, "SMALL_GROUP", small_group)
    X = rng.integers(0, 2, size=(90, 4)).astype(float)
    y = rng.integers(0, 4, size=90)
    assert as_set(mine_distinct(X, y)) == neighbors_by_hand(X, y, 3, 3)


# From pairs -------------------------------------------------------------------------------------


def complete(X, pairs, y, identity=None, k=5, **options):
    return triplets_from_pairs(X, pairs, y, identity=identity, n_neighbors=k, **options)


def triplets_by_hand(X, pairs, y, is_own, is_other, k, pool):
    """One pair and one end at a time; all distances, a stable sort."""
    D = cdist(X, X)
    rows = []
    for (a, b), sign in zip(pairs, y, strict=True):
        for anchor, partner in ((a, b), (b, a)):
            test = is_other if sign > 0 else is_own
            thirds = [z for z in sorted(pool) if z != anchor and test(anchor, z)]
            thirds = sorted(thirds, key=lambda z: D[anchor, z])[:k]
            rows += [(anchor, partner, z) if sign > 0 else (anchor, z, partner) for z in thirds]
    return [list(map(int, row)) for row in dict.fromkeys(rows)]


def random_pairs(rng, identity, n_pairs):
    """Similar and dissimilar pairs, with repetitions in either order."""
    pairs = rng.integers(len(identity), size=(n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wanted = rng.integers(len(pairs), size=len(pairs) // 5)
    pairs = np.concatenate([pairs, pairs[wanted][:, ::-1]])
    return pairs, np.where(identity[pairs[:, 0]] == identity[pairs[:, 1]], 1, -1)


@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize("block", [70, 1 << 20])
@pytest.mark.parametrize("with_pool", [False, True])
def test_every_triplet_of_the_definition(rng, monkeypatch, k, block, with_pool):
    monkeypatch.setattr(_neighbors, "BLOCK", block)
    X, identity = rng.normal(size=(70, 3)) + 1e4, rng.integers(12, size=70)
    pairs, y = random_pairs(rng, identity, 90)
    pool = rng.permutation(70)[:35] if with_pool else np.unique(pairs)
    expected = triplets_by_hand(
        X,
        pairs.tolist(),
        y,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        k,
        pool,
    )
    names = np.array([f"person {i}" for i in identity])
    given = pool if with_pool else None
    assert complete(X, pairs, y, names, k, pool=given).tolist() == expected


def components_by_hand(pairs, y, n):
    group = list(range(n))
    for (a, b), sign in zip(pairs, y, strict=True):
        if sign > 0:
            old, new = group[a], group[b]
            group = [new if g == old else g for g in group]
    apart = {
        (group[p], group[q])
        for (a, b), sign in zip(pairs, y, strict=True)
        if sign < 0
        for p, q in ((a, b), (b, a))
    }
    return group, apart


@pytest.mark.parametrize("k", [1, 3, 50])
def test_without_identity_only_what_the_pairs_tell(rng, k):
    X, identity = rng.normal(size=(80, 4)), rng.integers(20, size=80)
    pairs, y = random_pairs(rng, identity, 160)
    group, apart = components_by_hand(pairs.tolist(), y, 80)
    pool = np.arange(80)
    expected = triplets_by_hand(
        X,
        pairs.tolist(),
        y,
        lambda a, z: group[a] == group[z],
        lambda a, z: (group[a], group[z]) in apart,
        k,
        pool,
    )
    assert complete(X, pairs, y, None, k, pool=pool).tolist() == expected


def test_every_triplet_is_true(rng):
    X, identity = rng.normal(size=(200, 5)), rng.integers(30, size=200)
    pairs, y = random_pairs(rng, identity, 300)
    for known in (identity, None):
        triplets = complete(X, pairs, y, known, 6)
        anchor, near, far = identity[triplets].T
        assert (anchor == near).all()
        assert (anchor != far).all()
        assert (triplets[:, 0] != triplets[:, 1]).all()
        assert len(np.unique(triplets, axis=0)) == len(triplets)


def test_a_group_is_joined_through_others():
    # 0-1-2 are one person through 1; 3 differs from 2, hence from 0
    X = np.array([[0.0], [1.0], [2.0], [3.0], [0.1]])
    found = triplets_from_pairs(
        X, [(0, 1), (1, 2), (2, 3)], [1, 1, -1], n_neighbors=1, pool=np.arange(5)
    )
    assert found.tolist() == [[0, 1, 3], [1, 0, 3], [1, 2, 3], [2, 1, 3]]


def test_equal_distances_go_by_row_number():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [9.0, 9.0]])
    identity = [0, 1, 2, 3, 4, 0]
    found = complete(X, [(0, 5)], [1], identity, 2, pool=[4, 3, 2, 1])
    assert found[:2].tolist() == [[0, 5, 1], [0, 5, 2]]


@pytest.mark.parametrize("k", [1, 3, 11])
def test_many_equal_distances_and_duplicates(rng, k):
    """A small grid: nearly every distance is shared by more points than are asked for."""
    X, identity = rng.integers(3, size=(150, 2)) * 1.0 + 7, rng.integers(9, size=150)
    pairs, y = random_pairs(rng, identity, 80)
    pool = np.arange(150)
    expected = triplets_by_hand(
        X,
        pairs.tolist(),
        y,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        k,
        pool,
    )
    assert complete(X, pairs, y, identity, k, pool=pool).tolist() == expected


def test_two_far_clusters_with_small_differences(rng):
    X, identity = rng.normal(size=(120, 3)), rng.integers(6, size=120)
    X[::2] += 1e7
    pairs, y = random_pairs(rng, identity, 60)
    expected = triplets_by_hand(
        X,
        pairs.tolist(),
        y,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        4,
        range(120),
    )
    found = complete(X, pairs, y, identity, 4, pool=np.arange(120))
    assert found.tolist() == expected


def test_far_from_the_origin_nothing_changes(rng):
    X, identity = rng.normal(size=(60, 4)), rng.integers(8, size=60)
    pairs, y = random_pairs(rng, identity, 60)
    expected = complete(X, pairs, y, identity, 3)
    np.testing.assert_array_equal(complete(X + 1e5, pairs, y, identity, 3), expected)


def test_a_draw_keeps_the_proportion(rng):
    X, identity = rng.normal(size=(300, 3)), rng.integers(15, size=300)
    pairs, y = random_pairs(rng, identity, 600)
    whole = complete(X, pairs, y, identity, 4)
    similar = {tuple(sorted(p)) for p in pairs[y > 0].tolist()}
    is_similar = [tuple(sorted(row[:2])) in similar for row in whole.tolist()]
    drawn = complete(X, pairs, y, identity, 4, n_triplets=500, random_state=3)
    assert len(drawn) == 500
    kinds = dict(zip(map(tuple, whole.tolist()), is_similar, strict=True))
    chosen = [tuple(row) for row in drawn.tolist()]
    assert len(set(chosen)) == 500
    assert chosen == [row for row in kinds if row in set(chosen)]  # the order of the whole
    count = Counter(kinds[row] for row in chosen)
    # a triplet may come from both kinds of pair, and then counts with the first
    assert abs(count[True] / 500 - np.mean(is_similar)) < 0.05


def test_a_draw_of_each_kind_is_exact_up_to_rounding():
    completed = CompletedPairs(np.arange(300).reshape(100, 3), np.arange(100) < 30)
    for n in (1, 7, 10, 50, 99, 100):
        drawn = completed.draw(n, random_state=0)
        assert len(np.unique(drawn, axis=0)) == n
        assert abs((drawn[:, 0] < 90).sum() - 0.3 * n) <= 0.5


def test_draws_repeat_and_differ(rng):
    X, identity = rng.normal(size=(100, 3)), rng.integers(10, size=100)
    pairs, y = random_pairs(rng, identity, 100)

    def draw(seed):
        return complete(X, pairs, y, identity, n_triplets=40, random_state=seed)

    np.testing.assert_array_equal(draw(1), draw(1))
    assert draw(1).tolist() != draw(2).tolist()
    whole = complete(X, pairs, y, identity)
    many = complete(X, pairs, y, identity, n_triplets=10**6, random_state=0)
    np.testing.assert_array_equal(many, whole)


X4 = np.array([[0.0], [1.0], [3.0], [5.0]])
WHO = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((X4, [0, 1], [1]), {}, r"pairs has shape \(2,\); expected \(n_rows, 2\)"),
        ((X4, [(0, 1, 2)], [1]), {}, r"pairs has shape \(1, 3\)"),
        ((X4, np.empty((0, 2), int), []), {}, "pairs is empty; give at least one row"),
        (
            (X4, [(0, 1), (1, 4)], [1, -1]),
            {},
            r"pairs\[1\] = \(1, 4\) is out of range; there are 4",
        ),
        ((X4, [(0, 1), (-1, 2)], [1, -1]), {}, r"pairs\[1\] = \(-1, 2\) is out of range"),
        ((X4, [(0, 1), (2, 2)], [1, -1]), {}, r"pairs\[1\] = \(2, 2\) is a pair of a point with"),
        ((X4, [(0, 1)], [1, -1]), {}, r"y has shape \(2,\); there are 1 pairs"),
        ((X4, [(0, 1), (1, 2)], [1, 3]), {}, r"y\[1\] = 3; expected \+1 \(similar\) or -1"),
        ((X4, [(0, 1), (1, 2)], [1, 0]), {}, r"y\[1\] = 0; .* np.where\(y, 1, -1\)"),
        ((X4, [(0, 1)], [1], WHO[:3]), {}, r"identity has shape \(3,\); there are 4 rows of X"),
        ((X4, [(0, 1)], [1], ["a", "a", None, "b"]), {}, r"identity\[2\] is None"),
        ((X4, [(0, 1)], [1], [0, 0, 1, np.nan]), {}, r"identity\[3\] is nan"),
        (
            (X4, [(0, 1), (0, 2)], [1, 1], WHO),
            {},
            r"pairs\[1\] = \(0, 2\) is similar, but identity "
            "says a and b",
        ),
        (
            (X4, [(0, 1)], [-1], WHO),
            {},
            r"pairs\[0\] = \(0, 1\) is dissimilar, but identity says a",
        ),
        (
            (X4, [(0, 1), (1, 2), (0, 2)], [1, 1, -1]),
            {},
            r"pairs\[2\] says that 0 and 2 differ, but "
            "other pairs join them",
        ),
        ((X4, [(0, 1), (1, 0)], [1, -1]), {}, r"pairs\[1\] says that 1 and 0 differ"),
        ((X4, [(0, 1)], [1], WHO, 0), {}, "n_neighbors is 0; expected an integer of at least 1"),
        ((X4, [(0, 1)], [1], WHO, 1.5), {}, "n_neighbors is 1.5"),
        ((X4, [(0, 1)], [1], WHO), {"n_triplets": 0}, "n_triplets is 0"),
        ((X4, [(0, 1)], [1], WHO), {"pool": []}, "pool is empty; give at least one row"),
        ((X4, [(0, 1)], [1], WHO), {"pool": [0, 9]}, r"pool\[1\] = 9 is out of range"),
        (
            (X4, [(0, 1)], [1], WHO),
            {},
            "no triplet can be formed: no row of the pool is of another "
            "identity than the similar pairs; give a larger pool",
        ),
        (
            (X4, [(0, 2)], [-1]),
            {"pool": [0, 1, 2]},
            "no triplet can be formed: no row of the pool has the identity .*without identity",
        ),
    ],
)
def test_bad_input_is_said(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        complete(*arguments, **options)


def test_identities_of_one_kind():
    with pytest.raises(TypeError, match="identity mixes kinds of values; expected all strings or"):
        complete(X4, [(0, 1)], [1], np.array(["a", "a", 1, 2], dtype=object))
    found = complete(X4, [(0, 1), (0, 2)], [1, -1], np.array(WHO, dtype=object))
    assert found.tolist() == complete(X4, [(0, 1), (0, 2)], [1, -1], WHO).tolist()


def test_row_numbers_are_whole():
    with pytest.raises(TypeError, match="pairs has dtype float64; expected integers"):
        complete(X4, [(0.0, 1.0)], [1], WHO)
    with pytest.raises(TypeError, match="pool has dtype bool; expected integers"):
        complete(X4, [(0, 1)], [1], WHO, pool=[True, True, False, True])
