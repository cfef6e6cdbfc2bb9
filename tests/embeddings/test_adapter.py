"""EmbeddingAdapter: it helps where it can, and changes nothing where it cannot."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from frobmetric import EmbeddingAdapter
from frobmetric.embeddings import (
    GradedPairs,
    RankedLists,
    RelevantDocuments,
    SimilarPairs,
    check_abilities,
)

UNCHANGED = pytest.mark.filterwarnings("ignore:.*embedding unchanged:UserWarning")


def planted(rng, n=160, n_classes=4, noise=8):
    """Return vectors whose first features tell the class, and labels."""
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, n_classes + noise))
    X[:, :n_classes] = 2 * np.eye(n_classes)[y] + 0.5 * X[:, :n_classes]
    return X, y


def searched(rng, n_documents=80, n_queries=60, noise=6):
    """Return documents, queries and relevance: the first three features tell the topic."""
    topics = rng.normal(size=(20, 3))
    of_document, of_query = np.arange(n_documents) % 20, np.arange(n_queries) % 20
    X = np.hstack([topics[of_document], 1.5 * rng.normal(size=(n_documents, noise))])
    Q = np.hstack([topics[of_query], 1.5 * rng.normal(size=(n_queries, noise))])
    return X, Q, np.argwhere(of_query[:, None] == of_document)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_a_planted_signal_is_found_and_helps_on_new_samples(rng):
    X, y = planted(rng, n=320)
    adapter = EmbeddingAdapter().fit(X[:160], y[:160])
    assert adapter.changed_
    assert adapter.strength_ > 0
    assert adapter.report_.gain.interval[0] > 0
    assert adapter.certificate_.relative_gap <= 1e-3
    assert adapter.check(X[160:], y[160:]).verdict == "helped"
    pattern = r"precision@3 0\.\d{3} -> 0\.\d{3}, \+0\.\d{3} \[\+.*, \+.*\], 5 folds of 160 samples"
    assert re.fullmatch(pattern, adapter.report_.line())


@pytest.mark.parametrize("side", ["both", "query"])
def test_relevance_with_queries_of_their_own(rng, side):
    X, Q, relevance = searched(rng)
    adapter = EmbeddingAdapter(side=side).fit(X, RelevantDocuments(Q, relevance))
    assert adapter.changed_
    assert adapter.report_.unit == "queries"
    new_X, new_Q, new = searched(np.random.default_rng(0))
    gain = adapter.check(new_X, RelevantDocuments(new_Q, new))
    assert gain.verdict == "helped"
    if side == "query":
        np.testing.assert_array_equal(adapter.components_, np.eye(X.shape[1]))
        np.testing.assert_allclose(adapter.transform(X), unit(X), rtol=1e-12)


def pair_feedback(rng, y, n_pairs=300):
    pairs = np.array([rng.choice(len(y), 2, replace=False) for _ in range(n_pairs)])
    is_similar = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs, is_similar


def test_pairs_and_graded_pairs(rng):
    X, y = planted(rng)
    pairs, is_similar = pair_feedback(rng, y, n_pairs=800)
    by_pairs = EmbeddingAdapter(strengths=[100]).fit(
        X, SimilarPairs(pairs, np.where(is_similar, 1, -1))
    )
    assert by_pairs.changed_
    assert by_pairs.report_.measure == "AUC"
    by_grades = EmbeddingAdapter(strengths=[100]).fit(X, GradedPairs(pairs, 4.0 * is_similar))
    assert by_grades.changed_
    assert by_grades.report_.measure == "Spearman"


@UNCHANGED
def test_ranked_lists(rng):
    X, Q, relevance = searched(rng)
    lists = []
    for q in range(len(Q)):
        right = relevance[relevance[:, 0] == q, 1]
        lists.append([*right, *np.setdiff1d(rng.choice(len(X), 6, replace=False), right)])
    adapter = EmbeddingAdapter(side="query").fit(X, RankedLists(Q, lists))
    assert adapter.report_.gain.estimate > 0


@UNCHANGED
@pytest.mark.slow
def test_noise_leaves_the_embedding_unchanged():
    n_changed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 6)), rng.integers(3, size=60)
        n_changed += EmbeddingAdapter(strengths=[30, 300]).fit(X, y).changed_
        Q, document = rng.normal(size=(30, 6)), rng.integers(60, size=30)
        feedback = RelevantDocuments(Q, np.column_stack([np.arange(30), document]))
        n_changed += EmbeddingAdapter(strengths=[30, 300], side="query").fit(X, feedback).changed_
    assert n_changed <= 4  # 5 % of 80 fits


@UNCHANGED
@pytest.mark.slow
def test_new_samples_are_never_significantly_worse():
    verdicts = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = planted(rng, n=240, noise=4 * (seed % 4))
        X += (seed % 3) * rng.normal(size=X.shape)
        adapter = EmbeddingAdapter(strengths=[30, 300, 3000]).fit(X[:80], y[:80])
        verdicts.append(adapter.check(X[80:], y[80:]).verdict)
    assert "hurt" not in verdicts
    assert "helped" in verdicts


def test_an_unchanged_embedding_is_returned_exactly(rng):
    X, y = rng.normal(size=(60, 5)), rng.integers(3, size=60)
    with pytest.warns(UserWarning, match="no significant gain; embedding unchanged"):
        adapter = EmbeddingAdapter(strengths=[100]).fit(X, y)
    assert not adapter.changed_
    assert adapter.strength_ == 0
    np.testing.assert_array_equal(adapter.transform_query(X), adapter.transform(X))
    np.testing.assert_allclose(adapter.transform(X), unit(X), rtol=1e-14)
    np.testing.assert_array_equal(adapter.components_, np.eye(5))
    with pytest.warns(UserWarning, match="embedding unchanged"):
        plain = EmbeddingAdapter(strengths=[100], unit_length=False).fit(X, y)
    np.testing.assert_array_equal(plain.transform(X), X)


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (np.zeros(30), "two classes"),
        (np.arange(30), "can be held out"),
        ([0, 0, 1, 1, *range(2, 28)], "can be held out"),
    ],
)
def test_too_few_examples_change_nothing_and_say_why(rng, y, reason):
    X = rng.normal(size=(30, 4))
    with pytest.warns(UserWarning, match=f"embedding unchanged: .*{reason}"):
        adapter = EmbeddingAdapter().fit(X, y)
    assert not adapter.changed_
    assert reason in adapter.report_.line()
    assert adapter.report_.gain is None


def test_the_three_similarities_rank_alike(rng):
    X, y = planted(rng)
    Z = EmbeddingAdapter(strength=100).fit(X, y).transform(X)
    inner, cosine = Z @ Z.T, cosine_similarity(Z)
    distance = 2 - 2 * inner
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1)
    np.testing.assert_allclose(inner, cosine, atol=1e-12)
    np.testing.assert_allclose(((Z[:, None] - Z) ** 2).sum(axis=2), distance, atol=1e-12)


def test_a_given_strength_is_taken_without_a_test(rng):
    X, y = planted(rng)
    adapter = EmbeddingAdapter(strength=50).fit(X, y)
    assert adapter.changed_
    assert adapter.strength_ == 50
    assert str(adapter.report_) == "embedding changed: the strength was given, not tested"


def test_small_strengths_change_little(rng):
    X, y = planted(rng)
    Z = EmbeddingAdapter(strength=1e-6).fit(X, y).transform(X)
    np.testing.assert_allclose(Z, unit(X), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_lengths_do_not_matter_at_unit_length(rng, scale):
    X, y = planted(rng, n=60)
    lengths = scale * rng.uniform(0.5, 2, size=(60, 1))
    expected = EmbeddingAdapter(strength=50).fit(X, y).transform(X)
    scaled = EmbeddingAdapter(strength=50).fit(X * lengths, y).transform(X * lengths)
    np.testing.assert_allclose(scaled, expected, atol=1e-3)  # both are optimal up to tol


def test_a_zero_vector_stays_zero(rng):
    X, y = planted(rng)
    X[3] = 0
    Z = EmbeddingAdapter(strength=50).fit(X, y).transform(X)
    assert not Z[3].any()
    assert np.isfinite(Z).all()


def test_duplicates_and_contradictions_are_counted(rng):
    X, y = planted(rng)
    X, y = np.vstack([X, X[:5]]), np.concatenate([y, y[:2], 9 - y[2:5]])
    adapter = EmbeddingAdapter(strength=50).fit(X, y)
    assert (adapter.cleaning_.duplicates, adapter.cleaning_.contradictions) == (2, 6)


def test_structures_with_weights(rng):
    X, y = planted(rng)
    diagonal = EmbeddingAdapter(structure="diagonal", strength=100).fit(X, y)
    assert diagonal.weights_.shape == (12,)
    assert diagonal.weights_[:4].min() > diagonal.weights_[4:].max()
    blocks = EmbeddingAdapter(structure=[4, 8], strength=100).fit(X, y)
    assert blocks.weights_[0] > blocks.weights_[1]


def test_in_a_pipeline(rng):
    X, y = planted(rng, n=240)
    model = make_pipeline(EmbeddingAdapter(strength=100), KNeighborsClassifier(3))
    plain = make_pipeline(EmbeddingAdapter(strength=1e-9), KNeighborsClassifier(3))
    scores = [m.fit(X[:120], y[:120]).score(X[120:], y[120:]) for m in (model, plain)]
    assert scores[0] > scores[1]
    assert clone(model).get_params()["embeddingadapter__strength"] == 100


def test_progress_and_callback(rng, capsys):
    X, y = planted(rng)
    steps = []
    adapter = EmbeddingAdapter(strengths=[100], verbose=1, callback=steps.append)
    adapter.fit(X, y)
    text = capsys.readouterr().out
    assert "fold 5 of 5: 32 samples" in text
    assert "step    1" in text
    assert steps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": "document"}, "'side' parameter"),
        ({"side": "query", "unit_length": False}, "rank as distances do at unit"),
        ({"side": "query", "structure": "diagonal"}, "with side='query' give 'full'"),
        ({"strength": -1.0}, "'strength' parameter"),
        ({"strengths": [-1.0]}, "finite numbers of at least 0"),
        ({"strengths": [[1.0]]}, "finite numbers of at least 0"),
        ({"scoring": "quality"}, "measure is 'quality'"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"cv": 1}, "'cv' parameter"),
        ({"n_components": 99}, "larger than the 12 features"),
    ],
)
def test_bad_parameters(rng, options, message):
    X, y = planted(rng)
    with pytest.raises(ValueError, match=message):
        EmbeddingAdapter(**options).fit(X, y)


def test_bad_data(rng):
    X, y = planted(rng)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EmbeddingAdapter().fit(X, y[:-1])
    with pytest.raises(ValueError, match="there are 160 vectors"):
        EmbeddingAdapter().fit(X, SimilarPairs([(0, 1), (0, 900)], [1, -1]))
    adapter = EmbeddingAdapter(strength=10).fit(X, y)
    with pytest.raises(ValueError, match="expecting 12 features"):
        adapter.transform_query(X[:, 1:])


def test_another_ability_that_falls_is_named(rng):
    X, y = planted(rng)
    other = np.arange(len(X)) % 4
    X[:, 4:8] = 3 * np.eye(4)[other] + 0.5 * X[:, 4:8]
    adapter = EmbeddingAdapter(strength=1e4).fit(X, y)
    report = check_abilities(adapter, {"trained": (X, y), "other": (X, other)})
    assert report.hurt == ["other"]
    assert report.gains["trained"].verdict == "helped"
    assert "hurt" in str(report)
    assert "<b" in report._repr_html_() or "bold" in report._repr_html_()
    with pytest.raises(ValueError, match="tasks is empty"):
        check_abilities(adapter, {})


def test_the_report_as_table_html_and_dictionary(rng):
    X, y = planted(rng)
    report = EmbeddingAdapter(strengths=[10, 100]).fit(X, y).report_
    assert report.table().splitlines()[1].startswith("0 (unchanged)")
    assert report.line() in report._repr_html_().replace("&gt;", ">")
    assert report.table() in str(report)
