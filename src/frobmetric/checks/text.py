"""Text from outside, such as names, cells and errors: escaped for each medium, or shortened."""

from __future__ import annotations

import re
from html import escape

#: Characters of a text that a message quotes.
MOST = 300
#: Characters that mean something in Markdown; an underscore does so only at the ends of words.
MARKDOWN = re.compile(r"[\\`*\[\]<>|~$&]|(?<!\w)_|_(?!\w)")


def shown(name: object) -> str:
    r"""Return a name with all characters that cannot be seen as escapes.

    Escape sequences of terminals, marks that turn the direction of writing and ends of lines then
    have no effect.

    Examples
    --------
    >>> from frobmetric.checks.text import shown
    >>> print(shown("a\x1b[31mred"))
    a\x1b[31mred
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def shown_lines(text: object) -> str:
    """Return text of several lines, each as `shown`."""
    return "\n".join(map(shown, str(text).split("\n")))


def brief(text: object) -> str:
    """Return the beginning of a text, such as a cell or an error of another library, in a message.

    Examples
    --------
    >>> from frobmetric.checks.text import brief
    >>> len(brief("x" * 1000))
    303
    """
    text = str(text)
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def drawn(name: object) -> str:
    """Return a name for matplotlib, which takes $ for mathematics and hides _a and empty names."""
    text = shown(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") or not text else text


def in_markdown(name: object) -> str:
    r"""Return a name for a cell of a Markdown table: no emphasis, no links, no HTML.

    Examples
    --------
    >>> from frobmetric.checks.text import in_markdown
    >>> print(in_markdown("a_b <i>*"))
    a_b \<i\>\*
    """
    return MARKDOWN.sub(r"\\\g<0>", shown(name))


def in_html(name: object) -> str:
    """Return a name for a page: no tags, and nothing that cannot be seen."""
    return escape(shown(name))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii") if character != "\xa0" else " "
