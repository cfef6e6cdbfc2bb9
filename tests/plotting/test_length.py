"""The figure of quality against length shows what the table holds."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from figure_checks import assert_inside_the_page, texts
from frobmetric import EmbeddingAdapter
from frobmetric.embeddings import quality_by_length
from frobmetric.plotting import LengthDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:200], y[:200]


@pytest.fixture(scope="module")
def adapter():
    return EmbeddingAdapter(strength=100).fit(X[:100], y[:100])


def test_lines_are_those_of_the_table(adapter):
    display = LengthDisplay.from_adapter(adapter, X[100:], y[100:], [16, 4, 64])
    table = quality_by_length(adapter, X[100:], y[100:], [4, 16, 64])
    for line, way in zip(display.ax_.lines, table.scores, strict=False):
        np.testing.assert_array_equal(line.get_xdata(), [4, 16, 64])
        np.testing.assert_array_equal(line.get_ydata(), table.scores[way])
    labels = ["adapted", "PCA, unchanged", "first features, unchanged"]
    assert texts(display.ax_.get_legend()) == labels
    assert display.ax_.get_ylabel() == "precision@3"
    assert_inside_the_page(display, display.ax_)


def test_given_axes_are_used(adapter, plt):
    figure, ax = plt.subplots()
    table = quality_by_length(adapter, X[100:], y[100:], [8])
    assert LengthDisplay.from_table(table, ax=ax).figure_ is figure
