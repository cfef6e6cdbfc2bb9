"""Parser of SDPA sparse files.

A file holds m, the number of blocks, the block sizes, the vector c, and one line
`matrix block row column value` for each entry of F0, ..., Fm. The entries are parsed in bulk; only
if that or a check fails are the lines searched for the mistake.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core import PSD, Nonnegative, Product
from ..core.cones import Cone
from ..core.types import Array, Index, Vector

_BLANKS = str.maketrans(",(){}", " " * 5)
_HEADER_BLANKS = str.maketrans(",(){}=", " " * 6)  # "3=mDIM"
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE
)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_ENTRY = "five numbers `matrix block row column value`"


class SDPAError(ValueError):
    """A file is not an SDPA sparse file; the message names the line and the reason."""


@dataclass(frozen=True)
class Layout:
    """Positions of matrix entries among the flattened blocks; all indices count from 0.

    Parameters
    ----------
    sizes : tuple of int
        The order of each block, negative for a diagonal block, of which the diagonal is stored.
    """

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, cone: Cone) -> Layout:
        """Return the layout of the elements of a cone."""
        sizes: list[int] = []
        for part in cone.cones if isinstance(cone, Product) else (cone,):
            if not isinstance(part, PSD | Nonnegative) or part.n == 0:
                raise ValueError(f"the block {part}; SDPA has PSD(n) and Nonnegative(n), n > 0")
            sizes.append(part.n if isinstance(part, PSD) else -part.n)
        return cls(tuple(sizes))

    @cached_property
    def strides(self) -> Index:
        """Distance from one row of each block to the next; 0 for diagonal blocks."""
        return np.maximum(np.array(self.sizes, dtype=np.intp), 0)

    @cached_property
    def offsets(self) -> Index:
        """Position of the first entry of each block, and after the last the total size."""
        return np.cumsum([0, *(max(size, 1) * abs(size) for size in self.sizes)], dtype=np.intp)

    @property
    def size(self) -> int:
        return int(self.offsets[-1])

    def position(self, block: Index, row: Index, column: Index) -> Index:
        return self.offsets[block] + row * self.strides[block] + column

    def entry(self, position: Index) -> tuple[Index, Index, Index]:
        """Return the block, row and column of a position."""
        block = np.searchsorted(self.offsets, position, side="right") - 1
        stride = self.strides[block]
        row, column = np.divmod(position - self.offsets[block], np.maximum(stride, 1))
        return block, row, np.where(stride > 0, column, row)


class Entries(NamedTuple):
    """Entries of F0, ..., Fm, each in one triangle; all but `matrix` count from 0."""

    matrix: Index
    block: Index
    row: Index
    column: Index
    value: Vector


def parse_sdpa(content: bytes, name: str) -> tuple[Vector, Layout, Entries]:
    """Return the vector c, the blocks and the entries of a file; `name` is for messages."""
    text = _Text(content, name)
    (m,) = text.numbers(1, "m", "a positive integer", _positive)
    (n_blocks,) = text.numbers(1, "number of blocks", "a positive integer", _positive)
    nonzero = "an integer, negative for a diagonal block and never 0"
    sizes = tuple(text.numbers(n_blocks, "block size", nonzero, _nonzero))
    if (m + 1) * sum(max(size, 1) * abs(size) for size in sizes) >= 2**62:
        raise text.error(
            text.n_read,
            f"m={m} matrices with blocks of up to {max(map(abs, sizes))} rows are given",
            "sizes that an index of 64 bits can count; correct them",
        )
    c = np.array(text.numbers(m, "value of c", "a finite number", _finite))
    layout = Layout(sizes)
    return c, layout, _entries(text, m, layout)


def _nonzero(word: str) -> int | None:
    return (int(word) or None) if _INTEGER.fullmatch(word) else None


def _positive(word: str) -> int | None:
    number = _nonzero(word)
    return number if number is not None and number > 0 else None


def _finite(word: str) -> float | None:
    value = float(word.lower().replace("d", "e")) if _NUMBER.fullmatch(word) else math.nan
    return value if math.isfinite(value) else None


class _Text:
    """Lines of a file, read from the top; errors name the line."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if match := _NOT_TEXT.search(content):
            raise self.error(
                content.count(b"\n", 0, match.start()) + 1,
                f"the byte {match[0]!r} is found",
                "text; give an SDPA sparse file, and if it is compressed, let its name end in "
                ".gz or .xz",
            )
        text = content.decode("utf-8-sig", "replace")
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        heads = enumerate(line.lstrip()[:1] for line in self.lines)
        self.n_read = next((k for k, head in heads if head not in ("", '"', "*")), len(self.lines))

    def error(self, line: int, given: str, expected: str) -> SDPAError:
        return SDPAError(f"{self.name}, line {line}: {given}; expected {expected}")

    def numbers(
        self, count: int, what: str, expected: str, parse: Callable[[str], Any]
    ) -> list[Any]:
        """Return the next numbers, which may span lines; text may follow the last."""
        values: list[Any] = []
        while len(values) < count:
            words = self._next_words(f"{len(values)} of {count} numbers ({what})")
            n_due = count - len(values)
            for word in words[:n_due]:
                values.append(parse(word))
                if values[-1] is None:
                    given = f"{word!r} is given as {what}"
                    raise self.error(self.n_read, given, f"{expected}; correct it")
        if words[n_due:] and _NUMBER.fullmatch(words[n_due]):
            given = f"{words[n_due]!r} follows the last {what}"
            to_do = "correct the count, or begin a new line"
            raise self.error(self.n_read, given, f"{count} in all; {to_do}")
        return values

    def _next_words(self, so_far: str) -> list[str]:
        """Return the words of the next line that is not blank."""
        while self.n_read < len(self.lines):
            self.n_read += 1
            if words := self.lines[self.n_read - 1].translate(_HEADER_BLANKS).split():
                return words
        raise self.error(
            len(self.lines),
            f"the file ends here, with {so_far}",
            "m, the number of blocks, the block sizes, c and the entries; if it was cut short, "
            "get it again",
        )

    def table(self) -> Array:
        """Return the remaining lines as an array of shape (n_entries, 5)."""
        body = "\n".join(self.lines[self.n_read :]).translate(_BLANKS)
        if not body.strip():
            return np.empty((0, 5))
        body = body.replace("D", "e").replace("d", "e")  # Fortran writes 1.0D+03
        try:
            table = np.loadtxt(body.split("\n"), comments=None, ndmin=2)
        except ValueError as error:
            raise self._bad_line(str(error)) from None
        if table.shape[1] != 5:
            raise self._bad_line(f"{table.shape[1]} numbers a line")
        return table

    def _bad_line(self, reason: str) -> SDPAError:
        """Return the error of the first line that is no entry; `reason` if none is found."""
        for number, words in self.entry_lines():
            bad = [word for word in words if not _NUMBER.fullmatch(word)]
            if bad or len(words) != 5:
                given = f"{len(words)} numbers are given ({' '.join(words)})"
                given = f"{bad[0]!r} is given where a number is due" if bad else given
                return self.error(number, given, f"{_ENTRY}; correct or complete the line")
        return self.error(self.n_read + 1, reason, f"{_ENTRY} on every line from here")

    def entry_lines(self) -> list[tuple[int, list[str]]]:
        """Return number and words of every remaining line that is not blank."""
        rest = enumerate(self.lines[self.n_read :], self.n_read + 1)
        split = ((number, line.translate(_BLANKS).split()) for number, line in rest)
        return [(number, words) for number, words in split if words]

    def refuse(self, is_bad: Any, column: str, expected: Callable[[int], str]) -> None:
        """Raise the error of the first entry whose `column` is bad, if there is one."""
        if is_bad.any():
            k = int(np.argmax(is_bad))
            number, words = self.entry_lines()[k]
            word = words[Entries._fields.index(column)]
            given = f"the entry ({' '.join(words)}) has {column} {word}"
            raise self.error(number, given, f"{expected(k)}; correct the line")


def _entries(text: _Text, m: int, layout: Layout) -> Entries:
    """Return the entries, after checking that all numbers are valid and no entry is repeated."""
    table = text.table()
    matrix, block, row, column, value = table.T
    text.refuse(~np.isfinite(value), "value", lambda k: "a finite number")
    text.refuse(_is_outside(matrix, 0, m), "matrix", lambda k: f"one of 0 (for F0) to m={m}")
    n_blocks = len(layout.sizes)
    text.refuse(_is_outside(block, 1, n_blocks), "block", lambda k: f"one of 1 to {n_blocks}")
    size = np.array(layout.sizes)[block.astype(np.intp) - 1]
    for name, index in (("row", row), ("column", column)):
        is_bad = _is_outside(index, 1, abs(size))
        text.refuse(is_bad, name, lambda k: f"one of 1 to {abs(size[k])}, the size of the block")
    is_off = (size < 0) & (row != column)
    text.refuse(is_off, "column", lambda k: f"{row[k]:.0f}, its row, because the block is diagonal")
    places = table[:, :4].T.astype(np.intp)
    entries = Entries(places[0], *(places[1:] - 1), value.copy())
    _check_once(text, entries, layout)
    return entries


def _is_outside(index: Vector, low: int, high: int | Index) -> Any:
    return ~((index >= low) & (index <= high) & (index == np.floor(index)))  # ~: NaN too


def _check_once(text: _Text, entries: Entries, layout: Layout) -> None:
    """Refuse an entry that is given twice, also as (i, j) and (j, i)."""
    low, high = np.minimum(entries.row, entries.column), np.maximum(entries.row, entries.column)
    key = entries.matrix * layout.size + layout.position(entries.block, low, high)
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(np.diff(key[order]) == 0)
    if len(repeated):
        k, lines = repeated[np.argmin(order[repeated + 1])], text.entry_lines()
        (first, _), (number, words) = lines[order[k]], lines[order[k + 1]]
        raise text.error(
            number,
            f"the entry ({' '.join(words)}) is given on line {first} already",
            "each entry once, in one of the two triangles; remove one of the lines",
        )
