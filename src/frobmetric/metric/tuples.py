"""Metrics from comparisons: "a is closer to b than to c", "a and b are closer than c and d"."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import as_signs, as_weights, check_comparisons, check_distances_differ
from .._parameters import CALLABLE, MATRIX, NONE, Rule, check_parameters, choice
from ..comparisons.merging import is_contradicted, near_first
from ..comparisons.reading import column_names, read_tuples
from ..core import CertificateError
from ._base import SHARED_RULES, limit_threads
from ._problem import PROBLEM_RULES, FrobEstimator
from .sets import GivenQuadruplets, GivenTriplets, is_same_set

#: Numbers held at a time when distances are measured.
BLOCK = 1 << 22
#: Parameters that only learning from labels has.
OF_LABELS = ("n_neighbors", "n_impostors", "n_passes")
TUPLE_RULES: dict[str, Rule] = {
    "preprocessor": MATRIX | CALLABLE | NONE,
    **{name: rule for name, rule in SHARED_RULES.items() if name not in OF_LABELS},
    **PROBLEM_RULES,
    "kernel": choice(["linear", "rbf", "polynomial"]),
}


class TupleEstimator(FrobEstimator):
    """What learners from tuples share; one that derives from it says how many points they have."""

    _size: ClassVar[int]
    _rules: ClassVar[dict[str, Rule]] = TUPLE_RULES

    def __init__(
        self,
        preprocessor=None,
        C=1e4,
        n_components=None,
        loss="hinge",
        prior=None,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        n_directions=None,
        pull=0.0,
        tol=1e-3,
        max_iter=1000,
        solver="auto",
        keep_dual=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.preprocessor = preprocessor
        self.C = C
        self.n_components = n_components
        self.loss = loss
        self.prior = prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_directions = n_directions
        self.pull = pull
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.keep_dual = keep_dual
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def pair_distance(self, pairs):
        """Learned distance of each pair, formed or of indices of the preprocessor.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return self._distances(self._read(pairs, 2), (0, 1))

    def certify(self, tuples, y=None, sample_weight=None):
        """Prove the answer again, from the training tuples and the kept dual variables.

        Parameters
        ----------
        tuples, y, sample_weight
            Those of the last fit, in the same order.

        Returns
        -------
        Certificate

        Raises
        ------
        CertificateError
            If the metric or the dual variables do not belong to these tuples and answers.
        """
        self._require_dual()
        read, y, weight = self._answered(tuples, y, sample_weight, self.n_features_in_)
        rows, frame = self._rows(read.index, y, weight, self._known_frame(read.points))
        if not is_same_set(rows, self.triplets_):
            raise CertificateError(
                "these are not the comparisons that the metric was learned from; give those of the "
                "last fit in the same order, with their y and sample_weight"
            )
        return self._prove(frame, self.triplets_)

    def fit_transform(self, *tuples, **others):
        """Not for tuples: `fit` takes them, and `transform` takes points."""
        raise TypeError(
            f"fit takes tuples and transform takes points, so {type(self).__name__} has no "
            "fit_transform; call fit(tuples), then transform(X)"
        )

    def _fit(self, tuples, y, sample_weight, old=None):
        """Learn from these tuples, close to an old metric if there is one."""
        n_features = None if old is None else self.n_features_in_
        with self._intact(), limit_threads(self.n_jobs):
            read, y, weight = self._answered(tuples, y, sample_weight, n_features)
            if read.points.shape[0] == 1:
                raise ValueError(
                    "all points of the tuples are equal; there is no distance to learn from them"
                )
            self.n_features_in_ = read.points.shape[1]
            self._keep("feature_names_in_", column_names(self.preprocessor))
            self.n_contradictions_ = int(is_contradicted(read.index, y, weight).sum())
            frame = self._frame(read.points, None, old)
            rows, frame = self._rows(read.index, y, weight, frame)
            self._learn(frame, rows, read.points.dtype)
        return self

    def _answered(self, tuples, y, sample_weight, n_features=None):
        """Tuples with y and weights, all checked; those of weight zero are as if not given."""
        read = read_tuples(tuples, self._size, self.preprocessor, n_features)
        n = len(read.index)
        weight = as_weights(sample_weight, n)
        y = self._as_answers(y, n, weight > 0)
        self._check_tuples(np.asarray(tuples), read.index)
        said = weight > 0
        return read.take(said), y[said], weight[said]

    def _read(self, tuples, size):
        check_is_fitted(self)
        return read_tuples(tuples, size, self.preprocessor, self.n_features_in_)

    def _distances(self, read, pair, features=None):
        """Learned distances of two of the points of each tuple, each distinct pair once."""
        features = self._features(read.points) if features is None else features
        n = read.points.shape[0]
        first, second = np.sort(read.index[:, pair], axis=1).T
        keys, place = np.unique(first * n + second, return_inverse=True)
        distances, step = np.empty(len(keys)), max(1, BLOCK // features.shape[1])
        for start in range(0, len(keys), step):
            first, second = np.divmod(keys[start : start + step], n)
            moved = (features[first] - features[second]) @ self.components_.T
            distances[start : start + step] = np.sqrt(np.sum(moved**2, axis=1))
        return distances[place]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags


class ComparisonEstimator(TupleEstimator):
    """A tuple says that one distance, the near one, is smaller than another, the far one."""

    _kind: ClassVar[type]
    _near: ClassVar[tuple[int, int]]
    _far: ClassVar[tuple[int, int]]

    def fit(self, tuples, y=None, sample_weight=None):
        """Learn the metric.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            Formed of points, or of indices of the preprocessor: triplets (anchor, near, far), of
            size 3, or quadruplets (a, b, c, d), of size 4, of which a and b are the near ones.
        y : array-like of shape (n_tuples,), optional
            -1 where the comparison is the other way round, +1 otherwise.
        sample_weight : array-like of shape (n_tuples,), optional
            A weight of 2 is the same as the comparison twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        return self._fit(tuples, y, sample_weight)

    def partial_fit(self, tuples, y=None, sample_weight=None):
        """Update the metric with new comparisons: the one learned before is the prior of this fit.

        The certificate speaks of the problem of the new comparisons with that prior. The larger
        `C`, the more they count. Without an earlier fit this is `fit`.

        Parameters
        ----------
        tuples, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        if not hasattr(self, "components_"):
            return self.fit(tuples, y, sample_weight)
        check_parameters(self, self._rules)
        return self._fit(tuples, y, sample_weight, self._old_root())

    def decision_function(self, tuples):
        """By how much the far distance is larger than the near one.

        Parameters
        ----------
        tuples : array-like
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_tuples,)
        """
        read = self._read(tuples, self._size)
        features = self._features(read.points)
        far, near = (self._distances(read, pair, features) for pair in (self._far, self._near))
        return far - near

    def predict(self, tuples):
        """+1 where the metric agrees that the near distance is smaller, -1 where it does not.

        Parameters
        ----------
        tuples : array-like
            As in `fit`.

        Returns
        -------
        ndarray of int of shape (n_tuples,)
        """
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def score(self, tuples, y=None, sample_weight=None):
        """Share of comparisons that the metric predicts; equal distances count a half.

        Parameters
        ----------
        tuples, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        margin = self.decision_function(tuples)
        right = (np.sign(margin * as_signs(y, len(margin))) + 1) / 2
        weight = as_weights(sample_weight, len(right))
        return float(np.average(right, weights=weight))

    def _as_answers(self, y, n, counts):
        return as_signs(y, n)

    def _check_tuples(self, tuples, index):
        if tuples.ndim == 2:
            check_comparisons(tuples)
        check_distances_differ(index)

    def _rows(self, index, y, weight, frame):
        """The comparisons as constraints, the near pair first in each."""
        return self._kind(near_first(index, y), weight), frame


class TripletFrobMetric(ComparisonEstimator):
    """Large-margin metric learning from triplets: the anchor is closer to near than to far.

    The problem, its solver and its certificate are those of `FrobMetric`, and so are all
    parameters but `preprocessor`. Contradictory answers are allowed: within the margin they
    cancel; `n_contradictions_` says how many there were.

    Parameters
    ----------
    preprocessor : array-like, sparse matrix or callable, default=None
        With an array of points, tuples may be of its row numbers; with a function, of anything
        that it turns, a whole list at a time, into points.
    **others
        All others are those of `FrobMetric`, without those of labels. `prior` takes a matrix,
        "covariance" or "identity", `kernel` all but "precomputed".

    Attributes
    ----------
    n_contradictions_ : int
        Comparisons whose question was also answered the other way.
    n_triplets_ : int
        Comparisons learned from.
    components_, certificate_, status_, history_, rank_, n_iter_, scale_, dual_coef_, triplets_
        As in `FrobMetric`; `triplets_` counts distinct points in an order of their own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import TripletFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> triplets = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 110]]
    >>> metric = TripletFrobMetric(preprocessor=X).fit(triplets)
    >>> metric.predict([[3, 4, 70], [3, 70, 4]])
    array([ 1, -1])
    """

    _size, _kind = 3, GivenTriplets
    _near, _far = (0, 1), (0, 2)


class QuadrupletFrobMetric(ComparisonEstimator):
    """Large-margin metric learning from quadruplets: a and b are closer than c and d.

    All else is as in `TripletFrobMetric`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import QuadrupletFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = QuadrupletFrobMetric(preprocessor=X).fit([[0, 1, 2, 60], [50, 51, 60, 110]])
    >>> metric.predict([[3, 4, 5, 70]])
    array([1])
    """

    _size, _kind = 4, GivenQuadruplets
    _near, _far = (0, 1), (2, 3)
