"""Priors: metrics to stay close to, given as a matrix or computed from the data by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from ..checks.arguments import check_psd
from ..checks.parameters import InvalidParameterError
from ..checks.text import shown
from ..core import Constraints
from ..core.points import Array, Mask, Symmetric, Vector
from .units import SMALLEST_SPREAD, labelled_part

#: Directions in which the data vary less than this, relative to the largest, are rounding.
RANK = 1e-10
#: Margins below this, relative to the largest, are those of ties.
TIE = 1e-8
#: Number of samples per coordinate from which on the shrinkage decreases.
FEW = 2


@dataclass(frozen=True, eq=False)
class Rows:
    """Centred samples with their weights (one if None), and classes if they have labels."""

    Z: Array
    y: Any = None
    weight: Array | None = None

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return len(self.Z) if self.weight is None else self.weight.sum()

    def weigh(self, rows: Array) -> Array:
        """Return rows, one for each sample, times the weights."""
        return rows if self.weight is None else rows * self.weight[:, None]

    def roots(self, rows: Array) -> Array:
        """Return rows times the roots of the weights, so that their squares are weighted."""
        return rows if self.weight is None else rows * np.sqrt(self.weight)[:, None]


def named_prior_factor(
    name: str, Z: Array, y: Any, weight: Vector | None = None, known: Mask | None = None
) -> Array:
    """Return a factor B, (n_features, rank), of the metric that is Euclidean for `Z @ B`.

    It is zero in directions in which the centred samples Z do not vary. y is None if triplets were
    given; `known` is a mask of the samples with a label, None if all have one.
    """
    compute, needs_y = PRIORS[name]
    labelled = Rows(*labelled_part(known, Z, y, weight))
    if needs_y:
        _check_classes(name, labelled.y)
    return compute(Rows(Z, weight=weight), labelled)


def prior_matrix_factor(prior: Any, n_features: int, kernel: str) -> Array:
    """Return a factor B of a prior matrix B B.T that a user gave."""
    if kernel != "linear":
        raise InvalidParameterError(
            f"prior is a matrix, of features, and kernel={kernel!r} has others; give a prior by "
            f"name ({', '.join(sorted(PRIORS))}) or kernel='linear'"
        )
    values, vectors = np.linalg.eigh(check_psd("prior", prior, n_features))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def scaled_identity(constraints: Constraints, comparisons: Any) -> Symmetric:
    """Return the multiple of the identity whose satisfied rows have a mean margin of one."""
    identity = np.eye(constraints.shape[1])
    return identity * unit_margin_scale(constraints.forward(identity), comparisons.share)


def unit_margin_scale(margins: Vector, share: Vector) -> float:
    """Return the factor that makes the weighted mean of the positive margins one."""
    # a tie is no margin, whatever its rounding: the size must not depend on it
    weight = share * (margins > TIE * np.abs(margins).max(initial=0.0))
    return float(weight.sum() / (weight @ margins)) if weight.any() else 1.0


def _check_classes(name: str, y: Any) -> None:
    if y is None:
        others = [other for other, (_, needs) in PRIORS.items() if not needs]
        raise ValueError(
            f"prior={name!r} is computed from classes, and triplets were given; "
            f"give one of {others} or a matrix"
        )
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class ({shown(classes[0])}); triplets need samples of at least two classes"
        )
    if sizes.max() < 2:
        raise ValueError(
            f"prior={name!r} is a covariance within classes, and each of the {len(classes)} "
            "classes has one sample; give at least one class two"
        )


def _identity(every: Rows, labelled: Rows) -> Array:
    return np.eye(every.Z.shape[1])


def _covariance(every: Rows, labelled: Rows) -> Array:
    return _whitening(every, every)


def _within(every: Rows, labelled: Rows) -> Array:
    """Return the factor of relevant component analysis, with the classes as its chunklets."""
    return _whitening(_deviations(labelled), every)


def _shrunk(every: Rows, labelled: Rows) -> Array:
    """Return the factor of "within" with a covariance half way to its diagonal."""
    return _whitening(_deviations(labelled), every, shrinkage=0.5)


def _discriminant(every: Rows, labelled: Rows) -> Array:
    """Return the factor of linear discriminant analysis: "within", where class means differ."""
    B = _within(every, labelled)
    means, n_classes = _class_means(replace(labelled, Z=labelled.Z @ B))
    if labelled.weight is None:
        between = means - means.mean(axis=0)
    else:
        between = labelled.roots(means - labelled.weight @ means / labelled.total)
    _, _, directions = np.linalg.svd(between, full_matrices=False)
    return B @ directions[: n_classes - 1].T


def _deviations(labelled: Rows) -> Rows:
    """Return the samples without the means of their classes."""
    return replace(labelled, Z=labelled.Z - _class_means(labelled)[0])


def _class_means(rows: Rows) -> tuple[Array, int]:
    """Return the mean of the class of each sample, and the number of classes."""
    labels = np.unique(rows.y, return_inverse=True)[1]
    sizes = np.bincount(labels, rows.weight)
    sums = np.zeros((len(sizes), rows.Z.shape[1]))
    np.add.at(sums, labels, rows.weigh(rows.Z))
    return (sums / sizes[:, None])[labels], len(sizes)


def _whitening(deviations: Rows, every: Rows, shrinkage: float | None = None) -> Array:
    """Return a factor of the inverse covariance of these deviations, in the span of the samples.

    Features are first divided by their deviations, so that their units do not matter. Then the
    covariance is shrunk towards the identity, by default as the rule of Ledoit and Wolf says. Their
    rule minimises the error of the covariance, not of its inverse, for which less shrinkage is
    better when there are many samples: hence `FEW`.
    """
    weight = _unit_weights(deviations, every)
    _, sizes, basis = np.linalg.svd(every.Z * weight, full_matrices=False)
    basis = basis[sizes > RANK * sizes[0]].T
    rows = replace(deviations, Z=(deviations.Z * weight) @ basis)
    n, D = rows.total, rows.Z.shape[1]
    covariance = rows.Z.T @ rows.weigh(rows.Z) / n
    if shrinkage is None:
        shrinkage = _shrinkage(rows, covariance) * min(1.0, FEW * D / n) ** 3
    target = np.trace(covariance) / D
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target * np.eye(D))
    values = np.maximum(values, SMALLEST_SPREAD**2 * values[-1])
    return _within_span((weight[:, None] * basis) @ (vectors / np.sqrt(values)), every.Z)


def _within_span(B: Array, Z: Array) -> Array:
    """Return a factor without what is outside the span of the samples, which sets no distance."""
    if B.shape[1] == len(B):
        return B
    _, _, rows = np.linalg.svd(Z, full_matrices=False)
    rows = rows[: B.shape[1]]
    return rows.T @ (rows @ B)


def _shrinkage(rows: Rows, covariance: Array) -> float:
    """Return the share of the identity by the rule of Ledoit and Wolf, for weighted rows too."""
    if rows.weight is None:
        return ledoit_wolf_shrinkage(rows.Z, assume_centered=True)
    n, D = rows.total, len(covariance)
    size = np.sum(covariance**2)
    away = size - np.trace(covariance) ** 2 / D
    noise = (rows.weight @ np.sum(rows.Z**2, axis=1) ** 2 / n - size) / n
    return min(1.0, noise / away) if away > 0 else 0.0


def _unit_weights(deviations: Rows, every: Rows) -> Vector:
    """Return the factor of each feature that makes its deviations one; 0 for constant features."""
    spread, whole = (np.sqrt(_mean_square(rows)) for rows in (deviations, every))
    varies = whole > RANK * whole.max()
    spread = np.maximum(spread, SMALLEST_SPREAD * whole)
    return np.divide(1.0, spread, where=varies, out=np.zeros_like(spread))


def _mean_square(rows: Rows) -> Vector:
    squares = rows.Z**2
    return np.mean(squares, axis=0) if rows.weight is None else rows.weight @ squares / rows.total


#: Priors by name: a function (all rows, labelled rows) -> factor, and whether it needs y.
PRIORS = {
    "identity": (_identity, False),
    "diagonal": (_identity, False),  # in units of the deviations within classes: see `units`
    "covariance": (_covariance, False),
    "shrunk": (_shrunk, True),
    "within": (_within, True),
    "discriminant": (_discriminant, True),
}
