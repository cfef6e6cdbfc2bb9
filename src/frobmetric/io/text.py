"""Text files of tables and matrices: lines, cells and numbers, compressed by gzip or not."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..checks.text import brief

#: Spellings of a missing number, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
#: First and last of the characters that count as spaces around a cell: those of `str.strip`.
SPACES: tuple[tuple[int, int], ...]
SPACES = ((9, 13), (28, 32), (133, 133), (160, 160), (0x1680, 0x1680), (0x2000, 0x200A))
SPACES += ((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000))
DELIMITERS = {".csv": ",", ".tsv": "\t"}
GZIPPED = tuple(f"{suffix}.gz" for suffix in DELIMITERS)
#: Errors of compressed files that are damaged.
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
#: Characters of the longest line that is read.
LONGEST = 1 << 26
#: Columns of the widest table that is read as text: arrow takes about 10 kB for each.
MOST_COLUMNS = 50_000


def format_of(path: str | Path) -> str:
    """Return the suffix that tells the format of a file: ".csv", ".csv.gz", ".parquet", ..."""
    *others, last = [suffix.lower() for suffix in Path(path).suffixes] or [""]
    return f"{others[-1]}.gz" if last == ".gz" and others else last


def open_text(path: str | Path, errors: str = "strict") -> IO[str]:
    """Open a text file in UTF-8 for reading, which may be compressed by gzip."""
    if format_of(path) in GZIPPED:
        return gzip.open(path, "rt", encoding="utf-8-sig", errors=errors, newline="")
    return open(path, encoding="utf-8-sig", errors=errors, newline="")


def csv_records(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for each record of a text file; blank lines are skipped."""
    try:
        with open_text(path) as file:
            delimiter = delimiter_of(path)
            rows = csv.reader(_lines(file, path, delimiter), delimiter=delimiter)
            yield from ((rows.line_num, row) for row in rows if row)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text ({brief(error)}); save it as csv in UTF-8"
        ) from error
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged: {brief(error)}; get the file again") from error
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as csv: {brief(error)}") from error


def _lines(file: IO[str], path: str | Path, delimiter: str) -> Iterator[str]:
    """Yield the lines of a text file; raise ValueError at a NUL byte, and at what is too long."""
    for number in count(1):
        line = file.readline(LONGEST + 1)
        if not line:
            return
        _check_length(line, f"{path}, line {number}")
        if "\0" in line:
            raise ValueError(f"{path}, line {number} has a NUL byte; expected text; save it as csv")
        if (n_columns := line.count(delimiter) + 1) > MOST_COLUMNS:
            raise ValueError(
                f"{path}, line {number} has {n_columns:,} columns; expected at most "
                f"{MOST_COLUMNS:,} in a text file; save the numbers as npy or npz"
            )
        yield line


def _check_length(line: str, place: str) -> None:
    """Raise ValueError if a line is longer than any that is read."""
    if len(line) > LONGEST:
        reason = f"is longer than {LONGEST:,} characters; expected a table of lines"
        raise ValueError(f"{place} {reason}; save the numbers as npy or npz")


def write_csv(file: Any, rows: Iterable[Iterable[Any]], delimiter: str = ",") -> None:
    """Write rows of texts and numbers to a binary file; numbers are read back exactly."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    marks: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\n"}
    plain, quoted = csv.writer(text, **marks), csv.writer(text, **marks, quoting=csv.QUOTE_ALL)
    for row in rows:
        needs_quotes = any(isinstance(cell, str) and _needs_quotes(cell) for cell in row)
        (quoted if needs_quotes else plain).writerow(row)
    text.detach()  # closing it would close the file


def _needs_quotes(text: str) -> bool:
    """Return whether a cell has a carriage return, which ends a line, or the mark of UTF-8 files.

    The module csv adds no quotes for these. Readers drop the mark if it is the first of a file.
    """
    return "\r" in text or text.startswith("\ufeff")


def as_number(text: str) -> float | None:
    """Convert a text to a number, NaN for a missing one; None if it is no number."""
    if text.strip().lower() in MISSING:
        return np.nan
    try:
        return None if "_" in text else float(text)  # float() reads 1_2 as 12
    except ValueError:
        return None


def check_widths(path: str | Path, records: Iterable[tuple[int, Sequence[Any]]]) -> None:
    """Raise ValueError unless all (line number, cells) have as many cells as the first."""
    width = None
    for line, row in records:
        width = width or len(row)
        if len(row) != width:
            raise ValueError(f"{path}, line {line} has {len(row)} fields; the first has {width}")


def first_line(path: str | Path) -> str:
    """Return the first line of a text file; bytes that are no UTF-8 are replaced."""
    try:
        with open_text(path, errors="replace") as file:
            line = file.readline(LONGEST + 1)
    except DAMAGED as error:
        raise ValueError(f"{path} is damaged: {brief(error)}; get the file again") from error
    _check_length(line, f"{path}, line 1")
    return line


def delimiter_of(path: str | Path) -> str:
    """Return the delimiter that is most frequent in the first line."""
    return max(",;\t", key=first_line(path).count)
