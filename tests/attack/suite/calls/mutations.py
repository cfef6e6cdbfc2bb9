"""Mutations of the arguments of a valid call: the same data in another form, or hostile values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp


def _optional(name: str) -> Any:
    """Return a package; None if it is missing, so that its containers are not tried."""
    try:
        return import_module(name)
    except ImportError:
        return None


pandas, polars = _optional("pandas"), _optional("polars")
#: Share of the mutations of an array that replace it by a value of another kind.
JUNK_SHARE = 0.12
#: Share of the mutations that leave the data the same.
SAME_SHARE = 0.4


@dataclass(frozen=True)
class Mutation:
    """Another value of an argument; `precision` is None if it stands for other data.

    Otherwise the data are the same, and the answer is too: up to this share of its largest number.
    """

    name: str
    value: Any
    precision: float | None = None


class Same(np.ndarray):
    """Subclass of arrays that changes nothing."""


def mutate(value: Any, rng: np.random.Generator) -> Mutation:
    """Return a mutation of the valid value of an argument, drawn at random."""
    if isinstance(value, np.ndarray) and rng.random() >= JUNK_SHARE:
        forms = _same_array(value) if rng.random() < SAME_SHARE else None
        return _draw(forms or HOSTILE, value, rng)
    if rng.random() < SAME_SHARE and (forms := _same_scalar(value)):
        return _draw(forms, value, rng)
    name = list(JUNK)[rng.integers(len(JUNK))]
    return Mutation(name, JUNK[name]())


def _draw(forms: dict[str, Any], value: Any, rng: np.random.Generator) -> Mutation:
    name = list(forms)[rng.integers(len(forms))]
    form = forms[name]
    make, precision = form if isinstance(form, tuple) else (form, None)
    return Mutation(name, make(value, rng), precision)


# --- the same data in another form ---------------------------------------------------------------


def _strided(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    wide = np.zeros(tuple(2 * n for n in A.shape), A.dtype)
    every = tuple(slice(None, None, 2) for _ in A.shape)
    wide[every] = A
    return wide[every]


def _read_only(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    A = A.copy()
    A.flags.writeable = False
    return A


def _reversed(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return A[::-1].copy()[::-1]


LAYOUTS: dict[str, tuple[Callable, float]] = {
    "Fortran order": (lambda A, rng: np.asfortranarray(A), 1e-9),
    "every second entry of a larger array": (_strided, 1e-9),
    "read only": (_read_only, 1e-9),
    "reversed view": (_reversed, 1e-9),
    "other byte order": (lambda A, rng: A.astype(A.dtype.newbyteorder()), 1e-9),
    "subclass of ndarray": (lambda A, rng: A.view(Same), 1e-9),
    "list": (lambda A, rng: A.tolist(), 1e-9),
    "tuple": (lambda A, rng: tuple(A.tolist()), 1e-9),
    "list of arrays": (lambda A, rng: list(A), 1e-9),
    "masked array": (lambda A, rng: np.ma.masked_array(A), 1e-9),
}
SPARSE = {
    name: (lambda A, rng, make=make: make(A.astype(float)), 1e-3)
    for name, make in {
        "csr_matrix": sp.csr_matrix,
        "csc_matrix": sp.csc_matrix,
        "coo_array": sp.coo_array,
        "bsr_array": sp.bsr_array,
        "csr_array": sp.csr_array,
        "lil_matrix": sp.lil_matrix,
        "dok_array": sp.dok_array,
        "csr_array of 64-bit indices": lambda A: _with_long_indices(sp.csr_array(A)),
        "csr_array with explicit zeros": lambda A: _with_zeros(sp.csr_array(A)),
    }.items()
}


def _with_long_indices(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def _with_zeros(A):
    full = sp.coo_array(np.ones(A.shape)).tocsr()
    full.data = A.toarray().ravel()
    return full


#: Types of numbers; where a value changes by the cast, it is not the same data.
DTYPES = ("int8", "uint8", "int16", "uint64", "float16", "float32", "float64", "longdouble", "O")


def _same_array(A: np.ndarray) -> dict[str, Any]:
    """Return the forms that hold the data of an array without loss."""
    forms = dict(LAYOUTS)
    if A.dtype.kind in "US":
        return forms | {"objects": (lambda A, rng: A.astype(object), 1e-9)}
    for name in DTYPES:
        if _is_lossless(A, name):
            rough = 1e-3 if name == "float32" else 1e-9
            forms[name] = (lambda A, rng, name=name: A.astype(name), rough)
    if A.ndim == 2:
        forms |= SPARSE
        forms["matrix"] = (lambda A, rng: np.asmatrix(A), 1e-9)
    if pandas is not None and A.ndim in (1, 2):
        make = pandas.DataFrame if A.ndim == 2 else pandas.Series
        forms[f"pandas {make.__name__}"] = (lambda A, rng: make(A), 1e-9)
        rows = np.arange(len(A))[::-1] * 7
        forms["pandas with another index"] = (lambda A, rng: make(A, index=rows), 1e-9)
    if polars is not None and A.ndim in (1, 2):
        many = polars.DataFrame if A.ndim == 2 else polars.Series
        forms[f"polars {many.__name__}"] = (lambda A, rng: many(A), 1e-9)
    return forms


def _is_lossless(A: np.ndarray, dtype: str) -> bool:
    with np.errstate(all="ignore"):
        cast = A.astype(dtype)
        return bool(cast.dtype != A.dtype and np.array_equal(cast.astype(float), A.astype(float)))


def _same_scalar(value: Any) -> dict[str, Any]:
    """Return the forms of a number or a name that mean the same."""
    if isinstance(value, bool):
        return {"np.bool_": (lambda v, rng: np.bool_(v), 1e-9)}
    if isinstance(value, int) and 0 <= value < 127:
        names = ("int8", "uint8", "int64", "uint64")
        return {name: (lambda v, rng, name=name: np.dtype(name).type(v), 1e-9) for name in names}
    if isinstance(value, float) and np.isfinite(value):
        forms = {"Fraction": (lambda v, rng: Fraction(v), 1e-9)}
        for name in ("float64", "longdouble", "float32", "float16"):
            if float(np.dtype(name).type(value)) == value:
                forms[name] = (lambda v, rng, name=name: np.dtype(name).type(v), 1e-9)
        return forms
    if isinstance(value, str):
        return {"np.str_": (lambda v, rng: np.str_(v), 1e-9)}
    if isinstance(value, list):
        return {"tuple": (lambda v, rng: tuple(v), 1e-9)}
    return {}


# --- hostile arrays ------------------------------------------------------------------------------


def _with(entry: Any, dtype: Any = float) -> Callable:
    """Return the mutation that puts an entry at a random place."""

    def put(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        numbers = A if A.dtype.kind in "biuf" else np.arange(A.size).reshape(A.shape)
        A = numbers.astype(dtype)
        if A.size:
            A[tuple(rng.integers(n) for n in A.shape)] = entry
        return A

    return put


def _scaled(factor: float) -> Callable:
    def scale(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return A.astype(float) * factor if A.dtype.kind in "biuf" else A

    return scale


def _numeric(make: Callable) -> Callable:
    """Return a mutation of numbers; others become their positions before."""

    def apply(A: np.ndarray, rng: np.random.Generator) -> Any:
        numbers = A if A.dtype.kind in "biuf" else np.arange(A.size).reshape(A.shape)
        return make(numbers)

    return apply


def _masked(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.ma.masked_array(A, mask=rng.random(A.shape) < 0.2)


def _ragged(A: np.ndarray, rng: np.random.Generator) -> list:
    rows = A.tolist() if A.ndim else [A.item()]
    return [*rows[:-1], [rows[-1:], 1]]


def _shuffled(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(A.ravel()).reshape(A.shape)


HOSTILE: dict[str, Callable] = {
    "a NaN": _with(np.nan),
    "an infinity": _with(np.inf),
    "a negative infinity": _with(-np.inf),
    "all NaN": lambda A, rng: np.full(A.shape, np.nan),
    "an entry of 1e300": _with(1e300),
    "an entry of -1e300": _with(-1e300),
    "an entry of 1e16": _with(1e16),
    "an entry of -1": _with(-1, int),
    "an entry of 2**62": _with(2**62),
    "an entry of 0.5": _with(0.5),
    "None inside": _with(None, object),
    "10**400 inside": _with(10**400, object),
    "text inside": _with("frog", object),
    "pandas.NA inside": lambda A, rng: _with(_missing(), object)(A, rng),
    "a list inside": _with([1, 2], object),
    "an object inside": _with(object(), object),
    "times 1e300": _scaled(1e300),
    "times 1e160": _scaled(1e160),
    "times 1e30": _scaled(1e30),
    "times 1e-30": _scaled(1e-30),
    "times 1e-160": _scaled(1e-160),
    "times 1e-310": _scaled(1e-310),
    "times -1": _scaled(-1.0),
    "denormal": lambda A, rng: rng.integers(0, 9, A.shape) * 5e-324,
    "float32 times 1e30": _numeric(lambda A: A.astype(np.float32) * np.float32(1e30)),
    "float32 times 1e-40": _numeric(lambda A: A.astype(np.float32) * np.float32(1e-40)),
    "far from zero": _numeric(lambda A: A + 1e9),
    "zeros": lambda A, rng: np.zeros_like(A) if A.dtype.kind in "biuf" else A,
    "ones": lambda A, rng: np.ones(A.shape),
    "no rows": lambda A, rng: A[:0],
    "one row": lambda A, rng: A[:1],
    "two rows": lambda A, rng: A[:2],
    "a row less": lambda A, rng: A[:-1],
    "a row more": lambda A, rng: np.concatenate([A, A[-1:]]) if A.ndim else A,
    "no columns": lambda A, rng: A[:, :0] if A.ndim > 1 else A[:0],
    "a column less": lambda A, rng: A[..., :-1],
    "equal rows": lambda A, rng: np.repeat(A[:1], len(A), axis=0) if A.ndim else A,
    "repeated rows": lambda A, rng: A[np.arange(len(A)) // 2] if A.ndim else A,
    "shuffled": _shuffled,
    "flat": lambda A, rng: A.ravel(),
    "one more axis": lambda A, rng: A[None],
    "one more last axis": lambda A, rng: A[..., None],
    "transposed": lambda A, rng: A.T,
    "complex": _numeric(lambda A: A + 0.5j),
    "text": lambda A, rng: A.astype(str),
    "bytes": _numeric(lambda A: A.astype("S")),
    "bool": _numeric(lambda A: A.astype(bool)),
    "dates": _numeric(lambda A: A.astype(np.int64).astype("datetime64[D]")),
    "durations": _numeric(lambda A: A.astype(np.int64).astype("timedelta64[s]")),
    "records": lambda A, rng: np.zeros(A.shape, [("a", float), ("b", int)]),
    "partly masked": _masked,
    "ragged list": _ragged,
    "uint8 of other numbers": _numeric(lambda A: (A.astype(np.int64) * 37).astype(np.uint8)),
    "longdouble beyond float64": _numeric(lambda A: np.ldexp(A.astype(np.longdouble), 2000)),
    "generator": lambda A, rng: (row for row in A),
    "dictionary": lambda A, rng: dict(enumerate(A.tolist() if A.ndim else [A.item()])),
}  # fmt: skip


# --- values of another kind ----------------------------------------------------------------------


class Hostile:
    """Object without any use, made with any arguments."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Hostile()"


def _missing() -> Any:
    return pandas.NA if pandas is not None else None


#: Values of another kind, each by a function that makes a new one.
JUNK: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "'frog'": lambda: "frog",
    "''": lambda: "",
    "'auto'": lambda: "auto",
    "'identity'": lambda: "identity",
    "'random'": lambda: "random",
    "a text of 10,000 letters": lambda: "a" * 10_000,
    "a NUL in text": lambda: "a\0b",
    "b'x'": lambda: b"x",
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "-1": lambda: -1,
    "1000": lambda: 1000,
    "10**9": lambda: 10**9,
    "10**18": lambda: 10**18,
    "-10**18": lambda: -(10**18),
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "0.0": lambda: 0.0,
    "-0.0": lambda: -0.0,
    "0.5": lambda: 0.5,
    "3.7": lambda: 3.7,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e300": lambda: 1e300,
    "1e155": lambda: 1e155,
    "1e-155": lambda: 1e-155,
    "1e-300": lambda: 1e-300,
    "5e-324": lambda: 5e-324,
    "np.uint8(250)": lambda: np.uint8(250),
    "np.int8(3)": lambda: np.int8(3),
    "np.int8(-3)": lambda: np.int8(-3),
    "np.float16(0.1)": lambda: np.float16(0.1),
    "np.float32(0.1)": lambda: np.float32(0.1),
    "np.longdouble('1e4000')": lambda: np.longdouble("1e4000"),
    "np.longdouble('1e-4000')": lambda: np.longdouble("1e-4000"),
    "np.array(2)": lambda: np.array(2),
    "np.array([1, 2])": lambda: np.array([1, 2]),
    "np.array(None)": lambda: np.array(None),
    "np.datetime64": lambda: np.datetime64("2024-01-01"),
    "np.ma.masked": lambda: np.ma.masked,
    "pandas.NA": _missing,
    "1j": lambda: 1j,
    "Fraction(1, 3)": lambda: Fraction(1, 3),
    "Decimal(1)": lambda: Decimal(1),
    "[]": list,
    "[None]": lambda: [None],
    "[[]]": lambda: [[]],
    "['a', 'b']": lambda: ["a", "b"],
    "[1, 'a']": lambda: [1, "a"],
    "[0.1, 1000.0]": lambda: [0.1, 1000.0],
    "(1, 2)": lambda: (1, 2),
    "{}": dict,
    "{'a': 1}": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "an object": Hostile,
    "a class": lambda: Hostile,
    "a function": lambda: lambda *given, **named: None,
    "range(3)": lambda: range(3),
    "slice(None)": lambda: slice(None),
    "Ellipsis": lambda: Ellipsis,
}
