"""Tuples of points, formed or as indices of a preprocessor, read as distinct points and indices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

#: What the points of a tuple of so many are called.
ROLES = {
    2: "pairs (first, second)",
    3: "triplets (anchor, near, far)",
    4: "quadruplets (a, b, c, d)",
}


@dataclass(frozen=True)
class Tuples:
    """Distinct points, and the tuples as row numbers of them.

    Formed tuples, and indices of the same points, give the same: points are ordered by what they
    are, not by where they were.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n_points, n_features)
    index : integer ndarray of shape (n_tuples, size)
    """

    points: np.ndarray
    index: np.ndarray

    def take(self, rows):
        """These tuples alone, and the points that they have."""
        if rows.all():
            return self
        used, index = np.unique(self.index[rows], return_inverse=True)
        return Tuples(self.points[used], index.reshape(-1, self.index.shape[1]))


def column_names(preprocessor):
    """Those of a table's columns, if all are strings; None otherwise."""
    names = getattr(preprocessor, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


def read_tuples(tuples, size, preprocessor=None, n_features=None):
    """Tuples as a user gives them.

    Parameters
    ----------
    tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
        Formed of points, or of indices of the preprocessor.
    size : int
    preprocessor : array-like or callable, optional
        An array of points, of which indices are row numbers; or a function that takes a list of
        indices, of any type, and returns their points as rows.
    n_features : int, optional
        What a fitted metric expects.

    Returns
    -------
    Tuples
    """
    tuples = _as_table(tuples, size)
    _check_shape(tuples, size, preprocessor)
    if tuples.ndim == 3:
        points, index = distinct_points(_finite(tuples.reshape(-1, tuples.shape[2])))
    else:
        names, index = np.unique(tuples, return_inverse=True)
        points, order = distinct_points(_look_up(names, preprocessor))
        index = order[index]
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(
            f"the points have {points.shape[1]} features; the metric was learned with {n_features}"
        )
    return Tuples(points, index.reshape(-1, size))


def distinct_points(points):
    """The distinct rows, in an order that depends on them alone, and where each row is there.

    The order is the same in another unit, and in single precision.
    """
    keys = _sparse_keys(points) if sp.issparse(points) else _dense_keys(points)
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    return points[first] + 0, index.ravel()  # -0.0 becomes 0.0


def _dense_keys(points):
    """The bytes of each row, equal where it is equal."""
    ordered = _ordered_bytes(np.ascontiguousarray(points))
    return ordered.view(np.dtype((np.void, ordered.dtype.itemsize * ordered.shape[1]))).ravel()


def _sparse_keys(points):
    points = points.copy()
    points.sum_duplicates()
    points.eliminate_zeros()
    places, values = points.indices, _ordered_bytes(points.data)
    rows = pairwise(points.indptr)
    return np.array([places[i:j].tobytes() + values[i:j].tobytes() for i, j in rows], dtype=object)


def _ordered_bytes(values):
    """Numbers whose bytes, the large end first, are ordered as their sizes are; zeros are alike."""
    return (values + 0).astype(values.dtype.newbyteorder(">"))


def _as_table(tuples, size):
    """Tuples as an array, which rows of different lengths are not."""
    try:
        return np.asarray(tuples)
    except ValueError:
        raise ValueError(
            "tuples have different sizes, or points different numbers of features; expected "
            f"{ROLES[size]}, of {size} each"
        ) from None


def _check_shape(tuples, size, preprocessor):
    if tuples.ndim not in (2, 3) or tuples.size == 0:
        raise ValueError(
            f"tuples has shape {tuples.shape}; expected {ROLES[size]}: (n_tuples, {size}, "
            f"n_features), or (n_tuples, {size}) indices with a preprocessor, at least one"
        )
    if tuples.shape[1] != size:
        raise ValueError(
            f"tuples of {tuples.shape[1]} points were given, shape {tuples.shape}; expected "
            f"{ROLES[size]}, of {size}"
        )
    if tuples.ndim == 2 and preprocessor is None:
        raise ValueError(
            f"tuples has shape {tuples.shape}, which are indices, and there is no preprocessor; "
            "set preprocessor=X, the array whose rows they are, or give formed tuples of shape "
            f"(n_tuples, {size}, n_features)"
        )


def _look_up(names, preprocessor):
    """The points of these indices."""
    if callable(preprocessor):
        points = _finite(preprocessor(names))
        if points.shape[0] != len(names):
            raise ValueError(
                f"preprocessor returned {points.shape[0]} points for {len(names)} indices; "
                "expected one row for each"
            )
        return points
    if not np.issubdtype(names.dtype, np.integer):
        raise TypeError(
            f"tuples has dtype {names.dtype}; expected integers, the row numbers of the "
            "preprocessor"
        )
    known = _finite(preprocessor)
    outside = names[(names < 0) | (names >= known.shape[0])]
    if len(outside):
        raise ValueError(
            f"index {outside[0]} is out of range; the preprocessor has {known.shape[0]} rows, so "
            f"indices go from 0 to {known.shape[0] - 1}"
        )
    return known[names]


def _finite(points):
    return check_array(
        points, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="points"
    )
