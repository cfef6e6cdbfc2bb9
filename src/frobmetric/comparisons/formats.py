"""Comparisons read from and written to the list formats of cblearn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks.arguments import (
    as_column,
    as_comparisons,
    as_index,
    check_comparisons,
    check_count,
    check_whole,
)
from ..core.checks import as_array, read_values
from ..core.points import Array
from .merging import Comparisons, near_first

FORMATS = ("list-order", "list-boolean", "list-count")


def read_comparisons(
    query: ArrayLike,
    response: ArrayLike | None = None,
    *,
    format: str | None = None,
    n_objects: int | None = None,
) -> Comparisons:
    """Read comparisons in one of cblearn's list formats as index, signs and weights.

    A row (i, j, k) asks whether d(i, j) < d(i, k), a row (i, j, k, l) whether d(i, j) < d(k, l).

        "list-order"    query alone; the order of each row is the answer
        "list-boolean"  query, response: True is yes
        "list-count"    query, response: +c is c times yes, -c is c times no, 0 is undecided

    Parameters
    ----------
    query : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    response : array-like of shape (n_comparisons,), optional
    format : {"list-order", "list-boolean", "list-count"}, optional
        Detected from the response if not given. A response of zeros and ones that are not booleans
        could be of either kind, so it needs the format.
    n_objects : int, optional
        Number of objects; by default the largest index plus one.

    Returns
    -------
    Comparisons
        Counts of zero are left out and counted in `n_undecided`.

    Examples
    --------
    >>> from frobmetric import read_comparisons
    >>> answers = read_comparisons([[0, 1, 2], [2, 1, 3], [1, 0, 3]], [2, -1, 0])
    >>> answers.index.tolist(), answers.y.tolist(), answers.sample_weight.tolist()
    ([[0, 1, 2], [2, 1, 3]], [1, -1], [2.0, 1.0])
    >>> answers.n_undecided
    1
    """
    response = None if response is None else _as_array(response, "response")
    format = _detect(response) if format is None else _check_format(format)
    if n_objects is not None:
        check_count(n_objects, name="n_objects")
    index = as_index(_as_array(query, "query"), (3, 4), name="query", n_points=n_objects)
    count = _counts(response, len(index), format)
    is_decided = count != 0
    check_comparisons(index, name="query", rows=is_decided)
    count = count[is_decided]
    return Comparisons(
        index[is_decided],
        np.sign(count).astype(np.intp),
        np.abs(count).astype(np.float64),
        int(index.max()) + 1 if n_objects is None else int(n_objects),
        int(len(index) - len(count)),
    )


def write_comparisons(
    index: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    format: str = "list-order",
) -> Any:
    """Write comparisons in one of the formats of `read_comparisons`.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
        +1 or -1; +1 for all if not given.
    sample_weight : array-like of shape (n_comparisons,), optional
        Counts: whole numbers. A comparison of count zero is not written.
    format : {"list-order", "list-boolean", "list-count"}, default="list-order"

    Returns
    -------
    ndarray of shape (n_answers, 3 or 4)
        For "list-order"; a row is repeated as often as its count says.
    (query, response)
        For "list-boolean", with repeated rows, and "list-count".

    Examples
    --------
    >>> from frobmetric import write_comparisons
    >>> write_comparisons([[0, 1, 2], [2, 1, 3]], [1, -1], [2, 1])
    array([[0, 1, 2],
           [0, 1, 2],
           [2, 3, 1]])
    """
    _check_format(format)
    index, y, weight = as_comparisons(_as_array(index, "index"), y, sample_weight)
    check_whole(weight)
    is_given = weight > 0
    index, y, count = index[is_given], y[is_given], weight[is_given].astype(np.intp)
    if format == "list-order":
        return np.repeat(near_first(index, y), count, axis=0)
    if format == "list-boolean":
        return np.repeat(index, count, axis=0), np.repeat(y > 0, count)
    return index, y * count


def _as_array(values: object, name: str) -> NDArray[Any]:
    try:
        return read_values(values, name=name)
    except ValueError as error:
        if not isinstance(values, (list, tuple)):
            raise
        sizes = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        raise ValueError(
            f"{name} has rows of unequal shape, of {min(sizes)} to {max(sizes)} entries; expected "
            "rows of one size: 3 objects (triplets), 4 (quadruplets), or 1 answer"
        ) from error


def _check_format(format: object) -> str:
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f"format is {format!r:.80}; expected one of {sorted(FORMATS)}")
    return format


def _detect(response: NDArray[Any] | None) -> str:
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


def _counts(response: NDArray[Any] | None, n: int, format: str) -> NDArray[Any]:
    """Return the answer to each row: positive for yes, negative for no."""
    if format == "list-order":
        if response is not None:
            raise ValueError(
                "response was given, but 'list-order' has the answers in the query; leave it out "
                "or say which list format it is"
            )
        return np.ones(n)
    if response is None:
        raise ValueError(f"response is missing; {format!r} needs one answer for each row of query")
    response = as_column(response, n, name="response")
    if format == "list-count":
        return _as_counts(response)
    if response.dtype != bool and not np.isin(response, [0, 1]).all():
        raise ValueError(
            f"response has dtype {response.dtype} and values other than 0 and 1; 'list-boolean' "
            "expects booleans, 'list-count' takes positive and negative counts"
        )
    return np.where(response.astype(bool), 1, -1)


def _as_counts(response: NDArray[Any]) -> Array:
    if response.dtype == bool or not np.issubdtype(response.dtype, np.number):
        raise TypeError(f"response has dtype {response.dtype}; expected counts: whole numbers")
    response = as_array(response, name="response")
    bad = np.flatnonzero(~(np.isfinite(response) & (response == np.rint(response))))
    if len(bad):
        raise ValueError(
            f"response[{bad[0]}] = {response[bad[0]]}; counts are whole numbers. Give other "
            "weights to fit as sample_weight"
        )
    return response
