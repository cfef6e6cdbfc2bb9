"""From labels to triplets: each sample with its nearest of the same class and of the others."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .sets import Block, MinedTriplets

#: Classes up to this size share one search for impostors, larger ones have one each.
SMALL_CLASS = 32
#: Moves of a feature by less than this, relative to the root mean squared norm of the data, are
#: rounding: distances that they could make equal are ties.
TIE = 2.0**-29
#: Neighbours found beyond those asked for: ties among so many cost no second search.
SPARE = 8
#: Distances held at a time when ties are looked into.
BLOCK = 1 << 22


def mine_triplets(
    X, y, n_neighbors=3, n_impostors=None, graph=None, n_jobs=None, *, warn_small=True
):
    """For each sample, its nearest of the same class with its nearest of the other classes.

    The search is exact. Equal distances are decided by row number, so that the triplets do not
    depend on rounding; a sample is never its own neighbour, a duplicate of it can be.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    n_neighbors : int
        How many of the same class.
    n_impostors : int, default=n_neighbors
        How many of other classes.
    graph : sparse matrix of shape (n_samples, n_samples), optional
        A neighbour graph with distances as its stored values, from any search; each sample then
        takes its neighbours from its row, as many as are there.
    n_jobs : int, optional
    warn_small : bool
        Name the classes that have too few samples for `n_neighbors`.

    Returns
    -------
    MinedTriplets
        `FrobMetric.fit(X, triplets=...)` takes them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import mine_triplets
    >>> mine_triplets(np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1], 1).to_array()
    array([[0, 1, 2],
           [1, 0, 2],
           [2, 3, 1],
           [3, 2, 1]])
    """
    X = check_array(X, dtype=np.float64)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    classes, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class ({classes[0]}); triplets need samples of at least two classes"
        )
    n_impostors = n_neighbors if n_impostors is None else n_impostors
    if graph is None:
        X = X - X.mean(axis=0)  # brute-force search cancels far from the origin
        near = _targets(X, labels, sizes, n_neighbors, n_jobs)
        far = _impostors(X, labels, sizes, n_impostors, n_jobs)
    else:
        near, far = _from_graph(graph, labels, n_neighbors, n_impostors)
    if warn_small:
        _warn_small_classes(classes, sizes, n_neighbors)
    return _blocks(near, far)


def _targets(X, labels, sizes, k, n_jobs):
    """The k nearest of the same class, -1 where a class has fewer."""
    found = np.full((len(X), k), -1)
    for label in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(labels == label)
        found[members] = _nearest(X, members, members, k, np.arange(len(X)), 1, n_jobs)
    return found


def _impostors(X, labels, sizes, k, n_jobs):
    """The k nearest of other classes, -1 where there are fewer."""
    found = np.full((len(X), k), -1)
    for label in np.flatnonzero(sizes > SMALL_CLASS):
        members, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        found[members] = _nearest(X, members, others, k, labels, 0, n_jobs)
    small = np.flatnonzero(sizes[labels] <= SMALL_CLASS)
    if len(small):
        largest = sizes[labels[small]].max()
        found[small] = _nearest(X, small, np.arange(len(X)), k, labels, largest, n_jobs)
    return found


def _nearest(X, queries, pool, k, group, n_excluded, n_jobs):
    """The k nearest in the pool that are not of the query's group, -1 where there are fewer.

    At most `n_excluded` of the pool are of a query's group.
    """
    reach = min(k + 1 + SPARE + n_excluded, len(pool))
    search = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(X[pool])
    distance, column = search.kneighbors(X[queries], reach)
    found, edge = pool[column], distance[:, -1].copy()
    barred = group[found] == group[queries][:, None]
    found[barred], distance[barred] = -1, np.inf
    order = np.argsort(distance, axis=1, kind="stable")
    found, distance = (np.take_along_axis(a, order, axis=1) for a in (found, distance))
    if reach > k:
        radius, tie = distance[:, k - 1], _tie_width(X, distance[:, k - 1])
        found = _by_row_number(found, distance, k, radius**2, tie)
        # where the search ended within the ties, there may be more of them
        wide = (edge**2 <= radius**2 + tie) & np.isfinite(radius)
        more = np.flatnonzero(wide) if reach < len(pool) else np.empty(0, dtype=np.intp)
        found[more] = _break_ties(X, queries[more], pool, k, group, radius[more] ** 2, tie[more])
    return np.pad(found, ((0, 0), (0, k - found.shape[1])), constant_values=-1)


def _by_row_number(found, distance, k, radius2, tie):
    """The first k, those at the k-th distance in the order of their row numbers."""
    with np.errstate(invalid="ignore"):  # inf - inf where there are fewer than k
        beyond = (found < 0) | ~(distance**2 <= (radius2 + tie)[:, None])
        is_tied = distance**2 >= (radius2 - tie)[:, None]
    order = np.lexsort((found, is_tied, beyond), axis=-1)[:, :k]
    return np.take_along_axis(found, order, axis=1)


def _tie_width(X, distance):
    """By how much rounding may change these distances' squares."""
    mean_square = np.mean(np.einsum("ij,ij->i", X, X))
    shift = TIE * np.sqrt(X.shape[1] * mean_square)
    # the last term is the cancellation in the search itself, which matters among duplicates
    return 2 * distance * shift + shift**2 + 1e-13 * mean_square


def _break_ties(X, queries, pool, k, group, radius2, tie):
    """The k nearest again, those at the k-th distance in the order of their row numbers."""
    found = np.empty((len(queries), k), dtype=np.intp)
    step = max(1, BLOCK // len(pool))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        distance2 = cdist(X[queries[rows]], X[pool], "sqeuclidean")
        distance2[group[queries[rows]][:, None] == group[pool]] = np.inf
        row, column = np.nonzero(distance2 <= (radius2 + tie)[rows, None])
        is_tied = distance2[row, column] >= (radius2 - tie)[rows][row]
        order = np.lexsort((pool[column], is_tied, row))
        found[rows] = _first_of_each(row[order], pool[column[order]], k, len(distance2))
    return found


def _from_graph(graph, labels, n_neighbors, n_impostors):
    n = len(labels)
    if not sp.issparse(graph) or graph.shape != (n, n):
        kind = f"a sparse matrix of shape {graph.shape}" if sp.issparse(graph) else type(graph)
        raise ValueError(
            f"graph is {kind}; expected a sparse matrix of shape {(n, n)} with distances as its "
            "values, for example of kneighbors_graph(..., mode='distance')"
        )
    graph = sp.coo_array(graph)
    row, column = graph.coords
    order = np.lexsort((column, graph.data, row))
    order = order[row[order] != column[order]]
    row, column = row[order], column[order]
    same = labels[row] == labels[column]
    return (
        _first_of_each(row[same], column[same], n_neighbors, n),
        _first_of_each(row[~same], column[~same], n_impostors, n),
    )


def _first_of_each(row, value, k, n_rows):
    """The first k values of each row (rows are in order), padded with -1."""
    place = np.arange(len(row)) - np.searchsorted(row, row)
    table = np.full((n_rows, k), -1)
    kept = place < k
    table[row[kept], place[kept]] = value[kept]
    return table


def _blocks(near, far):
    """Group the anchors by how many neighbours they have."""
    counts = np.column_stack([(near >= 0).sum(axis=1), (far >= 0).sum(axis=1)])
    blocks = []
    for n_near, n_far in np.unique(counts, axis=0):
        anchors = np.flatnonzero((counts == (n_near, n_far)).all(axis=1))
        if n_near and n_far:
            blocks.append(Block(anchors, near[anchors, :n_near], far[anchors, :n_far]))
    if not blocks:
        raise ValueError(
            "no triplet can be formed: no sample has both a neighbour of its own class and one of "
            "another class; give at least one class two samples"
        )
    return MinedTriplets(tuple(blocks))


def _warn_small_classes(classes, sizes, k):
    small = np.flatnonzero(sizes <= k)
    if len(small):
        named = ", ".join(f"{classes[i]!s} ({sizes[i]})" for i in small[:5])
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        warnings.warn(
            f"classes with fewer than n_neighbors + 1 = {k + 1} samples contribute only the "
            f"triplets they have: {named}{more}",
            UserWarning,
            stacklevel=3,
        )
