"""Comparisons read from and written to the formats of cblearn."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np

from .encoding import (
    Answers,
    as_column,
    as_comparisons,
    as_index,
    check_distances,
    equal_rows,
    merge_comparisons,
    named_row,
    put_nearer_first,
)

__all__ = ["FORMATS", "Answers", "CountTensor", "read_comparisons", "write_comparisons"]


class CountTensor(NamedTuple):
    """A sparse array of counts; `sparse.COO(*tensor)` is the array that cblearn works with."""

    coords: np.ndarray
    data: np.ndarray
    shape: tuple[int, ...]


def read_comparisons(query, response=None, format=None, *, n_objects=None):
    """Comparisons in one of cblearn's formats, as index, signs and weights.

    A row (i, j, k) asks whether d(i, j) < d(i, k), a row (i, j, k, l) whether d(i, j) < d(k, l).

        "list-order"    query alone; the order of each row is the answer
        "list-boolean"  query, response: True is yes
        "list-count"    query, response: +c is c times yes, -c is c times no, 0 is undecided
        "tensor-count"  query alone: an array of shape (n, n, n) or (n, n, n, n) with the count of
                        (i, j, k) at [i, j, k]; dense, sparse (`sparse.COO` or a COO array of
                        SciPy), or a SciPy matrix of shape (n, n * n). Also called "sparse"

    Parameters
    ----------
    query : array-like of shape (n_comparisons, 3) or (n_comparisons, 4), or tensor
    response : array-like of shape (n_comparisons,), optional
    format : str, optional
        Found from the input if not given. A response of zeros and ones that are not booleans
        could be either kind, so it needs the format.
    n_objects : int, optional
        Above all indices; the default is the side of the tensor, or the largest index and one.

    Returns
    -------
    Answers
        Counts of zero are left out and counted in `n_undecided`.

    Examples
    --------
    >>> from frobmetric.comparisons.formats import read_comparisons
    >>> answers = read_comparisons([[0, 1, 2], [2, 1, 3], [1, 0, 3]], [2, -1, 0])
    >>> answers.index.tolist(), answers.y.tolist(), answers.weight.tolist()
    ([[0, 1, 2], [2, 1, 3]], [1, -1], [2.0, 1.0])
    >>> answers.n_undecided
    1
    """
    query = query if _is_sparse(query) else _as_array(query, "query")
    response = None if response is None else _as_array(response, "response")
    format = _detect(query, response) if format is None else format
    index, count, side = _look_up(format)[0](query, response)
    n_objects = _check_range(index, side if n_objects is None else n_objects)
    is_decided = count != 0
    check_distances(index, is_decided, name="query")
    count = count[is_decided]
    return Answers(
        index[is_decided],
        np.sign(count).astype(np.intp),
        np.abs(count).astype(np.float64),
        n_objects,
        int(len(index) - len(count)),
    )


def write_comparisons(index, y=None, weight=None, format="list-order", *, n_objects=None):
    """Comparisons in one of the formats of `read_comparisons`.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
        +1 or -1; +1 for all if not given.
    weight : array-like of shape (n_comparisons,), optional
        Counts: whole numbers. A comparison of count zero is not written.
    format : {"list-order", "list-boolean", "list-count", "tensor-count"}
    n_objects : int, optional
        The side of the tensor; the largest index and one if not given.

    Returns
    -------
    ndarray of shape (n_answers, 3 or 4)
        For "list-order"; a row is repeated as often as its count says.
    (query, response)
        For "list-boolean", with repeated rows, and "list-count".
    CountTensor
        For "tensor-count"; answers to the same question are summed, so contradictions cancel.

    Examples
    --------
    >>> from frobmetric.comparisons.formats import write_comparisons
    >>> write_comparisons([[0, 1, 2], [2, 1, 3]], [1, -1], [2, 1])
    array([[0, 1, 2],
           [0, 1, 2],
           [2, 3, 1]])
    """
    write = _look_up(format)[1]
    index, y, weight = as_comparisons(_as_array(index, "index"), y, weight)
    bad = np.flatnonzero(weight != np.rint(weight))
    if len(bad):
        raise ValueError(
            f"weight[{bad[0]}] = {weight[bad[0]]}; the formats hold counts, so weights must be "
            "whole numbers"
        )
    n_objects = _check_range(index, n_objects, name="index")
    kept = weight > 0
    return write(index[kept], y[kept], weight[kept].astype(np.intp), n_objects)


def _as_array(values, name):
    try:
        return np.asarray(values)
    except ValueError as error:
        sizes = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        expected = (
            "one answer for each row of query"
            if name == "response"
            else ("rows of 3 object numbers (triplets) or of 4 (quadruplets), all of one kind")
        )
        raise ValueError(
            f"{name} has rows of unequal shape, of {min(sizes)} to {max(sizes)} entries; expected "
            f"{expected}"
        ) from error


def _check_range(index, n_objects, name="query"):
    largest = int(index.max(initial=-1))
    if n_objects is None:
        return largest + 1
    if not isinstance(n_objects, Integral) or n_objects is True or n_objects < 1:
        raise ValueError(
            f"n_objects is {n_objects!r}; expected an integer above all indices, or leave it out"
        )
    if largest >= n_objects:
        row = np.flatnonzero((index >= n_objects).any(axis=1))[0]
        raise ValueError(
            f"{named_row(index, row, name)} is out of range; there are {n_objects} objects, so "
            f"indices go from 0 to {n_objects - 1}"
        )
    return int(n_objects)


def _look_up(format):
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {sorted(FORMATS)}")
    return FORMATS[format]


def _is_sparse(query):
    return hasattr(query, "coords") or hasattr(query, "tocoo")


def _detect(query, response):
    if _is_sparse(query) or query.ndim > 2:
        return "tensor-count"
    if response is None:
        return "list-order"
    if response.dtype == bool:
        return "list-boolean"
    if np.isin(response, [0, 1]).all() and not np.all(response == 1):
        raise ValueError(
            f"response has dtype {response.dtype} and holds only 0 and 1; say "
            "format='list-boolean' if 0 means no, format='list-count' if it means undecided"
        )
    return "list-count"


def _without_response(response, format):
    if response is not None:
        raise ValueError(
            f"response was given, but {format!r} has the answers in the query; leave it out or "
            "say which list format it is"
        )


def _with_response(query, response, format):
    if response is None:
        raise ValueError(f"response is missing; {format!r} needs one answer for each row of query")
    index = as_index(query, name="query")
    return index, as_column(response, len(index), "response")


def _read_order(query, response):
    _without_response(response, "list-order")
    index = as_index(query, name="query")
    return index, np.ones(len(index)), None


def _read_boolean(query, response):
    index, response = _with_response(query, response, "list-boolean")
    if response.dtype != bool and not np.isin(response, [0, 1]).all():
        raise ValueError(
            f"response has dtype {response.dtype} and values other than 0 and 1; 'list-boolean' "
            "expects booleans, 'list-count' takes positive and negative counts"
        )
    return index, np.where(response.astype(bool), 1, -1), None


def _read_count(query, response):
    index, response = _with_response(query, response, "list-count")
    return index, _as_counts(response, "response"), None


def _as_counts(values, name):
    values = np.asarray(values)
    if values.dtype == bool or not np.issubdtype(values.dtype, np.number):
        raise TypeError(f"{name} has dtype {values.dtype}; expected counts: whole numbers")
    values = values.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values == np.rint(values))))
    if len(bad):
        raise ValueError(
            f"{name} has the value {values[bad[0]]}; counts are whole numbers. Give other weights "
            "to fit as sample_weight"
        )
    return values


def _read_tensor(query, response):
    _without_response(response, "tensor-count")
    coords, data, shape = _entries(query)
    if len(shape) == 2:
        coords, shape = _unfold(coords, shape)
    if len(shape) not in (3, 4) or len(set(shape)) != 1:
        raise ValueError(
            f"the tensor has shape {shape}; expected (n, n, n) or (n, n, n, n) for n objects, or a "
            "sparse matrix of shape (n, n * n)"
        )
    index, count = coords.T, _as_counts(data, "the tensor")
    if len(index) == 0:
        raise ValueError("the tensor is empty; expected at least one count")
    # an element of a COO array is the sum of all that is stored for it
    first, label = equal_rows(index)
    return index[first], np.bincount(label, count, minlength=len(first)), shape[0]


def _entries(query):
    """Coordinates of shape (n_dimensions, n_entries), values and shape of an array."""
    if getattr(query, "fill_value", 0) != 0:
        raise ValueError(f"the tensor has the fill_value {query.fill_value}; expected 0: not asked")
    if not hasattr(query, "coords") and hasattr(query, "tocoo"):
        query = query.tocoo()
    if hasattr(query, "coords"):
        coords = np.stack([np.asarray(axis, dtype=np.intp) for axis in query.coords])
        return coords, query.data, tuple(query.shape)
    found = np.nonzero(query)
    return np.stack(found), query[found], query.shape


def _unfold(coords, shape):
    """A matrix (n, n^2) or (n, n^3) as the array with all sides n that it is."""
    n, width = shape
    for order in (3, 4):
        if n > 1 and n * width == n**order:
            flat = coords[0] * width + coords[1]
            return np.stack(np.unravel_index(flat, order * (n,))), order * (n,)
    return coords, shape


def _write_order(index, y, count, n_objects):
    return np.repeat(put_nearer_first(index, y), count, axis=0)


def _write_boolean(index, y, count, n_objects):
    return np.repeat(index, count, axis=0), np.repeat(y > 0, count)


def _write_count(index, y, count, n_objects):
    return index, y * count


def _write_tensor(index, y, count, n_objects):
    net = merge_comparisons(index, y, count)
    data = net.y * net.weight.astype(np.intp)
    return CountTensor(net.index.T, data, index.shape[1] * (n_objects,))


#: The formats by name: how each is read and written.
FORMATS = {
    "list-order": (_read_order, _write_order),
    "list-boolean": (_read_boolean, _write_boolean),
    "list-count": (_read_count, _write_count),
    "tensor-count": (_read_tensor, _write_tensor),
    "sparse": (_read_tensor, _write_tensor),
}
