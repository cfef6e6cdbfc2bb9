"""Tables written to csv, tsv, parquet, npy and npz files, whole or block by block, or to stdout."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...io.text import DELIMITERS, format_of, write_csv
from ...runtime.environment import replacing, require
from .reading import STANDARD, Table, check_output


def write_table(path: Path | str, table: Table, *, labels_name: str = "label") -> None:
    """Write samples to a csv, tsv, parquet, npy or npz file; an npy file holds no labels.

    "-" is the standard output, in csv.
    """
    with writing_blocks(path, labels_name=labels_name) as write:
        write(table)


@contextmanager
def writing_blocks(
    path: Path | str, *, labels_name: str = "label"
) -> Iterator[Callable[[Table], None]]:
    """Yield a function that writes tables one below the other.

    The file is replaced when all are written. Tables for an npz file are collected in memory.
    """
    check_output(Path(path))
    if str(path) == STANDARD:
        yield _TextWriter(sys.stdout.buffer, labels_name, ",").write
        sys.stdout.buffer.flush()
        return
    suffix = format_of(path)
    with replacing(path) as file:
        writer = WRITERS[suffix.removesuffix(".gz")](file, labels_name, suffix)
        yield writer.write
        writer.close()


class _TextWriter:
    """Text, compressed by gzip if the suffix says so."""

    def __init__(self, file: BinaryIO, labels_name: str, suffix: str) -> None:
        self.labels_name, self.n_tables = labels_name, 0
        self.delimiter = DELIMITERS.get(suffix.removesuffix(".gz"), ",")
        # without name and time, so that equal tables are equal files
        is_small = suffix.endswith(".gz")
        self.file = gzip.GzipFile("", "wb", 6, file, mtime=0) if is_small else file

    def write(self, table: Table) -> None:
        names, columns = _columns(table, self.labels_name)
        rows: list[Sequence[Any]] = [] if self.n_tables else [names]
        rows += zip(*(column.tolist() for column in columns), strict=True)
        write_csv(self.file, rows, self.delimiter)
        self.n_tables += 1

    def close(self) -> None:
        if isinstance(self.file, gzip.GzipFile):
            self.file.close()


class _ParquetWriter:
    def __init__(self, file: BinaryIO, labels_name: str, suffix: str) -> None:
        self.file, self.labels_name = file, labels_name
        self.writer: Any = None

    def write(self, table: Table) -> None:
        arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
        names, columns = _columns(table, self.labels_name)
        if table.y is not None and table.y.dtype.kind == "U":
            columns[-1] = table.y.tolist()  # pyarrow cuts texts of NumPy at a NUL character
        part = arrow.table(columns, names=names)
        self.writer = self.writer or parquet.ParquetWriter(self.file, part.schema)
        self.writer.write_table(part)

    def close(self) -> None:
        self.writer.close()


class _ArrayWriter:
    """An npy file, whose first bytes tell the number of rows and are written again at the end."""

    def __init__(self, file: BinaryIO, labels_name: str, suffix: str) -> None:
        self.file, self.n_rows = file, 0
        self.start: int | None = None

    def write(self, table: Table) -> None:
        if self.start is None:
            self.width, self.dtype = table.X.shape[1], table.X.dtype
            self._write_start()
            self.start = self.file.tell()
        self.file.write(np.ascontiguousarray(table.X).tobytes())
        self.n_rows += len(table.X)

    def _write_start(self) -> None:
        about = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False}
        shape = (self.n_rows, self.width)
        np.lib.format.write_array_header_1_0(self.file, {**about, "shape": shape})

    def close(self) -> None:
        self.file.seek(0)
        self._write_start()
        if self.file.tell() != self.start:
            raise OSError(f"{self.n_rows} rows do not fit into the first bytes of an npy file")
        self.file.seek(0, 2)


class _ArchiveWriter:
    def __init__(self, file: BinaryIO, labels_name: str, suffix: str) -> None:
        self.file = file
        self.tables: list[Table] = []

    def write(self, table: Table) -> None:
        self.tables.append(table)

    def close(self) -> None:
        arrays: dict[str, Any] = {"X": np.concatenate([table.X for table in self.tables])}
        if self.tables[0].y is not None:
            arrays["y"] = np.concatenate([table.y for table in self.tables])
        np.savez(self.file, **arrays)


def _columns(table: Table, labels_name: str) -> tuple[list[str], list[Any]]:
    """Return the names and the columns of a table, with its labels if it has any."""
    names = [*(table.feature_names or (f"x{j}" for j in range(table.X.shape[1])))]
    if table.y is None:
        return names, [*table.X.T]
    return [*names, labels_name], [*table.X.T, table.y]


WRITERS: dict[str, Any] = dict.fromkeys(DELIMITERS, _TextWriter) | {".parquet": _ParquetWriter}
WRITERS |= {".npy": _ArrayWriter, ".npz": _ArchiveWriter}
