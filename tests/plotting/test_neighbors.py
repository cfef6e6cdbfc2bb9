"""The figure of neighbours shows the neighbours, and marks the wrong ones."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from figure_checks import assert_inside_the_page
from frobmetric.metric import FrobMetric
from frobmetric.plotting import NeighborsDisplay
from frobmetric.plotting.neighbors import EUCLID, LEARNED, WRONG, choose_queries

DIGITS, LABELS = load_digits(return_X_y=True)
X, y, X_query, y_query = DIGITS[:200], LABELS[:200], DIGITS[200:300], LABELS[200:300]
DATA = (X, y, X_query, y_query)


@pytest.fixture(scope="module")
def metric():
    return FrobMetric(C=100).fit(X, y)


def wrong_frames(display):
    """Return the corners of the frames of wrong neighbours."""
    frames = display.ax_.patches
    return {p.get_xy() for p in frames if p.get_edgecolor() == to_rgba(WRONG)}


def crosses(display):
    """Return the places of the crosses, without the one of the legend."""
    lines = [line for line in display.ax_.lines if line.get_marker() == "x"]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines[1:]}


def test_neighbours_are_those_of_the_two_distances(metric):
    display = NeighborsDisplay.from_estimator(metric, *DATA, n_neighbors=4)
    maps = {EUCLID: (X, X_query), LEARNED: (metric.transform(X), metric.transform(X_query))}
    assert list(display.neighbors) == list(maps)
    for name, (samples, queries) in maps.items():
        expected = NearestNeighbors(n_neighbors=4).fit(samples).kneighbors(queries)[0]
        found = display.neighbors[name]  # distances of pixels have ties: their order is free
        distances = np.linalg.norm(samples[found] - queries[:, None], axis=2)
        np.testing.assert_allclose(distances, expected, rtol=1e-8)
        share = np.mean(y[found] == y_query[:, None])
        assert display.shares_right()[name] == pytest.approx(share)
        texts = [text.get_text() for text in display.ax_.texts]
        assert f"of all neighbours of 100 queries, {share:.0%} are right" in texts


def test_the_euclidean_distance_of_scaled_features(metric):
    display = NeighborsDisplay.from_estimator(metric, *DATA, scaled=True)
    scaler = StandardScaler().fit(X)
    search = NearestNeighbors(n_neighbors=5).fit(scaler.transform(X))
    expected = search.kneighbors(scaler.transform(X_query))[1]
    name = f"{EUCLID}, scaled features"
    np.testing.assert_array_equal(display.neighbors[name], expected)


@pytest.mark.parametrize("image_shape", [(8, 8), None])
def test_wrong_neighbours_have_a_frame_and_a_cross(metric, image_shape):
    options = {"queries": np.arange(12), "image_shape": image_shape}
    display = NeighborsDisplay.from_estimator(metric, *DATA, **options)
    drawn = [found[:12] for found in display.neighbors.values()]
    n_wrong = sum(np.sum(y[found] != y_query[:12, None]) for found in drawn)
    assert 0 < n_wrong < 120
    assert len(wrong_frames(display)) == len(crosses(display)) == n_wrong
    assert len(display.ax_.images) == (12 * 11 if image_shape else 0)
    assert len(display.ax_.patches) == 12 * 11 + n_wrong


def test_pictures_are_those_of_the_samples(metric):
    display = NeighborsDisplay.from_estimator(metric, *DATA, queries=[7], image_shape=(8, 8))
    rows = [found[7] for found in display.neighbors.values()]
    expected = [X_query[7], *X[rows[0]], *X[rows[1]]]
    for image, row in zip(display.ax_.images, expected, strict=True):
        np.testing.assert_array_equal(np.ravel(image.get_array()), row)


def test_queries_are_chosen_by_the_rule():
    is_wrong = np.isin(np.arange(50), [4, 9, 20, 33, 40])
    groups = choose_queries(is_wrong, 6, np.random.RandomState(0))
    (first, wrong), (second, drawn) = groups.items()
    assert first == "the first 3 of 5 queries whose nearest by Euclid is wrong"
    assert second == "3 of all 50 queries, drawn at random"
    np.testing.assert_array_equal(wrong, [4, 9, 20])
    assert len(np.unique([*wrong, *drawn])) == 6


def test_queries_without_a_mistake_are_drawn_at_random():
    groups = choose_queries(np.zeros(3, dtype=bool), 6, np.random.RandomState(0))
    assert list(groups) == ["3 of all 3 queries, drawn at random"]
    np.testing.assert_array_equal(*groups.values(), [0, 1, 2])


def test_the_default_draws_by_the_rule(metric):
    display = NeighborsDisplay.from_estimator(metric, *DATA, n_queries=4)
    is_wrong = y[display.neighbors[EUCLID][:, 0]] != y_query
    drawn = next(iter(display.groups.values()))
    np.testing.assert_array_equal(drawn, np.flatnonzero(is_wrong)[:2])
    again = NeighborsDisplay.from_estimator(metric, *DATA, n_queries=4)
    assert all(np.array_equal(again.groups[name], display.groups[name]) for name in again.groups)


def test_text_labels_given_axes_and_a_title(plt, metric):
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "9"])
    figure, ax = plt.subplots()
    display = NeighborsDisplay.from_estimator(
        metric, X, names[y], X_query, names[y_query], ax=ax, title="Digits by name"
    )
    assert display.figure_ is figure
    assert ax.get_title() == "Digits by name"
    written = {text.get_text() for text in ax.texts}
    assert names[y_query[next(iter(display.groups.values()))[0]]] in written


def test_nothing_is_cut_off(metric, tmp_path):
    options = {"image_shape": (8, 8), "title": "Digits"}
    display = NeighborsDisplay.from_estimator(metric, *DATA, **options)
    assert_inside_the_page(display, display.ax_)
    display.figure_.savefig(tmp_path / "neighbors.png")
    assert (tmp_path / "neighbors.png").stat().st_size > 10_000


def test_mistakes_are_named(metric):
    with pytest.raises(ValueError, match=r"image_shape=\(8, 9\) has 72 numbers, and a sample has"):
        NeighborsDisplay.from_estimator(metric, *DATA, image_shape=(8, 9))
    with pytest.raises(ValueError, match=r"queries\[0\] = 100 is out of range; there are 100 rows"):
        NeighborsDisplay.from_estimator(metric, *DATA, queries=[100])
    with pytest.raises(ValueError, match="n_neighbors=201, but there are 200 samples"):
        NeighborsDisplay.from_estimator(metric, *DATA, n_neighbors=201)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NeighborsDisplay.from_estimator(metric, X, y[:-1], X_query, y_query)
