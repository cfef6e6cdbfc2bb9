"""Mining: the nearest samples of the same class and of others, exactly or approximately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.points import Data, Index
from ..core.warning import warn_user
from ..runtime.environment import limit_threads
from ..runtime.progress import working
from .approximate import ApproximateSearch, is_available
from .exact import FEW_FEATURES, NeighborSearch
from .recall import MiningRecall, share_found

#: Groups up to this size share one search among other groups, larger ones have one each.
SMALL_GROUP = 32
#: Values of the parameter `neighbors`.
NEIGHBORS = ("auto", "exact", "approximate")
#: Number of samples from which on neighbors="auto" is approximate.
MANY_SAMPLES = 200_000
#: Recall that an approximate search has to reach, and the one at which it is not widened further.
RECALL, SAFE_RECALL = 0.98, 0.984
#: Points of its own class, and of other classes, that each point is compared with at first.
NEAR_POINTS, FAR_POINTS = 8_000, 60_000
#: Rows on which the recall is measured, first to choose the width of the search, then to report it.
TRIED_ROWS, MEASURED_ROWS = 1000, 1000


def is_approximate(neighbors: str, n_samples: int, n_features: int) -> bool:
    """Return whether to search approximately, for a value of the parameter `neighbors`."""
    if not isinstance(neighbors, str) or neighbors not in NEIGHBORS:
        raise ValueError(f"neighbors={neighbors!r:.80} is not known; expected one of {NEIGHBORS}")
    if neighbors != "auto" or n_samples < MANY_SAMPLES or n_features <= FEW_FEATURES:
        return neighbors == "approximate"
    if not is_available():
        warn_user(
            f"neighbours of {n_samples:,} samples are searched exactly, because faiss is not "
            "installed; an approximate search is faster: pip install 'frobmetric[ann]'"
        )
    return is_available()


@dataclass(frozen=True, eq=False)
class Mining:
    """Search for the nearest samples of the same class, and of other classes."""

    X: Data
    labels: Index
    n_neighbors: int
    n_impostors: int
    tie: float
    n_jobs: int | None = None

    def exact(self, rows: Index, search: NeighborSearch | None = None) -> tuple[Index, Index]:
        """Return the neighbours of these rows of X, (n_rows, n_neighbors), near and far."""
        search = search or NeighborSearch(self.X, n_jobs=self.n_jobs)
        given = search, rows, np.arange(len(self.X)), self.labels
        # each row is compared with its class and with all others: with all samples
        with working("searching for neighbours", len(rows) * len(self.X), "distances"):
            near = nearest_in_group(*given, self.n_neighbors, tie=self.tie)
            return near, nearest_in_others(*given, self.n_impostors, tie=self.tie)

    def approximate(self) -> tuple[Index, Index, MiningRecall]:
        """Return the neighbours of all rows, near and far, and the `MiningRecall`."""
        size = min(TRIED_ROWS + MEASURED_ROWS, len(self.X))
        rows = np.random.default_rng(0).choice(len(self.X), size, replace=False)
        tried, measured = np.split(rows, [min(TRIED_ROWS, size // 2)])
        exact = self.exact(rows)
        with limit_threads(self.n_jobs):
            given = self.n_neighbors, self.n_impostors, self.tie
            search = ApproximateSearch(self.X, self.labels, *given)
            self._widen(search, tried, [true[: len(tried)] for true in exact])
        found = search.found(measured)
        shares = [share_found(f, true[len(tried) :]) for f, true in zip(found, exact, strict=True)]
        recall = MiningRecall(*shares[0], *shares[1], len(measured))
        if min(recall.near, recall.far) < RECALL:
            warn_user(
                f"approximate neighbours: {recall}, below {RECALL}; neighbors='exact' finds all"
            )
        return *search.found(), recall

    def _widen(self, search: ApproximateSearch, rows: Index, exact: Sequence[Index]) -> None:
        """Search more and more points until the recall on these rows is high enough."""
        for is_far, n_points in enumerate((NEAR_POINTS, FAR_POINTS)):  # near lists improve far ones
            search.search(n_points, is_far=bool(is_far))
            recall, is_new = 0.0, True
            while True:
                before, recall = recall, share_found(search.found(rows)[is_far], exact[is_far])[0]
                if recall >= SAFE_RECALL:
                    break
                # refine again if the last time found a good part of the missing neighbours
                if is_new or 3 * (recall - before) > SAFE_RECALL - recall:
                    search.refine(is_far=bool(is_far))
                    is_new = False
                elif n_points < len(self.X):
                    n_points *= 4
                    search.search(n_points, is_far=bool(is_far))
                    is_new = True
                else:
                    break


def nearest_in_group(
    search: NeighborSearch, queries: Index, pool: Index, group: Index, k: int, tie: float = 0.0
) -> Index:
    """Return the k nearest rows of the pool in each query's own group, without itself."""
    pool = pool[np.argsort(group[pool], kind="stable")]
    start = np.searchsorted(group[pool], np.arange(group.max() + 2))

    def pool_of(group: int) -> Index:
        return pool[start[group] : start[group + 1]]

    return search_by_group(search, queries, group, k, pool_of, tie)


def nearest_in_others(
    search: NeighborSearch, queries: Index, pool: Index, group: Index, k: int, tie: float = 0.0
) -> Index:
    """Return the k nearest rows of the pool in other groups than each query's."""
    found = np.full((len(queries), k), -1)
    is_small = np.bincount(group[pool], minlength=group.max() + 1)[group[queries]] <= SMALL_GROUP

    def pool_of(of_query: int) -> Index:
        return pool[group[pool] != of_query]

    found[~is_small] = search_by_group(search, queries[~is_small], group, k, pool_of, tie)
    if is_small.any():
        rows = queries[is_small]
        labels = group[rows], group[pool]
        found[is_small] = search.nearest_rows(rows, pool, k, labels=labels, tie=tie)
    return found


def search_by_group(
    search: NeighborSearch,
    queries: Index,
    group: Index,
    k: int,
    pool_of: Callable[[int], Index],
    tie: float = 0.0,
) -> Index:
    """Return the k nearest rows of the pool of each query's group, never the query itself."""
    found = np.full((len(queries), k), -1)
    order = np.argsort(group[queries], kind="stable")
    ends = np.flatnonzero(np.diff(group[queries[order]])) + 1
    for places in np.split(order, ends) if len(order) else []:
        rows = queries[places]
        pool = pool_of(group[rows[0]])
        if len(pool):
            found[places] = search.nearest_rows(rows, pool, k, labels=(rows, pool), tie=tie)
    return found
