"""Equal rows: keys and numbers of rows, and the distinct ones among them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import gen_batches

from ..core.points import Array, Data, Index

#: A key for each row: void, integer or bytes, by the kind of the rows.
Keys: TypeAlias = NDArray[Any]
#: A number of 64 bits for each row.
Numbers: TypeAlias = NDArray[np.uint64]

#: Numbers held at a time: few enough to stay in the cache of a processor.
BLOCK = 1 << 15


def distinct_rows(rows: Data) -> tuple[Index, Index]:
    """Return the number of the first row of each kind of equal rows, and the kind of each row.

    Kinds are in the order of their first rows; rows may be sparse, and -0.0 equals 0.0.
    """
    _, first, label = np.unique(row_keys(rows), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[label]


def distinct_points(points: Data) -> tuple[Data, Index]:
    """Return the distinct points, in an order that depends on them alone, and each row's place."""
    some, index = _kinds_by_number(points)
    distinct = points[some]
    if not _are_kinds(points, distinct, index):  # two rows have one number by chance
        some, index = distinct_rows(points)
        distinct = points[some]
    order = _order_of_keys(distinct)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order] + 0, place[index]  # + 0 makes 0.0 of -0.0


def _are_kinds(rows: Data, distinct: Data, kind: Index) -> bool:
    """Return whether each row is equal to the distinct one of its kind."""
    if sp.issparse(rows):
        return not (distinct[kind] != rows).nnz
    return all(
        np.array_equal(take_rows(distinct, kind[part]), rows[part]) for part in _blocks(rows)
    )


def _order_of_keys(rows: Data) -> Index:
    """Return the order of the `row_keys` of distinct rows: of their first numbers if these differ.

    It is the same in every unit of the rows.
    """
    if not sp.issparse(rows):
        first = (rows[:, 0] + 0).view(f"u{rows.dtype.itemsize}")
        order = np.argsort(first)
        if np.diff(first[order]).all():
            return order
    return np.argsort(row_keys(rows))


def _kinds_by_number(rows: Data) -> tuple[Index, Index]:
    """Return one row of each `row_numbers`, in the order of the numbers, and the kind of each row.

    A sort that is not stable is several times as fast as `numpy.unique`'s.
    """
    numbers = row_numbers(rows)
    order = np.argsort(numbers)
    is_new = np.append(True, np.diff(numbers[order]) != 0)
    kind = np.empty(len(order), dtype=np.intp)
    kind[order] = np.cumsum(is_new) - 1
    return order[is_new], kind


def take_rows(rows: Data, numbers: Index) -> Data:
    """Return rows by their numbers; with short dense rows much faster than by an index."""
    return rows[numbers] if sp.issparse(rows) else rows.take(numbers, axis=0)


def row_keys(rows: Data) -> Keys:
    """Return one key for each row, equal for equal rows, ordered by the values alone."""
    if sp.issparse(rows):
        return _sparse_keys(rows)
    if rows.dtype.kind in "iu":
        _, values = np.unique(rows, return_inverse=True)
        values = values.reshape(rows.shape)
        keys, n_values = np.zeros(len(rows), dtype=np.intp), values.max(initial=0) + 1
        for column in values.T:
            _, keys = np.unique(keys * n_values + column, return_inverse=True)
        return keys
    ordered = _ordered_bytes(np.ascontiguousarray(rows))
    return ordered.view(np.dtype((np.void, ordered.dtype.itemsize * ordered.shape[1]))).ravel()


def merge_labelled(rows: Data, labels: ArrayLike) -> tuple[Index, Index]:
    """Return the number of the first of each kind of equal rows of one label, and each row's kind.

    Kinds are sorted by the values of rows and labels (numbers), so that neither another origin nor
    a sparse format changes their order.
    """
    labels = np.asarray(labels, dtype=rows.dtype)[:, None]
    if sp.issparse(rows):
        keys = _sorted_sparse_keys(sp.hstack([rows, labels], "csr"))
    else:
        keys = _sorted_keys(np.hstack([rows, labels]))
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind.ravel()


def _sorted_keys(rows: Array) -> Keys:
    """Return one key for each row of floats, in the order of the values, negative ones too."""
    ordered = _ordered_bits(rows)
    return ordered.view(np.dtype((np.void, ordered.dtype.itemsize * ordered.shape[1]))).ravel()


def _sorted_sparse_keys(rows: Data) -> Keys:
    """Return sort keys of sparse rows that order them like the dense rows.

    An entry separates two rows by its sign, then by its column, where the other has a zero, then
    by its value. The end of a row is between negative and positive entries.
    """
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    is_positive = rows.data > 0
    entries = np.empty(rows.nnz, [("sign", "u1"), ("column", ">i8"), ("value", ">u8")])
    entries["sign"] = np.where(is_positive, 2, 0)
    entries["column"] = np.where(is_positive, rows.shape[1] - rows.indices, rows.indices)
    entries["value"] = _ordered_bits(rows.data)
    ends = pairwise(rows.indptr)
    return np.array([entries[i:j].tobytes() + b"\1" for i, j in ends], dtype=object)


def _ordered_bits(values: Array) -> NDArray[np.unsignedinteger]:
    """Return big-endian integers in the order of floats, negative ones too."""
    bits = np.ascontiguousarray(values + 0).view(f"u{values.dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * values.dtype.itemsize - 1))
    return np.where(bits & sign, ~bits, bits | sign).astype(bits.dtype.newbyteorder(">"))


def has_repeats(rows: Data, labels: Index) -> bool:
    """Return whether two rows of one label (an integer) may be equal; False is certain.

    Each row has a number, equal for equal rows, that others have rarely: this is much faster than
    a comparison.
    """
    numbers = row_numbers(rows) + labels.astype(np.uint64) * _factors(1)[0]
    numbers.sort()  # many times as fast as the table of `numpy.unique`
    return bool((numbers[1:] == numbers[:-1]).any())


def row_numbers(rows: Data) -> Numbers:
    """Return a number of 64 bits for each row, equal for equal rows; others have it rarely.

    It depends on the row alone, not on the array or its form: sparse and dense rows agree.
    """
    factors = _factors(rows.shape[1] + 1)[1:]
    if sp.issparse(rows):
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        bits = _ordered_bytes(rows.data).view(f"u{rows.dtype.itemsize}").astype(np.uint64)
        return sp.csr_array((bits, rows.indices, rows.indptr), shape=rows.shape) @ factors
    numbers = np.empty(len(rows), dtype=np.uint64)
    for part in _blocks(rows):
        # of short numbers the last bytes are zero: in this order the first ones count most
        bits = _ordered_bytes(np.ascontiguousarray(rows[part])).view(f"u{rows.dtype.itemsize}")
        numbers[part] = np.einsum("ij,j->i", bits, factors)
    return numbers


def _blocks(rows: Data) -> Iterator[slice]:
    """Return slices of rows, of `BLOCK` numbers each."""
    return gen_batches(len(rows), max(1, BLOCK // max(1, rows.shape[1])))


@cache
def _factors(n: int) -> Numbers:
    # odd, so that rows that differ in one place have different numbers
    factors = np.random.default_rng(0).integers(1 << 63, size=n, dtype=np.uint64) * 2 + 1
    factors.flags.writeable = False
    return factors


def _sparse_keys(rows: Data) -> Keys:
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    places, values = rows.indices, _ordered_bytes(rows.data)
    ends = pairwise(rows.indptr)
    return np.array([places[i:j].tobytes() + values[i:j].tobytes() for i, j in ends], dtype=object)


def _ordered_bytes(values: Array) -> Array:
    """Return big-endian numbers: if they are not negative, their bytes have the same order."""
    return (values + 0).astype(values.dtype.newbyteorder(">"))  # + 0 makes 0.0 of -0.0
