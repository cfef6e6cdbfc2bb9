"""The figure of an explanation shows its largest parts and the rest."""

import numpy as np
import pytest

from figure_checks import assert_inside_the_page
from frobmetric.model import explain_distance
from frobmetric.plotting import ExplanationDisplay

NAMES = ["weight of the parcel", "height", "width", "depth", "colour"]


@pytest.fixture
def explanation():
    L = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0, 0.0]])
    return explain_distance(L, [3.0, -1.0, 1.0, 0.4, 0.2], np.zeros(5), feature_names=NAMES)


def labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()][::-1]


def test_bars_are_the_largest_parts(explanation):
    display = ExplanationDisplay.from_explanation(explanation, n=3)
    expected = explanation.largest(3)
    assert labels(display) == [name for name, _ in expected]
    assert labels(display)[-1] == "rest (2 features)"
    widths = [bar.get_width() for bar in display.ax_.patches][::-1]
    assert widths == pytest.approx([value for _, value in expected])
    assert min(widths) < 0
    assert sum(widths) == pytest.approx(explanation.total)
    assert f"{explanation.total:.4g} in all" in display.ax_.get_xlabel()
    assert_inside_the_page(display, display.ax_)


def test_signs_and_the_rest_have_colours_of_their_own(explanation):
    bars = ExplanationDisplay.from_explanation(explanation, n=3).ax_.patches
    kinds = [(bar.get_width() < 0, bar.get_facecolor()) for bar in bars[1:]]
    assert len({colour for _, colour in kinds}) == len(set(kinds)) == 2
    assert bars[0].get_facecolor() not in {colour for _, colour in kinds}


def test_all_parts_on_given_axes(explanation, plt):
    _, ax = plt.subplots()
    display = ExplanationDisplay.from_explanation(explanation, n=None, ax=ax)
    assert display.ax_ is ax
    assert sorted(labels(display)) == sorted(NAMES)
