"""Correlations of data with missing values, pair by pair, and the labels of data frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks.arguments import as_symmetric, refuse_where
from ...core.checks import MOST, as_array
from ...core.points import Array

#: Share of a column's sum of squares below which it is constant, up to rounding.
CONSTANT = 1e-14


class PairwiseCorrelation(NamedTuple):
    """Correlations of pairs of columns, and the number of rows in which both have a value.

    Attributes
    ----------
    matrix : ndarray or data frame of shape (n, n)
        NaN where fewer than two rows have both, or where one of them does not vary.
    counts : ndarray or data frame of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import pairwise_correlation
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> X[:4, 0] = np.nan
    >>> pairwise_correlation(X).counts
    array([[16, 16],
           [16, 20]])
    """

    matrix: Any
    counts: Any


def pairwise_correlation(data: Any) -> PairwiseCorrelation:
    """Compute the correlation of each pair of columns from the rows in which both have a value.

    Such a matrix is often not positive semidefinite, because its entries come from different rows:
    `nearest_correlation` finds the nearest one that is, with the counts as weights.

    Parameters
    ----------
    data : array-like or data frame of shape (n_samples, n)
        NaN where a value is missing.

    Returns
    -------
    PairwiseCorrelation
        Matrix and counts, with the names of the columns if they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import nearest_correlation, pairwise_correlation
    >>> rng = np.random.default_rng(0)
    >>> data = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1))
    >>> data[:18, 0], data[15:, 1] = np.nan, np.nan
    >>> matrix, counts = pairwise_correlation(data)
    >>> counts.tolist()[0]
    [12, 0, 12, 12]
    >>> nearest = nearest_correlation(matrix, counts=counts)
    >>> nearest.status, bool(np.isnan(matrix[0, 1])), bool(np.isnan(nearest.matrix).any())
    ('optimal', True, False)
    """
    values = as_array(data, name="data")
    if values.ndim != 2:
        raise ValueError(f"data has shape {values.shape}; expected (n_samples, n)")
    is_huge = np.abs(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)) > MOST
    refuse_where(
        is_huge,
        lambda i, j: (
            f"data[{i}, {j}] = {values[i, j]:g} is too large; expected a number or NaN; scale it"
        ),
    )
    is_there = ~np.isnan(values)
    known = is_there.astype(float)
    centre = np.where(is_there, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1.0)
    x = np.where(is_there, values - centre, 0.0)
    largest = np.abs(x).max(axis=0, initial=0.0)
    x = x / np.where(largest > 0, largest, 1.0)  # correlations do not depend on the units
    counts = known.T @ known
    sums, squares, n = x.T @ known, (x**2).T @ known, np.maximum(counts, 1.0)
    spread = squares - sums**2 / n
    spread[spread <= CONSTANT * squares] = 0.0
    size = np.sqrt(spread * spread.T)
    covariance = x.T @ x - sums * sums.T / n
    is_known = (counts >= 2) & (size > 0)
    matrix = np.where(is_known, np.clip(covariance / np.where(is_known, size, 1.0), -1, 1), np.nan)
    np.fill_diagonal(matrix, np.where(np.diag(is_known), 1.0, np.nan))
    names = _Names(data)
    return PairwiseCorrelation(names.put(matrix), names.put(counts.astype(int)))


def counts_as_weights(counts: Any, G: Any) -> Array:
    """Return the weights H of the entries of G by the numbers of rows behind them.

    The variance of a correlation is about one over the number of rows, so that H^2 is that number,
    relative to the largest. Entries that are NaN have no weight.
    """
    N, values = as_symmetric(counts, name="counts"), np.asarray(G, dtype=float)
    if N.shape != values.shape:
        raise ValueError(f"counts has shape {N.shape} and G has {values.shape}; expected the same")
    refuse_where(N < 0, lambda i, j: f"counts[{i}, {j}] = {N[i, j]:g} is negative; expected counts")
    is_missing = np.isnan(values) | np.isnan(values.T)
    N = np.where(is_missing & ~np.eye(len(N), dtype=bool), 0.0, N)
    largest = N.max()
    if not largest > 0:
        raise ValueError("counts are all 0; expected the numbers of rows behind the entries of G")
    return np.sqrt(N / largest)


class _Names:
    """Labels of a data frame, of pandas or of polars; arrays have none."""

    def __init__(self, data: Any) -> None:
        self.kind = type(data) if hasattr(data, "columns") else None
        self.columns = list(data.columns) if self.kind else []
        self.has_rows = hasattr(data, "index")

    def put(self, values: Array) -> Any:
        """Return a square matrix with the labels on both sides."""
        if self.kind is None:
            return values
        if self.has_rows:
            return self.kind(values, index=self.columns, columns=self.columns)
        return self.kind(values, schema=self.columns)


class Labels(_Names):
    """Labels of a symmetric matrix in a data frame; its rows may have none of their own."""

    def __init__(self, matrix: Any, *, name: str) -> None:
        super().__init__(matrix)
        if self.kind is None or not self.has_rows:
            return
        rows = list(matrix.index)
        if rows not in (self.columns, list(range(len(rows)))):
            raise ValueError(
                f"{name} has the rows {rows[:3]}... and the columns {self.columns[:3]}...; use "
                f"the same labels in the same order, by {name}.loc[{name}.columns]"
            )
