"""Predictions of learners from tuples: is a pair similar, which of two distances is smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_signs, as_weights
from ..comparisons.reading import read_tuples
from ..core.points import Array, Index
from ..model.distances import index_distance
from ..model.linear_map import LinearMap
from ..neighbors.verification import DistanceVerifier, check_pair_labels


class PairPredictor(DistanceVerifier):
    """Predictions of an estimator with `pair_distance`, learned from pairs."""

    _size: int | None = 2

    def decision_function(self, pairs: ArrayLike) -> Array:
        """Return the similarity of each pair: minus its learned distance."""
        return -self.pair_distance(pairs)

    def predict(self, pairs: ArrayLike) -> Index:
        """Return +1 for pairs at `threshold_` or nearer, -1 for others."""
        check_is_fitted(self, "threshold_")
        return self._decide(pairs)

    def score(self, pairs: ArrayLike, y: Any, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve: how often a similar pair is the nearer one."""
        score = self.decision_function(pairs)
        y, weight = check_pair_labels(y, sample_weight, len(score))
        return float(roc_auc_score(y > 0, score, sample_weight=weight))


class TripletPredictor:
    """Predictions of an estimator learned from triplets (anchor, near, far)."""

    _size: int | None = 3
    _requires_y = False
    _near: tuple[int, int] = (0, 1)
    _far: tuple[int, int] = (0, 2)
    preprocessor: Any
    map_: LinearMap

    def decision_function(self, tuples: ArrayLike) -> Array:
        """Return the far distance minus the near distance of each tuple, an (n_tuples,) array."""
        check_is_fitted(self)
        learned = self.map_
        read = read_tuples(tuples, self._size, self.preprocessor, learned.features.number)
        features = learned.features.kernel(read.points)
        far = index_distance(learned.components, features, read.index[:, self._far])
        return far - index_distance(learned.components, features, read.index[:, self._near])

    def predict(self, tuples: ArrayLike) -> Index:
        """Return +1 for tuples whose near distance is smaller under the metric, -1 for others."""
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def score(self, tuples: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of tuples that the metric predicts; equal distances count a half."""
        margin = self.decision_function(tuples)
        correct = (np.sign(margin * as_signs(y, len(margin))) + 1) / 2
        weight = as_weights(sample_weight, len(correct))
        return float(np.average(correct, weights=weight))


class QuadrupletPredictor(TripletPredictor):
    """Predictions of an estimator learned from quadruplets: a and b are closer than c and d."""

    _size: int | None = 4
    _near, _far = (0, 1), (2, 3)
