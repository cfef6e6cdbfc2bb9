"""The figure of a comparison: errors and intervals, seconds and proofs, legible names."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from figure_checks import assert_inside_the_page
from frobmetric import FrobMetric, compare
from frobmetric.evaluation.row import ComparisonRow
from frobmetric.evaluation.table import Comparison
from frobmetric.plotting import ComparisonDisplay


def test_shows_errors_and_intervals(plt):
    result = compare(FrobMetric(), *load_wine(return_X_y=True), cv=2, baselines=("raw", "scaled"))
    display = ComparisonDisplay.from_comparison(result)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["FrobMetric", "Euclid, scaled", "Euclid, raw"]
    *lines, level = display.ax_.lines
    for row, interval, dot in zip(result.rows[::-1], lines[::2], lines[1::2], strict=True):
        assert interval.get_xdata() == pytest.approx([100 * end for end in row.interval])
        assert dot.get_xdata() == pytest.approx([100 * row.error])
    assert level.get_xdata() == pytest.approx([100 * result.euclidean.error] * 2)
    assert display.ax_.get_title() == f"FrobMetric: {result.verdict}"
    assert_inside_the_page(display, display.ax_)


def test_draws_on_given_axes(plt):
    result = compare(FrobMetric(), *load_wine(return_X_y=True), cv=2, baselines=("raw",))
    for each in (result, made(A=(5, 0.1, True))):
        _, ax = plt.subplots()
        assert ComparisonDisplay.from_comparison(each, ax=ax).ax_ is ax


# Several models


def made(**learners):
    """A comparison with Euclid; of each learner number of errors, seconds, and whether proven."""
    rows = [ComparisonRow("raw", "Euclid, raw", np.arange(100) < 30, 0.0)]
    for name, (n_errors, seconds, is_proven) in learners.items():
        gap = 1e-4 if is_proven else None
        losses = np.arange(100) < n_errors
        rows.append(ComparisonRow(name, name, losses, seconds, gap=gap, proofs=(True,) * is_proven))
    rows.append(ComparisonRow("slow", "slow", reason="no answer in 60 s"))
    return Comparison(tuple(rows), n_train=200, budget=60.0)


def test_errors_intervals_and_proofs_against_seconds(plt):
    result = made(A_1=(5, 0.1, True), B=(20, 10.0, False))
    display = ComparisonDisplay.from_comparison(result)
    ax = display.ax_
    assert ax.get_xscale() == "log"
    *lines, level = ax.lines
    for key, interval, dot in zip(("A_1", "B"), lines[::2], lines[1::2], strict=True):
        row = result[key]
        assert interval.get_ydata() == pytest.approx([100 * end for end in row.interval])
        assert (*dot.get_xdata(), *dot.get_ydata()) == (row.seconds, 100 * row.error)
        assert (dot.get_markerfacecolor() == "white") == (not row.is_proven)
    assert level.get_ydata() == pytest.approx([30, 30])
    assert [name.get_text() for name in display.names_] == ["A_1", "B"]
    assert_inside_the_page(display, ax)


def test_names_do_not_cover_each_other(plt):
    near = {f"Learner_{i}": (5 + i % 2, 1.0 + 0.01 * i, i < 3) for i in range(6)}
    display = ComparisonDisplay.from_comparison(made(**near, **{"$x$": (0, 100.0, True)}))
    boxes = [name.get_window_extent() for name in display.names_]
    assert not any(box.count_overlaps(boxes[:i]) for i, box in enumerate(boxes))
    assert all(display.ax_.bbox.x0 <= box.x0 and box.x1 <= display.ax_.bbox.x1 for box in boxes)


def test_nothing_to_draw(plt):
    with pytest.raises(ValueError, match=r"no answer of a model, .* a larger budget"):
        ComparisonDisplay.from_comparison(made())
