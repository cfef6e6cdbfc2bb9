"""Approximate neighbours by faiss, improved by neighbours of neighbours, with a measured recall."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from scipy.stats import binomtest

from ._candidates import choose, tie_width
from ._environment import require
from .core.kernels import cross_distances
from .core.threads import map_blocks, one_thread

#: Leading directions of the points in which candidates are searched; their distances are exact.
DIRECTIONS = 40
#: Rows that the directions are computed from.
SAMPLE = 4096
#: Points of a cell of the index.
CELL = 180
#: Candidates of the index for each neighbour that is kept.
RANKED = 3
#: Neighbours that are kept beyond those asked for: they lead to others.
SPARE = 7
#: Cells of all classes that are searched first for a point; and cells of its own class, and of
#: other classes, if these do not suffice.
MIXED_CELLS, NEAR_CELLS, FAR_CELLS = 20, 6, 40
#: Points that are searched at a time.
QUERIES = 1 << 14
#: Points that a thread searches at a time.
PART = 1 << 11


def is_available():
    """Return whether faiss is installed."""
    return find_spec("faiss") is not None


class ApproximateSearch:
    """Approximate search for the nearest points of the same class, and of all other classes.

    Candidates come from cells of an index of faiss whose centres are nearest, by distances in a few
    leading directions; their own distances are then computed in double precision. `start_lists`
    takes cells of all classes, which is enough where classes overlap; `widen` takes cells of one
    class each, which finds impostors of classes that are far apart. `refine` goes on from these
    lists: an impostor of a near neighbour is likely to be one of the point too, and so are the
    neighbours of an impostor.

    Points are numbered by class inside, so that a class is a range.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    n_near, n_far : int
        Numbers of neighbours that are wanted.
    tie : float
        Distances are ties if coordinates moved by less than this could make them equal.
    """

    def __init__(self, X, labels, n_near, n_far, tie=0.0):
        self.X, self.tie, self.n_near, self.n_far = X, tie, n_near, n_far
        self.order = np.argsort(labels, kind="stable")
        self.labels = labels[self.order]
        self.start = np.searchsorted(self.labels, np.arange(labels.max() + 2))
        self.points = _leading_directions(X)[self.order]
        self._build()
        self.n_cells, n = len(self.centers), len(X)
        # numbers of 32 bits: sorting them is most of the work
        self.near = np.full((n, n_near + SPARE), -1, dtype=np.int32)
        self.far = np.full((n, n_far + SPARE), -1, dtype=np.int32)

    def _build(self):
        """Divide each class into cells, and make the index of all points."""
        faiss = require("faiss", "ann")
        classes, cell = self._classes(), np.empty(len(self.points), np.int64)
        n_cells = [_number_of_cells(rows.stop - rows.start) for rows in classes]
        self.first_cell = np.cumsum([0, *n_cells])

        def divide(part):
            rows, first = classes[part.start], self.first_cell[part.start]
            centers, nearest = _cells(faiss, self.points[rows], n_cells[part.start])
            cell[rows] = first + nearest
            return centers

        self.centers = np.concatenate(map_blocks(divide, len(classes), 1, np.inf))
        self.index = _index(faiss, self.points, self.centers, cell)

    def start_lists(self, n_cells):
        """Search so many cells of points of all classes for each point."""
        faiss = require("faiss", "ann")
        centers, cell = _cells(faiss, self.points, _number_of_cells(len(self.points)))
        index = _index(faiss, self.points, centers, cell)
        every = np.arange(len(centers))
        n_ranked = RANKED * (self.near.shape[1] + self.far.shape[1])
        for rows in _parts(slice(0, len(self.X))):
            found = self._candidates(index, centers, every, rows, n_cells, n_ranked)
            numbers = np.arange(rows.start, rows.stop)
            for lists in (self.near, self.far):
                lists[rows] = self._rank(numbers, [lists[rows], found], lists)

    def widen(self, near_cells, far_cells):
        """Search so many cells of the own class, and of other classes, for each point."""
        for label, rows in enumerate(self._classes()):
            own = np.arange(*self.first_cell[[label, label + 1]])
            others = np.delete(np.arange(self.n_cells), own)
            for some in _parts(rows):
                self._search(some, own, near_cells, self.near)
                self._search(some, others, far_cells, self.far)

    def refine(self, *, is_far):
        """Improve the far lists, or the near ones, by neighbours of neighbours."""
        for rows in _parts(slice(0, len(self.X))):
            numbers, near, far = np.arange(rows.start, rows.stop), self.near[rows], self.far[rows]
            if is_far:
                candidates = [far, _of(self.far, near), _of(self.near, far)]
                self.far[rows] = self._rank(numbers, candidates, self.far)
            else:
                self.near[rows] = self._rank(numbers, [near, _of(self.near, near)], self.near)

    def found(self, rows=None):
        """Return row numbers of the nearest of the same class and of others, -1 for none."""
        place = np.argsort(self.order)
        rows = slice(None) if rows is None else rows
        lists = ((self.near, self.n_near), (self.far, self.n_far))
        return tuple(self._final(place[rows], numbers, k) for numbers, k in lists)

    def _classes(self):
        return [slice(*self.start[i : i + 2]) for i in range(len(self.start) - 1)]

    def _search(self, rows, cells, n_cells, lists):
        """Add the points of the nearest of these cells to the lists of some points."""
        if len(cells) and n_cells:
            given = self.centers[cells], cells, rows, n_cells, RANKED * lists.shape[1]
            found = self._candidates(self.index, *given)
            numbers = np.arange(rows.start, rows.stop)
            lists[rows] = self._rank(numbers, [lists[rows], found], lists)

    def _candidates(self, index, centers, cells, rows, n_cells, n_ranked):
        """Return the nearest points in the nearest cells, for each of some points."""
        faiss, tools = require("faiss", "ann"), require("faiss.contrib.ivf_tools", "ann")
        coarse = faiss.IndexFlatL2(self.points.shape[1])
        coarse.add(np.ascontiguousarray(centers))
        index.nprobe, points = min(n_cells, len(cells)), self.points[rows]

        def search(part):
            with _one_thread_of(faiss):
                away, nearest = coarse.search(points[part], index.nprobe)
                given = n_ranked, cells[nearest], away
                return tools.search_preassigned(index, points[part], *given)[1]

        return np.concatenate(map_blocks(search, len(points), PART, np.inf)).astype(np.int32)

    def _rank(self, rows, candidates, lists):
        """Return the nearest candidates by exact distances, as many as the lists have."""
        candidates = np.concatenate(candidates, axis=1)
        is_far = lists is self.far
        found = np.empty((len(rows), lists.shape[1]), dtype=np.int32)

        def rank(part):
            some = np.sort(candidates[part], axis=1)
            is_wrong = (some < 0) | (some == rows[part, None])
            is_wrong[:, 1:] |= some[:, 1:] == some[:, :-1]
            is_wrong |= (self.labels[some] == self.labels[rows[part], None]) == is_far
            value = np.full(some.shape, np.inf)
            row, column = np.nonzero(~is_wrong)
            ends = self.order[rows[part][row]], self.order[some[row, column]]
            value[row, column] = cross_distances(self.X, self.X, *ends)
            k = min(found.shape[1], some.shape[1])
            best = np.argpartition(value, k - 1, axis=1)[:, :k]
            numbers = np.take_along_axis(some, best, axis=1)
            is_none = np.take_along_axis(value, best, axis=1) == np.inf
            found[part, :k], found[part, k:] = np.where(is_none, -1, numbers), -1

        map_blocks(rank, len(rows), 256, np.inf)
        return found

    def _final(self, rows, lists, n_neighbors):
        """Return the nearest of the lists as rows of X, with ties by row number."""
        row, column = np.nonzero(lists[rows] >= 0)
        number = self.order[lists[rows][row, column]]
        value = cross_distances(self.X, self.X, self.order[rows[row]], number)
        table = np.full((len(rows), max(lists.shape[1], n_neighbors)), np.inf)
        table[row, column] = value
        radius = np.partition(table, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        is_near = value <= (radius + tie_width(radius, self.tie))[row]
        entries = row[is_near], number[is_near], value[is_near]
        return choose(*entries, radius, n_neighbors, self.tie)


@contextmanager
def _one_thread_of(faiss):
    """Let faiss use this thread only: the others are ours."""
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(n_threads)


def _cells(faiss, points, n_cells):
    """Return the centres of cells of these points, and the cell of each point."""
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": 40, "seed": 0}
    with _one_thread_of(faiss):
        means = faiss.Kmeans(points.shape[1], n_cells, niter=6, **limits)
        means.train(points)
        return means.centroids, means.index.search(points, 1)[1][:, 0]


def _number_of_cells(n_points):
    return max(1, round(n_points / CELL))


def _index(faiss, points, centers, cell):
    """Return an index of points whose cells are known."""
    coarse = faiss.IndexFlatL2(points.shape[1])
    coarse.add(centers)
    index = faiss.IndexIVFFlat(coarse, points.shape[1], len(centers))
    index.is_trained = True
    require("faiss.contrib.ivf_tools", "ann").add_preassigned(index, points, cell)
    return index


def _leading_directions(X):
    """Return the points along a few leading directions, centred, in single precision."""
    sample = X[:: max(1, len(X) // SAMPLE)].astype(np.float64)
    center = sample.mean(axis=0)
    sample -= center
    unit = max(float(np.abs(sample).max()), np.finfo(float).tiny)
    with one_thread():
        directions = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :DIRECTIONS]
    points = np.empty((len(X), directions.shape[1]), dtype=np.float32)

    def project(rows):
        points[rows] = (X[rows] - center) @ directions / unit

    map_blocks(project, len(X), QUERIES, np.inf)
    return points


def _parts(rows):
    """Return slices of rows that are searched at a time."""
    starts = range(rows.start, rows.stop, QUERIES)
    return [slice(start, min(start + QUERIES, rows.stop)) for start in starts]


def _of(lists, numbers):
    """Return the lists of all these numbers, one after the other; -1 for those of none."""
    return np.where(numbers[..., None] < 0, -1, lists[numbers]).reshape(len(numbers), -1)


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
