"""The figure of local spread shows the directions that it is given."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from figure_checks import assert_inside_the_page, texts
from frobmetric_paper.mvu.figures import SpreadDisplay
from frobmetric_paper.mvu.spread import local_spread

X, _ = make_swiss_roll(120, random_state=0)


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def isomap():
    return Isomap(n_neighbors=8).fit(X)


def test_lines_are_the_directions_as_long_as_the_spread(isomap):
    display = SpreadDisplay.from_estimator(isomap, n_neighbors=5, scale=0.25, title="Isomap")
    expected = local_spread(isomap.embedding_, 5)
    for j, lines in enumerate(display.ax_.collections):
        segments = np.array(lines.get_segments())
        np.testing.assert_allclose(segments.mean(axis=1), isomap.embedding_)
        along = segments[:, 1] - segments[:, 0]
        np.testing.assert_allclose(np.linalg.norm(along, axis=1), 0.5 * expected.scales[:, j])
    first, second = (np.array(c.get_segments()) for c in display.ax_.collections)
    products = np.einsum("ia,ia->i", first[:, 1] - first[:, 0], second[:, 1] - second[:, 0])
    np.testing.assert_allclose(products, 0, atol=1e-9)
    title = display.ax_.get_title()
    assert title.startswith("Isomap\nALSTD ")
    for name in ("alstd", "aled", "alcd", "gscd"):
        assert f"{name.upper()} {getattr(expected, name):#.3g}" in title
    assert texts(display.ax_.get_legend()) == ["first", "second"]
    assert_inside_the_page(display, display.ax_)


def test_spread_in_one_and_three_dimensions():
    one = SpreadDisplay.from_embedding(X[:, :1])
    assert len(one.ax_.collections) == 1
    assert not np.array(one.ax_.collections[0].get_segments())[:, :, 1].any()
    three = SpreadDisplay.from_embedding(X)
    assert three.ax_.get_xlabel() == "coordinate 1 of 3"
    segments = np.array(three.ax_.collections[0].get_segments())
    np.testing.assert_allclose(segments.mean(axis=1), X[:, :2])


def test_given_axes(plt, isomap):
    figure, ax = plt.subplots()
    display = SpreadDisplay.from_estimator(isomap, ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    assert display.plot() is display
    assert display.figure_ is not figure


def test_an_estimator_must_be_fitted():
    with pytest.raises(NotFittedError):
        SpreadDisplay.from_estimator(Isomap())
