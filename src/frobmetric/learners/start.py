"""Matrices that learners start from or stay close to, given by name or as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr
from sklearn.datasets import make_spd_matrix
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ..checks.arguments import NonPSDError, as_symmetric
from ..checks.parameters import MATRIX, InvalidParameterError, Rule, choice
from ..checks.samples import check_array, check_random_state
from ..core.points import Array
from .samples import LabelledSamples, weighted_covariance

#: Eigenvalues below this share of the largest one, for each row of the matrix, are zero.
ZERO = np.finfo(np.float64).eps
#: Names of maps to start from; "lda" needs classes.
INITS = ("auto", "pca", "lda", "identity", "random")
#: Names of matrices to start from or to stay close to.
PRIORS = ("identity", "covariance", "random")
#: Rules of the parameters that take them.
INIT_RULE: Rule = choice(INITS) | MATRIX
PRIOR_RULE: Rule = choice(PRIORS) | MATRIX


def check_n_components(n_components: int | None, n_features: int) -> int:
    """Return the number of components: that of the features if None."""
    if n_components is None:
        return n_features
    if not 1 <= n_components <= n_features:
        raise InvalidParameterError(
            f"n_components is {n_components}; expected 1 to {n_features}, the number of features"
        )
    return int(n_components)


def start_components(
    init: Any, n_components: int | None, samples: LabelledSamples, random_state: Any = None
) -> Array:
    """Return a map of shape (n_components, n_features) to start from.

    "auto" is "lda" if there are few enough components for it, else "pca", or "identity" if there
    are as many as features. Principal directions have the length one.
    """
    X = samples.X
    n_features = X.shape[1]
    n_components = check_n_components(n_components, n_features)
    if not isinstance(init, str):
        return _given_components(init, n_components, n_features)
    if init == "auto":
        init = _best_name(n_components, n_features, len(X), samples.n_classes)
    if init == "identity":
        return np.eye(n_components, n_features)
    if init == "random":
        return check_random_state(random_state).standard_normal((n_components, n_features))
    if init == "pca":
        _, vectors = np.linalg.eigh(samples.covariance())
        return _signed(vectors[:, ::-1][:, :n_components].T)
    return _discriminants(samples, n_components)


def prior_matrix(
    prior: Any,
    points: Array,
    weight: Array | None = None,
    random_state: Any = None,
    *,
    name: str = "prior",
    strictly: bool = False,
) -> Array:
    """Return a symmetric positive semidefinite matrix, (D, D), given by name or as an array.

    "covariance" is the inverse of the covariance of the points, its pseudo-inverse if the points
    lie in a plane. With `strictly` the matrix has to be positive definite.
    """
    n_features = points.shape[1]
    if not isinstance(prior, str):
        return check_metric_matrix(prior, n_features, name=name, strictly=strictly)
    if prior == "identity":
        return np.eye(n_features)
    if prior == "random":
        return make_spd_matrix(n_features, random_state=check_random_state(random_state))
    weight = np.ones(len(points)) if weight is None else weight
    covariance = weighted_covariance(points, weight) * weight.sum() / max(1.0, weight.sum() - 1)
    return _inverse_covariance(covariance, name, strictly)


def check_metric_matrix(
    matrix: Any, n_features: int, *, name: str, strictly: bool = False
) -> Array:
    """Return a matrix that a user gave as a metric: symmetric, of this size, not negative."""
    matrix = check_array(matrix, dtype=np.float64, copy=True, input_name=name)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"{name} has shape {matrix.shape}; expected ({n_features}, {n_features}), a row and a "
            "column for each feature"
        )
    matrix = as_symmetric(matrix, name=name)
    values = np.linalg.eigvalsh(matrix)
    limit = len(matrix) * ZERO * np.abs(values).max()
    if values[0] < -limit:
        raise NonPSDError(
            f"{name} has the eigenvalue {values[0]:.3g}; expected a positive semidefinite matrix"
        )
    if strictly and values[0] <= limit:
        raise np.linalg.LinAlgError(
            f"{name} is singular, its smallest eigenvalue is {values[0]:.3g}; expected a positive "
            "definite matrix: add a small multiple of the identity"
        )
    return matrix


def components_of(M: Array) -> Array:
    """Return a square L with L.T @ L = M, for a positive semidefinite M.

    A diagonal M gives a diagonal L, a positive definite one the transposed Cholesky factor. Others
    give directions in the order of their length; those of length zero are rows of zeros.
    """
    if np.array_equal(M, np.diag(np.diag(M))):
        return np.diag(np.sqrt(np.maximum(np.diag(M), 0.0)))
    values, vectors = np.linalg.eigh(M)
    limit = len(M) * ZERO * values[-1]
    if values[0] > limit:
        factor: Any = np.linalg.cholesky(M)
        return factor.T
    lengths = np.sqrt(np.where(values > limit, values, 0.0))[::-1, None]
    return lengths * _signed(vectors[:, ::-1].T) + 0.0


def span_basis(points: Array) -> Array:
    """Return orthonormal columns that span all differences of points, the identity if that is all.

    Directions are left out only if there are fewer points than features.
    """
    if len(points) > points.shape[1]:
        return np.eye(points.shape[1])
    basis, _ = qr((points[1:] - points[0]).T, mode="economic")
    return basis


def triangular(L: Array) -> Array:
    """Return the upper triangular L' with L'.T @ L' = L.T @ L and no negative diagonal entry."""
    (triangle,) = qr(L, mode="r")
    return triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None] + 0.0


def _given_components(init: Any, n_components: int, n_features: int) -> Array:
    init = check_array(init, dtype=np.float64, copy=True, input_name="init")
    if init.shape != (n_components, n_features):
        raise ValueError(
            f"init has shape {init.shape}; expected ({n_components}, {n_features}): n_components "
            "rows, a column for each feature"
        )
    return init


def _best_name(n_components: int, n_features: int, n_samples: int, n_classes: int) -> str:
    if n_components <= min(n_features, n_classes - 1):
        return "lda"
    return "pca" if n_components < min(n_features, n_samples) else "identity"


def _discriminants(samples: LabelledSamples, n_components: int) -> Array:
    """Return the discriminant directions, with rows of zeros if there are not enough of them."""
    if not samples.n_classes:
        raise InvalidParameterError(
            "init='lda' needs classes, and y holds numbers; expected 'auto', 'pca', 'identity', "
            "'random' or an array"
        )
    lda = LinearDiscriminantAnalysis(solver="svd").fit(samples.X, samples.y)
    found = lda.scalings_.T[:n_components]
    missing = np.zeros((n_components - len(found), samples.X.shape[1]))
    return np.vstack([found, missing])


def _signed(directions: Array) -> Array:
    """Return directions whose largest entry is positive."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return directions * np.where(largest < 0, -1.0, 1.0)


def _inverse_covariance(covariance: Array, name: str, strictly: bool) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    is_zero = values <= len(values) * ZERO * max(values[-1], 0.0)
    if is_zero.any() and strictly:
        raise np.linalg.LinAlgError(
            f"{name}='covariance' has no inverse: the points vary in {int((~is_zero).sum())} of "
            f"{len(values)} directions; remove dependent features (sklearn.decomposition.PCA), or "
            f"choose another {name}"
        )
    inverse = np.divide(1.0, values, where=~is_zero, out=np.zeros_like(values))
    M = (vectors * inverse) @ vectors.T
    return (M + M.T) / 2
