"""Triplets and quadruplets as the problem needs them: rows of constraints, and a weight each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..comparisons.encoding import as_weights
from ..core import NeighborTriplets, Pairs, Quadruplets, Stack, Triplets


class _Weighted:
    """What all sets have: rows with weights, of which the problem takes a mean."""

    @property
    def n_triplets(self):
        return len(self.weight)

    @property
    def share(self):
        """The weight of each row in a mean over all."""
        return self.weight / self.weight.sum()


@dataclass(frozen=True)
class GivenTriplets(_Weighted):
    """Triplets (anchor, near, far) as rows of indices, with a weight each."""

    index: np.ndarray
    weight: np.ndarray
    kind: ClassVar[type] = Triplets

    def constraints(self, X):
        return self.kind(X, self.index)

    def near_scatter(self, X):
        """The P with <P, M> = weighted mean of d^2(near pair) over the rows."""
        return Pairs(X, self.index[:, :2]).adjoint(self.share)

    def to_array(self):
        return self.index

    def to_arrays(self):
        """What a file has to hold: see `triplets_from_arrays`."""
        return {"index": self.index, "weight": self.weight}


@dataclass(frozen=True)
class GivenQuadruplets(GivenTriplets):
    """Quadruplets (a, b, c, d): a and b are closer than c and d."""

    kind: ClassVar[type] = Quadruplets


@dataclass(frozen=True)
class Block:
    """Anchors that have equally many neighbours; every near with every far is a triplet."""

    anchors: np.ndarray
    near: np.ndarray
    far: np.ndarray

    @property
    def n_triplets(self):
        return self.near.size * self.far.shape[1]

    def near_scatter(self, X):
        """The sum over the triplets of (anchor - near) (anchor - near).T."""
        n_near, n_far = self.near.shape[1], self.far.shape[1]
        pairs = np.column_stack([np.repeat(self.anchors, n_near), self.near.ravel()])
        return Pairs(X, pairs).adjoint(np.full(len(pairs), float(n_far)))

    def to_array(self):
        """Rows (anchor, near, far) in the order of `NeighborTriplets`."""
        n_near, n_far = self.near.shape[1], self.far.shape[1]
        return np.column_stack(
            [
                np.repeat(self.anchors, n_near * n_far),
                np.repeat(self.near, n_far, axis=1).ravel(),
                np.tile(self.far, (1, n_near)).ravel(),
            ]
        )


@dataclass(frozen=True)
class MinedTriplets(_Weighted):
    """Triplets kept as neighbour lists, never as one row a triplet."""

    blocks: tuple[Block, ...]

    @property
    def n_triplets(self):
        return sum(block.n_triplets for block in self.blocks)

    @property
    def weight(self):
        return np.ones(self.n_triplets)

    def constraints(self, X):
        parts = [NeighborTriplets(X, b.anchors, b.near, b.far) for b in self.blocks]
        return parts[0] if len(parts) == 1 else Stack(parts)

    def near_scatter(self, X):
        """The P with <P, M> = weighted mean of d^2(anchor, near) over the triplets."""
        return np.sum([block.near_scatter(X) for block in self.blocks], axis=0) / self.n_triplets

    def to_array(self):
        """The same triplets as an (n_triplets, 3) array of (anchor, near, far)."""
        return np.concatenate([block.to_array() for block in self.blocks])

    def to_arrays(self):
        """What a file has to hold: see `triplets_from_arrays`."""
        return {
            f"{name}.{i}": getattr(block, name)
            for i, block in enumerate(self.blocks)
            for name in ("anchors", "near", "far")
        }


@dataclass(frozen=True)
class Together(_Weighted):
    """Triplets of several sources, such as labels and comparisons, one after the other."""

    parts: tuple[MinedTriplets | GivenTriplets, ...]

    @property
    def weight(self):
        return np.concatenate([part.weight for part in self.parts])

    def constraints(self, X):
        return Stack([part.constraints(X) for part in self.parts])

    def near_scatter(self, X):
        """The P with <P, M> = weighted mean of d^2(anchor, near) over all triplets."""
        totals = np.array([part.weight.sum() for part in self.parts])
        shares = totals / totals.sum()
        scatters = zip(shares, self.parts, strict=True)
        return np.sum([share * part.near_scatter(X) for share, part in scatters], axis=0)

    def to_array(self):
        """All triplets as an (n_triplets, 3) array of (anchor, near, far)."""
        return np.concatenate([part.to_array() for part in self.parts])

    def to_arrays(self):
        """What a file has to hold: see `triplets_from_arrays`."""
        return {
            f"{i}/{name}": array
            for i, part in enumerate(self.parts)
            for name, array in part.to_arrays().items()
        }


def is_same_set(a, b):
    """Whether two sets of given rows are the same, in the same order, with the same shares."""
    return np.array_equal(a.index, b.index) and np.allclose(a.share, b.share, rtol=1e-9, atol=0)


def together(*sources):
    """One set of all sources that are not None."""
    given = tuple(source for source in sources if source is not None)
    return given[0] if len(given) == 1 else Together(given)


def triplets_from_arrays(arrays):
    """The triplets whose `to_arrays` gave these arrays."""
    if parts := parts_of(arrays):
        return Together(tuple(triplets_from_arrays(part) for part in parts))
    if "index" in arrays:
        kind = GivenTriplets if arrays["index"].shape[1] == 3 else GivenQuadruplets
        return kind(arrays["index"], arrays["weight"])
    numbers = range(len(arrays) // 3)
    return MinedTriplets(
        tuple(
            Block(*(arrays[f"{name}.{i}"] for name in ("anchors", "near", "far"))) for i in numbers
        )
    )


def parts_of(arrays):
    """The arrays of each part of `Together`, in order; empty for any other set."""
    parts = {}
    for key, array in arrays.items():
        number, slash, name = key.partition("/")
        if slash:
            parts.setdefault(int(number), {})[name] = array
    return [parts[number] for number in sorted(parts)]


def as_triplets(triplets, n_samples, weight=None):
    """Triplets given by the user, checked; without weights neighbour lists stay what they are."""
    if isinstance(triplets, _Weighted):
        index = triplets.to_array()
    else:
        index, triplets = _as_index(triplets), None
    _check_index(index, n_samples)
    if weight is None and triplets is not None:
        return triplets
    return GivenTriplets(index, as_weights(weight, len(index), "triplet_weight"))


def _as_index(triplets):
    index = np.asarray(triplets)
    if index.size == 0:
        raise ValueError("triplets is empty; give at least one row (anchor, near, far)")
    if index.ndim != 2 or index.shape[1] != 3:
        raise ValueError(
            f"triplets has shape {index.shape}; expected (n_triplets, 3): anchor, near, far"
        )
    if not np.issubdtype(index.dtype, np.integer):
        raise TypeError(
            f"triplets has dtype {index.dtype}; expected integers, the row numbers of X"
        )
    return index.astype(np.intp)


def _check_index(index, n_samples):
    outside = np.flatnonzero(((index < 0) | (index >= n_samples)).any(axis=1))
    if len(outside):
        row = outside[0]
        raise ValueError(
            f"triplets[{row}] = {tuple(index[row].tolist())} is out of range; X has {n_samples} "
            f"rows, so indices go from 0 to {n_samples - 1}"
        )
    anchor, near, far = index.T
    equal = np.flatnonzero((anchor == near) | (anchor == far) | (near == far))
    if len(equal):
        row = equal[0]
        raise ValueError(
            f"triplets[{row}] = {tuple(index[row].tolist())} compares a point with itself; the "
            "three indices must differ"
        )
