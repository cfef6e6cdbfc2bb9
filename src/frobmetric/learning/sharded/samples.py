"""Samples and labels in shards: checks, statistics and coordinates; all rows stay in place."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...backends import open_shards
from ...backends.vectors import Sharded, map_shards
from ...checks.arguments import labelled_rows
from ...checks.parameters import InvalidParameterError
from ...checks.samples import DTYPES, check_array, check_classification_targets
from ...checks.text import shown
from ...core.points import Array, Index, Point, Vector
from ...model.recipe import Recipe
from ...model.units import UNITS, Units
from ...runtime.checkpoint import fingerprint
from ..coordinates import Coordinates, prior_root, round_to_grid
from ..priors import prior_matrix_factor
from ..samples import Samples
from ..units import (
    FAR,
    MOST_SAMPLES,
    WHITENING,
    from_lowest,
    neighbor_error,
    required_units,
    spread_places,
    weights_from_spread,
)
from .search import Mining
from .triplets import ShardedTriplets

#: Options of a fit that need all samples in one place, with the only value that does not.
WHOLE = {"kernel": "linear", "n_directions": None, "keep_dual": False, "targets": "classes"}


class Moments(NamedTuple):
    """Numbers and sums of the rows of each class."""

    n_rows: Index
    total: Array

    def __add__(self, other: Any) -> Moments:
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
    classes: NDArray[Any]
    dtype: np.dtype[Any]
    features: tuple[int, Any]
    triplets: Any = None
    n_unlabeled: ClassVar[None] = None
    rows: ClassVar[None] = None
    row_weight: ClassVar[None] = None
    is_in_memory: ClassVar[bool] = False

    @classmethod
    def check(cls, recipe: Recipe, X: Any, y: Any, *, keep_dual: bool = False) -> Self:
        """Return the checked arguments of a fit whose samples are in shards."""
        _check_options(recipe, keep_dual)
        table = open_shards(X, y)
        X = table.X.map(_checked).light()
        shapes = X.reduce(operator.add, _shape).get()
        sizes, n_features = [n for n, _ in shapes], shapes[0][1]
        _check_lengths(table.y, sizes)
        classes = table.y.reduce(_union, np.unique).get()
        check_classification_targets(classes)
        _check_labels(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class ({shown(classes[0])}); triplets need samples of at least two "
                "classes"
            )
        if sum(sizes) < n_features:
            raise ValueError(
                f"X has {sum(sizes)} samples of {n_features} features in shards, which takes at "
                "least as many samples as features; give X as an array in memory"
            )
        start = Sharded.put(X.engine, np.cumsum([0, *sizes[:-1]]).tolist())
        codes = map_shards(np.searchsorted, classes, table.y)
        dtype = X.reduce(np.promote_types, operator.attrgetter("dtype")).get()
        given = table.feature_names
        names = None if given is None else np.array(given, dtype=object)
        return cls(X, codes, start, sizes, classes, dtype, (n_features, names))

    def excerpt(self, n_samples: int) -> Samples:
        """Return at most so many samples in memory: those that `spread_rows` gives of all rows."""
        n_classes = len(self.classes)
        counts = np.array(self.y.map(partial(_counts, n_classes)).reduce(operator.add, _same).get())
        total = counts.sum(axis=0)
        # place of the first sample of each class and shard in the order by class
        first = np.cumsum(total) - total + np.cumsum(counts, axis=0) - counts
        first = Sharded.put(self.X.engine, list(first))
        places = spread_places(int(total.sum()), n_samples)
        parts = map_shards(partial(_excerpt, places=places), self.X, self.y, first)
        X, y = zip(*parts.reduce(operator.add, _same).get(), strict=True)
        return Samples(np.concatenate(X), self.classes[np.concatenate(y)], None, self.features)

    def fingerprints(self) -> dict[str, str]:
        """Return a text for each of X and y that differs for others."""
        of_shards = {"X": self.X, "y": self.y}
        texts = {n: v.map(_fingerprint).reduce(operator.add, _same) for n, v in of_shards.items()}
        joined = {name: "".join(parts.get()) for name, parts in texts.items()}
        joined["y"] += fingerprint(self.classes)
        return {name: fingerprint(np.array(list(text))) for name, text in joined.items()}

    def takes_prior(self, prior: Any) -> bool:
        """Return whether a metric can be learned with this prior from these samples."""
        return not (isinstance(prior, str) and prior in WHITENING)

    def coordinates(self, recipe: Recipe) -> Coordinates:
        """Return the coordinates to learn in."""
        units = self._units(recipe)
        lowest = self.X.reduce(np.minimum, _lowest).get()
        X = self.X.map(partial(_scaled, units, lowest)).light()
        largest = float(X.reduce(max, _largest).get()) or 1.0
        n_samples = sum(self.sizes)
        mean = X.reduce(operator.add, partial(_sum, largest)).get() / n_samples
        square = X.reduce(operator.add, partial(_centred_square, largest, mean)).get()
        spread = float(np.sqrt(square / n_samples))
        if not spread > 1e-15:
            raise ValueError("all rows of X are equal; there is no distance to learn from them")
        Z = X.map(partial(_unit_rows, largest, mean, spread)).light()
        scale, root = largest * spread, None
        if recipe.prior is not None and not isinstance(recipe.prior, str):
            factor = prior_matrix_factor(recipe.prior, self.features[0], "linear")
            root = prior_root(factor, scale)
        rows = ShardedMatrix(Z, (n_samples, len(mean)))
        return Coordinates(rows, scale, prior_root=root, units=units)

    def add_mined(
        self,
        triplets: ShardedTriplets | None,
        recipe: Recipe,
        coordinates: Coordinates,
        point: Point | None = None,
        n_jobs: int | None = None,
    ) -> ShardedTriplets:
        """Return the triplets of the labels together with those of earlier passes."""
        mine = Mining(self, recipe.n_neighbors, recipe.n_impostors or recipe.n_neighbors)
        L = None if point is None else point.factor()
        return ShardedTriplets.mined(self, mine.search(coordinates.Z.rows, L), triplets)

    def _units(self, recipe: Recipe) -> Units:
        name = required_units(recipe, self.y)
        if name != "auto":
            return self._measured(name)
        candidates, few = [self._measured(each) for each in UNITS], self.excerpt(MOST_SAMPLES)
        near = from_lowest(few.X)
        errors = [neighbor_error(each.scaled(near), few.y) for each in candidates]
        return candidates[int(np.argmin(errors))]

    def _measured(self, name: str) -> Units:
        """Return the units of this name, from sums over all shards."""
        return Units() if name == "raw" else Units(name, self._weights[name])

    @cached_property
    def _weights(self) -> dict[str, Vector]:
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


# Pieces


def _check_options(recipe: Recipe, keep_dual: bool) -> None:
    for name, value in WHOLE.items():
        given = keep_dual if name == "keep_dual" else getattr(recipe, name)
        if given != value:
            raise InvalidParameterError(
                f"{name}={given!r} needs all samples in memory, and X is in shards; give "
                f"{name}={value!r}, or X as an array"
            )
    if recipe.neighbors == "approximate":
        raise InvalidParameterError(
            "neighbors='approximate' needs all samples in memory, and X is in shards, where the "
            "search is exact; give neighbors='auto', or X as an array"
        )
    if isinstance(recipe.prior, str) and recipe.prior in WHITENING:
        raise InvalidParameterError(
            f"prior={recipe.prior!r} is computed from all samples in memory, and X is in shards; "
            "give the prior as a matrix, or X as an array"
        )


def _check_labels(classes: NDArray[Any]) -> None:
    """Refuse the label -1 where it means that a row has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        is_known = labelled_rows(classes)
    if not is_known.all():
        raise ValueError(
            f"y has the label -1, of rows without a label, beside {len(classes) - 1} classes, and "
            "X is in shards, where every row needs a label; leave these rows out or give X as an "
            "array; if -1 is a class, give it another name, for example y + 1"
        )


def _checked(piece: Any) -> Array:
    return check_array(piece, dtype=DTYPES, order="C", ensure_min_samples=0)


def _shape(piece: Array) -> list[tuple[int, ...]]:
    return [piece.shape]


def _check_lengths(y: Sharded, sizes: list[int]) -> None:
    lengths = y.reduce(operator.add, _length).get()
    if lengths != sizes:
        raise ValueError(f"the shards of y have {lengths} labels, those of X {sizes} samples")


def _length(piece: NDArray[Any]) -> list[int]:
    return [len(piece)]


def _union(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.union1d(a, b)


def _same(piece: Any) -> Any:
    return piece


def _fingerprint(piece: NDArray[Any]) -> list[str]:
    return [fingerprint(piece)]


def _counts(n_classes: int, y: Index) -> list[Index]:
    return [np.bincount(y, minlength=n_classes)]


def _excerpt(X: Array, y: Index, first: Index, *, places: Index) -> list[tuple[Array, Index]]:
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    place = first[ordered] + np.arange(len(y)) - np.searchsorted(ordered, ordered)
    rows = np.sort(order[np.isin(place, places)])
    return [(X[rows], y[rows])]


def _scaled(units: Units, lowest: Vector, X: Array) -> Array:
    X = X.astype(np.float64)
    return units.scaled(X - lowest if np.abs(lowest).max() < FAR else X)


def _lowest(X: Array) -> Vector:
    return X.min(axis=0, initial=np.inf).astype(np.float64)


def _largest(X: Array) -> float:
    return float(np.abs(X).max(initial=0.0))


def _largest_of_features(X: Array) -> Vector:
    return np.abs(X).max(axis=0, initial=0.0).astype(np.float64)


def _sum(largest: float, X: Array) -> Vector:
    return (X.astype(np.float64) / largest).sum(axis=0)


def _centred_square(largest: float, mean: Vector, X: Array) -> float:
    X = X.astype(np.float64) / largest - mean
    return float(np.einsum("ij,ij->", X, X))


def _unit_rows(largest: float, mean: Vector, spread: float, X: Array) -> Array:
    return round_to_grid((X.astype(np.float64) / largest - mean) / spread)


def _moments(unit: Vector, n_classes: int, X: Array, y: Index) -> Moments:
    """Return the sums of X / unit of each class."""
    total = np.zeros((n_classes, X.shape[1]))
    np.add.at(total, y, X / unit)
    return Moments(np.bincount(y, minlength=n_classes), total)


def _squares(unit: Vector, means: Array, X: Array, y: Index) -> Vector:
    """Return the sum of squares of X / unit without the means of the classes."""
    return np.sum((X / unit - means[y]) ** 2, axis=0)
