"""Trust in mapped queries: a predicted recall, calibrated on pairs that had no part in the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.points import Array, Vector
from ...model.distances import unit_rows
from ...model.value import frozen_numbers
from ...search.exact import NeighborSearch
from ...search.rows import distinct_rows

#: Neighbours in the old space whose distances describe a query, and in the new space.
N_OLD, N_NEW = 30, 5
#: Number of coefficients of a score, that of the constant included.
N_DESCRIBING = 7


@dataclass(frozen=True, eq=False)
class OldIndex:
    """Vectors of the old encoder that are searched, at unit length or not.

    `n_neighbors` is the number of neighbours that count.
    """

    vectors: Array
    n_neighbors: int
    is_unit: bool

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.n_neighbors < 1:
            raise ValueError(f"{self.n_neighbors} neighbours among {self.vectors.shape} vectors")
        frozen_numbers("index", self.vectors)

    @cached_property
    def search(self) -> NeighborSearch:
        """Exact search among the vectors."""
        return NeighborSearch(self.vectors)

    def finish(self, mapped: Array) -> Array:
        """Return mapped vectors as the index is searched: at unit length if its vectors are."""
        return unit_rows(mapped) if self.is_unit else mapped

    def questions(self, old: Array) -> Questions:
        """Return the true neighbours of old query vectors, to compare found ones with."""
        _, key = distinct_rows(np.concatenate([self.vectors, old]))
        own = key[len(self.vectors) :], key[: len(self.vectors)]
        labels = own if np.isin(own[0], own[1]).any() else None
        return Questions(self, self.search.nearest(old, self.n_neighbors, labels=labels), labels)


@dataclass(frozen=True, eq=False)
class Questions:
    """Queries with their true neighbours: those of the query's own old vector.

    Vectors of the index that equal the query's own old vector are left out: a new query has none.

    Attributes
    ----------
    index : OldIndex
    true : integer ndarray of shape (n_queries, n_neighbors)
        Rows of the index; -1 where there are fewer.
    labels : tuple of two integer ndarrays, or None
        Equal for a query and a row of the index that is its own vector.
    """

    index: OldIndex
    true: Any
    labels: Any

    def recall(self, mapped: Array) -> Vector:
        """Return the share of the true neighbours that each mapped query finds."""
        found = self.index.search.nearest(
            self.index.finish(mapped), self.true.shape[1], labels=self.labels
        )
        is_found = (found[:, :, None] == self.true[:, None, :]) & (self.true[:, None, :] >= 0)
        return np.sum(is_found, axis=(1, 2)) / np.maximum(1, np.sum(self.true >= 0, axis=1))


@dataclass(frozen=True, eq=False)
class TrustScore:
    """Recall of a query predicted from its distances, and bad queries to compare it with.

    A linear function of: the length of the mapped query; its distances from its nearest vectors in
    the index (the nearest, the mean of the `n_neighbors` nearest, the spread beyond them); its
    distances from the nearest training queries in the new space.

    Attributes
    ----------
    X_fit : ndarray of shape (n_pairs, n_new)
        Training queries of the new encoder.
    coefficients : ndarray of shape (n_describing + 1,)
    bad_scores : ndarray of shape (n_bad,)
        Scores of the bad calibration queries, rising.
    n_calibration : int
        Number of calibration queries, bad ones and others.
    """

    X_fit: Array
    coefficients: Vector
    bad_scores: Vector
    n_calibration: int

    def __post_init__(self) -> None:
        if self.bad_scores is not None and len(self.bad_scores) > self.n_calibration:
            raise ValueError("it has more bad calibration pairs than calibration pairs")

    @classmethod
    def learn(cls, X: Array, mapped: Array, questions: Questions) -> TrustScore:
        """Learn the score from pairs, each mapped by the others; it is not calibrated yet."""
        empty = cls(X, np.empty(0), np.empty(0), 0)
        index, labels = questions.index, questions.labels
        design = empty._design(index, X, mapped, labels, is_training=True)
        coefficients: Any = np.linalg.lstsq(design, questions.recall(mapped), rcond=1e-8)[0]
        return replace(empty, coefficients=coefficients)

    def calibrated(self, score: Vector, is_bad: Any) -> TrustScore:
        """Return the score with the calibration queries that it is compared with."""
        bad = np.sort(np.asarray(score)[is_bad])
        return replace(self, bad_scores=bad, n_calibration=len(score))

    def score(self, index: OldIndex, X: Array, mapped: Array, labels: Any = None) -> Vector:
        """Return the predicted recall of queries."""
        return self._design(index, X, mapped, labels) @ self.coefficients

    def p_value(self, score: Vector) -> Vector:
        """Return the conformal p-value of "this query is bad", exact by its rank.

        It is the share of calibration queries, the query itself included, that are bad and score
        as high. If calibration queries and the new one are exchangeable, P(bad and p <= alpha) <=
        alpha.
        """
        n_higher = len(self.bad_scores) - np.searchsorted(self.bad_scores, score, side="left")
        return (1 + n_higher) / (self.n_calibration + 1)

    def _design(
        self, index: OldIndex, X: Array, mapped: Array, labels: Any, is_training: bool = False
    ) -> Array:
        length = np.linalg.norm(mapped, axis=1)
        reach = min(N_OLD, len(index.vectors))
        old = _distances(index.finish(mapped), index.vectors, index.search, reach, labels)
        k = min(index.n_neighbors, reach)
        own = (np.arange(len(X)), np.arange(len(X))) if is_training else None
        reach = min(N_NEW, len(self.X_fit) - 1)
        new = _distances(X, self.X_fit, NeighborSearch(self.X_fit), reach, own)
        near = old[:, :k].mean(axis=1)
        columns = [length, old[:, 0], near, old[:, -1] - near, new[:, 0], new.mean(axis=1)]
        return np.column_stack([*columns, np.ones(len(X))])


def _distances(queries, points, search, n_neighbors, labels):
    """Return the distances from the nearest points; the farthest found where there are fewer."""
    number = search.nearest(queries, n_neighbors, labels=labels)
    columns = [np.linalg.norm(points[column] - queries, axis=1) for column in number.T]
    distance = np.column_stack(columns)
    distance[number < 0] = np.inf
    largest = np.where(np.isfinite(distance), distance, 0.0).max(axis=1, keepdims=True)
    return np.where(np.isfinite(distance), distance, largest)
