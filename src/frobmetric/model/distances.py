"""Distances of pairs of points under a linear map, without overflow and exactly symmetric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..checks.arguments import as_numbers, check_flag, require_finite
from ..core.points import Array, Data, Index, Vector
from ..search.rows import distinct_points, take_rows

#: Numbers held at a time when distances of pairs are computed: few enough for the cache.
BLOCK = 1 << 16


def index_distance(components: Array, features: Data, index: Index) -> Vector:
    """Return the learned distances of pairs of rows of `features`.

    Each distinct pair is computed once, so that a distance does not depend on where in a product
    its points stand.
    """
    n = features.shape[0]
    first, second = np.minimum(*index.T), np.maximum(*index.T)
    keys, place = np.unique(first * n + second, return_inverse=True)
    distances, step = np.empty(len(keys)), max(1, BLOCK // features.shape[1])
    for start in range(0, len(keys), step):
        ends = np.divmod(keys[start : start + step], n)
        first, second = (take_rows(features, rows) for rows in ends)
        distances[start : start + step] = _length(components, first - second)
    return distances[place]


def unit_rows(X: np.ndarray) -> Array:
    """Return rows scaled to unit length; a zero row stays."""
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    X = X / np.where(largest > 0, largest, 1)  # squares of huge and tiny numbers stay in range
    length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X / np.where(length > 0, length, 1)


def _length(components: Array, difference: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        mapped = _mapped(components, difference)
        square = np.atleast_1d(np.einsum("...i,...i", mapped, mapped))
    limits = np.finfo(square.dtype)
    is_odd = ~((square > limits.tiny / limits.eps) & (square < np.inf))
    length = np.sqrt(square)
    if is_odd.any():
        rows = difference[is_odd] if difference.ndim > 1 else difference[None]
        rows = rows.toarray() if issparse(rows) else rows
        length[is_odd] = require_finite(_scaled_length(components, rows), of="distances")
    return length if difference.ndim > 1 else length[0]


def _mapped(components: Array, difference: Any) -> Any:
    weights = np.diag(components)
    is_diagonal = len(weights) == difference.shape[-1] == len(components)
    if is_diagonal and np.count_nonzero(components) == np.count_nonzero(weights):
        return difference * weights
    return difference @ components.T


def _scaled_length(components: Array, difference: Array) -> Vector:
    """Return lengths whose squares overflow or vanish: rows are multiplied by powers of two."""
    _, first = np.frexp(np.abs(difference).max(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = np.ldexp(difference, -first[:, None]) @ components.T
        _, second = np.frexp(np.abs(mapped).max(axis=1, initial=0.0))
        norm = np.linalg.norm(np.ldexp(mapped, -second[:, None]), axis=1)
        return np.ldexp(norm, first + second)


def distance_of(components: Array, a: Array, b: Array) -> Any:
    """Return the distances of points a and b, rows of equal shapes or single points."""
    # differences first: this is exactly symmetric, and exactly zero for equal points
    with np.errstate(over="ignore"):
        return _length(components, require_finite(a - b, of="differences of points"))


def point_distance(
    components: Array,
    feature_map: Callable[..., Any] | None,
    a: Any,
    b: Any,
    *,
    squared: bool = False,
) -> Any:
    """Return the distance of two points, or its square."""
    a, b = (np.atleast_1d(np.squeeze(as_numbers(point, name="a point"))) for point in (a, b))
    n_features = components.shape[-1] if feature_map is None else None
    for point in (a, b):
        if point.ndim != 1 or len(point) != (n_features or len(point)):
            raise ValueError(
                f"a point has shape {point.shape}; expected ({n_features or 'n_features'},), one "
                "number for each feature of the metric; use pair_distance for many pairs"
            )
    if feature_map is not None:
        points, index = distinct_points(np.stack([a, b]))
        a, b = feature_map(points)[index]
    check_flag(squared, name="squared")
    distance = distance_of(components, a, b)
    if not squared:
        return distance
    with np.errstate(over="ignore"):
        return require_finite(distance**2, of="the squared distance")
