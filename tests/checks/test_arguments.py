"""Checks of arguments: what is given, what was expected, what to do."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.checks.arguments import (
    as_index,
    as_signs,
    as_weights,
    check_both_kinds,
    check_comparisons,
    check_count,
    check_pairs,
    check_psd,
    check_symmetric,
    check_whole,
    says_nothing,
)


def test_bad_tuples_are_said():
    with pytest.raises(ValueError, match=r"shape \(4, 2\); expected \(n_rows, 3 or 4\): tri"):
        as_index(np.zeros((4, 2), dtype=int), (3, 4))
    with pytest.raises(ValueError, match="formed tuples; give indices"):
        as_index(np.zeros((4, 3, 2)), (3,))
    with pytest.raises(TypeError, match="dtype float64; expected integers, indices of objects"):
        as_index(np.zeros((4, 3)), (3,))
    with pytest.raises(ValueError, match="tuples is empty; give at least one row"):
        as_index(np.empty((0, 3), dtype=int), (3,))
    with pytest.raises(
        ValueError, match=r"tuples\[1\] = \(0, -1, 2\) is out of range; indices start"
    ):
        as_index([[0, 1, 2], [0, -1, 2]], (3,))


def test_indices_are_below_the_number_of_points():
    of_X = {"name": "pairs", "n_points": 3, "points": "rows of X"}
    assert as_index(np.array([[0, 2]], dtype=np.uint8), (2,), **of_X).dtype == np.intp
    with pytest.raises(
        ValueError, match=r"pairs\[0\] = \(0, 3\) is out of range; there are 3 rows of"
    ):
        as_index([[0, 3]], (2,), **of_X)
    with pytest.raises(ValueError, match=r"pool\[1\] = 7 is out of range; .* go from 0 to 2"):
        as_index([0, 7], (), **(of_X | {"name": "pool"}))
    with pytest.raises(ValueError, match=r"pool has shape \(1, 2\); expected \(n_rows,\), a list"):
        as_index([[0, 1]], (), name="pool")
    with pytest.raises(ValueError, match="pool is empty"):
        as_index([], (), name="pool")
    assert as_index([2, 0], (), **of_X).tolist() == [2, 0]


def test_bad_signs_are_said():
    assert as_signs(None, 2).tolist() == [1, 1]
    assert as_signs([1.0, -1.0], 2).dtype == np.intp
    with pytest.raises(ValueError, match=r"y has shape \(3,\); there are 2 comparisons"):
        as_signs([1, 1, 1], 2)
    with pytest.raises(
        ValueError, match=r"y\[1\] = 0; expected \+1 .* 0 and 1, by np.where\(y, 1, -1\)"
    ):
        as_signs([1, 0], 2)
    with pytest.raises(ValueError, match=r"y\[0\] = True; expected \+1 \(similar\) or -1; convert"):
        as_signs([True, False], 2, positive="similar")
    with pytest.raises(ValueError, match=r"y\[0\] = yes; expected \+1"):
        as_signs(["yes", "no"], 2)


def test_pairs_of_one_kind_are_refused():
    check_both_kinds(np.array([1, -1]))
    with pytest.raises(
        ValueError, match=r"all 2 pairs are similar \(\+1\); give at least one pair"
    ):
        check_both_kinds(np.array([1, 1]))
    with pytest.raises(ValueError, match=r"all 1 pairs are dissimilar \(-1\)"):
        check_both_kinds(np.array([-1]))


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ([0, 0], ValueError, "sample_weight is zero for all pairs; give at least one"),
        ([1, -1], ValueError, r"sample_weight\[1\] = -1.0 must be non-negative and finite"),
        ([1, np.nan], ValueError, r"sample_weight\[1\] = nan must be"),
        ([np.inf, 1], ValueError, r"sample_weight\[0\] = inf must be"),
        ([1], ValueError, r"sample_weight has shape \(1,\); there are 2 pairs"),
        (["1", "2"], TypeError, "sample_weight has dtype <U1; expected a number for each of the"),
    ],
)
def test_bad_weights_are_said(weight, error, words):
    with pytest.raises(error, match=words):
        as_weights(weight, 2, of="pairs")


def test_weights_that_count_are_whole():
    check_whole(np.array([0.0, 3.0]))
    with pytest.raises(ValueError, match=r"sample_weight\[1\] = 0.5; expected whole numbers"):
        check_whole(np.array([2, 0.5]))


def test_comparisons_that_no_metric_can_change_are_said():
    with pytest.raises(ValueError, match=r"tuples\[1\] = \(3, 3, 1\) compares a point with itself"):
        check_comparisons(np.array([[0, 1, 2], [3, 3, 1]]))
    with pytest.raises(ValueError, match=r"\(3, 1, 1\) compares a distance with itself"):
        check_comparisons(np.array([[3, 1, 1]]))
    with pytest.raises(ValueError, match=r"\(0, 1, 1, 0\) compares a distance with itself"):
        check_comparisons(np.array([[0, 1, 1, 0]]))
    check_comparisons(np.array([[3, 1, 1]]), rows=np.array([False]))
    with pytest.raises(ValueError, match=r"pairs\[1\] = \(2, 2\) is a pair of a point with itself"):
        check_pairs(np.array([[0, 1], [2, 2]]))


def test_tuples_with_equal_points_say_nothing():
    triplets = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 0], [0, 1, 1], [2, 2, 2]])
    assert says_nothing(triplets).tolist() == [False, True, True, True, True]
    quadruplets = np.array([[0, 1, 2, 3], [0, 1, 1, 0], [0, 0, 1, 2], [0, 1, 0, 2]])
    assert says_nothing(quadruplets).tolist() == [False, True, True, False]
    assert says_nothing(np.array([[0, 1], [1, 1]])).tolist() == [False, True]


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True, np.True_, None])
def test_counts_are_integers(value):
    check_count(np.int64(3), name="n_neighbors")
    with pytest.raises(ValueError, match=r"n_neighbors is .*; expected an integer of at least 1"):
        check_count(value, name="n_neighbors")


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_symmetry(form):
    check_symmetric(form([[1.0, 2.0], [2.0 + 1e-12, 5.0]]), name="A", tolerance=1e-8)
    words = r"A is not symmetric: A\[0, 1\] = 2 and A\[1, 0\] = 3; pass \(A \+ A.T\) / 2"
    with pytest.raises(ValueError, match=words):
        check_symmetric(form([[1.0, 2.0], [3.0, 5.0]]), name="A", tolerance=1e-8)


def test_metrics_are_positive_semidefinite():
    np.testing.assert_array_equal(check_psd("M", [[2, 1], [1, 2]], 2), [[2.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"M has shape \(2, 2\); X has 3 features, so expected"):
        check_psd("M", np.eye(2), 3)
    with pytest.raises(ValueError, match="M contains NaN or infinity"):
        check_psd("M", [[np.nan]], 1)
    with pytest.raises(ValueError, match="M is not symmetric"):
        check_psd("M", [[1, 1], [0, 1]], 2)
    with pytest.raises(ValueError, match="M has the eigenvalue -1; a metric must be positive"):
        check_psd("M", [[1, 2], [2, 1]], 2)
