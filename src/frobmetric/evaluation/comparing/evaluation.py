"""Evaluation of a learned map by nearest neighbours: a vote for classes, a mean for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...checks.samples import check_array
from ...neighbors import knn_predict
from ...search.exact import nearest
from ..paired import (
    PairedDifference,
    PairedErrors,
    error_interval,
    paired_residuals,
    residual_interval,
    root_mean,
)


class Evaluation(Protocol):
    """Rule that predicts test samples by their neighbours; a loss for each of them."""

    n_neighbors: int
    #: Name of the error at the top of a table, and on the axis of a figure.
    name: str

    def losses(self, Z_train: Any, y_train: Any, Z_test: Any, y_test: Any) -> np.ndarray:
        """Return the loss of each test sample."""
        ...

    def error(self, losses: np.ndarray) -> float:
        """Return the error, a share."""
        ...

    def interval(self, losses: np.ndarray) -> tuple[float, float]:
        """Return the 95 % interval of the error."""
        ...

    def pair(self, before: np.ndarray, after: np.ndarray) -> PairedDifference:
        """Return the difference of two methods on the same samples."""
        ...


@dataclass(frozen=True)
class Vote:
    """Class by a vote of the nearest samples; the error is the share of wrong answers."""

    n_neighbors: int = 3

    @property
    def name(self) -> str:
        """Name of the error."""
        return f"errors of a vote of the {self.n_neighbors} nearest neighbours"

    def losses(self, Z_train: Any, y_train: Any, Z_test: Any, y_test: Any) -> np.ndarray:
        """Return which test samples are classified wrong."""
        return knn_predict(Z_train, y_train, Z_test, n_neighbors=self.n_neighbors) != y_test

    def error(self, losses: np.ndarray) -> float:
        """Return the share of wrong answers."""
        return float(losses.mean())

    def interval(self, losses: np.ndarray) -> tuple[float, float]:
        """Return Wilson's interval."""
        return error_interval(int(losses.sum()), len(losses))

    def pair(self, before: np.ndarray, after: np.ndarray) -> PairedErrors:
        """Return the paired errors."""
        return PairedErrors.from_mistakes(before, after)


@dataclass(frozen=True)
class Average:
    """Number by the mean of the nearest samples; the error is relative to the spread.

    A loss is a squared residual over the mean squared deviation of the test values from the mean of
    the training values, so an error of one is that of always answering this mean.
    """

    n_neighbors: int = 3

    @property
    def name(self) -> str:
        """Name of the error."""
        return f"RMSE, relative to the spread, of the mean of the {self.n_neighbors} nearest"

    def losses(self, Z_train: Any, y_train: Any, Z_test: Any, y_test: Any) -> np.ndarray:
        """Return the squared residuals, relative to the spread."""
        Z_train, Z_test = (check_array(Z, accept_sparse="csr") for Z in (Z_train, Z_test))
        predicted = y_train[nearest(Z_test, Z_train, self.n_neighbors)].mean(axis=1)
        return (predicted - y_test) ** 2 / np.mean((y_test - y_train.mean()) ** 2)

    def error(self, losses: np.ndarray) -> float:
        """Return the root mean squared error, relative to the spread."""
        return root_mean(losses)

    def interval(self, losses: np.ndarray) -> tuple[float, float]:
        """Return the interval of the bootstrap."""
        return residual_interval(losses)

    def pair(self, before: np.ndarray, after: np.ndarray) -> PairedDifference:
        """Return the paired residuals."""
        return paired_residuals(before, after)
