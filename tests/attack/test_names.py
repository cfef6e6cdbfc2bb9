"""Hostile names of classes, features and files: mathematics, escapes, marks and ends of lines."""

import subprocess
import sys
import unicodedata
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, NearestClass, compare
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.app.tables.writing import write_table
from frobmetric.checks.text import drawn, shown, shown_lines
from frobmetric.io.text import csv_records, write_csv
from frobmetric.runtime.tables import markdown_table, text_table

plt = pytest.importorskip("matplotlib.pyplot")
from frobmetric.plotting import (  # noqa: E402
    ComparisonDisplay,
    EmbeddingDisplay,
    ExplanationDisplay,
    MetricDisplay,
    NeighborsDisplay,
)

X, Y = load_iris(return_X_y=True)
NAMES = [
    r"$\frac{$",
    "$a$",
    "_hidden",
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
    "a\rb\nc",
    r"\$x$",
    "50 $",
]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def is_visible(text):
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text)


def labels(name):
    return np.array([name, "b", "c"])[Y]


@pytest.mark.parametrize("name", NAMES)
def test_shown_names_have_no_invisible_character(name):
    assert is_visible(shown(name))
    assert shown(name) == name or not is_visible(name)


def test_shown_lines_keep_their_ends():
    assert shown_lines("a\x1b\nb") == "a\\x1b\nb"


@pytest.mark.parametrize("name", NAMES)
def test_names_of_classes_in_figures(name):
    y = labels(name)
    metric = FrobMetric(n_passes=1).fit(X, y)
    MetricDisplay.from_estimator(metric, X, y).figure_.canvas.draw()
    display = EmbeddingDisplay.from_embedding(X[:, :2], color=y, color_name=name)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend()
    texts = [text.get_text().strip().replace(r"\$", "$") for text in legend.get_texts()]
    assert sorted(texts) == sorted(shown(value) for value in (name, "b", "c"))
    NeighborsDisplay.from_estimator(metric, X, y, X[[0, 60]], y[[0, 60]]).figure_.canvas.draw()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_features_in_figures_and_tables(name):
    metric = FrobMetric(n_passes=1).fit(X, Y)
    explanation = metric.explain(X[0], X[70], feature_names=[name, "b", "c", "d"])
    display = ExplanationDisplay.from_explanation(explanation)
    display.figure_.canvas.draw()
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert drawn(name) in ticks
    assert len(str(explanation).splitlines()) == 6
    assert all(map(is_visible, str(explanation).split("\n")))


def test_drawn_names_are_no_mathematics():
    for name in NAMES:
        text = plt.figure().text(0, 0, drawn(name))
        assert text._preprocess_math(text.get_text())[1] is False
        assert not drawn(name).startswith("_")


def test_comparison_of_hostile_classes():
    result = compare(FrobMetric(n_passes=1), X, labels("$\\frac{$\x1b[2J"), cv=2)
    ComparisonDisplay.from_comparison(result).figure_.canvas.draw()
    assert "\x1b" not in str(result)


def test_warnings_and_errors_escape_names():
    y = np.array(["\x1b[31mred"] + ["b", "c"] * 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FrobMetric(n_passes=1).fit(X[:61], y)
    texts = [str(warning.message) for warning in caught]
    assert any(r"\x1b[31mred (1)" in text for text in texts)
    assert "\x1b" not in "".join(texts)
    for fit in (FrobMetric().fit, NearestClass().fit):
        with pytest.raises(ValueError, match=r"one class \(a\\u202eb\)"):
            fit(X, np.full(150, "a\u202eb"))


@pytest.mark.parametrize("table", [text_table, markdown_table])
def test_names_do_not_split_rows_of_tables(table):
    lines = table(["a\rb", "c"], [["d\ne", "\x1b[1m"]]).splitlines()
    assert len(lines) == (3 if table is markdown_table else 2)
    assert all(map(is_visible, lines))


def test_carriage_returns_are_read_back_from_csv(tmp_path):
    rows = [["a\rb", "c", "d\ne"], ["1", "2", "3"]]
    with open(tmp_path / "a.csv", "wb") as file:
        write_csv(file, rows)
    assert [row for _, row in csv_records(tmp_path / "a.csv")] == rows


def test_commands_escape_names_of_files_and_columns(tmp_path):
    pytest.importorskip("typer")
    bad = tmp_path / "a\x1b[31m\u202eb.csv"
    bad.write_text("x,\x1b[2Jy\n1,a\ntext,b\n")
    command = [sys.executable, "-m", "frobmetric", "fit", str(bad), "--target", "\x1b[2Jy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "\x1b[31m" not in done.stderr
    assert "\u202e" not in done.stderr
    assert r"\x1b[31m\u202e" in done.stderr.replace("\n", "")


def test_labels_with_a_nul_character_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    write_table(path, Table(np.eye(2), np.array(["a\0b", "c"]), ["x", "z"]))
    with pytest.raises(ValueError, match="the label has a NUL character"):
        read_table(path, target="label")
