"""Groups of objects that examples connect, kinds of similar groups, and scores of such units."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from ...evaluation.agreement import Estimate
from ...search.rows import distinct_rows
from .base import choose_rows

#: A group of connected objects is held out as a whole, and is one unit, if it has at most this
#: share of the examples.
LARGEST_GROUP = 0.1
#: Number of kinds that objects are divided into, and of groups that the division is made with.
N_KINDS, MAX_GROUPS = 15, 10_000


def connected_groups(index: np.ndarray, n_objects: int) -> np.ndarray:
    """Return the group of each object: those that examples connect; in a large one, itself."""
    n_edges = len(index) * (index.shape[1] - 1)
    ends = np.repeat(index[:, 0], index.shape[1] - 1), index[:, 1:].ravel()
    graph = sp.coo_array((np.ones(n_edges, dtype=bool), ends), shape=(n_objects, n_objects))
    group = connected_components(graph, directed=False)[1]
    is_large = np.bincount(group[index[:, 0]], minlength=n_objects) > LARGEST_GROUP * len(index)
    group = np.where(is_large[group], n_objects + np.arange(n_objects), group)
    return np.unique(group, return_inverse=True)[1]


def kinds_of_objects(X: np.ndarray, index: np.ndarray, random_state: Any = None) -> np.ndarray:
    """Return the kind of each object: whole groups of connected objects, by k-means of their means.

    Parameters
    ----------
    X : ndarray of shape (n_objects, n_features)
        Vectors.
    index : ndarray of shape (n_examples, size)
        Objects of each example.
    random_state : int or RandomState, default=None
        Seed of k-means.

    Returns
    -------
    ndarray of int of shape (n_objects,)
        Numbers from 0; -1 for objects that are in no example.
    """
    objects = np.unique(index)
    _, group, size = np.unique(
        connected_groups(index, len(X))[objects], return_inverse=True, return_counts=True
    )
    total = sp.csr_array((np.ones(len(group), X.dtype), (group, np.arange(len(group)))))
    mean = (total @ X[objects]) / size[:, None].astype(X.dtype)
    some = mean[choose_rows(len(mean), MAX_GROUPS, random_state)]
    n_kinds = min(N_KINDS, len(distinct_rows(some)[0]))
    clusters = KMeans(n_kinds, n_init=3, random_state=random_state).fit(some)
    kind = np.full(len(X), -1)
    kind[objects] = clusters.predict(mean)[group]
    return kind


def unit_values(
    estimate: Estimate, objects: np.ndarray, kind: np.ndarray | None = None
) -> np.ndarray:
    """Return a number for each unit, whose mean is the estimate.

    A measure over examples that share objects is no mean of independent numbers. The number of a
    unit is the measure plus n_units times the sum of the influences of the examples of the unit
    (centred). The mean is the measure, and its variance is that of a measure over units.

    Units are kinds of objects, if given. Otherwise they are small groups of connected objects, and
    the objects of large ones. An example adds in full to each unit that has an object of it, so
    that an interval is rather too wide.
    """
    names, number = np.unique(objects, return_inverse=True)
    number = number.reshape(objects.shape)
    unit = connected_groups(number, len(names)) if kind is None else kind[names]
    member = np.sort(np.unique(unit, return_inverse=True)[1][number], axis=1)
    is_new = np.column_stack([np.ones(len(member), bool), member[:, 1:] != member[:, :-1]])
    influence = np.where(is_new, estimate.influence[:, None], 0.0)
    total = np.bincount(member.ravel(), influence.ravel())
    return estimate.value + len(total) * (total - total.mean())
