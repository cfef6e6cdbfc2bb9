"""Products of queries with copies of points: the least of each group, and all of some groups."""

from __future__ import annotations

from functools import cached_property
from threading import local
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.extmath import row_norms

from ..core.kernels import GROUP, ROWS, WIDTH, Compiled, compiled
from ..core.points import Array, Index
from .sketches import Copies, Numbers, Points, Sketch, Tiles

#: Pairs to leave out are few if they are less than one in this many.
FEW = 64


def kind_of_products(
    sketch: Sketch, points: Points, n_least: int, n_queries: int
) -> type[Products]:
    """Return the class that is best for these products: numba, if installed, for many."""
    is_large = 2.0 * n_queries * len(points) * sketch.length >= points.tuning.large
    is_large &= len(points) >= points.tuning.fewest * n_least * GROUP
    is_fast = is_large and sketch.dtype == np.float32 and compiled()
    return FusedProducts if is_fast else Products


class Products:
    """Products of some queries with the copies of all points, and the least of each group.

    This is the reference, by NumPy: all products of the queries are held. `copies` come from
    `copies_of`.
    """

    def __init__(self, sketch: Sketch, copies: Copies | Tiles, queries: Array) -> None:
        self.sketch, self.queries = sketch, queries
        self.copies: Any = copies
        moved = sketch.frame(queries)
        self.norm2 = row_norms(moved, squared=True)
        self.short, self.is_near = sketch.of_queries(moved, self.norm2)

    @staticmethod
    def n_queries(points: Points) -> int:
        """Return how many queries to take at a time."""
        return max(1, points.tuning.n_held // max(1, len(points)))

    @staticmethod
    def copies_of(points: Points, sketch: Sketch, n_least: int) -> Copies | Tiles:
        """Return copies of points, in groups small enough for this many of the least."""
        return points.copies(sketch, n_least)

    def compute(self, left_out: LeftOut | None, rows: Index) -> None:
        """Compute the products and the least of each group, `least`.

        `left_out` are pairs that are infinitely far, or None; `rows` the numbers of the queries
        there.
        """
        pieces, n_queries = self.copies.pieces, len(self.queries)
        shape = len(pieces), n_queries, self.copies.group, self.copies.n_groups
        self._products = _buffer(shape, self.sketch.dtype)
        self.least = np.empty((n_queries, len(pieces) * shape[-1]), dtype=self.sketch.dtype)
        for p, piece in enumerate(pieces):
            np.matmul(self.short, piece.T, out=self._products[p].reshape(n_queries, len(piece)))
            self._update_least(p)
        if left_out is None:
            return
        if left_out.count[rows].sum() * FEW < n_queries * len(left_out.of_points):
            self._leave_out(*left_out.pairs(rows))
        else:
            self._leave_out_where(left_out.of_queries[rows], left_out.of_points)

    def _leave_out(self, row: Index, number: Index) -> None:
        piece, place = np.divmod(number, self.copies.pieces.shape[1])
        member, group = np.divmod(place, self.copies.n_groups)
        self._products[piece, row, member, group] = np.inf
        least = self._products[piece, row, :, group].min(axis=1)
        self.least[row, piece * self.copies.n_groups + group] = least

    def _leave_out_where(self, of_queries: Index, of_points: Index) -> None:
        """Leave out pairs of equal labels, all at once: good for many."""
        size = self.copies.pieces.shape[1]
        for p, products in enumerate(self._products):
            labels = of_points[p * size : (p + 1) * size]
            table = products.reshape(len(of_queries), size)[:, : len(labels)]
            np.copyto(table, np.inf, where=of_queries[:, None] == labels)
            self._update_least(p)

    def _update_least(self, p: int) -> None:
        n_groups = self.copies.n_groups
        least = self.least[:, p * n_groups : (p + 1) * n_groups]
        np.min(self._products[p], axis=1, out=least)

    def members(self, row: Index, group: Index) -> Numbers:
        """Return the products of all points of some groups, one group of a query in each row."""
        piece, group = np.divmod(group, self.copies.n_groups)
        return self._products[piece, row, :, group]


class FusedProducts(Products):
    """Products that are not held; the products of the few groups that matter are recomputed."""

    @staticmethod
    def n_queries(points: Points) -> int:
        return points.tuning.n_fused

    @staticmethod
    def copies_of(points: Points, sketch: Sketch, n_least: int) -> Tiles:
        return points.tiles(sketch)

    def compute(self, left_out: LeftOut | None, rows: Index) -> None:
        n_queries, tiles = len(self.queries), self.copies.tiles
        n_filled, n_points = -(-n_queries // ROWS) * ROWS, len(tiles) * WIDTH
        of_queries, of_points = np.full(n_filled, -1, np.int32), np.full(n_points, -2, np.int32)
        if left_out is not None:
            of_queries[:n_queries] = left_out.query_codes[rows]
            of_points[: len(left_out.of_points)] = left_out.point_codes
        short = np.zeros((n_filled, self.short.shape[1]), dtype=np.float32)
        short[:n_queries] = self.short
        least = np.empty((n_filled, n_points // GROUP), dtype=np.float32)
        self._given = short, tiles, of_queries, of_points
        self._loops = cast(Compiled, compiled())
        self._loops.least_of_groups(*self._given, least)
        self.least = least[:n_queries]

    def members(self, row: Index, group: Index) -> Numbers:
        found = np.empty((len(row), GROUP), dtype=np.float32)
        self._loops.group_products(*self._given, row, group, found)
        return found


_buffers = local()


def _buffer(shape: tuple[int, ...], dtype: DTypeLike) -> Numbers:
    """Return an array in memory that this thread uses again and again: fresh pages are slow."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if len(getattr(_buffers, "memory", ())) < size:
        _buffers.memory = np.empty(size, dtype=np.uint8)
    return _buffers.memory[:size].view(dtype).reshape(shape)


class LeftOut:
    """Pairs of a query and a point with equal labels."""

    def __init__(self, of_queries: Index, of_points: Index) -> None:
        self.of_queries, self.of_points = of_queries, of_points
        self.order = np.argsort(of_points, kind="stable")
        ordered = of_points[self.order]
        self.start = np.searchsorted(ordered, of_queries)
        self.count = np.searchsorted(ordered, of_queries, side="right") - self.start

    @cached_property
    def query_codes(self) -> NDArray[np.int32]:
        """Codes of the queries' labels, as in `point_codes`; -1 if no point has the label."""
        return np.where(self.count > 0, self.start, -1).astype(np.int32)

    @cached_property
    def point_codes(self) -> NDArray[np.int32]:
        """Small integers that stand for the labels of the points."""
        codes = np.searchsorted(self.of_points[self.order], self.of_points)
        return codes.astype(np.int32)

    def pairs(self, rows: Index | slice) -> tuple[Index, Index]:
        """Return the pairs of these queries as two arrays of numbers."""
        start, count = self.start[rows], self.count[rows]
        row = np.repeat(np.arange(len(count)), count)
        first = np.repeat(start - (np.cumsum(count) - count), count)
        return row, self.order[first + np.arange(len(row))]
