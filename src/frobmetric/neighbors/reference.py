"""Reference set of known identities, and the neighbours of points in it after a map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator

from ..checks.arguments import as_identities
from ..checks.samples import DTYPES, check_array
from ..checks.text import shown
from ..core.checks import read_values
from ..core.points import Array, Data, Index, Vector
from ..model.linear_map import Features
from ..model.promise import Promise
from ..model.value import Value
from ..search.exact import nearest
from ..search.rows import row_keys

#: Name of the argument for column names, by the library of a data frame.
COLUMN_NAMES = {"pandas": "columns", "polars": "schema"}


@dataclass(frozen=True, eq=False)
class Query:
    """Points whose neighbours are asked for, and the reference rows that may be neighbours.

    `index` has the two points of each pair. `point_key` and `row_key` are equal where a reference
    row has the features of a point.
    """

    points: Array
    index: Index
    rows: Index
    point_key: Index
    row_key: Index

    @property
    def n_possible(self) -> int:
        """Number of neighbours that each of the points has at least."""
        n_equal = np.bincount(self.row_key, minlength=self.point_key.max() + 1)
        return len(self.rows) - int(n_equal[self.point_key].max())

    def possible(self, counts: Iterable[int]) -> list[int]:
        """Return the counts that do not exceed `n_possible`; `n_possible` itself if none."""
        return [k for k in counts if k <= self.n_possible] or [max(self.n_possible, 1)]


@dataclass(frozen=True, eq=False)
class ReferenceSet(Value):
    """Points of known identity, with the number of neighbours and the threshold of a decision.

    Attributes
    ----------
    features : Features
    metric : estimator or None
        Fitted map after which neighbours are searched; None is the Euclidean distance.
    frame : type or None
        Class of data frames that the metric was fitted on, if it knows its features by names.
    mapped : ndarray of shape (n_points, n_components)
        Points after the map.
    dtype : numpy.dtype
        Precision of the points before it.
    keys : ndarray of shape (n_points,)
        Keys of the points before it; equal points have equal ones.
    classes : ndarray of shape (n_identities,)
    labels : integer ndarray of shape (n_points,)
        Place of each point's identity in `classes`.
    n_neighbors : int
    threshold : float or None
        Smallest score of a similar pair.
    promise : Promise or None
        What is promised of the threshold.
    """

    features: Features
    metric: Any
    frame: type | None
    mapped: Array
    dtype: np.dtype[Any]
    keys: Vector
    classes: NDArray[Any]
    labels: Index
    n_neighbors: int
    threshold: float | None = None
    promise: Promise | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        identities: tuple[NDArray[Any], Index],
        features: Features,
        *,
        metric: Any,
        frame: type | None,
        n_neighbors: int,
    ) -> Self:
        """Map checked points; `identities` are the distinct ones and the number of each point's."""
        mapped = _mapped(metric, X, features, frame)
        return cls(features, metric, frame, mapped, X.dtype, row_keys(X), *identities, n_neighbors)

    def query(self, points: Data, index: Index, exclude: ArrayLike | None) -> Query:
        """Return the query of pairs of points, given by their numbers."""
        # rounded as the reference set was, so that a point of it is recognised
        points = points.toarray() if sp.issparse(points) else points
        points = points.astype(self.dtype, copy=False)
        rows = self._rows(exclude)
        keys = np.concatenate([self.keys[rows], row_keys(points)])
        labels = np.unique(keys, return_inverse=True)[1]
        return Query(points, index, rows, labels[len(rows) :], labels[: len(rows)])

    def is_known(self, query: Query) -> NDArray[np.bool_]:
        """Return which points of a query are among those that a promise must not rest on."""
        if isinstance(self.metric, (FrozenEstimator, type(None))):
            return np.isin(query.point_key, query.row_key)
        return np.isin(row_keys(query.points), self.keys)  # the metric was learned from all of them

    def neighbor_labels(self, query: Query, k: int, n_jobs: int | None) -> Index:
        """Return the identities of the k neighbours of each queried point, the nearest first."""
        if k > query.n_possible:
            raise ValueError(
                f"n_neighbors={k}, but only {query.n_possible} of {len(self.labels)} reference "
                "points are left after exclusion and without the queried point itself; choose a "
                "smaller n_neighbors or give a larger reference set"
            )
        points = _mapped(self.metric, query.points, self.features, self.frame)
        keys = query.point_key, query.row_key
        number = nearest(points, self.mapped[query.rows], k, labels=keys, n_jobs=n_jobs)
        return self.labels[query.rows[number]]

    def probability(self, labels: Index, index: Index) -> Vector:
        """Return the share of equal identities among the pairs of neighbours of two points."""
        n_points, k = labels.shape
        entries = np.ones(labels.size), labels.ravel(), np.arange(n_points + 1) * k
        counts = sp.csr_array(entries, shape=(n_points, len(self.classes)))
        counts.sum_duplicates()
        return counts[index[:, 0]].multiply(counts[index[:, 1]]).sum(axis=1) / k**2

    def _rows(self, exclude: ArrayLike | None) -> Index:
        """Return the reference rows whose identity is not excluded."""
        names = _as_names(exclude)
        if not len(names):
            return np.arange(len(self.labels))
        unknown = names[~np.isin(names, self.classes)]
        if len(unknown):
            raise ValueError(
                f"exclude has {len(unknown)} identities that the reference set does not have, the "
                f"first is {shown(unknown[0])}; such people need no exclusion: correct the name, "
                "or pass np.intersect1d(exclude, model.classes_)"
            )
        return np.flatnonzero(~np.isin(self.classes, names)[self.labels])


def frame_class(X: object) -> type | None:
    """Return the class of data frames that X is an instance of, None for anything else."""
    return next((kind for kind in type(X).__mro__ if _library(kind) in COLUMN_NAMES), None)


def _mapped(metric: Any, X: Array, features: Features, frame: type | None) -> Array:
    """Return points after the map of a metric, which gets a data frame if it was fitted on one."""
    if metric is None:
        return X
    given: Any = X
    if frame is not None and features.names is not None and hasattr(metric, "feature_names_in_"):
        given = frame(X, **{COLUMN_NAMES[_library(frame)]: list(features.names)})
    return check_array(metric.transform(given), dtype=DTYPES)


def _library(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _as_names(exclude: Any) -> NDArray[Any]:
    if exclude is None:
        return np.empty(0)
    if isinstance(exclude, (set, frozenset)):
        exclude = sorted(exclude, key=str)
    names = np.atleast_1d(read_values(exclude, name="exclude")).ravel()
    as_identities("exclude", names, len(names), of="identities")
    is_text = [isinstance(name, str) for name in np.ravel(np.asarray(exclude, dtype=object))]
    if any(is_text) and not all(is_text):
        raise ValueError(
            f"exclude has {sum(is_text)} strings and {len(is_text) - sum(is_text)} other values; "
            "expected identities of the reference set, all of one type: see classes_"
        )
    return names
