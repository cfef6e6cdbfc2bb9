"""Choice of a bridge: the simpler setting where nothing is gained."""

import numpy as np

from frobmetric.embeddings.bridge.choice import BridgeSetting, Trial, choose_ridge
from frobmetric.embeddings.bridge.paired import PairedVectors
from frobmetric.embeddings.bridge.trust import OldIndex
from frobmetric.evaluation.paired import paired_recalls


def test_a_clear_gain_is_chosen(rng):
    before = rng.random(50)
    assert Trial(BridgeSetting(8, 0.1), paired_recalls(before, before + rng.random(50))).is_chosen
    assert not Trial(
        BridgeSetting(8, 0.1), paired_recalls(before, before + rng.normal(0, 1, 50) / 100)
    ).is_chosen


def test_settings_in_words():
    assert str(BridgeSetting(1, 0.01)) == "one map, strength 0.01"
    text = "8 local maps, strength 0.1, neighbours protected with weight 2"
    assert str(BridgeSetting(8, 0.1, 2.0)) == text


def test_the_strength_is_chosen_by_left_out_pairs(rng):
    """Noise without a relation asks for a strong ridge, an exact relation for a weak one."""
    X = rng.standard_normal((80, 40))
    exact, noise = X[:, :10], rng.standard_normal((80, 10))
    strengths = []
    for Y in (exact, exact + 3 * noise):
        pairs = PairedVectors(X, Y, np.zeros((40, 10)), 0)
        setting, trials = choose_ridge(pairs, OldIndex(Y, 5, False), 1, None)
        assert trials == []
        strengths.append(setting.strength)
    assert strengths[0] < strengths[1]
    given, _ = choose_ridge(pairs, OldIndex(exact, 5, False), 1, 7.0)
    assert given == BridgeSetting(1, 7.0)
