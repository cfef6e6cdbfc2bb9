"""Fits of the learners from pairs: given pairs, or pairs that are drawn from labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np

from ..checks.arguments import in_precision
from ..checks.parameters import check_parameters
from ..core.points import Array, Index, Mask, Vector
from ..core.solution import Step
from ..core.threads import threads_for_order
from ..metric.tuples import LabelledTuples
from ..model.distances import index_distance
from ..model.linear_map import Source
from ..neighbors.verification import point_digests
from ..search.rows import take_rows
from ..solvers.monitor import Reporter
from .learner import LabelLearner, Learner, PairLearner, dense_points, features_of, pairs_of_labels


@dataclass(frozen=True, eq=False)
class PairDifferences:
    """Differences of the two points of each pair, none of them zero.

    `points` are the distinct points of the pairs, `y` is +1 for similar pairs and -1 for others.
    """

    V: Array
    y: Index
    weight: Array
    points: Array

    @classmethod
    def of(cls, labelled: LabelledTuples) -> Self:
        """Return the differences of `LabelledTuples`; pairs of equal points are left out."""
        points = dense_points(labelled)
        is_used = np.bincount(labelled.index.ravel(), minlength=len(points)) > 0
        first, second = (take_rows(points, rows) for rows in labelled.index.T)
        V = np.subtract(first, second, out=first)
        points = points if is_used.all() else points[is_used]
        counts = np.abs(V, out=second) @ np.ones(V.shape[1]) > 0
        if counts.all():
            return cls(V, labelled.y, labelled.weight, points)
        return cls(V[counts], labelled.y[counts], labelled.weight[counts], points)

    @property
    def similar(self) -> tuple[Array, Vector]:
        """Differences and weights of the similar pairs."""
        return self._of_kind(self.y > 0)

    @property
    def dissimilar(self) -> tuple[Array, Vector]:
        """Differences and weights of the dissimilar pairs."""
        return self._of_kind(self.y < 0)

    def _of_kind(self, is_kind: Mask) -> tuple[Array, Vector]:
        return np.compress(is_kind, self.V, axis=0), self.weight[is_kind]

    def require_both_kinds(self) -> None:
        """Raise ValueError if there are no similar or no dissimilar pairs."""
        n_similar = int(np.count_nonzero(self.y > 0))
        if not 0 < n_similar < len(self.y):
            raise ValueError(
                f"there are {n_similar} similar and {len(self.y) - n_similar} dissimilar pairs of "
                "different points; expected at least one of each kind"
            )


class PairMethod(Learner):
    """Method that learns from differences of pairs, whether given or drawn."""

    random_state: Any

    def _learn(self, pairs: PairDifferences, *args: Any, **options: Any) -> dict[str, Any]:
        """Return arguments of `_keep`, `components` among them."""
        raise NotImplementedError


class GivenPairLearner(PairMethod, PairLearner):
    """Fit of a `PairMethod` from given pairs."""

    def _fit_pairs(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any,
        calibration_params: Mapping[str, Any] | None,
        **options: Any,
    ) -> Self:
        check_parameters(self, self._rules)
        labelled = self._read(pairs, y, sample_weight)
        with threads_for_order(labelled.points.shape[1]):
            learned = self._learn(PairDifferences.of(labelled), **options)
        learned["components"] = in_precision(learned["components"], labelled.points.dtype)
        distance = index_distance(learned["components"], labelled.points, labelled.index)
        threshold = self._threshold(labelled, distance, calibration_params)
        source = Source(points=np.sort(point_digests(labelled.points)))
        features = features_of(self, labelled)
        return self._keep(**learned, features=features, source=source, threshold=threshold)


class DrawnPairLearner(PairMethod, LabelLearner):
    """Fit of a `PairMethod` from labels; the pairs are drawn at random."""

    n_constraints: int | None
    _min_classes = 1

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight, min_classes=self._min_classes)
        labelled = pairs_of_labels(samples, self.n_constraints, self.random_state)
        with threads_for_order(labelled.points.shape[1]):
            learned = self._learn(PairDifferences.of(labelled), **options)
        return self._keep_of(samples, **learned)


class ProgressLines:
    """Report of the steps of a solver: a line each if `verbose`, else nothing."""

    def __init__(self, verbose: Any) -> None:
        self.report = Reporter(1, None) if verbose else None
        self.start = perf_counter()

    def __call__(self, primal: float, gap: float, rank: int) -> None:
        if self.report is not None:
            seconds = perf_counter() - self.start
            self.report(Step(primal, primal - gap, gap, rank, seconds))


def logdet_distance(gap: float, size: float) -> float:
    """Return a bound on the Frobenius distance of M to M* if LogDet(M, M*) <= gap.

    No eigenvalue of M relative to M* is below 1 - sqrt(2 gap). `size` is the norm of M.
    """
    share = np.sqrt(2 * gap)
    return float(size * share / (1 - share)) if share < 1 else np.inf
