"""Distinct rows against NumPy's, and the keys and numbers by which they are found."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from frobmetric.search import rows as _rows
from frobmetric.search.rows import (
    distinct_points,
    distinct_rows,
    merge_labelled,
    row_keys,
    row_numbers,
)

rows_of_numbers = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1e300, 5e-324]),
)


@settings(deadline=None)
@given(rows_of_numbers)
def test_distinct_points_are_those_of_numpy(points):
    found, index = distinct_points(points)
    np.testing.assert_array_equal(found[index], points)
    assert len(found) == len(np.unique(points, axis=0))
    shuffled, _ = distinct_points(points[::-1])
    np.testing.assert_array_equal(shuffled, found)


def test_distinct_points_whose_numbers_are_equal(monkeypatch):
    points = np.random.default_rng(0).integers(3, size=(40, 2)).astype(float)
    expected = distinct_points(points)
    monkeypatch.setattr(_rows, "row_numbers", lambda rows: np.zeros(len(rows), np.uint64))
    found = distinct_points(points)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_distinct_points_are_in_the_order_of_their_keys(rng):
    points = rng.normal(size=(50, 3))  # no two of one first number
    found, _ = distinct_points(points)
    np.testing.assert_array_equal(found, points[np.argsort(row_keys(points))])


@settings(deadline=None)
@given(rows_of_numbers)
def test_numbers_of_sparse_and_of_dense_rows_agree(rows):
    np.testing.assert_array_equal(row_numbers(rows), row_numbers(sp.csr_array(rows)))
    alone = [row_numbers(rows[i : i + 1])[0] for i in range(len(rows))]
    np.testing.assert_array_equal(row_numbers(rows), alone)


@given(rows_of_numbers)
def test_labelled_rows_are_merged_in_one_order_in_all_formats(rows):
    labels = np.arange(len(rows)) % 2
    dense, sparse = (merge_labelled(form(rows), labels) for form in (np.asarray, sp.csr_array))
    np.testing.assert_array_equal(dense[0], sparse[0])
    np.testing.assert_array_equal(dense[1], sparse[1])


def test_rows_that_differ_in_one_bit_have_different_numbers():
    rows = np.ones((64, 3))
    bits = rows[:, 1].view(np.uint64) ^ (np.uint64(1) << np.arange(64, dtype=np.uint64))
    rows[:, 1] = bits.view(np.float64)
    assert len(np.unique(row_numbers(np.vstack([rows, np.ones(3)])))) == 65


@settings(deadline=None)
@given(rows_of_numbers, st.sampled_from([np.asarray, sp.csr_array]))
def test_distinct_rows_are_in_the_order_of_their_first(rows, form):
    first, label = distinct_rows(form(rows))
    np.testing.assert_array_equal(rows[first][label], rows)
    assert (np.diff(first) > 0).all()
    assert [int(np.flatnonzero(label == i)[0]) for i in range(len(first))] == first.tolist()
    assert len(first) == len(np.unique(rows, axis=0))


def test_large_integers_are_told_apart():
    big = 2**60
    first, label = distinct_rows(np.array([[big, 1, 2], [big + 1, 1, 2], [big, 1, 2]]))
    assert first.tolist() == [0, 1]
    assert label.tolist() == [0, 1, 0]


def test_keys_of_integers_are_ordered_as_rows():
    rows = np.array([[2, 1], [1, 9], [2, 0], [1, 9], [-3, 4]])
    assert np.argsort(row_keys(rows), kind="stable").tolist() == [4, 1, 3, 2, 0]
