"""The figure of qualities shows the curves of `neighborhood_quality`."""

import sys

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from figure_checks import assert_inside_the_page, texts
from frobmetric.manifold.quality import neighborhood_quality
from frobmetric.plotting import QualityDisplay

X, POSITION = make_swiss_roll(120, random_state=0)
EMBEDDINGS = {"flat": X[:, :2], "unrolled": np.column_stack([POSITION, X[:, 1]])}


@pytest.mark.parametrize(("rescaled", "curve"), [(False, "q_nx"), (True, "r_nx")])
def test_curves_are_those_of_the_qualities(rescaled, curve):
    display = QualityDisplay.from_embeddings(X, EMBEDDINGS, rescaled=rescaled)
    kept, behaviour = display.axes_
    expected = {name: neighborhood_quality(X, Y) for name, Y in EMBEDDINGS.items()}
    assert curve[0].upper() in kept.get_ylabel()
    for i, (name, quality) in enumerate(expected.items()):
        line = kept.lines[i]
        np.testing.assert_array_equal(line.get_ydata(), getattr(quality, curve))
        np.testing.assert_array_equal(line.get_xdata(), 1 + np.arange(len(line.get_ydata())))
        assert texts(kept.get_legend())[i] == f"{name} (area {quality.area:.3f})"
        np.testing.assert_array_equal(behaviour.lines[i + 1].get_ydata(), quality.b_nx)
        np.testing.assert_array_equal(behaviour.lines[i + 1].get_color(), line.get_color())
    assert_inside_the_page(display, *display.axes_)


def test_zero_is_in_the_middle_between_the_words():
    qualities = {"flat": neighborhood_quality(X, X[:, :2])}
    display = QualityDisplay.from_qualities(qualities, log=True)
    ax = display.axes_[1]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0, 0])
    assert sum(ax.get_ylim()) == 0
    heights = {text.get_text(): text.xy[1] for text in ax.texts}
    assert heights["intrusive"] > 0.5 > heights["extrusive"]
    assert all(panel.get_xscale() == "log" for panel in display.axes_)


def test_a_perfect_embedding_can_be_drawn():
    display = QualityDisplay.from_embeddings(X, {"itself": X}, log=True, rescaled=True)
    assert texts(display.axes_[0].get_legend()) == ["itself (area 1.000)"]
    display.figure_.canvas.draw()


def test_quality_options_and_errors(plt):
    sampled = QualityDisplay.from_embeddings(X, EMBEDDINGS, n_rows=9, random_state=0)
    expected = neighborhood_quality(X, EMBEDDINGS["flat"], n_rows=9, random_state=0)
    np.testing.assert_array_equal(sampled.qualities["flat"].q_nx, expected.q_nx)
    figure, axes = plt.subplots(1, 3)
    assert sampled.plot(axes=axes[:2]).figure_ is figure
    with pytest.raises(ValueError, match="3 axes were given; expected 2"):
        sampled.plot(axes=axes)
    with pytest.raises(ValueError, match="no embeddings were given"):
        QualityDisplay.from_embeddings(X, {})


def test_a_missing_extra_says_what_to_install(monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"this needs matplotlib; .*'frobmetric\[plot\]'"):
        QualityDisplay.from_embeddings(X, EMBEDDINGS)
