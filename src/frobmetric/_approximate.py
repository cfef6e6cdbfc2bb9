"""Approximate neighbours by faiss, their exact distances, and the recall that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from scipy.stats import binomtest

from ._candidates import choose, tie_width
from ._environment import require
from .core.kernels import cross_distances
from .core.threads import map_blocks

#: Candidates of the index for each neighbour that is asked for; their distances are exact.
RANKED = 32
#: Points for each list of the index that its centres and codes are learned from.
PER_LIST = 40
#: Lists that are searched at first.
FIRST_PROBES = 8
#: Queries of one call.
QUERIES = 4096


def is_available():
    """Return whether faiss is installed."""
    return find_spec("faiss") is not None


class ApproximateSearch:
    """Approximate search for the nearest points of the same class, or of all other classes.

    An index of faiss (inverted lists with codes of 4 bits for each pair of features) finds
    candidates of the wanted classes, whose distances are then computed in double precision. The
    lists near a query are searched whether or not they hold such points; `n_probes` says how many.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    """

    def __init__(self, X, labels):
        faiss = require("faiss", "ann")
        self.X, self.labels = X, labels
        self.order = np.argsort(labels, kind="stable")  # so that a class is a range
        self.start = np.searchsorted(labels[self.order], np.arange(labels.max() + 2))
        self.center = X.mean(axis=0)
        self.unit = max(float(abs(X - self.center).max()), np.finfo(float).tiny)
        self.n_lists = int(max(1, min(3 * np.sqrt(len(X)), len(X) // PER_LIST)))
        n_features = X.shape[1] + X.shape[1] % 2
        kind = f"IVF{self.n_lists},PQ{n_features // 2}x4fsr"
        self.index = faiss.index_factory(n_features, kind)
        step = max(1, len(X) // (PER_LIST * self.n_lists))
        self.index.train(self._single(self.order[::step]))
        for i in range(0, len(X), 16 * QUERIES):
            self.index.add(self._single(self.order[i : i + 16 * QUERIES]))

    def nearest(self, rows, n_neighbors, *, is_same, n_probes, tie=0.0):
        """Return row numbers of the nearest samples, -1 where fewer were found.

        They are of the class of the query if `is_same`, otherwise of the other classes.
        """
        found = np.full((len(rows), n_neighbors), -1)
        for label in np.unique(self.labels[rows]):
            places = np.flatnonzero(self.labels[rows] == label)
            for i in range(0, len(places), QUERIES):
                part = places[i : i + QUERIES]
                some = self._candidates(rows[part], label, n_neighbors, is_same, n_probes)
                found[part] = self._rank(rows[part], some, n_neighbors, tie)
        return found

    def _candidates(self, rows, label, n_neighbors, is_same, n_probes):
        """Return candidates for queries of one class, as row numbers; -1 where there are none."""
        faiss = require("faiss", "ann")
        selector = faiss.IDSelectorRange(int(self.start[label]), int(self.start[label + 1]))
        selector = selector if is_same else faiss.IDSelectorNot(selector)
        given = faiss.IVFSearchParameters(sel=selector, nprobe=n_probes)
        n_ranked = min(RANKED * n_neighbors, len(self.X))
        _, place = self.index.search(self._single(rows), n_ranked, params=given)
        return np.where(place < 0, -1, self.order[place])

    def _rank(self, rows, number, n_neighbors, tie):
        """Return the nearest of the candidates by their exact distances."""
        value = np.full(number.shape, np.inf)

        def measure(part):
            row, column = np.nonzero((number[part] >= 0) & (number[part] != rows[part, None]))
            ends = rows[part][row], number[part][row, column]
            value[part][row, column] = cross_distances(self.X, self.X, *ends)

        map_blocks(measure, len(rows), 512, np.inf)
        if number.shape[1] < n_neighbors:
            value = np.pad(value, ((0, 0), (0, n_neighbors)), constant_values=np.inf)
        radius = np.partition(value, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        limit = radius + tie_width(radius, tie)
        row, column = np.nonzero((value <= limit[:, None]) & (value < np.inf))
        entries = row, number[row, column], value[row, column]
        return choose(*entries, radius, n_neighbors, tie)

    def _single(self, rows):
        """Return rows in single precision, centred, with an even number of features."""
        single = ((self.X[rows] - self.center) / self.unit).astype(np.float32)
        return np.ascontiguousarray(np.pad(single, ((0, 0), (0, single.shape[1] % 2))))


@dataclass(frozen=True)
class MiningRecall:
    """Share of the true neighbours that an approximate search found, on rows drawn at random.

    `near` and `far` are the shares for neighbours of the same class and of other classes, each
    with a confidence interval of 95 % (Wilson's, with the rows as observations).
    """

    near: float
    near_interval: tuple[float, float]
    far: float
    far_interval: tuple[float, float]
    n_rows: int

    @property
    def missed_impostors(self):
        """Upper confidence bound on the share of true neighbours of other classes not found."""
        return 1 - self.far_interval[0]

    def __str__(self):
        kinds = ("near", self.near, self.near_interval), ("far", self.far, self.far_interval)
        shares = (
            f"{name} {share:.3f} [{low:.3f}, {high:.3f}]" for name, share, (low, high) in kinds
        )
        return (
            f"recall of mining {', '.join(shares)}; with confidence 95 % at most "
            f"{self.missed_impostors:.1%} of the impostors were missed"
        )


def share_found(found, exact):
    """Return the share of the true neighbours that were found, with a Wilson interval."""
    is_true = exact >= 0
    is_found = (exact[:, :, None] == found[:, None, :]).any(axis=2) & is_true
    share = is_found.sum() / max(1, is_true.sum())
    n_rows = len(exact)
    interval = binomtest(round(share * n_rows), n_rows).proportion_ci(0.95, method="wilson")
    return float(share), (float(interval.low), float(interval.high))
