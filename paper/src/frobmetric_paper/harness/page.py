"""Pages: Markdown from a template, tables and figures; HTML from that Markdown."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from html import escape as escape_html
from itertools import pairwise
from pathlib import Path
from string import Formatter, Template

from frobmetric.runtime.environment import replacing, require

#: A figure in a template: caption, file.
FIGURE = re.compile(r"!\[(.*)\]\((.*)\)")
#: A table in a template: name of its rows, header with alignments, formats of the cells of a row.
TABLE = re.compile(r"^\$(\w+)\n(\|.*\n\|.*)\n\| (.*) \|$", re.MULTILINE)
#: What a page links to where it is there, in the folder of this name: path -> text.
LINKS = {
    "table.csv": "numbers for programs (csv)",
    "results.json": "all results (json)",
    "../uci/index.md": "classification",
    "../action/index.md": "actions",
    "../lfw/index.md": "faces",
    "../mvu/index.md": "unfolding",
    "../../src/frobmetric_paper/{name}": "code",
    "../../../docs/experiments.md": "how to run it",
}
#: Frame of index.html.
HTML = Path(__file__).with_name("page.html")
SMALL = (
    "This is the small version, which shows in minutes whether everything works: few samples, and "
    "no parameter is chosen. None of its numbers can be compared with the paper's."
)


def escape(text):
    """Return text on one line in which Markdown finds nothing to interpret."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split()))


class Markdown(str):
    """Text that is Markdown already: tables do not escape it."""

    __slots__ = ()


def bold(text):
    """Return text in bold."""
    return Markdown(f"**{escape(text)}**")


def details(summary, text):
    """Return text that is folded below its summary; nothing if there is no text."""
    opening = f"<details>\n<summary>{escape_html(summary)}</summary>"
    return f"{opening}\n\n{text}\n\n</details>" if text else ""


def links(folder, name):
    """Return links to the files of a page, other pages and code, of those that are there."""
    paths = {path.format(name=name): text for path, text in LINKS.items()}
    found = [
        f"[{text}]({path})"
        for path, text in paths.items()
        if (folder / path).exists() and path != f"../{name}/index.md"
    ]
    return " · ".join(found)


def table(header, rows, caption="", texts=()):
    """Return a table in Markdown, with a paragraph above it if there is a caption.

    Columns hold numbers, except for the first one and those named in `texts`. Columns without any
    text are left out.
    """
    shown = [place for place in range(len(header)) if any(row[place] for row in rows)]
    lines = [[header[place] for place in shown], *([row[place] for place in shown] for row in rows)]
    lines = [_line(map(_cell, line)) for line in lines]
    edge = [header[place] in (header[0], *texts) for place in shown]
    lines.insert(1, _line("---" if is_text else "--:" for is_text in edge))
    return "\n".join([escape(caption), "", *lines] if caption else lines)


def _cell(text):
    return text if isinstance(text, Markdown) else escape(text)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def colophon(commands, settings, machines):
    """Return how a page was made: commands, settings of the last one, machines of its cells."""
    texts = [f"{', '.join(f'{name}: {value}' for name, value in settings.items())}.", *machines]
    lines = "\n".join(f"    {command}" for command in commands)
    text = "\n\n".join([lines, *map(escape, texts)])
    return details("Command, settings and machine", text)


def fill(template, values, folder=Path()):
    r"""Fill a template in Markdown in which `$name` stands for one of the values.

    A paragraph whose placeholders are all empty is left out, and so is a whole section, from its
    heading to the next one of its level. A figure, `![caption](file)`, is a placeholder too: empty
    if the folder does not have the file, else shown with its caption below it.

    Examples
    --------
    >>> values = {"first": "1", "second": ""}
    >>> fill("# Title\n\n$first\n\n## Part\n\nA table:\n\n$second", values)
    '# Title\n\n1\n'
    """
    blocks = re.split(r"\n\s*\n", template.strip())
    contents = [_contents(block, values, folder) for block in blocks]
    kept, place = [], 0
    while place < len(blocks):
        end = _section_end(blocks, place)
        shown = [text for texts in contents[place:end] for text in texts]
        if shown and not any(shown):
            place = end
            continue
        text = Template(blocks[place]).substitute(values)
        caption = FIGURE.fullmatch(text)
        kept += [text, caption[1]] if caption else [text]
        place += 1
    return "\n\n".join(kept) + "\n"


def _contents(block, values, folder):
    """Return the values of the placeholders of a block; of a figure the file if it is there."""
    if figure := FIGURE.fullmatch(block):
        return [figure[2] if (folder / figure[2]).is_file() else ""]
    return [values[name] for name in re.findall(r"\$(\w+)", block)]


def _section_end(blocks, place):
    """Return the place behind a block, or behind the whole section if it is a heading."""
    level = _level(blocks[place])
    later = range(place + 1, len(blocks))
    if not level:
        return place + 1
    return next((i for i in later if 0 < _level(blocks[i]) <= level), len(blocks))


def _level(block):
    """Return the level of a heading; 0 for other blocks."""
    return len(re.match("#*", block)[0])


class _Cells(Formatter):
    """Formats of the cells of a row; None is an empty text."""

    def format_field(self, value, spec):
        return "" if value is None else format(value, spec)


def fill_tables(text, values):
    r"""Fill a template: `$name` stands for a text, or for the rows of the table that follows it.

    Such a table has a header and one row of formats, which is repeated for each row of the data. A
    name without a value is empty. The first paragraph, the title, always stays.

    Examples
    --------
    >>> text = "# Title\n\n$rows\n| name | x |\n| --- | --: |\n| {name} | {x:.1f} |"
    >>> print(fill_tables(text, {"rows": [{"name": "a", "x": 1}, {"name": "b", "x": None}]}))
    # Title
    <BLANKLINE>
    | name | x |
    | --- | --: |
    | a | 1.0 |
    | b |  |
    <BLANKLINE>
    """
    (title, _, body), values = text.partition("\n\n"), defaultdict(str, values)

    def fill_table(match):
        name, header, cells = match.groups()
        lines = []
        for row in values[name]:
            filled = [escape(_Cells().format(cell, **row)) for cell in cells.split(" | ")]
            lines.append(f"| {' | '.join(filled)} |")
        values[name] = "\n".join([header, *lines]) if lines else ""
        return f"${name}"

    return f"{title}\n\n{fill(TABLE.sub(fill_table, body), values)}".rstrip() + "\n"


def panels(n, columns=1, size=(6, 5), margin=(0, 0), **subplots):
    """Return a figure and the axes of n panels of this size, some columns side by side."""
    n_rows, n_columns = -(-n // columns), min(columns, n)
    figsize = margin[0] + size[0] * n_columns, margin[1] + size[1] * n_rows
    drawing = require("matplotlib.figure", "plot").Figure(figsize=figsize, layout="constrained")
    axes = drawing.subplots(n_rows, n_columns, squeeze=False, **subplots).ravel()
    for ax in axes[n:]:
        ax.remove()
    return drawing, axes[:n]


def read_rows(path):
    """Return the rows of a csv file, such as a table of the paper, as dictionaries of text."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_files(folder, contents):
    """Write texts to files, given by file name; no file is left half-written."""
    for name, content in contents.items():
        with replacing(folder / name) as file:
            file.write(content.encode())


def write_page(folder, markdown):
    """Write index.md and index.html; return the path of the latter."""
    write_files(folder, {"index.md": markdown, "index.html": _html(markdown)})
    return folder / "index.html"


def _html(markdown):
    """Return the page in HTML, with the sections listed at its beginning."""
    # all texts that are not ours are escaped in Markdown
    parser = require("markdown_it", "cli").MarkdownIt("commonmark", {"html": True})
    tokens = parser.enable("table").parse(markdown)
    titles = []
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children)
            heading.attrSet("id", re.sub(r"\W+", "-", text.lower()).strip("-"))
            titles.append((heading.tag, heading.attrGet("id"), escape_html(text)))
    body = parser.renderer.render(tokens, parser.options, {})
    for old, new in (
        ("<table>", '<div class="wide"><table>'),
        ("</table>", "</table></div>"),
        ('/index.md"', '/index.html"'),
    ):
        body = body.replace(old, new)
    sections = [f'<a href="#{name}">{text}</a>' for tag, name, text in titles if tag == "h2"]
    parts = {"title": titles[0][2], "contents": "\n".join(sections), "body": body}
    return Template(HTML.read_text("utf-8")).substitute(parts)
