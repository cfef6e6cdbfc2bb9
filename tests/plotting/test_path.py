"""The figure of a path shows what its points hold."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from frobmetric import FrobMetric, frob_path
from frobmetric.plotting import PathDisplay

X, y = load_wine(return_X_y=True)
train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
PARTS = X[train], y[train], X[test], y[test]
CS, TOL = (1e-1, 1e2, 1e4), 1e-3


@pytest.fixture(scope="module")
def path():
    return frob_path(*PARTS[:2], Cs=CS, tol=TOL)


def test_shows_what_the_points_hold(plt, path):
    display = PathDisplay.from_path(path, *PARTS, tol=TOL)
    error, rank, active, gap = display.axes_
    for ax in display.axes_:
        assert ax.get_xscale() == "log"
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), CS)
    np.testing.assert_array_equal(rank.lines[0].get_ydata(), [p.rank for p in path.points])
    shares = [100 * p.n_active / path.n_triplets for p in path.points]
    np.testing.assert_allclose(active.lines[0].get_ydata(), shares)
    gaps = np.array([p.certificate.relative_gap for p in path.points])
    np.testing.assert_array_equal(gap.lines[0].get_ydata(), np.where(gaps > 0, gaps, np.nan))
    assert gap.get_yscale() == "log"
    assert error.lines[0].get_ydata().max() <= error.get_ylim()[1]


def test_errors_are_those_of_the_learned_and_the_euclidean_distance(plt, path):
    """By another route: a fit at one C, and scikit-learn's vote with k = 1, which has no ties."""
    display = PathDisplay.from_path(path, *PARTS, n_neighbors=1)

    def error(A, B):
        return 1 - KNeighborsClassifier(1).fit(A, PARTS[1]).score(B, PARTS[3])

    assert display.euclidean_error == pytest.approx(error(PARTS[0], PARTS[2]))
    L = path.points[1].components.T
    assert display.errors[1] == pytest.approx(error(PARTS[0] @ L, PARTS[2] @ L))
    metric = FrobMetric(C=CS[1], tol=1e-8).fit(*PARTS[:2])
    alone = error(metric.transform(PARTS[0]), metric.transform(PARTS[2]))
    assert display.errors[1] == pytest.approx(alone, abs=2.5 / test.sum())
    assert display.errors.min() < display.euclidean_error
    level = next(line for line in display.axes_[0].lines if line.get_linestyle() == "--")
    assert level.get_ydata()[0] == pytest.approx(100 * display.euclidean_error)
    assert display.axes_[0].get_ylabel().startswith("1-NN")


def test_the_ring_is_at_the_smallest_of_equal_errors(plt, path):
    display = PathDisplay.from_path(path, *PARTS)
    display.errors = np.array([0.3, 0.1, 0.1])
    display.plot()
    assert display.axes_[0].lines[1].get_xdata() == [CS[1]]
    assert "10.0% at C = 100" in display.axes_[0].get_title()


@pytest.mark.parametrize("tol", [None, 1e-3])
def test_a_tolerance_is_a_line_if_given(plt, path, tol):
    display = PathDisplay.from_path(path, *PARTS, tol=tol)
    ax = display.axes_[3]
    dashed = [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == ([] if tol is None else [tol])
    if tol is not None:
        assert ax.get_ylim()[0] < tol < ax.get_ylim()[1]


@pytest.mark.slow
def test_a_gap_of_zero_is_marked(plt, path):
    display = PathDisplay.from_path(path, *PARTS)
    for gaps, n_marked in (([0.0, 1e-4, 1e-3], 1), ([0.0, 0.0, 0.0], 3), ([1e-5, 1e-4, 1e-3], 0)):
        display.relative_gaps = np.array(gaps)
        ax = display.plot().axes_[3]
        marks = [line for line in ax.lines if line.get_marker() == "v"]
        assert sum(len(line.get_xdata()) for line in marks) == n_marked
        display.figure_.canvas.draw()
        plt.close(display.figure_)


def test_given_axes(plt, path):
    figure, axes = plt.subplots(1, 4)
    display = PathDisplay.from_path(path, *PARTS, axes=axes)
    assert display.figure_ is figure
    assert all(ax.get_title() and ax.get_xlabel() == "C" for ax in axes)
    with pytest.raises(ValueError, match="3 axes were given; expected 4"):
        display.plot(axes=axes[:3])


def test_labels_do_not_overlap(plt, path):
    display = PathDisplay.from_path(path, *PARTS, tol=TOL)
    display.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in display.axes_]
    page = display.figure_.bbox
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_one_point_is_enough_and_none_is_not(plt, path, tmp_path):
    display = PathDisplay.from_path(replace(path, points=path.points[:1]), *PARTS)
    display.figure_.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="the path has no points"):
        PathDisplay.from_path(replace(path, points=[]), *PARTS)


def test_a_missing_extra_says_what_to_install(path, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"this needs matplotlib; .*'frobmetric\[plot\]'"):
        PathDisplay.from_path(path, *PARTS)
