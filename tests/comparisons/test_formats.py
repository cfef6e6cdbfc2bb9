"""The formats of cblearn, read and written."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.comparisons.encoding import merge_comparisons
from frobmetric.comparisons.formats import FORMATS, read_comparisons, write_comparisons

# 0 is nearer to 1 than to 2, 2 nearer to 3 than to 1, 1 nearer to 3 than to 0
ORDER = np.array([[0, 1, 2], [2, 3, 1], [1, 3, 0]])
QUERY = np.array([[0, 1, 2], [2, 1, 3], [1, 0, 3]])
COUNT = np.array([1, -1, -1])


def tensor(query, count, n):
    dense = np.zeros(np.shape(query)[1] * (n,), dtype=int)
    for place, value in zip(query, count, strict=True):
        dense[tuple(place)] += value
    return dense


def in_order(answers):
    """The answers as a sorted list of (row with the smaller distance first, weight)."""
    rows = zip(answers.ordered.tolist(), answers.weight.tolist(), strict=True)
    return sorted((tuple(row), weight) for row, weight in rows)


DENSE = tensor(QUERY, COUNT, 4)


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
        (DENSE, None, "tensor-count"),
        (DENSE, None, "sparse"),
        (DENSE, None, None),
        (sp.csr_matrix(DENSE.reshape(4, 16)), None, None),
        (sp.csr_array(DENSE.reshape(4, 16)), None, None),
        (SimpleNamespace(coords=QUERY.T, data=COUNT, shape=(4, 4, 4), fill_value=0), None, None),
    ],
)
def test_the_example_of_the_users_guide_in_all_formats(query, response, format):
    answers = read_comparisons(query, response, format)
    assert in_order(answers) == sorted((tuple(row), 1.0) for row in ORDER.tolist())
    assert answers.n_objects == 4
    assert answers.n_undecided == 0


def test_questions_stay_as_they_were_asked():
    answers = read_comparisons(QUERY, 3 * COUNT)
    np.testing.assert_array_equal(answers.index, QUERY)
    np.testing.assert_array_equal(answers.y, COUNT)
    np.testing.assert_array_equal(answers.weight, [3, 3, 3])
    np.testing.assert_array_equal(answers.ordered, ORDER)
    assert answers.index.dtype == np.intp
    assert len(answers) == 3


def test_zero_counts_are_left_out_and_reported():
    answers = read_comparisons([[0, 1, 2], [1, 2, 2], [3, 0, 2]], [2, 0, -1])
    assert in_order(answers) == [((0, 1, 2), 2.0), ((3, 2, 0), 1.0)]
    assert answers.n_undecided == 1
    assert len(read_comparisons(QUERY, [0, 0, 0], "list-count")) == 0
    stored = SimpleNamespace(coords=QUERY.T, data=np.array([1, 0, -2]), shape=(4, 4, 4))
    assert read_comparisons(stored).n_undecided == 1


def test_entries_of_a_sparse_tensor_for_one_place_are_summed():
    coords = np.array([[0, 1, 2], [0, 1, 2], [0, 2, 1], [3, 1, 2], [3, 1, 2]]).T
    stored = SimpleNamespace(coords=coords, data=np.array([2, 1, 1, 1, -1]), shape=(4, 4, 4))
    answers = read_comparisons(stored)
    assert in_order(answers) == [((0, 1, 2), 3.0), ((0, 2, 1), 1.0)]
    assert answers.n_undecided == 1


@st.composite
def answered(draw):
    width, n = draw(st.sampled_from([3, 4])), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    index = np.array([rng.choice(6, width, replace=False) for _ in range(n)])
    return index, rng.choice([-1, 1], n), rng.integers(1, 4, n)


def read_back(written, format):
    if format.startswith("list-") and format != "list-order":
        return read_comparisons(*written, format)
    return read_comparisons(written, None, format)


@pytest.mark.parametrize("format", sorted(FORMATS))
@settings(max_examples=40, deadline=None)
@given(answered())
def test_what_was_written_is_read(format, data):
    net = merge_comparisons(*data)
    if len(net) == 0 and format in ("sparse", "tensor-count"):
        return
    back = read_back(write_comparisons(*data, format, n_objects=7), format)
    again = merge_comparisons(back.index, back.y, back.weight)
    assert in_order(again) == in_order(net)
    if format.startswith("list"):
        assert back.weight.sum() == data[2].sum()


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
    query, yes = write_comparisons(*data, "list-boolean")
    assert yes.dtype == bool
    np.testing.assert_array_equal(query, np.repeat(index, weight, axis=0))
    np.testing.assert_array_equal(yes, np.repeat(y > 0, weight))
    query, count = write_comparisons(*data, "list-count")
    np.testing.assert_array_equal(query, index)
    np.testing.assert_array_equal(count, y * weight)


def test_the_tensor_has_the_net_counts_and_its_matrix_is_read():
    index, y = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 1, 0]], [1, 1, 1, -1]
    written = write_comparisons(index, y, [1, 1, 2, 1], "tensor-count", n_objects=5)
    assert written.shape == (5, 5, 5)
    expected = tensor([[0, 1, 2], [3, 1, 0]], [2, -1], 5)
    np.testing.assert_array_equal(tensor(written.coords.T, written.data, 5), expected)
    matrix = sp.csr_matrix(expected.reshape(5, 25))
    assert in_order(read_comparisons(matrix)) == in_order(read_comparisons(written))
    quadruplets = tensor([[0, 1, 2, 3]], [-2], 5)
    for query in (quadruplets, sp.csr_matrix(quadruplets.reshape(5, 125))):
        assert in_order(read_comparisons(query)) == [((2, 3, 0, 1), 2.0)]


def test_weights_of_zero_are_not_written():
    query, count = write_comparisons(QUERY, COUNT, [1, 0, 2], "list-count")
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
        read_comparisons(QUERY, COUNT, "list-order")
    with pytest.raises(ValueError, match="'tensor-count' has the answers in the query"):
        read_comparisons(DENSE, COUNT)
    with pytest.raises(ValueError, match=r"response has shape \(2,\); there are 3 comparisons"):
        read_comparisons(QUERY, [1, -1])
    with pytest.raises(ValueError, match="'list-boolean' expects booleans"):
        read_comparisons(QUERY, COUNT, "list-boolean")
    with pytest.raises(TypeError, match="dtype bool; expected counts"):
        read_comparisons(QUERY, COUNT > 0, "list-count")
    with pytest.raises(ValueError, match=r"has the value 0\.5; counts are whole numbers"):
        read_comparisons(QUERY, [1, 0.5, -1])
    with pytest.raises(ValueError, match="has the value nan; counts are whole numbers"):
        read_comparisons(QUERY, [1, np.nan, -1])


def test_zeros_and_ones_need_a_format():
    with pytest.raises(ValueError, match="'list-boolean' if 0 means no, format='list-count' if"):
        read_comparisons(QUERY, [1, 0, 1])
    assert read_comparisons(QUERY, [1, 0, 1], "list-count").n_undecided == 1
    assert read_comparisons(QUERY, [1, 0, 1], "list-boolean").y.tolist() == [1, -1, 1]
    assert read_comparisons(QUERY, [1, 1, 1]).y.tolist() == [1, 1, 1]


def test_queries_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match=r"query has shape \(3, 2\); expected \(n_tuples, 3 or 4"):
        read_comparisons(QUERY[:, :2])
    with pytest.raises(TypeError, match="query has dtype float64"):
        read_comparisons(QUERY.astype(float))
    with pytest.raises(ValueError, match=r"query\[1\] = \(2, 3, 1\) is out of range; there are 3"):
        read_comparisons(ORDER, n_objects=3)
    with pytest.raises(ValueError, match=r"query\[0\] = \(0, 0, 2\) compares an object with itse"):
        read_comparisons([[0, 0, 2]])
    with pytest.raises(ValueError, match=r"index\[0\] = \(0, 5, 2\) is out of range"):
        write_comparisons([[0, 5, 2]], format="tensor-count", n_objects=4)
    with pytest.raises(ValueError, match=r"weight\[0\] = 0\.5; the formats hold counts"):
        write_comparisons([[0, 5, 2]], weight=[0.5])


@pytest.mark.parametrize("format", [None, "list-order", "tensor-count"])
def test_rows_of_unequal_length_are_said(format):
    words = "query has rows of unequal shape, of 2 to 3 entries; expected rows of 3 object numbers"
    with pytest.raises(ValueError, match=words):
        read_comparisons([[0, 1, 2], [0, 2]], format=format)


def test_other_ragged_input_is_said():
    with pytest.raises(ValueError, match="response has rows of unequal shape, of 1 to 2 entries"):
        read_comparisons(QUERY, [1, -1, [1, 1]])
    with pytest.raises(ValueError, match="index has rows of unequal shape, of 3 to 4 entries"):
        write_comparisons([[0, 1, 2], [0, 1, 2, 3]])


@pytest.mark.parametrize("n_objects", ["5", 5.5, True, 0, -1])
def test_a_bad_number_of_objects_is_said(n_objects):
    words = f"n_objects is {n_objects!r}; expected an integer above all indices, or leave it out"
    with pytest.raises(ValueError, match=words):
        read_comparisons(ORDER, n_objects=n_objects)
    with pytest.raises(ValueError, match=words):
        write_comparisons(ORDER, n_objects=n_objects)


def test_tensors_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match=r"the tensor has shape \(4, 3, 2\); expected \(n, n, n\)"):
        read_comparisons(np.ones((4, 3, 2)))
    with pytest.raises(ValueError, match=r"the tensor has shape \(4, 15\)"):
        read_comparisons(sp.csr_matrix(np.ones((4, 15))))
    with pytest.raises(ValueError, match="the tensor is empty"):
        read_comparisons(np.zeros((4, 4, 4)))
    with pytest.raises(TypeError, match="the tensor has dtype bool; expected counts"):
        read_comparisons(DENSE > 0)
    with pytest.raises(ValueError, match="the tensor has the fill_value 1"):
        read_comparisons(SimpleNamespace(coords=QUERY.T, data=COUNT, shape=(4,) * 3, fill_value=1))
    with pytest.raises(ValueError, match=r"query\[0\] = \(0, 0, 0\) compares an object with itse"):
        read_comparisons(np.ones((4, 4, 4)))
