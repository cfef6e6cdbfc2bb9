"""Feedback on a search: the documents that are relevant to a query, with mined negatives."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...checks.arguments import as_index, check_count
from ...checks.samples import check_array
from ...core.checks import as_real, read_values
from ...evaluation.ranking import (
    GradedDocuments,
    Judged,
    Measure,
    best_documents,
    comparable,
    score_blocks,
)
from ...evaluation.retrieval import as_relevance, check_width
from ...search.exact import pair_values
from ...search.rows import distinct_rows
from .base import (
    MAX_ROWS,
    Cleaning,
    TooFewExamplesError,
    as_vectors,
    check_rows,
    choose_rows,
    deal,
    equal_weight,
    for_mining,
)

#: Additional candidates for each negative, to replace those that the screening drops.
SPARE = 2


class QueryAnchors:
    """Queries as anchors: with vectors of their own, or as row numbers of X."""

    def __init__(self, queries: Any) -> None:
        self.rows: Any = None
        self.vectors: Any = None
        queries = queries if hasattr(queries, "shape") else read_values(queries, name="queries")
        if np.ndim(queries) == 1:
            self.rows = as_index(queries, (), name="queries", points="rows of X")
        else:
            self.vectors = check_array(queries, dtype=[np.float64, np.float32])

    def __len__(self) -> int:
        return len(self.rows if self.vectors is None else self.vectors)

    def numbers(self, queries: np.ndarray) -> np.ndarray:
        """Return the rows of the anchor matrix that belong to numbers of queries."""
        return queries if self.rows is None else self.rows[queries]

    def kinds(self, X: np.ndarray) -> np.ndarray:
        """Return for each query the number of the first one with the same vector."""
        if self.vectors is None:
            X = check_rows(X, int(self.rows.max()), "list of queries")
        else:
            check_width(self.vectors, X)
        first, kind = distinct_rows(X[self.rows] if self.vectors is None else self.vectors)
        return first[kind]

    def documents_equal_to(self, queries: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the documents that are queries, or equal to them, if queries are rows of X."""
        if self.rows is None:
            return np.empty(0, dtype=np.intp)
        _, kind = distinct_rows(X)
        return np.flatnonzero(np.isin(kind, kind[self.rows[queries]]))

    def check(self, A: Any, B: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return anchors and candidates as arrays; refuse arrays of another size."""
        A, B = as_vectors(A), as_vectors(B)
        if self.rows is not None:
            check_rows(A, int(self.rows.max()), "list of queries")
        elif len(A) != len(self):
            raise ValueError(f"there are {len(self)} queries and {len(A)} vectors of anchors")
        check_width(A, B)
        return A, B


#: Largest number of negatives of a query: more comparisons than a fit could use.
MOST_NEGATIVES = 2**20


class RelevantDocuments:
    """Feedback by relevance: documents that answer a query should be nearer to it than others.

    Queries are held out; those with equal vectors are in one fold. A held-out query searches all
    documents.

    Documents that are not listed count as not relevant, although nobody looked at most of them.
    The nearest of these to a query are its negatives in the comparisons, except for those that are
    likely to be relevant too. Such a false negative is

    * nearer to the query than the nearest relevant document by a margin: its squared distance is
      below 1 - `margin` times that of the relevant one; or
    * a twin of a relevant document: the squared distance between the two is below `twin` times that
      between the query and the relevant one.

    Documents of grade 0 were judged as not relevant and are negatives without this screening.
    Documents of negative grade are never negatives, and are left out of the ranking in `scores`.
    All queries have the same weight; within a query it is proportional to the grade.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features), or of int of shape (n_queries,)
        Vectors, or row numbers of X: a query is then never its own answer, and a document that is
        a held-out query does not occur in training.
    relevance : array-like of shape (n_rows, 2) or (n_rows, 3)
        Rows (query, document) or (query, document, grade). A positive grade is relevant; without
        grades all are 1.
    n_negatives : int, default=20
        Number of mined negatives of each query.
    margin : float in [0, 1], default=0.25
        With 1 no negative is dropped for being near to the query.
    twin : float of at least 0, default=0.1
        With 0 only copies of a relevant document are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import RelevantDocuments
    >>> documents = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> queries = np.array([[1.0, 0.1], [0.1, 1.0]])
    >>> feedback = RelevantDocuments(queries, [(0, 1), (1, 2)], n_negatives=1, margin=1.0)
    >>> feedback.comparisons(queries, documents)[0].tolist()
    [[0, 1, 0, 0], [1, 2, 1, 1]]
    >>> feedback.scores(queries, documents, "MRR").tolist()
    [0.5, 1.0]
    """

    measure = "nDCG@10"
    unit = "queries"
    design_effect = 1.0

    def __init__(
        self,
        queries: Any,
        relevance: ArrayLike,
        *,
        n_negatives: int = 20,
        margin: float = 0.25,
        twin: float = 0.1,
    ) -> None:
        check_count(n_negatives, name="n_negatives", at_most=MOST_NEGATIVES)
        if not 0 <= as_real(margin, name="margin") <= 1:
            raise ValueError(f"margin is {margin!r}; expected a share of distances, from 0 to 1")
        if not 0 <= as_real(twin, name="twin") < np.inf:
            raise ValueError(f"twin is {twin!r}; expected a share of distances, at least 0")
        self.n_negatives, self.margin, self.twin = int(n_negatives), margin, twin
        self._anchors = QueryAnchors(queries)
        self._pairs, self._grade = as_relevance(relevance, len(self._anchors))
        self._hidden = np.empty(0, dtype=np.intp)

    @property
    def queries(self) -> np.ndarray | None:
        """Vectors of the queries, None if they are rows of X."""
        return self._anchors.vectors

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"RelevantDocuments({len(self)} rows, {len(self._units())} queries)"

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Merge queries with equal vectors and rows about one document; keep useful queries.

        A document that is called relevant and not relevant, or that equals the query, a row of X,
        counts as neither.
        """
        X = self._check_documents(X)
        is_self = self._equals_query(self._pairs, np.arange(len(X)))
        query = self._anchors.kinds(X)[self._pairs[:, 0]]
        pairs = np.column_stack([query, self._pairs[:, 1]])[~is_self]
        pairs, count, grade = _merge_grades(pairs, self._grade[~is_self])
        is_copy, is_mixed = self._equals_query(pairs, distinct_rows(X)[1]), np.isnan(grade)
        is_neither = is_copy | is_mixed
        grade[is_neither] = -1.0
        is_useful = np.isin(pairs[:, 0], pairs[grade > 0, 0])
        n_kept = int((is_useful & ~is_neither).sum())
        counts = {
            "duplicates": (count - 1)[~is_neither],
            "contradictions": count[is_mixed & ~is_copy],
            "equal_points": count[is_copy],
            "self_pairs": is_self,
            "incomplete": ~is_useful & ~is_neither,
        }
        totals = {name: int(values.sum()) for name, values in counts.items()}
        cleaning = Cleaning("judgements", len(self._pairs), n_kept, **totals).check()
        return self._part(pairs[is_useful], grade[is_useful]), cleaning

    def drawn(self, max_units: int, random_state: Any = None) -> Self:
        """Return the judgements of at most this many of the queries."""
        units = self._units()
        chosen = units[choose_rows(len(units), max_units, random_state)]
        is_chosen = np.isin(self._pairs[:, 0], chosen)
        return self._part(self._pairs[is_chosen], self._grade[is_chosen])

    def folds(self, X: Any, n_folds: int = 5, random_state: Any = None) -> list[tuple[Self, Self]]:
        """Return pairs of training and held-out queries."""
        X = self._check_documents(X)
        kind, units = self._anchors.kinds(X), self._units()
        fold = np.full(len(self._anchors), -1)
        fold[units] = deal(kind[units], n_folds, random_state, unit=self.unit)
        row_fold = fold[self._pairs[:, 0]]
        parts = []
        for i in range(n_folds):
            hidden = self._anchors.documents_equal_to(np.flatnonzero(fold == i), X)
            is_training = (row_fold != i) & ~np.isin(self._pairs[:, 1], hidden)
            training = self._part(self._pairs[is_training], self._grade[is_training], hidden)
            held_out = row_fold == i
            parts.append((training, self._part(self._pairs[held_out], self._grade[held_out])))
        return parts

    def comparisons(
        self,
        A: np.ndarray,
        B: np.ndarray,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        metric: str = "euclidean",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each relevant document of a query with negatives, mined and screened."""
        A, B = for_mining(*self._anchors.check(A, self._check_documents(B)), metric)
        order = np.lexsort((self._pairs[:, 1], self._pairs[:, 0]))
        pairs, grade = self._pairs[order], self._grade[order]
        relevant, gain = pairs[grade > 0], grade[grade > 0]
        mined = self._mine(A, B, relevant)
        negative = np.vstack([mined, pairs[grade == 0]])
        negative = negative[np.argsort(negative[:, 0], kind="stable")]
        i, j = join(relevant[:, 0], negative[:, 0])
        is_copy = pair_values(B, B, np.column_stack([relevant[i, 1], negative[j, 1]])) == 0
        i, j = i[~is_copy], j[~is_copy]
        if not len(i):
            raise TooFewExamplesError(
                f"no query has a relevant document and a negative: {len(relevant)} relevant "
                f"documents of {len(B)}; give more documents, or a larger margin"
            )
        chosen = choose_rows(len(i), max_rows, random_state)
        i, j = i[chosen], j[chosen]
        anchor = self._anchors.numbers(relevant[i, 0])
        index = np.column_stack([anchor, relevant[i, 1], anchor, negative[j, 1]])
        return index, equal_weight(relevant[i, 0], gain[i])

    def scores(
        self, A: np.ndarray, B: np.ndarray, measure: Any = None, metric: str = "euclidean"
    ) -> np.ndarray:
        """Return the measure of each query that has a relevant document, by query number."""
        measure = Measure.parse(self.measure if measure is None else measure)
        A, B = self._anchors.check(A, self._check_documents(B))
        units = self._units()
        anchors = self._anchors.numbers(units)
        is_used = np.isin(self._pairs[:, 0], units)
        query, document = self._pairs[is_used].T
        pairs = np.column_stack([np.searchsorted(units, query), document])
        grade = self._grade[is_used]
        if self._anchors.rows is not None:
            pairs = np.vstack([pairs, np.column_stack([np.arange(len(units)), anchors])])
            grade = np.append(grade, np.full(len(units), -1.0))
        judgements = GradedDocuments.of(pairs, grade, len(B))
        return Judged(A[anchors], B, judgements).evaluate(measure, metric)

    def _units(self):
        """Return the numbers of the queries that have a relevant document."""
        return np.unique(self._pairs[self._grade > 0, 0])

    def _part(self, pairs, grade, hidden=()):
        part = copy(self)
        part._pairs, part._grade = pairs, grade
        part._hidden = np.union1d(self._hidden, np.asarray(hidden, dtype=np.intp))
        return part

    def _equals_query(self, pairs, kind):
        """Return the rows whose document is of the same kind as the query, a row of X."""
        rows = self._anchors.rows
        if rows is None:
            return np.zeros(len(pairs), dtype=bool)
        return kind[rows[pairs[:, 0]]] == kind[pairs[:, 1]]

    def _check_documents(self, X):
        return check_rows(X, int(self._pairs[:, 1].max(initial=0)), "relevance")

    def _mine(self, A, B, relevant):
        """Return rows (query, document) of near documents that are probably not relevant."""
        units, first = np.unique(relevant[:, 0], return_index=True)
        if not len(units):
            return relevant
        anchors = self._anchors.numbers(units)
        relevant = np.column_stack([np.searchsorted(units, relevant[:, 0]), relevant[:, 1]])
        Q, D, _ = comparable(A[anchors], B, "euclidean")
        distance = pair_values(Q, D, relevant)
        nearest = np.minimum.reduceat(distance, first)
        listed = self._listed(units, anchors, len(B))
        limit = (np.einsum("ij,ij->i", Q, Q) - (1 - self.margin) * nearest) / 2
        found = _best_below(Q, D, listed, limit, SPARE * self.n_negatives)
        found = found[~self._is_twin(D, found, relevant, distance)]
        place = np.arange(len(found)) - np.searchsorted(found[:, 0], found[:, 0])
        found = found[place < self.n_negatives]
        return np.column_stack([units[found[:, 0]], found[:, 1]])

    def _listed(self, units, anchors, n_documents):
        """Return the documents that are no negatives: judged ones, hidden ones, the query."""
        is_listed = np.isin(self._pairs[:, 0], units) & (self._grade != 0)
        query, document = self._pairs[is_listed].T
        pairs = [np.column_stack([np.searchsorted(units, query), document])]
        if self._anchors.rows is not None:
            pairs.append(np.column_stack([np.arange(len(units)), anchors]))
        pairs = np.vstack(pairs)
        listed = GradedDocuments.of(pairs, np.ones(len(pairs)), n_documents)

        def mask(rows):
            table = listed.gains(rows) > 0
            table[:, self._hidden] = True
            return table

        return mask

    def _is_twin(self, D, found, relevant, distance):
        """Return the documents that are nearly equal to a relevant one of the same query."""
        i, j = join(found[:, 0], relevant[:, 0])
        between = pair_values(D, D, np.column_stack([found[i, 1], relevant[j, 1]]))
        is_near = between <= self.twin * distance[j]
        return np.bincount(i[is_near], minlength=len(found)) > 0


def _merge_grades(pairs, grade):
    """Return distinct pairs, their numbers of rows, and grades: the mean if all are positive.

    It is NaN if only some are, and the lowest grade if none is.
    """
    pairs, group = np.unique(pairs, axis=0, return_inverse=True)
    group = group.ravel()
    count, n_relevant, total = (
        np.bincount(group, values, minlength=len(pairs))
        for values in (np.ones(len(group)), grade > 0, grade)
    )
    lowest = np.full(len(pairs), np.inf)
    np.minimum.at(lowest, group, grade)
    merged = np.where(n_relevant == count, total / count, lowest)
    return pairs, count, np.where((n_relevant > 0) & (n_relevant < count), np.nan, merged)


def _best_below(Q, D, listed, limit, n):
    """Return rows (query, document) of the n documents with the highest scores below a limit.

    Listed documents are passed over. Rows are sorted by query, and then the best is first.
    """
    rows = [np.empty((0, 2), dtype=np.intp)]
    for part, score in score_blocks(Q, D):
        score[listed(part) | (score > limit[part, None])] = -np.inf
        number = best_documents(score, n)
        row, column = np.nonzero(number >= 0)
        rows.append(np.column_stack([row + part.start, number[row, column]]))
    return np.vstack(rows)


def join(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of all pairs of equal keys in two sorted arrays."""
    start, stop = (np.searchsorted(right, left, side) for side in ("left", "right"))
    count = stop - start
    i = np.repeat(np.arange(len(left)), count)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(count) - count - start, count)
