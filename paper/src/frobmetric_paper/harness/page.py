"""A page of headings, text, tables and figures, written as Markdown and as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from frobmetric._atomic import replacing

STYLE = """
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; padding-bottom: 0.4rem; color: #444; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ccc; text-align: right; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; }
figcaption { color: #444; }
pre { background: #f3f3f3; padding: 0.7rem; overflow-x: auto; }
"""


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is that of the page."""

    text: str
    level: int = 2

    def markdown(self):
        return f"{'#' * self.level} {_plain(self.text)}"

    def html(self):
        return f"<h{self.level}>{escape(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str

    def markdown(self):
        return _plain(self.text)

    def html(self):
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Code:
    """Lines to type."""

    text: str

    def markdown(self):
        return "\n".join(f"    {line}" for line in self.text.splitlines())

    def html(self):
        return f"<pre>{escape(self.text)}</pre>"


@dataclass(frozen=True)
class Figure:
    """A file beside the page, and what it shows."""

    file: str
    caption: str

    def markdown(self):
        return f"![{_plain(self.caption)}]({self.file})\n\n{_plain(self.caption)}"

    def html(self):
        alt = escape(self.caption)
        return (
            f'<figure><img src="{escape(self.file)}" alt="{alt}">'
            f"<figcaption>{alt}</figcaption></figure>"
        )


@dataclass(frozen=True)
class Table:
    """Rows of strings below a header; `texts` are the columns of words, others hold numbers."""

    header: list[str]
    rows: list[list[str]]
    caption: str = ""
    texts: tuple[str, ...] = field(default=())

    def markdown(self):
        edge = ["---" if name in (self.header[0], *self.texts) else "--:" for name in self.header]
        lines = [_line(map(_plain, self.header)), _line(edge)]
        lines += [_line(map(_plain, row)) for row in self.rows]
        return "\n".join([_plain(self.caption), "", *lines] if self.caption else lines)

    def html(self):
        head = "".join(self._cell("th", name, name) for name in self.header)
        rows = [
            "".join(self._cell("td", *pair) for pair in zip(self.header, row, strict=True))
            for row in self.rows
        ]
        body = "".join(f"<tr>{row}</tr>\n" for row in rows)
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"

    def _cell(self, tag, name, text):
        kind = ' class="text"' if name in self.texts else ""
        return f"<{tag}{kind}>{escape(text)}</{tag}>"


def write_page(folder, title, blocks):
    """Write index.md and index.html.

    Parameters
    ----------
    folder : Path
    title : str
    blocks : list of Heading, Paragraph, Code, Figure or Table

    Returns
    -------
    tuple of 2 Paths
    """
    blocks = [Heading(title, 1), *blocks]
    contents = {
        "index.md": "\n\n".join(block.markdown() for block in blocks) + "\n",
        "index.html": _html(title, blocks),
    }
    for name, content in contents.items():
        with replacing(folder / name) as file:
            file.write(content.encode())
    return tuple(folder / name for name in contents)


def _html(title, blocks):
    body = "\n".join(block.html() for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _plain(text):
    """Text in which Markdown finds nothing to interpret, on one line."""
    one_line = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", one_line)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def colophon(results, settings, command):
    """How a page was made: the command, its settings, the machines of its cells."""
    machines = {
        _one_line(cell.machine) for result in results for cell in result.cells if cell.machine
    }
    yield Heading("How this was made")
    yield Code(command)
    yield Paragraph(", ".join(f"{name}: {value}" for name, value in settings.items()) + ".")
    yield from (Paragraph(machine) for machine in sorted(machines))


def _one_line(machine):
    return ", ".join(f"{name}: {value}" for name, value in machine.items()) + "."
