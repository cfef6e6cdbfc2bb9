"""Feature maps of kernels: values with the training samples take the place of features.

The optimal metric lives in the span of the mapped samples, where the kernel's values with them are
all that is needed: `components_` maps those values as it maps features otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from ..core.points import Array, Data, Vector
from .value import Value, frozen_numbers

KERNELS = ("linear", "rbf", "polynomial", "precomputed")
#: Given values of a kernel may differ by this many units of rounding from their mirror images.
ASYMMETRY = 1e4


@dataclass(frozen=True, eq=False)
class FeatureMap(Value):
    """Function from samples to features: the samples themselves, or values of a kernel.

    The kernels "rbf" and "polynomial" are evaluated with the training samples `X_fit`.
    """

    kernel: str = "linear"
    X_fit: Data = None
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r} is not known; expected one of {KERNELS}")
        needs_samples = self.kernel not in ("linear", "precomputed")
        for name, value in (("X_fit_", self.X_fit), ("gamma_", self.gamma)):
            if (value is not None) != needs_samples:
                what = "lacks" if needs_samples else "has"
                raise ValueError(f"it {what} {name} with kernel={self.kernel!r}")
        if self.gamma is not None and not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma_ = {self.gamma} is not a positive number")
        if self.degree < 1 or not 0 <= self.coef0 < np.inf:
            raise ValueError(
                f"degree={self.degree} and coef0={self.coef0} are not at least 1 and 0"
            )
        if isinstance(self.X_fit, np.ndarray):
            object.__setattr__(self, "X_fit", frozen_numbers("X_fit_", self.X_fit))

    @classmethod
    def fit(
        cls,
        X: Data,
        kernel: str,
        gamma: float | None,
        degree: int,
        coef0: float,
        weight: Vector | None = None,
    ) -> Self:
        """Return the map of a kernel with these training samples; gamma=None takes the default.

        `weight` has the weight of each sample; None is one.
        """
        if kernel == "precomputed":
            _check_kernel_matrix(X)
        if kernel in ("linear", "precomputed"):
            return cls(kernel)
        gamma = _default_gamma(X, weight) if gamma is None else float(gamma)
        return cls(kernel, X.astype(np.float64), gamma, degree, coef0)

    def __call__(self, X: Data) -> Data:
        if self.kernel == "linear":
            return X
        if self.kernel == "precomputed":
            return np.asarray(X)
        # in double precision: only differences of these values count
        X, reference = X.astype(np.float64), self.X_fit
        if self.kernel == "rbf" and not (sp.issparse(X) or sp.issparse(reference)):
            center = reference.mean(axis=0)  # far from the origin, distances would cancel
            X, reference = X - center, reference - center
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, reference, self.kernel, filter_params=True, **parameters)


def _check_kernel_matrix(K: Array) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"X has shape {K.shape}; with kernel='precomputed' fit takes the kernel's values of "
            "all samples with all, (n_samples, n_samples)"
        )
    difference = np.abs(K - K.T)
    if difference.max() > ASYMMETRY * np.finfo(K.dtype).eps * np.abs(K).max():
        i, j = np.unravel_index(difference.argmax(), K.shape)
        raise ValueError(
            f"X[{i}, {j}] = {K[i, j]:.6g} and X[{j}, {i}] = {K[j, i]:.6g}; with "
            "kernel='precomputed' X must be symmetric: pass (X + X.T) / 2 if it should be"
        )


def _default_gamma(X: Data, weight: Vector | None = None) -> float:
    """Return 1 / (n_features * variance), which makes the unit of X irrelevant."""
    if weight is not None:
        share = weight / weight.sum()
        squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        variance = float(np.mean(share @ squares) - np.mean(share @ X) ** 2)
    elif sp.issparse(X):
        mean = float(X.mean())
        variance = float(X.multiply(X).mean()) - mean**2
    else:
        variance = float(np.var(X, dtype=np.float64))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
