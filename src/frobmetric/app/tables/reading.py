"""Tables of samples: csv, tsv, parquet, npy and npz files, read into arrays, whole or in blocks.

Text and parquet files are read as arrow tables, column by column. Only when a column cannot be
converted is its first bad cell searched, so that the error can give line and column. "-" is the
standard input, whose first bytes tell its format.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.files import map_npy
from ...checks.arguments import first_true
from ...checks.text import brief
from ...io.preparation import Preparing, TablePreparation
from ...io.text import (
    DAMAGED,
    DELIMITERS,
    GZIPPED,
    check_widths,
    csv_records,
    delimiter_of,
    first_line,
    format_of,
)
from ...runtime.environment import (
    EXPANDED,
    EXPANSION,
    check_expansion,
    no_file,
    require,
    target_file,
)
from ...runtime.progress import advance, working
from .columns import Advice, Block, check_header, check_unique

#: Blocks of a file, each with its labels where these are not in a column.
Blocks = Iterator[tuple[Block, np.ndarray | None]]
#: Prefix of the columns in which pandas saves row labels.
PANDAS_INDEX = "__index_level_"
#: Errors of files that are damaged, encrypted, compressed otherwise, or no arrays.
UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    zlib.error,
    KeyError,
    MemoryError,
    OverflowError,  # sizes in a header that no file has
    SyntaxError,
    tokenize.TokenError,  # NumPy parses the header of an npy file as Python
)
#: Suffix of models, which are not tables.
MODEL = ".safetensors"
#: The standard input or output, and the first bytes that tell formats; others are csv.
STANDARD = "-"
STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
MAGIC = {b"PAR1": ".parquet", b"\x93NUM": ".npy", b"PK\x03\x04": ".npz", b"\x1f\x8b": ".csv.gz"}


@dataclass(frozen=True)
class BlockSizes:
    """Bytes of a block: `text` that is parsed at once, and `numbers`, None for the whole table.

    No line of a csv file may be longer than `text`.
    """

    text: int = 1 << 26
    numbers: int | None = 1 << 24


#: Sizes that read a table whole.
WHOLE = BlockSizes(numbers=None)


@dataclass(frozen=True)
class Table:
    """Samples X, labels y and names of the features, both None where the file has none.

    `preparation` is what was learned about its columns, None where nothing was asked for.
    `labels_name` is the name of the column of labels, if it has one.
    """

    X: np.ndarray
    y: np.ndarray | None = None
    feature_names: list[str] | None = None
    preparation: TablePreparation | None = None
    labels_name: str | None = None

    def dataframe(self) -> Any:
        """Return X for an estimator, with its column names if there are any."""
        if self.feature_names is None:
            return self.X
        # scikit-learn takes names from data frames only; pyarrow is a dependency, pandas is not
        return require("pyarrow", "cli").table(list(self.X.T), names=self.feature_names)

    def take(self, rows: np.ndarray) -> Table:
        """Return a table of these rows, in this order."""
        return replace(self, X=self.X[rows], y=None if self.y is None else self.y[rows])


@dataclass(frozen=True)
class LabelledTable(Table):
    """A table that has labels."""

    y: np.ndarray


def read_table(
    path: Path | str,
    target: str | None = None,
    *,
    features: Iterable[str] | None = None,
    header: bool = True,
    preparation: Preparing | TablePreparation | None = None,
    role: str = "the labels",
    named: bool = False,
) -> Table:
    """Read samples from a csv, tsv, parquet, npy or npz file, or from stdin, as a `Table`.

    `target` is the name or number (from 0, -1 is the last) of the column of labels; in an npz file
    also the name of an array, and not needed for X and y. `features` are the names of the feature
    columns, in this order, all but the target if None; files without names give all their columns.
    `header` tells whether the first line of a csv file holds the column names. `preparation` is a
    `TablePreparation` to apply, or `Preparing`, which learns one. The message of an error names the
    file, the line and the column of the first mistake, and `role`, what the target is for. With
    `named` and without a target, the first column that is not a feature has the names of the rows,
    as texts; there may be none.
    """
    with local_copy(path) as path:
        table, _ = next(_tables(path, target, features, header, preparation, WHOLE, role, named))
        return table


def read_texts(path: Path, column: str, *, header: bool = True) -> list[str]:
    """Return the cells of one column, given by its name or number, as texts; "" if missing."""
    with local_copy(path) as path:
        check_input(path, READERS)
        texts = []
        for block, _ in READERS[format_of(path)](path, header, None, WHOLE):
            texts += ["" if text is None else text for text in block.texts(block.find(column))]
        return texts


@contextmanager
def reading_blocks(
    path: Path,
    target: str | None = None,
    *,
    features: Iterable[str] | None = None,
    header: bool = True,
    preparation: TablePreparation | None = None,
    sizes: BlockSizes = BlockSizes(),
) -> Iterator[Iterator[tuple[Table, float]]]:
    """Yield an iterator over a file as tables of bounded size, with the share that has been read.

    Options are those of `read_table`. Labels of a text file of several blocks are texts, because a
    block does not know whether the labels of other blocks are numbers. An npz file is one block.
    """
    with local_copy(path) as path:
        yield _tables(path, target, features, header, preparation, sizes)


def _tables(
    path: Path,
    target: str | None,
    features: Iterable[str] | None,
    header: bool,
    preparation: Preparing | TablePreparation | None,
    sizes: BlockSizes,
    role: str = "the labels",
    named: bool = False,
) -> Iterator[tuple[Table, float]]:
    """Generate the tables of a file in blocks of these sizes."""
    check_input(path, READERS)
    features = None if features is None else list(features)
    is_learned, is_split = isinstance(preparation, Preparing), False
    if sizes.numbers is not None and READERS[format_of(path)] is _csv_blocks:
        is_split = (
            _expanded_size(path) if format_of(path) in GZIPPED else path.stat().st_size
        ) > sizes.text
    for block, y in READERS[format_of(path)](path, header, target, sizes):
        block = replace(block, advice=Advice(is_learned, role))
        if y is not None:
            columns, label = block.choose(None, None)[0], None
        else:
            columns, label = block.choose(target, None if preparation is not None else features)
            y = None if label is None else block.labels(label, as_texts=is_split)
            if named and label is None:
                label, y = _names_of_rows(block, features, preparation)
        if isinstance(preparation, Preparing):
            preparation = preparation.learn(block, columns)
        if preparation is not None:
            with working("converting columns", len(preparation.columns), "columns"):
                X = preparation.apply(block, columns)
            names = preparation.feature_names
        else:
            with working("converting columns", len(columns), "columns"):
                X = np.column_stack([_read_numbers(block, j) for j in columns])
            names = block.names and [block.names[j] for j in columns]
        labels_name = None if label is None or block.names is None else block.names[label]
        yield Table(X, y, names, preparation, labels_name), block.share


def _names_of_rows(
    block: Block, features: list[str] | None, preparation: Preparing | TablePreparation | None
) -> tuple[int | None, np.ndarray | None]:
    """Return the first column that no model uses, and its texts; None if all are used."""
    used: list[str | None] | None = None if features is None else [*features]
    if isinstance(preparation, TablePreparation):
        used = [column.name for column in preparation.columns]
    if block.names is None or used is None or None in used:
        return None, None
    others = [j for j, name in enumerate(block.names) if name not in used]
    if not others:
        return None, None
    texts = ["" if text is None else text for text in block.texts(others[0])]
    return others[0], np.array(texts, dtype=object)


def _read_numbers(block: Block, j: int) -> np.ndarray:
    """Return a column as numbers, and report the progress."""
    numbers = block.numbers(j)
    advance(1, "columns")
    return numbers


def read_triplets(path: Path) -> np.ndarray:
    """Read rows (anchor, near, far) of row numbers; a csv file may have a header or not."""
    path = Path(path)
    is_text = format_of(path) in (*DELIMITERS, *GZIPPED) and path.is_file()
    X = read_table(path, header=is_text and any(map(str.isalpha, first_line(path)))).X
    if X.shape[1] != 3:
        raise ValueError(f"{path} has {X.shape[1]} columns; expected anchor, near, far")
    triplets = X.astype(np.intp)
    if (triplets != X).any():
        i, j = first_true(triplets != X)
        place = f"{path}, triplet {i} (the first is 0)"
        raise ValueError(f"{place}: {X[i, j]} is not a row number; expected whole numbers from 0")
    return triplets


def check_input(path: Path, suffixes: Collection[str] = (), expected: str = "a table") -> None:
    """Raise an error unless the path is a file with data, of one of these formats if given.

    `expected` says what the file is to be.
    """
    if str(path) in STANDARD_INPUT:
        raise ValueError(f"cannot read {path}: give - for the standard input")
    if format_of(path) or os.path.lexists(path):  # a name without a suffix is mistyped
        _check_suffix("read", path, suffixes)
    if not path.is_file():
        raise FileNotFoundError(no_file(path, expected))
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; expected rows of numbers")
    check_expansion(path)
    if format_of(path) in GZIPPED:
        check_expansion(path, _expanded_size(path))


def check_output(path: Path, suffixes: Collection[str] | None = None) -> None:
    """Raise an error unless a file of one of these formats, or a table, can be written there."""
    if suffixes is None and str(path) == STANDARD:
        return
    if str(path) in STANDARD_OUTPUT:
        raise ValueError(f"cannot write {path}: give - for the standard output, in csv")
    _check_suffix("write", path, READERS if suffixes is None else suffixes)
    target_file(path)


def _check_suffix(verb: str, path: Path, known: Collection[str]) -> None:
    if known and format_of(path) not in known:
        given = f"of format {format_of(path)!r}" if format_of(path) else "without a suffix"
        given = "a folder" if path.is_dir() else f"a file {given}"
        given = "a model, or another file of tensors" if format_of(path) == MODEL else given
        known = ", ".join(known)
        raise ValueError(f"cannot {verb} {path}: {given}; expected one of {known}")


def _expanded_size(path: Path) -> int:
    """Return the size of a file that gzip has compressed, up to the largest that is read."""
    size, most = 0, max(EXPANDED, EXPANSION * path.stat().st_size)
    try:
        with gzip.open(path) as file:
            while size <= most and (part := file.read(1 << 20)):
                size += len(part)
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged: {brief(error)}; get the file again") from error
    return size


@contextmanager
def local_copy(path: Path | str) -> Iterator[Path]:
    """Yield the path of a file, or of a copy of the standard input; errors do not name the copy."""
    if str(path) != STANDARD:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="frobmetric-") as folder:
        content = sys.stdin.buffer
        first = content.read(4)
        suffix = next((MAGIC[start] for start in MAGIC if first.startswith(start)), ".csv")
        copy = Path(folder, f"stdin{suffix}")
        with open(copy, "wb") as file:
            file.write(first)
            shutil.copyfileobj(content, file)
        try:
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), "stdin")) from error


def load_arrays(path: Path, *, mapped: bool = False) -> dict[str, np.ndarray]:
    """Load the arrays of an npz file, or an npy file as X; Python objects are refused.

    An npy file can be `mapped`: its numbers are read when they are used.
    """
    try:
        if path.suffix.lower() == ".npz":
            return _load_npz(path)
        if mapped:
            return {"X": map_npy(path)}  # np.load may return an npz
        with open(path, "rb") as file:
            return {"X": np.lib.format.read_array(file, allow_pickle=False)}
    except (*UNREADABLE, zipfile.BadZipFile) as error:
        expected = "a NumPy file of numbers or text"
        raise ValueError(f"{path} cannot be read as {expected} ({brief(error)})") from error


def _load_npz(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, which together may not expand without limit."""
    with zipfile.ZipFile(path) as archive:
        check_expansion(path, sum(member.file_size for member in archive.infolist()))
        arrays = {}
        for name in archive.namelist():
            with archive.open(name) as file:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(file)
        return arrays


def _csv_blocks(path: Path, header: bool, target: str | None, sizes: BlockSizes) -> Blocks:
    """Generate the blocks of a text file; its cells are texts."""
    arrow, reader = require("pyarrow", "cli"), require("pyarrow.csv", "cli")
    _, head = next(csv_records(path), (0, None))
    if head is None:
        raise ValueError(f"{path} has only blank lines; expected column names and rows of numbers")
    names = [name.strip() for name in head] if header else None
    check_header(path, names or [])
    keys = [str(j) for j in range(len(head))]
    options = (
        reader.ReadOptions(column_names=keys, block_size=sizes.text),
        reader.ParseOptions(delimiter=delimiter_of(path), newlines_in_values=True),
        reader.ConvertOptions(column_types=dict.fromkeys(keys, arrow.string())),
    )
    try:
        with _CountedFile(open(path, "rb", buffering=0)) as file:
            total, source = path.stat().st_size, arrow.PythonFile(file, "r")
            if format_of(path) in GZIPPED:
                source = arrow.CompressedInputStream(source, "gzip")
            if sizes.numbers is None:
                with working("reading", total, "bytes"):
                    parts: Iterable[tuple[Any, float]] = [(reader.read_csv(source, *options), 1.0)]
            else:
                batches = reader.open_csv(source, *options)
                parts = ((arrow.Table.from_batches([b]), file.tell() / total) for b in batches)
            yield from _text_blocks(path, parts, names)
    except arrow.ArrowInvalid as error:
        check_widths(path, csv_records(path))
        raise ValueError(f"{path} cannot be read as csv: {brief(error)}") from error


class _CountedFile(io.BufferedReader):
    """File that reports the number of bytes read as progress."""

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        advance(len(content), "bytes")
        return content


def _text_blocks(path: Path, parts: Iterable[tuple[Any, float]], names: list[str] | None) -> Blocks:
    """Generate blocks of pairs of an arrow table and a share; the first begins with the names."""
    start = skipped = int(names is not None)
    for part, share in parts:
        table = part.slice(skipped)

        def place(j: int, i: int, start: int = start) -> str:
            lines = (line for line, _ in csv_records(path))
            line = next(line for k, line in enumerate(lines) if k == i + start)
            return f"{path}, line {line}, column {j if names is None else brief(names[j])!r}"

        yield Block(path, table.columns, names, place, share), None
        start, skipped = start + table.num_rows, 0


def _parquet_blocks(path: Path, header: bool, target: str | None, sizes: BlockSizes) -> Blocks:
    parquet, arrow = require("pyarrow.parquet", "cli"), require("pyarrow", "cli")
    size = sizes.numbers
    try:
        # a buffer ahead would keep all that was read
        with parquet.ParquetFile(path, pre_buffer=size is None) as file:
            names = [name for name in file.schema_arrow.names if PANDAS_INDEX not in name]
            check_unique(path, names)
            if size is None:
                check_expansion(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
                parts: Iterable[Any] = [file.read(names)]
            else:
                rows = max(1, size // (8 * max(1, len(names))))
                batches = file.iter_batches(rows, columns=names)
                empty = [] if file.metadata.num_rows else [file.read(names)]
                parts = chain(empty, (arrow.Table.from_batches([batch]) for batch in batches))
            start = 0
            for part in parts:

                def place(j: int, i: int, start: int = start) -> str:
                    return f"{path}, row {start + i} (the first is 0), column {brief(names[j])!r}"

                start += part.num_rows
                share = start / max(1, file.metadata.num_rows)
                yield Block(path, part.columns, names, place, share), None
    except (ValueError, OSError) as error:  # pyarrow's errors are subclasses of these
        if not isinstance(error, arrow.ArrowException):
            raise
        raise ValueError(f"{path} cannot be read as parquet: {brief(error)}") from error


def _numpy_blocks(path: Path, header: bool, target: str | None, sizes: BlockSizes) -> Blocks:
    """Generate blocks of the arrays X and y, or of one array; the target may name an array."""
    size = sizes.numbers
    arrays, y = load_arrays(path, mapped=size is not None), None
    if target in arrays or (target is None and "X" in arrays):
        y = arrays.pop(target or "y", None)
    if "X" not in arrays and len(arrays) != 1:
        raise ValueError(f"{path} holds the arrays {sorted(arrays)}; expected X and y, or one")
    X = arrays.get("X", next(iter(arrays.values())))
    if X.ndim != 2:
        raise ValueError(f"{path} holds an array of shape {X.shape}; expected (rows, columns)")
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"{path}: y has shape {y.shape}; X has {len(X)} rows, so ({len(X)},)")
    rows = max(1, len(X) if size is None else size // (8 * max(1, X.shape[1])))
    for start in range(0, max(1, len(X)), rows):

        def place(j: int, i: int, start: int = start) -> str:
            return f"{path}, row {start + i}, column {j} (from 0)"

        if isinstance(X, np.memmap):  # mapped anew, because pages that were read stay in memory
            X = load_arrays(path, mapped=True)["X"]
        part = np.array(X[start : start + rows])
        labels = None if y is None else y[start : start + rows]
        share = (start + len(part)) / max(1, len(X))
        yield Block(path, list(part.T), None, place, share), labels


READERS: dict[str, Callable[[Path, bool, str | None, BlockSizes], Blocks]] = {
    **dict.fromkeys((*DELIMITERS, *GZIPPED), _csv_blocks),
    ".parquet": _parquet_blocks,
    **dict.fromkeys((".npy", ".npz"), _numpy_blocks),
}
