"""Symmetric matrices in csv, tsv and npy files, with or without labels."""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...checks.arguments import ASYMMETRY, first_true
from ...io.text import (
    DELIMITERS,
    GZIPPED,
    as_number,
    check_widths,
    csv_records,
    format_of,
    write_csv,
)
from ...runtime.environment import replacing
from . import reading as tables

SUFFIXES = (*DELIMITERS, *GZIPPED, ".npy")


@dataclass(frozen=True)
class LabelledMatrix:
    """A square matrix from a file, NaN where the file has no number.

    `corner` is the cell above the row names, None if only columns, or only rows, have `names`;
    `has_header` tells whether the columns have names.
    """

    values: np.ndarray
    path: Path
    names: list[str] | None = None
    corner: str | None = None
    has_header: bool = False

    def place(self, i: int, j: int) -> str:
        """Return a description of the entry (i, j) for messages."""
        if self.names is None:
            return f"row {i}, column {j} (the first is 0)"
        return f"row {self.names[i]!r}, column {self.names[j]!r}"

    def index(self, word: str) -> int | None:
        """Return the number of a variable given by name or number; None if it is unknown."""
        if self.names is not None and word in self.names:
            return self.names.index(word)
        return int(word) if word.isdecimal() and int(word) < len(self.values) else None

    def order_of(self, names: list[str], path: Path) -> list[int]:
        """Return the position of each name of the matrix in a file of the same names."""
        own = self.names or []
        unknown = (f"{name!r} is not in {self.path}" for name in names if name not in own)
        counts = ((name, names.count(name)) for name in own)
        uneven = (f"{name!r} is there {count} times" for name, count in counts if count != 1)
        mistake = next(unknown, None) or next(uneven, None)
        if mistake:
            raise ValueError(f"{path}: {mistake}; both files must have the same names")
        return [names.index(name) for name in own]

    def in_order_of(self, other: LabelledMatrix) -> LabelledMatrix:
        """Return the matrix with rows and columns in the order of the names of another matrix."""
        n, expected = len(self.values), len(other.values)
        if n != expected:
            reason = f"{self.path} has {n} rows and {other.path} {expected}"
            raise ValueError(f"{reason}; they must be the same")
        if self.names is None or other.names is None:
            return self
        order = other.order_of(self.names, self.path)
        return replace(self, values=self.values[np.ix_(order, order)], names=other.names)

    def require_known(self, hint: str = "", is_free: np.ndarray | None = None) -> LabelledMatrix:
        """Return the matrix; raise ValueError if an entry is missing that is not free."""
        is_missing = np.isnan(self.values)
        is_wrong = is_missing if is_free is None else is_missing & ~is_free
        if is_wrong.any():
            place = f"{self.path}, {self.place(*first_true(is_wrong))}"
            raise ValueError(f"{place}: the value is missing; fill it in{hint}")
        return self

    def require_symmetric(
        self, hint: str = "", is_free: np.ndarray | None = None
    ) -> LabelledMatrix:
        """Return the matrix; raise ValueError if it is not symmetric or an entry is missing."""
        G = self.require_known(hint, is_free).values
        difference = np.nan_to_num(np.abs(G - G.T))
        if difference.max() > ASYMMETRY * np.nanmax(np.abs(G), initial=0.0):
            i, j = map(int, np.unravel_index(int(difference.argmax()), G.shape))
            raise ValueError(
                f"{self.path} is not symmetric: {G[i, j]:.10g} at {self.place(i, j)} and "
                f"{G[j, i]:.10g} at its mirror; correct one, or average the matrix and its "
                "transpose"
            )
        return self


def read_matrix(path: Path) -> LabelledMatrix:
    """Read a `LabelledMatrix` from a csv, tsv or npy file; one triangle is enough.

    "-" is the standard input. The message of an error names the file and the place of the first
    mistake.
    """
    if str(path) == tables.STANDARD:
        with tables.local_copy(path) as copy:
            return replace(read_matrix(copy), path=Path("stdin"))
    if path.suffix.lower() == ".npy":
        matrix = LabelledMatrix(read_array(path), path)
        shape = matrix.values.shape
        if len(shape) != 2 or shape[0] != shape[1] or 0 in shape:
            raise ValueError(f"{path} holds an array of shape {shape}; expected (n, n)")
    else:
        matrix = _from_cells(path)
    values = np.where(np.isnan(matrix.values), matrix.values.T, matrix.values)
    if np.isinf(values).any():
        place = matrix.place(*first_true(np.isinf(values)))
        raise ValueError(f"{path}, {place}: infinite; expected a number")
    return replace(matrix, values=values)


def write_matrix(path: Path, values: np.ndarray, labels_of: LabelledMatrix) -> None:
    """Write a matrix with the labels of another matrix, if the format holds labels.

    "-" is the standard output, in csv.
    """
    rows, suffix = _labelled_rows(values, labels_of), format_of(path)
    if str(path) == tables.STANDARD:
        write_csv(sys.stdout.buffer, rows)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as file:
        if suffix == ".npy":
            np.save(file, values, allow_pickle=False)
        elif suffix in GZIPPED:
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                write_csv(packed, rows, DELIMITERS[suffix.removesuffix(".gz")])
        else:
            write_csv(file, rows, DELIMITERS[suffix])


def _labelled_rows(values: np.ndarray, labels_of: LabelledMatrix) -> list[list[Any]]:
    """Return the rows of a matrix with the labels of another matrix, if that has labels."""
    rows, names = values.tolist(), labels_of.names
    if names and (labels_of.corner is not None or not labels_of.has_header):
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    if labels_of.has_header:
        corner = [] if labels_of.corner is None else [labels_of.corner]
        rows = [[*corner, *(names or [])], *rows]
    return rows


def read_array(path: Path) -> np.ndarray:
    """Read the array of a npy file as floats."""
    tables.check_input(path, expected="an npy file")
    array, *_ = tables.load_arrays(path).values()
    if array.dtype.kind not in "biuf":
        held = f"it holds {array.dtype}; expected numbers"
        raise ValueError(f"{path} cannot be read as a matrix: {held}")
    return array.astype(float)


def read_cells(path: Path) -> list[tuple[int, list[str]]]:
    """Read the cells of a csv or tsv file as texts, with line numbers; all lines equally long."""
    tables.check_input(path, SUFFIXES, "a matrix")
    records = [(line, [cell.strip() for cell in row]) for line, row in csv_records(path)]
    records = [(line, row) for line, row in records if any(row)]
    if not records:
        raise ValueError(f"{path} has only blank lines; expected numbers")
    check_widths(path, records)
    return records


def as_numbers(path: Path, line: int, cells: list[str]) -> list[float]:
    """Convert the cells of a line to numbers; an error names the first bad one."""
    numbers = []
    for k, cell in enumerate(cells, 1):
        number = as_number(cell)
        if number is None:
            place = f"{path}, line {line}, number {k}"
            raise ValueError(f"{place}: {cell!r} is text; expected a number")
        numbers.append(number)
    return numbers


def _from_cells(path: Path) -> LabelledMatrix:
    lines, rows = zip(*read_cells(path), strict=True)
    has_header, has_row_names = _find_labels(path, rows)
    row_names = [row[0] for row in rows[has_header:]] if has_row_names else None
    names = list(rows[0][has_row_names:]) if has_header else row_names
    for k, (name, row_name) in enumerate(zip(names or (), row_names or (), strict=False), 1):
        if name != row_name:
            raise ValueError(
                f"{path}: column {k} is named {name!r} and row {k} {row_name!r}; expected the same "
                "names in the same order"
            )
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"{path}: the name {name!r} is there twice; names must differ")
    body = zip(lines[has_header:], rows[has_header:], strict=True)
    values = np.array([as_numbers(path, line, row[has_row_names:]) for line, row in body])
    corner = rows[0][0] if has_header and has_row_names else None
    return LabelledMatrix(values, path, names, corner, has_header)


def _find_labels(path: Path, rows: Sequence[list[str]]) -> tuple[bool, bool]:
    """Return whether the first line, and the first column, hold labels; the rest is square."""
    n_rows, n_columns = len(rows), len(rows[0])
    if n_rows == n_columns:
        corner = as_number(rows[0][0]) if rows[0][0] else None
        return (corner is None and n_rows > 1,) * 2
    extra = n_rows - n_columns
    labels = rows[0] if extra == 1 else [row[0] for row in rows]
    counting = ([str(k + start) for k in range(len(labels))] for start in (0, 1))
    are_labels = all(as_number(text) is None for text in labels) or list(labels) in counting
    if abs(extra) > 1 or not are_labels:
        shape = f"{n_rows} rows and {n_columns} columns"
        raise ValueError(f"{path} has {shape}; expected a square matrix")
    return extra == 1, extra == -1
