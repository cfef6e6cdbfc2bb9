"""Triplets from pairs against loops that follow the definition."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from frobmetric.metric import pair_triplets as module
from frobmetric.metric.pair_triplets import triplets_from_pairs


def by_hand(X, pairs, same, is_own, is_other, k, pool):
    """One pair and one end at a time; all distances, a stable sort."""
    D = cdist(X, X)
    rows = []
    for (a, b), matched in zip(pairs, same, strict=True):
        for anchor, partner in ((a, b), (b, a)):
            test = is_other if matched else is_own
            thirds = [z for z in sorted(pool) if z != anchor and test(anchor, z)]
            thirds = sorted(thirds, key=lambda z: D[anchor, z])[:k]
            rows += [(anchor, partner, z) if matched else (anchor, z, partner) for z in thirds]
    return [list(map(int, row)) for row in dict.fromkeys(rows)]


def random_pairs(rng, identity, n_pairs):
    """Matched and mismatched pairs, with repetitions in either order."""
    pairs = rng.integers(len(identity), size=(n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wanted = rng.integers(len(pairs), size=len(pairs) // 5)
    pairs = np.concatenate([pairs, pairs[wanted][:, ::-1]])
    return pairs, identity[pairs[:, 0]] == identity[pairs[:, 1]]


@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize("block", [70, 1 << 20])
@pytest.mark.parametrize("with_pool", [False, True])
def test_every_triplet_of_the_definition(rng, monkeypatch, k, block, with_pool):
    monkeypatch.setattr(module, "BLOCK", block)
    X, identity = rng.normal(size=(70, 3)) + 1e4, rng.integers(12, size=70)
    pairs, same = random_pairs(rng, identity, 90)
    pool = rng.permutation(70)[:35] if with_pool else np.unique(pairs)
    expected = by_hand(
        X,
        pairs.tolist(),
        same,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        k,
        pool,
    )
    names = np.array([f"person {i}" for i in identity])
    given = pool if with_pool else None
    assert triplets_from_pairs(X, pairs, same, names, k, pool=given).tolist() == expected


def components_by_hand(pairs, same, n):
    group = list(range(n))
    for (a, b), matched in zip(pairs, same, strict=True):
        if matched:
            old, new = group[a], group[b]
            group = [new if g == old else g for g in group]
    apart = {
        (group[p], group[q])
        for (a, b), matched in zip(pairs, same, strict=True)
        if not matched
        for p, q in ((a, b), (b, a))
    }
    return group, apart


@pytest.mark.parametrize("k", [1, 3, 50])
def test_without_identity_only_what_the_pairs_tell(rng, k):
    X, identity = rng.normal(size=(80, 4)), rng.integers(20, size=80)
    pairs, same = random_pairs(rng, identity, 160)
    group, apart = components_by_hand(pairs.tolist(), same, 80)
    pool = np.arange(80)
    expected = by_hand(
        X,
        pairs.tolist(),
        same,
        lambda a, z: group[a] == group[z],
        lambda a, z: (group[a], group[z]) in apart,
        k,
        pool,
    )
    assert triplets_from_pairs(X, pairs, same, None, k, pool=pool).tolist() == expected


def test_every_triplet_is_true(rng):
    X, identity = rng.normal(size=(200, 5)), rng.integers(30, size=200)
    pairs, same = random_pairs(rng, identity, 300)
    for known in (identity, None):
        triplets = triplets_from_pairs(X, pairs, same, known, 6)
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
    found = triplets_from_pairs(X, [(0, 5)], [True], identity, 2, pool=[4, 3, 2, 1])
    assert found[:2].tolist() == [[0, 5, 1], [0, 5, 2]]


@pytest.mark.parametrize("k", [1, 3, 11])
def test_many_equal_distances_and_duplicates(rng, k):
    """A small grid: nearly every distance is shared by more points than are asked for."""
    X, identity = rng.integers(3, size=(150, 2)) * 1.0 + 7, rng.integers(9, size=150)
    pairs, same = random_pairs(rng, identity, 80)
    pool = np.arange(150)
    expected = by_hand(
        X,
        pairs.tolist(),
        same,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        k,
        pool,
    )
    assert triplets_from_pairs(X, pairs, same, identity, k, pool=pool).tolist() == expected


def test_two_far_clusters_with_small_differences(rng):
    X, identity = rng.normal(size=(120, 3)), rng.integers(6, size=120)
    X[::2] += 1e7
    pairs, same = random_pairs(rng, identity, 60)
    expected = by_hand(
        X,
        pairs.tolist(),
        same,
        lambda a, z: identity[a] == identity[z],
        lambda a, z: identity[a] != identity[z],
        4,
        range(120),
    )
    found = triplets_from_pairs(X, pairs, same, identity, 4, pool=np.arange(120))
    assert found.tolist() == expected


def test_far_from_the_origin_nothing_changes(rng):
    X, identity = rng.normal(size=(60, 4)), rng.integers(8, size=60)
    pairs, same = random_pairs(rng, identity, 60)
    expected = triplets_from_pairs(X, pairs, same, identity, 3)
    np.testing.assert_array_equal(triplets_from_pairs(X + 1e5, pairs, same, identity, 3), expected)


def test_a_draw_keeps_the_proportion(rng):
    X, identity = rng.normal(size=(300, 3)), rng.integers(15, size=300)
    pairs, same = random_pairs(rng, identity, 600)
    whole = triplets_from_pairs(X, pairs, same, identity, 4)
    matched = {tuple(sorted(p)) for p in pairs[same].tolist()}
    is_matched = [tuple(sorted(row[:2])) in matched for row in whole.tolist()]
    drawn = triplets_from_pairs(X, pairs, same, identity, 4, n_triplets=500, random_state=3)
    assert len(drawn) == 500
    kinds = dict(zip(map(tuple, whole.tolist()), is_matched, strict=True))
    chosen = [tuple(row) for row in drawn.tolist()]
    assert len(set(chosen)) == 500
    assert chosen == [row for row in kinds if row in set(chosen)]  # the order of the whole
    count = Counter(kinds[row] for row in chosen)
    # a triplet may come from both kinds of pair, and then counts with the first
    assert abs(count[True] / 500 - np.mean(is_matched)) < 0.05


def test_a_draw_of_each_kind_is_exact_up_to_rounding():
    is_matched = np.arange(100) < 30
    for n in (1, 7, 10, 50, 99, 100):
        places = module._draw(is_matched, n, np.random.RandomState(0))
        assert len(set(places.tolist())) == n
        assert abs(is_matched[places].sum() - 0.3 * n) <= 0.5


def test_draws_repeat_and_differ(rng):
    X, identity = rng.normal(size=(100, 3)), rng.integers(10, size=100)
    pairs, same = random_pairs(rng, identity, 100)

    def draw(seed):
        return triplets_from_pairs(X, pairs, same, identity, n_triplets=40, random_state=seed)

    np.testing.assert_array_equal(draw(1), draw(1))
    assert draw(1).tolist() != draw(2).tolist()
    whole = triplets_from_pairs(X, pairs, same, identity)
    many = triplets_from_pairs(X, pairs, same, identity, n_triplets=10**6, random_state=0)
    np.testing.assert_array_equal(many, whole)


X4 = np.array([[0.0], [1.0], [3.0], [5.0]])
WHO = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((X4, [0, 1], [1]), {}, r"pairs has shape \(2,\); expected \(n_pairs, 2\)"),
        ((X4, [(0, 1, 2)], [1]), {}, r"pairs has shape \(1, 3\)"),
        ((X4, np.empty((0, 2), int), []), {}, r"pairs has shape \(0, 2\)"),
        ((X4, [(0, 1), (1, 4)], [1, 0]), {}, r"pairs\[1\] = \[1, 4\] is out of range; X has 4"),
        ((X4, [(0, 1), (-1, 2)], [1, 0]), {}, r"pairs\[1\] = \[-1, 2\] is out of range"),
        ((X4, [(0, 1), (2, 2)], [1, 0]), {}, r"pairs\[1\] = \(2, 2\) is a point with itself"),
        ((X4, [(0, 1)], [1, 0]), {}, r"same has shape \(2,\); there are 1 pairs"),
        ((X4, [(0, 1), (1, 2)], [1, 3]), {}, r"same\[1\] = .*expected booleans"),
        ((X4, [(0, 1)], [1], WHO[:3]), {}, r"identity has shape \(3,\); X has 4 rows"),
        ((X4, [(0, 1)], [1], ["a", "a", None, "b"]), {}, r"identity\[2\] is None"),
        ((X4, [(0, 1)], [1], [0, 0, 1, np.nan]), {}, r"identity\[3\] is nan"),
        (
            (X4, [(0, 1), (0, 2)], [1, 1], WHO),
            {},
            r"pairs\[1\] = \(0, 2\) is matched, but identity "
            "says a and b",
        ),
        ((X4, [(0, 1)], [0], WHO), {}, r"pairs\[0\] = \(0, 1\) is mismatched, but identity says a"),
        (
            (X4, [(0, 1), (1, 2), (0, 2)], [1, 1, 0]),
            {},
            r"pairs\[2\] says that 0 and 2 differ, but "
            "other pairs join them",
        ),
        ((X4, [(0, 1), (1, 0)], [1, 0]), {}, r"pairs\[1\] says that 1 and 0 differ"),
        ((X4, [(0, 1)], [1], WHO, 0), {}, "n_neighbors is 0; expected an integer of at least 1"),
        ((X4, [(0, 1)], [1], WHO, 1.5), {}, "n_neighbors is 1.5"),
        ((X4, [(0, 1)], [1], WHO), {"n_triplets": 0}, "n_triplets is 0"),
        ((X4, [(0, 1)], [1], WHO), {"pool": []}, r"pool has shape \(0,\)"),
        ((X4, [(0, 1)], [1], WHO), {"pool": [0, 9]}, r"pool\[1\] = 9 is out of range"),
        (
            (X4, [(0, 1)], [1], WHO),
            {},
            "no triplet can be formed: no row of the pool is of another "
            "identity than the matched pairs; give a larger pool",
        ),
        (
            (X4, [(0, 2)], [0]),
            {"pool": [0, 1, 2]},
            "no triplet can be formed: no row of the pool has the identity .*without identity",
        ),
    ],
)
def test_bad_input_is_said(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        triplets_from_pairs(*arguments, **options)


def test_identities_of_one_kind():
    with pytest.raises(TypeError, match="identity mixes kinds of values; expected all strings or"):
        triplets_from_pairs(X4, [(0, 1)], [1], np.array(["a", "a", 1, 2], dtype=object))
    found = triplets_from_pairs(X4, [(0, 1), (0, 2)], [1, 0], np.array(WHO, dtype=object))
    assert found.tolist() == triplets_from_pairs(X4, [(0, 1), (0, 2)], [1, 0], WHO).tolist()


def test_row_numbers_are_whole():
    with pytest.raises(TypeError, match="pairs has dtype float64; expected integers"):
        triplets_from_pairs(X4, [(0.0, 1.0)], [1], WHO)
    with pytest.raises(TypeError, match="pool has dtype bool; expected integers"):
        triplets_from_pairs(X4, [(0, 1)], [1], WHO, pool=[True, True, False, True])
