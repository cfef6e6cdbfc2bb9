"""Metrics that labelled data have by themselves, to stay close to."""

from __future__ import annotations

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

#: A feature whose deviations within classes are smaller than this, relative to those of all
#: samples, counts as if they were so large: one that tells classes apart alone is not all.
SMALLEST_SPREAD = 1e-3
#: Directions in which the data vary less than this, relative to the most, are rounding.
RANK = 1e-10
#: With this many samples for each coordinate and more, less and less is shrunk.
FEW = 2


def prior_factor(name, Z, y):
    """A factor B of a metric B B.T: `Z @ B` is where it is Euclidean.

    It is zero in directions in which the samples do not vary.

    Parameters
    ----------
    name : str
        One of `PRIORS`.
    Z : ndarray of shape (n_samples, n_features)
        Centred.
    y : ndarray of shape (n_samples,) or None
        Labels; None if triplets were given.

    Returns
    -------
    ndarray of shape (n_features, rank) or None
        None for the identity.
    """
    find, needs_y = PRIORS[name]
    if needs_y:
        _check_classes(name, y)
    return find(Z, y)


def satisfied_scale(constraints, share):
    """What to multiply the identity with so that the rows it satisfies have a mean margin of 1.

    Rows weigh as their share.
    """
    margins = constraints.forward(np.eye(constraints.shape[1]))
    weight = share * (margins > 0)
    return float(weight.sum() / (weight @ margins)) if weight.any() else 1.0


def psd_root(matrix):
    """A factor B of a positive semidefinite matrix B B.T."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0))


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
    return None


def _covariance(Z, y):
    return _whitening(Z, Z)


def _within(Z, y):
    """That of relevant component analysis, the classes being its chunklets."""
    return _whitening(Z - _class_means(Z, y)[0], Z)


def _discriminant(Z, y):
    """That of linear discriminant analysis: "within", in the directions in which classes differ."""
    B = _within(Z, y)
    means, n_classes = _class_means(Z @ B, y)
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return B @ directions[: n_classes - 1].T


def _class_means(Z, y):
    """The mean of the class of each sample, and the number of classes."""
    _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), Z.shape[1]))
    np.add.at(sums, labels, Z)
    return (sums / sizes[:, None])[labels], len(sizes)


def _whitening(deviations, Z):
    """A factor of the inverse covariance of these deviations, in the span of the samples.

    Features are first divided by their deviations, so that their units do not matter. There the
    covariance is shrunk towards the identity as Ledoit and Wolf do, who have the error of the
    covariance in mind; of its inverse, what many samples tell is better kept, hence `FEW`.
    """
    weight = _unit_weights(deviations, Z)
    _, sizes, basis = np.linalg.svd(Z * weight, full_matrices=False)
    basis = basis[sizes > RANK * sizes[0]].T
    rows = (deviations * weight) @ basis
    n, D = rows.shape
    shrinkage = ledoit_wolf_shrinkage(rows, assume_centered=True) * min(1.0, FEW * D / n) ** 3
    covariance = rows.T @ rows / n
    target = np.trace(covariance) / D
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target * np.eye(D))
    values = np.maximum(values, SMALLEST_SPREAD**2 * values[-1])
    return (weight[:, None] * basis) @ (vectors / np.sqrt(values))


def _unit_weights(deviations, Z):
    """What each feature is multiplied with to have unit deviations; 0 for constant ones."""
    spread, whole = (np.sqrt(np.mean(a**2, axis=0)) for a in (deviations, Z))
    varies = whole > RANK * whole.max()
    spread = np.maximum(spread, SMALLEST_SPREAD * whole)
    return np.divide(1.0, spread, where=varies, out=np.zeros_like(spread))


#: Named priors: (Z, y) -> factor, and whether they need y.
PRIORS = {
    "identity": (_identity, False),
    "covariance": (_covariance, False),
    "within": (_within, True),
    "discriminant": (_discriminant, True),
}
