"""Metrics from pairs that are known to be similar or dissimilar, and the threshold between them."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from .._checks import as_signs, as_weights, check_both_kinds, check_pairs
from .._parameters import Rule, check_parameters, choice, integer
from ..comparisons.merging import is_contradicted, near_first
from ..neighbors.thresholds import best_threshold
from ..solvers import Interrupted
from .sets import GivenQuadruplets, GivenTriplets
from .triplets import triplets_from_pairs
from .tuples import TUPLE_RULES, TupleEstimator

#: The yardstick's length in its own coordinate: with 1 the threshold b is regularised as an entry
#: of M is. A larger one would leave b freer, but is solved more slowly.
YARDSTICK = 1.0
#: Columns of a factor below this, relative to the largest, are rounding.
RANK = 1e-12


class PairFrobMetric(TupleEstimator):
    """Large-margin metric learning from pairs that are similar (+1) or dissimilar (-1).

    With `through="threshold"` the squared distances of similar pairs are to be below a threshold b
    and those of dissimilar ones above it, by a margin of one; M and b minimise

        |M - prior|_F^2 / 2 + b^2 / 2 + C sum_r w_r loss(y_r (b - d_r^2))

    which is the problem of quadruplets: every pair is compared with a yardstick whose squared
    length b is learned. With `through="triplets"` each pair is completed by near third points (see
    `frobmetric.metric.triplets.triplets_from_pairs`), as the paper does.

    Parameters
    ----------
    preprocessor : array-like, sparse matrix or callable, default=None
        As in `TripletFrobMetric`.
    through : {"threshold", "triplets"}, default="threshold"
    n_neighbors : int, default=5
        With "triplets": third points for either end of a pair.
    **others
        All others are those of `TripletFrobMetric`.

    Attributes
    ----------
    threshold_ : float
        Pairs at this distance or nearer are predicted similar. `fit` sets it to what is most often
        right on the training pairs; `calibrate_threshold` on others.
    learned_threshold_ : float
        With "threshold": the root of b.
    prior_threshold_ : float
        After `partial_fit`: the one before, whose square b is then to stay close to, not zero.
    n_contradictions_ : int
        Pairs that were also called the other way.
    components_, certificate_, status_, history_, rank_, n_iter_, scale_
        As in `FrobMetric`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import PairFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = [[0, 1], [50, 51], [100, 101], [0, 50], [50, 100], [0, 100]]
    >>> metric = PairFrobMetric(preprocessor=X).fit(pairs, [1, 1, 1, -1, -1, -1])
    >>> metric.predict([[3, 4], [3, 70]])
    array([ 1, -1])
    """

    _size = 2
    _rules: ClassVar[dict[str, Rule]] = {
        "through": choice(["threshold", "triplets"]),
        "n_neighbors": integer(1),
        **{name: rule for name, rule in TUPLE_RULES.items() if name != "pull"},
    }

    def __init__(
        self,
        preprocessor=None,
        through="threshold",
        n_neighbors=5,
        C=1e4,
        n_components=None,
        loss="hinge",
        prior=None,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        n_directions=None,
        tol=1e-3,
        max_iter=1000,
        solver="auto",
        keep_dual=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            preprocessor,
            C,
            n_components,
            loss,
            prior,
            kernel,
            gamma,
            degree,
            coef0,
            n_directions,
            0.0,
            tol,
            max_iter,
            solver,
            keep_dual,
            n_jobs,
            random_state,
            verbose,
            callback,
        )
        self.through = through
        self.n_neighbors = n_neighbors

    def fit(self, pairs, y, sample_weight=None, calibration_params=None):
        """Learn the metric, and the threshold on the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Formed of points, or of indices of the preprocessor.
        y : array-like of shape (n_pairs,)
            +1 for similar, -1 for dissimilar.
        sample_weight : array-like of shape (n_pairs,), optional
            A weight of 2 is the same as the pair twice; with `through="threshold"` only.
        calibration_params : dict, optional
            Arguments of `calibrate_threshold`, which is called with these pairs.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        return self._fit_and_calibrate(pairs, y, sample_weight, calibration_params)

    def partial_fit(self, pairs, y, sample_weight=None, calibration_params=None):
        """Update the metric with new pairs: the one learned before is the prior of this fit.

        So is the learned threshold, if there is one: b stays close to what it was, not to zero.

        Parameters
        ----------
        pairs, y, sample_weight, calibration_params
            As in `fit`, which this is without an earlier fit.

        Returns
        -------
        self
        """
        if not hasattr(self, "components_"):
            return self.fit(pairs, y, sample_weight, calibration_params)
        check_parameters(self, self._rules)
        old = self._old_root()
        return self._fit_and_calibrate(pairs, y, sample_weight, calibration_params, old)

    def decision_function(self, pairs):
        """Similarity of each pair: minus its learned distance."""
        return -self.pair_distance(pairs)

    def predict(self, pairs):
        """+1 for pairs at `threshold_` or nearer, -1 for others."""
        check_is_fitted(self, "threshold_")
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs, y, sample_weight=None):
        """Area under the ROC curve: the chance that a similar pair is nearer than a dissimilar one.

        Parameters
        ----------
        pairs, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        score = self.decision_function(pairs)
        weight = as_weights(sample_weight, len(score), of="pairs")
        y = self._as_answers(y, len(score), weight > 0)
        return float(roc_auc_score(y > 0, score, sample_weight=weight))

    def set_threshold(self, threshold):
        """Set `threshold_`, a distance.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not isinstance(threshold, (int, float, np.number)) or not threshold >= 0:
            raise ValueError(f"threshold is {threshold!r}; expected a distance, at least 0")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs, y, strategy="accuracy", *, beta=1.0, min_rate=None, sample_weight=None
    ):
        """Set `threshold_` to the best for these pairs.

        Parameters
        ----------
        pairs, y
            As in `fit`; best such that the metric was not learned from.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            As in `frobmetric.neighbors.thresholds.best_threshold`.
        beta, min_rate
            Of the strategies that use them.
        sample_weight : array-like of shape (n_pairs,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        score = self.decision_function(pairs)
        weight = as_weights(sample_weight, len(score), of="pairs")
        y = self._as_answers(y, len(score), weight > 0)
        # no distance is below zero: a threshold there calls no pair similar, as -inf does
        threshold, _ = best_threshold(
            score, y, strategy=strategy, beta=beta, min_rate=min_rate, sample_weight=weight
        )
        self.threshold_ = -threshold
        return self

    def _fit_and_calibrate(self, pairs, y, sample_weight, params, old=None):
        params = {"sample_weight": sample_weight} | (params or {})
        with self._intact():
            try:
                self._fit(pairs, y, sample_weight, old)
            except Interrupted:
                self.calibrate_threshold(pairs, y, **params)
                raise
            return self.calibrate_threshold(pairs, y, **params)

    def _as_answers(self, y, n, counts):
        """Y as +1 and -1, both of them there among those that count."""
        if y is None:
            raise ValueError("y is None; a pair learner needs +1 (similar) or -1 for each pair")
        y = as_signs(y, n, of="pairs", positive="similar")
        check_both_kinds(y[counts])
        return y

    def _check_tuples(self, pairs, index):
        if pairs.ndim == 2:
            check_pairs(pairs)

    def _answered(self, pairs, y, sample_weight, n_features=None):
        if self.through == "triplets" and sample_weight is not None:
            raise ValueError(
                "sample_weight was given with through='triplets', which does not use it; use "
                "through='threshold', or leave the weights out"
            )
        return super()._answered(pairs, y, sample_weight, n_features)

    def _frame(self, X, y, old=None):
        before = getattr(self, "learned_threshold_", None)
        self._keep("prior_threshold_", None if old is None else before)
        return super()._frame(X, y, old)

    def _rows(self, index, y, weight, frame):
        """Pairs as quadruplets with the yardstick, or completed to triplets."""
        if self.through == "triplets":
            return self._completed(index, y, weight, frame), frame
        yardstick = np.tile(len(frame.Z) + np.arange(2), (len(index), 1))
        both = np.hstack([index, yardstick])  # similar pairs are shorter than the yardstick
        return GivenQuadruplets(near_first(both, y), weight), self._with_yardstick(frame)

    def _completed(self, index, y, weight, frame):
        """Triplets of pairs that no other pair contradicts, of points that differ."""
        usable = (index[:, 0] != index[:, 1]) & ~is_contradicted(index, y, weight)
        if not usable.any():
            raise ValueError(
                "no pair is left to complete to triplets: each is of two equal points, or was also "
                "called the other way; use through='threshold'"
            )
        triplets = triplets_from_pairs(
            frame.Z, index[usable], y[usable], n_neighbors=self.n_neighbors
        )
        return GivenTriplets(triplets, np.ones(len(triplets)))

    def _with_yardstick(self, frame):
        """The frame with a yardstick, which in an update is to stay close to its old length."""
        frame = frame.with_yardstick(YARDSTICK)
        if not hasattr(self, "prior_threshold_"):
            return frame
        column = np.zeros((frame.Z.shape[1], 1))
        column[-1] = self.prior_threshold_ / YARDSTICK
        return replace(frame, root=np.hstack([frame.root, column]))

    def _store(self, solution, frame, pairs, dtype):
        super()._store(solution, frame, pairs, dtype)
        length = float(YARDSTICK * np.linalg.norm(solution.point.factor()[-1]))
        self._keep("learned_threshold_", length if frame.n_extra else None)

    def _factor(self, frame, point):
        """That of the metric, without the yardstick."""
        factor = point.factor()
        if not frame.n_extra:
            return frame.in_features(factor)
        # no constraint mixes the two, so the metric is what is left of the factor; its columns
        # are turned to be orthogonal again
        left, sizes, _ = np.linalg.svd(frame.in_features(factor), full_matrices=False)
        real = sizes > RANK * max(sizes, default=0.0)
        return left[:, real] * sizes[real]

    def _prior_matrix(self, frame, constraints, pairs):
        """A prior by name is scaled as if the threshold were the best one for it."""
        if not frame.n_extra or frame.root is not None or not isinstance(self.prior, str):
            return super()._prior_matrix(frame, constraints, pairs)
        of_yardstick = np.arange(frame.Z.shape[1]) == frame.Z.shape[1] - 1
        euclid, ruler = np.diag(1.0 * ~of_yardstick), np.diag(1.0 * of_yardstick)
        signed = constraints.forward(euclid)  # -d^2 of similar pairs, d^2 of others
        is_similar = constraints.forward(ruler) > 0
        kind = np.where(is_similar, 1, -1)
        best, _ = best_threshold(-np.abs(signed), kind, sample_weight=pairs.weight)
        margins = signed - np.where(is_similar, best, -best)
        weight = pairs.share * (margins > 0)
        return euclid * (weight.sum() / (weight @ margins) if weight.any() else 1.0)

    def _why_zero(self, problem):
        return (
            "the learned metric is zero: no direction of the points tells dissimilar pairs from "
            "similar ones at this C; check y (+1 is similar), raise C, or give the rarer kind of "
            "pairs more weight"
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
