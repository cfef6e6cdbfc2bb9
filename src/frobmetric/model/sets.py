"""Sets of triplets and quadruplets: rows of constraints for the problem, with a weight each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import as_index, as_weights, check_comparisons
from ..core import Constraints, NeighborTriplets, Pairs, Quadruplets, Stack, Triplets
from ..core.points import Data, Index, Symmetric, Vector
from ..search.recall import MiningRecall


class _WeightedSet:
    """Base of all sets: rows with weights, of which the problem takes a mean."""

    @property
    def recall(self) -> MiningRecall | None:
        """Recall of an approximate search for the rows, None if there was none."""
        return None

    @property
    def n_triplets(self: Any) -> int:
        return len(self.weight)

    @property
    def share(self: Any) -> Vector:
        """Weight of each row in a mean over all."""
        return self.weight / self.weight.sum()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_triplets={self.n_triplets})"


@dataclass(frozen=True, repr=False)
class GivenTriplets(_WeightedSet):
    """Triplets (anchor, near, far) as rows of indices, with a weight each."""

    index: Index
    weight: Vector
    kind: ClassVar[Any] = Triplets
    size: ClassVar[int] = 3

    def __post_init__(self) -> None:
        shape = (len(self.index), self.size)
        if self.index.shape != shape or not len(self.index):
            raise ValueError(f"triplets.index has shape {self.index.shape}; expected {shape}")
        _check_rows("triplets.index", self.index)
        _check_weight("triplets.weight", self.weight, len(self.index), "triplets")

    @property
    def points(self) -> Index:
        """Rows that occur, in order."""
        return np.unique(self.index)

    def constraints(self, X: Data) -> Constraints:
        return self.kind(X, self.index)

    def near_scatter(self, X: Data) -> Symmetric:
        """Return the P with <P, M> = weighted mean of d^2(near pair) over the rows."""
        return Pairs(X, self.index[:, :2]).adjoint(self.share)

    def renumbered(self, numbers: Index) -> Self:
        """Return the rows with each index i replaced by numbers[i]."""
        return replace(self, index=numbers[self.index])

    def to_array(self) -> Index:
        return self.index

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a file has to hold: see `triplets_from_arrays`."""
        return {"index": self.index, "weight": self.weight}


@dataclass(frozen=True, repr=False)
class GivenQuadruplets(GivenTriplets):
    """Quadruplets (a, b, c, d): a and b are closer than c and d."""

    kind: ClassVar[Any] = Quadruplets
    size: ClassVar[int] = 4


@dataclass(frozen=True)
class Block:
    """Anchors with equal numbers of neighbours; every near with every far is a triplet.

    The weight of a triplet is that of its anchor, one if `weight` is None.
    """

    anchors: Index
    near: Index
    far: Index
    weight: Vector | None = None

    def __post_init__(self) -> None:
        n = len(self.anchors)
        sizes = (self.anchors.ndim, self.near.ndim, self.far.ndim, len(self.near), len(self.far))
        if sizes != (1, 2, 2, n, n):
            shapes = f"{self.anchors.shape}, {self.near.shape} and {self.far.shape}"
            raise ValueError(
                f"a block of the triplets has shapes {shapes}; expected (n,), (n, n_near) and "
                "(n, n_far)"
            )
        for name, rows in zip(("anchors", "near", "far"), self.lists, strict=True):
            _check_rows(f"triplets.{name}", rows)
        if self.weight is not None:
            _check_weight("triplets.weight", self.weight, n, "anchors")

    @property
    def n_triplets(self) -> int:
        return self.near.size * self.far.shape[1]

    @property
    def lists(self) -> tuple[Index, Index, Index]:
        """Arrays of row numbers: anchors, near and far."""
        return self.anchors, self.near, self.far

    @property
    def triplet_weight(self) -> Vector:
        """Weight of each triplet."""
        if self.weight is None:
            return np.ones(self.n_triplets)
        return np.repeat(self.weight, self.near.shape[1] * self.far.shape[1])

    def renumbered(self, numbers: Index) -> Block:
        """Return the block with each row i replaced by numbers[i]."""
        anchors, near, far = (numbers[rows] for rows in self.lists)
        return Block(anchors, near, far, self.weight)

    def near_scatter(self, X: Data) -> Symmetric:
        """Return the sum over the triplets of weight (anchor - near) (anchor - near).T."""
        n_near, n_far = self.near.shape[1], self.far.shape[1]
        pairs = np.column_stack([np.repeat(self.anchors, n_near), self.near.ravel()])
        weight = 1.0 if self.weight is None else np.repeat(self.weight, n_near)
        return Pairs(X, pairs).adjoint(np.full(len(pairs), float(n_far)) * weight)

    def to_array(self) -> Index:
        """Return rows (anchor, near, far) in the order of `NeighborTriplets`."""
        n_near, n_far = self.near.shape[1], self.far.shape[1]
        anchors = np.repeat(self.anchors, n_near * n_far)
        near = np.repeat(self.near, n_far, axis=1).ravel()
        return np.column_stack([anchors, near, np.tile(self.far, (1, n_near)).ravel()])


@dataclass(frozen=True, repr=False)
class MinedTriplets(_WeightedSet):
    """Triplets stored as neighbour lists, never as one row a triplet."""

    blocks: tuple[Block, ...]
    #: Recall of an approximate search for the neighbours, None if it was exact.
    recall: MiningRecall | None = None

    @property
    def n_triplets(self) -> int:
        return sum(block.n_triplets for block in self.blocks)

    @property
    def weight(self) -> Vector:
        return np.concatenate([block.triplet_weight for block in self.blocks])

    def constraints(self, X: Data) -> Constraints:
        parts = [NeighborTriplets(X, *block.lists) for block in self.blocks]
        return parts[0] if len(parts) == 1 else Stack(parts)

    def near_scatter(self, X: Data) -> Symmetric:
        """Return the P with <P, M> = weighted mean of d^2(anchor, near) over the triplets."""
        total = self.weight.sum()
        return np.sum([block.near_scatter(X) for block in self.blocks], axis=0) / total

    def renumbered(self, numbers: Index) -> Self:
        """Return the triplets with each row i replaced by numbers[i]."""
        return replace(self, blocks=tuple(block.renumbered(numbers) for block in self.blocks))

    @property
    def points(self) -> Index:
        """Rows that occur, in order."""
        lists = [rows.ravel() for block in self.blocks for rows in block.lists]
        return np.unique(np.concatenate(lists))

    def weighted(self, weight: Vector) -> Self:
        """Return the triplets with the weights of their anchors, one for each row."""
        blocks = tuple(replace(block, weight=weight[block.anchors]) for block in self.blocks)
        return replace(self, blocks=blocks)

    def to_array(self) -> Index:
        """Return the triplets as an (n_triplets, 3) array of (anchor, near, far)."""
        return np.concatenate([block.to_array() for block in self.blocks])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a file has to hold: see `triplets_from_arrays`."""
        return {
            f"{name}.{i}": array
            for i, block in enumerate(self.blocks)
            for name, array in vars(block).items()
            if array is not None
        }


@dataclass(frozen=True, repr=False)
class JoinedTriplets(_WeightedSet):
    """Triplets of several sources, such as labels and comparisons, one after the other."""

    parts: tuple[MinedTriplets | GivenTriplets | JoinedTriplets, ...]

    @property
    def points(self) -> Index:
        """Rows that occur, in order."""
        return np.unique(np.concatenate([part.points for part in self.parts]))

    @property
    def recall(self) -> MiningRecall | None:
        """Recall of the part for which it is smallest, None if all searches were exact."""
        known = [part.recall for part in self.parts if part.recall is not None]
        return min(known, key=lambda recall: min(recall.near, recall.far), default=None)

    @property
    def weight(self) -> Vector:
        return np.concatenate([part.weight for part in self.parts])

    def constraints(self, X: Data) -> Constraints:
        return Stack([part.constraints(X) for part in self.parts])

    def near_scatter(self, X: Data) -> Symmetric:
        """Return the P with <P, M> = weighted mean of d^2(anchor, near) over all triplets."""
        totals = np.array([part.weight.sum() for part in self.parts])
        scatters = zip(totals / totals.sum(), self.parts, strict=True)
        return np.sum([share * part.near_scatter(X) for share, part in scatters], axis=0)

    def renumbered(self, numbers: Index) -> JoinedTriplets:
        """Return the triplets with each row i replaced by numbers[i]."""
        return JoinedTriplets(tuple(part.renumbered(numbers) for part in self.parts))

    def to_array(self) -> Index:
        """Return all triplets as an (n_triplets, 3) array of (anchor, near, far)."""
        return np.concatenate([part.to_array() for part in self.parts])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a file has to hold: see `triplets_from_arrays`."""
        return {
            f"{i}/{name}": array
            for i, part in enumerate(self.parts)
            for name, array in part.to_arrays().items()
        }


TripletSet: TypeAlias = GivenTriplets | MinedTriplets | JoinedTriplets


def _check_rows(name: str, rows: Index) -> None:
    """Raise an error unless these are numbers of rows."""
    if not np.issubdtype(rows.dtype, np.integer):
        raise TypeError(f"{name} has dtype {rows.dtype}; expected integers, indices of rows of X")
    if rows.size and rows.min() < 0:
        raise ValueError(f"{name} has the index {rows.min()}, out of range; indices start at 0")


def _check_weight(name: str, weight: Vector, n: int, of: str) -> None:
    """Raise ValueError unless these are weights, one each."""
    if weight.shape != (n,):
        raise ValueError(f"{name} has shape {weight.shape}; expected ({n},), one for all {of}")
    if not ((weight >= 0) & (weight < np.inf)).all():
        raise ValueError(f"{name} must be non-negative and finite")
    if n and not weight.any():
        raise ValueError(f"{name} is zero for all {of}")


def is_same_set(a: GivenTriplets, b: GivenTriplets) -> bool:
    """Return whether two sets of given rows are equal: order, indices and shares."""
    return np.array_equal(a.index, b.index) and np.allclose(a.share, b.share, rtol=1e-9, atol=0)


def concatenate(*sources: TripletSet | None) -> TripletSet:
    """Return one set of all sources that are not None."""
    given = tuple(source for source in sources if source is not None)
    return given[0] if len(given) == 1 else JoinedTriplets(given)


def triplets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> TripletSet:
    """Return the set whose `to_arrays` gave these arrays."""
    if parts := parts_of(arrays):
        return JoinedTriplets(tuple(triplets_from_arrays(part) for part in parts))
    if "index" in arrays:
        kind = GivenTriplets if arrays["index"].shape[1] == 3 else GivenQuadruplets
        return kind(arrays["index"], arrays["weight"])
    return MinedTriplets(tuple(Block(**block) for block in blocks_of(arrays)))


def blocks_of(arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each block of `MinedTriplets` by name, in order."""
    blocks: dict[int, dict[str, NDArray[Any]]] = {}
    for key, array in arrays.items():
        name, _, number = key.rpartition(".")
        blocks.setdefault(int(number), {})[name] = array
    return [blocks[number] for number in sorted(blocks)]


def parts_of(arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each part of `JoinedTriplets`, in order; none for any other set."""
    parts: dict[int, dict[str, NDArray[Any]]] = {}
    for key, array in arrays.items():
        number, slash, name = key.partition("/")
        if slash:
            parts.setdefault(int(number), {})[name] = array
    return [parts[number] for number in sorted(parts)]


def as_triplets(triplets: Any, n_samples: int, triplet_weight: Any = None) -> TripletSet:
    """Return checked triplets of row numbers; a set without weights stays as it is."""
    is_set = isinstance(triplets, _WeightedSet)
    index = triplets.to_array() if is_set else triplets
    index = as_index(index, (3,), name="triplets", n_points=n_samples, points="rows of X")
    check_comparisons(index, name="triplets")
    if is_set and triplet_weight is None:
        return triplets
    weight = as_weights(triplet_weight, len(index), name="triplet_weight", of="triplets")
    return GivenTriplets(index, weight)
