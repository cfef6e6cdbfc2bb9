"""Rendering of pages: templates with escaped text, one style, scripts and data inside the page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from ...runtime.environment import require

#: Folder of the templates, styles and scripts.
FOLDER = files(__package__) / "templates"


def render(
    template: str,
    *,
    data: Any = None,
    scripts: Sequence[str] = (),
    plotly: bool = False,
    **values: Any,
) -> str:
    """Return a page that needs nothing but itself.

    Every value is escaped: a name such as `</script>` is shown as text. A template extends
    `base.html`, which has the style, the colours for light, dark and paper, and a policy that
    forbids the browser all requests.

    Parameters
    ----------
    template : str
        Name of a file in `frobmetric/pages/templates`.
    data : object, optional
        Plain values for the scripts, which read them by `readData()`.
    scripts : sequence of str
        Names of scripts in the same folder, which run in this order after `base.js`.
    plotly : bool, default=False
        Whether the page contains plotly.js.
    **values
        Values of the template.

    Returns
    -------
    str

    Examples
    --------
    >>> from frobmetric.app.pages.page import render
    >>> html = render("base.html", title="<b>")  # doctest: +SKIP
    """
    jinja2 = require("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    markup = require("markupsafe", "report").Markup
    sources = [_read(name) for name in ("base.js", *scripts)]
    if plotly:
        sources.insert(0, require("plotly.offline", "report").get_plotlyjs())
    values |= {"style": markup(_read("style.css")), "data": data}
    return environment.get_template(template).render(sources=map(markup, sources), **values)


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
