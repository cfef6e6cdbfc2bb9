"""Samples of a fit in memory, with weights and some without label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..checks.arguments import UNLABELED, as_weights, labelled_rows
from ..checks.samples import SampleReader, check_classification_targets, type_of_target
from ..core.points import Array, Data, Index, Mask, Point, Vector
from ..model.recipe import Recipe
from ..model.sets import TripletSet, as_triplets, concatenate
from ..runtime.checkpoint import fingerprint
from ..search.rows import has_repeats, merge_labelled
from .coordinates import Coordinates, coordinates_of
from .targets import as_targets, mine_by_targets, target_groups
from .triplets import mine_distinct
from .units import labelled_part


@dataclass(frozen=True, eq=False)
class Merge:
    """Rows as they were given, and the samples that they were merged to.

    `sample` has the number of the sample of each row, -1 if its weight is zero; `first` has the
    number of the first row of each sample.
    """

    X: Any
    y: Any
    row_weight: Vector
    sample: Index
    first: Index

    def part(self, rows: Any) -> tuple[Index, Vector]:
        """Return the samples of some rows, rising, and the sum of the weights of each."""
        rows = np.asarray(rows)
        rows = rows[self.sample[rows] >= 0]
        weights = self.sample[rows], self.row_weight[rows]
        weight = np.bincount(*weights, minlength=len(self.first)).astype(np.float64)
        samples = np.flatnonzero(weight)
        return samples, weight[samples]

    def folds(self, splits: Iterable[tuple[Index, Index]]) -> tuple[list[Any], ...]:
        """Convert splits of rows into splits of merged samples, and their weights."""
        both = [tuple(self.part(rows) for rows in split) for split in splits]
        return tuple([tuple(part[i] for part in split) for split in both] for i in range(2))

    def restricted(self, is_kept: Mask) -> Merge:
        """Return the merge to some of the samples, given as a mask; they are numbered anew."""
        number = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)
        return replace(self, sample=number[self.sample], first=self.first[is_kept])


@dataclass(frozen=True, eq=False)
class Samples:
    """Checked arguments of a fit from labels, from triplets, or from both.

    With labels, equal rows of one class are one sample, with the sum of their weights: a weight of
    two is the same as the row twice. Weighted samples are in an order that depends on their values
    alone. `weight` is None if all weights are one, `known` a mask of the samples with a label, None
    if all have one. `features` are number and names of the features. If y are targets of a
    regression, `targets` has them, and `y` groups of them in place of classes.
    """

    X: Data
    y: Any
    triplets: Any
    features: tuple[int, Array | None]
    weight: Vector | None = None
    known: Mask | None = None
    merge: Merge | None = None
    targets: Vector | None = None
    n_unlabeled: int | None = None
    is_in_memory: ClassVar[bool] = True

    @classmethod
    def check(
        cls,
        recipe: Recipe,
        reader: SampleReader,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        triplets: Any = None,
        triplet_weight: Any = None,
    ) -> Samples:
        """Return the checked arguments of a fit, read by the reader of an estimator."""
        _check_given(y, sample_weight, triplets, triplet_weight)
        options = {"order": "C"}  # sums of data frames and of arrays round alike
        if triplets is not None and y is None:
            X, _, features = reader.read(X, ensure_min_samples=3, **options)
        else:
            X, y, features = reader.read(X, y, ensure_min_samples=2, **options)
            y = as_targets(y) if recipe.has_targets else _as_classes(y)
        if triplets is not None:
            triplets = as_triplets(triplets, X.shape[0], triplet_weight)
        samples = cls(X, y, triplets, features)
        if y is None:
            return samples
        weight = sample_weight
        if weight is not None:
            weight = as_weights(weight, X.shape[0], of="rows of X")
        samples = samples._merged(weight, recipe.kernel == "precomputed")
        return samples._described(recipe.has_targets)

    @property
    def rows(self) -> Index | None:
        """First row of X that each sample stands for; None if the samples are the rows."""
        return None if self.merge is None or self.y is None else self.merge.first

    @property
    def row_weight(self) -> Vector | None:
        """Weight of each sample, if the samples are not the rows of X."""
        if self.rows is None:
            return None
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers of X."""
        return self.X.dtype

    def excerpt(self, n_samples: int) -> Samples:
        """Return samples for rough checks: all of them, since they are in memory."""
        return self

    def labelled(self) -> Samples:
        """Return the samples that have a label."""
        if self.known is None:
            return self
        X, y, weight = labelled_part(self.known, self.X, self.y, self.weight)
        merge = self.merge
        if merge is None:
            rows = np.arange(len(self.y))
            merge = Merge(self.X, self.y, np.ones(len(rows)), rows, rows)
        return replace(
            self, X=X, y=y, weight=weight, known=None, merge=merge.restricted(self.known)
        )

    def fingerprints(self) -> dict[str, str]:
        """Return a text for each of X, y, weights and triplets that differs for others."""
        X = self.X
        parts = (X.data, X.indices, X.indptr, np.array(X.shape)) if issparse(X) else (X,)
        texts = {"X": fingerprint(*parts)}
        if self.y is not None:
            texts["y"] = fingerprint(self.y if self.targets is None else self.targets)
        if self.weight is not None:
            texts["sample_weight"] = fingerprint(self.weight)
        if self.triplets is not None:
            texts["triplets"] = fingerprint(*self.triplets.to_arrays().values())
        return texts

    def takes_prior(self, prior: Any) -> bool:
        """Return whether a metric can be learned with this prior from these samples."""
        return True

    def coordinates(self, recipe: Recipe, **before: Any) -> Coordinates:
        """Return the coordinates to learn in; `before` describes an earlier fit to update."""
        options = {"triplets": self.triplets, "weight": self.weight, "known": self.known} | before
        coordinates = coordinates_of(recipe, self.X, self.y, **options)
        if self.merge is None or recipe.kernel != "precomputed":
            return coordinates
        return coordinates.scattered(self.merge.first, len(self.merge.sample))

    def add_mined(
        self,
        triplets: TripletSet | None,
        recipe: Recipe,
        coordinates: Coordinates,
        point: Point | None = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Return triplets, None for none, together with those of the labels.

        Neighbours are searched in the coordinates, or under the metric `point` of an earlier pass.
        """
        if self.y is None:
            return triplets
        Z = coordinates.Z if point is None else coordinates.Z @ point.factor()
        options: dict[str, Any] = {
            "n_neighbors": recipe.n_neighbors,
            "n_impostors": recipe.n_impostors,
            "n_jobs": n_jobs,
        }
        Z, y, weight = labelled_part(self.known, Z, self.y, self.weight)
        if self.targets is None:
            options |= {"neighbors": recipe.neighbors, "warn_small": point is None}
            mined = mine_distinct(Z, y, **options)
        else:
            mined = mine_by_targets(Z, self.targets, **options)
        if weight is not None:
            mined = mined.weighted(weight)
        if self.known is not None:
            mined = mined.renumbered(np.flatnonzero(self.known))
        return concatenate(mined, triplets)

    def _merged(self, weight: Vector | None, is_kernel: bool = False) -> Samples:
        """Return the samples with equal rows of one class as one, and without rows of weight zero.

        In a kernel matrix, equal rows are equal columns.
        """
        classes = np.unique(self.y, return_inverse=True)[1]
        if weight is None and not has_repeats(self.X, classes):
            return self
        weight = np.ones(len(classes)) if weight is None else weight
        rows = np.flatnonzero(weight)
        first, kind = merge_labelled(self.X[rows], classes[rows])
        total: Any = np.bincount(kind, weight[rows])
        if (total == 1).all():  # as distinct rows without weights are, in their order
            order = np.argsort(first)
            first, kind, total = first[order], np.argsort(order)[kind], None
            if len(first) == len(classes):
                return self
        first, sample = rows[first], np.full(len(classes), -1)
        sample[rows] = kind
        X = self.X[first]
        X = X[:, first] if is_kernel and self.X.shape[0] == self.X.shape[1] else X
        merge = Merge(self.X, self.y, weight, sample, first)
        triplets = None if self.triplets is None else _renumbered(self.triplets, sample)
        return replace(self, X=X, y=self.y[first], weight=total, triplets=triplets, merge=merge)

    def _described(self, has_targets: bool) -> Samples:
        """Return the samples with a mask of those with a label, or with targets."""
        y = self.y if self.merge is None else self.merge.y[self.merge.sample >= 0]
        if has_targets:
            return replace(self, y=target_groups(self.y), targets=self.y)
        n_unlabeled = int(np.count_nonzero(~labelled_rows(y)))
        known: Mask | None = self.y != UNLABELED if n_unlabeled else None
        return replace(self, n_unlabeled=n_unlabeled or None, known=known)


def _as_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels; refuse numbers that look like measurements."""
    if type_of_target(y, input_name="y") == "continuous":
        raise ValueError(
            f"y has {len(np.unique(y))} different numbers with fractions, such as {y[0]!r}; "
            "expected class labels (Unknown label type: continuous). For regression give "
            "FrobMetric(targets='values'), or MLKR; otherwise give the classes as text or integers"
        )
    check_classification_targets(y)
    return y


def _check_given(y: Any, sample_weight: Any, triplets: Any, triplet_weight: Any) -> None:
    """Refuse weights of things that were not given."""
    if triplets is None and triplet_weight is not None:
        raise ValueError("triplet_weight was given without triplets; it weighs their rows")
    if y is None and triplets is not None and sample_weight is not None:
        raise ValueError(
            "sample_weight was given with triplets and without y; it weighs the samples whose "
            "labels triplets are found from: give y, or triplet_weight to weigh the triplets"
        )


def _renumbered(triplets: TripletSet, sample: Index) -> TripletSet:
    """Return triplets of rows as triplets of samples."""
    index = triplets.to_array()
    lost = np.flatnonzero((sample[index] < 0).any(axis=1))
    if len(lost):
        i = lost[0]
        row = next(row for row in index[i].tolist() if sample[row] < 0)
        raise ValueError(
            f"triplets[{i}] = {tuple(index[i].tolist())} names row {row}, whose sample_weight is "
            "zero, which is the same as the row left out; remove the triplet or give the row a "
            f"weight (triplets with such rows: {len(lost)})"
        )
    return triplets.renumbered(sample)
