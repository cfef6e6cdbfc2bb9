"""Frozen values with arrays, which are read-only and checked wherever they come from."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from ..core.points import Array


class Value:
    """Base of frozen values with arrays, which copies and pickles check as the constructor does."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        for name, value in values.items():
            if isinstance(value, MappingProxyType):  # which cannot be pickled
                values[name] = dict(value)
        return _rebuild, (type(self), values)


def _rebuild(kind: type, values: dict[str, Any]) -> Any:
    return kind(**values)


def frozen_numbers(name: str, array: Array, n_columns: int | None = None) -> Array:
    """Return a read-only view of finite numbers in single or double precision.

    With `n_columns` they must be a matrix with that many columns.
    """
    if n_columns is not None and (array.ndim != 2 or array.shape[1] != n_columns):
        raise ValueError(f"{name} has shape {array.shape}; expected (n_rows, {n_columns})")
    if array.dtype not in (np.float32, np.float64) or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers in single or double precision")
    view = array.view()
    view.flags.writeable = False
    return view
