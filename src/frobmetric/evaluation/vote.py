"""Prediction of test samples by their neighbours: a vote for classes, a mean for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ..checks.samples import check_array
from ..core.points import Array, Vector
from ..neighbors.classification import knn_predict
from ..search.exact import nearest
from .paired import (
    PairedDifference,
    PairedErrors,
    error_interval,
    paired_residuals,
    residual_interval,
    root_mean,
)


class Evaluation(Protocol):
    """Rule that predicts test samples by their neighbours, with a loss for each of them."""

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that predict a sample."""
        ...

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, and not numbers."""
        ...

    @property
    def name(self) -> str:
        """Name of the error at the top of a table, and on the axis of a figure."""
        ...

    def predict(self, Z_train: Any, y_train: Any, Z_test: Any) -> Any:
        """Return the prediction of each test sample."""
        ...

    def losses(self, predicted: Any, y_test: Any, y_train: Any) -> Any:
        """Return the loss of each test sample."""
        ...

    def error(self, losses: Any) -> float:
        """Return the error, a share."""
        ...

    def interval(self, losses: Any) -> tuple[float, float]:
        """Return the 95 % interval of the error."""
        ...

    def pair(self, before: Any, after: Any) -> PairedDifference:
        """Return the difference of two methods on the same samples."""
        ...


@dataclass(frozen=True)
class Vote:
    """Class by a vote of the nearest samples; the error is the share of wrong answers."""

    n_neighbors: int = 3

    has_classes: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name of the error."""
        return f"errors of a vote of the {self.n_neighbors} nearest neighbours"

    def predict(self, Z_train: Any, y_train: Any, Z_test: Any) -> Any:
        """Return the class of each test sample."""
        return knn_predict(Z_train, y_train, Z_test, n_neighbors=self.n_neighbors)

    def losses(self, predicted: Any, y_test: Any, y_train: Any) -> Any:
        """Return which test samples are classified wrong."""
        return predicted != y_test

    def error(self, losses: Any) -> float:
        """Return the share of wrong answers."""
        return float(losses.mean())

    def interval(self, losses: Any) -> tuple[float, float]:
        """Return Wilson's interval."""
        return error_interval(int(losses.sum()), len(losses))

    def pair(self, before: Any, after: Any) -> PairedErrors:
        """Return the paired errors."""
        return PairedErrors.from_mistakes(before, after)


@dataclass(frozen=True)
class Average:
    """Number by the mean of the nearest samples; the error is relative to the spread.

    A loss is a squared residual over the mean squared deviation of the test values from the mean of
    the training values, so an error of one is that of always answering this mean.
    """

    n_neighbors: int = 3

    has_classes: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the error."""
        return f"RMSE, relative to the spread, of the mean of the {self.n_neighbors} nearest"

    def predict(self, Z_train: Any, y_train: Vector, Z_test: Any) -> Vector:
        """Return the number of each test sample."""
        Z_train, Z_test = (check_array(Z, accept_sparse="csr") for Z in (Z_train, Z_test))
        mean: Array = y_train[nearest(Z_test, Z_train, self.n_neighbors)].mean(axis=1)
        return mean

    def losses(self, predicted: Vector, y_test: Vector, y_train: Vector) -> Vector:
        """Return the squared residuals, relative to the spread."""
        return (predicted - y_test) ** 2 / np.mean((y_test - y_train.mean()) ** 2)

    def error(self, losses: Vector) -> float:
        """Return the root mean squared error, relative to the spread."""
        return root_mean(losses)

    def interval(self, losses: Vector) -> tuple[float, float]:
        """Return the interval of the bootstrap."""
        return residual_interval(losses)

    def pair(self, before: Vector, after: Vector) -> PairedDifference:
        """Return the paired residuals."""
        return paired_residuals(before, after)
