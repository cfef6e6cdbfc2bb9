"""The paper's data sets, by name: npz files in a folder, checked as they are read.

The folder is the argument `folder` of a loader or the environment variable ``FROBMETRIC_DATA``.
"""

from __future__ import annotations

import difflib
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class DatasetNotFoundError(FileNotFoundError):
    """The file of a data set is absent, and no download was asked for or exists."""


def find(name, sets):
    """Return the data set of a name; an unknown name is an error that suggests the nearest."""
    if name in sets:
        return sets[name]
    nearest = difflib.get_close_matches(str(name).lower(), sets, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"unknown data set {name!r}; the known ones are {', '.join(sets)}.{hint}")


def as_folder(folder) -> Path | None:
    """Return the folder of the data files: the one given, or that of ``FROBMETRIC_DATA``."""
    folder = folder or os.environ.get("FROBMETRIC_DATA")
    return Path(folder).expanduser() if folder else None


#: Names of kinds of dtypes.
_KINDS = {"U": "strings", "f": "numbers", "iu": "integers", "iuf": "numbers"}


@dataclass(frozen=True)
class NpzFile:
    """An npz file and the arrays that it must contain.

    The arrays "names" and "labels" have strings, other vectors integers, all others numbers,
    unless `kinds` tells another kind of NumPy's dtypes.
    """

    name: str
    shapes: dict[str, tuple[int, ...]]
    hint: str = "no download exists for this set"  # another way to get the data
    note: str = ""  # remark about the arrays
    kinds: dict[str, str] = field(default_factory=dict)

    def is_present(self, folder: Path | None) -> bool:
        """Return whether the file is in the folder."""
        return folder is not None and (folder / self.name).is_file()

    def read(self, folder: Path | None) -> tuple[Path, dict[str, NDArray]]:
        """Return the path and the arrays by name, after a check of their shapes and types."""
        if folder is None or not self.is_present(folder):
            place = f"is not in {folder}" if folder else "is needed, and no data folder was given"
            arrays = ", ".join(f"{key} {shape}" for key, shape in self.shapes.items())
            raise DatasetNotFoundError(
                f"the data file {self.name} {place}. Give the folder that holds it by --data (in "
                f"Python folder=) or by FROBMETRIC_DATA; {self.hint}. The arrays it must contain: "
                f"{arrays}{self.note}."
            )
        path = folder / self.name
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is not an npz file, or is cut short; copy it again.")
        with np.load(path, allow_pickle=False) as npz:
            shapes = self.shapes.items()
            kinds = self.kinds.get
            return path, {
                key: _read_array(npz, path, key, shape, kinds(key)) for key, shape in shapes
            }


def _read_array(npz, path: Path, key: str, shape: tuple[int, ...], kind: str | None) -> NDArray:
    if key not in npz.files:
        raise ValueError(f"{path} has no array {key!r}, only {npz.files}; expected shape {shape}.")
    try:
        array = npz[key]
    except ValueError as error:  # an array of Python objects: reading it could run code
        raise ValueError(f"array {key!r} of {path} cannot be read: {error}") from error
    if kind is None:
        kind = "U" if key in ("names", "labels") else "iuf" if len(shape) > 1 else "iu"
    if array.shape != shape or array.dtype.kind not in kind:
        raise ValueError(
            f"array {key!r} of {path} is {array.dtype} of shape {array.shape}; expected "
            f"{_KINDS[kind]} of shape {shape}. Replace the file."
        )
    return array


def check_values(is_valid: NDArray, array: NDArray, key: str, path: Path, expected: str) -> None:
    """Raise an error that shows the first entry or row of an array that is not valid."""
    if not is_valid.all():
        place = tuple(np.argwhere(~is_valid)[0].tolist())
        shown = array[place].tolist()
        value = tuple(shown) if isinstance(shown, list) else shown
        where = ", ".join(map(str, place))
        raise ValueError(
            f"{key}[{where}] of {path} is {value}; expected {expected}. Replace the file."
        )
