"""From pairs to triplets: a matched or mismatched pair is completed by near third examples."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from .._checks import as_identities
from ..neighbors.thresholds import as_same

#: Distances held at a time.
BLOCK = 1 << 20
#: Neighbours found beyond those asked for: their distances are computed again from differences,
#: so that row numbers decide among equal ones.
SPARE = 8
#: A bound on the rounding of squared distances from products, relative to squared norms.
ROUNDING = 1e-12


def triplets_from_pairs(
    X, pairs, same, identity=None, n_neighbors=5, *, pool=None, n_triplets=None, random_state=None
):
    """Complete each pair by near third examples.

    A matched pair (a, b) gives the triplets (a, b, z) for the k nearest z of a that are of another
    identity, and (b, a, z) for those of b. A mismatched pair (a, b) gives (a, z, b) for the k
    nearest z of a that have a's identity, and (b, z, a) for those of b. Distances are Euclidean;
    of equal ones the smaller row number is first.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    same : array-like of shape (n_pairs,)
        Whether the two are of one identity: booleans, or {0, 1}, or {-1, +1}.
    identity : array-like of shape (n_samples,), optional
        Who is on each row. Without it, rows that matched pairs join, also through others, are one
        identity; two identities are known to differ only if a mismatched pair says so, and only
        such rows complete a matched pair.
    n_neighbors : int, default=5
        k, at most so many third examples for either end of a pair.
    pool : array-like of int, default=the rows in `pairs`
        Row numbers of X that may be third examples.
    n_triplets : int, optional
        If there are more, so many are drawn at random without replacement; those from matched and
        those from mismatched pairs keep their proportion, up to rounding. Default: all.
    random_state : int, RandomState or None
        For `n_triplets`.

    Returns
    -------
    ndarray of intp of shape (n, 3)
        Rows (anchor, near, far), none twice, in the order of the pairs, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.metric.pair_triplets import triplets_from_pairs
    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> triplets_from_pairs(X, [(0, 1), (1, 2)], [True, False], ["a", "a", "b", "b"], 1)
    array([[0, 1, 2],
           [1, 0, 2]])
    """
    if n_triplets is not None:
        _check_count("n_triplets", n_triplets)
    completed = complete_pairs(X, pairs, same, identity, n_neighbors, pool)
    return completed.draw(n_triplets, random_state)


@dataclass(frozen=True, eq=False)
class CompletedPairs:
    """All triplets of some pairs, to draw from.

    Attributes
    ----------
    triplets : ndarray of intp of shape (n, 3)
    is_matched : ndarray of bool of shape (n,)
        Whether each is from a matched pair.
    """

    triplets: np.ndarray
    is_matched: np.ndarray

    def draw(self, n_triplets=None, random_state=None):
        """At most so many; both kinds keep their proportion."""
        if n_triplets is None or n_triplets >= len(self.triplets):
            return self.triplets
        random = check_random_state(random_state)
        return self.triplets[_draw(self.is_matched, n_triplets, random)]


def complete_pairs(X, pairs, same, identity=None, n_neighbors=5, pool=None):
    """All that `triplets_from_pairs` has to draw from; its parameters are explained there."""
    X = check_array(X, dtype=np.float64)
    pairs = _as_pairs(pairs, len(X))
    same = as_same(same, len(pairs))
    _check_count("n_neighbors", n_neighbors)
    pool = np.unique(pairs) if pool is None else _as_pool(pool, len(X))
    people = _known(identity, pairs, same, len(X))
    found, is_matched = _complete(X, pairs, same, people, pool, n_neighbors)
    first = _first_occurrences(found)
    found, is_matched = found[first], is_matched[first]
    if not len(found):
        raise ValueError(_why_none(same, identity))
    return CompletedPairs(found, is_matched)


@dataclass(frozen=True)
class _Known:
    """The group of each row, and which groups differ: a sparse matrix, or None where all do."""

    group: np.ndarray
    differ: sp.csr_array | None

    def is_other(self, anchors, pool):
        """(n_anchors, n_pool): is known to be of another identity."""
        group = self.group[anchors]
        if self.differ is None:
            return group[:, None] != self.group[pool]
        return self.differ[group][:, self.group[pool]].toarray()

    def is_own(self, anchors, pool):
        """(n_anchors, n_pool): another row of the same identity."""
        is_own = self.group[anchors][:, None] == self.group[pool]
        return is_own & (anchors[:, None] != pool)


def _complete(X, pairs, same, people, pool, k):
    """All triplets, and for each whether its pair is matched."""
    anchor, partner = pairs.ravel(), pairs[:, ::-1].ravel()
    same = np.repeat(same, 2)
    third = np.full((len(anchor), k), -1)
    for kind, allowed in ((same, people.is_other), (~same, people.is_own)):
        distinct, where = np.unique(anchor[kind], return_inverse=True)
        # rows of one group together: a block of them needs few columns of the pool
        order = np.argsort(people.group[distinct], kind="stable")
        nearest = np.empty((len(distinct), k), dtype=np.intp)
        nearest[order] = _nearest(X, distinct[order], pool, k, allowed)
        third[kind] = nearest[where]
    row, column = np.nonzero(third >= 0)
    third, same = third[row, column], same[row]
    near, far = np.where(same, partner[row], third), np.where(same, third, partner[row])
    return np.column_stack([anchor[row], near, far]), same


def _nearest(X, anchors, pool, k, allowed):
    """The k nearest allowed rows of the pool for each anchor, -1 where there are fewer."""
    found = np.full((len(anchors), k), -1)
    center = X[pool].mean(axis=0)  # products of large numbers would cancel
    Z = X[pool] - center
    step = max(1, BLOCK // len(pool))
    for start in range(0, len(anchors), step):
        block = anchors[start : start + step]
        is_allowed, rows, Z_rows = allowed(block, pool), pool, Z
        columns = is_allowed.any(axis=0)
        if not columns.all():
            is_allowed, rows, Z_rows = is_allowed[:, columns], pool[columns], Z[columns]
        nearest = _nearest_of(X, block, rows, k, is_allowed, X[block] - center, Z_rows)
        found[start : start + step, : nearest.shape[1]] = nearest
    return found


def _nearest_of(X, anchors, pool, k, is_allowed, A, Z):
    """The same for one block; A and Z are its anchors and pool, centred."""
    norms = np.einsum("ij,ij->i", Z, Z)
    column = _smallest(_distances(A, Z, norms, is_allowed), k + SPARE)
    candidates = np.where(np.take_along_axis(is_allowed, column, axis=1), pool[column], -1)
    found, distance = _sorted(X, anchors, candidates)
    if len(pool) > k + SPARE:
        # where rounding could have kept a nearer or an equal one out, look at all
        doubt = ROUNDING * (norms.max() + np.einsum("ij,ij->i", A, A))
        edge, radius = distance[:, -1], distance[:, k - 1]
        more = np.flatnonzero((edge <= radius + doubt) & np.isfinite(edge))
        everyone = np.where(is_allowed[more], pool, -1)
        found[more] = _sorted(X, anchors[more], everyone)[0][:, : k + SPARE]
    return found[:, :k]


def _distances(A, Z, norms, is_allowed):
    """Squared distances up to a constant for each row of A, infinite where not allowed."""
    distance = (-2 * A) @ Z.T
    distance += norms
    np.putmask(distance, ~is_allowed, np.inf)
    return distance


def _smallest(table, k):
    """The columns of the k smallest numbers in each row, in no order; all if there are fewer."""
    if table.shape[1] <= k:
        return np.broadcast_to(np.arange(table.shape[1]), table.shape)
    return np.argpartition(table, k - 1, axis=1)[:, :k]


def _sorted(X, anchors, candidates):
    """Each row by distance, then by row number, -1 last; and the squared distances."""
    distance = np.full(candidates.shape, np.inf)
    step = max(1, BLOCK // max(1, candidates.shape[1] * X.shape[1]))
    for start in range(0, len(anchors), step):
        rows = slice(start, start + step)
        away = X[candidates[rows]] - X[anchors[rows]][:, None]
        distance[rows] = np.einsum("ijk,ijk->ij", away, away)
    distance[candidates < 0] = np.inf
    order = np.lexsort((candidates, distance), axis=-1)
    return tuple(np.take_along_axis(table, order, axis=1) for table in (candidates, distance))


def _first_occurrences(rows):
    """Where each distinct row stands first, in order."""
    order = np.lexsort(rows.T)
    is_new = np.append(True, (np.diff(rows[order], axis=0) != 0).any(axis=1))
    return np.sort(order[is_new[: len(order)]])


def _draw(is_matched, n_triplets, random):
    """Places of a random choice that keeps the proportion of the two kinds."""
    n_matched = round(n_triplets * float(is_matched.mean()))
    chosen = [
        random.choice(np.flatnonzero(kind), size, replace=False)
        for kind, size in ((is_matched, n_matched), (~is_matched, n_triplets - n_matched))
        if size
    ]
    return np.sort(np.concatenate(chosen))


def _known(identity, pairs, same, n_samples):
    if identity is None:
        return _joined(pairs, same, n_samples)
    names, group = as_identities("identity", identity, n_samples)
    wrong = np.flatnonzero((group[pairs[:, 0]] == group[pairs[:, 1]]) != same)
    if len(wrong):
        i = wrong[0]
        a, b = pairs[i].tolist()
        said = "matched" if same[i] else "mismatched"
        raise ValueError(
            f"pairs[{i}] = ({a}, {b}) is {said}, but identity says {names[group[a]]!s} and "
            f"{names[group[b]]!s}; correct one of them (pairs that disagree: {len(wrong)})"
        )
    return _Known(group, None)


def _joined(pairs, same, n_samples):
    """Groups that matched pairs join, and which of them mismatched pairs tell apart."""
    shape = (n_samples, n_samples)
    ones = np.ones(len(pairs), dtype=bool)
    graph = sp.coo_array((ones[same], tuple(pairs[same].T)), shape=shape)
    n_groups, group = connected_components(graph, directed=False)
    left, right = group[pairs[~same]].T
    wrong = np.flatnonzero(~same)[left == right]
    if len(wrong):
        a, b = pairs[wrong[0]].tolist()
        raise ValueError(
            f"pairs[{wrong[0]}] says that {a} and {b} differ, but other pairs join them; correct "
            f"one side (pairs so contradicted: {len(wrong)})"
        )
    ends = np.concatenate([left, right]), np.concatenate([right, left])
    differ = sp.coo_array((np.ones(len(ends[0]), bool), ends), shape=(n_groups, n_groups))
    return _Known(group, differ.tocsr())


def _as_pairs(pairs, n_samples):
    pairs = np.asarray(pairs)
    if pairs.size == 0 or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"pairs has shape {pairs.shape}; expected (n_pairs, 2), two row numbers of X each"
        )
    pairs = _as_rows("pairs", pairs, n_samples)
    alike = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(alike):
        raise ValueError(
            f"pairs[{alike[0]}] = {tuple(pairs[alike[0]].tolist())} is a point with itself; the "
            "two must differ"
        )
    return pairs


def _as_pool(pool, n_samples):
    pool = np.asarray(pool)
    if pool.ndim != 1 or not len(pool):
        raise ValueError(
            f"pool has shape {pool.shape}; expected a list of at least one row number of X"
        )
    return np.unique(_as_rows("pool", pool, n_samples))


def _as_rows(name, rows, n_samples):
    if not np.issubdtype(rows.dtype, np.integer):
        raise TypeError(f"{name} has dtype {rows.dtype}; expected integers, the row numbers of X")
    outside = np.argwhere((rows < 0) | (rows >= n_samples))
    if len(outside):
        i = outside[0][0]
        raise ValueError(
            f"{name}[{i}] = {rows[i].tolist()} is out of range; X has {n_samples} rows, so "
            f"indices go from 0 to {n_samples - 1}"
        )
    return rows.astype(np.intp)


def _check_count(name, value):
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected an integer of at least 1")


def _why_none(same, identity):
    known = (
        ""
        if identity is not None
        else (
            " (without identity, rows are known to differ only where a mismatched pair connects their "
            "groups, and to be alike only where matched pairs join them)"
        )
    )
    why = []
    if same.any():
        why.append("no row of the pool is of another identity than the matched pairs")
    if not same.all():
        why.append("no row of the pool has the identity of one of a mismatched pair")
    reasons = ", and ".join(why)
    return f"no triplet can be formed: {reasons}{known}; give a larger pool or more pairs"
