"""TrustDisplay draws the curve of a bridge and curves of several sets of queries."""

import numpy as np
import pytest

from frobmetric.embeddings import EncoderBridge
from frobmetric.plotting import TrustDisplay

pytest.importorskip("matplotlib", reason="figures need matplotlib")


@pytest.fixture(scope="module")
def bridge():
    rng = np.random.default_rng(0)
    meaning = rng.standard_normal((100, 4))
    options = {"n_maps": 1, "neighbor_weight": 0, "random_state": 0}
    return EncoderBridge(**options).fit(meaning, meaning @ rng.standard_normal((4, 5)))


def test_the_curve_of_a_bridge(bridge):
    display = TrustDisplay.from_estimator(bridge)
    curve, chance = display.ax_.lines
    np.testing.assert_allclose(curve.get_ydata(), 100 * np.array(bridge.report_.recalls))
    np.testing.assert_allclose(chance.get_xydata()[-1], [100, 100])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["held-out pairs"]


def test_curves_of_several_sets(bridge):
    scores = {name: ([0.9, 0.1, 0.5], [1.0, 0.0, 0.4]) for name in ("one", "two")}
    axes = TrustDisplay.from_estimator(bridge).figure_.subplots()
    display = TrustDisplay.from_scores(scores, ax=axes)
    assert display.ax_ is axes
    assert len(axes.lines) == 4
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [140 / 3, 80, 100, 100])


def test_what_cannot_be_drawn_is_refused(bridge):
    with pytest.raises(ValueError, match="no queries were given"):
        TrustDisplay.from_scores({})
    options = {"n_maps": 1, "neighbor_weight": 0, "calibration": 0.0}
    without = EncoderBridge(**options).fit(np.eye(9), np.eye(9))
    with pytest.raises(ValueError, match="kept no pairs"):
        TrustDisplay.from_estimator(without)
