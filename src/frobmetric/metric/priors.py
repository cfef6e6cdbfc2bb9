"""Priors: metrics to stay close to, given as a matrix or computed from the data by name."""

from __future__ import annotations

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from .._checks import check_psd
from .._parameters import InvalidParameterError
from .units import SMALLEST_SPREAD

#: Directions in which the data vary less than this, relative to the largest, are rounding.
RANK = 1e-10
#: Number of samples per coordinate from which on the shrinkage decreases.
FEW = 2


def named_prior_factor(name, Z, y):
    """Return a factor B, (n_features, rank), of the metric that is Euclidean for `Z @ B`.

    It is zero in directions in which the centred samples Z do not vary. y is None if triplets were
    given.
    """
    compute, needs_y = PRIORS[name]
    if needs_y:
        _check_classes(name, y)
    return compute(Z, y)


def prior_matrix_factor(prior, n_features, kernel):
    """Return a factor B of a prior matrix B B.T that a user gave."""
    if kernel != "linear":
        raise InvalidParameterError(
            f"prior is a matrix, of features, and kernel={kernel!r} has others; give a prior by "
            f"name ({', '.join(sorted(PRIORS))}) or kernel='linear'"
        )
    values, vectors = np.linalg.eigh(check_psd("prior", prior, n_features))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def scaled_identity(constraints, comparisons):
    """Return the multiple of the identity whose satisfied rows have a mean margin of one."""
    identity = np.eye(constraints.shape[1])
    return identity * unit_margin_scale(constraints.forward(identity), comparisons.share)


def unit_margin_scale(margins, share):
    """Return the factor that makes the weighted mean of the positive margins one."""
    weight = share * (margins > 0)
    return float(weight.sum() / (weight @ margins)) if weight.any() else 1.0


def _check_classes(name, y):
    if y is None:
        others = [other for other, (_, needs) in PRIORS.items() if not needs]
        raise ValueError(
            f"prior={name!r} is computed from classes, and triplets were given; "
            f"give one of {others} or a matrix"
        )
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class ({classes[0]}); triplets need samples of at least two classes"
        )
    if sizes.max() < 2:
        raise ValueError(
            f"prior={name!r} is a covariance within classes, and each of the {len(classes)} "
            "classes has one sample; give at least one class two"
        )


def _identity(Z, y):
    return np.eye(Z.shape[1])


def _covariance(Z, y):
    return _whitening(Z, Z)


def _within(Z, y):
    """Return the factor of relevant component analysis, with the classes as its chunklets."""
    return _whitening(Z - _class_means(Z, y)[0], Z)


def _shrunk(Z, y):
    """Return the factor of "within" with a covariance half way to its diagonal."""
    return _whitening(Z - _class_means(Z, y)[0], Z, shrinkage=0.5)


def _discriminant(Z, y):
    """Return the factor of linear discriminant analysis: "within", where class means differ."""
    B = _within(Z, y)
    means, n_classes = _class_means(Z @ B, y)
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return B @ directions[: n_classes - 1].T


def _class_means(Z, y):
    """Return the mean of the class of each sample, and the number of classes."""
    _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), Z.shape[1]))
    np.add.at(sums, labels, Z)
    return (sums / sizes[:, None])[labels], len(sizes)


def _whitening(deviations, Z, shrinkage=None):
    """Return a factor of the inverse covariance of these deviations, in the span of the samples.

    Features are first divided by their deviations, so that their units do not matter. Then the
    covariance is shrunk towards the identity, by default as the rule of Ledoit and Wolf says. Their
    rule minimises the error of the covariance, not of its inverse, for which less shrinkage is
    better when there are many samples: hence `FEW`.
    """
    weight = _unit_weights(deviations, Z)
    _, sizes, basis = np.linalg.svd(Z * weight, full_matrices=False)
    basis = basis[sizes > RANK * sizes[0]].T
    rows = (deviations * weight) @ basis
    n, D = rows.shape
    if shrinkage is None:
        shrinkage = ledoit_wolf_shrinkage(rows, assume_centered=True) * min(1.0, FEW * D / n) ** 3
    covariance = rows.T @ rows / n
    target = np.trace(covariance) / D
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target * np.eye(D))
    values = np.maximum(values, SMALLEST_SPREAD**2 * values[-1])
    return (weight[:, None] * basis) @ (vectors / np.sqrt(values))


def _unit_weights(deviations, Z):
    """Return the factor of each feature that makes its deviations one; 0 for constant features."""
    spread, whole = (np.sqrt(np.mean(a**2, axis=0)) for a in (deviations, Z))
    varies = whole > RANK * whole.max()
    spread = np.maximum(spread, SMALLEST_SPREAD * whole)
    return np.divide(1.0, spread, where=varies, out=np.zeros_like(spread))


#: Priors by name: a function (Z, y) -> factor, and whether it needs y.
PRIORS = {
    "identity": (_identity, False),
    "diagonal": (_identity, False),  # in units of the deviations within classes: see `units`
    "covariance": (_covariance, False),
    "shrunk": (_shrunk, True),
    "within": (_within, True),
    "discriminant": (_discriminant, True),
}
