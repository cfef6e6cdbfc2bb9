"""Small tables: aligned text for terminals, HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from ..checks.text import in_html, in_markdown, shown

#: Number of columns of text, for terminals with 80.
WIDTH = 79
#: Style of a cell. No colour is set, so that a notebook can be light or dark.
CELL = "padding: 0.15em 0.7em; text-align: {align}; white-space: nowrap"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns: the first to the left, all others to the right."""
    table = [[shown(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    aligns = ["<", *">" * (len(widths) - 1)]
    formats = [f"{{:{align}{width}}}" for align, width in zip(aligns, widths, strict=True)]
    return "\n".join("  ".join(formats).format(*row).rstrip() for row in table)


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, strong: Sequence[int] = ()
) -> str:
    """Return an HTML table; the rows with the numbers `strong` are bold. All text is escaped."""
    head = _html_row("th", header, "border-bottom: 1px solid")
    body = (
        _html_row("td", row, "font-weight: bold" if i in strong else "")
        for i, row in enumerate(rows)
    )
    style = "border-collapse: collapse; margin: 0.5em 0"
    return f'<table style="{style}"><thead>{head}</thead><tbody>{"".join(body)}</tbody></table>'


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column to the left, all others to the right."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    lines = [list(map(in_markdown, header)), marks, *(map(in_markdown, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def paragraph(text: str, *, indent: str = "") -> str:
    """Return text wrapped at whole words, all lines but the first indented."""
    options = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(wrap(text, WIDTH, subsequent_indent=indent, **options))  # type: ignore[arg-type]


def html_list(items: Sequence[str]) -> str:
    """Return an HTML list of escaped texts, nothing if there are none."""
    entries = "".join(f"<li>{in_html(item)}</li>" for item in items)
    return f'<ul style="margin: 0.2em 0">{entries}</ul>' if entries else ""


def _html_row(tag: str, cells: Sequence[str], style: str) -> str:
    aligns = ["left", *["right"] * (len(cells) - 1)]
    texts = (
        f'<{tag} style="{CELL.format(align=align)}">{in_html(cell)}</{tag}>'
        for align, cell in zip(aligns, cells, strict=True)
    )
    return f'<tr style="{style}; background: none">{"".join(texts)}</tr>'
