"""The figure of a comparison shows its errors and intervals."""

import pytest
from sklearn.datasets import load_wine

from figure_checks import assert_inside_the_page
from frobmetric import FrobMetric, compare
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
    _, ax = plt.subplots()
    assert ComparisonDisplay.from_comparison(result, ax=ax).ax_ is ax
