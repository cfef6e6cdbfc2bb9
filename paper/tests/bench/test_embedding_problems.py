"""Problems on embeddings: judgements against other implementations, and what is told of them."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import ndcg_score, roc_auc_score

from frobmetric_paper.bench.embedding_problems import (
    N_GROUPS,
    Answer,
    ScoreProblem,
    SearchProblem,
    gain_at_ten,
    pack,
    pseudo_values,
    unit,
    unpack,
)
from frobmetric_paper.bench.intent_problems import (
    LabelProblem,
    PairProblem,
    TransferProblem,
    area,
    draw_labels,
    draw_pairs,
    nearest_mean,
)

SWAP = Answer(lambda X: X[:, ::-1], lambda X: X[:, ::-1])


@pytest.fixture
def texts(rng):
    """Texts of ten intents in eight dimensions, of which two are noise; a third tests."""
    y = np.arange(180) % 10
    X = rng.normal(size=(10, 8))[y] + rng.normal(scale=0.6, size=(180, 8))
    return unit(X), y, np.arange(180) % 3 == 0


@pytest.fixture
def search(rng):
    documents, queries = unit(rng.normal(size=(30, 4))), unit(rng.normal(size=(9, 4)))
    rows = [(q, d, g) for q in range(9) for d, g in ((q, 3), (q + 9, 1), (q + 18, -1))]
    return SearchProblem(queries, documents, np.array(rows), np.arange(6), np.arange(6, 9))


def test_numbers_as_text(rng):
    values = np.round(rng.normal(size=100), 5)
    np.testing.assert_allclose(unpack(pack(values)), values, atol=1e-9)


def test_pseudo_values_of_a_mean_are_the_means_of_the_groups(rng):
    x = rng.normal(size=12)
    groups = [np.arange(12) // 3 == k for k in range(4)]
    values = pseudo_values(lambda kept: x[kept].mean(), groups)
    np.testing.assert_allclose(values, x.reshape(4, 3).mean(axis=1))


def test_area(rng):
    score, same = rng.normal(size=50), rng.random(50) < 0.3
    assert area(same[np.argsort(score)]) == pytest.approx(roc_auc_score(same, score))


def test_gain_at_ten(rng):
    scores, gains = rng.normal(size=40), rng.integers(0, 4, size=40).astype(float)
    assert gain_at_ten(scores, gains) == pytest.approx(ndcg_score([gains], [scores], k=10))


# Labels


def test_labels(texts):
    X, y, is_test = texts
    problem = LabelProblem(X[~is_test], y[~is_test], X[is_test], y[is_test])
    judged = problem.judge(Answer())
    assert set(judged) == {"1-NN", "3-NN", "nearest mean"}
    assert all(values.shape == (60,) for values in judged.values())
    assert problem.rate(Answer()) == judged["1-NN"].mean() > 0.5
    assert problem.judge_probe(Answer())["logistic regression"].mean() > 0.6
    assert problem.judge(SWAP)["1-NN"].mean() == judged["1-NN"].mean()
    inner = problem.inner()
    assert sum(len(part.y_test) for part in inner) == len(problem.y)
    documents = problem.answers
    a, b = documents["answers"].T
    assert (problem.y[a] == problem.y[b]).all()
    assert (a != b).all()


def test_pairs_of_labels(texts):
    X, y, _ = texts
    pairs = draw_pairs(X, y, np.random.default_rng(0))
    a, b = pairs["rows"].T
    np.testing.assert_array_equal(np.where(y[a] == y[b], 1, -1), pairs["similarity"])
    assert (a != b).all()
    assert abs(pairs["similarity"].sum()) == 0
    np.testing.assert_array_equal(pairs["second"], X[b])


def test_draws_of_labels(texts):
    _, y, _ = texts
    rows = np.arange(40, 180)
    some = draw_labels(y, rows, 5, np.random.default_rng(0))
    assert np.bincount(y[some]).tolist() == [5] * 10
    assert set(some) <= set(rows)
    np.testing.assert_array_equal(draw_labels(y, rows, None, None), rows)


def test_nearest_mean():
    Z, y = np.array([[0.0], [2.0], [5.0]]), np.array([7, 7, 3])
    assert nearest_mean(Z, y, np.array([[2.5], [3.5]])).tolist() == [7, 3]


# New intents


@pytest.mark.parametrize("kind", [TransferProblem, PairProblem])
def test_new_intents_are_not_learned_from(kind, texts):
    X, y, is_test = texts
    is_new = np.arange(10) < 4
    problem = kind(X, y, is_test, is_new)
    assert not is_new[y[problem.known]].any()
    assert not is_test[problem.known].any()
    (inner,) = problem.inner()
    assert not np.isin(inner.y, np.flatnonzero(is_new)).any()
    for values in problem.judge(Answer()).values():
        assert np.isnan(values).tolist() == (~is_new).tolist()


def test_transfer(texts):
    X, y, is_test = texts
    problem = TransferProblem(X, y, is_test, np.arange(10) < 4)
    judged = problem.judge(Answer()) | problem.judge_probe(Answer())
    assert all(np.nanmean(values) > 0.6 for values in judged.values())
    assert problem.targets["targets"].shape == problem.labels[0].shape


def test_pairs_are_told_without_labels(texts):
    X, y, is_test = texts
    is_new = np.arange(10) < 4
    problem = PairProblem(X, y, is_test, is_new)
    assert not hasattr(problem, "labels")
    rows = np.flatnonzero(is_test & is_new[y])
    a, b = np.triu_indices(len(rows), 1)
    cosine, same = (X[rows] @ X[rows].T)[a, b], (y[rows][:, None] == y[rows])[a, b]
    found = np.nanmean(problem.judge(Answer())["AUC"])
    assert found == pytest.approx(roc_auc_score(same, cosine), abs=0.05)
    assert len(problem.targets["inputs"]) == 2 * (problem.pairs["similarity"] > 0).sum()


# Scores


def test_scores(rng):
    X = unit(rng.normal(size=(400, 5)))
    rows = np.arange(400).reshape(200, 2)
    score = np.clip(2.5 + 2.5 * np.einsum("ij,ij->i", *X[rows].swapaxes(0, 1)), 0, 5)
    score += 0.5 * rng.normal(size=200)
    problem = ScoreProblem(X, rows[:100], score[:100], {"2013": (rows[100:], score[100:])})
    values = problem.judge(Answer())["Spearman 2013"]
    cosine = np.einsum("ij,ij->i", *X[rows[100:]].swapaxes(0, 1))
    assert values.shape == (N_GROUPS,)
    assert values.mean() == pytest.approx(spearmanr(cosine, score[100:])[0], abs=0.02)
    assert np.abs(problem.pairs["similarity"]).max() < 1.5
    assert sum(len(part.score) for part in problem.inner()) == 200


# Search


def test_search(search):
    judged = search.judge(Answer())
    for values in judged.values():
        assert np.isnan(values).tolist() == [True] * 6 + [False] * 3
    gains = np.zeros(30)
    gains[6], gains[15] = 3, 1
    scores = search.documents @ search.queries[6]
    assert judged["nDCG@10"][6] == pytest.approx(gain_at_ten(scores, gains))
    scores[24] = -9
    assert judged["nDCG@10 without -1"][6] == pytest.approx(gain_at_ten(scores, gains))


def test_what_is_told_of_a_search(search):
    assert search.told[:, 0].max() == 5
    pairs = search.pairs
    assert (pairs["similarity"] > 0).sum() == 12
    np.testing.assert_allclose(
        search.targets["targets"][0], 0.75 * search.documents[0] + 0.25 * search.documents[9]
    )
    assert search.answers["answers"].tolist() == [[q, d] for q in range(6) for d in (q, q + 9)]
    for part in search.inner():
        assert not set(part.train) & set(part.test)
        assert set(part.train) | set(part.test) == set(range(6))
