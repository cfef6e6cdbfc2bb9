"""Sketches of points: short copies of low precision whose products bound distances from below."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from ..core.kernels import GROUP as GROUP_OF_TILE
from ..core.kernels import WIDTH, cross_distances
from ..core.points import Array, Index, Mask, Vector
from ..core.threads import map_blocks
from .tuning import TUNING, Tuning

#: Numbers in single or double precision.
Numbers: TypeAlias = NDArray[Any]

#: Numbers of coordinates whose differences are held at a time.
DIFFERENCES = 1 << 17
#: Points of one group: the smallest product of a group stands for it at first.
GROUP = 64
#: Tiles that a thread fills at a time.
PACKED = 32
#: Points whose products with some queries stay in cache.
PIECE = 8192
#: Bound on the relative rounding error of a squared distance from differences.
ROUNDING = 1e-12
#: Rows that the centre, the unit and the principal directions are computed from.
SAMPLE = 2048
#: Share of the variance that the leading directions of a short sketch have.
LEADING = 0.9
#: A short sketch has at most this share of the directions.
SHORT = 0.75
#: Points that are farther from the centre than this many medians do not choose directions.
OUTLYING = 8.0
#: Bound on the relative rounding error of `Frame.short`, and of squared distances computed from it.
MARGIN = 1e-9


class Points:
    """Points prepared for the search: copies of low precision, made when they are first needed.

    Parameters
    ----------
    coordinates : ndarray of shape (n_all, n_features)
    frame : Frame, default=None
        Frame of the copies, of these points if None. Any frame gives the same neighbours.
    tuning : Tuning, default=None
        Numbers that change the speed only; `TUNING` if None.
    """

    #: Whether all coordinates are known, so that every query can be settled.
    is_whole = True

    def __init__(
        self, coordinates: Array, frame: Frame | None = None, tuning: Tuning | None = None
    ) -> None:
        self.coordinates, self.tuning = coordinates, tuning or TUNING
        self._rows = slice(0, len(coordinates))
        self._sketches = _sketches(coordinates, frame or Frame.of(coordinates), self.tuning.trial)
        self._copies: dict[Any, Any] = {}

    def __len__(self) -> int:
        rows = self._rows
        return rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    def subset(self, rows: Index | slice) -> Self:
        """Return the points of these rows, a slice or numbers, which share the copies."""
        part = object.__new__(type(self))
        vars(part).update(vars(self), _rows=rows, _copies={})
        return part

    def blocks(self, size: int) -> list[tuple[Self, int]]:
        """Return blocks of this many points, each with the number of its first point."""
        starts = range(0, len(self), size)
        return [(self.subset(_part(self._rows, start, start + size)), start) for start in starts]

    def values(self, queries: Array, row: Index, number: Index) -> Vector:
        """Return the squared distances of pairs of a query and a point, from differences."""
        return squared_distances(queries, self.coordinates, row, self._number(number))

    def largest_values(self, queries: Array, row: Index, number: Index) -> Vector:
        """Return upper bounds of the squared distances of pairs, up to `ROUNDING`."""
        return self.rough_values(queries, row, number)

    def rough_values(self, queries: Array, row: Index, number: Index) -> Vector:
        """Return `values` up to `ROUNDING`, faster: the order of sums depends on the compiler."""
        with np.errstate(over="ignore", under="ignore"):
            return cross_distances(queries, self.coordinates, row, self._number(number))

    def _number(self, number: Index) -> Index:
        rows = self._rows
        return number + rows.start if isinstance(rows, slice) else rows[number]

    def sketches(self) -> list[Sketch]:
        """Return the sketches that are worth a try; the last one settles every query."""
        *others, last = self._sketches
        return [*(sketch for sketch in others if sketch.is_useful), last]

    def tiles(self, sketch: Sketch) -> Tiles:
        """Return the tiles of these points in a sketch."""
        if sketch not in self._copies:
            self._copies[sketch] = Tiles.of(sketch, self._rows, len(self))
        return self._copies[sketch]

    def copies(self, sketch: Sketch, n_least: int) -> Copies:
        """Return the copies of these points in a sketch, for the `n_least` smallest products."""
        group = max(1, min(GROUP, len(self) // max(1, self.tuning.fewest * n_least)))
        if (sketch, group) not in self._copies:
            self._copies[sketch, group] = Copies.of(sketch, self._rows, len(self), group)
        return self._copies[sketch, group]


class ShortPoints(Points):
    r"""Points known by `Frame.short` only: leading coordinates and the norm of the rest.

    The rests of x and y, with the norms r and q, may have any angle. With their short copies x', y'

        \|x' - y'\|^2  <=  \|x - y\|^2  <=  \|x' - y'\|^2 + 4 r q,

    so that `values` are lower bounds. Rounding changes squared distances by some roundoffs of
    \|x\|^2 + \|y\|^2: for points up to twice as far from the centre as the query that is less than
    MARGIN \|x\|^2, for others less than MARGIN \|x' - y'\|^2. Upper bounds are larger by both, so
    that the lower bound of every point within them is below them too.
    """

    is_whole = False

    def largest_values(self, queries: Array, row: Index, number: Index) -> Vector:
        lower = self.rough_values(queries, row, number)
        rests = queries[row, -1] * self.coordinates[self._number(number), -1]
        margin = 2 * MARGIN * row_norms(queries, squared=True)[row]
        return (1 + MARGIN) * (lower + 4 * rests + margin)


def squared_distances(queries: Array, points: Array, row: Index, number: Index) -> Vector:
    """Return the squared distances of pairs of a query and a point, from differences."""
    values = np.empty(len(row))
    step = max(1, DIFFERENCES // max(1, queries.shape[1]))
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        away = queries[row[part]].astype(np.float64, copy=False)
        np.subtract(away, points[number[part]], out=away)
        with np.errstate(over="ignore", under="ignore"):
            values[part] = row_norms(away, squared=True)
    return values


class Copies(NamedTuple):
    """Copies of points in pieces of equal size, the last one filled up.

    Point `number` is in piece p, group g and place m: number = p * size + m * n_groups + g.
    """

    #: Shape (n_pieces, size, length of a copy).
    pieces: Numbers
    #: Points of each group.
    group: int

    @classmethod
    def of(cls, sketch: Sketch, rows: Index | slice, n_points: int, group: int) -> Self:
        """Return the copies of some of the points."""
        copies, nowhere = sketch.points, sketch.nowhere
        n_pieces = -(-n_points // PIECE)
        size = -(-n_points // (n_pieces * group)) * group
        pieces = np.zeros((n_pieces, size, copies.shape[1]), dtype=copies.dtype)
        for p, piece in enumerate(pieces):
            some = copies[_part(rows, p * size, (p + 1) * size)]
            piece[: len(some)] = some
            piece[len(some) :, -1] = 2 * nowhere
        return cls(pieces, group)

    @property
    def n_groups(self) -> int:
        """Number of groups of each piece."""
        return self.pieces.shape[1] // self.group

    def numbers(self, group: Index, place: Index) -> Index:
        """Return the numbers of points at places of groups, which count through all pieces."""
        piece, group = np.divmod(group, self.n_groups)
        return piece * self.pieces.shape[1] + place * self.n_groups + group


class Tiles(NamedTuple):
    """Copies of points as `core.tiles` needs them, the last tile filled up.

    Point `number` is in group g at place m: number = g * GROUP + m.
    """

    #: Shape (n_tiles, length of a copy, WIDTH).
    tiles: Numbers

    @classmethod
    def of(cls, sketch: Sketch, rows: Index | slice, n_points: int) -> Self:
        """Return the copies of some of the points."""
        copies = sketch.points
        tiles = np.empty((-(-n_points // WIDTH), copies.shape[1], WIDTH), dtype=copies.dtype)

        def fill(part: slice) -> None:
            some = copies[_part(rows, part.start * WIDTH, part.stop * WIDTH)]
            n_missing = (part.stop - part.start) * WIDTH - len(some)
            if n_missing:
                filled = np.zeros((n_missing, copies.shape[1]), dtype=copies.dtype)
                filled[:, -1] = 2 * sketch.nowhere
                some = np.vstack([some, filled])
            tiles[part] = some.reshape(-1, WIDTH, copies.shape[1]).transpose(0, 2, 1)

        map_blocks(fill, len(tiles), PACKED, 10.0 * tiles.size)
        return cls(tiles)

    @staticmethod
    def numbers(group: Index, place: Index) -> Index:
        """Return the numbers of points at places of groups."""
        return group * GROUP_OF_TILE + place


def _part(rows: Index | slice, start: int, stop: int) -> Index | slice:
    """Return a part of rows, which are a slice or an array of numbers."""
    if isinstance(rows, slice):
        return slice(min(rows.start + start, rows.stop), min(rows.start + stop, rows.stop))
    return rows[start:stop]


def _sketches(coordinates: Array, frame: Frame, trial: int) -> list[Sketch]:
    """Return sketches in the order of their precision."""
    n_features = coordinates.shape[1]
    dtypes = (np.float32, np.float64)
    levels = [Sketch(coordinates, frame, dtype, n_features, trial) for dtype in dtypes]
    if frame.n_leading <= SHORT * n_features:
        levels.insert(0, Sketch(coordinates, frame, np.float32, frame.n_leading, trial))
    return levels


class Frame(NamedTuple):
    """Centre, unit and leading directions of most points; a few outliers do not matter."""

    center: Vector
    unit: float
    directions: Array

    @classmethod
    def of(cls, coordinates: Array) -> Self:
        """Return the frame of points."""
        step = max(1, len(coordinates) // SAMPLE)
        sample = coordinates[::step].astype(np.float64)
        center = np.median(sample, axis=0)
        sample -= center
        norms = np.sqrt(row_norms(sample, squared=True))
        median = np.median(norms[norms > 0]) if norms.any() else 1.0
        sample = sample[norms <= OUTLYING * median]
        return cls._of_scatter(center, median, sample.T @ sample, LEADING)

    @classmethod
    def of_moments(cls, mean: Vector, covariance: Array, leading: float = LEADING) -> Self:
        """Return the frame of points with this mean and covariance."""
        return cls._of_scatter(mean, np.sqrt(np.trace(covariance)), covariance, leading)

    @classmethod
    def _of_scatter(cls, center: Vector, size: float, scatter: Array, share: float) -> Self:
        variance, directions = np.linalg.eigh(scatter)
        total = np.cumsum(variance[::-1])
        n_leading = 1 + int(np.searchsorted(total, share * total[-1]))
        leading = np.ascontiguousarray(directions[:, ::-1][:, :n_leading])
        return cls(center, 2.0 ** np.frexp(max(size, 1e-100))[1], leading)

    @property
    def n_leading(self) -> int:
        """Number of leading directions."""
        return self.directions.shape[1]

    def __call__(self, coordinates: Array) -> Array:
        return (coordinates.astype(np.float64, copy=False) - self.center) / self.unit

    def short(self, moved: Array) -> Array:
        """Return coordinates of centred points along the directions, and the norm of the rest."""
        leading = moved @ self.directions
        rest = moved - leading @ self.directions.T
        return np.column_stack([leading, np.sqrt(row_norms(rest, squared=True))])


class Sketch:
    r"""Short copies of points whose products are lower bounds of squared distances.

    Let x be a query and y a point, centred, in the unit of the frame. Their copies x', y' hold the
    coordinates along the leading directions and the norm of the rest; the norm alone loses the
    angle of the rest, so that \|x' - y'\| <= \|x - y\|. (With all directions nothing is lost, and
    none is computed.) With u the unit roundoff of the copies, d their length and s = 4 (d + 8) u,

        w(x, y) = (1 - s) \|y\|^2 / 2 - x'.y' - s \|x\| \|y\|,

    one product of d + 4 columns, is computed with an error of at most gamma_{d+4} times the sum of
    the absolute values of its terms, in any order of summation. Copies differ from what they
    represent by at most 2u of their norm, which changes \|x' - y'\|^2 by less than
    10u (\|x\|^2 + \|y\|^2). The terms with s exceed both errors, so that the computed w fulfils

        2 w + (1 - s) \|x\|^2 <= \|x - y\|^2.

    A large norm of one point spoils the bound of that point only. Points beyond the range of the
    copies have a smaller bound that is certain; queries beyond it have none.
    """

    def __init__(
        self,
        coordinates: Array,
        frame: Frame,
        dtype: type[np.floating],
        n_leading: int,
        trial: int = TUNING.trial,
    ) -> None:
        self.coordinates, self.frame = coordinates, frame
        self.dtype, self.n_leading, self.trial = dtype, n_leading, trial
        self.slack = 4 * (n_leading + 8) * np.finfo(dtype).eps / 2
        # squares of norms up to `far` are in the range of the numbers, with room for products
        self.far, self.tiny = (2.0**40, 2.0**-100) if dtype == np.float32 else (2.0**400, 2.0**-900)
        # no point has a product as large as this
        self.nowhere = dtype(np.finfo(dtype).max / 16)
        self._n_tried = self._n_settled = 0

    @property
    def length(self) -> int:
        """Numbers of a copy."""
        return self.n_leading + 4

    @property
    def is_useful(self) -> bool:
        """Whether it has settled most of the queries so far."""
        return self._n_tried < self.trial or 4 * self._n_settled > 3 * self._n_tried

    def count(self, is_settled: Mask) -> None:
        """Remember how many queries were settled."""
        self._n_tried += len(is_settled)
        self._n_settled += int(is_settled.sum())

    @cached_property
    def points(self) -> Numbers:
        """Copies of all points, one in each row."""
        coordinates = self.coordinates
        copies = np.empty((len(coordinates), self.length), dtype=self.dtype)
        step = max(1, (8 * DIFFERENCES) // coordinates.shape[1])

        def fill(rows: slice) -> None:
            copies[rows] = self._of_points(self.frame(coordinates[rows]))

        map_blocks(fill, len(coordinates), step, 10.0 * coordinates.size)
        return copies

    def _of_points(self, moved: Array) -> Numbers:
        norm2 = row_norms(moved, squared=True)
        half = (1 - self.slack) * norm2 / 2 - self.tiny
        is_far = ~(norm2 <= self.far**2)
        half[is_far] = self.far**2 / 4  # with queries up to far / 2^20, less than it would be
        high = half.astype(self.dtype)
        columns = [-self._short(moved), -np.sqrt(norm2), high, half - high]
        copies = np.column_stack(columns)
        copies[is_far, :-2] = 0.0
        return copies

    def of_queries(self, moved: Array, norm2: Vector) -> tuple[Numbers, Mask]:
        """Return copies of queries for products with `points`, and whether they are in range."""
        is_near = norm2 <= (self.far / 2**20) ** 2
        ones = np.ones((len(moved), 2))
        copies = np.column_stack([self._short(moved), self.slack * np.sqrt(norm2), ones])
        copies[~is_near, :-2] = 0.0
        return copies.astype(self.dtype), is_near

    def _short(self, moved: Array) -> Array:
        """Return coordinates along the leading directions, and the norm of the rest."""
        if self.n_leading == moved.shape[1]:
            return np.column_stack([moved, np.zeros(len(moved))])
        return self.frame.short(moved)

    def thresholds(self, squared: Vector, norm2: Vector) -> Numbers:
        """Return the products that no point exceeds whose squared distance is at most `squared`."""
        with np.errstate(over="ignore"):
            limit = (squared / self.frame.unit**2 - (1 - self.slack) * norm2) / 2
            return np.nextafter(limit.astype(self.dtype), self.dtype(np.inf))
