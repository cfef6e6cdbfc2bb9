"""Comparisons as questions with answers."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.comparisons.merging import as_questions, count_contradictions, merge_comparisons
from frobmetric.search.rows import distinct_rows


@st.composite
def answered(draw):
    """Comparisons of few objects, so that questions repeat, with signs and small weights."""
    width, n = draw(st.sampled_from([3, 4])), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    index = np.array([rng.choice(width + 1, width, replace=False) for _ in range(n)])
    weight = rng.integers(0, 4, n)
    weight[0] += 1
    return index, rng.choice([-1, 1], n), weight


def answers_by_hand(index, y, weight):
    """{question: {smaller distance: weight}}, with distances as sets of two objects."""
    found = defaultdict(lambda: defaultdict(float))
    for row, sign, w in zip(index.tolist(), y, weight, strict=True):
        pairs = [row[:2], row[2:]] if len(row) == 4 else [row[:2], [row[0], row[2]]]
        first, second = (frozenset(pair) for pair in pairs)
        if w > 0:
            found[frozenset([first, second])][first if sign > 0 else second] += float(w)
    return found


@settings(max_examples=100, deadline=None)
@given(answered())
def test_merging_keeps_the_net_answer_of_each_question(data):
    by_hand = answers_by_hand(*data)
    net = {}
    for question, sums in by_hand.items():
        one, other = question
        if sums[one] != sums[other]:
            net[question] = (max(question, key=sums.get), abs(sums[one] - sums[other]))
    merged = merge_comparisons(*data)
    again = answers_by_hand(merged.index, merged.y, merged.sample_weight)
    assert {q: next(iter(sums.items())) for q, sums in again.items()} == net
    assert len(merged) == len(net)
    assert merged.n_undecided == len(by_hand) - len(net)
    assert merged.n_objects == data[0].max() + 1
    ahead = answers_by_hand(merged.near_first, np.ones(len(merged)), merged.sample_weight)
    assert ahead == again


@settings(max_examples=100, deadline=None)
@given(answered())
def test_contradictions_are_those_found_by_comparing_all(data):
    by_hand = answers_by_hand(*data)
    split = {q for q, sums in by_hand.items() if len(sums) == 2}
    rows = [answers_by_hand(*(part[i : i + 1] for part in data)) for i in range(len(data[0]))]
    found = count_contradictions(*data)
    assert found.n_questions == len(split)
    assert found.n_comparisons == sum(bool(split & set(row)) for row in rows)
    assert found.cancelled == sum(2 * min(by_hand[q].values()) for q in split)
    merged = merge_comparisons(*data)
    assert merged.sample_weight.sum() == data[2].sum() - found.cancelled
    if len(merged):
        left = count_contradictions(merged.index, merged.y, merged.sample_weight)
        assert (left.n_comparisons, left.n_questions, left.cancelled) == (0, 0, 0)


def test_comparisons_without_repetition_come_back_as_they_are(rng):
    index = np.array([[5, 2, 9], [5, 9, 3], [0, 7, 1]])
    y, weight = np.array([-1, 1, -1]), np.array([0.5, 2, 1])
    merged = merge_comparisons(index, y, weight)
    np.testing.assert_array_equal(merged.index, index)
    np.testing.assert_array_equal(merged.y, y)
    np.testing.assert_array_equal(merged.sample_weight, weight)


def test_the_ways_to_put_one_question():
    triplets, _ = as_questions(np.array([[4, 1, 2], [4, 2, 1], [1, 4, 2]]), np.ones(3))
    assert distinct_rows(triplets)[1].tolist() == [0, 0, 1]
    ways = np.array([[3, 0, 1, 2], [0, 3, 2, 1], [1, 2, 0, 3], [2, 1, 3, 0], [0, 1, 2, 3]])
    question, y = as_questions(ways, np.ones(5))
    assert distinct_rows(question)[1].tolist() == [0, 0, 0, 0, 1]
    assert (y[:4] * y[0]).tolist() == [1, 1, -1, -1]


def test_weights_that_cancel_up_to_rounding_leave_nothing():
    index, y = [[0, 1, 2]] * 3, [1, 1, -1]
    assert len(merge_comparisons(index, y, [0.1, 0.2, 0.3])) == 0
    assert len(merge_comparisons(index, y, [0.1, 0.2, 0.3000001])) == 1


def test_comparisons_that_no_metric_can_change_are_said():
    with pytest.raises(ValueError, match=r"index\[1\] = \(3, 3, 1\) compares a point with itse"):
        merge_comparisons([[0, 1, 2], [3, 3, 1]])
    with pytest.raises(ValueError, match=r"\(3, 1, 1\) compares a distance with itself"):
        merge_comparisons([[3, 1, 1]])
    with pytest.raises(ValueError, match=r"\(0, 1, 1, 0\) compares a distance with itself"):
        merge_comparisons([[0, 1, 1, 0]])
