"""The text of SDPA sparse files: what the numbers are, and what is wrong with them.

Such a file is m, the number of blocks, their sizes, the vector c, and then one line
`matrix block row column value` for each entry of F0, ..., Fm. The entries are parsed in bulk; only
when that or a check fails is the line looked for that is to blame.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.types import Array, Index, Vector

_BLANKS = str.maketrans(",(){}", " " * 5)
_HEADER_BLANKS = str.maketrans(",(){}=", " " * 6)  # "3=mDIM"
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE
)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_COLUMNS = ("matrix", "block", "row", "column", "value")
_ENTRY = "five numbers `matrix block row column value`"


class SDPAError(ValueError):
    """A file is not an SDPA sparse file; the message says where and why."""


@dataclass(frozen=True)
class Layout:
    """Where each entry lies among the flattened blocks; blocks, rows and columns count from 0.

    Parameters
    ----------
    sizes : tuple of int
        The order of each block, negative for a diagonal block, of which the diagonal is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp.sdpa_parser import Layout
    >>> layout = Layout((2, -3))
    >>> layout.position(np.array([0, 1]), np.array([1, 2]), np.array([0, 2]))
    array([2, 6])
    """

    sizes: tuple[int, ...]

    @cached_property
    def orders(self) -> Index:
        return np.abs(np.array(self.sizes, dtype=np.intp))

    @cached_property
    def offsets(self) -> Index:
        lengths = np.where(self.strides > 0, self.strides * self.strides, self.orders)
        return np.concatenate([[0], np.cumsum(lengths)])

    @cached_property
    def strides(self) -> Index:
        """From one row of a block to the next; 0 for diagonal blocks."""
        return np.maximum(np.array(self.sizes, dtype=np.intp), 0)

    @property
    def size(self) -> int:
        return int(self.offsets[-1])

    def position(self, block: Index, row: Index, column: Index) -> Index:
        return self.offsets[block] + row * self.strides[block] + column

    def entry(self, position: Index) -> tuple[Index, Index, Index]:
        """The block, row and column of a position."""
        block = np.searchsorted(self.offsets, position, side="right") - 1
        stride = self.strides[block]
        row, column = np.divmod(position - self.offsets[block], np.maximum(stride, 1))
        return block, row, np.where(stride > 0, column, row)


@dataclass(frozen=True)
class Entries:
    """Entries of F0, ..., Fm, each in one triangle; all but `matrix` count from 0."""

    matrix: Index
    block: Index
    row: Index
    column: Index
    value: Vector


@dataclass(frozen=True)
class _Field:
    """A number of the header: what it is, how it is written, which values it may have."""

    what: str
    expected: str
    pattern: re.Pattern[str]
    convert: Callable[[str], Any]
    accepts: Callable[[Any], bool]


def _float(word: str) -> float:
    return float(word.lower().replace("d", "e"))  # Fortran writes 1.0D+03


_M = _Field("m", "a positive integer", _INTEGER, int, lambda m: m > 0)
_N_BLOCKS = _Field("number of blocks", "a positive integer", _INTEGER, int, lambda n: n > 0)
_SIZE = _Field(
    "block size", "an integer, negative for a diagonal block and never 0", _INTEGER, int, bool
)
_C = _Field("value of c", "a finite number", _NUMBER, _float, math.isfinite)


class _Text:
    """The lines of a file, taken from the top."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if found := _NOT_TEXT.search(content):
            raise self.error(
                content.count(b"\n", 0, found.start()) + 1,
                f"the byte {found[0]!r} is found; expected text; give an SDPA sparse file, and if "
                "it is compressed, let its name end in .gz or .xz",
            )
        text = content.decode("utf-8-sig", "replace")
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        heads = (line.lstrip()[:1] for line in self.lines)
        is_past_comments = (k for k, head in enumerate(heads) if head not in ("", '"', "*"))
        self.n_taken = next(is_past_comments, len(self.lines))

    def error(self, line: int, message: str) -> SDPAError:
        return SDPAError(f"{self.name}, line {line}: {message}")

    def numbers(self, count: int, field: _Field) -> list[Any]:
        """The next numbers, over as many lines as they take; other text may follow the last."""
        found: list[Any] = []
        while len(found) < count:
            words = self._words(f"{len(found)} of {count} numbers ({field.what})")
            n_due = count - len(found)
            found += [self._value(word, field) for word in words[:n_due]]
        if words[n_due:] and _NUMBER.fullmatch(words[n_due]):
            raise self.error(
                self.n_taken,
                f"{words[n_due]!r} follows the last {field.what}; expected {count} in all; "
                "correct the count, or begin a new line",
            )
        return found

    def _value(self, word: str, field: _Field) -> Any:
        if field.pattern.fullmatch(word) and field.accepts(value := field.convert(word)):
            return value
        raise self.error(
            self.n_taken,
            f"{word!r} is given as {field.what}; expected {field.expected}; correct it",
        )

    def _words(self, so_far: str) -> list[str]:
        """Those of the next line that is not blank."""
        while self.n_taken < len(self.lines):
            self.n_taken += 1
            if words := self.lines[self.n_taken - 1].translate(_HEADER_BLANKS).split():
                return words
        raise self.error(
            len(self.lines),
            f"the file ends here, with {so_far}; expected m, the number of blocks, the block "
            "sizes, c and the entries; if it was cut short, get it again",
        )

    def entries(self) -> Array:
        """The table of the lines that are left, of shape (n_entries, 5)."""
        body = "\n".join(self.lines[self.n_taken :]).translate(_BLANKS)
        if not body.strip():
            return np.empty((0, 5))
        body = body.replace("D", "e").replace("d", "e")
        try:
            table = np.loadtxt(body.split("\n"), comments=None, ndmin=2)
        except ValueError as error:
            raise self._bad_entry(str(error)) from None
        if table.shape[1] != 5:
            raise self._bad_entry(f"{table.shape[1]} numbers a line")
        return table

    def _bad_entry(self, reason: str) -> SDPAError:
        """The error of the first line that is no entry; `reason` if all seem to be."""
        for number, words in self._entry_lines():
            bad = [word for word in words if not _NUMBER.fullmatch(word)]
            if bad:
                given = f"{bad[0]!r} is given where a number is due"
            elif len(words) != 5:
                given = f"{len(words)} numbers are given ({' '.join(words)})"
            else:
                continue
            return self.error(number, f"{given}; expected {_ENTRY}; correct or complete the line")
        return self.error(self.n_taken + 1, f"{reason}; expected {_ENTRY} on every line from here")

    def _entry_lines(self) -> list[tuple[int, list[str]]]:
        """Number and words of every line that is left and not blank."""
        rest = enumerate(self.lines[self.n_taken :], self.n_taken + 1)
        split = ((number, line.translate(_BLANKS).split()) for number, line in rest)
        return [(number, words) for number, words in split if words]

    def refuse(self, is_bad: Any, column: int, expected: Callable[[int], str]) -> None:
        """An error for the first entry that is bad in a column of the table."""
        if is_bad.any():
            k = int(np.argmax(is_bad))
            number, words = self._entry_lines()[k]
            raise self.error(
                number,
                f"the entry ({' '.join(words)}) has {_COLUMNS[column]} {words[column]}; expected "
                f"{expected(k)}; correct the line",
            )

    def given_twice(self, first: int, second: int) -> SDPAError:
        """The error of an entry that is there already."""
        lines = self._entry_lines()
        (before, _), (number, words) = lines[first], lines[second]
        return self.error(
            number,
            f"the entry ({' '.join(words)}) is given on line {before} already; expected each entry "
            "once, in one of the two triangles; remove one of the lines",
        )


def parse_sdpa(content: bytes, name: str) -> tuple[Vector, Layout, Entries]:
    """The vector c, the blocks and the entries of a file; `name` is for messages.

    Examples
    --------
    >>> from frobmetric.sdp.sdpa_parser import parse_sdpa
    >>> c, layout, entries = parse_sdpa(b"1 = m\\n2 = blocks\\n(2, -3)\\n{7}\\n1 2 3 3 0.5\\n", "x")
    >>> layout.sizes, c, entries.value
    ((2, -3), array([7.]), array([0.5]))
    """
    text = _Text(content, name)
    (m,) = text.numbers(1, _M)
    (n_blocks,) = text.numbers(1, _N_BLOCKS)
    sizes = tuple(text.numbers(n_blocks, _SIZE))
    if (m + 1) * sum(max(size, 1) * abs(size) for size in sizes) >= 2**62:
        raise text.error(
            text.n_taken,
            f"m={m} matrices with blocks of up to {max(map(abs, sizes))} rows are given; expected "
            "what an index of 64 bits can count; correct the sizes",
        )
    c = np.array(text.numbers(m, _C))
    layout = Layout(sizes)
    return c, layout, _entries(text, m, layout)


def _entries(text: _Text, m: int, layout: Layout) -> Entries:
    table = text.entries()
    _check_indices(text, table, m, layout)
    matrix, block, row, column = table[:, :4].T.astype(np.intp)
    entries = Entries(matrix, block - 1, row - 1, column - 1, table[:, 4].copy())
    _check_once(text, entries, layout)
    return entries


def _check_indices(text: _Text, table: Array, m: int, layout: Layout) -> None:
    """Every value must be finite, every index in its range."""
    n_blocks = len(layout.sizes)
    matrix, block, row, column, value = table.T
    text.refuse(~np.isfinite(value), 4, lambda k: "a finite number")
    text.refuse(_is_outside(matrix, 0, m), 0, lambda k: f"one of 0 (for F0) to m={m}")
    text.refuse(_is_outside(block, 1, n_blocks), 1, lambda k: f"one of 1 to {n_blocks}")
    own = block.astype(np.intp) - 1
    order = layout.orders[own]
    for place, index in ((2, row), (3, column)):
        bad = _is_outside(index, 1, order)
        text.refuse(bad, place, lambda k: f"one of 1 to {order[k]}, the size of the block")
    is_off = (layout.strides[own] == 0) & (row != column)
    text.refuse(is_off, 3, lambda k: f"{row[k]:.0f}, its row, because the block is diagonal")


def _is_outside(index: Vector, low: int, high: int | Index) -> Any:
    return ~((index >= low) & (index <= high) & (index == np.floor(index)))  # ~: NaN too


def _check_once(text: _Text, entries: Entries, layout: Layout) -> None:
    """No entry may be given twice, as (i, j) and (j, i) neither."""
    low, high = np.minimum(entries.row, entries.column), np.maximum(entries.row, entries.column)
    key = entries.matrix * layout.size + layout.position(entries.block, low, high)
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if len(again):
        k = again[np.argmin(order[again + 1])]
        raise text.given_twice(order[k], order[k + 1])
