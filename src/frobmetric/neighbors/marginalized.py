"""Are two points of one identity? Marginalised nearest neighbours, on any metric."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from numbers import Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._checks import as_identities
from .._parameters import NONE, WHOLE, Rule, check_parameters, integer
from .thresholds import Roc, best_cut

TRANSFORMER = Rule(
    "a fitted object with a transform method",
    lambda value: hasattr(value, "transform") and not isinstance(value, type),
)
#: The k that are tried unless others are given.
COUNTS = (10, 20, 50, 100, 200)
#: By what name the frames of each library are given their column names.
COLUMN_NAMES = {"pandas": "columns", "polars": "schema"}


class MarginalizedKNN(BaseEstimator):
    """The chance that two points share an identity, by the identities of their neighbours.

    Of the k reference points nearest to a point i, let n_c(i) be those of identity c. Then

        p(same) = k^-2 sum_c n_c(i) n_c(j)

    is the share of the k^2 pairs of neighbours that share an identity. The two points may be of
    people who are not in the reference set. Reference points whose features equal those of i
    exactly are i itself and are left out of its neighbours.

    Parameters
    ----------
    metric : object with `transform`, default=None
        A fitted `FrobMetric`, a fitted pipeline; neighbours are nearest after its map. It is used
        as it is and never refitted; `sklearn.base.clone` keeps it, and its parameters cannot be
        set through this object. None is Euclid's distance.
    n_neighbors : int, default=50
        k, unless `calibrate` chooses another.
    n_jobs : int, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_identities,)
        The identities of the reference set.
    n_neighbors_ : int
        The k in use.
    threshold_ : float
        After `calibrate` or `set_threshold`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        If X was a frame whose column names are strings.

    References
    ----------
    Guillaumin, Verbeek, Schmid: Is that you? Metric learning approaches for face identification.
    ICCV 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.neighbors.marginalized import MarginalizedKNN
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> model = MarginalizedKNN(n_neighbors=3).fit(X, ["ann", "ann", "bob", "bob", "eve", "eve"])
    >>> model.score_pairs(np.array([[[0.5], [1.5]], [[0.5], [8.5]]])).round(3)
    array([0.556, 0.111])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "metric": NONE | TRANSFORMER,
        "n_neighbors": integer(1),
        "n_jobs": WHOLE | NONE,
    }

    def __init__(self, metric=None, n_neighbors=50, n_jobs=None):
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def __sklearn_clone__(self):
        twin = super().__sklearn_clone__()
        twin.metric = self.metric
        return twin

    def get_params(self, deep=True):
        """The parameters by name, without those of `metric`."""
        return super().get_params(deep=False)

    def set_params(self, **params):
        """Set parameters, not those of `metric`: it is fitted and may be in use elsewhere."""
        nested = [name for name in params if "__" in name]
        if nested:
            raise ValueError(
                f"{nested[0]} cannot be set: a metric is used as it was fitted. Fit another one "
                "with that parameter and set metric to it"
            )
        return super().set_params(**params)

    def fit(self, X, y):
        """Keep the reference set; a threshold set before is forgotten.

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
        kind = _frame_class(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self._frame = kind if hasattr(self, "feature_names_in_") else None
        self.classes_, self._label = as_identities("y", y, len(X))
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one identity ({self.classes_[0]}); every pair would score 1. The reference "
                "set needs at least two identities"
            )
        self._reference = self._map(X)
        self._center = self._reference.mean(axis=0)  # the search cancels far from the origin
        self._reference = self._reference - self._center
        self._dtype, self._known = X.dtype, {}
        self._point = _number_rows(X, self._known)
        self.n_neighbors_ = self.n_neighbors
        self.__dict__.pop("threshold_", None)
        return self

    def score_pairs(self, pairs, exclude=None):
        """p(same) of each pair; exactly symmetric in the two points.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
        exclude : array-like of identities, optional
            Identities whose reference points are not to be used, for example those of the test
            fold. Each must be in `classes_`, so that a misspelt name does not leak quietly; those
            of a fold that are there: `np.intersect1d(names, model.classes_)`.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        query = self._query(self._as_points(pairs), exclude)
        return self._probability(self._search(query, self.n_neighbors_), query.ends)

    def calibrate(
        self,
        pairs,
        same,
        n_neighbors=None,
        strategy="accuracy",
        *,
        beta=1.0,
        min_rate=None,
        exclude=None,
    ):
        """Choose k and the threshold on pairs of a development split.

        Neighbours are searched once, for the largest k. Of equally good k the smallest is chosen.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
        same : array-like of shape (n_pairs,)
            Booleans, or {0, 1}, or {-1, +1}.
        n_neighbors : int or sequence of int, optional
            The k to try. Default: those of 10, 20, 50, 100, 200 for which there are enough
            reference points, and if there are none, the largest k for which there are.
        strategy, beta, min_rate
            As in `best_threshold`.
        exclude : array-like of identities, optional
            As in `score_pairs`.

        Returns
        -------
        self
            With `n_neighbors_` and `threshold_`.
        """
        check_is_fitted(self)
        counts = None if n_neighbors is None else _as_counts(n_neighbors)
        points, goal = self._as_points(pairs), {"beta": beta, "min_rate": min_rate}
        best_cut(np.zeros(len(points) // 2), same, strategy, **goal)  # a mistake costs no search
        query = self._query(points, exclude)
        counts = query.possible(COUNTS) if counts is None else counts
        labels, best = self._search(query, counts[-1]), -np.inf
        for k in counts:
            score = self._probability(labels[:, :k], query.ends)
            threshold, worth = best_cut(score, same, strategy, **goal)
            if worth > best:
                best, chosen = worth, (k, threshold)
        self.n_neighbors_, self.threshold_ = chosen
        return self

    def set_threshold(self, threshold):
        """Call pairs matched from this score on; returns self."""
        check_is_fitted(self)
        is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
        if not is_number or not np.isfinite(threshold):
            raise ValueError(f"threshold is {threshold!r}; expected a finite number")
        self.threshold_ = float(threshold)
        return self

    def decision_function(self, pairs, exclude=None):
        """p(same) minus the threshold; arguments as in `score_pairs`."""
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise NotFittedError(
                "this MarginalizedKNN has no threshold; call calibrate(pairs, same) on development "
                "pairs, or set_threshold(threshold)"
            )
        return self.score_pairs(pairs, exclude) - self.threshold_

    def predict(self, pairs, exclude=None):
        """+1 for pairs whose score reaches the threshold, -1 for the others.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
        exclude : array-like of identities, optional
            As in `score_pairs`.

        Returns
        -------
        ndarray of int of shape (n_pairs,)
        """
        return np.where(self.decision_function(pairs, exclude) >= 0, 1, -1)

    def roc(self, pairs, same, exclude=None):
        """The curve over all thresholds, a `Roc`; arguments as in `calibrate`."""
        return Roc.of(self.score_pairs(pairs, exclude), same)

    def _map(self, X):
        if self.metric is None:
            return X
        if self._frame is not None and hasattr(self.metric, "feature_names_in_"):
            X = _as_frame(X, self._frame, self.feature_names_in_)
        return check_array(self.metric.transform(X), dtype=[np.float64, np.float32])

    def _query(self, points, exclude):
        kept, known = self._kept(exclude), dict(self._known)
        number, first, ends = np.unique(
            _number_rows(points, known), return_index=True, return_inverse=True
        )
        n_equal = int(np.bincount(self._point[kept], minlength=len(known))[number].max())
        return _Query(points[first], number, ends.reshape(-1, 2), kept, n_equal)

    def _search(self, query, k):
        """Identities of the k neighbours of each point that is asked about, nearest first."""
        if k > query.n_left:
            raise ValueError(
                f"n_neighbors={k}, but only {query.n_left} of {len(self._label)} reference "
                "points are left after exclusion and without the queried point itself; choose a "
                "smaller n_neighbors or give a larger reference set"
            )
        search = NearestNeighbors(
            n_neighbors=k + query.n_equal, algorithm="brute", n_jobs=self.n_jobs
        )
        search.fit(self._reference[query.kept])
        Z = self._map(query.points) - self._center
        found = query.kept[search.kneighbors(Z, return_distance=False)]
        is_itself = self._point[found] == query.number[:, None]
        order = np.argsort(is_itself, axis=1, kind="stable")[:, :k]
        return self._label[np.take_along_axis(found, order, axis=1)]

    def _probability(self, labels, ends):
        n_points, k = labels.shape
        starts = np.arange(n_points + 1) * k
        counts = sp.csr_array(
            (np.ones(labels.size), labels.ravel(), starts), shape=(n_points, len(self.classes_))
        )
        counts.sum_duplicates()
        return counts[ends[:, 0]].multiply(counts[ends[:, 1]]).sum(axis=1) / k**2

    def _as_points(self, pairs):
        """The pairs' points one below the other: rows 2i and 2i + 1 are pair i."""
        # rounded as the reference set was, so that a point of it is still recognised
        pairs = check_array(pairs, dtype=self._dtype, allow_nd=True, input_name="pairs")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(
                f"pairs has shape {pairs.shape}; expected (n_pairs, 2, {self.n_features_in_}): two "
                "points each, not their row numbers"
            )
        return pairs.reshape(-1, self.n_features_in_)

    def _kept(self, exclude):
        """Reference rows whose identity is not excluded."""
        names = _as_names(exclude)
        if not len(names):
            return np.arange(len(self._label))
        unknown = names[~np.isin(names, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"exclude has {len(unknown)} identities that the reference set does not have, the "
                f"first is {unknown[0]!s}; such people need no exclusion: correct the name, or "
                "pass np.intersect1d(exclude, model.classes_)"
            )
        return np.flatnonzero(~np.isin(self.classes_, names)[self._label])


@dataclass(frozen=True, eq=False)
class _Query:
    """Points whose neighbours are asked for.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        None twice.
    number : ndarray of shape (n_points,)
        What `_number_rows` calls each.
    ends : ndarray of shape (n_pairs, 2)
        The two points of each pair.
    kept : ndarray of int
        The reference rows that may be neighbours.
    n_equal : int
        So many of them, at most, are one of the points.
    """

    points: np.ndarray
    number: np.ndarray
    ends: np.ndarray
    kept: np.ndarray
    n_equal: int

    @property
    def n_left(self):
        """So many neighbours every point has."""
        return len(self.kept) - self.n_equal

    def possible(self, counts):
        """Those of the counts that every point has; if none, the largest number it has."""
        return [k for k in counts if k <= self.n_left] or [max(self.n_left, 1)]


def _frame_class(X):
    """The class of frames that X is one of, None for anything else."""
    classes = (kind for kind in type(X).__mro__ if _library(kind) in COLUMN_NAMES)
    return next(classes, None)


def _library(kind):
    return kind.__module__.partition(".")[0]


def _as_frame(X, kind, names):
    return kind(X, **{COLUMN_NAMES[_library(kind)]: list(names)})


def _number_rows(X, known):
    """A number for each row, the same for equal rows; `known` grows by rows not met before."""
    X = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    digests = [blake2b(row, digest_size=16).digest() for row in X]
    return np.array([known.setdefault(digest, len(known)) for digest in digests])


def _as_names(exclude):
    if exclude is None:
        return np.empty(0)
    if isinstance(exclude, (set, frozenset)):
        exclude = sorted(exclude, key=str)
    names = np.atleast_1d(np.asarray(exclude)).ravel()
    is_text = [isinstance(name, str) for name in np.ravel(np.asarray(exclude, dtype=object))]
    if any(is_text) and not all(is_text):
        raise ValueError(
            f"exclude has {sum(is_text)} strings and {len(is_text) - sum(is_text)} other values; "
            "expected identities of the reference set, all of one type: see classes_"
        )
    return names


def _as_counts(n_neighbors):
    counts = np.unique(np.atleast_1d(np.asarray(n_neighbors)))
    if counts.dtype.kind not in "iu" or not len(counts) or counts[0] < 1:
        raise ValueError(
            f"n_neighbors is {n_neighbors!r}; expected one or more integers of at least 1"
        )
    return counts.tolist()
