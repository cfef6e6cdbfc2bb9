"""Retrieval: recall, precision, nDCG and reciprocal rank of a search, and scorers for scikit-learn.

Documents are ranked by the similarity of their vectors to a query's. Documents of equal similarity
are tied, and a measure is then its expected value over a random order of the tied ones. So it
depends neither on the order of the documents nor on that of the queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from ..checks.arguments import as_index, check_choice, check_count, check_flag, refuse_where
from ..checks.samples import check_array, column_or_1d
from ..core.checks import MOST, as_array, read_array, read_values
from .ranking import GAINS, GradedDocuments, Judged, Measure, SameLabel, check_metric

# Measures of vectors and judgements


#: Largest grade whose exponential gain, and sums of many, are finite.
MOST_EXPONENT = 250


def ndcg_at_k(
    queries: Any,
    documents: Any,
    relevance: ArrayLike,
    *,
    k: int = 10,
    gain: str = "linear",
    metric: str = "euclidean",
    per_query: bool = False,
) -> float | np.ndarray:
    """Return the normalised discounted cumulative gain of the first k documents.

    The document in place r adds its gain divided by log2(1 + r); the sum is divided by the largest
    that any order reaches.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
        Vectors, or row numbers of documents; such a query does not find itself.
    documents : array-like of shape (n_documents, n_features)
    relevance : array-like of shape (n_rows, 2) or (n_rows, 3)
        Rows (query, document) or (query, document, grade), numbers from 0. Without a grade it is 1.
        A pair that is not listed has grade 0, not relevant. A document of negative grade is left
        out of the ranking of this query: it counts neither for nor against. Of repeated rows the
        largest grade counts.
    k : int, default=10
    gain : {"linear", "exponential"}, default="linear"
        The gain of a grade g: g itself, as in trec_eval, or 2^g - 1.
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"
        Similarity by which documents are ranked. With "cosine" a zero vector has similarity 0 to
        all.
    per_query : bool, default=False

    Returns
    -------
    float or ndarray of shape (n_queries,)
        The mean over the queries that have a relevant document, or the value of each query, NaN
        where it has none.

    Examples
    --------
    >>> from frobmetric.evaluation import ndcg_at_k
    >>> documents = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
    >>> round(ndcg_at_k([[1.0, 0.1]], documents, [(0, 1, 3), (0, 2, 1)]), 3)
    0.659
    """
    check_count(k, name="k")
    judged = _judge(queries, documents, relevance, metric, gain)
    return _mean(judged.evaluate(Measure("ndcg", k), metric), per_query)


def recall_at_k(
    queries: Any,
    documents: Any,
    relevance: ArrayLike,
    *,
    k: int = 10,
    metric: str = "euclidean",
    per_query: bool = False,
) -> float | np.ndarray:
    """Return the share of a query's relevant documents that are among the first k.

    A document is relevant if its grade is positive. `ndcg_at_k` explains the parameters.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
    documents : array-like of shape (n_documents, n_features)
    relevance : array-like of shape (n_rows, 2) or (n_rows, 3)
    k : int, default=10
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"
    per_query : bool, default=False

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> from frobmetric.evaluation import recall_at_k
    >>> documents = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
    >>> recall_at_k([[1.0, 0.1]], documents, [(0, 1), (0, 2)], k=2)
    0.5
    """
    check_count(k, name="k")
    judged = _judge(queries, documents, relevance, metric)
    return _mean(judged.evaluate(Measure("recall", k), metric), per_query)


def reciprocal_rank(
    queries: Any,
    documents: Any,
    relevance: ArrayLike,
    *,
    metric: str = "euclidean",
    per_query: bool = False,
) -> float | np.ndarray:
    """Return 1 / r, where r is the place of the first relevant document; the mean is the MRR.

    A document is relevant if its grade is positive. `ndcg_at_k` explains the parameters.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
    documents : array-like of shape (n_documents, n_features)
    relevance : array-like of shape (n_rows, 2) or (n_rows, 3)
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"
    per_query : bool, default=False

    Returns
    -------
    float or ndarray of shape (n_queries,)

    Examples
    --------
    >>> from frobmetric.evaluation.retrieval import reciprocal_rank
    >>> documents = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
    >>> reciprocal_rank([[1.0, 0.1], [0.0, 2.0]], documents, [(0, 1), (1, 2)])
    0.75
    """
    judged = _judge(queries, documents, relevance, metric)
    return _mean(judged.evaluate(Measure("mrr"), metric), per_query)


def _mean(values: np.ndarray, per_query: bool) -> Any:
    check_flag(per_query, name="per_query")
    if per_query:
        return values
    if np.isnan(values).all():
        raise ValueError(
            f"none of the {len(values)} queries has a relevant document (of positive grade), so "
            "there is nothing to average; check relevance"
        )
    return float(np.nanmean(values))


def _judge(
    queries: Any, documents: Any, relevance: Any, metric: str, gain: str = "linear"
) -> Judged:
    check_metric(metric)
    check_choice(gain, GAINS, name="gain")
    documents = check_array(documents, dtype=[np.float64, np.float32])
    itself, queries = None, read_values(queries, name="queries")
    if queries.ndim == 1:
        itself = as_index(queries, (), name="queries", n_points=len(documents), points="documents")
        queries = documents[itself]
    queries = check_array(queries, dtype=[np.float64, np.float32])
    check_width(queries, documents)
    pairs, grade = as_relevance(relevance, len(queries), len(documents))
    if gain == "exponential" and grade.max() > MOST_EXPONENT:
        raise ValueError(
            f"relevance has the grade {grade.max():g}, whose gain 2^grade is too large; expected "
            f"grades of at most {MOST_EXPONENT}; give smaller ones, or gain='linear'"
        )
    if itself is not None:
        pairs = np.vstack([pairs, np.column_stack([np.arange(len(itself)), itself])])
        grade = np.append(grade, np.full(len(itself), np.nan))
    return Judged(queries, documents, GradedDocuments.of(pairs, grade, len(documents), gain))


def as_relevance(
    relevance: ArrayLike, n_queries: int, n_documents: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (query, document) and their grades, checked."""
    rows = read_array(relevance, name="relevance")
    if rows.ndim != 2 or rows.shape[1] not in (2, 3) or not len(rows):
        raise ValueError(
            f"relevance has shape {rows.shape}; expected rows (query, document) or (query, "
            "document, grade), at least one"
        )
    if rows.dtype.kind not in "iuf":
        raise TypeError(f"relevance has dtype {rows.dtype}; expected numbers")
    rows = as_array(rows, name="relevance")
    name = "relevance[{}] = {}".format
    is_wrong = ~np.isfinite(rows) | (rows != np.rint(rows)) & (np.arange(rows.shape[1]) < 2)
    hint = "expected whole numbers for query and document, and a finite grade"
    refuse_where(is_wrong, lambda i, _: f"{name(i, tuple(rows[i].tolist()))}; {hint}")
    sizes = np.where(np.arange(rows.shape[1]) < 2, 2.0**53, MOST)
    refuse_where(np.abs(rows) > sizes, lambda i, _: f"{name(i, tuple(rows[i].tolist()))}; {hint}")
    pairs = rows[:, :2].astype(np.intp)
    most = np.inf if n_documents is None else n_documents
    named = "" if n_documents is None else f" and {n_documents} documents"
    limits = f"there are {n_queries} queries{named}, numbered from 0"
    is_outside = (pairs < 0) | (pairs >= (n_queries, most))
    refuse_where(is_outside, lambda i, _: f"{name(i, tuple(pairs[i].tolist()))}; {limits}")
    grade = rows[:, 2].astype(np.float64) if rows.shape[1] == 3 else np.ones(len(rows))
    return pairs, grade


def check_width(queries: np.ndarray, documents: np.ndarray) -> None:
    """Refuse queries and documents with different numbers of features."""
    if queries.shape[1] != documents.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} features, documents {documents.shape[1]}; expected "
            "vectors of one space"
        )


# Scorers in scikit-learn's form


@dataclass(frozen=True)
class RetrievalScorer:
    """Scorer of scikit-learn's form, made by `make_retrieval_scorer`."""

    measure: Measure
    metric: str = "euclidean"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the mean of the measure in the space that the estimator maps to."""
        mapped = np.asarray(estimator.transform(X))
        map_queries = getattr(estimator, "transform_query", estimator.transform)
        if hasattr(y, "scores"):
            vectors = X if y.queries is None else y.queries
            anchors = np.asarray(map_queries(vectors))
            return float(np.mean(y.scores(anchors, mapped, str(self.measure), self.metric)))
        return score_labels(np.asarray(map_queries(X)), mapped, y, self.measure, self.metric)


def score_labels(
    anchors: np.ndarray, mapped: np.ndarray, y: Any, measure: Measure, metric: str
) -> float:
    """Return the mean of a measure where each sample searches the others for its class."""
    y = column_or_1d(y)
    check_consistent_length(mapped, y)
    judgements = SameLabel(y, y, np.arange(len(y)))
    values = Judged(anchors, mapped, judgements).evaluate(measure, metric)
    return float(_mean(values, False))


def make_retrieval_scorer(measure: str, *, metric: str = "euclidean") -> RetrievalScorer:
    """Make a scorer for `cross_val_score`, `GridSearchCV` and the like.

    The estimator is anything with `transform`; if it has `transform_query`, that maps queries. With
    labels as y each sample searches the others, and samples of its class are relevant; a sample
    that is alone in its class does not count. With a feedback object of `frobmetric.embeddings` as
    y the score is the mean of its `scores`.

    Parameters
    ----------
    measure : str
        "nDCG@k", "precision@k", "recall@k" with a number for k, or "MRR". With feedback also
        "accuracy", "AUC" and "Spearman", for the kinds of feedback that have it.
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"
        Similarity of mapped vectors.

    Returns
    -------
    RetrievalScorer
        A function of (estimator, X, y); larger is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from frobmetric.evaluation import make_retrieval_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> round(make_retrieval_scorer("precision@1")(PCA(2).fit(X), X, y), 2)
    0.96
    """
    check_metric(metric)
    return RetrievalScorer(Measure.parse(measure), metric)
