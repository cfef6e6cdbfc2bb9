"""The figures of embeddings show the points and the eigenvalues that they are given."""

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from figure_checks import assert_inside_the_page, texts
from frobmetric.checks.text import shown
from frobmetric.plotting import EmbeddingDisplay, SpectrumDisplay
from frobmetric.plotting.embedding import spread_out
from frobmetric.plotting.style import COLOURS, MAX_LEGEND

X, POSITION = make_swiss_roll(120, random_state=0)
UNROLLED = np.column_stack([POSITION, X[:, 1]])


@pytest.fixture(scope="module")
def isomap():
    return Isomap(n_neighbors=8).fit(X)


def offsets_by_order(display):
    """The points of the scatter, sorted; their order in the figure is random."""
    offsets = display.ax_.collections[0].get_offsets()
    return offsets[np.lexsort(offsets.T)]


def sorted_rows(points):
    return points[np.lexsort(points.T)]


def to_rgba(colour):
    from matplotlib import colors

    return colors.to_rgba(colour)


class Fitted(BaseEstimator):
    """What an unfolding leaves behind."""

    def fit(self, X, eigenvalues):
        self.embedding_, self.eigenvalues_ = X, eigenvalues
        return self


# The embedding ----------------------------------------------------------------------------------


def test_points_are_those_of_the_estimator(isomap):
    display = EmbeddingDisplay.from_estimator(isomap, color=POSITION, color_name="position")
    np.testing.assert_array_equal(offsets_by_order(display), sorted_rows(isomap.embedding_))
    assert display.ax_.get_aspect() == 1
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("coordinate 1", "coordinate 2")
    assert display.figure_.axes[1].get_ylabel() == "position"  # the colour bar
    assert_inside_the_page(display, *display.figure_.axes)


def test_a_number_colours_its_own_point():
    display = EmbeddingDisplay.from_embedding(UNROLLED, color=POSITION)
    points = display.ax_.collections[0]
    np.testing.assert_array_equal(points.get_offsets()[:, 0], points.get_array())


@pytest.mark.parametrize("name", ["", "_hidden", "$x$", "\x1b[31m"])
def test_every_class_is_in_the_legend_whatever_its_name(name):
    part = np.array([name, "outer"])[(POSITION > 9).astype(int)]
    display = EmbeddingDisplay.from_embedding(UNROLLED, color=part, color_name=name)
    display.figure_.canvas.draw()
    found = {text.strip().replace(r"\$", "$") for text in texts(display.ax_.get_legend())}
    assert found == {shown(name), "outer"}


def test_classes_have_a_legend():
    part = np.array(["inner", "outer"])[(POSITION > 9).astype(int)]
    display = EmbeddingDisplay.from_embedding(UNROLLED, color=part, color_name="part")
    legend = display.ax_.get_legend()
    assert texts(legend) == ["inner", "outer"]
    assert legend.get_title().get_text() == "part"
    points = display.ax_.collections[0]
    is_outer = points.get_offsets()[:, 0] > 9
    expected = np.where(is_outer[:, None], to_rgba(COLOURS[1]), to_rgba(COLOURS[0]))
    np.testing.assert_allclose(points.get_facecolors(), expected)
    assert len(display.figure_.axes) == 1
    assert_inside_the_page(display, display.ax_)


@pytest.mark.parametrize(
    ("color", "has_legend", "has_bar"),
    [
        (None, False, False),
        (np.arange(120) % MAX_LEGEND, True, False),
        (np.arange(120) % MAX_LEGEND * 1.0, True, False),
        (np.arange(120) % 2 == 0, True, False),
        (np.arange(120), False, True),
        (np.arange(120) % 3 / 2, False, True),
        (np.arange(120).astype(str), False, False),
    ],
)
def test_what_counts_as_classes(color, has_legend, has_bar):
    display = EmbeddingDisplay.from_embedding(X, color=color)
    assert (display.ax_.get_legend() is not None) == has_legend
    assert (len(display.figure_.axes) == 2) == has_bar


def test_one_coordinate_and_more_than_two():
    one = EmbeddingDisplay.from_embedding(X[:, :1])
    np.testing.assert_array_equal(one.ax_.collections[0].get_offsets()[:, 1], 0)
    assert (one.ax_.get_xlabel(), one.ax_.get_ylabel()) == ("coordinate 1", "")
    three = EmbeddingDisplay.from_embedding(X)
    np.testing.assert_array_equal(offsets_by_order(three), sorted_rows(X[:, :2]))
    assert three.ax_.get_xlabel() == "coordinate 1 of 3"
    assert three.ax_.get_ylabel() == "coordinate 2 of 3"


def test_a_path_joins_the_points_in_order():
    Y = UNROLLED
    display = EmbeddingDisplay.from_embedding(Y, path=True, title="a path")
    np.testing.assert_array_equal(display.ax_.lines[0].get_xydata(), Y)
    assert display.ax_.get_title() == "a path"
    assert not EmbeddingDisplay.from_embedding(Y).ax_.lines


@pytest.mark.parametrize("shape", [(6, 9), (9, 6, 3)])
def test_thumbnails_sit_on_their_points_and_do_not_overlap(rng, shape):
    Y, images = UNROLLED, rng.random((120, *shape))
    display = EmbeddingDisplay.from_embedding(Y, images=images, n_thumbnails=12)
    shown = display.ax_.images
    assert 5 < len(shown) <= 12
    boxes = np.array([image.get_extent() for image in shown])  # left, right, bottom, top
    centres = np.column_stack([boxes[:, :2].mean(axis=1), boxes[:, 2:].mean(axis=1)])
    for image, centre in zip(shown, centres, strict=True):
        i = np.linalg.norm(Y - centre, axis=1).argmin()
        np.testing.assert_allclose(Y[i], centre)
        np.testing.assert_array_equal(image.get_array(), images[i])
    width, height = boxes[0, 1] - boxes[0, 0], boxes[0, 3] - boxes[0, 2]
    assert width / height == pytest.approx(shape[1] / shape[0])
    apart = np.abs(centres[:, None] - centres) / [width, height]
    assert (apart.max(axis=2) + np.eye(len(shown)) >= 1 - 1e-9).all()
    display.figure_.canvas.draw()
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert left <= boxes[:, 0].min()
    assert right >= boxes[:, 1].max()
    assert bottom <= boxes[:, 2].min()
    assert top >= boxes[:, 3].max()
    assert display.ax_.get_aspect() == 1


def test_thumbnails_are_as_many_as_asked_for_and_fit():
    line = np.column_stack([np.arange(11.0), np.zeros(11)])
    size = np.array([2.5, 1.0])
    # the farthest from the mean first; then the other end, the middle; then none is 2.5 away
    assert spread_out(line, size, 10) == [0, 10, 5]
    assert spread_out(line, size, 2) == [0, 10]
    assert spread_out(line, size, 0) == []
    assert spread_out(np.ones((5, 2)), size, 10) == [0]


def test_bad_embeddings_are_named(isomap):
    for options, message in (
        ({"color": [1, 2]}, r"color has shape \(2,\) and the embedding 120 points; expected one"),
        ({"color": X}, r"color has shape \(120, 3\); expected one value"),
        ({"images": X}, r"images has shape \(120, 3\); expected .*reshape flat images"),
        ({"images": X[:9]}, r"images has shape \(9, 3\) and the embedding 120 points"),
    ):
        with pytest.raises(ValueError, match=message):
            EmbeddingDisplay.from_estimator(isomap, **options)
    for display in (EmbeddingDisplay, SpectrumDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(Isomap())


# The spectrum -----------------------------------------------------------------------------------


def test_shares_and_their_sum():
    display = SpectrumDisplay.from_eigenvalues([1, 6, -1e-9, 3], n_components=2)
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, [60, 30, 10, 0], atol=1e-6)
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), [60, 90, 100, 100])
    assert display.ax_.get_title() == "90.0% of the variance in 2 dimensions"
    kept = [bar.get_facecolor() == to_rgba(COLOURS[0]) for bar in display.ax_.patches]
    assert kept == [True, True, False, False]
    ticks = display.ax_.get_xticks()
    assert {1, 2, 3, 4} <= set(ticks)
    assert (ticks == np.round(ticks)).all()


def test_spectrum_of_an_estimator():
    fitted = Fitted().fit(X[:, :1], np.array([6.0, 2.0]))
    display = SpectrumDisplay.from_estimator(fitted, total=10)
    assert display.ax_.get_title() == "60.0% of the variance in 1 dimension"
    np.testing.assert_allclose(display.shares, [0.6, 0.2])
    del fitted.embedding_
    title = SpectrumDisplay.from_estimator(fitted).ax_.get_title()
    assert title == "Spectrum: 2 positive eigenvalues"


def test_a_logarithm_shows_the_small_ones_and_no_sum():
    values = 10.0 ** -np.arange(12)
    ax = SpectrumDisplay.from_eigenvalues(np.append(values, 0), log=True, n_shown=13).ax_
    assert ax.get_yscale() == "log"
    assert not ax.lines
    assert ax.get_ylim()[0] < 100 * values[-1] / values.sum()
    assert len(SpectrumDisplay.from_eigenvalues(values).ax_.patches) == 10


def test_spectra_of_nothing(plt):
    for log in (True, False):
        display = SpectrumDisplay.from_eigenvalues([0.0, 0.0], log=log)
        display.figure_.canvas.draw()
    for bad in ([], [[1.0]], [np.nan]):
        with pytest.raises(ValueError, match="expected a vector of finite numbers"):
            SpectrumDisplay.from_eigenvalues(bad)


# All of them ------------------------------------------------------------------------------------


def draw_all(isomap, ax=None):
    yield EmbeddingDisplay.from_estimator(isomap, ax=ax)
    yield SpectrumDisplay.from_eigenvalues([2.0, 1.0], ax=ax)


def test_given_axes(plt, isomap):
    figure, ax = plt.subplots()
    for display in draw_all(isomap, ax):
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.plot() is display
        assert display.figure_ is not figure


def test_a_missing_extra_says_what_to_install(isomap, monkeypatch):
    displays = draw_all(isomap)
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"this needs matplotlib; .*'frobmetric\[plot\]'"):
        next(displays)
