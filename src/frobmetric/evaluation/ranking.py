"""Ranking of documents by their similarity to queries, in blocks of bounded memory.

Documents of equal similarity are tied, and a measure is then its expected value over a random order
of the tied ones. So it depends neither on the order of the documents nor on that of the queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..checks.arguments import check_choice, check_count
from ..core.points import Array, Vector
from ..model.distances import unit_rows
from ..search.exact import blocks

#: Similarities by which documents are ranked.
METRICS = ("cosine", "euclidean", "inner_product")
#: Gain of a document as a function of its grade.
GAINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda grade: grade,
    "exponential": lambda grade: np.exp2(grade) - 1,
}
#: Similarities that differ by less than this, relative to the largest of the query, are ties.
TIE = {np.dtype(np.float64): 2.0**-32, np.dtype(np.float32): 2.0**-18}
#: Measures of a search that `make_retrieval_scorer` and the feedback know, with a k or without.
WITH_K, WITHOUT_K = ("ndcg", "precision", "recall"), ("accuracy", "auc", "mrr", "spearman")
#: How the measures are written.
SPELLING = {"ndcg": "nDCG", "mrr": "MRR", "auc": "AUC", "spearman": "Spearman"}


@dataclass(frozen=True)
class Measure:
    """Name of a measure with its k, such as "nDCG@10" or "MRR"; larger is better.

    Parameters
    ----------
    kind : str
        One of "ndcg", "precision", "recall", "mrr", "accuracy", "auc" and "spearman".
    k : int, optional
        Number of documents at the top that count; only for the first three.

    Examples
    --------
    >>> from frobmetric.evaluation.ranking import Measure
    >>> print(Measure.parse("NDCG@10"))
    nDCG@10
    """

    kind: str
    k: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.kind, {*WITH_K, *WITHOUT_K}, name="kind")
        if (self.k is None) == (self.kind in WITH_K):
            raise ValueError(
                f"k is {self.k!r:.80} with {self.kind}; expected one for {WITH_K} only"
            )
        if self.k is not None:
            check_count(self.k, name="k")

    @classmethod
    def parse(cls, name: Any) -> Self:
        """Return the measure of this name; the case of letters does not matter."""
        match = re.fullmatch(r"([a-z]+)(?:@([1-9]\d*))?", str(name).lower())
        kind, k = match.groups() if match else (None, None)
        if kind not in (WITHOUT_K if k is None else WITH_K):
            raise ValueError(
                f"measure is {name!r}; expected one of 'nDCG@k', 'precision@k' and 'recall@k' with "
                "a number for k, 'MRR', 'accuracy', 'AUC' and 'Spearman'"
            )
        return cls(str(kind), None if k is None else int(k))

    def __str__(self) -> str:
        name = SPELLING.get(self.kind, self.kind)
        return name if self.k is None else f"{name}@{self.k}"


def check_metric(metric: Any) -> None:
    """Refuse a similarity of unknown name."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise ValueError(f"metric is {metric!r:.80}; expected one of {list(METRICS)}")


class Judgements(Protocol):
    """Gains of all documents for some of the queries."""

    def gains(self, rows: slice) -> np.ndarray:
        """Return gains of shape (n_rows, n_documents); NaN leaves a document out."""


@dataclass(frozen=True)
class GradedDocuments:
    """Judgements from rows (query, document) with a gain each; all others are 0."""

    pairs: np.ndarray
    gain: np.ndarray
    n_documents: int

    @classmethod
    def of(
        cls, pairs: np.ndarray, grade: np.ndarray, n_documents: int, gain: str = "linear"
    ) -> Self:
        """Sort rows by query; of repeated ones the largest grade is last, and counts."""
        order = np.lexsort((grade, pairs[:, 0]))
        pairs, grade = pairs[order], grade[order]
        values = GAINS[gain](np.maximum(grade, 0.0))
        return cls(pairs, np.where(grade < 0, np.nan, values), n_documents)

    def gains(self, rows: slice) -> np.ndarray:
        """Return gains of shape (n_rows, n_documents); NaN leaves a document out."""
        part = slice(*np.searchsorted(self.pairs[:, 0], [rows.start, rows.stop]))
        table = np.zeros((rows.stop - rows.start, self.n_documents))
        query, document = self.pairs[part].T
        table[query - rows.start, document] = self.gain[part]
        return table


@dataclass(frozen=True)
class SameLabel:
    """Judgements from labels: documents with the label of the query are relevant.

    `itself` is the number of the document that is the query, which is left out; -1 if none is.
    """

    of_queries: np.ndarray
    of_documents: np.ndarray
    itself: np.ndarray

    def gains(self, rows: slice) -> np.ndarray:
        """Return gains of shape (n_rows, n_documents); NaN leaves a document out."""
        table = (self.of_queries[rows, None] == self.of_documents).astype(np.float64)
        known = np.flatnonzero(self.itself[rows] >= 0)
        table[known, self.itself[rows][known]] = np.nan
        return table


@dataclass(frozen=True)
class Judged:
    """Queries and documents as vectors, with judgements of their relevance."""

    queries: np.ndarray
    documents: np.ndarray
    judgements: Judgements

    def evaluate(self, measure: Measure, metric: str = "euclidean") -> np.ndarray:
        """Return the measure of each query, NaN where no document is relevant."""
        if measure.kind not in BLOCK_MEASURES:
            raise ValueError(f"{measure} is not a measure of a search; try 'nDCG@10' or 'MRR'")
        values = np.empty(len(self.queries))
        for rows, score in score_blocks(self.queries, self.documents, metric):
            score, gain = _rounded(score), self.judgements.gains(rows)
            is_out = np.isnan(gain)
            score[is_out], gain[is_out] = -np.inf, 0.0
            values[rows] = BLOCK_MEASURES[measure.kind](score, gain, measure.k)
        return values


def evaluate_lists(
    query: np.ndarray, score: np.ndarray, gain: np.ndarray, measure: Measure
) -> np.ndarray:
    """Return the measure of each query whose documents are listed; NaN where none is relevant.

    Entries of the three arrays belong together, and the queries are in order of their numbers.
    """
    _, number, size = np.unique(query, return_inverse=True, return_counts=True)
    place = np.arange(len(query)) - (np.cumsum(size) - size)[number]
    table, gains = np.zeros((2, len(size), size.max(initial=1)))
    table[number, place], gains[number, place] = score, gain
    table = _rounded(table)
    table[np.arange(table.shape[1]) >= size[:, None]] = -np.inf
    return BLOCK_MEASURES[measure.kind](table, gains, measure.k)


def score_blocks(
    queries: np.ndarray, documents: np.ndarray, metric: str = "euclidean"
) -> Iterator[tuple[slice, np.ndarray]]:
    """Generate the numbers of some queries, and the scores of all documents for them."""
    queries, documents, bias = comparable(queries, documents, metric)
    for part in blocks(len(queries), len(documents)):
        rows = slice(part.start, min(part.stop, len(queries)))
        yield rows, queries[rows] @ documents.T + bias


def best_documents(score: np.ndarray, n: int) -> np.ndarray:
    """Return the n documents of the highest scores of each query, the best first.

    Documents of score -inf are none; -1 takes their place.
    """
    n = int(n)
    n_known = min(n, score.shape[1])
    # of minus the scores: a search from the top is slow where many are equal at the bottom
    number = np.argpartition(-score, n_known - 1, axis=1)[:, :n_known]
    value = np.take_along_axis(score, number, axis=1)
    order = np.lexsort((number, -value))
    number, value = (np.take_along_axis(M, order, axis=1) for M in (number, value))
    number[value == -np.inf] = -1
    return np.pad(number, ((0, 0), (0, n - n_known)), constant_values=-1)


def comparable(
    queries: np.ndarray, documents: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return Q, D and b such that each row of Q @ D.T + b ranks the documents of one query."""
    check_metric(metric)
    if metric == "euclidean":
        center = documents.mean(axis=0)
        queries, documents = queries - center, documents - center
        unit = unit_of(queries, documents)
        queries, documents = queries / unit, documents / unit
        return queries, documents, -0.5 * np.einsum("ij,ij->i", documents, documents)
    queries, documents = queries / unit_of(queries), documents / unit_of(documents)
    if metric == "cosine":
        queries, documents = unit_rows(queries), unit_rows(documents)
    return queries, documents, queries.dtype.type(0)


def unit_of(*arrays: np.ndarray) -> Any:
    """Return a power of two near the largest entry: divided by it, squares stay in range."""
    largest = max(np.abs(X).max(initial=0.0) for X in arrays)
    return arrays[0].dtype.type(2.0 ** (np.frexp(largest)[1] - 1))


def _rounded(score: Any) -> Any:
    """Return scores as multiples of the width of a tie; equal documents differ by rounding."""
    largest = np.abs(score).max(axis=1, keepdims=True)
    score /= np.where(largest > 0, largest, 1) * TIE[score.dtype]
    return np.rint(score, out=score)


def _top_groups(score: Array, gain: Array, cut: Vector) -> tuple[Any, ...]:
    """Return the groups of tied documents with scores of at least `cut`, the best first.

    For each group: its query, the number of better documents, its size, the sum of its gains and
    the number of its relevant documents.
    """
    row, column = np.nonzero((score >= cut[:, None]) & (score > -np.inf))
    value, gain = score[row, column], gain[row, column]
    order = np.lexsort((-value, row))
    row, value, gain = row[order], value[order], gain[order]
    start = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(value) != 0))[: len(row)])
    size = np.diff(np.append(start, len(row)))
    n_better = start - np.searchsorted(row, row[start])
    total, n_relevant = (np.add.reduceat(a, start) for a in (gain, (gain > 0).astype(np.intp)))
    return row[start], n_better, size, total, n_relevant


def _weighted_top(score: Array, gain: Array, weight: Vector) -> Any:
    """Return the expected sum of the gains of the first documents, weighted by their places."""
    k = min(len(weight), score.shape[1])
    cut = -np.partition(-score, k - 1, axis=1)[:, k - 1]
    row, n_better, size, total, _ = _top_groups(score, gain, cut)
    summed = np.append(0.0, np.cumsum(weight[:k]))
    mean = (summed[np.minimum(n_better + size, k)] - summed[np.minimum(n_better, k)]) / size
    return np.bincount(row, total * mean, minlength=len(score))


def _ndcg(score: Array, gain: Array, k: int) -> Vector:
    discount = 1 / np.log2(np.arange(2, min(k, score.shape[1]) + 2))
    # the documents in the order of their gains
    row, column = np.nonzero(gain > 0)
    value = gain[row, column]
    order = np.lexsort((-value, row))
    row, value = row[order], value[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    weight = np.append(discount, 0.0)[np.minimum(place, len(discount))]
    best = np.bincount(row, value * weight, minlength=len(gain))
    return _ratio(_weighted_top(score, gain, discount), best)


def _recall(score: Array, gain: Array, k: int) -> Vector:
    relevant = (gain > 0).astype(np.float64)
    return _ratio(
        _weighted_top(score, relevant, np.ones(min(k, score.shape[1]))), relevant.sum(axis=1)
    )


def _precision(score: Array, gain: Array, k: int) -> Vector:
    relevant = (gain > 0).astype(np.float64)
    has_any = np.where(relevant.any(axis=1), k, 0)
    return _ratio(_weighted_top(score, relevant, np.ones(min(k, score.shape[1]))), has_any)


def _reciprocal_rank(score: Array, gain: Array, _: int | None) -> Vector:
    best = np.where(gain > 0, score, -np.inf).max(axis=1)
    cut = np.where(best > -np.inf, best, np.inf)  # no group without a relevant document
    row, n_better, size, _, n_relevant = _top_groups(score, gain, cut)
    value = np.full(len(score), np.nan)
    groups = np.flatnonzero(n_relevant)  # one a query: the cut is its best relevant document
    value[row[groups]] = 1 / (n_better[groups] + 1)
    for group in groups[n_relevant[groups] < size[groups]]:
        value[row[group]] = _expected_reciprocal(n_better[group], size[group], n_relevant[group])
    return value


def _expected_reciprocal(n_better: int, n_tied: int, n_relevant: int) -> float:
    """Return the mean of 1 / place of the first relevant one of tied documents in random order."""
    place = np.arange(n_tied - n_relevant + 1)
    later = np.append(1.0, np.cumprod(1 - n_relevant / (n_tied - place[:-1])))
    return float(np.sum(later * n_relevant / (n_tied - place) / (n_better + 1 + place)))


def _ratio(value: Vector, largest: Any) -> Vector:
    return np.divide(value, largest, out=np.full(len(value), np.nan), where=largest > 0)


#: Measures of a block: of scores, gains (both of shape (n_queries, n_documents)) and k.
BLOCK_MEASURES: dict[str, Callable[[np.ndarray, np.ndarray, Any], np.ndarray]] = {
    "ndcg": _ndcg,
    "precision": _precision,
    "recall": _recall,
    "mrr": _reciprocal_rank,
}
