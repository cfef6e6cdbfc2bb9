"""Base of the learners: their input, the answer that they store, and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from ..checks.arguments import as_options, as_signs, as_weights, in_precision, require_ordinary
from ..checks.parameters import CALLABLE, MATRIX, NONE, Rule
from ..checks.samples import SampleReader, check_random_state
from ..comparisons.reading import Tuples, column_names, look_up_points, read_tuples
from ..core.points import Array, Data, Vector
from ..core.solution import Certificate
from ..core.warning import warn_user
from ..learning.constraints import draw_pairs
from ..metric.base import MapEstimator
from ..metric.predictors import PairPredictor, QuadrupletPredictor, TripletPredictor
from ..metric.tuples import LabelledTuples, refuse_fit_transform
from ..model.fitted import Fitted
from ..model.linear_map import NO_DETAILS, NO_SOURCE, Features, LinearMap, Run, Source, Threshold
from ..neighbors.verification import best_distance, check_pair_labels
from .samples import LabelledSamples

#: Rule of the parameter that turns indices into points.
PREPROCESSOR: dict[str, Rule] = {"preprocessor": MATRIX | CALLABLE | NONE}


class Learner(MapEstimator):
    """Map whose `fit` ends with `_keep`; samples may be indices of a preprocessor."""

    _takes_sparse = False
    #: Largest entry of samples; products of five are finite, and of one over it as well.
    _widest = 2.0**186
    _rules: ClassVar[dict[str, Rule]] = PREPROCESSOR
    preprocessor: Any

    def score_pairs(self, pairs: Any) -> Array:
        """Return the learned distance of each pair; the old name of `pair_distance`."""
        warn_user(
            "score_pairs is the old name of pair_distance; pair_score is minus the distance",
            FutureWarning,
        )
        return self.pair_distance(pairs)

    certificate_ = Fitted[Certificate]("certificate")
    n_iter_ = Fitted[int]("run.n_iter")
    n_unlabeled_ = Fitted[int]("source.n_unlabeled")

    @property
    def _preprocessor(self) -> Any:
        return self.preprocessor

    def _reader(self, *, of_fit: bool = True) -> SampleReader:
        look_up = partial(look_up_points, preprocessor=self.preprocessor)
        return replace(super()._reader(of_fit=of_fit), look_up=look_up)

    def _check_samples(self, X: Any) -> Any:
        return super()._check_samples(look_up_points(X, self.preprocessor))

    def _keep(
        self,
        components: Array,
        features: tuple[int, Any],
        *,
        certificate: Certificate | None = None,
        n_iter: int | None = None,
        is_converged: bool = True,
        is_interrupted: bool = False,
        source: Source = NO_SOURCE,
        threshold: Threshold | None = None,
        details: Mapping[str, Any] = NO_DETAILS,
    ) -> Self:
        """Keep what was learned, which is the last step of a fit, and return the estimator."""
        if not (is_converged or is_interrupted):
            proof = f" ({certificate.describe_error()})" if certificate is not None else ""
            warn_user(
                f"{type(self).__name__} ended after {n_iter} iterations before it reached its "
                f"tolerance{proof}; raise max_iter, or tol if this is good enough",
                ConvergenceWarning,
            )
        return self._accept(
            LinearMap(
                components,
                Features(*features),
                certificate,
                None if n_iter is None else Run(n_iter, "interrupted" if is_interrupted else None),
                source=source,
                threshold=threshold,
                details=details,
            )
        )


class LabelLearner(Learner):
    """Learner from samples with labels: classes, or numbers if `_has_classes` is False."""

    _has_classes = True

    def _read(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> LabelledSamples:
        """Return the checked samples of a fit."""
        options |= {"widest": self._widest, "has_classes": self._has_classes}
        return LabelledSamples.read(self._reader(), X, y, sample_weight, **options)

    def _keep_of(self, samples: LabelledSamples, components: Array, **facts: Any) -> Self:
        """Keep components learned from samples, in their precision; `facts` as those of `_keep`."""
        source = Source(n_unlabeled=samples.n_unlabeled)
        components = in_precision(components, samples.dtype)
        return self._keep(components, samples.features, source=source, **facts)


class PairLearner(PairPredictor, Learner):
    """Learner from pairs that are similar (+1) or dissimilar (-1)."""

    _needs: ClassVar[dict[str, type]] = {"threshold": Threshold}
    fit_transform = refuse_fit_transform

    def _read(self, pairs: Any, y: Any, sample_weight: Any) -> LabelledTuples:
        """Return the checked `LabelledTuples` of a fit."""
        read = read_ordinary(self, pairs, 2)
        y, weight = check_pair_labels(y, sample_weight, len(read.index))
        return LabelledTuples.of(read, y, weight)

    def _threshold(
        self,
        labelled: LabelledTuples,
        distance: Vector,
        calibration_params: Mapping[str, Any] | None,
    ) -> Threshold:
        """Return the best threshold for these pairs."""
        options = {"sample_weight": labelled.weight} | as_options(calibration_params)
        return Threshold(best_distance(distance, labelled.y, **options))


class TripletLearner(TripletPredictor, Learner):
    """Learner from triplets (anchor, near, far)."""

    fit_transform = refuse_fit_transform


class QuadrupletLearner(QuadrupletPredictor, Learner):
    """Learner from quadruplets: a and b are closer than c and d."""

    fit_transform = refuse_fit_transform


def read_ordinary(metric: Learner, tuples: Any, size: int) -> Tuples:
    """Return tuples of points, whose numbers are of ordinary size."""
    read = read_tuples(tuples, size, metric.preprocessor)
    require_ordinary(read.points, name="points", widest=metric._widest)
    return read


def pairs_of_labels(
    samples: LabelledSamples, n_constraints: int | None, random_state: Any
) -> LabelledTuples:
    """Return similar and dissimilar pairs of labelled samples, drawn at random.

    There are `n_constraints` of each kind, 20 n_classes^2 if that is None. Rows are drawn in
    proportion to their weights; the pairs have equal weights.
    """
    rng = check_random_state(random_state)
    n_pairs = 20 * samples.n_classes**2 if n_constraints is None else n_constraints
    kinds = [
        draw_pairs(samples.y, n_pairs, rng, same=same, weight=samples.weight)
        for same in (True, False)
    ]
    y = np.repeat([1, -1], [len(kinds[0]), len(kinds[1])])
    index = np.concatenate(kinds)
    return LabelledTuples(samples.X, index, y, np.ones(len(y)))


def read_comparisons(
    metric: Learner, tuples: Any, size: int, y: Any, sample_weight: Any, *, of: str
) -> LabelledTuples:
    """Return tuples with their labels and weights; messages call the tuples `of`."""
    read = read_ordinary(metric, tuples, size)
    weight = as_weights(sample_weight, len(read.index), of=of)
    return LabelledTuples.of(read, as_signs(y, len(read.index)), weight)


def dense_points(labelled: LabelledTuples) -> Array:
    """Return the points of `LabelledTuples` as a dense array in double precision."""
    points: Data = labelled.points
    points = points.toarray() if issparse(points) else points
    return points.astype(np.float64, copy=False)


def features_of(metric: Learner, labelled: LabelledTuples) -> tuple[int, Any]:
    """Return number and names of the features of `LabelledTuples`."""
    return labelled.points.shape[1], column_names(metric.preprocessor)


def certificate_of(primal: float, dual: float, rounding: float = 0.0) -> Certificate:
    """Return the certificate of a convex problem whose optimum lies in [dual, primal].

    `rounding` bounds the error of the two numbers; the interval is widened by it.
    """
    return Certificate.between(dual, primal, rounding)
