"""Verdict on one call: a right answer, a clear error, or a defect."""

from __future__ import annotations

import dataclasses
import linecache
import re
import traceback
import warnings
from collections.abc import Iterator
from numbers import Number
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import DataConversionWarning

import frobmetric
from frobmetric.exceptions import NumericalError

OURS = str(Path(frobmetric.__file__).parent)
THEIRS = str(Path(sklearn.__file__).parent)
#: Numbers that may be infinite: nothing is proven, or no limit is set.
OPEN = {
    "gap", "relative_gap", "distance_bound", "sigma", "bound", "trace_bound", "threshold",
    "threshold_", "min_eigenvalue", "upper", "lower", "time_limit", "dual",
}  # fmt: skip
#: Parts of an answer that depend on the run, or on the container of the data.
UNSTABLE = {"seconds", "history", "history_", "feature_names_in_", "n_iter", "n_iter_"}
UNSTABLE |= {"problem", "solver", "notes", "fit_seconds_", "preprocessor"}
#: Parts that are rounding: two answers that agree may have others.
ROUNDING = {"gap", "relative_gap", "distance_bound", "gradient", "violation", "eta_p", "eta_d"}
#: Precision of equal data in single precision, and that of held-out gains then: these count samples
#: on either side of near ties, which rounding moves, so some of the 24 samples may differ.
SINGLE, STEP, STEPS = 1e-3, 0.25, re.compile(r"\.(gain|scores)\b")
#: Warnings that numerical libraries give about numbers that went wrong.
LEAKS = (RuntimeWarning, DeprecationWarning, FutureWarning, np.exceptions.ComplexWarning)
DEPTH = 7


class NoAnswer:
    """Part of an answer that was refused with a reason that depends on the form of the data."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Outcome of a call in a few words, and what happened if it is a defect."""

    outcome: str
    defect: str = ""


def leaks(caught: list[warnings.WarningMessage]) -> str:
    """Return the first warning that should not have reached the user."""
    for each in caught:
        is_leak = issubclass(each.category, LEAKS) and not issubclass(
            each.category, DataConversionWarning
        )
        if is_leak and not str(each.message).startswith("frobmetric"):
            place = f"{Path(each.filename).name}:{each.lineno}"
            return f"{each.category.__name__} at {place}: {str(each.message)[:100]}"
    return ""


def judge_error(error: BaseException, takes_path: bool) -> Verdict:
    """Return the verdict on an exception: clear if it was raised on purpose, with its reason."""
    name = type(error).__name__
    place = _own_place(error.__traceback__)
    text = " ".join(str(error).split())[:160]
    if isinstance(error, MemoryError):
        return Verdict("memory", f"{name} at {place}: {text}")
    if isinstance(error, NumericalError) and _is_deliberate(error.__traceback__):
        return Verdict("clear error: NumericalError")
    if isinstance(error, OSError) and takes_path and str(error):
        return Verdict("clear error: OSError")
    if not isinstance(error, (ValueError, TypeError)) or isinstance(error, UnicodeError):
        if _is_contract(error):
            return Verdict("clear error: AttributeError")
        return Verdict("other exception", f"{name} at {place}: {text}")
    if not _is_deliberate(error.__traceback__):
        is_algebra = isinstance(error, np.linalg.LinAlgError)
        outcome = "other exception" if is_algebra else "unclear error"
        return Verdict(outcome, f"{name} at {place}: {text}")
    return Verdict("clear error: TypeError" if name == "TypeError" else "clear error: ValueError")


def judge_answer(
    answer: Any, expected: Any, precision: float | None, *, may_be_nan: bool = False
) -> Verdict:
    """Return the verdict on an answer; `expected` is that of the plain call, if data are equal."""
    parts = dict(_flatten(answer))
    refused = {path for path, numbers in parts.items() if _is_refused(numbers)}
    for path, numbers in parts.items():
        if numbers.dtype.kind in "fc" and path.split(".")[-1].rstrip("]0123456789[") not in OPEN:
            bad = numbers[~np.isfinite(numbers)]
            bad = bad[~np.isnan(bad)] if may_be_nan else bad
            if bad.size:
                return Verdict("NaN or infinity", f"{path} has {bad.flat[0]}")
    if precision is None:
        return Verdict("answer")
    for path, numbers in dict(_flatten(expected)).items():
        if path.rsplit(".", 1)[-1] in ROUNDING or path in refused or _is_refused(numbers):
            continue
        difference = _difference(parts.get(path), numbers)
        if difference > (STEP if precision == SINGLE and STEPS.search(path) else precision):
            return Verdict("another answer", f"{path} differs by {difference:.2g}")
    return Verdict("the same answer")


def flatten(answer: Any) -> dict[str, np.ndarray]:
    """Return the numbers and texts of an answer by their paths."""
    return dict(_flatten(answer))


def _flatten(value: Any, path: str = "answer", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    if depth > DEPTH or path.rsplit(".", 1)[-1] in UNSTABLE or value is None:
        return
    if sp.issparse(value):
        yield path, value.toarray()
    elif isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        array = np.asarray(value)
        if array.dtype.kind == "O" and _are_scalars(array):
            is_text = any(isinstance(each, str) or _is_long(each) for each in array.ravel())
            yield path, array.astype(str if is_text else float)
        elif array.dtype.kind == "O":
            yield from _flatten(array.ravel().tolist(), path, depth + 1)
        elif array.dtype.kind != "V":
            yield path, array
    elif isinstance(value, (Number, np.generic, str, bytes, NoAnswer)):
        yield path, np.asarray(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _flatten(part, f"{path}.{key}", depth + 1)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        for key, part in vars(value).items():
            if key.endswith("_") and not key.startswith("_"):
                yield from _flatten(part, f"{path}.{key}", depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _flatten(getattr(value, field.name), f"{path}.{field.name}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _flatten(part, f"{path}[{number}]", depth + 1)


def _is_refused(numbers: np.ndarray) -> bool:
    return numbers.dtype.kind == "O" and isinstance(numbers.item(), NoAnswer)


def _is_long(value: Any) -> bool:
    """Return whether a number is an integer beyond float64, which may well be a label."""
    return isinstance(value, int) and value.bit_length() > np.finfo(float).maxexp


def _are_scalars(array: np.ndarray) -> bool:
    return all(isinstance(each, (Number, str)) for each in array.ravel())


def _difference(given: np.ndarray | None, expected: np.ndarray) -> float:
    """Return the largest difference relative to the largest number; 1 for other shapes."""
    if given is None or given.shape != expected.shape:
        return np.inf
    if expected.dtype.kind not in "biufc" or given.dtype.kind not in "biufc":
        return 0.0 if np.array_equal(given.astype(str), expected.astype(str)) else np.inf
    given, expected = given.astype(float), expected.astype(float)
    is_open = ~np.isfinite(expected)
    if not np.array_equal(given[is_open], expected[is_open], equal_nan=True):
        return np.inf
    given, expected = given[~is_open], expected[~is_open]
    if not expected.size:
        return 0.0
    size = max(float(np.abs(expected).max()), 1e-6)
    return float(np.abs(given - expected).max()) / size


def _frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    return traceback.extract_tb(trace)


def _own_place(trace: TracebackType | None) -> str:
    """Return the last place in the library that an exception passed."""
    own = [frame for frame in _frames(trace) if frame.filename.startswith(OURS)]
    if not own:
        return "?"
    file = own[-1].filename[len(OURS) + 1 :]
    return f"{file}:{own[-1].lineno} {own[-1].name}"


def _is_deliberate(trace: TracebackType | None) -> bool:
    """Return whether an exception comes from a raise statement, of the library or scikit-learn.

    Where scikit-learn converts arrays, NumPy's text about the entry is scikit-learn's answer too.
    """
    last = _frames(trace)[-1]
    if not last.filename.startswith((OURS, THEIRS)):
        return last.filename.endswith("callbacks.py")
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    is_check = last.filename.startswith(THEIRS) and "validation" in last.filename
    is_check |= last.filename.endswith("_array_api.py")
    return line.startswith("raise") or is_check


def _is_contract(error: BaseException) -> bool:
    """Return whether scikit-learn's contract asks for this exception: a method that is absent."""
    return isinstance(error, AttributeError) and _is_deliberate(error.__traceback__)
