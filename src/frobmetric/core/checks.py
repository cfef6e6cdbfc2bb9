"""Checks of the arrays and numbers that problems are made of: done once, where they are given."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.mixins import NDArrayOperatorsMixin

#: Largest number of entries of an array; no machine has the memory of more.
MOST_ENTRIES = 2**40
#: Largest number whose products with others of this size, and sums of many, are finite.
MOST = 2.0**250
#: Between these, squares in single precision neither overflow nor vanish.
SINGLE = (2.0**-40, 2.0**40)


def read_values(value: Any, *, name: str, dtype: Any = None) -> Any:
    """Return what NumPy reads in an array, lists, a data frame or a sparse matrix.

    A masked array must not hide entries; `pandas.NA` is read as NaN.
    """
    try:
        given = value.toarray() if sp.issparse(value) else value
        if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
            raise ValueError("some entries are masked")
        with np.errstate(all="ignore"):
            array = np.asarray(given, dtype=dtype)
        if array.dtype.kind == "V":
            raise ValueError("records")
        return _with_nan(array) if array.dtype.kind == "O" else array
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ValueError(
            f"{name} cannot be read as an array ({error}); expected a rectangular array of real "
            "numbers, or of labels; convert it before"
        ) from None


def _with_nan(objects: Any) -> Any:
    """Return objects with NaN in place of pandas' mark of a missing value, which has no truth."""
    if places := places_of_na(objects):
        objects = objects.copy()
        objects.flat[places] = np.nan
    return objects


def places_of_na(objects: Any) -> list[int]:
    """Return the places of `pandas.NA` in an array of objects, counted row by row."""
    mark = getattr(sys.modules.get("pandas"), "NA", None)
    if mark is None:
        return []
    return [place for place, each in enumerate(objects.flat) if each is mark]


def read_array(value: Any, *, name: str) -> Any:
    """Return an array as NumPy reads it, objects that are numbers as float64."""
    array = read_values(value, name=name)
    return read_values(array, name=name, dtype=np.float64) if array.dtype.kind == "O" else array


def as_array(value: Any, *, name: str) -> Any:
    """Return real numbers (an array, lists, a data frame, a sparse matrix) as float64."""
    array = read_array(value, name=name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; expected real numbers; convert it before")
    with np.errstate(over="ignore"):  # of a longdouble, which becomes infinite
        return array.astype(np.float64, copy=False)


def as_finite(value: Any, *, name: str, ndim: int | None = None, most: float = np.inf) -> Any:
    """Return finite real numbers as float64, none larger than `most`."""
    array = as_array(value, name=name)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(
            f"{name} has shape {array.shape}; expected {ndim} axes, not {array.ndim}; reshape it"
        )
    size = np.abs(array).max(initial=0.0)
    if not size < np.inf:
        raise ValueError(f"{name} contains NaN or infinity; expected finite numbers; correct it")
    if size > most:
        raise ValueError(
            f"{name} has an entry of size {size:.3g}; expected at most {most:.1g}, so that sums of "
            "products are finite; scale the problem"
        )
    return array


def as_row_numbers(
    value: Any, *, name: str, n_rows: int | None = None, least: float = -np.inf, most: float = MOST
) -> Any:
    """Return one finite number of at least `least` for each row; sharded ones stay as they are."""
    if isinstance(value, NDArrayOperatorsMixin):
        return value
    numbers = as_finite(value, name=name, most=most)
    if numbers.ndim != 1 or (n_rows is not None and len(numbers) != n_rows):
        expected = "(n_rows,)" if n_rows is None else f"({n_rows},)"
        raise ValueError(f"{name} has shape {numbers.shape}; expected {expected}; reshape it")
    if numbers.min(initial=0.0) < least:
        raise ValueError(f"{name} has the entry {numbers.min():.3g}; expected at least {least:g}")
    return numbers


def as_count(value: Any, *, name: str, at_least: int = 1, at_most: int = MOST_ENTRIES) -> int:
    """Return a whole number between two limits as an int."""
    is_integer = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not is_integer or not at_least <= int(value) <= at_most:
        error = ValueError if is_integer else TypeError
        raise error(
            f"{name} is {value!r:.80}; expected an integer of at least {at_least} and at most "
            f"{at_most}"
        )
    return int(value)


def as_sequence(value: Any, *, name: str, expected: str) -> list[Any]:
    """Return the elements of a sequence; a text or a mapping is none."""
    is_unsized = isinstance(value, np.ndarray) and not value.ndim
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable) or is_unsized:
        raise TypeError(
            f"{name} is {value!r:.80} of type {type(value).__name__}; expected {expected}; put it "
            "into a list"
        )
    return list(value)


def require_callable(value: Any, *, name: str, is_optional: bool = True) -> None:
    """Refuse what cannot be called."""
    if not (callable(value) or (is_optional and value is None)):
        raise TypeError(
            f"{name} is {value!r:.80}; expected a function{' or None' if is_optional else ''}"
        )


def as_data(X: Any, *, name: str = "X") -> Any:
    """Return samples in rows of memory: CSR if sparse; float32 is kept, the rest is float64.

    The order in memory decides how sums are rounded, so there is one for equal samples.
    """
    if not sp.issparse(X):
        is_single = isinstance(X, np.ndarray) and X.dtype == np.float32
        X = np.ascontiguousarray(X if is_single else as_array(X, name=name))
    elif X.format != "csr" or X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "biuf":
            raise TypeError(f"{name} has dtype {X.dtype}; expected real numbers; convert it before")
        X = sp.csr_array(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"{name} has shape {X.shape}; expected (n_samples, n_features), a sample in each row; "
            "reshape it"
        )
    entries = X.data if sp.issparse(X) else X.reshape(-1)
    if X.dtype == np.float64:
        with np.errstate(over="ignore", invalid="ignore"):
            if float(entries @ entries) <= MOST:  # so is every square, and NaN is not
                return X
    low, high = (float(entries.min()), float(entries.max())) if entries.size else (0.0, 0.0)
    if not -MOST <= low <= high <= MOST:  # NaN is not between them
        raise ValueError(
            f"{name} has entries from {low:.3g} to {high:.3g}; expected finite numbers of size at "
            f"most {MOST:.1g}, whose squares are finite; scale the samples"
        )
    size = max(high, -low)
    is_fitting = not size or SINGLE[0] < size < SINGLE[1]
    return X if is_fitting or X.dtype == np.float64 else X.astype(np.float64)


def as_sides(A: Any, B: Any) -> tuple[Any, Any]:
    """Return vectors of two kinds, whose scores are compared, as dense arrays."""
    dense = [X.toarray() if sp.issparse(X) else X for X in (A, B)]
    return as_data(dense[0], name="A"), as_data(dense[1], name="B")


def as_sided_rows(index: Any, size: int, n_points: tuple[int, int], *, name: str) -> Any:
    """Return rows of row numbers, by turns of two kinds of vectors."""
    index = as_rows(index, size, max(n_points), name=name)
    for side, n in enumerate(n_points):
        if index.size and index[:, side::2].max() >= n:
            raise ValueError(
                f"{name} has the row number {index[:, side::2].max()} of {'AB'[side]}, which has "
                f"{n} rows, so expected 0 to {n - 1}; correct it"
            )
    return index


def as_rows(index: Any, size: int, n_points: int, *, name: str) -> Any:
    """Return rows of `size` row numbers of the samples, of which there are `n_points`."""
    index = read_array(index, name=name)
    if index.shape == (0,):
        index = np.empty((0, size), np.intp)
    if index.ndim != 2 or index.shape[1] != size:
        raise ValueError(
            f"{name} has shape {index.shape}; expected (n_rows, {size}) row numbers of the "
            "samples; reshape it"
        )
    is_whole = index.dtype.kind in "iu" or (
        index.dtype.kind == "f" and bool((index == np.rint(index)).all())
    )
    if not is_whole:
        raise TypeError(
            f"{name} has dtype {index.dtype}; expected whole row numbers of the samples; convert it"
        )
    if index.size and not 0 <= index.min() <= index.max() < n_points:
        raise ValueError(
            f"{name} has row numbers from {index.min()} to {index.max()}; there are {n_points} "
            f"samples, so expected 0 to {n_points - 1}; correct them"
        )
    return index.astype(np.intp, copy=False)


def as_real(
    value: Any, *, name: str, expected: str = "a real number that a float64 can hold"
) -> float:
    """Return a real number as a float; infinity may be one, NaN is none."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    try:
        number = float(value) if is_number else np.nan
    except OverflowError:
        number = np.nan
    if np.isnan(number):
        error = ValueError if is_number else TypeError
        raise error(f"{name} is {value!r:.80}; expected {expected}; convert it")
    return number


def as_share(value: Any, *, name: str) -> float:
    """Return a real number between 0 and 1, both excluded."""
    number = as_real(value, name=name)
    if not 0 < number < 1:
        raise ValueError(f"{name} is {value!r:.80}; expected a number between 0 and 1, excluded")
    return number


def as_positive(value: Any, *, name: str) -> float:
    """Return a positive real number, which is finite."""
    number = as_real(value, name=name)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} is {value!r:.80}; expected a positive finite number")
    return number


def as_bounded(value: Any, *, name: str) -> float:
    """Return a real number as a float whose products with others of its kind are finite."""
    number = as_real(value, name=name)
    if abs(number) > MOST:
        raise ValueError(
            f"{name} is {number:g}; expected a number of size at most {MOST:.1g}; scale the problem"
        )
    return number


def require_problem(problem: Any) -> None:
    """Refuse what is no problem."""
    parts = ("constraints", "loss", "cone", "sigma", "cost")
    require_parts(problem, parts, name="problem", expected="a FrobeniusSDP; make one")


def require_parts(value: Any, parts: tuple[str, ...], *, name: str, expected: str) -> None:
    """Refuse an object without the attributes of a protocol."""
    is_class = isinstance(value, type)  # a class has the attributes of its instances
    missing = [part for part in parts if is_class or not hasattr(value, part)]
    if missing:
        raise TypeError(
            f"{name} is {value!r:.80} of type {type(value).__name__}, without "
            f"{', '.join(missing)}; expected {expected}"
        )
