"""Rows of files that are larger than memory: parts of npy and parquet files, read when needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tokenize import TokenError
from typing import Any

import numpy as np

from ..checks.arguments import as_path, check_count
from ..checks.text import brief
from ..core.checks import as_sequence
from ..runtime.environment import check_expansion, check_file, require
from .engine import LocalEngine
from .table import ShardedTable, split_rows
from .vectors import Sharded

#: A shard's rows in double precision take at most this share of the memory: its neighbours in
#: other shards, up to six times as many, and products with all of them stand beside them.
SHARE = 1 / 16
#: Share of the free memory that a fit may take where no limit is given.
FREE = 1 / 4


class RowFile:
    """Rows of an npy or parquet file, for a fit with data that are larger than memory.

    Parameters
    ----------
    path : path
        An npy file with a matrix or, for labels, a vector; or a parquet file.
    columns : str or sequence of str, optional
        Columns of a parquet file, all if None. A single name makes a vector.
    memory : int, optional
        Bytes that the fit may take, a quarter of the free memory if None.
    folder : path, optional
        Folder for temporary files, up to seven times as large as the data in double precision;
        that of the system if None.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from frobmetric import FrobMetric, RowFile
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(90) % 3
    >>> X = rng.normal(size=(90, 5)) + y[:, None]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples.npy"
    >>> np.save(path, X)
    >>> metric = FrobMetric().fit(RowFile(path), y)
    >>> metric.status_
    'optimal'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: str | Sequence[str] | None = None,
        memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path, self.memory = as_path(path), memory
        self.folder = folder if folder is None else as_path(folder, name="folder")
        if memory is not None:
            check_count(memory, name="memory")
        if not (columns is None or isinstance(columns, str)):
            columns = as_sequence(columns, name="columns", expected="names of columns")
        kinds: dict[str, Any] = {".npy": _Npy, ".parquet": _Parquet}
        if self.path.suffix.lower() not in kinds:
            raise ValueError(
                f"{path} is neither an npy nor a parquet file; convert it, or read it into memory"
            )
        check_file(self.path, "an npy or parquet file")
        self._file: Any = kinds[self.path.suffix.lower()](str(self.path), columns)
        self.columns = columns if isinstance(columns, str) else self._file.names

    @property
    def shape(self) -> tuple[int, ...]:
        return self._file.shape

    def __len__(self) -> int:
        return self.shape[0]

    def load(self) -> np.ndarray:
        """Return all rows as an array in memory."""
        return np.concatenate([part.load() for part in self._file.cut(len(self))])

    def open(self, y: Any) -> ShardedTable:
        """Return the rows and their labels in shards of bounded size."""
        if len(self.shape) != 2:
            raise ValueError(
                f"{self.path} has the shape {self.shape}; expected a matrix of samples"
            )
        parts = self._file.cut(rows_in_memory(self.shape[1], self.memory))
        return open_parts(parts, [len(part) for part in parts], y, self._file.names, self.folder)


def rows_in_memory(n_features: int, memory: int | None) -> int:
    """Return the number of rows of a shard."""
    memory = int(FREE * _free_memory()) if memory is None else memory
    return max(1, int(SHARE * memory / (8 * n_features)))


def open_parts(
    parts: list[Any], sizes: list[int], y: Any, names: list[str] | None, folder: Any
) -> ShardedTable:
    """Return a table of parts that have `load()`, in this process, with labels."""
    engine = LocalEngine(len(parts), folder or os.environ.get("TMPDIR", "/tmp"))
    X = Sharded.put(engine, parts).map(_load).light()
    y = y.load() if isinstance(y, RowFile) else y
    return ShardedTable(X, Sharded.put(engine, split_rows(y, sizes)), names)


def open_memmap(X: np.memmap, y: Any) -> ShardedTable:
    """Return the rows of a memory-mapped array in shards of bounded size, with labels."""
    step = rows_in_memory(X.shape[1], None)
    parts = [ArrayRows(X[start : start + step]) for start in range(0, len(X), step)]
    return open_parts(parts, [len(part) for part in parts], y, None, None)


def _load(part: Any) -> np.ndarray:
    return part.load()


#: Errors by which NumPy and pyarrow refuse a file. NumPy reads the header of an npy file as Python,
#: and sizes in it may overflow.
UNREADABLE = (
    *(ValueError, OSError, EOFError, TypeError, OverflowError, MemoryError),
    *(SyntaxError, TokenError),
)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Raise ValueError, with the name of the file, if it cannot be read."""
    try:
        yield
    except UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be read ({brief(error)}); expected numbers, in a file that is whole"
        ) from error


def map_npy(path: Any) -> np.memmap:
    """Return the array of an npy file, whose numbers are read when they are used."""
    with np.errstate(over="ignore"):  # sizes in the header that no file has
        return np.lib.format.open_memmap(path, mode="r")


def _free_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return 1 << 32


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array that is mapped into memory."""

    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def load(self) -> np.ndarray:
        """Return the rows as an array in memory."""
        return np.array(self.rows)


@dataclass(frozen=True)
class ParquetRows:
    """Some columns of consecutive row groups of a parquet file, as a matrix or a vector."""

    path: str
    groups: tuple[int, ...]
    n_rows: int
    columns: tuple[str, ...]
    is_vector: bool

    def __len__(self) -> int:
        return self.n_rows

    def load(self) -> np.ndarray:
        """Return the rows as an array in memory."""
        file = require("pyarrow.parquet", "cli").ParquetFile(self.path)
        table = file.read_row_groups(list(self.groups), list(self.columns))
        arrays = [table.column(name).to_numpy() for name in self.columns]
        return arrays[0] if self.is_vector else np.column_stack(arrays)


class _Npy:
    """An npy file."""

    names = None

    def __init__(self, path: str, columns: Any) -> None:
        if columns is not None:
            raise ValueError(f"{path} has no names of columns; columns={columns!r} is for parquet")
        with _reading(path):
            self.rows = map_npy(path)
        self.shape = self.rows.shape

    def cut(self, n_rows: int) -> list[ArrayRows]:
        starts = range(0, len(self.rows), n_rows)
        return [ArrayRows(self.rows[start : start + n_rows]) for start in starts]


class _Parquet:
    """A parquet file, which is read by row groups."""

    def __init__(self, path: str, columns: Any) -> None:
        self.path, self.is_vector = path, isinstance(columns, str)
        with _reading(path):
            file = require("pyarrow.parquet", "cli").ParquetFile(path)
            check_expansion(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        wanted = [columns] if self.is_vector else columns
        self.names = file.schema_arrow.names if wanted is None else list(wanted)
        unknown = [name for name in self.names if name not in file.schema_arrow.names]
        if unknown:
            raise ValueError(
                f"{path} has no column {unknown[0]!r}; it has {', '.join(file.schema_arrow.names)}"
            )
        groups = range(file.metadata.num_row_groups)
        self.sizes = [file.metadata.row_group(group).num_rows for group in groups]
        n_rows = sum(self.sizes)
        self.shape = (n_rows,) if self.is_vector else (n_rows, len(self.names))

    def cut(self, n_rows: int) -> list[ParquetRows]:
        runs: list[list[int]] = []
        size = n_rows
        for group, rows in enumerate(self.sizes):
            if size + rows > n_rows:
                runs.append([])
                size = 0
            runs[-1].append(group)
            size += rows
        return [self._rows(tuple(run)) for run in runs]

    def _rows(self, groups: tuple[int, ...]) -> ParquetRows:
        n_rows = sum(self.sizes[group] for group in groups)
        return ParquetRows(self.path, groups, n_rows, tuple(self.names), self.is_vector)
