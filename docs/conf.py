"""Site of the project: `make docs` builds it from these pages, the examples and the docstrings.

Pages of results and of the project lie outside of this folder. They are copied into it before the
build, and links to them are rewritten, so that all links also work in a checkout.
"""

import re
import shutil
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import frobmetric

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "frobmetric"
author = "The frobmetric developers"
release = version = frobmetric.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "live", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
nitpicky = False

# Pages. Formulas are plain text in code blocks: with MathJax, browsers of readers ask another host;
# pictures of formulas need LaTeX, and MathML cannot be read in a checkout.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# API reference
autosummary_generate = True
autodoc_typehints = "none"
default_role = "py:obj"
numpydoc_show_class_members = False  # autodoc documents each of them in full
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "thumbnail_size": (560, 392),
    "doc_module": ("frobmetric",),
    "backreferences_dir": "gallery/backreferences",
    "inspect_global_variables": False,
}

# Theme
html_theme = "pydata_sphinx_theme"
html_title = "frobmetric"
html_static_path = ["_static"]
html_extra_path = ["live"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copyright = "The frobmetric developers, BSD-3-Clause"

#: Pages outside of this folder, and where their copies are.
COPIES = {"CHANGELOG.md": "project/CHANGELOG.md", "CONTRIBUTING.md": "project/CONTRIBUTING.md"}
COPIES |= {"SECURITY.md": "project/SECURITY.md"}
#: Beginnings of links, and what they are where the copies are: pages here, results, the project.
LINKS = {
    "": {"../paper/results/": "results/", "../CHANGELOG": "project/CHANGELOG"}
    | {"../CONTRIBUTING": "project/CONTRIBUTING", "../SECURITY": "project/SECURITY"},
    "results/": {"../../../docs/": "../../", "../../docs/": "../"},
    "project/": {"docs/": "../", "paper/results/": "../results/"},
}


def copy_pages(app, config):
    """Copy the pages of results, with their figures, and of the project."""
    shutil.rmtree(HERE / "results", ignore_errors=True)
    skip = shutil.ignore_patterns("cells", "*.html")
    shutil.copytree(ROOT / "paper" / "results", HERE / "results", ignore=skip)
    index = ["# Results", "", "```{toctree}", ":maxdepth: 1", ""]
    pages = sorted(path for path in (HERE / "results").rglob("*.md"))
    index += [path.relative_to(HERE / "results").as_posix() for path in pages]
    (HERE / "results" / "index.md").write_text("\n".join([*index, "```", ""]), encoding="utf-8")
    for source, target in COPIES.items():
        if (ROOT / source).exists():
            (HERE / target).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / source, HERE / target)


def make_report(app, config):
    """Write the report on the pictures of three digits that the first page shows."""
    X, y = load_digits(return_X_y=True)
    left, right = (np.random.default_rng(seed).permutation(X) for seed in (1, 2))
    pictures = np.concatenate([side.reshape(-1, 8, 8) for side in (left, X, right)], axis=2)
    options = {"image_shape": (8, 24), "title": "Which digit is in the middle?"}
    page = frobmetric.report(
        frobmetric.FrobMetric(), pictures.reshape(-1, 192)[:500], y[:500], **options
    )
    (HERE / "live").mkdir(exist_ok=True)
    page.save(HERE / "live" / "live_report.html")


def rewrite_links(app, name, content):
    """Let links of copies, and links to them, lead to pages of the site."""
    folder = next((each for each in ("results/", "project/") if name.startswith(each)), "")
    for old, new in LINKS[folder].items():
        content[0] = re.sub(rf"\]\({re.escape(old)}", f"]({new}", content[0])
    # scripts are pages of the gallery
    content[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", content[0])
    if folder == "results/":  # code is not part of the site
        content[0] = re.sub(r"\[([^\]]*)\]\((?:\.\./)+src/[^)]*\)", r"\1", content[0])


#: Signs of mathematics that reStructuredText would read as markup: bars, and names that end in _.
MARKUP = re.compile(r"\||(?<=\w)_(?!\w)|(?<!\*)\*(?=[^\s*])")
#: Line that declares a parameter or an attribute, which numpydoc reads, and one of an example.
DECLARED, EXAMPLE = re.compile(r"^\s*\*{0,2}[\w, .]+ :( |$)"), re.compile(r"^\s*(>>>|\.\.\. )")


def escape_mathematics(app, what, name, obj, options, lines):
    """Escape signs of mathematics outside of code, so that docstrings stay plain text."""
    # references in docstrings of scikit-learn lead to pages of its site
    lines[:] = [re.sub(r":ref:`([^`<]*?)(?: <[^>]*>)?`", r"\1", line) for line in lines]
    is_example = False
    for number, line in enumerate(lines):
        is_example = bool(line.strip()) and (is_example or bool(EXAMPLE.match(line)))
        if not (is_example or DECLARED.match(line)):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "".join(parts)


#: Methods that scikit-learn adds to every estimator to pass metadata: the same in all of them.
ROUTING = re.compile(r"set_\w+_request|get_metadata_routing|_\w*")


def skip_routing(app, what, name, obj, would_skip, options):
    """Leave out the methods of scikit-learn's metadata routing."""
    return True if ROUTING.fullmatch(name) else None


#: Link from a page of source to the page of a name: that page, the name, and the fragment.
BACK = re.compile(r'(class="viewcode-back" href="[^"#]*/([\w.]+)\.html)#([\w.]+)"')


def correct_back_links(app, pagename, templatename, context, doctree):
    """Let links from the source of a name lead to its page, also where a module has several homes.

    Sphinx takes one public home for all names of a module; the pages know theirs.
    """
    if pagename.startswith("_modules/") and "body" in context:
        context["body"] = BACK.sub(_back_link, context["body"])


def _back_link(match):
    page, name, fragment = match.groups()
    last = fragment.rpartition(".")[2]
    member = "" if last == name.rpartition(".")[2] else f".{last}"  # of a class
    return f'{page}#{name}{member}"'


def setup(app):
    """Connect the steps that come before Sphinx's own, and one that comes after."""
    app.connect("autodoc-process-docstring", escape_mathematics, priority=100)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("config-inited", copy_pages, priority=100)
    app.connect("config-inited", make_report, priority=100)
    app.connect("source-read", rewrite_links)
    app.connect("html-page-context", correct_back_links)
