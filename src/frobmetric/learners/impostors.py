"""Impostors: samples of other classes within a distance of each sample, found exactly in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.kernels import cross_distances
from ..core.points import Array, Index, Vector
from ..core.threads import each_block

#: Numbers that a block of products may hold.
BLOCK = 1 << 21
#: Squared norms up to this one are multiplied in single precision, which could overflow above it.
LARGEST = 1e30

Pairs = tuple[Index, Index, Vector]


def impostor_blocks(Z: Array, labels: Index, radius2: Vector, rows: Index) -> Iterator[Pairs]:
    """Yield all pairs (i, l) of other labels with |z_i - z_l|^2 < radius2_i, i one of the rows.

    Parts of the pairs come one after the other: arrays of i, of l and of the squared distances.
    Products in single precision are lower bounds of the distances, so that few pairs are left to
    be measured by differences in double precision.
    """
    left, right = _lower_bounds(Z, radius2)
    for label in np.unique(labels[rows]):
        own, others = rows[labels[rows] == label], np.flatnonzero(labels != label)
        theirs = np.ascontiguousarray(right[others].T)

        def search(
            block: slice, own: Index = own, others: Index = others, theirs: Array = theirs
        ) -> Pairs:
            found = np.flatnonzero(left[own[block]] @ theirs < 0)
            row, column = np.divmod(found, len(others))
            first, second = own[block][row], others[column]
            distance2 = cross_distances(Z, Z, first, second)
            is_near = distance2 < radius2[first]
            return first[is_near], second[is_near], distance2[is_near]

        flops = 2.0 * len(own) * theirs.size
        yield from each_block(search, len(own), max(1, BLOCK // max(1, len(others))), flops)


def _lower_bounds(Z: Array, radius2: Vector) -> tuple[Array, Array]:
    """Return factors whose products, however rounded, are negative for all pairs to be found.

    The exact product is |z_i - z_l|^2 - radius2_i. Its rounded terms are at most eps times their
    number times 2 |z_i|^2 + 2 |z_l|^2 + radius2_i wrong, which is subtracted.
    """
    norm2 = np.einsum("ij,ij->i", Z, Z)
    largest = max(norm2.max(initial=0.0), radius2.max(initial=0.0))
    dtype = np.float32 if largest < LARGEST else np.float64
    error = 2 * (Z.shape[1] + 6) * np.finfo(dtype).eps
    ones = np.ones(len(Z))
    left = np.column_stack([-2 * Z, ones, norm2 * (1 - error) - radius2 * (1 + error)])
    right = np.column_stack([Z, norm2 * (1 - error), ones])
    return left.astype(dtype), right.astype(dtype)
