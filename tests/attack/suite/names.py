"""Hostile names of classes, features, columns and files: they must be shown as text everywhere."""

from __future__ import annotations

import csv
import html
import io
import re
import tempfile
import unicodedata
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import frobmetric.app.cli
from frobmetric import FrobMetric, NearestClass, compare
from frobmetric.app.tables.matrices import LabelledMatrix, read_matrix, write_matrix
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.app.tables.writing import write_table
from frobmetric.checks.text import shown
from frobmetric.io import load, save
from frobmetric.runtime.tables import html_table, markdown_table, text_table

from . import Attack, Findings, choose
from .isolation import call_command

#: Parts of names: mathematics, escapes of terminals, marks of direction, ends of lines, markup.
PARTS = [
    *(r"$\frac{$", "$a$", "$", "_", "__x__", r"\$", "^{", "%s", "{}", "{0.__class__}", "%(a)s"),
    *("\x1b[31m", "\x1b]0;t\x07", "\x1b[2J", "\x9b1m", "\x7f", "\x08", "\x00", "\t", "\x0b"),
    *("\r", "\n", "\r\n", "\u2028", "\u2029", "\x85", "\u202e", "\u2066", "\u200b", "\ufeff"),
    *("<b>", "<script>alert(1)</script>", "&lt;", "&", '"', "'", "`", "**b**", "[a](b)", "|", "# "),
    *("é", "e\u0301", "漢字", "😀", "ﷺ", "\U000e0041", "\ud7ff", "=1+1", "-1", "+", "@", " ", ","),
    *(";", "nan", "None", "true", "1e5", "0x1", "../..", "~", "x" * 300),
]
#: Characters that have an effect and cannot be seen.
HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")


def make_name(rng):
    """Return a name of a few parts, never empty."""
    return "".join(choose(rng, PARTS) for _ in range(rng.integers(1, 4)))


def is_visible(text):
    """Return whether a text has no character with a hidden effect, but ends of lines."""
    return not any(unicodedata.category(c) in HIDDEN for c in text.replace("\n", ""))


class _Tags(HTMLParser):
    """Names of the tags of a page, and its text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


class Stage:
    """Samples with three classes, whose first has the hostile name, and a metric of them."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.numbers = np.arange(36) % 3
        self.X = rng.normal(size=(36, 4)) + self.numbers[:, None]
        self.metric = FrobMetric(n_passes=1).fit(self.X, self.numbers)

    def labels(self, name):
        return np.array([name, "b", "c"], dtype=object)[self.numbers].astype(str)

    def features(self, name):
        return [name, "b", "c", "d"]


def in_figures(stage, name, folder):
    """Draw class and feature names; return None, or what is wrong."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    from frobmetric.plotting import EmbeddingDisplay, ExplanationDisplay, NeighborsDisplay

    y = stage.labels(name)
    try:
        display = EmbeddingDisplay.from_embedding(stage.X[:, :2], color=y, color_name=name)
        display.figure_.canvas.draw()
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        found = {text.strip().replace(r"\$", "$") for text in texts}
        expected = {shown(str(value)).strip() for value in np.unique(y)}
        if found != expected:
            return f"legend {sorted(found)!r:.200}"
        explanation = stage.metric.explain(
            stage.X[0], stage.X[1], feature_names=stage.features(name)
        )
        ExplanationDisplay.from_explanation(explanation).figure_.canvas.draw()
        queries = stage.X[[0, 1]], y[[0, 1]]
        shown_near = NeighborsDisplay.from_estimator(stage.metric, stage.X, y, *queries)
        shown_near.figure_.canvas.draw()
    finally:
        plt.close("all")
    return None


def in_tables(stage, name, folder):
    """Show names in tables of text, HTML and Markdown, and in explanations."""
    rows = [[name, "1"], ["b", name]]
    text, page, marked = (
        table(["a", name], rows) for table in (text_table, html_table, markdown_table)
    )
    explanation = stage.metric.explain(stage.X[0], stage.X[1], feature_names=stage.features(name))
    for lines, n in ((text, 3), (marked, 4), (str(explanation), 6)):
        if not is_visible(lines) or len(lines.split("\n")) != n:
            return f"text {lines!r:.200}"
    for content in (page, explanation._repr_html_()):
        if _Tags(content).tags - {
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "div",
            "b",
            "small",
            "p",
        }:
            return f"tags {_Tags(content).tags}"
        if not is_visible(html.unescape(re.sub("<[^>]*>", "", content))):
            return f"HTML {content!r:.200}"
    if re.search(r"(?<!\\)(\\\\)*[<`*\[]", marked):
        return f"Markdown {marked!r:.200}"
    return None


def in_messages(stage, name, folder):
    """Read names in warnings and errors of estimators and comparisons."""
    y, few = stage.labels(name), stage.labels(name)[:34]
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lonely = np.array([name, *few[1:]], dtype=object).astype(str)
        lonely[1:] = np.where(lonely[1:] == lonely[0], "b", lonely[1:])
        FrobMetric(n_passes=1).fit(stage.X[:34], lonely)
        said += [str(compare(stage.metric, stage.X, y, X_test=stage.X, y_test=y))]
    said += [str(warning.message) for warning in caught]
    for fit in (FrobMetric().fit, NearestClass().fit):
        try:
            fit(stage.X, np.full(36, name))
        except ValueError as error:
            said.append(str(error))
    wrong = [text for text in said if not is_visible(text)]
    return f"message {wrong[0]!r:.200}" if wrong else None


def in_files(stage, name, folder):
    """Write names to tables, matrices and models; they must be read back, or be refused."""
    y, clean = stage.labels(name), name.strip()
    for suffix in ("csv", "tsv", "parquet"):
        path = folder / f"t.{suffix}"
        try:
            write_table(path, Table(stage.X, y, stage.features(name)))
            table = read_table(path, target="label")
        except ValueError as error:
            if str(path) not in str(error):
                return f"{suffix}: {error!s:.200}"
            continue
        kept = name if suffix == "parquet" else clean
        if table.feature_names[0] != kept or str(table.y[0]) != str(y[0]).strip():
            return f"{suffix}: read {table.feature_names[0]!r:.80} and {table.y[0]!r:.80}"
    path = folder / "m.csv"
    names = [name, "b", "c"]
    write_matrix(path, np.eye(3), LabelledMatrix(np.eye(3), path, names, "", True))
    with open(path, newline="", encoding="utf-8") as file:
        if [row[0] for row in csv.reader(file)][1] != name and "\0" not in name:
            return "matrix: the name was changed"
    try:
        if read_matrix(path).names != [each.strip() for each in names]:
            return "matrix: the names are others"
    except ValueError as error:
        if str(path) not in str(error):
            return f"matrix: {error!s:.200}"
    model = FrobMetric(n_passes=1).fit(stage.X, stage.numbers)
    names = np.array(stage.features(name), dtype=object)
    model.map_ = replace(model.map_, features=replace(model.map_.features, names=names))
    save(model, folder / "m")
    if list(load(folder / "m").feature_names_in_) != stage.features(name):
        return "model: the names are others"
    return None


def in_commands(stage, name, folder):
    """Give names of files and columns to commands; no hidden character reaches the terminal."""
    file = re.sub(r"[/\0]", "", name)[:80].encode("utf-8", "ignore")[:200].decode("utf-8", "ignore")
    path = folder / f"a{file}.csv"
    content = io.BytesIO()
    text = io.TextIOWrapper(content, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([["x", name], ["1", "a"], ["text", "b"], *[["2", name]] * 4])
    text.flush()
    path.write_bytes(content.getvalue())
    ending = call_command(["fit", str(path), f"--target={name}".replace("\0", ""), "--cv", "0"])
    path.unlink()
    if ending.code not in (2, 3) or "Traceback" in ending.errors:
        return f"code {ending.code}: {ending.errors[-300:]}"
    return None if is_visible(ending.errors) else f"terminal: {ending.errors!r:.300}"


PLACES = {
    "figures": (in_figures, 1),
    "tables": (in_tables, 4),
    "messages": (in_messages, 2),
    "files": (in_files, 4),
    "commands": (in_commands, 2),
}


def attack_names(count, seed):
    """Return how hostile names are shown."""
    rng, found, stage = np.random.default_rng(seed), Findings(), Stage()
    places = [place for place, (_, times) in PLACES.items() for _ in range(times)]
    for number in range(count):
        name, place = make_name(rng), choose(rng, places)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wrong = PLACES[place][0](stage, name, Path(folder))
            except Exception as error:  # what a name must never cause
                wrong = f"{type(error).__name__}: {error!s:.200}"
        if wrong is None:
            found.add(place, "shown as text, or refused")
        else:
            again = f"{PLACES[place][0].__name__}(Stage(), {name!r:.200}, folder), number {number}"
            found.add_defect(place, wrong, again)
    return found


ATTACKS = [Attack("names", attack_names, short=40, long=1000)]
assert frobmetric.app.cli  # imported before the forks
