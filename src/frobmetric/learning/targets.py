"""Triplets from targets, for regression: samples that are near in y are to be near in X."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks.samples import check_array
from ..core.checks import MOST, as_finite
from ..core.points import Array, Index, Vector
from ..model.sets import MinedTriplets
from ..search.exact import NeighborSearch
from ..search.mining import search_by_group
from .triplets import TIE, mined_triplets

#: Share of the samples that are near in y to a sample, and share that are not far.
NEAR, NOT_FAR = 1 / 4, 3 / 8
#: Number of groups of consecutive targets, whose samples have the same near and far ones; and the
#: number of those that stand for classes in units and priors.
GROUPS, CLASSES = 64, 5


def as_targets(y: Any) -> Vector:
    """Return targets as finite floats, or say what is wrong with them."""
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    as_finite(y, name="y", most=MOST)
    if np.ptp(y) == 0:
        raise ValueError(
            f"all {len(y)} targets are {y[0]:g}; give targets that differ, or leave rows of other "
            "targets in"
        )
    return y


def target_groups(y: Vector, n_groups: int = CLASSES) -> Index:
    """Return the number of the group of each sample: equal shares of the samples, in order of y.

    Equal targets are in one group.
    """
    values, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    group = (middle * min(n_groups, len(y)) / len(y)).astype(np.intp)
    group = np.unique(group, return_inverse=True)[1]
    if len(values) > 1 and group[-1] == 0:
        group[-1] = 1  # one value has nearly all samples
    return group[place]


def mine_by_targets(
    X: Array,
    y: Vector,
    *,
    n_neighbors: int = 3,
    n_impostors: int | None = None,
    n_jobs: int | None = None,
) -> MinedTriplets:
    """Return triplets of each sample with the nearest in X of those near and far in y.

    Near in y is the quarter of all samples with the nearest targets, far are all but the nearest
    three eighths. In every triplet the far sample is farther in y than the near one.
    """
    n_impostors = n_neighbors if n_impostors is None else n_impostors
    group = target_groups(y, GROUPS)
    rows, search = np.arange(len(y)), NeighborSearch(X, n_jobs=n_jobs)
    tie = TIE * np.sqrt(X.shape[1] * X.var(axis=0).sum())
    order = np.argsort(y, kind="stable")
    middle = np.array([np.median(y[group == i]) for i in range(group.max() + 1)])

    def near_pool(number: int) -> Index:
        return _nearest_values(y, order, middle[number], max(n_neighbors + 1, round(NEAR * len(y))))

    def far_pool(number: int) -> Index:
        kept = np.ones(len(y), bool)
        kept[_nearest_values(y, order, middle[number], round(NOT_FAR * len(y)))] = False
        return np.flatnonzero(kept)

    near = search_by_group(search, rows, group, n_neighbors, near_pool, tie)
    far = search_by_group(search, rows, group, n_impostors, far_pool, tie)
    return mined_triplets(near, _farther(y, near, far), of="targets")


def _nearest_values(y: Vector, order: Index, value: float, n_samples: int) -> Index:
    """Return the rows with the nearest targets to a value; `order` is that of the targets."""
    n_samples = min(n_samples, len(y))
    place = np.searchsorted(y[order], value)
    some = order[max(0, place - n_samples) : place + n_samples]
    away = np.abs(y[some] - value)
    return np.sort(some[np.argsort(away, kind="stable")[:n_samples]])


def _farther(y: Vector, near: Index, far: Index) -> Index:
    """Return far rows, first in each line, that are farther in y than all near ones; else -1."""
    own = y[:, None]
    reach = np.where(near >= 0, np.abs(y[near] - own), 0.0).max(axis=1, keepdims=True)
    is_farther = (far >= 0) & (np.abs(y[far] - own) > reach)
    order = np.argsort(~is_farther, axis=1, kind="stable")
    return np.take_along_axis(np.where(is_farther, far, -1), order, axis=1)
