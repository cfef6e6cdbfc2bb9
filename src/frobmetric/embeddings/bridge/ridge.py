"""Ridge maps between two spaces: one map, or one for each cell; the whole path by one SVD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from ...core.points import Array, Vector
from ...core.rounding import SUM, gamma
from ...core.solution import Certificate
from ...model.value import frozen_numbers

#: Size of the constant feature relative to the others: its coefficient is hardly penalised.
CONSTANT = 10.0
#: Square root of the weight of a cell's own map relative to the common one. It decides how far a
#: cell may depart from the common map; half was best or nearly so on all texts that were tried.
OWN = 0.5
#: Singular values below this share of the largest are zero.
RANK = 1e-7


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of the new space: samples of a cell share a map, which is added to the common one.

    A sample belongs to the nearest centre. Its features are those of the common map, then those
    of each cell, which are zero but for its own. A ridge map of these features is a common map and
    a departure from it in each cell, shrunk to zero.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    scale : float
        Root of the mean squared norm of the centred samples.
    centers : ndarray of shape (n_cells, n_features)
        Centres of centred and scaled samples; none for one common map.
    """

    mean: Vector
    scale: float
    centers: Array

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or not 0 < self.scale < np.inf:
            raise ValueError(f"scale = {self.scale} is not a positive number, or mean no vector")
        frozen_numbers("mean", self.mean)
        frozen_numbers("centers", self.centers, len(self.mean))

    @classmethod
    def of(cls, X: Array, n_maps: int, seed: int) -> Cells:
        """Return the cells that k-means finds; one map has no cells, only the common map."""
        mean = X.mean(axis=0)
        scale = float(np.sqrt(np.mean(np.sum((X - mean) ** 2, axis=1)))) or 1.0
        if n_maps == 1:
            return cls(mean, scale, np.empty((0, X.shape[1])))
        search = KMeans(n_maps, n_init=2, random_state=seed).fit((X - mean) / scale)
        return cls(mean, scale, search.cluster_centers_)

    @property
    def n_maps(self) -> int:
        """Number of maps; 1 without cells."""
        return max(1, len(self.centers))

    def assign(self, X: Array) -> Any:
        """Return the number of the cell of each sample."""
        Z = (X - self.mean) / self.scale
        return np.argmin(np.sum(self.centers**2, axis=1) - 2 * Z @ self.centers.T, axis=1)

    def features(self, X: Array) -> Array:
        """Return the features of the common map and of each cell, (n_samples, n_lifted)."""
        common = self._with_constant(X, CONSTANT)
        if not len(self.centers):
            return common
        own, cell = OWN * self._with_constant(X, 1.0), self.assign(X)
        lifted = np.zeros((len(X), len(self.centers), own.shape[1]))
        lifted[np.arange(len(X)), cell] = own
        return np.hstack([common, lifted.reshape(len(X), -1)])

    def predict(self, X: Array, coefficients: Array) -> Array:
        """Return features(X) @ coefficients, without the zeros."""
        width = X.shape[1] + 1
        mapped = self._with_constant(X, CONSTANT) @ coefficients[:width]
        if len(self.centers):
            own, cell = OWN * self._with_constant(X, 1.0), self.assign(X)
            for j in np.unique(cell):
                start = (j + 1) * width
                mapped[cell == j] += own[cell == j] @ coefficients[start : start + width]
        return mapped

    def _with_constant(self, X, value):
        return np.hstack([(X - self.mean) / self.scale, np.full((len(X), 1), value)])


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Ridge regression of Y on some features for every strength, by one decomposition.

    Minimises |Y - F W|^2 / 2 + penalty |W - prior|^2 / 2. With F = U diag(s) V.T everything, left
    out predictions included, is a sum over singular values.

    Attributes
    ----------
    U : ndarray of shape (n_samples, rank)
    s : ndarray of shape (rank,)
    V : ndarray of shape (n_lifted, rank)
    residual : ndarray of shape (n_samples, n_old)
        Y - F @ prior.
    prior : ndarray of shape (n_lifted, n_old)
    unit : float
        Penalty of strength 1: the mean squared singular value of the samples.
    """

    U: Array
    s: Vector
    V: Array
    residual: Array
    prior: Array
    unit: float

    @classmethod
    def of(cls, features: Array, Y: Array, prior: Array, n_features: int) -> RidgePath:
        """Decompose the features; the smaller one of the two Gram matrices is used."""
        n, p = features.shape
        is_wide = p > n
        gram = features @ features.T if is_wide else features.T @ features
        values, vectors = np.linalg.eigh(gram)
        kept = values > RANK**2 * max(values[-1], np.finfo(float).tiny)
        s, vectors = np.sqrt(values[kept]), vectors[:, kept]
        other = (features.T if is_wide else features) @ vectors / s
        U, V = (vectors, other) if is_wide else (other, vectors)
        return cls(U, s, V, Y - features @ prior, prior, n / n_features)

    def shrinkage(self, strength: float) -> Vector:
        """Return the factor by which each singular direction is kept."""
        return self.s**2 / (self.s**2 + strength * self.unit)

    def coefficients(self, strength: float) -> Array:
        """Return W, (n_lifted, n_old)."""
        factor = (self.shrinkage(strength) / self.s)[:, None]
        return self.prior + self.V @ (factor * (self.U.T @ self.residual))

    def left_out_errors(self, strength: float) -> Array:
        """Return Y minus the prediction of each row by all others, (n_samples, n_old)."""
        kept = self.shrinkage(strength)
        error = self.residual - self.U @ (kept[:, None] * (self.U.T @ self.residual))
        # a row that is fitted alone, whatever the others: its leverage is 1 up to rounding
        return error / np.maximum(1 - self.U**2 @ kept, 1e-8)[:, None]

    def certificate(self, strength: float) -> Certificate:
        """Return the duality gap of the closed form: an interval that contains the minimum.

        The dual of u is <u, R> - |u|^2 / 2 - |F.T u|^2 / (2 penalty), R the residual of the prior.
        """
        penalty = strength * self.unit
        moved = self.V.T @ (self.coefficients(strength) - self.prior)
        u = self.residual - self.U @ (self.s[:, None] * moved)
        slope = self.s[:, None] * (self.U.T @ u)
        primal = (np.vdot(u, u) + penalty * np.vdot(moved, moved)) / 2
        dual = np.vdot(u, self.residual) - (np.vdot(u, u) + np.vdot(slope, slope) / penalty) / 2
        terms = np.vdot(u, u) + abs(np.vdot(u, self.residual)) + np.vdot(slope, slope) / penalty
        proof = Certificate.between(
            float(dual), float(primal), gamma(SUM + sum(self.U.shape)) * float(terms)
        )
        return replace(proof, distance_bound=float(np.sqrt(2 * proof.gap / penalty)))
