"""Arrays as compact JSON: numbers of 8 or 16 bits in base64, scaled by column."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np

#: Largest number of steps of a column of 8 and of 16 bits.
STEPS_8, STEPS_16 = 255, 65535


def pack_numbers(values: Any) -> dict[str, Any]:
    """Return a table of numbers, each column rounded to 65,536 equal steps from its smallest value.

    Whole numbers whose columns span at most 255 are exact, and take one byte each.

    Examples
    --------
    >>> from frobmetric.app.pages.packing import pack_numbers
    >>> pack_numbers([[0.0, 5.0], [2.0, 7.0]])["type"]
    'u1'
    """
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    low, high = values.min(axis=0), values.max(axis=0)
    if (values == np.rint(values)).all() and (high - low <= STEPS_8).all():
        step, kind = np.ones_like(low), "u1"
    else:
        step, kind = np.where(high > low, (high - low) / STEPS_16, 1.0), "u2"
    whole = np.rint((values - low) / step)
    return {**_packed(whole, kind), "low": rounded(low), "step": rounded(step, 9)}


def packed_size(n_rows: int, values: np.ndarray) -> int:
    """Return the bytes, before base64, that `pack_numbers` takes for `n_rows` rows like these."""
    is_whole = (values == np.rint(values)).all() and (np.ptp(values, axis=0) <= STEPS_8).all()
    return n_rows * values.shape[1] * (1 if is_whole else 2)


def pack_whole(values: Any) -> dict[str, Any]:
    """Return whole numbers from 0 on, in the fewest bytes that hold them."""
    values = np.asarray(values)
    largest = int(values.max(initial=0))
    kind = "u1" if largest <= STEPS_8 else "u2" if largest <= STEPS_16 else "u4"
    return _packed(values, kind)


def rounded(values: Any, digits: int = 6) -> list[Any]:
    """Return an array as nested lists of numbers rounded to `digits` significant digits."""
    values = np.asarray(values, dtype=np.float64)
    return np.vectorize(lambda x: float(f"{x:.{digits}g}"), otypes=[float])(values).tolist()


def _packed(values: np.ndarray, kind: str) -> dict[str, Any]:
    data = values.astype(f"<{kind}").tobytes()
    return {"type": kind, "shape": list(values.shape), "data": b64encode(data).decode("ascii")}
