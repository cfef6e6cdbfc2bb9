"""The figure of a metric shows what the model holds."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from changed_maps import forge
from frobmetric.metric import FrobMetric
from frobmetric.plotting import MetricDisplay
from frobmetric.plotting.style import MAX_LEGEND

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return FrobMetric().fit(X, y)


def test_shows_what_the_model_holds(plt, model):
    display = MetricDisplay.from_estimator(model, X, y)
    spectrum, gap, before, after = display.axes_
    eigenvalues = np.linalg.eigvalsh(model.get_mahalanobis_matrix())[::-1]
    np.testing.assert_allclose(spectrum.lines[0].get_ydata(), eigenvalues, rtol=1e-8)
    gaps = gap.lines[0].get_ydata()
    assert len(gaps) == model.n_iter_
    assert np.nanmin(gaps) <= model.tol
    assert gap.get_yscale() == "log"
    assert f"{model.certificate_.relative_gap:.1e}" in gap.get_title()
    for ax, points in ((before, X), (after, model.transform(X))):
        drawn = ax.collections[0].get_offsets()
        centred = points - points.mean(axis=0)
        top = np.linalg.svd(centred, compute_uv=False)[:2]
        np.testing.assert_allclose(np.linalg.norm(drawn, axis=0), top, rtol=1e-8)


def test_a_class_has_one_colour_in_both_panels(plt, model):
    display = MetricDisplay.from_estimator(model, X, y)
    colours = [ax.collections[0].get_facecolors() for ax in display.axes_[2:]]
    np.testing.assert_array_equal(*colours)
    assert len(np.unique(colours[0], axis=0)) == 3
    legend = display.axes_[3].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]


def test_no_legend_for_many_classes_or_none(plt, model):
    many = np.arange(len(X)) % (MAX_LEGEND + 1)
    for labels in (many, None):
        display = MetricDisplay.from_estimator(model, X, labels)
        assert display.axes_[3].get_legend() is None
        colours = display.axes_[2].collections[0].get_facecolors()
        assert len(np.unique(colours, axis=0)) == (1 if labels is None else MAX_LEGEND + 1)
        plt.close(display.figure_)


def test_given_axes(plt, model):
    figure, axes = plt.subplots(1, 4)
    display = MetricDisplay.from_estimator(model, X, y, axes=axes)
    assert display.figure_ is figure
    assert all(ax.get_title() for ax in axes)
    with pytest.raises(ValueError, match="2 axes were given; expected 4"):
        display.plot(axes=axes[:2])


def test_labels_do_not_overlap(plt, model):
    display = MetricDisplay.from_estimator(model, X, y)
    display.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in display.axes_]
    page = display.figure_.bbox
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_one_feature_and_an_exact_answer(plt, tmp_path):
    """A second component and the logarithm of a gap of zero are both missing."""
    narrow = FrobMetric(n_components=1).fit(X, triplets=np.array([[0, 1, 60]]))
    *steps, last = narrow.history_
    forge(narrow, "run.history", (*steps, last._replace(gap=0.0)))
    display = MetricDisplay.from_estimator(narrow, X)
    assert not display.after[0][:, 1].any()
    assert np.isnan(display.axes_[1].lines[0].get_ydata()[-1])
    display.figure_.savefig(tmp_path / "metric.png")
    assert (tmp_path / "metric.png").stat().st_size > 10_000


def test_a_missing_extra_says_what_to_install(model, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"this needs matplotlib; .*'frobmetric\[plot\]'"):
        MetricDisplay.from_estimator(model, X, y)
