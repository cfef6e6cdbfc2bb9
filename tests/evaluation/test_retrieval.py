"""Measures of a search: oracles of scikit-learn, all orders of ties, invariances, scorers."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NearestNeighbors

from frobmetric.evaluation import make_retrieval_scorer, ndcg_at_k, ranking, recall_at_k
from frobmetric.evaluation.ranking import Measure
from frobmetric.evaluation.retrieval import reciprocal_rank

SIMILARITY = {
    "euclidean": lambda q, D: -np.square(q - D).sum(axis=1),
    "cosine": lambda q, D: D @ q / np.linalg.norm(D, axis=1) / np.linalg.norm(q),
    "inner_product": lambda q, D: D @ q,
}


def _problem(rng, n_queries=7, n_documents=40, n_features=5):
    Q, D = rng.normal(size=(n_queries, n_features)), rng.normal(size=(n_documents, n_features))
    grade = rng.integers(0, 4, size=(n_queries, n_documents)) * (rng.random(D.shape[0]) < 0.3)
    rows = np.argwhere(grade > 0)
    return Q, D, grade, np.column_stack([rows, grade[grade > 0]])


@pytest.mark.parametrize("metric", sorted(SIMILARITY))
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_ndcg_is_that_of_scikit_learn(rng, metric, gain):
    Q, D, grade, rows = _problem(rng)
    score = np.array([SIMILARITY[metric](q, D) for q in Q])
    value = grade if gain == "linear" else 2.0**grade - 1
    for k in (1, 10, 100):
        ours = ndcg_at_k(Q, D, rows, k=k, gain=gain, metric=metric)
        assert ours == pytest.approx(ndcg_score(value, score, k=k))


@pytest.mark.parametrize("metric", sorted(SIMILARITY))
def test_recall_and_reciprocal_rank_by_brute_force(rng, metric):
    Q, D, grade, rows = _problem(rng)
    order = [np.argsort(-SIMILARITY[metric](q, D)) for q in Q]
    found = np.array([grade[i, order[i]] > 0 for i in range(len(Q))])
    recall = found[:, :10].sum(axis=1) / found.sum(axis=1)
    ranks = recall_at_k(Q, D, rows, metric=metric, per_query=True)
    np.testing.assert_allclose(ranks, recall)
    first = reciprocal_rank(Q, D, rows, metric=metric, per_query=True)
    np.testing.assert_allclose(first, 1 / (found.argmax(axis=1) + 1))


def _measured(order, grade, k):
    """Return recall, nDCG and reciprocal rank of one order of the documents."""
    found = grade[list(order)]
    discount = 1 / np.log2(np.arange(2, len(grade) + 2))
    discount[k:] = 0
    best = np.sort(grade)[::-1] @ discount
    recall = (found[:k] > 0).sum() / (grade > 0).sum()
    return recall, found @ discount / best, 1 / (np.argmax(found > 0) + 1)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5),
    st.integers(1, 6),
)
def test_ties_have_the_expected_value_over_all_orders(documents, k):
    place, grade = np.array(documents).T
    if not grade.any():
        grade[0] = 1
    orders = [o for o in permutations(range(len(place))) if (np.diff(place[list(o)]) >= 0).all()]
    expected = np.mean([_measured(order, grade, k) for order in orders], axis=0)
    D = place[:, None].astype(float)
    rows = [(0, i, g) for i, g in enumerate(grade.tolist())]
    ours = [
        recall_at_k([[0.0]], D, rows, k=k),
        ndcg_at_k([[0.0]], D, rows, k=k),
        reciprocal_rank([[0.0]], D, rows),
    ]
    np.testing.assert_allclose(ours, expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(SIMILARITY)))
def test_the_order_of_documents_does_not_matter(seed, metric):
    rng = np.random.default_rng(seed)
    Q, D, _, rows = _problem(rng)
    D[5:15] = D[:10]  # copies tie exactly
    order = rng.permutation(len(D))
    moved = np.column_stack([rows[:, 0], np.argsort(order)[rows[:, 1]], rows[:, 2]])
    for measure in (ndcg_at_k, recall_at_k, reciprocal_rank):
        before = measure(Q, D, rows, metric=metric, per_query=True)
        after = measure(Q, D[order], moved, metric=metric, per_query=True)
        np.testing.assert_allclose(after, before)


def test_blocks_give_the_same(rng, monkeypatch):
    Q, D, _, rows = _problem(rng)
    whole = ndcg_at_k(Q, D, rows, per_query=True)
    monkeypatch.setattr("frobmetric.search.exact.BLOCK", 2 * len(D))
    np.testing.assert_array_equal(ndcg_at_k(Q, D, rows, per_query=True), whole)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("metric", sorted(SIMILARITY))
def test_the_unit_of_the_vectors_does_not_matter(rng, scale, metric):
    Q, D, _, rows = _problem(rng)
    value = ndcg_at_k(Q, D, rows, metric=metric)
    assert ndcg_at_k(scale * Q, scale * D, rows, metric=metric) == pytest.approx(value)


def test_distances_far_from_the_origin(rng):
    Q, D, _, rows = _problem(rng)
    assert ndcg_at_k(Q + 1e6, D + 1e6, rows) == pytest.approx(ndcg_at_k(Q, D, rows))


def test_single_precision_is_close(rng):
    Q, D, _, rows = _problem(rng)
    single = ndcg_at_k(Q.astype(np.float32), D.astype(np.float32), rows)
    assert single == pytest.approx(ndcg_at_k(Q, D, rows), abs=1e-3)


def test_a_negative_grade_leaves_the_document_out():
    D, Q = [[0.0], [1.0], [2.0]], [[0.0]]
    assert reciprocal_rank(Q, D, [(0, 1, 1)]) == 0.5
    assert reciprocal_rank(Q, D, [(0, 1, 1), (0, 0, -1)]) == 1.0
    assert reciprocal_rank(Q, D, [(0, 1, 1), (0, 0, 0)]) == 0.5
    assert recall_at_k(Q, D, [(0, 1, 1), (0, 2, -1)], k=3) == 1.0


def test_of_repeated_judgements_the_largest_counts():
    D, Q = [[0.0], [1.0]], [[0.0]]
    for rows in ([(0, 1, 2), (0, 1, 0)], [(0, 1, 0), (0, 1, 2)]):
        assert reciprocal_rank(Q, D, rows) == 0.5


def test_queries_that_are_documents_do_not_find_themselves(rng):
    D = rng.normal(size=(30, 4))
    rows = [(0, 3), (1, 4), (1, 5)]
    ours = reciprocal_rank([8, 9], D, rows, per_query=True)
    for i, query in enumerate([8, 9]):
        others = np.setdiff1d(np.arange(30), [query])
        order = others[np.argsort(np.linalg.norm(D[others] - D[query], axis=1))]
        relevant = [document for number, document in rows if number == i]
        assert ours[i] == pytest.approx(1 / (np.argmax(np.isin(order, relevant)) + 1))


def test_a_query_without_a_relevant_document_does_not_count():
    D, Q = [[0.0], [1.0]], [[0.0], [1.0]]
    values = ndcg_at_k(Q, D, [(0, 0), (1, 0, 0)][:1], per_query=True)
    np.testing.assert_array_equal(values, [1.0, np.nan])
    assert ndcg_at_k(Q, D, [(0, 0)]) == 1.0
    with pytest.raises(ValueError, match="none of the 2 queries has a relevant document"):
        ndcg_at_k(Q, D, [(0, 0, 0), (1, 0, -1)])


def test_zero_vectors_are_similar_to_none_by_cosine():
    D = [[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]
    values = [reciprocal_rank([[2.0, 0.0]], D, [(0, i)], metric="cosine") for i in range(3)]
    np.testing.assert_allclose(values, [1, 1 / 2, 1 / 3])
    tied = reciprocal_rank([[0.0, 0.0]], D, [(0, 1)], metric="cosine")
    assert tied == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 9)], r"relevance\[0\] = \(0, 9\).*2 documents"),
        ([(3, 0)], "1 queries"),
        ([(0, -1)], "numbered from 0"),
        ([(0, 0.5, 1)], "whole numbers"),
        ([(0, 0, np.nan)], "finite grade"),
        ([], "at least one"),
        ([0, 1], "expected rows"),
    ],
)
def test_wrong_judgements_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        ndcg_at_k([[0.0]], [[0.0], [1.0]], rows)


def test_wrong_arguments_are_refused():
    Q, D, rows = [[0.0]], [[0.0], [1.0]], [(0, 0)]
    with pytest.raises(ValueError, match="k is 0"):
        recall_at_k(Q, D, rows, k=0)
    with pytest.raises(ValueError, match="metric is 'l1'"):
        recall_at_k(Q, D, rows, metric="l1")
    with pytest.raises(ValueError, match="gain is 'log'"):
        ndcg_at_k(Q, D, rows, gain="log")
    with pytest.raises(ValueError, match="queries have 2 features"):
        ndcg_at_k([[0.0, 1.0]], D, rows)
    with pytest.raises(ValueError, match="NaN"):
        ndcg_at_k(Q, [[np.nan], [0.0]], rows)
    with pytest.raises(TypeError, match="expected numbers"):
        ndcg_at_k(Q, D, [("a", "b")])


def test_names_of_measures():
    assert [str(Measure.parse(n)) for n in ("ndcg@5", "RECALL@10", "mrr")] == [
        "nDCG@5",
        "recall@10",
        "MRR",
    ]
    for name in ("ndcg", "mrr@3", "ndcg@0", "map", None):
        with pytest.raises(ValueError, match="expected one of"):
            Measure.parse(name)


def test_only_measures_of_a_search_rank():
    judged = ranking.Judged(np.eye(2), np.eye(2), None)
    with pytest.raises(ValueError, match="AUC is not a measure of a search"):
        judged.evaluate(Measure("auc"))


@pytest.mark.parametrize("n", [1, 3, 8])
def test_best_documents_are_sorted_and_padded(rng, n):
    score = rng.integers(0, 4, size=(5, 6)).astype(float)
    score[0] = -np.inf
    found = ranking.best_documents(score, n)
    assert found.shape == (5, n)
    assert (found[0] == -1).all()
    for row, best in zip(score[1:], found[1:], strict=True):
        assert row[best[best >= 0]].tolist() == sorted(row, reverse=True)[:n]


# Scorers


def test_precision_at_one_is_the_accuracy_of_one_neighbour():
    X, y = load_iris(return_X_y=True)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no ties
    ours = make_retrieval_scorer("precision@1")(PCA().fit(X), X, y)
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    assert ours == pytest.approx(np.mean(y[nearest] == y))


@pytest.mark.parametrize("measure", ["nDCG@10", "recall@5", "MRR", "precision@3"])
def test_scorers_work_in_model_selection(measure):
    X, y = load_iris(return_X_y=True)
    scorer = make_retrieval_scorer(measure)
    values = cross_val_score(PCA(2), X, y, scoring=scorer)
    assert ((values > 0) & (values <= 1)).all()
    search = GridSearchCV(PCA(), {"n_components": [1, 2]}, scoring=scorer, cv=3).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


class _Sides(TransformerMixin, BaseEstimator):
    """Estimator that maps queries to minus themselves."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)

    def transform_query(self, X):
        return -np.asarray(X)


def test_queries_have_their_own_map():
    X, y = np.array([[1.0], [2.0], [-1.0], [-2.0]]), [0, 0, 1, 1]
    scorer = make_retrieval_scorer("precision@1", metric="inner_product")
    assert scorer(_Sides(), X, y) == 0.0
    assert scorer(PCA().fit(X), X, y) == 1.0


def test_scorers_refuse_nonsense():
    with pytest.raises(ValueError, match="measure is 'f1'"):
        make_retrieval_scorer("f1")
    with pytest.raises(ValueError, match="metric is 'l1'"):
        make_retrieval_scorer("MRR", metric="l1")
    with pytest.raises(ValueError, match="none of the 3 queries"):
        make_retrieval_scorer("MRR")(PCA().fit(np.eye(3)), np.eye(3), [0, 1, 2])


# Real vectors


@pytest.mark.parametrize(
    ("encoder", "clipped", "left_out"), [("wordllama", 0.343, 0.378), ("use", 0.197, 0.212)]
)
def test_cranfield_has_the_known_ndcg(data_folder, encoder, clipped, left_out):
    path = data_folder / "embeddings" / "cranfield.npz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    with np.load(path) as data:
        Q, D = (data[name].astype(np.float32) for name in (f"query_{encoder}", encoder))
        rows = np.sign(data["rel"].astype(np.int64)) * [0, 0, 1] + data["rel"] * [1, 1, 0]
    values = [ndcg_at_k(Q, D, r, metric="cosine") for r in (np.maximum(rows, 0), rows)]
    np.testing.assert_allclose(values, [clipped, left_out], atol=6e-4)
