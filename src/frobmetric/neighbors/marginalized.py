"""Verification that two points share an identity: marginalised nearest neighbours on any metric."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_identities, as_signs, as_weights, check_both_kinds
from ..checks.parameters import CALLABLE, MATRIX, NONE, WHOLE, Rule, check_parameters, integer
from ..checks.samples import SampleReader
from ..checks.text import shown
from ..comparisons.reading import Preprocessor, read_tuples
from ..core.checks import as_real, read_values
from ..core.points import Data, Vector
from ..model.fitted import Fitted
from ..model.linear_map import Features
from ..model.promise import Promise
from ..model.shell import FittedShell
from .promise import promise_of_points
from .reference import Query, ReferenceSet, frame_class
from .thresholds import best_threshold

TRANSFORMER = Rule(
    "an estimator with a transform method",
    lambda value: hasattr(value, "transform") and not isinstance(value, type),
)
#: Numbers of neighbours that are tried unless others are given.
COUNTS = (10, 20, 50, 100, 200)


class MarginalizedKNN(FittedShell):
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
    reference_ : ReferenceSet
        The value of the fit, of which the other attributes are read-only parts. It does not depend
        on parameters that change later, `preprocessor` and `n_jobs` apart.
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

    _kept: ClassVar[str] = "reference_"
    reference_: ReferenceSet
    metric_ = Fitted[Any]("metric", may_be_none=True)
    classes_ = Fitted[NDArray[Any]]("classes")
    n_neighbors_ = Fitted[int]("n_neighbors")
    threshold_ = Fitted[float]("threshold")
    promise_ = Fitted[Promise]("promise")
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
        points, _, seen = SampleReader(type(self).__name__, get_tags(self)).read(X)
        features, identities = Features(*seen), as_identities("y", y, len(points))
        if len(identities[0]) < 2:
            raise ValueError(
                f"y has one identity ({shown(identities[0][0])}); every pair would score 1. The "
                "reference set needs at least two identities"
            )
        given: dict[str, Any] = {"n_neighbors": self.n_neighbors}
        if self.metric is None:
            given["metric"] = None
        else:  # a clone of a frozen estimator is itself, and its parameters may be set later
            given["metric"] = copy(clone(self.metric).fit(X, y))
        given["frame"] = None if features.names is None else frame_class(X)
        return self._store(ReferenceSet.of(points, identities, features, **given))

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
        return self._scores(self._query(pairs, exclude))

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
        reference = chosen = self.reference_
        best = -np.inf
        labels = reference.neighbor_labels(query, counts[-1], self.n_jobs)
        for k in counts:
            score = reference.probability(labels[:, :k], query.index)
            threshold, value = best_threshold(score, y, **goal)
            if value > best:
                best = value
                chosen = replace(reference, n_neighbors=k, threshold=threshold, promise=None)
        return self._store(chosen)

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
        options = {"max_false_match": max_false_match, "confidence": confidence}
        scores, is_known = self._scores(query), self.reference_.is_known(query)
        promise = promise_of_points(scores, y, query.index, identities, is_known, **options)
        decided = replace(self.reference_, threshold=promise.threshold, promise=promise)
        return self._store(decided)

    def set_threshold(self, threshold: float) -> Self:
        """Set `threshold_`, the smallest score of a similar pair, and return the estimator."""
        check_is_fitted(self)
        number = as_real(threshold, name="threshold", expected="a finite number")
        if not np.isfinite(number):
            raise ValueError(f"threshold is {threshold!r}; expected a finite number")
        return self._store(replace(self.reference_, threshold=number, promise=None))

    def decision_function(
        self, pairs: ArrayLike, *, exclude: ArrayLike | None = None
    ) -> np.ndarray:
        """Return p(same) minus the threshold; see `pair_score` for the arguments."""
        check_is_fitted(self)
        threshold = self.reference_.threshold
        if threshold is None:
            raise NotFittedError(
                "this MarginalizedKNN has no threshold; call calibrate_threshold(pairs, y) or "
                "promise_threshold(pairs, y) on development pairs, or set_threshold(threshold)"
            )
        return self.pair_score(pairs, exclude=exclude) - threshold

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

    def _query(self, pairs: ArrayLike, exclude: ArrayLike | None) -> Query:
        check_is_fitted(self)
        reference = self.reference_
        read = read_tuples(pairs, 2, self.preprocessor, reference.features.number)
        return reference.query(read.points, read.index, exclude)

    def _scores(self, query: Query) -> Vector:
        reference = self.reference_
        labels = reference.neighbor_labels(query, reference.n_neighbors, self.n_jobs)
        return reference.probability(labels, query.index)


def _as_counts(n_neighbors: object) -> list[int]:
    counts = np.unique(np.atleast_1d(read_values(n_neighbors, name="n_neighbors")))
    if counts.dtype.kind not in "iu" or not len(counts) or counts[0] < 1:
        raise ValueError(
            f"n_neighbors is {n_neighbors!r:.80}; expected one or more integers of at least 1"
        )
    return counts.tolist()
