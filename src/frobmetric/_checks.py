"""Checks of arguments that several rooms take: one text for one mistake."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def as_identities(name, values, n_samples):
    """The distinct identities, and for each row which of them it has.

    Parameters
    ----------
    name : str
        What errors call the values.
    values : array-like of shape (n_samples,)
        Strings or numbers, none missing.
    n_samples : int

    Returns
    -------
    distinct : ndarray of shape (n_identities,)
    group : ndarray of int of shape (n_samples,)
    """
    values = np.asarray(values)
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {values.shape}; X has {n_samples} rows, so expected ({n_samples},)"
        )
    missing = (
        []
        if values.dtype.kind in "iu"
        else [i for i, value in enumerate(values.tolist()) if not _is_identity(value)]
    )
    if missing:
        raise ValueError(
            f"{name}[{missing[0]}] is {values[missing[0]]}; every row needs an identity, a string "
            f"or a number; leave such rows out (rows without: {len(missing)})"
        )
    try:
        return np.unique(values, return_inverse=True)
    except TypeError:
        raise TypeError(
            f"{name} mixes kinds of values; expected all strings or all numbers"
        ) from None


def _is_identity(value):
    return isinstance(value, (str, bytes)) or (isinstance(value, Real) and value == value)


# Symmetric matrices

#: Largest difference between a matrix and its transpose, relative to the largest entry.
ASYMMETRY = 1e-8


def as_symmetric(matrix: Any, *, name: str, is_free: Any = None, hint: str = "") -> Any:
    """Return a symmetric array of finite numbers, without rounding between its triangles.

    Parameters
    ----------
    matrix : {array-like, sparse matrix} of shape (n, n)
    name : str
        What errors call it.
    is_free : boolean ndarray of shape (n, n), optional
        Entries that may be missing; they are NaN in the result.
    hint : str
        What to do about missing entries.
    """
    A = np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise ValueError(f"{name} has shape {A.shape}; expected (n, n) with n at least 1")
    is_missing = ~np.isfinite(A)
    is_wrong = is_missing if is_free is None else is_missing & ~is_free
    if is_wrong.any():
        i, j = first_true(is_wrong)
        raise ValueError(f"{name}[{i}, {j}] is {A[i, j]}; every entry must be finite{hint}")
    is_missing |= is_missing.T
    check_symmetric(np.where(is_missing, 0.0, A), name=name, tolerance=ASYMMETRY)
    return np.where(is_missing, np.nan, (A + A.T) / 2)


def check_symmetric(matrix: Any, *, name: str, tolerance: float) -> None:
    """Refuse a square matrix that is not symmetric.

    Parameters
    ----------
    matrix : {ndarray, sparse matrix} of shape (n, n)
    name : str
        What errors call it.
    tolerance : float
        Largest difference of two entries that is allowed, relative to the largest entry.
    """
    difference = abs(matrix - matrix.T)
    if difference.max() <= tolerance * abs(matrix).max():
        return
    i, j = sorted(int(k) for k in np.unravel_index(int(difference.argmax()), matrix.shape))
    raise asymmetry(matrix[i, j], matrix[j, i], i, j, name=name)


def asymmetry(upper: Any, lower: Any, i: int, j: int, *, name: str) -> ValueError:
    """Return the error for entries (i, j) and (j, i) that differ."""
    return ValueError(
        f"{name} is not symmetric: {name}[{i}, {j}] = {upper:.12g} and {name}[{j}, {i}] = "
        f"{lower:.12g}; pass ({name} + {name}.T) / 2 if it should be"
    )


def first_true(mask: Any) -> tuple[int, ...]:
    """Return the index of the first true entry of a mask."""
    return tuple(int(k[0]) for k in np.nonzero(mask))
