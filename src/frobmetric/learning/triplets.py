"""Triplets from labels or pairs: each point with near points of the same and other classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ..checks.arguments import (
    as_identities,
    as_index,
    as_labels,
    as_signs,
    as_weights,
    check_count,
    check_pairs,
    safe_exponent,
    times_power,
)
from ..checks.samples import check_array, check_random_state, column_or_1d
from ..checks.text import shown
from ..core.points import Index, Mask
from ..core.warning import warn_user
from ..model.sets import Block, MinedTriplets
from ..search.exact import NeighborSearch
from ..search.mining import (
    Mining,
    is_approximate,
    nearest_in_group,
    nearest_in_others,
    search_by_group,
)
from ..search.recall import MiningRecall
from ..search.rows import distinct_rows, has_repeats, merge_labelled

#: Moves of a feature by less than this, relative to the root mean squared norm of the data, are
#: rounding: distances that they could make equal are ties.
TIE = 2.0**-29


def mine_triplets(
    X: Any,
    y: ArrayLike,
    *,
    n_neighbors: int = 3,
    n_impostors: int | None = None,
    graph: Any = None,
    neighbors: str = "exact",
    n_jobs: int | None = None,
    warn_small: bool = True,
    sample_weight: ArrayLike | None = None,
) -> MinedTriplets:
    """Combine the nearest samples of the same class with the nearest of other classes.

    Equal distances are decided by row number, so that the triplets do not depend on rounding. Equal
    rows of one class are one sample, the first of them, with the sum of their weights; the weight
    of a triplet is that of its anchor.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    n_neighbors : int, default=3
        Number of neighbours of the same class.
    n_impostors : int, default=n_neighbors
        Number of neighbours of other classes.
    graph : sparse matrix of shape (n_samples, n_samples), optional
        A neighbour graph with distances as its stored values, from any search; each sample then
        takes its neighbours from its row, as many as are there, and equal rows stay as they are.
    neighbors : {"exact", "approximate", "auto"}, default="exact"
        Kind of search. "approximate" needs the extra `ann` (faiss); it is widened until 98 % of the
        true neighbours of some rows are found, and `recall` of the result says how many. "auto" is
        approximate from 200,000 samples on if faiss is installed, and otherwise exact, with a
        warning if that takes long.
    n_jobs : int, optional
    warn_small : bool, default=True
        Warn of the classes that have too few samples for `n_neighbors`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples: 2 is the same as the row twice, 0 as the row left out. Not with a
        graph.

    Returns
    -------
    MinedTriplets
        `FrobMetric.fit(X, triplets=...)` takes them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import mine_triplets
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> mine_triplets(X, [0, 0, 1, 1], n_neighbors=1).to_array()
    array([[0, 1, 2],
           [1, 0, 2],
           [2, 3, 1],
           [3, 2, 1]])
    """
    X = check_array(X, dtype=np.float64)
    of_class = as_labels(column_or_1d(y), len(X))
    check_count(n_neighbors, name="n_neighbors")
    if n_impostors is not None:
        check_count(n_impostors, name="n_impostors")
    options: dict[str, Any] = {
        "n_neighbors": n_neighbors,
        "n_impostors": n_impostors,
        "warn_small": warn_small,
    }
    if graph is not None:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight was given with a graph, whose neighbours would count as often as "
                "their rows; give one of them"
            )
        return mine_distinct(X, of_class, graph=graph, **options)
    options |= {"neighbors": neighbors, "n_jobs": n_jobs}
    labels = as_identities("y", of_class, len(X))[1]
    if sample_weight is None and not has_repeats(X, labels):
        return mine_distinct(X, of_class, **options)
    weight = as_weights(sample_weight, len(X), of="samples")
    rows = np.flatnonzero(weight)
    first, kind = merge_labelled(X[rows], labels[rows])
    order, total = np.argsort(first), np.bincount(kind, weight[rows]).astype(np.float64)
    numbers = rows[first[order]]
    mined = mine_distinct(X[numbers], of_class[numbers], **options)
    return mined.weighted(total[order]).renumbered(numbers)


def mine_distinct(
    X: Any,
    y: NDArray[Any],
    *,
    n_neighbors: int = 3,
    n_impostors: int | None = None,
    graph: Any = None,
    neighbors: str = "exact",
    n_jobs: int | None = None,
    warn_small: bool = True,
) -> MinedTriplets:
    """Return the triplets of samples as they are: see `mine_triplets`."""
    classes, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class ({shown(classes[0])}); triplets need samples of at least two classes"
        )
    n_impostors = n_neighbors if n_impostors is None else n_impostors
    # no sample has more neighbours; small integers of NumPy would wrap around
    k, n_impostors = (min(int(n), len(labels)) for n in (n_neighbors, n_impostors))
    recall = None
    if graph is None:
        rows, X = np.arange(len(X)), times_power(X, -safe_exponent(X))
        tie = TIE * np.sqrt(X.shape[1] * X.var(axis=0).sum())
        mining = Mining(X, labels, k, n_impostors, tie, n_jobs)
        if is_approximate(neighbors, *X.shape):
            near, far, recall = mining.approximate()
        else:
            near, far = mining.exact(rows)
    else:
        near, far = _from_graph(graph, labels, k, n_impostors)
    if warn_small:
        _warn_small_classes(classes, sizes, int(n_neighbors))
    return mined_triplets(near, far, recall)


def triplets_from_pairs(
    X: Any,
    pairs: ArrayLike,
    y: ArrayLike,
    *,
    identity: ArrayLike | None = None,
    n_neighbors: int = 5,
    pool: ArrayLike | None = None,
    n_triplets: int | None = None,
    random_state: Any = None,
) -> Index:
    """Complete each pair by near third points.

    A similar pair (a, b) gives the triplets (a, b, z) for the k nearest z of a that are of another
    identity, and (b, a, z) for those of b. A dissimilar pair (a, b) gives (a, z, b) for the k
    nearest z of a that have a's identity, and (b, z, a) for those of b. Distances are Euclidean;
    of equal ones the smaller row number is first.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    y : array-like of shape (n_pairs,)
        +1 if the two are of one identity (similar), -1 if they are not.
    identity : array-like of shape (n_samples,), optional
        Identity of each row. Without it, rows that similar pairs join, also through others, are
        one identity; two identities are known to differ only if a dissimilar pair says so, and
        only such rows complete a similar pair.
    n_neighbors : int, default=5
        k, the largest number of third points for either end of a pair.
    pool : array-like of int, default=the rows in `pairs`
        Row numbers of X that may be third points.
    n_triplets : int, optional
        Largest number of triplets: if there are more, this many are drawn at random without
        replacement; those from similar and from dissimilar pairs keep their proportion, up to
        rounding. Default: all.
    random_state : int, RandomState or None
        For `n_triplets`.

    Returns
    -------
    ndarray of intp of shape (n, 3)
        Rows (anchor, near, far), none twice, in the order of the pairs, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import triplets_from_pairs
    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> triplets_from_pairs(X, [(0, 1), (1, 2)], [1, -1], identity=list("aabb"), n_neighbors=1)
    array([[0, 1, 2],
           [1, 0, 2]])
    """
    if n_triplets is not None:
        check_count(n_triplets, name="n_triplets")
    completed = complete_pairs(X, pairs, y, identity=identity, n_neighbors=n_neighbors, pool=pool)
    return completed.draw(n_triplets, random_state)


@dataclass(frozen=True, eq=False)
class CompletedPairs:
    """All triplets of some pairs, to draw from, and whether each is from a similar pair."""

    triplets: Index
    is_similar: Mask

    def draw(self, n_triplets: int | None = None, random_state: Any = None) -> Index:
        """Return at most `n_triplets` of the triplets; both kinds keep their proportion."""
        if n_triplets is None or n_triplets >= len(self.triplets):
            return self.triplets
        random = check_random_state(random_state)
        n_similar = round(n_triplets * float(self.is_similar.mean()))
        parts = (self.is_similar, n_similar), (~self.is_similar, n_triplets - n_similar)
        chosen = [
            random.choice(np.flatnonzero(kind), size, replace=False) for kind, size in parts if size
        ]
        return self.triplets[np.sort(np.concatenate(chosen))]


def complete_pairs(
    X: Any, pairs: Any, y: Any, *, identity: Any = None, n_neighbors: int = 5, pool: Any = None
) -> CompletedPairs:
    """Return all triplets that `triplets_from_pairs` draws from; it explains the parameters."""
    X = check_array(X, dtype=np.float64)
    pairs = as_index(pairs, (2,), name="pairs", n_points=len(X), points="rows of X")
    check_pairs(pairs)
    signs = as_signs(y, len(pairs), of="pairs", positive="similar")
    check_count(n_neighbors, name="n_neighbors")
    if pool is not None:
        pool = as_index(pool, (), name="pool", n_points=len(X), points="rows of X")
    pool = np.unique(pairs if pool is None else pool)
    groups = _known_groups(identity, pairs, signs > 0, len(X))
    search, k = NeighborSearch(X), min(n_neighbors, len(pool))
    triplets, is_similar = _complete(search, pairs, signs > 0, *groups, pool, k)
    if not len(triplets):
        raise ValueError(_explain_no_triplet(signs, identity))
    first, _ = distinct_rows(triplets)
    return CompletedPairs(triplets[first], is_similar[first])


def _complete(
    search: NeighborSearch,
    pairs: Index,
    is_similar: Mask,
    group: Index,
    differ: Any,
    pool: Index,
    k: int,
) -> tuple[Index, Mask]:
    """Return all triplets, and for each whether its pair is similar."""

    def nearest_different(queries: Index) -> Index:
        if differ is None:
            return nearest_in_others(search, queries, pool, group, k)
        return _nearest_known_to_differ(search, queries, pool, group, differ, k)

    def nearest_alike(queries: Index) -> Index:
        return nearest_in_group(search, queries, pool, group, k)

    anchor, partner = pairs.ravel(), pairs[:, ::-1].ravel()
    is_similar = np.repeat(is_similar, 2)
    third = np.full((len(anchor), k), -1)
    for kind, find in ((is_similar, nearest_different), (~is_similar, nearest_alike)):
        if kind.any():
            distinct, where = np.unique(anchor[kind], return_inverse=True)
            third[kind] = find(distinct)[where]
    row, column = np.nonzero(third >= 0)
    third, is_similar = third[row, column], is_similar[row]
    near = np.where(is_similar, partner[row], third)
    far = np.where(is_similar, third, partner[row])
    return np.column_stack([anchor[row], near, far]), is_similar


def _nearest_known_to_differ(
    search: NeighborSearch, queries: Index, pool: Index, group: Index, differ: Any, k: int
) -> Index:
    """Return the k nearest rows of the pool in groups that differ from each query's."""
    group_of_pool = group[pool]
    is_other = np.zeros(differ.shape[0], dtype=bool)

    def pool_of(of_query: int) -> Index:
        is_other[:] = False
        is_other[differ.indices[slice(*differ.indptr[of_query : of_query + 2])]] = True
        return pool[is_other[group_of_pool]]

    return search_by_group(search, queries, group, k, pool_of)


def _from_graph(
    graph: Any, labels: Index, n_neighbors: int, n_impostors: int
) -> tuple[Index, Index]:
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


def _first_of_each(row: Index, value: Index, k: int, n_rows: int) -> Index:
    """Return the first k values of each row (rows are in order), padded with -1."""
    place = np.arange(len(row)) - np.searchsorted(row, row)
    table = np.full((n_rows, k), -1)
    is_first = place < k
    table[row[is_first], place[is_first]] = value[is_first]
    return table


def group_by_counts(near: Index, far: Index) -> list[Block]:
    """Return blocks of anchors with equal numbers of neighbours; -1 is no neighbour."""
    counts = np.column_stack([(near >= 0).sum(axis=1), (far >= 0).sum(axis=1)])
    blocks = []
    for n_near, n_far in np.unique(counts, axis=0):
        anchors = np.flatnonzero((counts == (n_near, n_far)).all(axis=1))
        if n_near and n_far:
            blocks.append(Block(anchors, near[anchors, :n_near], far[anchors, :n_far]))
    return blocks


def mined_triplets(
    near: Index, far: Index, recall: MiningRecall | None = None, of: str = "classes"
) -> MinedTriplets:
    """Return all triplets of anchors with their neighbours."""
    blocks = group_by_counts(near, far)
    if not blocks and of == "targets":
        raise ValueError(
            "no triplet can be formed: no sample has others that are near in y and others that are "
            "far; give more samples, with different targets"
        )
    if not blocks:
        raise ValueError(
            "no triplet can be formed: no sample has both a neighbour of its own class and one of "
            "another class; give at least one class two different samples"
        )
    return MinedTriplets(tuple(blocks), recall)


def _warn_small_classes(classes: NDArray[Any], sizes: Index, k: int) -> None:
    small = np.flatnonzero(sizes <= k)
    if len(small):
        named = ", ".join(f"{shown(classes[i])} ({sizes[i]})" for i in small[:5])
        more = f" and {len(small) - 5} more" if len(small) > 5 else ""
        warn_user(
            f"classes with fewer than n_neighbors + 1 = {k + 1} samples contribute only the "
            f"triplets they have: {named}{more}"
        )


def _known_groups(
    identity: Any, pairs: Index, is_similar: Mask, n_samples: int
) -> tuple[Index, Any]:
    """Return the group of each row, and which groups are known to differ: None where all do."""
    if identity is None:
        return _joined_groups(pairs, is_similar, n_samples)
    names, group = as_identities("identity", identity, n_samples)
    wrong = np.flatnonzero((group[pairs[:, 0]] == group[pairs[:, 1]]) != is_similar)
    if len(wrong):
        i = wrong[0]
        a, b = pairs[i].tolist()
        said = "similar" if is_similar[i] else "dissimilar"
        raise ValueError(
            f"pairs[{i}] = ({a}, {b}) is {said}, but identity says {shown(names[group[a]])} and "
            f"{shown(names[group[b]])}; correct one of them (pairs that disagree: {len(wrong)})"
        )
    return group, None


def _joined_groups(pairs: Index, is_similar: Mask, n_samples: int) -> tuple[Index, Any]:
    """Return the groups that similar pairs join, and which of them dissimilar pairs separate."""
    shape = (n_samples, n_samples)
    joined = pairs[is_similar]
    graph = sp.coo_array((np.ones(len(joined), dtype=bool), tuple(joined.T)), shape=shape)
    n_groups, group = connected_components(graph, directed=False)
    left, right = group[pairs[~is_similar]].T
    wrong = np.flatnonzero(~is_similar)[left == right]
    if len(wrong):
        a, b = pairs[wrong[0]].tolist()
        raise ValueError(
            f"pairs[{wrong[0]}] says that {a} and {b} differ, but other pairs join them; correct "
            f"one side (pairs so contradicted: {len(wrong)})"
        )
    ends = np.concatenate([left, right]), np.concatenate([right, left])
    differ = sp.coo_array((np.ones(len(ends[0]), bool), ends), shape=(n_groups, n_groups))
    return group, differ.tocsr()


def _explain_no_triplet(signs: Index, identity: Any) -> str:
    reasons = []
    if 1 in signs:
        reasons.append("no row of the pool is of another identity than the similar pairs")
    if -1 in signs:
        reasons.append("no row of the pool has the identity of one of a dissimilar pair")
    known = ""
    if identity is None:
        known = (
            " (without identity, rows are known to differ only where a dissimilar pair connects "
            "their groups, and to be alike only where similar pairs join them)"
        )
    return (
        f"no triplet can be formed: {', and '.join(reasons)}{known}; give a larger pool or more "
        "pairs"
    )
