"""Tuples of points, formed or as indices of a preprocessor, read as distinct points and indices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import KINDS, PreprocessorError, as_index
from ..checks.samples import check_array
from ..core.checks import read_values
from ..core.points import Data, Index, Mask
from ..search.rows import distinct_points

#: Array of points, or function from a list of indices to points.
Preprocessor: TypeAlias = Any


@dataclass(frozen=True)
class Tuples:
    """Distinct points, dense or CSR, and the tuples as row numbers of them.

    Formed tuples, and indices of the same points, give the same result: the order of the points
    depends on their values, not on where they were.
    """

    points: Data
    index: Index

    def take(self, rows: Mask) -> Tuples:
        """Return the tuples that a mask selects, with only the points that they use."""
        if rows.all():
            return self
        used, index = np.unique(self.index[rows], return_inverse=True)
        return Tuples(self.points[used], index.reshape(-1, self.index.shape[1]))


def column_names(preprocessor: Preprocessor) -> NDArray[np.object_] | None:
    """Return the column names of a table if all are strings, None otherwise."""
    names = getattr(preprocessor, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


def read_tuples(
    tuples: object, size: Any, preprocessor: Preprocessor = None, n_features: int | None = None
) -> Tuples:
    """Read tuples as a user gives them: formed of points, or of indices of the preprocessor.

    The preprocessor is an array of points, whose row numbers are the indices; or a function that
    takes a list of indices, of any type, and returns their points as rows. `n_features` is the
    number of features that a fitted metric expects.
    """
    tuples = _as_array(tuples, size)
    _check_shape(tuples, size, preprocessor)
    if tuples.ndim == 3:
        points, index = distinct_points(_as_points(tuples.reshape(-1, tuples.shape[2])))
    else:
        points, index = _look_up(tuples, size, preprocessor)
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(
            f"the points have {points.shape[1]} features; the metric was learned with {n_features}"
        )
    return Tuples(points, index.reshape(-1, size))


def _as_array(tuples: object, size: int) -> NDArray[Any]:
    try:
        return read_values(tuples, name="tuples")
    except ValueError:
        if not isinstance(tuples, (list, tuple)):
            raise
        raise ValueError(
            "tuples have different sizes, or points different numbers of features; expected "
            f"{KINDS[size]}, of {size} each"
        ) from None


def _check_shape(tuples: NDArray[Any], size: int, preprocessor: Preprocessor) -> None:
    if tuples.ndim not in (2, 3) or tuples.size == 0:
        raise ValueError(
            f"tuples has shape {tuples.shape}; expected {KINDS[size]}: (n_tuples, {size}, "
            f"n_features), or (n_tuples, {size}) indices with a preprocessor, at least one"
        )
    if tuples.shape[1] != size:
        raise ValueError(
            f"tuples of {tuples.shape[1]} points were given, shape {tuples.shape}; expected "
            f"{KINDS[size]}, of {size}"
        )
    if tuples.ndim == 2 and preprocessor is None:
        raise ValueError(
            f"tuples has shape {tuples.shape}, which are indices, and there is no preprocessor; "
            "set preprocessor=X, the array whose rows they are, or give formed tuples of shape "
            f"(n_tuples, {size}, n_features)"
        )


def _look_up(tuples: NDArray[Any], size: int, preprocessor: Preprocessor) -> tuple[Data, Index]:
    """Return the distinct points of these indices, and the place of each index among them."""
    if callable(preprocessor):
        names, index = np.unique(tuples, return_inverse=True)
        points = _computed(preprocessor, names)
    else:
        known = _as_points(preprocessor)
        rows = {"n_points": known.shape[0], "points": "rows of the preprocessor"}
        tuples = as_index(tuples, (size,), **rows)
        names, index = np.unique(tuples, return_inverse=True)
        points = known[names]
    points, place = distinct_points(points)
    return points, place[index]


def look_up_points(X: Data, preprocessor: Preprocessor) -> Data:
    """Return samples as a user gives them: points, or a list of indices of the preprocessor."""
    if preprocessor is None:
        return X
    given = X if hasattr(X, "ndim") else read_values(X, name="X")
    if given.ndim != 1:
        return X
    points, place = _look_up(np.asarray(given)[:, None], 1, preprocessor)
    return points[place.ravel()]


def _computed(preprocessor: Callable[[NDArray[Any]], Any], names: NDArray[Any]) -> Data:
    """Return the points that a function gives for indices."""
    try:
        points = preprocessor(names)
    except Exception as error:
        raise PreprocessorError(
            f"preprocessor failed for {len(names)} indices, the first is {names[0]!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    points = _as_points(points)
    if points.shape[0] != len(names):
        raise PreprocessorError(
            f"preprocessor returned {points.shape[0]} points for {len(names)} indices; expected "
            "one row for each"
        )
    return points


def _as_points(points: object) -> Data:
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    return check_array(points, input_name="points", **options)
