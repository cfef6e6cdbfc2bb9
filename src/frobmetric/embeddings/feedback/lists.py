"""Feedback on lists of documents: orders of preference, and clicks."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...checks.arguments import as_index
from ...core.checks import as_sequence
from ...evaluation.agreement import pair_similarity
from ...evaluation.ranking import BLOCK_MEASURES, Measure, check_metric, evaluate_lists
from ...search.rows import distinct_rows
from .base import (
    MAX_ROWS,
    Cleaning,
    TooFewExamplesError,
    check_rows,
    choose_rows,
    deal,
    equal_weight,
    majority,
)
from .search import QueryAnchors

#: Number of later documents of its list that a document is compared with, at most.
MOST_LATER = 50


@dataclass(frozen=True)
class _Listed:
    """Documents that were listed for queries, with grades; entries in order of the queries."""

    query: np.ndarray
    document: np.ndarray
    grade: np.ndarray

    @classmethod
    def of(cls, lists: Sequence[np.ndarray], grades: Sequence[np.ndarray]) -> Self:
        """Return the documents of each query, where a repeated one has its mean grade."""
        query = np.repeat(np.arange(len(lists)), [len(documents) for documents in lists])
        listed = cls(query, np.concatenate(lists).astype(np.intp), np.concatenate(grades))
        return listed.merged(query, listed.document, np.ones(len(query), bool))

    def merged(self, query: np.ndarray, document: np.ndarray, is_kept: np.ndarray) -> Self:
        """Return the entries under other numbers; those that become equal get their mean grade."""
        rows = np.column_stack([query, document])[is_kept]
        pairs, number, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        total = np.bincount(number.ravel(), self.grade[is_kept], minlength=len(pairs))
        return type(self)(pairs[:, 0], pairs[:, 1], total / count)

    def of_queries(self, queries: np.ndarray) -> Self:
        """Return the entries of some queries."""
        is_in = np.isin(self.query, queries)
        return type(self)(self.query[is_in], self.document[is_in], self.grade[is_in])


class _ListFeedback:
    """Base of feedback by preferences: rows (query, preferred document, other document).

    Queries are held out; those with equal vectors are in one fold. The measure is the accuracy: the
    share of the preferences of a query that hold, where equal similarities count a half. Measures
    of a search, such as "nDCG@10" or "MRR", rank the documents that were listed for the query, as
    of others nothing is known; `_gains` tells what is relevant.
    """

    measure = "accuracy"
    unit = "queries"
    design_effect = 1.0
    _anchors: QueryAnchors
    _listed: _Listed

    def _set(self, rows, weight=None):
        self._rows = rows
        self._weight = np.ones(len(rows)) if weight is None else weight

    @property
    def queries(self) -> np.ndarray | None:
        """Vectors of the queries, None if they are rows of X."""
        return self._anchors.vectors

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        n_queries = len(np.unique(self._rows[:, 0]))
        return f"{type(self).__name__}({len(self)} preferences, {n_queries} queries)"

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Merge queries with equal vectors, and preferences by majority; drop those on equals."""
        X = self._check_documents(X)
        first, kind = distinct_rows(X)
        query, documents = self._anchors.kinds(X)[self._rows[:, 0]], self._rows[:, 1:]
        is_self, is_equal = (self._is_trivial(documents, k) for k in (np.arange(len(X)), kind))
        is_kept = ~(is_self | is_equal)
        better, other = first[kind][documents[is_kept]].T
        low, high = np.minimum(better, other), np.maximum(better, other)
        question = np.column_stack([query[is_kept], low, high])
        vote = np.where(better < other, 1, -1) * self._weight[is_kept]
        dropped = {"n_self": int(is_self.sum()), "n_equal": int((is_equal & ~is_self).sum())}
        question, net, cleaning = majority(question, vote, of="preferences", **dropped)
        rows = np.where(net[:, None] > 0, question, question[:, [0, 2, 1]])
        merged = self._part(rows, np.abs(net))
        merged._listed = self._merged_lists(X, first[kind])
        return merged, cleaning

    def _merged_lists(self, X, same):
        """Return the listed documents, the first of equal ones, without the query itself."""
        query = self._anchors.kinds(X)[self._listed.query]
        document, is_other = same[self._listed.document], np.ones(len(query), bool)
        if self._anchors.rows is not None:
            is_other = document != same[self._anchors.rows[query]]
        return self._listed.merged(query, document, is_other)

    def drawn(self, max_units: int, random_state: Any = None) -> Self:
        """Return the feedback as it is: only its own examples are scored."""
        return self

    def folds(self, X: Any, n_folds: int = 5, random_state: Any = None) -> list[tuple[Self, Self]]:
        """Return pairs of training and held-out queries."""
        X = self._check_documents(X)
        units = np.unique(self._rows[:, 0])
        fold = np.full(len(self._anchors), -1)
        fold[units] = deal(self._anchors.kinds(X)[units], n_folds, random_state, unit=self.unit)
        parts = []
        for i in range(n_folds):
            hidden = self._anchors.documents_equal_to(np.flatnonzero(fold == i), X)
            is_out = fold[self._rows[:, 0]] == i
            is_training = ~(is_out | np.isin(self._rows[:, 1:], hidden).any(axis=1))
            parts.append(
                [self._part(self._rows[m], self._weight[m]) for m in (is_training, is_out)]
            )
        return [(training, held_out) for training, held_out in parts]

    def comparisons(
        self,
        A: np.ndarray,
        B: np.ndarray,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        metric: str = "euclidean",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the preferences: all queries have the same weight."""
        check_metric(metric)
        self._anchors.check(A, self._check_documents(B))
        if not len(self):
            raise TooFewExamplesError("no preference is left; give lists that prefer a document")
        chosen = choose_rows(len(self), max_rows, random_state)
        query, better, other = self._rows[chosen].T
        anchor = self._anchors.numbers(query)
        index = np.column_stack([anchor, better, anchor, other])
        return index, equal_weight(query, self._weight[chosen])

    def scores(
        self, A: np.ndarray, B: np.ndarray, measure: Any = None, metric: str = "euclidean"
    ) -> np.ndarray:
        """Return the measure of each query, by query number; without one, the accuracy."""
        measure = Measure.parse(self.measure if measure is None else measure)
        A, B = self._anchors.check(A, self._check_documents(B))
        if measure.kind in BLOCK_MEASURES:
            return self._search_scores(A, B, measure, metric)
        if measure.kind != "accuracy":
            kind = type(self).__name__
            raise ValueError(
                f"{kind} is scored by accuracy or by a measure of a search such as nDCG@10, not by "
                f"{str(measure)!r}"
            )
        query, *documents = self._rows.T
        anchor = self._anchors.numbers(query)
        better, other = (
            pair_similarity(A, B, np.column_stack([anchor, document]), metric)
            for document in documents
        )
        _, number = np.unique(query, return_inverse=True)
        holds = self._weight * (np.sign(better - other) + 1) / 2
        return np.bincount(number, holds) / np.bincount(number, self._weight)

    def _search_scores(self, A, B, measure, metric):
        """Return the measure of each query that prefers a document and lists a relevant one."""
        listed = self._listed.of_queries(np.unique(self._rows[:, 0]))
        index = np.column_stack([self._anchors.numbers(listed.query), listed.document])
        score = pair_similarity(A, B, index, metric)
        values = evaluate_lists(listed.query, score, self._gains(listed, measure), measure)
        return values[~np.isnan(values)]

    def _gains(self, listed, measure):
        """Return the gain of each listed document."""
        return listed.grade

    def _part(self, rows, weight):
        part = copy(self)
        part._set(rows, weight)
        return part

    def _is_trivial(self, documents, kind):
        """Return the rows that have documents of one kind, or one of the kind of the query."""
        is_trivial = kind[documents[:, 0]] == kind[documents[:, 1]]
        if self._anchors.rows is None:
            return is_trivial
        query = kind[self._anchors.rows[self._rows[:, :1]]]
        return is_trivial | (kind[documents] == query).any(axis=1)

    def _check_documents(self, X):
        return check_rows(X, int(self._rows[:, 1:].max(initial=0)), "list of documents")


class RankedLists(_ListFeedback):
    """Feedback by ranked lists: documents earlier in the list of a query should be nearer to it.

    A list need not contain all documents; of those that are missing it says nothing. A document is
    compared with the later ones of its list, with at most 50 of them, evenly spread. All queries
    have the same weight. The score of a held-out query is the share of these comparisons that hold,
    the accuracy. Other measures rank the documents of the list: for nDCG@k the gain falls evenly
    from the first to the last document, for recall@k and precision@k the first k documents are
    relevant, and for MRR the first one.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
        Vectors, or row numbers of X.
    lists : sequence of n_queries array-like of int
        For each query row numbers of X, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import RankedLists
    >>> documents = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> queries = np.array([[1.0, 0.1], [0.1, 1.0]])
    >>> feedback = RankedLists(queries, [[0, 1, 2], [1, 2]])
    >>> feedback.comparisons(queries, documents)[0].tolist()
    [[0, 0, 0, 1], [0, 0, 0, 2], [0, 1, 0, 2], [1, 1, 1, 2]]
    >>> feedback.scores(queries, documents).tolist()
    [1.0, 0.0]
    >>> feedback.scores(queries, documents, "MRR").tolist()
    [1.0, 0.5]
    """

    def __init__(self, queries: Any, lists: Sequence[ArrayLike]) -> None:
        self._anchors = QueryAnchors(queries)
        checked = _as_lists(lists, len(self._anchors), "lists")
        rows = []
        for i, documents in enumerate(checked):
            better, other = _places(len(documents))
            query = np.full(len(better), i)
            rows.append(np.column_stack([query, documents[better], documents[other]]))
        self._set(_stacked(rows, "lists has no list of two documents; give at least one"))
        self._listed = _Listed.of(checked, [np.linspace(1, 0, len(each)) for each in checked])

    def _gains(self, listed, measure):
        if measure.kind == "ndcg":
            return listed.grade
        _, number, size = np.unique(listed.query, return_inverse=True, return_counts=True)
        order = np.lexsort((-listed.grade, number))
        last = np.cumsum(size) - size + np.minimum(measure.k or 1, size) - 1
        return 1.0 * (listed.grade >= listed.grade[order][last][number])


class Clicks(_ListFeedback):
    """Feedback by clicks: a clicked document should be nearer to the query than those passed over.

    People click what is shown first, whether it is good or not. So a click does not say that a
    document is better than all others. It says more about the documents that were seen and not
    clicked: those above it, and the next one below. Only these comparisons are made (T. Joachims,
    Optimizing search engines using clickthrough data, KDD 2002). All queries have the same weight.
    The score of a held-out query is the share of these comparisons that hold, the accuracy. Other
    measures rank the documents that were shown, and those that were clicked are relevant; for
    nDCG@k the gain is the share of the times that a document was shown for the query at which it
    was clicked. They favour the order of the page, in which people click.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
        Vectors, or row numbers of X. A query that was asked several times is there several times.
    shown : sequence of n_queries array-like of int
        For each query the documents as they were shown, the first on top.
    clicked : sequence of n_queries array-like of int
        For each query the places in its list, from 0, that were clicked; it may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import Clicks
    >>> X = np.eye(5)
    >>> feedback = Clicks([0], [[3, 1, 4, 2]], [[1]])
    >>> feedback.comparisons(X, X)[0].tolist()
    [[0, 1, 0, 3], [0, 1, 0, 4]]
    """

    def __init__(
        self, queries: Any, shown: Sequence[ArrayLike], clicked: Sequence[ArrayLike]
    ) -> None:
        self._anchors = QueryAnchors(queries)
        checked = _as_lists(shown, len(self._anchors), "shown")
        rows, grades = [], [np.zeros(len(documents)) for documents in checked]
        for i, places in enumerate(_as_lists(clicked, len(self._anchors), "clicked")):
            if len(places) and places.max() >= len(checked[i]):
                raise ValueError(
                    f"clicked[{i}] has place {places.max()}, but {len(checked[i])} documents were "
                    "shown; places are counted from 0"
                )
            grades[i][places] = 1
            better, other = _skipped(np.unique(places), len(checked[i]))
            query = np.full(len(better), i)
            rows.append(np.column_stack([query, checked[i][better], checked[i][other]]))
        message = "clicked has no click beside a document that was passed over; give at least one"
        self._set(_stacked(rows, message))
        self._listed = _Listed.of(checked, grades)


def _as_lists(lists, n_queries, name):
    lists = as_sequence(lists, name=name, expected="a list of row numbers for each query")
    lists = [
        as_sequence(each, name=f"{name}[{i}]", expected="a list of row numbers")
        for i, each in enumerate(lists)
    ]
    if len(lists) != n_queries:
        raise ValueError(f"{name} has {len(lists)} lists; there are {n_queries} queries")
    empty = np.empty(0, dtype=np.intp)
    return [
        as_index(values, (), name=f"{name}[{i}]", points="rows of X") if len(values) else empty
        for i, values in enumerate(lists)
    ]


def _stacked(rows, message):
    rows = np.vstack(rows) if rows else np.empty((0, 3), dtype=np.intp)
    if not len(rows):
        raise TooFewExamplesError(message)
    return rows


def _places(n):
    """Return the pairs of places of a list that are compared, the better one first."""
    later = [np.arange(i + 1, n) for i in range(n)]
    later = [
        rest if len(rest) <= MOST_LATER else np.linspace(i + 1, n - 1, MOST_LATER).astype(np.intp)
        for i, rest in enumerate(later)
    ]
    counts = [len(rest) for rest in later]
    return np.repeat(np.arange(n), counts), np.concatenate([*later, np.empty(0, np.intp)])


def _skipped(clicked, n_shown):
    """Return the clicked places, each with those above it and the next below, if not clicked."""
    is_clicked = np.zeros(n_shown + 1, dtype=bool)
    is_clicked[clicked] = True
    is_seen = np.arange(n_shown) <= clicked[:, None] + 1
    row, other = np.nonzero(is_seen & ~is_clicked[:n_shown])
    return clicked[row], other
