"""Samples with labels, as learners take them: distinct rows with weights, some without label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import as_weights, labelled_rows, require_ordinary
from ..checks.samples import SampleReader, check_classification_targets
from ..core.checks import MOST, as_finite
from ..core.points import Array, Vector
from ..search.rows import merge_labelled


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Distinct labelled rows with a positive weight, in an order that depends on the values alone.

    Equal rows of one class are one row with the sum of their weights, so that a weight of two is
    the same as the row twice, whatever a learner does with its neighbours.
    """

    #: Distinct rows, (n, D), in double precision.
    X: Array
    #: Class numbers 0, 1, ... or, without classes, numbers.
    y: Any
    weight: Array
    #: Labels of the classes; none without classes.
    classes: NDArray[Any]
    #: Distinct rows with their weights, those without a label too.
    everything: Array
    every_weight: Array
    #: Type of the numbers that the user gave.
    dtype: np.dtype[Any]
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
            known, classes = np.ones(len(y), bool), np.empty(0)
            labels = as_finite(y, name="y", most=MOST)
        everything, _, every_weight = _merged(rows, np.zeros(len(rows)), weight)
        dtype, (X, y, weight) = X.dtype, _merged(rows[known], labels, weight[known])
        every = everything, every_weight
        return cls(X, y, weight, classes, *every, dtype, features, n_unlabeled)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def spread(self) -> float:
        """Root of the mean squared distance to the mean, of all rows."""
        return float(np.sqrt(np.trace(np.atleast_2d(self.covariance()))))

    def covariance(self) -> Array:
        """Return the covariance of all rows, (D, D): means with their weights."""
        return weighted_covariance(self.everything, self.every_weight)


def weighted_covariance(X: Array, weight: Vector) -> Array:
    """Return the mean of (x - mean) (x - mean).T with these weights, (D, D)."""
    return mean_square(X - (weight / weight.sum()) @ X, weight)


def mean_square(X: Array, weight: Vector) -> Array:
    """Return the weighted mean of x x.T over the rows of X, (D, D)."""
    return (X * (weight / weight.sum())[:, None]).T @ X


def _merged(X: Array, labels: Any, weight: Vector) -> tuple[Array, Any, Vector]:
    """Return distinct rows of X and labels, and the sum of the weights of each."""
    first, place = merge_labelled(X, labels)
    return X[first] + 0.0, labels[first], np.bincount(place, weight).astype(np.float64)


def _check_classes(classes: Array, min_classes: int) -> None:
    if len(classes) < min_classes:
        raise ValueError(
            f"y has {len(classes)} class ({classes[0]!r}); expected samples of at least "
            f"{min_classes} classes"
        )
