"""Ranked lists and clicks: the preferences that they state, merging and errors."""

import numpy as np
import pytest

from frobmetric import EmbeddingAdapter
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


def ndcg(gains):
    """Return nDCG of gains in the order that a search has found."""
    discount = 1 / np.log2(np.arange(2, len(gains) + 2))
    return gains @ discount / (np.sort(gains)[::-1] @ discount)


def test_measures_of_a_search_rank_the_documents_of_a_list():
    feedback = RankedLists(QUERY, [[2, 0, 1]])  # found as 0, 1, 2; documents 3 and 4 do not count
    scores = {name: feedback.scores(QUERY, LINE, name).tolist() for name in ("MRR", "recall@2")}
    assert scores == {"MRR": [pytest.approx(1 / 3)], "recall@2": [0.5]}
    assert feedback.scores(QUERY, LINE, "precision@1").tolist() == [0.0]
    expected = ndcg(np.array([0.5, 0.0, 1.0]))
    np.testing.assert_allclose(feedback.scores(QUERY, LINE, "nDCG@10"), [expected])


def test_clicked_documents_are_relevant_among_those_shown():
    feedback = Clicks(QUERY, [[4, 1, 3, 0]], [[0, 2]])  # found as 0, 1, 3, 4; clicked 4 and 3
    np.testing.assert_allclose(feedback.scores(QUERY, LINE, "MRR"), [1 / 3])
    np.testing.assert_allclose(feedback.scores(QUERY, LINE, "recall@3"), [0.5])
    np.testing.assert_allclose(feedback.scores(QUERY, LINE, "nDCG@10"), [ndcg(np.r_[0, 0, 1, 1])])


def test_a_query_that_was_asked_again_has_shares_of_clicks():
    queries = np.repeat(QUERY, 4, axis=0)
    shown = [[0, 1, 2]] * 4
    feedback, _ = Clicks(queries, shown, [[1], [1], [1], [2]]).cleaned(LINE)
    expected = ndcg(np.array([0, 0.75, 0.25]))
    np.testing.assert_allclose(feedback.scores(queries, LINE, "nDCG@10"), [expected])


def test_a_query_among_the_documents_is_not_ranked():
    feedback, _ = RankedLists([1], [[1, 3, 2]]).cleaned(LINE)
    np.testing.assert_allclose(feedback.scores(LINE, LINE, "MRR"), [0.5])


def test_tied_documents_have_the_expected_measure():
    X = np.array([[1.0], [1.0], [2.0]])
    feedback = RankedLists(QUERY, [[0, 1, 2]])
    np.testing.assert_allclose(feedback.scores(QUERY, X, "MRR"), [0.75])


def test_held_out_queries_together_have_all_scores(rng):
    X, queries = rng.normal(size=(40, 3)), rng.normal(size=(25, 3))
    lists = [rng.choice(40, rng.integers(2, 9), replace=False) for _ in queries]
    feedback, _ = RankedLists(queries, lists).cleaned(X)
    for measure in ("nDCG@3", "MRR", "recall@1"):
        parts = [part.scores(queries, X, measure) for _, part in feedback.folds(X, 5, 0)]
        everything = feedback.scores(queries, X, measure)
        np.testing.assert_allclose(np.sort(np.concatenate(parts)), np.sort(everything))


@pytest.mark.parametrize("measure", ["AUC", "Spearman"])
def test_measures_of_pairs_are_refused(measure):
    with pytest.raises(ValueError, match=f"measure of a search such as nDCG@10, not by '{measure}"):
        RankedLists(QUERY, [[0, 1]]).scores(QUERY, LINE, measure)


@pytest.mark.parametrize("scoring", ["nDCG@5", "MRR", "recall@3"])
@pytest.mark.parametrize("kind", ["lists", "clicks"])
def test_an_adapter_is_chosen_and_reported_by_the_measure(rng, kind, scoring):
    X, queries = rng.normal(size=(80, 10)), rng.normal(size=(100, 10))
    order = np.argsort(-(queries[:, :2] @ X[:, :2].T), axis=1)
    lists = [found[np.sort(rng.choice(80, 12, replace=False))] for found in order]
    feedback = RankedLists(queries, lists)
    if kind == "clicks":
        shown = [rng.permutation(found) for found in lists]
        best = [
            np.flatnonzero(np.isin(s, found[:3])) for s, found in zip(shown, lists, strict=True)
        ]
        feedback = Clicks(queries, shown, best)
    adapter = EmbeddingAdapter(scoring=scoring).fit(X, feedback)
    assert adapter.changed_
    assert str(adapter.report_).startswith(scoring)
