"""Parser of SDPA sparse files.

A file holds m, the number of blocks, the block sizes, the vector c, and one line
`matrix block row column value` for each entry of F0, ..., Fm. The entries are parsed and checked
in bulk; only if that fails are the lines searched for the mistake.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.cones import Cone
from ..core.types import Array, Index, Vector

_BLANKS = str.maketrans(",(){}", " " * 5)
_HEADER_BLANKS = str.maketrans(",(){}=", " " * 6)  # "3=mDIM"
_POSITIVE = re.compile(r"\+?(?=0*[1-9])\d{1,15}", re.ASCII)
_NONZERO = re.compile(r"[+-]?(?=0*[1-9])\d{1,15}", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE
)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


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
        for block in cone.blocks():
            if not block.is_solid or block.shape[0] == 0:
                raise ValueError(f"the block {block}; SDPA has PSD(n) and Nonnegative(n), n > 0")
        return cls(tuple((-1) ** block.is_diagonal * block.shape[0] for block in cone.blocks()))

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
    m = int(text.numbers(1, "m", _POSITIVE, "a positive integer")[0])
    n_blocks = int(text.numbers(1, "number of blocks", _POSITIVE, "a positive integer")[0])
    nonzero = "an integer, negative for a diagonal block and never 0"
    sizes = tuple(map(int, text.numbers(n_blocks, "block size", _NONZERO, nonzero)))
    if (m + 1) * sum(max(size, 1) * abs(size) for size in sizes) >= 2**62:
        given = f"m={m} matrices with blocks of up to {max(map(abs, sizes))} rows are given"
        raise text.error(given, "sizes that an index of 64 bits can count; correct them")
    c = np.array(text.numbers(m, "value of c", _NUMBER, "a finite number"))
    layout = Layout(sizes)
    entries = _valid_entries(text.table(), m, layout)
    if entries is None:
        raise text.first_mistake(m, sizes)
    return c, layout, entries


def _valid_entries(table: Array | None, m: int, layout: Layout) -> Entries | None:
    """Return the entries of a table; None if one is not valid, or is given twice."""
    if table is None or table.shape[1] != 5:
        return None
    matrix, block, row, column, value = table.T
    in_range = _in_range(matrix, 0, m) & _in_range(block, 1, len(layout.sizes))
    if not (in_range & np.isfinite(value)).all():
        return None
    size = np.array(layout.sizes)[block.astype(np.intp) - 1]
    in_range = _in_range(row, 1, abs(size)) & _in_range(column, 1, abs(size))
    if not (in_range & ((size > 0) | (row == column))).all():
        return None
    matrix, block, row, column = table[:, :4].T.astype(np.intp)
    entries = Entries(matrix, block - 1, row - 1, column - 1, value.copy())
    low, high = np.minimum(entries.row, entries.column), np.maximum(entries.row, entries.column)
    key = entries.matrix * layout.size + layout.position(entries.block, low, high)
    return entries if (np.diff(np.sort(key)) > 0).all() else None


def _in_range(index: Any, low: int, high: Any) -> Any:
    """Return whether an index, or each of an array, is an integer in [low, high]."""
    return (index >= low) & (index <= high) & (index == np.floor(index))


def _float(word: str) -> float:
    return float(word.lower().replace("d", "e"))  # Fortran writes 1.0D+03


class _Text:
    """Lines of a file, read from the top; errors name the line."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if match := _NOT_TEXT.search(content):
            self.n_read = content.count(b"\n", 0, match.start()) + 1
            raise self.error(
                f"the byte {match[0]!r} is found",
                "text; give an SDPA sparse file, and let its name end in .gz or .xz if it is "
                "compressed",
            )
        text = content.decode("utf-8-sig", "replace")
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        heads = enumerate(line.lstrip()[:1] for line in self.lines)
        self.n_read = next((k for k, head in heads if head not in ("", '"', "*")), len(self.lines))

    def error(self, given: str, expected: str) -> SDPAError:
        """Return the error of the line that was read last."""
        return SDPAError(f"{self.name}, line {self.n_read}: {given}; expected {expected}")

    def numbers(
        self, count: int, what: str, pattern: re.Pattern[str], expected: str
    ) -> list[float]:
        """Return the next numbers, which may span lines; text may follow the last."""
        values: list[float] = []
        while len(values) < count:
            words = self._next_words(f"{len(values)} of {count} numbers ({what})")
            n_due = count - len(values)
            for word in words[:n_due]:
                values.append(_float(word) if pattern.fullmatch(word) else math.nan)
                if not math.isfinite(values[-1]):
                    raise self.error(f"{word!r} is given as {what}", f"{expected}; correct it")
        if words[n_due:] and _NUMBER.fullmatch(words[n_due]):
            given = f"{words[n_due]!r} follows the last {what}"
            raise self.error(given, f"{count} in all; correct the count, or begin a new line")
        return values

    def _next_words(self, so_far: str) -> list[str]:
        """Return the words of the next line that is not blank."""
        while self.n_read < len(self.lines):
            self.n_read += 1
            if words := self.lines[self.n_read - 1].translate(_HEADER_BLANKS).split():
                return words
        raise self.error(
            f"the file ends here, with {so_far}",
            "m, the number of blocks, the block sizes, c and the entries; if it was cut short, "
            "get it again",
        )

    def table(self) -> Array | None:
        """Return the numbers of the remaining lines; None if they are not all numbers."""
        body = "\n".join(self.lines[self.n_read :]).translate(_BLANKS)
        if not body.strip():
            return np.empty((0, 5))
        try:
            body = body.replace("D", "e").replace("d", "e")
            return np.loadtxt(body.split("\n"), comments=None, ndmin=2)
        except ValueError:
            return None

    def first_mistake(self, m: int, sizes: tuple[int, ...]) -> SDPAError:
        """Return the error of the first remaining line that is not valid."""
        line_of: dict[tuple[float, ...], int] = {}
        while self.n_read < len(self.lines):
            self.n_read += 1
            words = self.lines[self.n_read - 1].translate(_BLANKS).split()
            mistake = _mistake(words, m, sizes) if words else None
            if mistake is not None:
                return self.error(*mistake)
            if words:
                matrix, block, *place = map(_float, words[:4])
                first = line_of.setdefault((matrix, block, *sorted(place)), self.n_read)
                if first < self.n_read:
                    return self.error(
                        f"the entry ({' '.join(words)}) is given on line {first} already",
                        "each entry once, in one of the two triangles; remove one of the lines",
                    )
        return self.error("the entries end here", "numbers; correct a line before")


def _mistake(words: list[str], m: int, sizes: tuple[int, ...]) -> tuple[str, str] | None:
    """Return what is given and what is expected if a line is not a valid entry."""
    entry, bad = " ".join(words), [word for word in words if not _NUMBER.fullmatch(word)]
    if bad or len(words) != 5:
        numbers = f"{len(words)} numbers are given ({entry})"
        given = f"{bad[0]!r} is given where a number is due" if bad else numbers
        return given, "five numbers `matrix block row column value`; correct or complete the line"
    matrix, block, row, column, value = map(_float, words)
    is_block = _in_range(block, 1, len(sizes))
    size = sizes[int(block) - 1] if is_block else 0
    in_block = f"one of 1 to {abs(size)}, the size of the block"
    for name, is_valid, expected in (
        ("value", math.isfinite(value), "a finite number"),
        ("matrix", _in_range(matrix, 0, m), f"one of 0 (for F0) to m={m}"),
        ("block", is_block, f"one of 1 to {len(sizes)}"),
        ("row", _in_range(row, 1, abs(size)), in_block),
        ("column", _in_range(column, 1, abs(size)), in_block),
        ("column", size > 0 or row == column, f"{row:.0f}, its row: the block is diagonal"),
    ):
        if not is_valid:
            word = words[Entries._fields.index(name)]
            return f"the entry ({entry}) has {name} {word}", f"{expected}; correct the line"
    return None
