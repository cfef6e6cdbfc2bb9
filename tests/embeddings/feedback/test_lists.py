"""Ranked lists and clicks: the preferences that they state, merging and errors."""

import numpy as np
import pytest

from frobmetric.embeddings import Clicks, RankedLists, TooFewExamplesError

#: Documents on a line, and one query at 0.
LINE = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
QUERY = np.array([[0.0]])


def test_a_list_prefers_the_earlier_documents():
    feedback = RankedLists(QUERY, [[2, 0, 1]])
    assert feedback.comparisons(QUERY, LINE)[0].tolist() == [
        [0, 2, 0, 0],
        [0, 2, 0, 1],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(feedback.scores(QUERY, LINE), [1 / 3])


def test_long_lists_are_thinned_evenly(rng):
    X = rng.normal(size=(300, 2))
    feedback = RankedLists(QUERY[:, [0, 0]], [np.arange(300)])
    index, _ = feedback.comparisons(X[:1], X)
    assert len(index) <= 300 * 50
    assert (index[:, 1] < index[:, 3]).all()
    later = index[index[:, 1] == 0, 3]
    assert (later[0], later[-1], len(np.unique(later))) == (1, 299, 50)


@pytest.mark.parametrize(
    ("clicked", "known"),
    [
        ([0], [(3, 1)]),
        ([2], [(4, 3), (4, 1), (4, 2)]),
        ([0, 2], [(3, 1), (4, 1), (4, 2)]),
        ([2, 2], [(4, 3), (4, 1), (4, 2)]),
        ([3], [(2, 3), (2, 1), (2, 4)]),
    ],
)
def test_a_click_is_preferred_to_what_was_passed_over(clicked, known):
    X = np.eye(5)
    index, weight = Clicks([0], [[3, 1, 4, 2]], [clicked]).comparisons(X, X)
    assert [(b, d) for _, b, _, d in index.tolist()] == known
    np.testing.assert_allclose(weight, 1)


def test_queries_without_a_click_say_nothing():
    X = np.eye(5)
    index, _ = Clicks([0, 1], [[3, 1, 4], [2, 3]], [[], [1]]).comparisons(X, X)
    assert index.tolist() == [[1, 3, 1, 2]]
    with pytest.raises(TooFewExamplesError, match="no click beside a document"):
        Clicks([0], [[3, 1]], [[0, 1]])
    with pytest.raises(TooFewExamplesError, match="no list of two documents"):
        RankedLists([0], [[3]])


def test_preferences_are_merged_by_majority():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [2.0]])
    lists = [[1, 2], [1, 4], [2, 1], [3, 1], [1, 3], [2, 4], [0, 1]]
    cleaned, cleaning = RankedLists([0] * 7, lists).cleaned(X)
    assert cleaned._rows.tolist() == [[0, 1, 2]]
    assert (cleaning.duplicates, cleaning.contradictions) == (1, 3)
    assert (cleaning.equal_points, cleaning.self_pairs) == (1, 1)


def test_wrong_lists_are_refused():
    with pytest.raises(ValueError, match="lists has 1 lists; there are 2 queries"):
        RankedLists([0, 1], [[1, 2]])
    with pytest.raises(ValueError, match=r"lists\[0\]\[1\] = -2 is out of range"):
        RankedLists([0], [[1, -2]])
    with pytest.raises(TypeError, match="expected integers"):
        RankedLists([0], [[0.5, 1.0]])
    with pytest.raises(ValueError, match=r"clicked\[0\] has place 2, but 2 documents were shown"):
        Clicks([0], [[1, 2]], [[2]])
    with pytest.raises(ValueError, match="the list of documents has row 8"):
        RankedLists([0], [[8, 1]]).scores(np.eye(3), np.eye(3))
