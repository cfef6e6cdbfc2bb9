"""Symmetric matrices in files, with or without labels: read and written; the suffix says how."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._atomic import replacing
from .columns import MISSING
from .tables import check_file

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".npy")


@dataclass(frozen=True)
class LabelledMatrix:
    """A matrix from a file.

    Attributes
    ----------
    values : ndarray of shape (n, n)
        NaN where the file has nothing.
    path : Path
    names : list of str or None
    corner : str or None
        What stands above the names of the rows; None if only columns, or only rows, have names.
    is_headed : bool
        Whether the columns have names; if not, but `names` are there, the rows have.
    """

    values: np.ndarray
    path: Path
    names: list[str] | None = None
    corner: str | None = None
    is_headed: bool = False

    def place(self, i, j):
        """The words for an entry."""
        if self.names is None:
            return f"row {i}, column {j} (the first is 0)"
        return f"row {self.names[i]!r}, column {self.names[j]!r}"

    def index(self, word):
        """The number of a variable from its name or its number; None if there is none."""
        if self.names is not None and word in self.names:
            return self.names.index(word)
        number = int(word) if word.isdecimal() else len(self.values)
        return number if number < len(self.values) else None

    def like(self, other):
        """In the order of the other matrix, if both have names."""
        if self.values.shape != other.values.shape:
            raise ValueError(
                f"{self.path} has {len(self.values)} rows and {other.path} {len(other.values)}; "
                "they must be the same"
            )
        if self.names is None or other.names is None:
            return self
        order = name_order(self.path, self.names, other)
        return replace(self, values=self.values[np.ix_(order, order)], names=other.names)


def name_order(path, names, matrix):
    """Where each name of the matrix stands among others, which must be the same ones."""
    strange = (f"{name!r} is not in {matrix.path}" for name in names if name not in matrix.names)
    counts = ((name, names.count(name)) for name in matrix.names)
    uneven = (f"{name!r} is there {count} times" for name, count in counts if count != 1)
    wrong = next(strange, None) or next(uneven, None)
    if wrong:
        raise ValueError(f"{path}: {wrong}; both files must have the same names")
    return [names.index(name) for name in matrix.names]


def read_matrix(path):
    """The square matrix of a csv, tsv or npy file; of an entry and its mirror one is enough.

    Raises
    ------
    FileNotFoundError, ValueError
        Saying what is wrong and where.
    """
    matrix = _from_array(path) if path.suffix.lower() == ".npy" else _from_cells(path)
    values = np.where(np.isnan(matrix.values), matrix.values.T, matrix.values)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        raise ValueError(f"{path}, {matrix.place(*infinite[0])}: infinite; expected a number")
    return replace(matrix, values=values)


def write_matrix(path, values, like):
    """Write a matrix with the labels of another one, if the format has a place for them."""
    with replacing(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file, values, allow_pickle=False)
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        rows = csv.writer(text, delimiter=DELIMITERS[path.suffix.lower()], lineterminator="\n")
        if like.is_headed:
            rows.writerow([*([] if like.corner is None else [like.corner]), *like.names])
        sides = like.names if like.corner is not None or not like.is_headed else None
        for i, row in enumerate(values.tolist()):
            rows.writerow([*([sides[i]] if sides else []), *row])
        text.detach()  # closing it would close the file


def check_matrix_suffix(path, verb):
    """Raise ValueError unless matrices are read from and written to such files."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"cannot {verb} {path}: expected one of {', '.join(SUFFIXES)}")


def read_array(path):
    """What a npy file holds, as floats."""
    check_file(path)
    try:
        array = np.load(path, allow_pickle=False)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"it holds {array.dtype}; expected real numbers")
    except (ValueError, OSError, EOFError, AttributeError) as error:  # a npz file has no dtype
        raise ValueError(f"{path} cannot be read as a npy file of numbers ({error})") from error
    return array.astype(float)


def read_cells(path):
    """The cells of a csv or tsv file as texts, with the number of each line; all equally long."""
    check_matrix_suffix(path, "read")
    check_file(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            rows = csv.reader(file, delimiter=max(",;\t", key=first.count))
            cells = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a csv file in UTF-8 ({error})") from error
    if not cells:
        raise ValueError(f"{path} has only blank lines; expected numbers")
    width = len(cells[0][1])
    for line, row in cells:
        if len(row) != width:
            raise ValueError(f"{path}, line {line} has {len(row)} fields; the first has {width}")
    return cells


def number(text):
    """The number that a text says, NaN if it says that there is none; None if it is no number."""
    if text.lower() in MISSING:
        return np.nan
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def numbers(path, line, cells):
    """The numbers of a line; an error names the first that is none."""
    found = [number(cell) for cell in cells]
    if None in found:
        k = found.index(None)
        raise ValueError(
            f"{path}, line {line}, number {k + 1}: {cells[k]!r} is text; expected a number"
        )
    return found


def _from_array(path):
    values = read_array(path)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise ValueError(f"{path} holds an array of shape {values.shape}; expected (n, n)")
    return LabelledMatrix(values, path)


def _from_cells(path):
    cells = read_cells(path)
    lines, rows = zip(*cells, strict=True)
    is_headed, is_sided = _labels(path, rows)
    sides = [row[0] for row in rows[is_headed:]] if is_sided else None
    names = list(rows[0][is_sided:]) if is_headed else sides
    if sides is not None and names != sides:
        k = next(k for k, pair in enumerate(zip(names, sides, strict=True)) if len(set(pair)) > 1)
        raise ValueError(
            f"{path}: column {k + 1} is named {names[k]!r} and row {k + 1} {sides[k]!r}; expected "
            "the same names in the same order"
        )
    if names is not None and len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{path}: the name {double!r} is there twice; names must differ")
    body = zip(lines[is_headed:], rows[is_headed:], strict=True)
    values = np.array([numbers(path, line, row[is_sided:]) for line, row in body])
    corner = rows[0][0] if is_headed and is_sided else None
    return LabelledMatrix(values, path, names, corner, is_headed)


def _labels(path, rows):
    """Whether the first line, and the first column, hold labels: the rest must be square."""
    n_rows, n_columns = len(rows), len(rows[0])
    if n_rows == n_columns:
        corner = number(rows[0][0]) if rows[0][0] else None
        return (corner is None and n_rows > 1,) * 2
    extra = n_rows - n_columns
    labels = rows[0] if extra == 1 else [row[0] for row in rows]
    if abs(extra) > 1 or not _are_labels(labels):
        raise ValueError(
            f"{path} has {n_rows} rows and {n_columns} columns; expected a square matrix"
        )
    return extra == 1, extra == -1


def _are_labels(texts):
    """Texts, or numbers that count."""
    if not any(number(text) is not None for text in texts):
        return True
    return list(texts) in ([str(k + start) for k in range(len(texts))] for start in (0, 1))
