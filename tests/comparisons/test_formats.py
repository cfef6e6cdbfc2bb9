"""The formats of cblearn, read and written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.comparisons.formats import FORMATS, read_comparisons, write_comparisons
from frobmetric.comparisons.merging import merge_comparisons

# 0 is nearer to 1 than to 2, 2 nearer to 3 than to 1, 1 nearer to 3 than to 0
ORDER = np.array([[0, 1, 2], [2, 3, 1], [1, 3, 0]])
QUERY = np.array([[0, 1, 2], [2, 1, 3], [1, 0, 3]])
COUNT = np.array([1, -1, -1])


def in_order(answers):
    """The answers as a sorted list of (row with the smaller distance first, weight)."""
    rows = zip(answers.near_first.tolist(), answers.sample_weight.tolist(), strict=True)
    return sorted((tuple(row), weight) for row, weight in rows)


@pytest.mark.parametrize(
    ("query", "response", "format"),
    [
        (ORDER, None, "list-order"),
        (ORDER.tolist(), None, None),
        (QUERY, COUNT > 0, "list-boolean"),
        (QUERY, COUNT > 0, None),
        (QUERY, (COUNT > 0).astype(int), "list-boolean"),
        (QUERY, COUNT, "list-count"),
        (QUERY.astype(np.uint8), COUNT.astype(float), None),
    ],
)
def test_the_example_of_the_users_guide_in_all_formats(query, response, format):
    answers = read_comparisons(query, response, format=format)
    assert in_order(answers) == sorted((tuple(row), 1.0) for row in ORDER.tolist())
    assert answers.n_objects == 4
    assert answers.n_undecided == 0


def test_questions_stay_as_they_were_asked():
    answers = read_comparisons(QUERY, 3 * COUNT)
    np.testing.assert_array_equal(answers.index, QUERY)
    np.testing.assert_array_equal(answers.y, COUNT)
    np.testing.assert_array_equal(answers.sample_weight, [3, 3, 3])
    np.testing.assert_array_equal(answers.near_first, ORDER)
    assert answers.index.dtype == np.intp
    assert len(answers) == 3


def test_zero_counts_are_left_out_and_reported():
    answers = read_comparisons([[0, 1, 2], [1, 2, 2], [3, 0, 2]], [2, 0, -1])
    assert in_order(answers) == [((0, 1, 2), 2.0), ((3, 2, 0), 1.0)]
    assert answers.n_undecided == 1
    assert len(read_comparisons(QUERY, [0, 0, 0], format="list-count")) == 0


@st.composite
def answered(draw):
    width, n = draw(st.sampled_from([3, 4])), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    index = np.array([rng.choice(6, width, replace=False) for _ in range(n)])
    return index, rng.choice([-1, 1], n), rng.integers(1, 4, n)


def read_back(written, format):
    query, response = (written, None) if format == "list-order" else written
    return read_comparisons(query, response, format=format, n_objects=7)


@pytest.mark.parametrize("format", sorted(FORMATS))
@settings(max_examples=40, deadline=None)
@given(answered())
def test_what_was_written_is_read(format, data):
    net = merge_comparisons(*data)
    back = read_back(write_comparisons(*data, format=format), format)
    again = merge_comparisons(back.index, back.y, back.sample_weight)
    assert in_order(again) == in_order(net)
    assert back.sample_weight.sum() == data[2].sum()
    assert back.n_objects == 7


@settings(max_examples=40, deadline=None)
@given(answered())
def test_the_formats_hold_the_same_answers(data):
    index, y, weight = data
    order = write_comparisons(*data)
    by_hand = [
        row if sign > 0 else [row[0], row[2], row[1]] if len(row) == 3 else row[2:] + row[:2]
        for row, sign, w in zip(index.tolist(), y, weight, strict=True)
        for _ in range(w)
    ]
    assert order.tolist() == by_hand
    query, yes = write_comparisons(*data, format="list-boolean")
    assert yes.dtype == bool
    np.testing.assert_array_equal(query, np.repeat(index, weight, axis=0))
    np.testing.assert_array_equal(yes, np.repeat(y > 0, weight))
    query, count = write_comparisons(*data, format="list-count")
    np.testing.assert_array_equal(query, index)
    np.testing.assert_array_equal(count, y * weight)


def test_weights_of_zero_are_not_written():
    query, count = write_comparisons(QUERY, COUNT, [1, 0, 2], format="list-count")
    assert query.tolist() == [[0, 1, 2], [1, 0, 3]]
    assert count.tolist() == [1, -2]


def test_unknown_formats_are_named():
    with pytest.raises(ValueError, match=r"'matrix'; expected one of \['list-boolean', 'list-coun"):
        read_comparisons(ORDER, format="matrix")
    with pytest.raises(ValueError, match="format is 'matrix'; expected one of"):
        write_comparisons(ORDER, format="matrix")


def test_responses_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="response is missing; 'list-count' needs"):
        read_comparisons(QUERY, format="list-count")
    with pytest.raises(ValueError, match="'list-order' has the answers in the query"):
        read_comparisons(QUERY, COUNT, format="list-order")
    with pytest.raises(ValueError, match=r"response has shape \(2,\); there are 3 comparisons"):
        read_comparisons(QUERY, [1, -1])
    with pytest.raises(ValueError, match="'list-boolean' expects booleans"):
        read_comparisons(QUERY, COUNT, format="list-boolean")
    with pytest.raises(TypeError, match="dtype bool; expected counts"):
        read_comparisons(QUERY, COUNT > 0, format="list-count")
    with pytest.raises(ValueError, match=r"response\[1\] = 0\.5; counts are whole numbers"):
        read_comparisons(QUERY, [1, 0.5, -1])
    with pytest.raises(ValueError, match=r"response\[1\] = nan; counts are whole numbers"):
        read_comparisons(QUERY, [1, np.nan, -1])


def test_zeros_and_ones_need_a_format():
    with pytest.raises(ValueError, match="'list-boolean' if 0 means no, format='list-count' if"):
        read_comparisons(QUERY, [1, 0, 1])
    assert read_comparisons(QUERY, [1, 0, 1], format="list-count").n_undecided == 1
    assert read_comparisons(QUERY, [1, 0, 1], format="list-boolean").y.tolist() == [1, -1, 1]
    assert read_comparisons(QUERY, [1, 1, 1]).y.tolist() == [1, 1, 1]


def test_queries_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match=r"query has shape \(3, 2\); expected \(n_rows, 3 or 4"):
        read_comparisons(QUERY[:, :2])
    with pytest.raises(TypeError, match="query has dtype float64"):
        read_comparisons(QUERY.astype(float))
    with pytest.raises(ValueError, match=r"query\[1\] = \(2, 3, 1\) is out of range; there are 3"):
        read_comparisons(ORDER, n_objects=3)
    with pytest.raises(ValueError, match=r"query\[0\] = \(0, 0, 2\) compares a point with itse"):
        read_comparisons([[0, 0, 2]])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] = 0\.5; expected whole numbers"):
        write_comparisons([[0, 5, 2]], sample_weight=[0.5])


@pytest.mark.parametrize("format", [None, "list-order"])
def test_rows_of_unequal_length_are_said(format):
    words = (
        "query has rows of unequal shape, of 2 to 3 entries; expected rows of one size: 3 objects"
    )
    with pytest.raises(ValueError, match=words):
        read_comparisons([[0, 1, 2], [0, 2]], format=format)


def test_other_ragged_input_is_said():
    with pytest.raises(ValueError, match="response has rows of unequal shape, of 1 to 2 entries"):
        read_comparisons(QUERY, [1, -1, [1, 1]])
    with pytest.raises(ValueError, match="index has rows of unequal shape, of 3 to 4 entries"):
        write_comparisons([[0, 1, 2], [0, 1, 2, 3]])


@pytest.mark.parametrize("n_objects", ["5", 5.5, True, 0, -1])
def test_a_bad_number_of_objects_is_said(n_objects):
    words = f"n_objects is {n_objects!r}; expected an integer of at least 1"
    with pytest.raises(ValueError, match=words):
        read_comparisons(ORDER, n_objects=n_objects)
