"""Spaces of a report: samples as Euclid and as a metric see them, their maps and neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.decomposition import PCA

from ...plotting.style import plane
from ...search.exact import nearest

#: Largest number of features at which the matrix of a map is searched.
MOST_FEATURES = 2000
#: Largest relative difference between a map and its matrix.
LINEAR = 1e-4


@dataclass(frozen=True, eq=False)
class Spaces:
    """Samples before and after a metric, in spaces where the distances are Euclidean.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    unit : ndarray of shape (n_features,)
        Number that each feature is divided by before: ones, or the standard deviations.
    after : ndarray of shape (n_samples, n_components)
        Mapped samples.
    matrix : ndarray of shape (n_components, n_features) or None
        Matrix of the map from differences of features; None if it is not linear.
    """

    X: np.ndarray
    unit: np.ndarray
    after: np.ndarray
    matrix: np.ndarray | None

    @classmethod
    def of(cls, mapping: Any, X: np.ndarray, unit: np.ndarray) -> Self:
        """Return the spaces of samples under a fitted transformer."""
        return cls(X, unit, apply(mapping, X), find_matrix(mapping, X))

    @property
    def before(self) -> np.ndarray:
        """Samples as Euclid sees them."""
        return self.X / self.unit

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of each feature in the mean squared distance, before and after.

        The mean over all pairs of samples of the parts that `explain_distance` gives.
        """
        if self.matrix is None:
            raise ValueError("the map is not linear, so features have no shares")
        covariance = np.atleast_2d(np.cov(self.X, rowvar=False))
        before = covariance.diagonal() / self.unit**2
        return _share(before), feature_shares(self.matrix, covariance)

    def planes(self) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
        """Return the principal planes before and after, and the shares of variance in them.

        Both have a mean squared radius of one, and the first is rotated, and reflected if need be,
        to be as near to the second as it can (orthogonal Procrustes).
        """
        (before, first), (after, second) = map(_principal_plane, (self.before, self.after))
        U, _, Vt = np.linalg.svd(before.T @ after)
        return before @ U @ Vt, after, (first, second)

    def neighbors(self, rows: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest of some samples among them, before and after, by numbers in `rows`."""
        alone = np.arange(len(rows))
        k = min(n_neighbors, len(rows) - 1)
        found = [
            nearest(points[rows], points[rows], k, labels=(alone, alone))
            for points in (self.before, self.after)
        ]
        return found[0], found[1]

    def spectra(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cumulative share of variance of the principal directions, before and after."""
        return _spectrum(self.before), _spectrum(self.after)


def apply(mapping: Any, X: np.ndarray) -> np.ndarray:
    """Return mapped samples, without names even if the samples of the fit had names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return np.asarray(mapping.transform(X), dtype=np.float64)


def find_matrix(mapping: Any, X: np.ndarray) -> np.ndarray | None:
    """Return the matrix of a map of samples, up to a constant; None if the map is not linear."""
    n_features = X.shape[1]
    if n_features > MOST_FEATURES:
        return None
    spread = X.std(axis=0)
    step = np.where(spread > 0, spread, 1.0)
    center = X.mean(axis=0)
    mapped = apply(mapping, np.vstack([center, center + np.diag(step)]))
    matrix = (mapped[1:] - mapped[0]).T / step
    some = X[:: max(1, len(X) // 200)]
    expected = apply(mapping, some) - mapped[0]
    error = np.abs((some - center) @ matrix.T - expected).max(initial=0.0)
    return matrix if error <= LINEAR * np.abs(expected).max(initial=1e-300) else None


def feature_shares(matrix: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the share of each feature in the mean squared distance under a matrix."""
    return _share(np.einsum("ki,kj,ji->i", matrix, matrix, covariance, optimize=True))


def _share(parts: np.ndarray) -> np.ndarray:
    total = parts.sum()
    return parts / total if total > 0 else np.zeros_like(parts)


def _principal_plane(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the two principal coordinates with mean squared radius one, and their share."""
    if min(points.shape) < 2:
        flat, share = plane(points - points.mean(axis=0)), 1.0
    else:
        pca = PCA(2, random_state=0).fit(points)
        flat, share = (
            pca.transform(points),
            float(np.nan_to_num(pca.explained_variance_ratio_).sum()),
        )
    radius = np.sqrt(np.mean(np.sum(flat**2, axis=1)))
    return flat / (radius or 1.0), share


def _spectrum(points: np.ndarray) -> np.ndarray:
    variances = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    total = variances.sum()
    return np.cumsum(variances) / total if total > 0 else np.ones_like(variances)
