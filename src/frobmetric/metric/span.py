"""The data as the solver sees them: scaled, and in as few coordinates as they span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

#: Differences below this, relative to the root mean squared norm of the data, are rounding.
GRID = 2.0**-32


@dataclass(frozen=True)
class Frame:
    """Coordinates of the samples, and the way back to their features.

    With more features than samples the optimal metric lives in the span of the data (without a
    prior; with one it need not): there the problem has the order of the samples, not of the
    features, and the same optimum.

    Attributes
    ----------
    Z : ndarray of shape (n_samples, n_coordinates)
    scale : float
        What the centred data were divided by.
    basis : ndarray of shape (n_features, n_coordinates) or None
        Maps features to coordinates; None where the coordinates are the features.
    """

    Z: np.ndarray
    scale: float
    basis: np.ndarray | None = None

    @classmethod
    def of(cls, X, keep_features=False, rounded=True):
        Z, scale = unit_mean_square(X, rounded)
        if keep_features or Z.shape[1] <= Z.shape[0]:
            return cls(Z, scale)
        basis, triangle = scipy.linalg.qr(Z.T, mode="economic")
        return cls(np.ascontiguousarray(triangle.T), scale, basis)

    def mapped(self, factor):
        """Where the metric factor @ factor.T of these coordinates is Euclidean; None is itself."""
        if factor is None:
            return self
        Z, scale = unit_mean_square(self.Z @ factor)
        basis = factor if self.basis is None else self.basis @ factor
        return Frame(Z, self.scale * scale, basis)

    def components(self, factor, size):
        """The first `size` rows of L.T in the features of X, from a factor in coordinates.

        Rows beyond the rank are zero; each row's largest entry is positive.
        """
        factor = factor[:, :size]
        factor = factor if self.basis is None else self.basis @ factor
        largest = np.abs(factor).argmax(axis=0)
        sign = np.where(factor[largest, np.arange(factor.shape[1])] < 0, -1.0, 1.0)
        components = np.zeros((size, len(factor)))
        components[: factor.shape[1]] = (factor * (sign / self.scale)).T
        return components


def unit_mean_square(X, rounded=True):
    """X centred and divided by one number so that its mean squared norm is one, in float64.

    The result is rounded, unless it is to be mapped on, to multiples of `GRID`, below which another
    unit of X (metres for millimetres) rounds differently: a solver that amplifies such noise would
    otherwise end at another point within its tolerance.

    Returns
    -------
    Z : ndarray of the shape of X
    scale : float
    """
    X = X.astype(np.float64)
    largest = np.abs(X).max()
    if largest > 0:
        X = X / largest  # squares of 1e200 overflow
    X = X - X.mean(axis=0)
    spread = np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
    if spread <= 1e-15:
        raise ValueError(
            f"all {len(X)} rows of X are equal; there is no distance to learn from them"
        )
    Z = np.round(X / (spread * GRID)) * GRID if rounded else X / spread
    return Z, float(largest * spread)
