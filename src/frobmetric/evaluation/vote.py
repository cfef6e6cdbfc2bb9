"""Prediction of test samples by their neighbours: a vote for classes, a mean for numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..checks.samples import check_array
from ..core.points import Vector
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


@dataclass(frozen=True)
class Evaluation(ABC):
    """Rule that predicts test samples by their neighbours, with a loss for each of them."""

    n_neighbors: int = 3

    #: Whether labels are classes, and not numbers.
    has_classes: ClassVar[bool]

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the error at the top of a table, and on the axis of a figure."""

    @abstractmethod
    def predict(self, Z_train: Any, y_train: Any, Z_test: Any) -> Any:
        """Return the prediction of each test sample."""

    @abstractmethod
    def losses(self, predicted: Any, y_test: Any, y_train: Any) -> Any:
        """Return the loss of each test sample."""

    @abstractmethod
    def error(self, losses: Any) -> float:
        """Return the error, a share."""

    @abstractmethod
    def interval(self, losses: Any) -> tuple[float, float]:
        """Return the 95 % interval of the error."""

    @abstractmethod
    def pair(self, before: Any, after: Any) -> PairedDifference:
        """Return the difference of two methods on the same samples."""


@dataclass(frozen=True)
class Vote(Evaluation):
    """Class by a vote of the nearest samples; the error is the share of wrong answers."""

    has_classes = True

    @property
    def name(self) -> str:
        return f"errors of a vote of the {self.n_neighbors} nearest neighbours"

    def predict(self, Z_train: Any, y_train: Any, Z_test: Any) -> Any:
        return knn_predict(Z_train, y_train, Z_test, n_neighbors=self.n_neighbors)

    def losses(self, predicted: Any, y_test: Any, y_train: Any) -> Any:
        return predicted != y_test

    def error(self, losses: Any) -> float:
        return float(losses.mean())

    def interval(self, losses: Any) -> tuple[float, float]:
        return error_interval(int(losses.sum()), len(losses))

    def pair(self, before: Any, after: Any) -> PairedErrors:
        return PairedErrors.from_mistakes(before, after)


@dataclass(frozen=True)
class Average(Evaluation):
    """Number by the mean of the nearest samples; the error is relative to the spread.

    A loss is a squared residual over the mean squared deviation of the test values from the mean of
    the training values, so an error of one is that of always answering this mean.
    """

    has_classes = False

    @property
    def name(self) -> str:
        return f"RMSE, relative to the spread, of the mean of the {self.n_neighbors} nearest"

    def predict(self, Z_train: Any, y_train: Vector, Z_test: Any) -> Any:
        Z_train, Z_test = (check_array(Z, accept_sparse="csr") for Z in (Z_train, Z_test))
        return y_train[nearest(Z_test, Z_train, self.n_neighbors)].mean(axis=1)

    def losses(self, predicted: Vector, y_test: Vector, y_train: Vector) -> Any:
        return (predicted - y_test) ** 2 / np.mean((y_test - y_train.mean()) ** 2)

    def error(self, losses: Vector) -> float:
        return root_mean(losses)

    def interval(self, losses: Vector) -> tuple[float, float]:
        return residual_interval(losses)

    def pair(self, before: Vector, after: Vector) -> PairedDifference:
        return paired_residuals(before, after)
