"""Report: results in words and as a table, for terminals, notebooks and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from ..checks.text import in_html
from ..runtime.tables import html_table, markdown_table, paragraph, text_table


class Report:
    """Results in words and as a table: `print` shows them as text, a notebook as HTML.

    Subclasses are dataclasses with `sentences`, and with `header` and `cells` if there is a table.
    """

    #: Header of the table; empty if there is no table.
    header: ClassVar[tuple[str, ...]] = ()
    #: Number of sentences before the table; the others follow it.
    n_leading: ClassVar[int | None] = None

    def sentences(self) -> list[str]:
        """Return the report in words, the most important first."""
        raise NotImplementedError

    def caption(self) -> str:
        """Return a line above the table."""
        return ""

    def columns(self) -> tuple[str, ...]:
        """Return the header of the table."""
        return self.header

    def cells(self) -> Sequence[tuple[str, ...]]:
        """Return the rows of the table."""
        return ()

    def whole(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return header and rows of the table where there is room: in HTML and Markdown."""
        return self.columns(), self.cells()

    def strong(self) -> list[int]:
        """Return the numbers of the rows that matter most, which are bold in HTML."""
        return []

    def table(self) -> str:
        """Return the table as text."""
        return text_table(self.columns(), self.cells())

    def line(self) -> str:
        """Return the report in one line."""
        return self.sentences()[0]

    def to_text(self) -> str:
        """Return the sentences and the table, at most 79 columns wide."""
        table = self.table() if self.cells() else ""
        leading, others = self._divided()
        blocks = (_lines(leading), paragraph(self.caption()), table, _lines(others))
        return "\n\n".join(filter(None, blocks))

    def to_markdown(self) -> str:
        """Return the sentences and the table as Markdown."""
        header, cells = self.whole()
        leading, others = self._divided()
        events = "\n".join(f"* {sentence}" for sentence in others)
        table = markdown_table(header, cells) if cells else ""
        return "\n\n".join(filter(None, (*leading, self.caption(), table, events))) + "\n"

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as plain values, for a file."""
        return asdict(self)  # type: ignore[call-overload]  # subclasses are dataclasses

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return self.to_fields() | {"sentences": self.sentences()}

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        (first, *leading), others = self._divided()
        verdict, colon, rest = first.partition(": ")
        header, cells = self.whole()
        return (
            f"<div><div><b>{in_html(verdict)}</b>{colon}{in_html(rest)}</div>"
            f"{_html_lines(filter(None, (*leading, self.caption())))}"
            f"{html_table(header, cells, strong=self.strong()) if cells else ''}"
            f"{_html_lines(others)}{self._html_end()}</div>"
        )

    def _html_end(self) -> str:
        """Return what follows the sentences and the table."""
        return ""

    def _divided(self) -> tuple[list[str], list[str]]:
        """Return the sentences before the table, and those after it."""
        sentences = self.sentences()
        n = len(sentences) if self.n_leading is None else self.n_leading
        return sentences[:n], sentences[n:]


def _lines(sentences: Sequence[str]) -> str:
    return "\n".join(map(paragraph, sentences))


def _html_lines(sentences: Any) -> str:
    return "".join(f"<div>{in_html(text)}</div>" for text in sentences)
