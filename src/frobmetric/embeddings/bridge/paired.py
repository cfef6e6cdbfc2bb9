"""Paired vectors of two encoders: checked, scaled, without duplicates, split for calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from ...checks.samples import DTYPES, SampleReader, check_array, check_random_state
from ...core.points import Array
from ...model.linear_map import Features
from ...search.rows import row_keys
from .ridge import Cells, RidgePath
from .trust import OldIndex

#: Smallest number of pairs of a fit, and of a cell.
MIN_PAIRS = 5


@dataclass(frozen=True)
class BridgeRecipe:
    """What is asked of a bridge; the fields are parameters of `EncoderBridge`."""

    n_maps: int
    strength: float | None
    neighbor_weight: float | None
    prior: str
    n_neighbors: int
    unit_length: bool
    calibration: float
    good_recall: float
    tol: float
    max_iter: int
    random_state: Any


@dataclass(frozen=True, eq=False)
class PairedVectors:
    """Vectors of the same texts by both encoders, the prior map, and the seed of all draws."""

    X: Array
    Y: Array
    prior: Array
    seed: int

    def path(self, cells: Cells) -> RidgePath:
        """Return the ridge maps of all strengths for these cells."""
        features = cells.features(self.X)
        prior = np.zeros((features.shape[1], self.Y.shape[1]))
        prior[: self.X.shape[1]] = cells.scale * self.prior
        return RidgePath.of(features, self.Y, prior, self.X.shape[1])

    def take(self, rows: Any) -> PairedVectors:
        """Return some of the pairs."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])


@dataclass(frozen=True, eq=False)
class FitData:
    """Checked and scaled arguments of a fit: pairs to fit, pairs to calibrate with, the index.

    `choice` are the pairs that options are chosen by. A rotation knows the pairs that it comes
    from, so these are then one half of all pairs, with the rotation of the other half.
    """

    pairs: PairedVectors
    choice: PairedVectors
    calibration: tuple[Array, Array]
    index: OldIndex
    n_maps: int
    n_duplicates: int
    features: Features
    scales: tuple[float, float]

    @classmethod
    def check(
        cls, reader: SampleReader, recipe: BridgeRecipe, X: Any, y: Any, index: Any
    ) -> FitData:
        """Return what a fit needs; `scales` are those of new and of old vectors."""
        least = {"ensure_min_samples": MIN_PAIRS}
        least["ensure_min_features"] = 2 if recipe.unit_length else 1  # one has no direction
        X, _, seen = reader.read(X, **least)
        X = X.astype(np.float64)
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {reader.name} needs the old "
                "vectors of the same texts"
            )
        Y = as_old_vectors(y)
        check_consistent_length(X, Y)
        given = None if index is None else _check_index(index, Y.shape[1])
        features = Features(*seen, unit_length=bool(recipe.unit_length))
        scales = (1.0, 1.0) if features.unit_length else (_largest(X), _largest(Y))
        X, Y = features.vectors(X) / scales[0], features.vectors(Y) / scales[1]
        if given is not None:
            given = features.vectors(given) / scales[1]
        return cls._split(recipe, X, Y, given, (features, scales))

    @classmethod
    def _split(
        cls,
        recipe: BridgeRecipe,
        X: Array,
        Y: Array,
        given: Array | None,
        kind: tuple[Features, tuple[float, float]],
    ) -> FitData:
        rows = _distinct_pairs(X, Y)
        if len(rows) < MIN_PAIRS:
            raise ValueError(
                f"only {len(rows)} of the {len(X)} pairs differ; give at least {MIN_PAIRS} "
                "different ones, and some thousand for a useful map"
            )
        n_duplicates, X, Y = len(X) - len(rows), X[rows], Y[rows]
        seed = int(check_random_state(recipe.random_state).randint(2**31 - 1))
        fit, held = _conformal_split(len(X), recipe.calibration, seed)
        if len(fit) < MIN_PAIRS - 1:
            raise ValueError(
                f"calibration={recipe.calibration:g} leaves {len(fit)} of {len(X)} pairs to fit;"
                " lower it, or give more pairs"
            )
        vectors = Y[fit] if given is None else given
        n_neighbors = min(recipe.n_neighbors, len(vectors) - 1)
        pairs = PairedVectors(X[fit], Y[fit], _prior(recipe.prior, X[fit], Y[fit]), seed)
        # a cell needs a few pairs, and k-means as many different points as cells
        n_different = len(np.unique(X[fit], axis=0))
        n_maps = max(1, min(recipe.n_maps, n_different // MIN_PAIRS))
        old = OldIndex(vectors, n_neighbors, kind[0].unit_length)
        choice = _crossed(pairs) if recipe.prior == "rotation" else pairs
        return cls(pairs, choice, (X[held], Y[held]), old, n_maps, n_duplicates, *kind)


def _conformal_split(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Return the rows to fit and the rows to calibrate with, drawn at random."""
    order = np.random.default_rng(seed).permutation(n)
    n_calibration = round(share * n)
    return np.sort(order[n_calibration:]), np.sort(order[:n_calibration])


def _distinct_pairs(X: Array, Y: Array) -> Any:
    """Return the rows of distinct pairs, the first of each kind."""
    _, first = np.unique(row_keys(np.hstack([X, Y])), return_index=True)
    return np.sort(first)


def as_old_vectors(y: Any) -> Array:
    """Return old vectors of pairs as float64; one number for each pair is a vector of one."""
    y = check_array(y, dtype=DTYPES, input_name="y", ensure_2d=False).astype(np.float64)
    return y.reshape(-1, 1) if y.ndim == 1 else y


def _check_index(index: Any, n_old: int) -> Array:
    index = check_array(index, dtype=DTYPES, input_name="index", ensure_min_samples=2)
    if index.shape[1] != n_old:
        raise ValueError(
            f"index has {index.shape[1]} features and y has {n_old}; both are vectors of the old "
            "encoder and must have as many"
        )
    return index.astype(np.float64)


def _largest(Z: Array) -> float:
    return float(np.abs(Z).max()) or 1.0


def _crossed(pairs: PairedVectors) -> PairedVectors:
    """Return one half of the pairs, with the rotation of the other half as prior."""
    order = np.random.default_rng(pairs.seed).permutation(len(pairs.X))
    rest, half = (np.sort(rows) for rows in np.array_split(order, 2)[::-1])
    return replace(pairs.take(half), prior=_prior("rotation", pairs.X[rest], pairs.Y[rest]))


def _prior(name: str, X: Array, Y: Array) -> Array:
    """Return the prior map of centred vectors, (n_new, n_old)."""
    if name == "zero":
        return np.zeros((X.shape[1], Y.shape[1]))
    if name == "identity":
        return np.eye(X.shape[1], Y.shape[1])
    left, size, right = np.linalg.svd(
        (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)), full_matrices=False
    )
    variance = float(np.sum((X - X.mean(axis=0)) ** 2)) or 1.0
    return (size.sum() / variance) * left @ right
