"""Verification by a learned distance: pairs at a threshold or nearer are called similar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_signs, as_weights, check_both_kinds
from ..checks.parameters import InvalidParameterError
from ..comparisons.reading import read_tuples
from ..core.checks import as_real
from ..core.points import Data, Index, Vector
from ..model.fitted import Fitted
from ..model.linear_map import LinearMap, Threshold
from ..model.promise import Promise
from ..search.rows import row_numbers
from .promise import promise_of_points
from .thresholds import best_threshold


class DistanceVerifier:
    """Methods of an estimator with `pair_distance` that set `threshold_`, a distance.

    The threshold is part of `map_`, whose source has the digests of the points that it was learned
    from.
    """

    pair_distance: Callable[..., np.ndarray]
    map_: LinearMap
    _preprocessor: Any
    threshold_ = Fitted[float]("threshold.distance")
    promise_ = Fitted[Promise]("threshold.promise")

    def set_threshold(self, threshold: float) -> Self:
        """Set `threshold_`, a distance, and return the estimator.

        With a number below zero, which no distance reaches, no pair is similar.
        """
        check_is_fitted(self)
        try:
            number = as_real(threshold, name="threshold", expected="a distance, a real number")
        except TypeError as error:  # a ValueError too, as it is in metric-learn
            raise InvalidParameterError(str(error)) from None
        return self._decide_by(number)

    def calibrate_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        strategy: str = "accuracy",
        beta: float = 1.0,
        min_rate: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Set `threshold_` to the best value for these pairs, and return the estimator.

        Pairs that the metric was not learned from are best. The other parameters are as in
        `frobmetric.neighbors.best_threshold`. `promise_threshold` bounds the errors on new pairs.
        """
        options: Any = {"strategy": strategy, "beta": beta, "min_rate": min_rate}
        best = best_distance(self.pair_distance(pairs), y, sample_weight, **options)
        return self._decide_by(best)

    def promise_threshold(
        self,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        max_false_match: float = 0.01,
        confidence: float = 0.95,
        identities: ArrayLike | None = None,
    ) -> Self:
        """Set `threshold_` so that false matches among new pairs are bounded with confidence.

        The pairs must not be of people that the metric was learned from; a warning says if some of
        their points are. For the theorem, its assumptions and the other parameters see
        `frobmetric.neighbors.promised_threshold`, with minus the distance as score.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points; or of indices, if the estimator has a preprocessor.
        y : array-like of shape (n_pairs,)
            +1 for similar, -1 for dissimilar pairs.
        max_false_match : float in (0, 1), default=0.01
            Bound on the false match rate.
        confidence : float in (0, 1), default=0.95
            Probability with which the bound holds.
        identities : array-like of shape (n_pairs, 2), default=None
            Who is shown by the two points of each pair. If None, every point is an identity of its
            own: give them if a person has several points.

        Returns
        -------
        self
            With `threshold_` and `promise_`.
        """
        score = -self.pair_distance(pairs)
        read = read_tuples(pairs, 2, self._preprocessor, self.map_.features.number)
        learned_from = self.map_.source.points
        is_known = np.isin(point_digests(read.points), () if learned_from is None else learned_from)
        options = {"max_false_match": max_false_match, "confidence": confidence}
        promise = promise_of_points(score, y, read.index, identities, is_known, **options)
        return self._decide_by(-promise.threshold, promise)

    def _decide_by(self, distance: float, promise: Promise | None = None) -> Self:
        """Set the threshold; a promise of an earlier one is forgotten."""
        before = self.map_.threshold
        after = (
            Threshold(distance)
            if before is None
            else replace(before, distance=distance, promise=None)
        )
        self.map_ = replace(self.map_, threshold=replace(after, promise=promise))
        return self

    def _decide(self, pairs: ArrayLike) -> Index:
        """Return +1 for pairs at `threshold_` or nearer, -1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)


def point_digests(points: Data) -> np.ndarray:
    """Return a number for each point, by which it is recognised in single and double precision."""
    return row_numbers(points.astype(np.float64, copy=False))


def check_pair_labels(
    y: ArrayLike, sample_weight: ArrayLike | None, n_pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return y as +1 and -1, both with a positive weight, and the weights."""
    _require_labels(y)
    weight = as_weights(sample_weight, n_pairs, of="pairs")
    y = as_signs(y, n_pairs, of="pairs", positive="similar")
    check_both_kinds(y[weight > 0])
    return y, weight


def best_distance(
    distance: Vector,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    strategy: str = "accuracy",
    **options: Any,
) -> float:
    """Return the best threshold for pairs of these distances; see `best_threshold`."""
    _require_labels(y)
    options |= {"strategy": strategy, "sample_weight": sample_weight}
    # no distance is below zero: a threshold there calls no pair similar, as -inf does
    threshold, _ = best_threshold(-distance, y, **options)
    return -threshold


def _require_labels(y: object) -> None:
    if y is None:
        raise ValueError("y is None; a pair learner needs +1 (similar) or -1 for each pair")
