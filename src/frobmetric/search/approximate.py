"""Approximate neighbours in near cells, improved by neighbours of neighbours; measured recall."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from ..core.kernels import ROWS, WIDTH, compiled, cross_distances
from ..core.points import Array, Index
from ..core.threads import map_blocks
from ..runtime.environment import require
from .candidates import choose, tie_width
from .sketches import SAMPLE, Frame, Numbers, Points, Tiles

#: Numbers of points; of 32 bits, since sorting them is most of the work.
Lists: TypeAlias = NDArray[np.int32]

#: Points of a cell.
CELL = 256
#: Points of each cell that its centre is computed from.
TRAINED = 40
#: Candidates of the cells, by lower bounds of distances; their distances are then exact.
RANKED = 12
#: Neighbours that are kept beyond those asked for: they lead to others.
SPARE = 7
#: The nearest of the neighbours, whose own neighbours are looked at.
LEADS = 6
#: Rows that are ranked at a time.
PART = 256


def is_available() -> bool:
    """Return whether faiss is installed."""
    return find_spec("faiss") is not None


class ApproximateSearch:
    """Approximate search for the nearest points of the same class, and of all other classes.

    Each class is divided into cells. `search` compares the points of a cell with the points
    of the nearest cells of its own class or of others, by products of short copies in single
    precision; the distances of the best are then computed in double precision. `refine` goes on
    from these lists: an impostor of a near neighbour is likely to be an impostor of the point too,
    and so are the neighbours of an impostor.

    Points are numbered by class and cell inside, so that both are ranges.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of int of shape (n_samples,)
    n_near, n_far : int
        Numbers of neighbours that are wanted.
    tie : float
        Distances are ties if coordinates moved by less than this could make them equal.
    """

    def __init__(self, X: Array, labels: Index, n_near: int, n_far: int, tie: float = 0.0) -> None:
        self.X, self.tie, self.n_near, self.n_far = X, tie, n_near, n_far
        self.sketch = Points(X, _frame_of_classes(X, labels)).sketches()[0]
        cell = self._divide(labels)
        self.order = np.argsort(cell, kind="stable")
        self.labels = labels[self.order]
        self._start = np.searchsorted(cell[self.order], np.arange(len(self.centers) + 1))
        self._fill()
        n = len(X)
        self.near = np.full((n, n_near + SPARE), -1, dtype=np.int32)
        self.far = np.full((n, n_far + SPARE), -1, dtype=np.int32)

    def _divide(self, labels: Index) -> Index:
        """Divide each class into cells; return the cell of each point."""
        faiss, copies = require("faiss", "ann"), -self.sketch.points[:, :-3]
        cell = np.empty(len(labels), dtype=np.intp)
        order = np.argsort(labels, kind="stable")
        classes = np.split(order, np.cumsum(np.bincount(labels))[:-1])
        n_cells = [max(1, round(len(rows) / CELL)) for rows in classes]
        first = np.cumsum([0, *n_cells])

        def divide(part: slice) -> Array:
            rows = classes[part.start]
            centers, nearest = _cells(faiss, copies[rows], n_cells[part.start])
            cell[rows] = first[part.start] + nearest
            return centers

        self.centers = np.concatenate(map_blocks(divide, len(classes), 1, np.inf))
        self._class = np.repeat(np.arange(len(classes)), n_cells)
        return cell

    def _fill(self) -> None:
        """Pack the points of each cell into its own tiles; number the places of the points."""
        size = np.diff(self._start)
        self._tile = np.cumsum([0, *-(-size // WIDTH)])
        away = WIDTH * self._tile[:-1] - self._start[:-1]
        place = np.arange(len(self.order)) + np.repeat(away, size)
        self._number = np.full(WIDTH * self._tile[-1], -1, dtype=np.int32)
        self._number[place] = np.arange(len(self.order))
        rows = self.order[self._number]
        self._tiles = Tiles.of(self.sketch, rows, len(rows)).tiles
        tile, empty = np.divmod(np.flatnonzero(self._number < 0), WIDTH)
        self._tiles[tile, :, empty] = 0.0
        self._tiles[tile, -1, empty] = 2 * self.sketch.nowhere

    def search(self, n_points: int, *, is_far: bool) -> None:
        """Search the nearest cells, of the own class or of others, that hold `n_points` points."""
        lists, size = self.far if is_far else self.near, np.diff(self._start)
        norms = row_norms(self.centers, squared=True)

        def search(part: slice) -> None:
            cell = part.start
            rows = np.arange(*self._start[cell : cell + 2])
            cells = np.flatnonzero((self._class == self._class[cell]) != is_far)
            away = norms[cells] - 2 * self.centers[cells] @ self.centers[cell]
            chosen = cells[np.argsort(away, kind="stable")]
            chosen = chosen[np.cumsum(size[chosen]) - size[chosen] < n_points]
            found = self._candidates(rows, chosen)
            lists[rows] = self._rank(rows, np.concatenate([lists[rows], found], axis=1), is_far)

        map_blocks(search, len(self.centers), 1, np.inf)

    def refine(self, *, is_far: bool) -> None:
        """Improve the far lists, or the near ones, by neighbours of neighbours."""
        near, far = self.near, self.far

        def refine(part: slice) -> Lists:
            rows = np.arange(part.start, part.stop)
            if is_far:
                others = _of(far, near[rows, :LEADS]), _of(near, far[rows, :LEADS])
                return self._rank(rows, np.concatenate([far[rows], *others], axis=1), is_far)
            more = _of(near, near[rows, :LEADS])
            return self._rank(rows, np.concatenate([near[rows], more], axis=1), is_far)

        improved = np.concatenate(map_blocks(refine, len(self.X), PART, np.inf))
        self.near, self.far = (near, improved) if is_far else (improved, far)

    def found(self, rows: Index | None = None) -> tuple[Index, Index]:
        """Return row numbers of the nearest of the same class and of others, -1 for none."""
        place = np.argsort(self.order)
        place = place if rows is None else place[rows]
        return self._final(place, self.near, self.n_near), self._final(place, self.far, self.n_far)

    def _candidates(self, rows: Index, cells: Index) -> Lists:
        """Return the points of some cells whose products with each of some points are least."""
        ranges = [np.arange(*self._tile[cell : cell + 2]) for cell in cells]
        chosen = np.concatenate([np.empty(0, np.intp), *ranges]).astype(np.int32)
        moved = self.sketch.frame(self.X[self.order[rows]])
        short, _ = self.sketch.of_queries(moved, row_norms(moved, squared=True))
        products, places = nearest_in_tiles(short, self._tiles, chosen, RANKED)
        is_point = (places >= 0) & (products < self.sketch.nowhere)
        return np.where(is_point, self._number[places], -1)

    def _rank(self, rows: Index, candidates: Lists, is_far: bool) -> Lists:
        """Return the nearest candidates by exact distances, in order, as many as are kept."""
        size = (self.far if is_far else self.near).shape[1]
        some = np.sort(candidates, axis=1)
        is_wrong = (some < 0) | (some == rows[:, None])
        is_wrong[:, 1:] |= some[:, 1:] == some[:, :-1]
        is_wrong |= (self.labels[some] == self.labels[rows, None]) == is_far
        value = np.full(some.shape, np.inf)
        row, column = np.nonzero(~is_wrong)
        ends = self.order[rows[row]], self.order[some[row, column]]
        value[row, column] = cross_distances(self.X, self.X, *ends)
        best = np.argsort(value, axis=1)[:, :size]
        numbers = np.take_along_axis(some, best, axis=1)
        is_none = np.take_along_axis(value, best, axis=1) == np.inf
        found = np.full((len(rows), size), -1, dtype=np.int32)
        found[:, : best.shape[1]] = np.where(is_none, -1, numbers)
        return found

    def _final(self, rows: Index, lists: Lists, n_neighbors: int) -> Index:
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
def _one_thread_of(faiss: ModuleType) -> Iterator[None]:
    """Let faiss use this thread only: the others are ours."""
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(n_threads)


def _frame_of_classes(X: Array, labels: Index) -> Frame:
    """Return a frame with the directions in which points of one class differ from each other."""
    weight = 1 / np.bincount(labels)[labels]
    is_of = sp.csr_array((weight, labels, np.arange(len(X) + 1)), shape=(len(X), labels.max() + 1))
    means, some = is_of.T @ X, slice(None, None, max(1, len(X) // SAMPLE))
    within = Frame.of(X[some] - means[labels[some]])
    return Frame.of(X)._replace(directions=within.directions)


def nearest_in_tiles(
    P: Numbers, tiles: Numbers, chosen: Lists, n_results: int
) -> tuple[Numbers, NDArray[np.integer]]:
    """Return the least products of rows with the points of some tiles, and the places of these.

    With numba nearly all of the least are found, with NumPy all; -1 stands for no place.
    """
    fast = compiled()
    if fast:
        short = np.zeros((-(-len(P) // ROWS) * ROWS, P.shape[1]), dtype=np.float32)
        short[: len(P)] = P
        least = np.empty((len(P), n_results), dtype=np.float32)
        found = np.empty((len(P), n_results), dtype=np.int32)
        fast.nearest_in_tiles(short, tiles, chosen, least, found)
        return least, found
    products = P @ tiles[chosen].transpose(1, 0, 2).reshape(P.shape[1], -1)
    places = (WIDTH * chosen[:, None] + np.arange(WIDTH)).ravel()
    if len(places) > n_results:
        best = np.argpartition(products, n_results - 1, axis=1)[:, :n_results]
        return np.take_along_axis(products, best, axis=1), places[best]
    return products, np.broadcast_to(places, products.shape)


def _cells(faiss: ModuleType, points: Numbers, n_cells: int) -> tuple[Array, Index]:
    """Return the centres of cells of these points, and the cell of each point."""
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": TRAINED, "seed": 0}
    with _one_thread_of(faiss):
        means = faiss.Kmeans(points.shape[1], n_cells, niter=6, **limits)
        means.train(np.ascontiguousarray(points))
        return means.centroids, means.index.search(points, 1)[1][:, 0]


def _of(lists: Lists, numbers: Lists) -> Lists:
    """Return the lists of all these numbers, one after the other; -1 where a number is -1."""
    return np.where(numbers[..., None] < 0, -1, lists[numbers]).reshape(len(numbers), -1)
