"""Columns of tables: found by name or number, and converted to numbers and labels."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...checks.arguments import first_true
from ...checks.text import brief
from ...io.text import MISSING, as_number
from ...runtime.environment import require

#: Function that names the i-th cell of a column in a message.
Place = Callable[[int], str]
#: Numbers as labels; "01", "+1" and "1_0" are text.
NUMERAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Advice:
    """Advice that a message on a cell can give.

    `prepares` tells whether the command that reads the table has options for cells that are not
    numbers; `role` is the role of the column of --target, in words.
    """

    prepares: bool = False
    role: str = "the labels"


@dataclass(frozen=True)
class Block:
    """Some rows of a table by columns, as arrow's or as vectors; `place(j, i)` names a cell.

    `share` is the share of the table up to the last of these rows.
    """

    path: Path
    columns: list[Any]
    names: list[str] | None
    place: Callable[[int, int], str]
    share: float = 1.0
    advice: Advice = Advice()

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]) if self.columns else 0, len(self.columns)

    def numbers(self, j: int, *, missing: bool = False) -> np.ndarray:
        """Return a column as numbers; NaN where they are missing, if they may be."""
        convert = _array_numbers if isinstance(self.columns[j], np.ndarray) else _arrow_numbers
        return convert(self.columns[j], partial(self.place, j), missing, self.advice)

    def texts(self, j: int) -> list[str | None]:
        """Return a column as texts without spaces around them; None where they are missing."""
        column = self.columns[j]
        cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        texts = [None if cell is None or cell != cell else str(cell).strip() for cell in cells]
        return [None if text is None or text.lower() in MISSING else text for text in texts]

    def is_text(self, j: int) -> bool:
        """Return whether a column holds a text that is not a number."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return column.dtype.kind in "US" and _has_words(column.tolist())
        types, kind = require("pyarrow", "cli").types, column.type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        is_string = types.is_string(kind) or types.is_large_string(kind)
        return is_string and _has_words(column.unique().to_pylist())

    def labels(self, j: int, *, as_texts: bool = False) -> np.ndarray:
        """Return a column of labels: numbers if all of them are, else texts."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return column
        return _arrow_labels(column, partial(self.place, j), as_texts)

    def find(self, wanted: str) -> int:
        """Return the number of a column given by its name or its number; -1 is the last."""
        return find_column(self.path, self.names, self.shape[1], wanted)

    def choose(
        self, target: str | None, features: Iterable[str] | None
    ) -> tuple[list[int], int | None]:
        """Return the numbers of the feature columns, and of the target column or None."""
        n_rows, width = self.shape
        label = None if target is None else self.find(target)
        if features is not None and self.names is not None:
            columns = [find_column(self.path, self.names, 0, name) for name in features]
        else:
            columns = [j for j in range(width) if j != label]
        if not columns:
            raise ValueError(f"{self.path} has no column but the target; features are needed too")
        if n_rows == 0:
            raise ValueError(f"{self.path} has no rows of data; expected at least one")
        return columns, label


def _has_words(cells: Iterable[str | None]) -> bool:
    return any(cell is not None and as_number(cell) is None for cell in cells)


def _array_numbers(values: np.ndarray, place: Place, missing: bool, advice: Advice) -> np.ndarray:
    """Convert a vector to numbers; `place(i)` names the i-th of them in an error."""
    if values.dtype.kind in "US":
        return _parse_cells(values.astype(str).tolist(), place, missing, advice)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the array holds {values.dtype}; expected numbers")
    # single precision is kept, so that a model of such data has the same precision
    values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    is_bad = np.isinf(values) if missing else ~np.isfinite(values)
    if is_bad.any():
        (i,) = first_true(is_bad)
        raise ValueError(_bad_cell(place(i), str(float(values[i])), advice))
    return values


def _arrow_numbers(column: Any, place: Place, missing: bool, advice: Advice) -> np.ndarray:
    arrow, compute = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count and not missing:
        raise ValueError(_bad_cell(place(column.is_null().to_pylist().index(True)), "", advice))
    is_text = arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type)
    try:
        trimmed = compute.utf8_trim_whitespace(column) if is_text else column
        values = trimmed.cast(arrow.float64(), safe=False).to_numpy()
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        if not is_text:
            raise ValueError(f"{place(0)} holds {column.type}; expected numbers") from error
        cells = ["" if cell is None else cell for cell in column.to_pylist()]
        values = _parse_cells(cells, place, missing, advice)
    return _array_numbers(values, place, missing, advice)


def _parse_cells(cells: list[str], place: Place, missing: bool, advice: Advice) -> np.ndarray:
    """Convert texts to finite numbers, or NaN where they may be missing."""
    numbers = [as_number(cell) for cell in cells]
    for i, number in enumerate(numbers):
        is_absent = missing and number is not None and np.isnan(number)
        if number is None or not (is_absent or np.isfinite(number)):
            raise ValueError(_bad_cell(place(i), cells[i], advice))
    return np.array(numbers, dtype=np.float64)


def _bad_cell(place: str, text: str, advice: Advice) -> str:
    """Return the error message for a cell that is not a finite number."""
    text = brief(text.strip())
    if text.lower() in MISSING:
        shown = f" ({text!r})" if text else ""
        more = ", or have it filled in: --impute median" if advice.prepares else ""
        return f"{place}: the value is missing{shown}; fill it in or remove the row{more}"
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{place}: the value is infinite; expected a finite number"
    if as_number(text.replace(",", ".", 1)) is not None:
        return f"{place}: {text!r} has a decimal comma; expected a decimal point"
    how = " (--categories one-hot)" if advice.prepares else ""
    which = " (--drop)" if advice.prepares else ""
    return (
        f"{place}: {text!r} is text; expected a number. Encode the column as numbers{how} or "
        f"remove it{which}; if it holds {advice.role}, name it (--target)"
    )


def _arrow_labels(column: Any, place: Place, as_texts: bool) -> np.ndarray:
    labels = column.to_pylist()
    labels = [label.strip() if isinstance(label, str) else label for label in labels]
    for i, label in enumerate(labels):
        if label is None or label == "" or label != label:
            raise ValueError(f"{place(i)}: the label is missing; fill it in or remove the row")
        if isinstance(label, str) and "\0" in label:  # NumPy would cut it at the end of a text
            raise ValueError(f"{place(i)}: the label has a NUL character; expected text; remove it")
    is_text = isinstance(labels[0], str) and not as_texts
    return _text_labels(labels, place) if is_text else np.array(labels)


def _text_labels(labels: list[str], place: Place) -> np.ndarray:
    """Return labels as numbers if all of them are, so that 1 in one file is 1 in another.

    "01" and "1_0" are text, and so are whole numbers too large for an integer of 64 bits.
    """
    texts = {text for text in labels if text.lower() != "nan"}
    if not texts or not all(NUMERAL.fullmatch(text) for text in texts):
        return np.array(labels)
    for i, label in enumerate(labels):
        if label not in texts:
            raise ValueError(f"{place(i)}: the label is NaN; fill it in or remove the row")
    kind = int if all(text.lstrip("-").isdecimal() for text in texts) else float
    numbers = np.array([kind(label) for label in labels])
    is_kept = numbers.dtype.kind in "iuf" and np.isfinite(numbers).all()
    return numbers if is_kept and numbers.dtype == np.dtype(kind) else np.array(labels)


def find_column(path: Path, names: list[str] | None, width: int, wanted: str) -> int:
    """Return the number of a column given by its name or its number; -1 is the last."""
    if names is not None and wanted in names:
        return names.index(wanted)
    if wanted.lstrip("-").isdecimal() and width:
        if not -width <= int(wanted) < width:
            raise ValueError(f"{path} has no column {wanted}; its columns are 0 to {width - 1}")
        return int(wanted) % width
    if names is None:
        hint = f"give a column number from 0 to {width - 1}"
        raise ValueError(f"{path} has no column names, so {wanted!r} cannot be found; {hint}")
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), lower, n=1, cutoff=0.5)
    hint = f"; did you mean {lower[close[0]]!r}?" if close else "."
    some = ", ".join(map(brief, names[:8])) + (
        f", ... ({len(names)} in all)" if len(names) > 8 else ""
    )
    raise ValueError(f"{path} has no column {wanted!r}{hint} Its columns are: {some}")


def check_header(path: Path, names: list[str]) -> None:
    """Raise ValueError unless these are names of columns."""
    check_unique(path, names)
    if "" in names:
        raise ValueError(
            f"{path}: column {names.index('')} has no name in line 1; name it, or remove it if it "
            "holds row labels (pandas: to_csv(index=False))"
        )
    for name in names:  # 5.1 is data; 5 can be a name
        if not name.isdecimal() and np.isfinite(np.float64(as_number(name))):
            raise ValueError(
                f"{path}: line 1 has the number {name} where a column name is expected; add a line "
                "of names, or say that there is none (--no-header)"
            )


def check_unique(path: Path, names: list[str]) -> None:
    """Raise ValueError if two columns have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(
                f"{path}: {count} columns are named {brief(name)!r}; names must differ (if the "
                "file has no line of names, say so: --no-header)"
            )
