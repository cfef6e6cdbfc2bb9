"""Pages: Markdown from a template, tables and figures; HTML from that Markdown."""

from __future__ import annotations

import csv
import re
from html import escape as escape_html
from pathlib import Path
from string import Template

from frobmetric._environment import replacing, require

#: A figure in a template: caption, file.
FIGURE = re.compile(r"!\[(.*)\]\((.*)\)")
#: Frame of index.html.
HTML = Path(__file__).with_name("page.html")
SMALL = (
    "This is the small version, which shows in minutes whether everything works: few samples, and "
    "no parameter is chosen. None of its numbers can be compared with the paper's."
)


def escape(text):
    """Return text on one line in which Markdown finds nothing to interpret."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split()))


def table(header, rows, caption="", texts=()):
    """Return a table in Markdown, with a paragraph above it if there is a caption.

    Columns hold numbers, except for the first one and those named in `texts`.
    """
    edge = ["---" if name in (header[0], *texts) else "--:" for name in header]
    lines = [_line(map(escape, header)), _line(edge)]
    lines += [_line(map(escape, row)) for row in rows]
    return "\n".join([escape(caption), "", *lines] if caption else lines)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def colophon(command, settings, machines):
    """Return how a page was made: command, settings, machines of its cells."""
    texts = [f"{', '.join(f'{name}: {value}' for name, value in settings.items())}.", *machines]
    return "\n\n".join([f"    {command}", *map(escape, texts)])


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
    parser = require("markdown_it", "cli").MarkdownIt("commonmark", {"html": False})
    title = re.sub(r"\\(.)", r"\1", markdown.partition("\n")[0].lstrip("# "))
    body = parser.enable("table").render(markdown)
    return Template(HTML.read_text("utf-8")).substitute(title=escape_html(title), body=body)
