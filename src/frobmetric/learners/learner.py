"""Base of the learners: their input, the answer that they store, and what is proven of it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..checks.arguments import as_options, require_ordinary
from ..checks.parameters import CALLABLE, MATRIX, NONE, Rule
from ..checks.samples import check_random_state
from ..comparisons.reading import column_names, look_up_points, read_tuples
from ..core import Certificate
from ..core.warning import warn_user
from ..learning.constraints import draw_pairs
from ..metric.base import MetricEstimator
from ..metric.predictors import PairPredictor, QuadrupletPredictor, TripletPredictor
from ..metric.tuples import LabelledTuples, refuse_fit_transform
from ..neighbors.verification import best_distance, check_pair_labels, point_digests
from .samples import LabelledSamples

#: Rule of the parameter that turns indices into points.
PREPROCESSOR: dict[str, Rule] = {"preprocessor": MATRIX | CALLABLE | NONE}


class Learner(MetricEstimator):
    """A metric whose `fit` ends with `_keep`; samples may be indices of a preprocessor."""

    _takes_sparse = False
    #: Largest entry of samples; products of five are finite, and of one over it as well.
    _widest = 2.0**186
    _rules: ClassVar[dict[str, Rule]] = PREPROCESSOR
    preprocessor: Any

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Return the learned distance of each pair; the old name of `pair_distance`."""
        warn_user(
            "score_pairs is the old name of pair_distance; pair_score is minus the distance",
            FutureWarning,
        )
        return self.pair_distance(pairs)

    def _check_samples(self, X, **options):
        return super()._check_samples(look_up_points(X, self.preprocessor), **options)

    def _keep(self, components, *, certificate=None, n_iter=None, is_converged=True, **attributes):
        """Set all fitted attributes, which is the last step of a fit, and return the estimator.

        Attributes of an earlier fit that are None now are deleted.
        """
        attributes |= {"components_": components, "certificate_": certificate, "n_iter_": n_iter}
        for name, value in attributes.items():
            vars(self).pop(name, None)
            if value is not None:
                setattr(self, name, value)
        if not is_converged:
            proof = f" ({certificate.describe_error()})" if certificate is not None else ""
            warn_user(
                f"{type(self).__name__} ended after {n_iter} iterations before it reached its "
                f"tolerance{proof}; raise max_iter, or tol if this is good enough",
                ConvergenceWarning,
            )
        return self


class LabelLearner(Learner):
    """A learner from samples with labels: classes, or numbers if `_has_classes` is False."""

    _has_classes = True

    def _read(self, X, y, sample_weight, **options):
        """Return the checked samples of a fit, and the attributes that describe the features."""
        return LabelledSamples.read(
            self, X, y, sample_weight, has_classes=self._has_classes, **options
        )


class PairLearner(PairPredictor, Learner):
    """A learner from pairs that are similar (+1) or dissimilar (-1)."""

    fit_transform = refuse_fit_transform

    def _read(self, pairs, y, sample_weight):
        """Return the checked `LabelledTuples` of a fit."""
        read = read_ordinary(self, pairs, 2)
        y, weight = check_pair_labels(y, sample_weight, len(read.index))
        return LabelledTuples.of(read, y, weight)

    def _threshold(self, labelled, distance, calibration_params):
        """Return attributes: the best threshold for these pairs, and the points it was set on."""
        options = {"sample_weight": labelled.weight} | as_options(calibration_params)
        return {
            "threshold_": best_distance(distance, labelled.y, **options),
            "promise_": None,
            "_learned_from": np.sort(point_digests(labelled.points)),
        }


class TripletLearner(TripletPredictor, Learner):
    """A learner from triplets (anchor, near, far)."""

    fit_transform = refuse_fit_transform


class QuadrupletLearner(QuadrupletPredictor, Learner):
    """A learner from quadruplets: a and b are closer than c and d."""

    fit_transform = refuse_fit_transform


def read_ordinary(metric, tuples, size):
    """Return tuples of points, whose numbers are of ordinary size."""
    read = read_tuples(tuples, size, metric.preprocessor)
    require_ordinary(read.points, name="points", widest=metric._widest)
    return read


def pairs_of_labels(samples, n_constraints, random_state):
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


def tuple_attributes(metric, labelled):
    """Return the attributes that describe the features of `LabelledTuples`."""
    names = column_names(metric.preprocessor)
    return {"n_features_in_": labelled.points.shape[1], "feature_names_in_": names}


def certificate_of(primal: float, dual: float, rounding: float = 0.0) -> Certificate:
    """Return the certificate of a convex problem whose optimum lies in [dual, primal].

    `rounding` bounds the error of the two numbers; the interval is widened by it.
    """
    return Certificate.between(dual, primal, rounding)
