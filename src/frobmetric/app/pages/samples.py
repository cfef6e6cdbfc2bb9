"""Samples of a report: checked numbers, names of features, folds of the test and held-out votes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d, get_tags

from ...checks.text import shown
from ...evaluation.table import Comparison

#: Largest number whose squares, and sums of them, are finite.
LARGEST = 1e140
#: Most numbers of a sparse X that are written out.
MOST_NUMBERS = 50_000_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as arrays of numbers, with their labels; test samples may be None."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray | None
    y_test: np.ndarray | None

    @classmethod
    def check(cls, X: Any, y: ArrayLike, X_test: Any, y_test: ArrayLike | None) -> Self:
        if X_test is None or y_test is None:
            return cls(_numbers(X, "X"), column_or_1d(y), None, None)
        parts = (_numbers(X, "X"), _numbers(X_test, "X_test"))
        return cls(parts[0], column_or_1d(y), parts[1], column_or_1d(y_test))

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        return self.X, self.y, self.X_test, self.y_test

    @property
    def every(self) -> np.ndarray:
        """All samples, with the samples of X first."""
        return self.X if self.X_test is None else np.vstack([self.X, self.X_test])

    @property
    def labels(self) -> np.ndarray:
        """Labels of all samples."""
        return self.y if self.y_test is None else np.concatenate([self.y, self.y_test])


def _numbers(X: Any, name: str) -> np.ndarray:
    """Return samples as an array of numbers."""
    if issparse(X):
        if X.shape[0] * X.shape[1] > MOST_NUMBERS:
            raise ValueError(
                f"{name} is sparse, of shape {X.shape}; a report writes it out, at most "
                f"{MOST_NUMBERS:,} numbers: give fewer samples, or reduce the features first"
            )
        X = X.toarray()
    X = check_array(X, dtype=np.float64, input_name=name, estimator="report")
    largest = np.abs(X).max(initial=0.0)
    if largest > LARGEST:
        raise ValueError(
            f"{name} has numbers up to {largest:.1e}, whose squares are too large for a report; "
            f"expected at most {LARGEST:.0e}: divide the features by a power of ten"
        )
    return X


def refuse_kernel(model: Any) -> None:
    """Raise ValueError if a model takes values of a kernel in place of features."""
    if get_tags(model).input_tags.pairwise:
        raise ValueError(
            f"{type(model).__name__} takes values of a kernel; a report needs samples with "
            "features: give a model with another kernel than 'precomputed'"
        )


def feature_names_of(
    names: Iterable[Any] | None, X: Any, model: Any, image_shape: tuple[int, ...] | None
) -> list[str]:
    """Return the given names, or names from the data frame, from the model, or of pixels."""
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    n_features = np.shape(X)[1]
    if names is None and image_shape is not None:
        names = [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*image_shape)]
    names = [f"x{i}" for i in range(n_features)] if names is None else [shown(n) for n in names]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names; X has {n_features} features")
    return names


def check_image_shape(shape: tuple[int, ...] | None, n_features: int) -> None:
    """Raise ValueError if rows are not pictures of this shape."""
    if shape is None:
        return
    is_shape = len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
    if not is_shape or np.prod(shape) != n_features:
        raise ValueError(
            f"image_shape is {tuple(shape)}; X has {n_features} features; expected (height, width) "
            "or (height, width, 3) with as many numbers"
        )


def euclidean_unit(X: np.ndarray, key: str) -> np.ndarray:
    """Return the number by which the better Euclid divides each feature."""
    spread = X.std(axis=0)
    return np.where((spread > 0) & (key == "scaled"), spread, 1.0)


def held_out_votes(
    comparison: Comparison, labels: np.ndarray, n_train: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the held-out votes before and after of all samples, and which have one.

    Samples that were not tested keep their own label.
    """
    rows = comparison.tested
    rows = np.arange(n_train, len(labels)) if rows is None else rows
    votes = []
    for row in (comparison.euclidean, comparison["model"]):
        vote = labels.copy()
        vote[rows] = row.predicted
        votes.append(vote)
    is_tested = np.zeros(len(labels), dtype=bool)
    is_tested[rows] = True
    return votes[0], votes[1], is_tested
