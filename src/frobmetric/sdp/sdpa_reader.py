"""Parser of SDPA sparse files.

A file holds m, the number of blocks, the block sizes, the vector c, and one line
`matrix block row column value` for each entry of F0, ..., Fm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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


class Layout:
    """Positions of matrix entries among the flattened blocks; all indices count from 0.

    `sizes` are the orders of the blocks, negative for a diagonal one, whose diagonal is stored.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        lengths = [max(size, 1) * abs(size) for size in sizes]
        self.size, self._offsets = sum(lengths), np.cumsum([0, *lengths])
        self._strides = np.maximum(self.sizes, 0)  # from one row of a block to the next

    @classmethod
    def of(cls, cone: Cone) -> Layout:
        """Return the layout of the elements of a cone."""
        for block in cone.blocks():
            if not block.is_solid or block.shape[0] == 0:
                raise ValueError(f"the block {block}; SDPA has PSD(n) and Nonnegative(n), n > 0")
        return cls([(-1) ** block.is_diagonal * block.shape[0] for block in cone.blocks()])

    def position(self, block: Index, row: Index, column: Index) -> Index:
        return self._offsets[block] + row * self._strides[block] + column

    def entries(self) -> tuple[Index, Index, Index]:
        """Return the block, row and column of each position."""
        block = np.repeat(np.arange(len(self.sizes)), np.diff(self._offsets))
        stride, place = self._strides[block], np.arange(self.size) - self._offsets[block]
        row, column = np.divmod(place, np.maximum(stride, 1))
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
    return c, Layout(sizes), text.entries(m, Layout(sizes))


def _in_range(index: Any, low: int, high: Any) -> Any:
    """Return for each index whether it is an integer in [low, high]."""
    return (index >= low) & (index <= high) & (index == np.floor(index))


class _Text:
    """Lines of a file, read from the top; errors name the line."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if match := _NOT_TEXT.search(content):
            self.n_read = content.count(b"\n", 0, match.start()) + 1
            hint = (
                "give an SDPA sparse file, and let its name end in .gz or .xz if it is compressed"
            )
            raise self.error(f"the byte {match[0]!r} is found", f"text; {hint}")
        text = content.decode("utf-8-sig", "replace")
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        heads = enumerate(line.lstrip()[:1] for line in self.lines)
        self.n_read = next((k for k, head in heads if head not in ("", '"', "*")), len(self.lines))

    def error(self, given: str, expected: str) -> SDPAError:
        """Return the error of the line that was read last."""
        return SDPAError(f"{self.name}, line {self.n_read}: {given}; expected {expected}")

    def next_words(self, blanks: dict[int, int]) -> list[str]:
        """Return the words of the next line that is not blank, none at the end of the file."""
        while self.n_read < len(self.lines):
            self.n_read += 1
            if words := self.lines[self.n_read - 1].translate(blanks).split():
                return words
        return []

    def numbers(
        self, count: int, what: str, pattern: re.Pattern[str], expected: str
    ) -> list[float]:
        """Return the next numbers, which may span lines; text may follow the last."""
        values: list[float] = []
        while len(values) < count:
            words, n_due = self.next_words(_HEADER_BLANKS), count - len(values)
            if not words:
                raise self.error(
                    f"the file ends here, with {len(values)} of {count} numbers ({what})",
                    "m, the number of blocks, the block sizes, c and the entries; if it was cut "
                    "short, get it again",
                )
            for word in words[:n_due]:
                # Fortran writes 1.0D+03
                is_number = pattern.fullmatch(word) is not None
                values.append(float(word.lower().replace("d", "e")) if is_number else math.nan)
                if not math.isfinite(values[-1]):
                    raise self.error(f"{word!r} is given as {what}", f"{expected}; correct it")
        if words[n_due:] and _NUMBER.fullmatch(words[n_due]):
            given = f"{words[n_due]!r} follows the last {what}"
            raise self.error(given, f"{count} in all; correct the count, or begin a new line")
        return values

    def entries(self, m: int, layout: Layout) -> Entries:
        """Return the entries of the remaining lines."""
        start, table = self.n_read, self._table()
        matrix, block, row, column, value = table.T
        is_block, n_blocks = _in_range(block, 1, len(layout.sizes)), len(layout.sizes)
        size = np.array(layout.sizes)[np.where(is_block, block, 1).astype(np.intp) - 1]
        in_block = "one of 1 to {size}, the size of the block"
        checks = (
            ("value", np.isfinite(value), "a finite number"),
            ("matrix", _in_range(matrix, 0, m), f"one of 0 (for F0) to m={m}"),
            ("block", is_block, f"one of 1 to {n_blocks}"),
            ("row", _in_range(row, 1, abs(size)), in_block),
            ("column", _in_range(column, 1, abs(size)), in_block),
            ("column", (size > 0) | (row == column), "{row:.0f}, its row: the block is diagonal"),
        )
        is_valid = np.all([check[1] for check in checks], axis=0)
        if not is_valid.all():
            k = int(np.argmin(is_valid))
            name, _, expected = next(check for check in checks if not check[1][k])
            words, _ = self._entry(start, k)
            given = f"the entry ({' '.join(words)}) has {name} {words[Entries._fields.index(name)]}"
            expected = expected.format(size=abs(size[k]), row=row[k])
            raise self.error(given, f"{expected}; correct the line")
        matrix, block, row, column = table[:, :4].T.astype(np.intp)
        entries = Entries(matrix, block - 1, row - 1, column - 1, value.copy())
        upper = np.minimum(row, column) - 1, np.maximum(row, column) - 1
        key = matrix * layout.size + layout.position(entries.block, *upper)
        if not np.diff(np.sort(key)).all():
            order = np.argsort(key, kind="stable")
            repeated = int(order[1:][np.diff(key[order]) == 0].min())
            _, first = self._entry(start, int(np.argmax(key == key[repeated])))
            words, _ = self._entry(start, repeated)
            given = f"the entry ({' '.join(words)}) is given on line {first} already"
            expected = "each entry once, in one of the two triangles; remove one of the lines"
            raise self.error(given, expected)
        return entries

    def _entry(self, start: int, k: int) -> tuple[list[str], int]:
        """Go to entry k after line `start`; return its words and its line."""
        self.n_read = start
        return [self.next_words(_BLANKS) for _ in range(k + 1)][k], self.n_read

    def _table(self) -> Array:
        """Return the five numbers of each remaining line."""
        body = "\n".join(self.lines[self.n_read :]).translate(_BLANKS)
        if not body.strip():
            return np.empty((0, 5))
        try:
            body = body.replace("D", "e").replace("d", "e")
            table = np.loadtxt(body.split("\n"), comments=None, ndmin=2)
            if table.shape[1] == 5:
                return table
        except ValueError:
            pass  # the line is found below
        while words := self.next_words(_BLANKS):
            bad = [word for word in words if not _NUMBER.fullmatch(word)]
            if bad or len(words) != 5:
                numbers = f"{len(words)} numbers are given ({' '.join(words)})"
                raise self.error(
                    f"{bad[0]!r} is given where a number is due" if bad else numbers,
                    "five numbers `matrix block row column value`; correct or complete the line",
                )
        raise self.error("the entries end here", "numbers; correct a line before")
