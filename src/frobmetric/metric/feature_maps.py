"""Kernels: a metric between what a kernel maps samples to, learned in their span.

The optimal metric lives in the span of the mapped samples, where the kernel's values with them are
all that is needed: `components_` maps those values as it maps features otherwise.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from .._neighbors import distinct_points
from .._parameters import NONE, NOT_NEGATIVE, POSITIVE, choice, integer
from ._base import MetricEstimator
from .mahalanobis import pair_distance

KERNELS = ("linear", "rbf", "polynomial", "precomputed")
KERNEL_RULES = {
    "kernel": choice(KERNELS),
    "gamma": POSITIVE | NONE,
    "degree": integer(1),
    "coef0": NOT_NEGATIVE,
    "n_directions": integer(1) | NONE,
}
#: Given values of a kernel may differ so many units of rounding from their mirror images.
ASYMMETRY = 1e4


class KernelEstimator(MetricEstimator):
    """Maps samples by a kernel first; "linear" is no map at all.

    The names below are those of its parameters; one that derives from it may leave some out.
    """

    kernel = "linear"
    gamma = None
    degree = 3
    coef0 = 1.0
    n_directions = None

    @property
    def _sparse_checks(self):
        return {} if self.kernel == "precomputed" else {"accept_sparse": "csr"}

    def get_metric(self):
        """The learned distance as a plain function of two points."""
        if self.kernel == "linear":
            return super().get_metric()
        check_is_fitted(self)
        return partial(_kernel_distance, self._kernel(), self.components_)

    def _meet(self, X):
        """Keep the samples that others are to be compared with, and what the kernel takes of X."""
        self._keep("X_fit_", None)
        self._keep("gamma_", None)
        if self.kernel == "precomputed":
            _check_square(X)
        elif self.kernel != "linear":
            self.X_fit_ = X.astype(np.float64)
            self.gamma_ = _default_gamma(X) if self.gamma is None else float(self.gamma)

    def _kernel(self):
        """The kernel's values of any samples with those of the fit, as a function of them."""
        if self.kernel == "precomputed":
            return np.asarray
        return partial(
            _values,
            self.X_fit_,
            metric=self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
        )

    def _features(self, X):
        # those of a kernel in double precision: differences of its values are what matters
        return X if self.kernel == "linear" else self._kernel()(X)

    def _pair_features(self, pairs):
        if self.kernel == "linear":
            return super()._pair_features(pairs)
        # each point is mapped once: how a product rounds depends on where in it a point stands
        points, index = distinct_points(pairs.reshape(-1, pairs.shape[2]))
        features = self._features(points)
        return tuple(features[index.reshape(-1, 2)[:, i]] for i in (0, 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _check_square(K):
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


def _default_gamma(X):
    """1 / (n_features * variance), so that the unit of X does not matter."""
    if sp.issparse(X):
        mean = float(X.mean())
        variance = float(X.multiply(X).mean()) - mean**2
    else:
        variance = float(np.var(X, dtype=np.float64))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _values(reference, X, *, metric, **parameters):
    X = X.astype(np.float64)
    if metric == "rbf" and not (sp.issparse(X) or sp.issparse(reference)):
        center = reference.mean(axis=0)  # far from the origin, distances would cancel
        X, reference = X - center, reference - center
    return pairwise_kernels(X, reference, metric, filter_params=True, **parameters)


def _kernel_distance(kernel, components, a, b):
    points, index = distinct_points(np.stack([a, b]))
    features = kernel(points)
    return pair_distance(components, features[index[0]], features[index[1]])
