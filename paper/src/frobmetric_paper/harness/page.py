"""Pages: Markdown from a template, tables and figures; HTML from that Markdown."""

from __future__ import annotations

import re
from html import escape as escape_html
from string import Template

from frobmetric._environment import replacing, require

STYLE = """
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ccc; text-align: left; }
img { max-width: 100%; height: auto; }
pre { background: #f3f3f3; padding: 0.7rem; overflow-x: auto; }
"""
SMALL = (
    "This is the small version, which shows in minutes whether everything works: few samples, and "
    "no parameter is chosen. None of its numbers can be compared with the paper's."
)


def escape(text):
    """Return text on one line in which Markdown finds nothing to interpret."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split()))


def table(header, rows, caption="", texts=()):
    """Return a table in Markdown.

    Parameters
    ----------
    header : list of str
    rows : list of lists of str
    caption : str
        Paragraph above the table.
    texts : tuple of str
        Columns of text; the first one is text, all others hold numbers.
    """
    edge = ["---" if name in (header[0], *texts) else "--:" for name in header]
    lines = [_line(map(escape, header)), _line(edge)]
    lines += [_line(map(escape, row)) for row in rows]
    return "\n".join([escape(caption), "", *lines] if caption else lines)


def _line(cells):
    return f"| {' | '.join(cells)} |"


def figure(folder, file, caption):
    """Return a figure with its caption in Markdown; empty if the folder does not have the file."""
    if not (folder / file).is_file():
        return ""
    return f"![{escape(caption)}]({file})\n\n{escape(caption)}"


def colophon(command, settings, machines):
    """Return how a page was made: command, settings, machines of its cells."""
    texts = [f"{', '.join(f'{name}: {value}' for name, value in settings.items())}.", *machines]
    return "\n\n".join([f"    {command}", *map(escape, texts)])


def fill(template, values):
    r"""Fill a template in Markdown in which `$name` stands for one of the values.

    A paragraph whose placeholders are all empty is left out, and so is a whole section, from its
    heading to the next one of its level.

    Parameters
    ----------
    template : str
    values : dict of str

    Returns
    -------
    str

    Examples
    --------
    >>> fill("# Title\n\n$first\n\n## Part\n\nA table:\n\n$second", {"first": "1", "second": ""})
    '# Title\n\n1\n'
    """
    blocks = re.split(r"\n\s*\n", template.strip())
    kept, place = [], 0
    while place < len(blocks):
        end = _section_end(blocks, place)
        names = re.findall(r"\$(\w+)", "\n".join(blocks[place:end]))
        if names and not any(values[name] for name in names):
            place = end
            continue
        kept.append(Template(blocks[place]).substitute(values))
        place += 1
    return "\n\n".join(kept) + "\n"


def _section_end(blocks, place):
    """Return the place behind a block, or behind the whole section if it is a heading."""
    level = _level(blocks[place])
    later = range(place + 1, len(blocks))
    if not level:
        return place + 1
    return next((i for i in later if 0 < _level(blocks[i]) <= level), len(blocks))


def _level(block):
    """Return the level of a heading; 0 of other blocks."""
    return len(re.match("#*", block)[0])


def write_page(folder, markdown):
    """Write index.md and index.html; return the path of the latter."""
    contents = {"index.md": markdown, "index.html": _html(markdown)}
    for name, content in contents.items():
        with replacing(folder / name) as file:
            file.write(content.encode())
    return folder / "index.html"


def _html(markdown):
    parser = require("markdown_it", "cli").MarkdownIt("commonmark", {"html": False})
    title = re.sub(r"\\(.)", r"\1", markdown.partition("\n")[0].lstrip("# "))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{parser.enable('table').render(markdown)}</body>\n</html>\n"
    )
