"""Relevant documents: negatives and their screening, cleaning, folds and scores."""

import numpy as np
import pytest

from frobmetric.embeddings import RelevantDocuments, TooFewExamplesError
from frobmetric.evaluation import ndcg_at_k, recall_at_k
from frobmetric.evaluation.retrieval import reciprocal_rank

#: Documents on a line, and one query at 0.
LINE = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
QUERY = np.array([[0.0]])


def _negatives(feedback, A=QUERY, B=LINE):
    return sorted(set(feedback.comparisons(A, B)[0][:, 3].tolist()))


def test_negatives_are_the_nearest_that_are_not_listed():
    options = {"margin": 1.0, "twin": 0.0}
    assert _negatives(RelevantDocuments(QUERY, [(0, 2)], n_negatives=2, **options)) == [0, 1]
    assert _negatives(RelevantDocuments(QUERY, [(0, 0), (0, 2)], n_negatives=2, **options)) == [
        1,
        3,
    ]
    assert _negatives(RelevantDocuments(QUERY, [(0, 2)], n_negatives=99, **options)) == [0, 1, 3, 4]


def test_negatives_much_nearer_than_the_relevant_ones_are_dropped():
    """The squared distances are 1, 4, 9, 16, 25, and that of the relevant document is 9."""
    for margin, known in ((1.0, [0, 1, 3, 4]), (0.6, [1, 3, 4]), (0.5, [3, 4])):
        feedback = RelevantDocuments(QUERY, [(0, 2)], margin=margin, twin=0.0)
        assert _negatives(feedback) == known


def test_twins_of_relevant_documents_are_dropped():
    """Neighbours have the squared distance 1; that of the query and the relevant one is 9."""
    for twin, known in ((0.1, [0, 1, 3, 4]), (0.12, [0, 4]), (0.5, [])):
        feedback = RelevantDocuments(QUERY, [(0, 2)], margin=1.0, twin=twin)
        if known:
            assert _negatives(feedback) == known
        else:
            with pytest.raises(TooFewExamplesError, match="no query has a relevant document and"):
                feedback.comparisons(QUERY, LINE)


def test_copies_of_relevant_documents_are_no_negatives():
    B = np.array([[1.0], [3.0], [3.0]])
    assert _negatives(RelevantDocuments(QUERY, [(0, 1)], margin=1.0, twin=0.0), B=B) == [0]
    judged = RelevantDocuments(QUERY, [(0, 1, 1), (0, 2, 0)], margin=1.0, twin=0.0)
    assert _negatives(judged, B=B) == [0]


def test_grades_decide_what_is_a_negative():
    rows = [(0, 3, 2), (0, 0, 0), (0, 1, -1)]
    feedback = RelevantDocuments(QUERY, rows, n_negatives=1, margin=0.0, twin=0.0)
    # 0 was judged and needs no screening, 1 is never one, 2 is too near
    assert _negatives(feedback) == [0, 4]


def test_queries_have_equal_weights_and_grades_count_within(rng):
    Q, B = rng.normal(size=(2, 3)), rng.normal(size=(40, 3))
    rows = [(0, 0, 1), (0, 1, 3), (1, 2, 2)]
    index, weight = RelevantDocuments(Q, rows, margin=1.0).comparisons(Q, B)
    total = np.bincount(index[:, 0], weight)
    assert total[0] == pytest.approx(total[1])
    of_document = [weight[index[:, 1] == i][0] for i in (0, 1)]
    assert of_document[1] == pytest.approx(3 * of_document[0])


def test_scores_are_those_of_the_measures(rng):
    Q, B = rng.normal(size=(6, 3)), rng.normal(size=(30, 3))
    rows = np.column_stack(
        [rng.integers(0, 5, 20), rng.integers(0, 30, 20), rng.integers(-1, 4, 20)]
    )
    rows = rows[np.unique(rows[:, :2], axis=0, return_index=True)[1]]
    feedback = RelevantDocuments(Q, rows)
    for name, measure in (
        ("nDCG@10", ndcg_at_k),
        ("recall@10", recall_at_k),
        ("MRR", reciprocal_rank),
    ):
        theirs = measure(Q, B, rows, per_query=True)
        np.testing.assert_allclose(feedback.scores(Q, B, name), theirs[~np.isnan(theirs)])


def test_judgements_are_cleaned():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [0.0]])
    rows = [(0, 1, 2), (0, 1, 4), (0, 2, 1), (0, 2, 0), (0, 0, 1), (0, 4, 1), (1, 2, 0), (2, 1, 3)]
    cleaned, cleaning = RelevantDocuments([0, 3, 4], rows).cleaned(X)
    # queries 0 and 2 are equal: their judgements of document 1 merge
    assert cleaned._pairs.tolist() == [[0, 1], [0, 2], [0, 4]]
    assert cleaned._grade.tolist() == [3, -1, -1]
    assert (cleaning.n_given, cleaning.n_kept) == (8, 1)
    assert (cleaning.duplicates, cleaning.contradictions) == (2, 2)
    assert (cleaning.self_pairs, cleaning.equal_points, cleaning.incomplete) == (1, 1, 1)


def test_without_a_relevant_document_nothing_is_left():
    with pytest.raises(TooFewExamplesError, match="without a counterpart"):
        RelevantDocuments(QUERY, [(0, 1, 0)]).cleaned(LINE)


def test_equal_queries_are_in_one_fold(rng):
    Q = np.repeat(rng.normal(size=(6, 2)), 2, axis=0)
    B = rng.normal(size=(20, 2))
    feedback = RelevantDocuments(Q, [(q, q) for q in range(12)])
    for _, held_out in feedback.folds(B, 3, 0):
        queries = np.unique(held_out._pairs[:, 0])
        np.testing.assert_array_equal(queries // 2, np.repeat(queries[::2] // 2, 2))


def test_a_held_out_query_is_no_document_of_training(rng):
    X = rng.normal(size=(30, 2))
    rows = [(q, (q + 1) % 10) for q in range(10)] + [(q, 10 + q) for q in range(10)]
    feedback = RelevantDocuments(np.arange(10), rows, margin=1.0)
    for training, held_out in feedback.folds(X, 5, 0):
        index, _ = training.comparisons(X, X)
        assert not np.isin(index, np.unique(held_out._pairs[:, 0])).any()


def test_wrong_options_and_rows_are_refused():
    for options, message in (
        ({"n_negatives": 0}, "n_negatives is 0"),
        ({"margin": 2}, "margin is 2"),
        ({"twin": -1}, "twin is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            RelevantDocuments(QUERY, [(0, 0)], **options)
    with pytest.raises(ValueError, match="there are 1 queries, numbered from 0"):
        RelevantDocuments(QUERY, [(1, 0)])
    with pytest.raises(ValueError, match="the relevance has row 7, but there are 5 vectors"):
        RelevantDocuments(QUERY, [(0, 7)]).scores(QUERY, LINE)
    with pytest.raises(ValueError, match="the list of queries has row 9"):
        RelevantDocuments([9], [(0, 1)]).folds(LINE)
    with pytest.raises(ValueError, match="there are 1 queries and 2 vectors of anchors"):
        RelevantDocuments(QUERY, [(0, 1)]).scores(LINE[:2], LINE)
    with pytest.raises(ValueError, match="queries have 1 features, documents 2"):
        RelevantDocuments(QUERY, [(0, 1)]).cleaned(np.eye(2))
