"""Bases: directions that a metric is combined of, from labels or from triplets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.random import sample_without_replacement

from ..checks.parameters import InvalidParameterError
from ..checks.samples import check_array
from ..core.points import Array, Index
from ..core.warning import warn_user
from ..search.exact import nearest
from ..search.rows import distinct_points
from .samples import LabelledSamples
from .start import ZERO

#: Number of features from which on regions are large, and samples of each class in regions.
MANY_FEATURES = 50
SMALL_REGIONS, LARGE_REGIONS = (10, 20), (20, 50)
#: Largest number of iterations for the centres of regions, which need not be exact.
CLUSTER_STEPS = 20
#: Default number of directions, for each feature.
LOCAL, FROM_TRIPLETS = 20, 80
#: Largest number of directions from triplets, which takes seconds.
MOST_DIRECTIONS = 100_000


def given_basis(basis: Any, n_features: int) -> Array:
    """Return directions that a user gave, (n_basis, n_features)."""
    basis = check_array(basis, dtype=np.float64, copy=True, input_name="basis")
    if basis.shape[1] != n_features:
        raise ValueError(
            f"basis has shape {basis.shape}; expected (n_basis, {n_features}), a column for each "
            "feature"
        )
    return basis


def local_discriminants(
    samples: LabelledSamples, n_basis: int | None, rng: np.random.RandomState
) -> Array:
    """Return unit discriminant directions of regions around cluster centres, of two sizes.

    A region holds the nearest samples of each class. There may be fewer directions than asked for,
    where samples of a region do not vary.
    """
    points, place = distinct_points(samples.X)
    n_directions = min(samples.n_classes - 1, samples.X.shape[1])
    n_basis = _number_of_local(n_basis, samples, len(points), n_directions)
    n_centres = min(len(points), -(-n_basis // (2 * n_directions)))
    weight = np.bincount(place, samples.weight)
    options: Any = {"n_init": 1, "max_iter": CLUSTER_STEPS, "random_state": rng}
    clusters = KMeans(n_centres, **options).fit(points, sample_weight=weight)
    sizes = LARGE_REGIONS if samples.X.shape[1] > MANY_FEATURES else SMALL_REGIONS
    found = [
        _discriminants(samples.X[region], samples.y[region])
        for size in sizes
        for region in _regions(samples, clusters.cluster_centers_, size)
    ]
    return np.concatenate(found)[:n_basis]


def triplet_directions(
    X: Array, index: Index, n_basis: int | None, rng: np.random.RandomState
) -> Array:
    """Return unit directions in which far points of some triplets differ more than near ones.

    These are eigenvectors of sum (x_a - x_f)(x_a - x_f).T - (x_a - x_n)(x_a - x_n).T over as many
    random triplets (a, n, f) as there are features, for several draws: that of the largest
    eigenvalue, and all others of positive ones.
    """
    n_features = X.shape[1]
    n_basis = FROM_TRIPLETS * n_features if n_basis is None else n_basis
    if n_basis > MOST_DIRECTIONS:
        raise InvalidParameterError(
            f"n_basis is {n_basis!r:.80}; expected at most {MOST_DIRECTIONS} directions; lower it"
        )
    size, found, n_found = min(n_features, len(index)), [np.empty((0, n_features))], 0
    while n_found < n_basis:
        some = sample_without_replacement(len(index), size, random_state=rng)
        anchor, near, far = X[index[some].T]
        away, close = anchor - far, anchor - near
        values, vectors = np.linalg.eigh(away.T @ away - close.T @ close)
        is_useful = values > n_features * ZERO * np.abs(values).max()
        is_useful[-1] = True
        found.append(vectors[:, is_useful].T)
        n_found += len(found[-1])
        if size == len(index):  # another draw would be the same
            break
    return np.concatenate(found)[:n_basis]


def _number_of_local(
    n_basis: int | None, samples: LabelledSamples, n_points: int, n_directions: int
) -> int:
    """Return the checked number of directions."""
    most = 2 * n_points * n_directions - 1
    if n_basis is None:
        return max(1, min(LOCAL * samples.X.shape[1], most))
    if n_basis > most:
        raise InvalidParameterError(
            f"n_basis is {n_basis}; expected at most {most} for {n_points} different samples of "
            f"{samples.n_classes} classes: give more samples, or lower n_basis"
        )
    if n_basis < samples.n_classes:
        warn_user(
            f"n_basis is {n_basis}, which is less than the {samples.n_classes} classes; so few "
            "directions may not separate them"
        )
    return n_basis


def _regions(samples: LabelledSamples, centres: Array, size: int) -> Index:
    """Return the rows of the samples around each centre: the nearest of each class."""
    parts = []
    for label in range(samples.n_classes):
        rows = np.flatnonzero(samples.y == label)
        parts.append(rows[nearest(centres, samples.X[rows], min(size, len(rows)))])
    return np.hstack(parts)


def _discriminants(X: Array, y: Index) -> Array:
    """Return unit directions that separate the classes of some samples."""
    scalings = LinearDiscriminantAnalysis(solver="svd").fit(X, y).scalings_
    lengths = np.linalg.norm(scalings, axis=0)
    return (scalings[:, lengths > 0] / lengths[lengths > 0]).T
