"""Samples in shards: statistics, coordinates and triplets, without all rows in one place.

Each shard has its own rows as anchors. Before a problem is solved it also gets the rows of other
shards that are neighbours of its own; from then on only matrices of the order of the features and
numbers leave a shard.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

from .._candidates import Candidates, block_candidates, merge_candidates
from .._checkpoint import fingerprint
from .._parameters import InvalidParameterError
from .._sketches import Points
from ..backends import open_shards
from ..backends.constraints import ShardedConstraints
from ..backends.vectors import Sharded, map_shards
from ._base import DTYPES, Samples
from .coordinates import Coordinates, prior_root, round_to_grid
from .priors import prior_matrix_factor
from .sets import Block, JoinedTriplets, MinedTriplets
from .triplets import TIE, group_by_counts
from .units import (
    MOST_SAMPLES,
    UNITS,
    WHITENING,
    Units,
    neighbor_error,
    required_units,
    spread_rows,
    weights_from_spread,
)

#: Options of a fit that need all samples in one place, with the only value that does not.
WHOLE = {"kernel": "linear", "n_directions": None, "keep_dual": False}


class Moments(NamedTuple):
    """Numbers and sums of the rows of each class."""

    n_rows: np.ndarray
    total: np.ndarray

    def __add__(self, other):
        return Moments(self.n_rows + other.n_rows, self.total + other.total)


@dataclass(frozen=True, eq=False)
class ShardedSamples:
    """Checked samples and labels in shards; takes the place of `Samples` in a fit.

    `y` has the labels as numbers of `classes`, `start` the number of the first row of each shard.
    """

    X: Sharded
    y: Sharded
    start: Sharded
    sizes: list[int]
    classes: np.ndarray
    dtype: np.dtype
    attributes: dict
    triplets: Any = None
    is_in_memory: ClassVar[bool] = False

    @classmethod
    def check(cls, metric, X, y):
        """Return the checked arguments of a fit whose samples are in shards."""
        _check_options(metric)
        table = open_shards(X, y)
        X = table.X.map(_checked).light()
        shapes = X.reduce(operator.add, _shape).get()
        sizes, n_features = [n for n, _ in shapes], shapes[0][1]
        _check_lengths(table.y, sizes)
        classes = table.y.reduce(_union, np.unique).get()
        check_classification_targets(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class ({classes[0]}); triplets need samples of at least two classes"
            )
        if sum(sizes) < n_features:
            raise ValueError(
                f"X has {sum(sizes)} samples of {n_features} features in shards, which takes at "
                "least as many samples as features; give X as an array in memory"
            )
        start = Sharded.put(X.engine, np.cumsum([0, *sizes[:-1]]).tolist())
        codes = map_shards(np.searchsorted, classes, table.y)
        dtype = X.reduce(np.promote_types, operator.attrgetter("dtype")).get()
        names = table.feature_names
        names = None if names is None else np.array(names, dtype=object)
        attributes = {"n_features_in_": n_features, "feature_names_in_": names}
        return cls(X, codes, start, sizes, classes, dtype, attributes)

    def excerpt(self, n_samples):
        """Return about so many samples of all shards, in memory; classes keep their shares."""
        most = -(-n_samples // len(self.sizes))
        parts = map_shards(partial(_excerpt, most=most), self.X, self.y)
        rows = parts.reduce(operator.add, _same).get()
        X, y = (np.concatenate(each) for each in zip(*rows, strict=True))
        return Samples(X, self.classes[y], None, self.attributes)

    def fingerprints(self):
        """Return a text for each of X and y that differs for others."""
        of_shards = {"X": self.X, "y": self.y}
        texts = {n: v.map(_fingerprint).reduce(operator.add, _same) for n, v in of_shards.items()}
        joined = {name: "".join(parts.get()) for name, parts in texts.items()}
        joined["y"] += fingerprint(self.classes)
        return {name: fingerprint(np.array(list(text))) for name, text in joined.items()}

    def takes_prior(self, prior):
        """Return whether a metric can be learned with this prior from these samples."""
        return not (isinstance(prior, str) and prior in WHITENING)

    def coordinates(self, metric):
        """Return the coordinates to learn in."""
        units = self._units(metric)
        X = self.X.map(partial(_scaled, units)).light()
        largest = float(X.reduce(max, _largest).get()) or 1.0
        n_samples = sum(self.sizes)
        mean = X.reduce(operator.add, partial(_sum, largest)).get() / n_samples
        square = X.reduce(operator.add, partial(_centred_square, largest, mean)).get()
        spread = float(np.sqrt(square / n_samples))
        if not spread > 1e-15:
            raise ValueError(
                f"all {n_samples} rows of X are equal; there is no distance to learn from them"
            )
        Z = X.map(partial(_unit_rows, largest, mean, spread)).light()
        scale, root = largest * spread, None
        if metric.prior is not None and not isinstance(metric.prior, str):
            factor = prior_matrix_factor(metric.prior, self.attributes["n_features_in_"], "linear")
            root = prior_root(factor, scale)
        rows = ShardedMatrix(Z, (n_samples, len(mean)))
        return Coordinates(rows, scale, prior_root=root, units=units)

    def add_mined(self, triplets, metric, coordinates, point=None):
        """Return the triplets of the labels together with those of earlier passes."""
        mine = Mining(self, metric.n_neighbors, metric.n_impostors or metric.n_neighbors)
        L = None if point is None else point.factor()
        return ShardedTriplets.mined(self, mine.search(coordinates.Z.rows, L), triplets)

    def _units(self, metric):
        name = required_units(metric, self.y)
        if name != "auto":
            return self._measured(name)
        candidates, few = [self._measured(each) for each in UNITS], self.excerpt(MOST_SAMPLES)
        errors = [neighbor_error(each.scaled(few.X), few.y) for each in candidates]
        return candidates[int(np.argmin(errors))]

    def _measured(self, name):
        """Return the units of this name, from sums over all shards."""
        return Units() if name == "raw" else Units(name, self._weights[name])

    @cached_property
    def _weights(self):
        largest = self.X.reduce(np.maximum, _largest_of_features).get()
        unit = np.where(largest > 0, largest, 1.0)
        sums = map_shards(partial(_moments, unit, len(self.classes)), self.X, self.y)
        moments = sums.reduce(operator.add, _same).get()
        whole = moments.total.sum(axis=0) / moments.n_rows.sum()
        means = {"deviation": np.broadcast_to(whole, moments.total.shape)}
        means["within"] = moments.total / moments.n_rows[:, None]
        variance = {}
        for name, mean in means.items():
            squares = map_shards(partial(_squares, unit, mean), self.X, self.y)
            variance[name] = squares.reduce(operator.add, _same).get() / moments.n_rows.sum()
        deviation = np.sqrt(variance["deviation"])
        options = {"unit": unit, "whole": deviation, "dtype": self.dtype}
        return {
            "deviation": weights_from_spread(spread=None, **options),
            "within": weights_from_spread(spread=np.sqrt(variance["within"]), **options),
        }


class ShardedMatrix(NamedTuple):
    """Rows in shards, with the shape of all of them."""

    rows: Sharded
    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]


# Search for neighbours


class Place(NamedTuple):
    """Rows of a shard as points to search, with their classes and the number of the first."""

    points: np.ndarray
    labels: np.ndarray
    start: int


class Found(NamedTuple):
    """Candidates of the rows of a shard: neighbours of the same class, and of others."""

    near: list[Candidates]
    far: list[Candidates]

    def __add__(self, other):
        return Found(self.near + other.near, self.far + other.far)


@dataclass(frozen=True, eq=False)
class Mining:
    """Exact search for the neighbours of all rows among the rows of all shards."""

    samples: ShardedSamples
    n_near: int
    n_far: int

    def search(self, Z, L=None):
        """Return numbers of near and far rows, -1 where there are fewer, for each shard."""
        points = Z if L is None else Z.map(_product, Z.share(L)).light()
        square = points.reduce(operator.add, _scatter).get()
        n_samples, n_coordinates = sum(self.samples.sizes), len(square) - 1
        total, sums = np.trace(square[:-1, :-1]), square[-1, :-1]
        variance = total / n_samples - float(sums @ sums) / n_samples**2
        tie = TIE * float(np.sqrt(n_coordinates * variance))
        places = map_shards(Place, points, self.samples.y, self.samples.start)
        find = partial(_find, n_near=self.n_near, n_far=self.n_far, tie=tie)
        found = places.pairwise(find, operator.add, places)
        choose = partial(_choose, n_near=self.n_near, n_far=self.n_far, tie=tie)
        return found.map(choose)


def _find(queries, points, *, n_near, n_far, tie):
    """Return the candidates of one shard among the rows of another, class by class."""
    near, far = [], []
    own = queries.start + np.arange(len(queries.points))
    numbers = points.start + np.arange(len(points.points))
    prepared = Points(points.points)
    for label in np.unique(queries.labels):
        rows = np.flatnonzero(queries.labels == label)
        is_same = points.labels == label
        for is_chosen, k, found in ((is_same, n_near, near), (~is_same, n_far, far)):
            pool = np.flatnonzero(is_chosen)
            if len(pool):
                labels = (own[rows], numbers[pool])  # a row is not its own neighbour
                some = queries.points[rows], prepared.subset(pool)
                part = block_candidates(*some, k, labels=labels, tie=tie)
                found.append(_renumbered(part, rows, numbers[pool], len(own)))
    return Found([_joined(near, len(own))], [_joined(far, len(own))])


def _renumbered(part, rows, numbers, n_queries):
    """Return candidates of some queries as candidates of all, with the numbers of the points."""
    edge = np.full(n_queries, np.inf)
    edge[rows] = part.edge
    return Candidates(rows[part.row], numbers[part.number], part.value, edge)


def _joined(parts, n_queries):
    """Return the candidates of different queries as one."""
    none = np.empty(0, np.intp)
    parts = [*parts, Candidates(none, none, np.empty(0), np.full(n_queries, np.inf))]
    names = ("row", "number", "value")
    entries = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Candidates(*entries, np.min([part.edge for part in parts], axis=0))


def _choose(found, *, n_near, n_far, tie):
    """Return the numbers of the nearest among all candidates of a shard."""
    numbers = []
    for parts, k in ((found.near, n_near), (found.far, n_far)):
        number, is_certain = merge_candidates(parts, k, tie=tie)
        if not is_certain.all():
            raise RuntimeError(
                f"the neighbours of {np.count_nonzero(~is_certain)} rows are not certain"
            )
        numbers.append(number)
    return tuple(numbers)


# Triplets


@dataclass(frozen=True, eq=False)
class ShardedTriplets:
    """Triplets whose anchors are the rows of each shard, from one or several passes.

    `sets` has the triplets of each shard, by rows of `needed`: the numbers of all rows in them.
    """

    samples: ShardedSamples
    sets: Sharded
    needed: Sharded
    n_triplets: int
    recall: ClassVar[None] = None  # the search is exact

    @classmethod
    def mined(cls, samples, neighbors, before=None):
        """Return triplets of near and far rows, added to those of the passes before."""
        earlier = None if before is None else before.sets
        lists = map_shards(_lists, neighbors, samples.start, earlier, before and before.needed)
        sets, needed = lists.map(_local_sets), lists.map(_numbers_of)
        n_triplets = int(sets.reduce(operator.add, operator.attrgetter("n_triplets")).get())
        if not n_triplets:
            raise ValueError(
                "no triplet can be formed: no sample has both a neighbour of its own class and "
                "one of another class; give at least one class two samples"
            )
        return cls(samples, sets, needed, n_triplets)

    @property
    def share(self):
        """Weight of each row in a mean over all."""
        return self.sets.map(partial(_equal_weights, total=self.n_triplets))

    def constraints(self, Z):
        parts = map_shards(_constraints, self.sets, self._rows(Z))
        return ShardedConstraints(parts, Z.shape[1], self.n_triplets)

    def near_scatter(self, Z):
        """Return the P with <P, M> = mean of d^2(anchor, near) over the triplets."""
        sums = map_shards(_near_scatter, self.sets, self._rows(Z))
        return sums.reduce(operator.add, _same).get() / self.n_triplets

    def _rows(self, Z):
        """Return the rows of Z that each shard needs, those of other shards included."""
        places = map_shards(Place, Z.rows, self.samples.y, self.samples.start).light()
        return self.needed.pairwise(_rows_in, _append, places)


def _lists(neighbors, start, earlier, needed):
    """Return sets of triplets by the numbers of all rows: those of this pass after the others."""
    near, far = neighbors
    block = group_by_counts(near, far)
    own = [Block(b.anchors + start, b.near, b.far) for b in block]
    if not own:
        own = [Block(np.empty(0, np.intp), np.empty((0, 1), np.intp), np.empty((0, 1), np.intp))]
    mined = MinedTriplets(tuple(own))
    if earlier is None:
        return (mined,)
    parts = earlier.parts if isinstance(earlier, JoinedTriplets) else (earlier,)
    return (*(_moved(part, needed) for part in parts), mined)


def _moved(triplets, numbers):
    """Return triplets with each row i replaced by numbers[i]."""
    blocks = (Block(*(numbers[rows] for rows in vars(b).values())) for b in triplets.blocks)
    return MinedTriplets(tuple(blocks))


def _numbers_of(lists):
    rows = [rows.ravel() for part in lists for b in part.blocks for rows in vars(b).values()]
    return np.unique(np.concatenate(rows))


def _local_sets(lists):
    numbers = _numbers_of(lists)
    local = []
    for part in lists:
        blocks = (
            Block(*(np.searchsorted(numbers, rows) for rows in vars(b).values()))
            for b in part.blocks
        )
        local.append(MinedTriplets(tuple(blocks)))
    return local[0] if len(local) == 1 else JoinedTriplets(tuple(local))


def _rows_in(needed, place):
    """Return the needed rows that are in one shard."""
    local = needed - place.start
    return place.points[local[(local >= 0) & (local < len(place.points))]]


def _append(rows, others):
    return np.concatenate([rows, others])


def _constraints(triplets, rows):
    return triplets.constraints(rows)


def _near_scatter(triplets, rows):
    return triplets.near_scatter(rows) * triplets.n_triplets if triplets.n_triplets else 0.0


def _equal_weights(triplets, *, total):
    return np.full(triplets.n_triplets, 1 / total)


# Pieces


def _check_options(metric):
    for name, value in WHOLE.items():
        given = getattr(metric, name)
        if given != value:
            raise InvalidParameterError(
                f"{name}={given!r} needs all samples in memory, and X is in shards; give "
                f"{name}={value!r}, or X as an array"
            )
    if metric.neighbors == "approximate":
        raise InvalidParameterError(
            "neighbors='approximate' needs all samples in memory, and X is in shards, where the "
            "search is exact; give neighbors='auto', or X as an array"
        )
    if isinstance(metric.prior, str) and metric.prior in WHITENING:
        raise InvalidParameterError(
            f"prior={metric.prior!r} is computed from all samples in memory, and X is in shards; "
            "give the prior as a matrix, or X as an array"
        )


def _checked(piece):
    return check_array(piece, dtype=DTYPES, order="C", ensure_min_samples=0)


def _shape(piece):
    return [piece.shape]


def _check_lengths(y, sizes):
    lengths = y.reduce(operator.add, _length).get()
    if lengths != sizes:
        raise ValueError(f"the shards of y have {lengths} labels, those of X {sizes} samples")


def _length(piece):
    return [len(piece)]


def _union(a, b):
    return np.union1d(a, b)


def _same(piece):
    return piece


def _fingerprint(piece):
    return [fingerprint(piece)]


def _excerpt(X, y, *, most):
    rows = spread_rows(y, most)
    return [(X[rows], y[rows])]


def _scaled(units, X):
    return units.scaled(X)


def _largest(X):
    return float(np.abs(X).max(initial=0.0))


def _largest_of_features(X):
    return np.abs(X).max(axis=0, initial=0.0).astype(np.float64)


def _sum(largest, X):
    return (X.astype(np.float64) / largest).sum(axis=0)


def _centred_square(largest, mean, X):
    X = X.astype(np.float64) / largest - mean
    return float(np.einsum("ij,ij->", X, X))


def _unit_rows(largest, mean, spread, X):
    return round_to_grid((X.astype(np.float64) / largest - mean) / spread)


def _product(Z, L):
    return Z @ L


def _scatter(points):
    """Return the products of all coordinates, and of a last one that is 1."""
    points = np.column_stack([points, np.ones(len(points))])
    return points.T @ points


def _moments(unit, n_classes, X, y):
    """Return the sums of X / unit of each class."""
    total = np.zeros((n_classes, X.shape[1]))
    np.add.at(total, y, X / unit)
    return Moments(np.bincount(y, minlength=n_classes), total)


def _squares(unit, means, X, y):
    """Return the sum of squares of X / unit without the means of the classes."""
    return np.sum((X / unit - means[y]) ** 2, axis=0)
