"""Tables of samples in files: read into arrays, and written; the suffix says the format."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._atomic import replacing
from .._extras import require
from .columns import Choice
from .readers import READERS


@dataclass(frozen=True)
class Table:
    """Samples from a file.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    feature_names : list of str or None
        None for files that have no names.
    """

    X: np.ndarray
    y: np.ndarray | None = None
    feature_names: list[str] | None = None

    def frame(self):
        """X as estimators take it: with its names, if there are any."""
        if self.feature_names is None:
            return self.X
        return require("pyarrow", "cli").table(list(self.X.T), names=self.feature_names)

    def take(self, rows):
        """These rows, in this order."""
        return Table(self.X[rows], None if self.y is None else self.y[rows], self.feature_names)


def read_table(path, target=None, features=None, header=True):
    """Read samples from a csv, tsv, parquet, npy or npz file.

    Parameters
    ----------
    path : str or Path
    target : str, optional
        Name or number (from 0, -1 is the last) of the column of labels; in an npz file also the
        name of an array. An npz file with X and y needs none.
    features : sequence of str, optional
        Names of the columns wanted, in this order; all but the target if None. Files without
        names give all their columns.
    header : bool
        Whether the first line of a csv file has the names.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError, ValueError
        Saying what is wrong and where: which file, line and column.
    """
    path = Path(path)
    reader = _by_suffix(path, READERS, "read")
    check_file(path)
    choice = Choice(target, None if features is None else tuple(features), header)
    return Table(*reader(path, choice))


def read_triplets(path):
    """Read rows (anchor, near, far) of row numbers; a csv file may have a line of names or not.

    Returns
    -------
    ndarray of int, shape (n_triplets, 3)
    """
    path = Path(path)
    table = read_table(path, header=_first_line_is_text(path))
    if table.X.shape[1] != 3:
        raise ValueError(f"{path} has {table.X.shape[1]} columns; expected anchor, near, far")
    triplets = table.X.astype(np.intp)
    wrong = np.argwhere(triplets != table.X)
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(
            f"{path}, triplet {i} (the first is 0): {table.X[i, j]} is not a row number; expected "
            "whole numbers from 0"
        )
    return triplets


def write_table(path, table, labels_name="label"):
    """Write samples to a csv, tsv, parquet, npy or npz file; npy has no place for labels."""
    path = Path(path)
    write = _by_suffix(path, WRITERS, "write")
    names = table.feature_names or [f"x{j}" for j in range(table.X.shape[1])]
    with replacing(path) as file:
        write(file, table, names, labels_name)


def check_suffix(path, known=None):
    """Raise ValueError unless the suffix is one of these, or one that `write_table` knows."""
    _by_suffix(Path(path), dict.fromkeys(known) if known else WRITERS, "write")


def check_file(path):
    """Raise an error unless this is a file with something in it."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {what}; check its name (in {path.parent.resolve()})")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; expected rows of numbers")


def _by_suffix(path, table, verb):
    try:
        return table[path.suffix.lower()]
    except KeyError:
        given = f"of format {path.suffix!r}" if path.suffix else "without a suffix"
        raise ValueError(
            f"cannot {verb} {path}: a file {given}; expected one of {', '.join(table)}"
        ) from None


def _first_line_is_text(path):
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return True
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return any(character.isalpha() for character in file.readline())


def _write_csv(file, table, names, labels_name, delimiter=","):
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    if table.y is None:
        rows.writerow(names)
        rows.writerows(table.X.tolist())
    else:
        rows.writerow([*names, labels_name])
        rows.writerows(
            [*row, label] for row, label in zip(table.X.tolist(), table.y.tolist(), strict=True)
        )
    text.detach()  # closing it would close the file


def _write_tsv(file, table, names, labels_name):
    _write_csv(file, table, names, labels_name, "\t")


def _write_parquet(file, table, names, labels_name):
    arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    columns = list(table.X.T)
    if table.y is not None:
        columns, names = [*columns, table.y], [*names, labels_name]
    parquet.write_table(arrow.table(columns, names=names), file)


def _write_npy(file, table, names, labels_name):
    np.save(file, table.X, allow_pickle=False)


def _write_npz(file, table, names, labels_name):
    labels = {} if table.y is None else {"y": table.y}
    np.savez(file, X=table.X, **labels)


WRITERS = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
    ".npy": _write_npy,
    ".npz": _write_npz,
}
