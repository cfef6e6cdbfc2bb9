"""Pairs, triplets and chunks from labels."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from frobmetric.learning.constraints import DrawnConstraints, draw_pairs, wrap_pairs

labels = st.lists(st.integers(-1, 4), min_size=1, max_size=30).map(np.array)


@given(labels, st.integers(1, 60), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_pairs_have_the_classes_that_they_say(y, n_pairs, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        a, b, c, d = DrawnConstraints(y).positive_negative_pairs(n_pairs, random_state=seed)
    assert len(a) == len(b) <= n_pairs
    assert len(c) == len(d) <= n_pairs
    assert (y[np.concatenate([a, b, c, d])] >= 0).all()
    assert (y[a] == y[b]).all()
    assert (a != b).all()
    assert (y[c] != y[d]).all()
    for first, second in ((a, b), (c, d)):
        assert len(set(zip(first, second, strict=True))) == len(first)


def test_all_pairs_are_found_if_there_are_just_so_many():
    a, b, c, _ = DrawnConstraints([0, 0, 1]).positive_negative_pairs(2, random_state=0)
    assert sorted(zip(a.tolist(), b.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert len(c) == 2


def test_too_few_pairs_are_said_and_can_be_cut_to_one_length():
    with pytest.warns(UserWarning, match="2 distinct similar pairs were found of 9"):
        a, b, c, d = DrawnConstraints([0, 0, 1, 2]).positive_negative_pairs(9, same_length=True)
    assert len(a) == len(b) == len(c) == len(d) == 2
    with pytest.warns(UserWarning, match="0 distinct dissimilar pairs"):
        assert len(DrawnConstraints([0, 0]).positive_negative_pairs(1)[2]) == 0
    with pytest.raises(ValueError, match="n_constraints is 0"):
        DrawnConstraints([0, 0, 1]).positive_negative_pairs(0)


def test_the_seed_repeats_a_draw():
    y = np.arange(100) % 4
    first, again, other = (
        np.concatenate(DrawnConstraints(y).positive_negative_pairs(30, random_state=seed))
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_rows_are_drawn_in_proportion_to_their_weights():
    y, weight = np.repeat([0, 1], 50), np.ones(100)
    weight[:5] = 20.0
    rng = np.random.RandomState(0)
    pairs = draw_pairs(y, 300, rng, same=False, weight=weight)
    share = np.isin(pairs, np.arange(5)).any(axis=1).mean()
    assert share > 0.5  # 10 % with equal weights


def test_wrapped_pairs_are_points_and_labels():
    X, y = load_iris(return_X_y=True)
    a, b, c, d = DrawnConstraints(y).positive_negative_pairs(20, random_state=0)
    pairs, kinds = wrap_pairs(X, (a, b, c, d))
    np.testing.assert_array_equal(pairs, X[np.column_stack([np.r_[a, c], np.r_[b, d]])])
    np.testing.assert_array_equal(kinds, np.repeat([1, -1], 20))


def test_many_numbers_are_not_checked_one_by_one():
    X = np.zeros((100_000, 5))
    tracemalloc.start()
    wrap_pairs(X, ([0], [1], [0], [1]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.5 * X.nbytes  # their sizes; a list of all entries takes as much again


def test_triplets_are_those_of_nearest_neighbours():
    X = np.array([[0.0], [1.0], [3.0], [4.0], [4.5], [99.0]])
    triplets = DrawnConstraints([0, 0, 0, 1, 1, -1]).generate_knntriplets(X, 1, 1)
    expected = [[0, 1, 3], [1, 0, 3], [2, 1, 3], [3, 4, 2], [4, 3, 2]]
    assert sorted(triplets.tolist()) == expected


def test_rows_without_label_keep_their_numbers():
    X = np.array([[0.0], [50.0], [1.0], [3.0], [4.0]])
    triplets = DrawnConstraints([0, -1, 0, 1, 1]).generate_knntriplets(X, 1, 1)
    assert 1 not in triplets
    assert [2, 0, 3] in triplets.tolist()


@given(labels, st.integers(0, 5), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_chunks_are_disjoint_and_of_one_class(y, n_chunks, size, seed):
    room = sum(np.count_nonzero(y == label) // size for label in range(5))
    if n_chunks > room:
        with pytest.raises(ValueError, match=f"the classes have room for {room}"):
            DrawnConstraints(y).chunks(n_chunks, size, random_state=seed)
        return
    chunks = DrawnConstraints(y).chunks(n_chunks, size, random_state=seed)
    assert chunks.shape == y.shape
    for number in range(n_chunks):
        members = y[chunks == number]
        assert len(members) == size
        assert len(set(members)) == 1
        assert members[0] >= 0


def test_too_many_impostors_warn_and_all_are_used():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [7.0], [9.0]])
    y = [0, 0, 1, 1, 1, -1]
    with pytest.warns(UserWarning, match=r"k_impostor=3 .* other classes than 1 \(2\)"):
        triplets = DrawnConstraints(y).generate_knntriplets(X, 1, 3)
    with pytest.warns(UserWarning, match="0 .3., 1 .2."):
        more = DrawnConstraints(y).generate_knntriplets(X, 1, 4)
    np.testing.assert_array_equal(triplets, more)
    assert sorted(np.bincount(triplets[:, 0]).tolist()) == [2, 2, 2, 3, 3]
