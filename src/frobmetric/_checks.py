"""Checks of arguments that several rooms take: one text for one mistake."""

from __future__ import annotations

from numbers import Real

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
