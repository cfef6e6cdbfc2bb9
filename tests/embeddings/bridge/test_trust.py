"""Trust: recall by hand, ranks by hand, and the promise kept over many draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.embeddings import EncoderBridge
from frobmetric.embeddings.bridge.choice import trust_curve
from frobmetric.embeddings.bridge.trust import OldIndex, TrustScore
from frobmetric.model.distances import unit_rows


def test_recall_is_the_share_of_true_neighbours_found(rng):
    index = OldIndex(np.arange(10.0)[:, None], 2, False)
    questions = index.questions(np.array([[0.1], [5.1]]))
    np.testing.assert_array_equal(questions.true, [[0, 1], [5, 6]])
    np.testing.assert_array_equal(questions.recall(np.array([[0.1], [6.1]])), [1.0, 0.5])


def test_the_own_vector_is_no_neighbour():
    index = OldIndex(np.array([[0.0], [1.0], [3.0], [1.0]]), 2, False)
    questions = index.questions(np.array([[1.0], [2.5]]))
    np.testing.assert_array_equal(questions.true, [[0, 2], [2, 1]])
    np.testing.assert_array_equal(questions.recall(np.array([[1.0], [2.5]])), 1.0)


def test_fewer_neighbours_than_asked_for_count_as_they_are():
    index = OldIndex(np.array([[0.0], [1.0], [1.0]]), 2, False)
    questions = index.questions(np.array([[1.0]]))
    np.testing.assert_array_equal(questions.true, [[0, -1]])
    assert questions.recall(np.array([[7.0]])) == [1.0]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(0, 6))
def test_the_p_value_is_a_rank(scores, new):
    scores = np.array(scores, dtype=float)
    is_bad = scores % 2 == 0
    trust = TrustScore(None, None, np.empty(0), 0).calibrated(scores, is_bad)
    expected = (1 + np.sum(is_bad & (scores >= new))) / (len(scores) + 1)
    assert trust.p_value(np.array([float(new)])) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_the_promise_is_kept_on_average(alpha):
    """For any score: here one that knows a little, in discrete steps with ties."""
    rng = np.random.default_rng(3)
    n_broken, n_trusted, n_draws = 0, 0, 4000
    for _ in range(n_draws):
        is_bad = rng.random(20) < 0.4
        score = np.round(rng.standard_normal(20) - is_bad, 1)
        trust = TrustScore(None, None, np.empty(0), 0).calibrated(score[1:], is_bad[1:])
        is_trusted = trust.p_value(score[:1])[0] <= alpha
        n_trusted += is_trusted
        n_broken += is_trusted and is_bad[0]
    noise = 3 * np.sqrt(alpha * (1 - alpha) / n_draws)
    assert n_broken / n_draws <= alpha + noise
    assert n_broken / n_draws >= alpha - 0.05 - noise  # and it is not idle
    assert n_trusted > n_broken


def test_the_curve_ends_at_full_recall():
    shares, recalls = trust_curve(np.array([0.9, 0.1]), np.array([1.0, 0.2]))
    np.testing.assert_allclose(shares, [0, 0.5, 1])
    np.testing.assert_allclose(recalls, [0.6, 1.0, 1.0])


def test_unit_rows_of_extreme_scales():
    rows = unit_rows(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.6, 0.8], [0, 0]])


@pytest.mark.slow
def test_a_bridge_keeps_the_promise():
    """Over draws of pairs and queries, as `trust` states it; the index is that of the pairs."""
    rng, alpha, shares = np.random.default_rng(5), 0.2, []
    first, second = rng.standard_normal((5, 8)), rng.standard_normal((5, 9))
    options = {"n_maps": 1, "neighbor_weight": 0, "strength": 0.1, "calibration": 0.3}
    for seed in range(150):
        meaning = rng.standard_normal((120, 5))
        new, old = (
            meaning @ map_ + 0.8 * rng.standard_normal((120, map_.shape[1]))
            for map_ in (first, second)
        )
        bridge = EncoderBridge(**options, random_state=seed).fit(new[:80], old[:80])
        recall = bridge.index_.questions(unit_rows(old[80:])).recall(bridge.transform(new[80:]))
        is_bad = recall < bridge.good_recall
        shares.append(np.mean(is_bad & bridge.predict_trusted(new[80:], alpha=alpha)[1]))
    noise = 3 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= alpha + noise
    assert np.mean(shares) > alpha / 3  # and it is not idle
