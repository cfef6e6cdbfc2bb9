"""Verification that two points share an identity: marginalised nearest neighbours on any metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_identities, as_signs, as_weights, check_both_kinds
from ..checks.parameters import CALLABLE, MATRIX, NONE, WHOLE, Rule, check_parameters, integer
from ..checks.samples import check_array, validate_data
from ..checks.text import shown
from ..comparisons.reading import Preprocessor, read_tuples
from ..core.checks import as_real, read_values
from ..core.points import Array, Data, Index, Vector
from ..search.exact import nearest
from ..search.rows import row_keys
from .promise import promise_of_points
from .thresholds import best_threshold

TRANSFORMER = Rule(
    "an estimator with a transform method",
    lambda value: hasattr(value, "transform") and not isinstance(value, type),
)
#: Numbers of neighbours that are tried unless others are given.
COUNTS = (10, 20, 50, 100, 200)
#: Name of the argument for column names, by the library of a data frame.
COLUMN_NAMES = {"pandas": "columns", "polars": "schema"}


class MarginalizedKNN(BaseEstimator):
    """Probability that two points share an identity, by the identities of their neighbours.

    Of the k reference points nearest to a point i, let n_c(i) be the number with identity c. Then

        p(same) = k^-2 sum_c n_c(i) n_c(j)

    is the share of the k^2 pairs of neighbours that share an identity. The two points may be of
    people who are not in the reference set. Reference points with exactly the features of i
    are i itself and are left out of its neighbours.

    Parameters
    ----------
    metric : estimator with `transform`, default=None
        Neighbours are nearest after its map. `fit` fits a clone of it on the reference set; to use
        one that is fitted already, freeze it: `sklearn.frozen.FrozenEstimator(fitted)`. None is
        the Euclidean distance.
    n_neighbors : int, default=50
        k, unless `calibrate_threshold` chooses another.
    preprocessor : array-like, sparse matrix or callable, default=None
        Array whose row numbers pairs may hold, or a function from a list of indices to points.
    n_jobs : int, default=None

    Attributes
    ----------
    metric_ : estimator or None
        The fitted metric.
    classes_ : ndarray of shape (n_identities,)
        Identities of the reference set.
    n_neighbors_ : int
        The k in use.
    threshold_ : float
        After `calibrate_threshold`, `promise_threshold` or `set_threshold`.
    promise_ : Promise
        After `promise_threshold`, until the threshold is changed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X was a data frame whose column names are strings.

    References
    ----------
    Guillaumin, Verbeek, Schmid: Is that you? Metric learning approaches for face identification.
    ICCV 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import MarginalizedKNN
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> model = MarginalizedKNN(n_neighbors=3).fit(X, ["ann", "ann", "bob", "bob", "eve", "eve"])
    >>> model.pair_score(np.array([[[0.5], [1.5]], [[0.5], [8.5]]])).round(3)
    array([0.556, 0.111])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "metric": NONE | TRANSFORMER,
        "n_neighbors": integer(1),
        "preprocessor": MATRIX | CALLABLE | NONE,
        "n_jobs": WHOLE | NONE,
    }

    def __init__(
        self,
        metric: Any = None,
        *,
        n_neighbors: int = 50,
        preprocessor: Preprocessor = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.preprocessor = preprocessor
        self.n_jobs = n_jobs

    def fit(self, X: Data, y: ArrayLike) -> Self:
        """Fit the metric and remember the reference set; a threshold set before is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Identities, strings or numbers.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        given, X = X, validate_data(self, X, dtype=[np.float64, np.float32])
        self._frame = _frame_class(given) if hasattr(self, "feature_names_in_") else None
        self.classes_, self._label = as_identities("y", y, len(X))
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one identity ({shown(self.classes_[0])}); every pair would score 1. The "
                "reference set needs at least two identities"
            )
        self.metric_ = None if self.metric is None else clone(self.metric).fit(given, y)
        self._reference = self._transform(X)
        self._dtype, self._keys = X.dtype, row_keys(X)
        self.n_neighbors_ = self.n_neighbors
        for name in ("threshold_", "promise_"):
            self.__dict__.pop(name, None)
        return self

    def pair_score(self, pairs: ArrayLike, *, exclude: ArrayLike | None = None) -> np.ndarray:
        """Return p(same) of each pair; exactly symmetric in the two points.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Formed of points, or of indices of the preprocessor.
        exclude : array-like of identities, optional
            Identities whose reference points are not to be used, for example the identities of
            the test fold. Each must be in `classes_`, so that a misspelt name does not leak
            quietly; the known names of a fold are `np.intersect1d(names, model.classes_)`.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        query = self._query(pairs, exclude)
        return self._probability(self._neighbor_labels(query, self.n_neighbors_), query.index)

    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        n_neighbors: Any = None,
        strategy: str = "accuracy",
        beta: float = 1.0,
        min_rate: float | None = None,
        sample_weight: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
    ) -> Self:
        """Choose k and the threshold on pairs of a development split.

        Neighbours are searched once, for the largest k. Of equally good k the smallest is chosen.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
        y : array-like of shape (n_pairs,)
            +1 for pairs of one identity, -1 for others.
        n_neighbors : int or sequence of int, optional
            The k to try. Default: 10, 20, 50, 100 and 200, as far as there are enough reference
            points; if there are too few for 10, the largest possible k.
        strategy, beta, min_rate, sample_weight, exclude
            As in `best_threshold` and in `pair_score`.

        Returns
        -------
        self
            With `n_neighbors_` and `threshold_`.
        """
        counts = None if n_neighbors is None else _as_counts(n_neighbors)
        query = self._query(pairs, exclude)
        goal: dict[str, Any] = {"strategy": strategy, "beta": beta, "min_rate": min_rate}
        goal["sample_weight"] = sample_weight
        best_threshold(np.zeros(len(query.index)), y, **goal)  # a mistake costs no search
        counts = query.possible(COUNTS) if counts is None else counts
        labels, best = self._neighbor_labels(query, counts[-1]), -np.inf
        for k in counts:
            score = self._probability(labels[:, :k], query.index)
            threshold, value = best_threshold(score, y, **goal)
            if value > best:
                best, self.n_neighbors_, self.threshold_ = value, k, threshold
        self.__dict__.pop("promise_", None)
        return self

    def promise_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        max_false_match: float = 0.01,
        confidence: float = 0.95,
        identities: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
    ) -> Self:
        """Set `threshold_` so that false matches among new pairs are bounded with confidence.

        k stays as it is: a k chosen on the same pairs would break the promise. The pairs must not
        be of people in the reference set; a warning says if some of their points are. For the
        theorem and its assumptions see `promised_threshold`.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
        y : array-like of shape (n_pairs,)
            +1 for pairs of one identity, -1 for others.
        max_false_match, confidence
            As in `promised_threshold`.
        identities : array-like of shape (n_pairs, 2), default=None
            Who is shown by the two points of each pair. If None, every point is an identity of its
            own: give them if a person has several points.
        exclude : array-like of identities, optional
            As in `pair_score`.

        Returns
        -------
        self
            With `threshold_` and `promise_`.
        """
        query = self._query(pairs, exclude)
        score = self._probability(self._neighbor_labels(query, self.n_neighbors_), query.index)
        is_known = np.isin(query.point_key, query.row_key)
        if not isinstance(self.metric_, (FrozenEstimator, type(None))):  # learned from all of them
            is_known = np.isin(row_keys(query.points), self._keys)
        options = {"max_false_match": max_false_match, "confidence": confidence}
        promise = promise_of_points(score, y, query.index, identities, is_known, **options)
        self.promise_, self.threshold_ = promise, promise.threshold
        return self

    def set_threshold(self, threshold: float) -> Self:
        """Set `threshold_`, the smallest score of a similar pair, and return the estimator."""
        check_is_fitted(self)
        number = as_real(threshold, name="threshold", expected="a finite number")
        if not np.isfinite(number):
            raise ValueError(f"threshold is {threshold!r}; expected a finite number")
        self.threshold_ = number
        self.__dict__.pop("promise_", None)
        return self

    def decision_function(
        self, pairs: ArrayLike, *, exclude: ArrayLike | None = None
    ) -> np.ndarray:
        """Return p(same) minus the threshold; see `pair_score` for the arguments."""
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise NotFittedError(
                "this MarginalizedKNN has no threshold; call calibrate_threshold(pairs, y) or "
                "promise_threshold(pairs, y) on development pairs, or set_threshold(threshold)"
            )
        return self.pair_score(pairs, exclude=exclude) - self.threshold_

    def predict(self, pairs: ArrayLike, *, exclude: ArrayLike | None = None) -> np.ndarray:
        """Return +1 for pairs whose score reaches the threshold, -1 for the others.

        The parameters are as in `pair_score`.
        """
        return np.where(self.decision_function(pairs, exclude=exclude) >= 0, 1, -1)

    def score(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        exclude: ArrayLike | None = None,
    ) -> float:
        """Return the area under the ROC curve of `pair_score`, with its arguments.

        The whole curve is `sklearn.metrics.roc_curve(y, model.pair_score(pairs))`.
        """
        score = self.pair_score(pairs, exclude=exclude)
        weight = as_weights(sample_weight, len(score), of="pairs")
        y = as_signs(y, len(score), of="pairs", positive="similar")
        check_both_kinds(y[weight > 0])
        return float(roc_auc_score(y, score, sample_weight=weight))

    def _transform(self, X: Array) -> Array:
        if self.metric_ is None:
            return X
        if self._frame is not None and hasattr(self.metric_, "feature_names_in_"):
            names = {COLUMN_NAMES[_library(self._frame)]: list(self.feature_names_in_)}
            X = self._frame(X, **names)
        return check_array(self.metric_.transform(X), dtype=[np.float64, np.float32])

    def _query(self, pairs: ArrayLike, exclude: ArrayLike | None) -> _Query:
        check_is_fitted(self)
        read = read_tuples(pairs, 2, self.preprocessor, self.n_features_in_)
        # rounded as the reference set was, so that a point of it is recognised
        points = read.points.toarray() if sp.issparse(read.points) else read.points
        points = points.astype(self._dtype, copy=False)
        rows = self._reference_rows(exclude)
        keys = np.concatenate([self._keys[rows], row_keys(points)])
        labels = np.unique(keys, return_inverse=True)[1]
        return _Query(points, read.index, rows, labels[len(rows) :], labels[: len(rows)])

    def _neighbor_labels(self, query: _Query, k: int) -> Index:
        """Return the identities of the k neighbours of each queried point, the nearest first."""
        if k > query.n_possible:
            raise ValueError(
                f"n_neighbors={k}, but only {query.n_possible} of {len(self._label)} reference "
                "points are left after exclusion and without the queried point itself; choose a "
                "smaller n_neighbors or give a larger reference set"
            )
        points, reference = self._transform(query.points), self._reference[query.rows]
        labels = query.point_key, query.row_key
        number = nearest(points, reference, k, labels=labels, n_jobs=self.n_jobs)
        return self._label[query.rows[number]]

    def _probability(self, labels: Index, index: Index) -> Vector:
        n_points, k = labels.shape
        entries = np.ones(labels.size), labels.ravel(), np.arange(n_points + 1) * k
        counts = sp.csr_array(entries, shape=(n_points, len(self.classes_)))
        counts.sum_duplicates()
        return counts[index[:, 0]].multiply(counts[index[:, 1]]).sum(axis=1) / k**2

    def _reference_rows(self, exclude: ArrayLike | None) -> Index:
        """Return the reference rows whose identity is not excluded."""
        names = _as_names(exclude)
        if not len(names):
            return np.arange(len(self._label))
        unknown = names[~np.isin(names, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"exclude has {len(unknown)} identities that the reference set does not have, the "
                f"first is {shown(unknown[0])}; such people need no exclusion: correct the name, "
                "or pass np.intersect1d(exclude, model.classes_)"
            )
        return np.flatnonzero(~np.isin(self.classes_, names)[self._label])


@dataclass(frozen=True, eq=False)
class _Query:
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


def _frame_class(X: object) -> type | None:
    """Return the class of data frames that X is an instance of, None for anything else."""
    return next((kind for kind in type(X).__mro__ if _library(kind) in COLUMN_NAMES), None)


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


def _as_counts(n_neighbors: object) -> list[int]:
    counts = np.unique(np.atleast_1d(read_values(n_neighbors, name="n_neighbors")))
    if counts.dtype.kind not in "iu" or not len(counts) or counts[0] < 1:
        raise ValueError(
            f"n_neighbors is {n_neighbors!r:.80}; expected one or more integers of at least 1"
        )
    return counts.tolist()
