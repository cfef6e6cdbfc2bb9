"""Samples with labels, as learners take them: distinct rows with weights, some without label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks.arguments import as_weights, labelled_rows, require_ordinary
from ..checks.samples import SampleReader, check_classification_targets
from ..core.checks import MOST, as_finite
from ..core.points import Array
from ..search.rows import merge_labelled


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Distinct labelled rows with a positive weight, in an order that depends on the values alone.

    Equal rows of one class are one row with the sum of their weights, so that a weight of two is
    the same as the row twice, whatever a learner does with its neighbours.
    """

    #: Distinct rows, (n, D), in double precision.
    X: np.ndarray
    #: Class numbers 0, 1, ... or, without classes, numbers.
    y: np.ndarray
    weight: np.ndarray
    #: Labels of the classes; None without classes.
    classes: np.ndarray | None
    #: Distinct rows with their weights, those without a label too.
    everything: np.ndarray
    every_weight: np.ndarray
    #: Type of the numbers that the user gave.
    dtype: np.dtype
    #: Number and names of the features.
    features: tuple[int, Array | None]
    #: Number of rows without a label, if there are any.
    n_unlabeled: int | None

    @classmethod
    def read(
        cls,
        reader: SampleReader,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        widest: float,
        has_classes: bool = True,
        min_classes: int = 1,
    ) -> LabelledSamples:
        """Return the checked arguments of `fit`; no number of X may be above `widest`."""
        options: dict[str, Any] = {"ensure_min_samples": 2, "order": "C"}
        if y is None and not reader.tags.target_tags.required:
            X, _, features = reader.read(X, **options)
            y, has_classes = np.zeros(len(X)), False
        else:
            X, y, features = reader.read(X, y, y_numeric=not has_classes, **options)
        require_ordinary(X, name="X", widest=widest)
        weight = as_weights(sample_weight, len(X), of="rows of X")
        n_unlabeled = None
        rows, y, weight = X[weight > 0].astype(np.float64), y[weight > 0], weight[weight > 0]
        if has_classes:
            check_classification_targets(y)
            known = labelled_rows(y)
            n_unlabeled = int(np.count_nonzero(~known)) or None
            classes, labels = np.unique(y[known], return_inverse=True)
            _check_classes(classes, min_classes)
        else:
            known, classes, labels = np.ones(len(y), bool), None, as_finite(y, name="y", most=MOST)
        everything, _, every_weight = _merged(rows, np.zeros(len(rows)), weight)
        dtype, (X, y, weight) = X.dtype, _merged(rows[known], labels, weight[known])
        every = everything, every_weight
        return cls(X, y, weight, classes, *every, dtype, features, n_unlabeled)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def spread(self) -> float:
        """Root of the mean squared distance to the mean, of all rows."""
        return float(np.sqrt(np.trace(np.atleast_2d(self.covariance()))))

    def covariance(self) -> np.ndarray:
        """Return the covariance of all rows, (D, D): means with their weights."""
        return weighted_covariance(self.everything, self.every_weight)


def weighted_covariance(X, weight):
    """Return the mean of (x - mean) (x - mean).T with these weights, (D, D)."""
    share = weight / weight.sum()
    deviations = X - share @ X
    return (deviations * share[:, None]).T @ deviations


def _merged(X, labels, weight):
    """Return distinct rows of X and labels, and the sum of the weights of each."""
    first, place = merge_labelled(X, labels)
    return X[first] + 0.0, labels[first], np.bincount(place, weight)


def _check_classes(classes, min_classes):
    if len(classes) < min_classes:
        raise ValueError(
            f"y has {len(classes)} class ({classes[0]!r}); expected samples of at least "
            f"{min_classes} classes"
        )
