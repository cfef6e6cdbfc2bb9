"""Paired residuals: errors, intervals of the bootstrap, verdicts."""

import numpy as np
import pytest

from frobmetric.evaluation import PairedResiduals
from frobmetric.evaluation.residuals import residual_interval, root_mean


def test_the_difference_is_that_of_the_roots():
    pair = PairedResiduals(np.array([4.0, 0.0]), np.array([1.0, 1.0]))
    assert pair.difference == pytest.approx(1 - np.sqrt(2))


@pytest.mark.parametrize(
    ("factor", "noise", "verdict"),
    [(0.5, 0.0, "helped"), (2.0, 0.0, "hurt"), (1.0, 0.0, "no difference"), (1.0, 1.0, "unclear")],
)
def test_verdicts(factor, noise, verdict):
    rng = np.random.default_rng(0)
    before = rng.normal(size=60) ** 2
    after = factor * before + noise * (rng.normal(size=60) ** 2 - before)
    pair = PairedResiduals(before, after)
    assert pair.verdict == verdict
    assert (pair.interval[0] > 0 or pair.interval[1] < 0) == (verdict in ("helped", "hurt"))
    assert pair.to_dict()["verdict"] == verdict


def test_the_interval_covers_the_true_error():
    """Of 50 samples of normal residuals about 95 % of the intervals have the true error."""
    rng = np.random.default_rng(1)
    intervals = [residual_interval(rng.normal(size=100) ** 2) for _ in range(50)]
    share = np.mean([low <= 1 <= high for low, high in intervals])
    assert share >= 0.86


def test_the_interval_is_that_of_the_normal_approximation():
    squares = np.random.default_rng(2).normal(size=2000) ** 2
    low, high = residual_interval(squares)
    deviation = squares.std() / np.sqrt(2000) / (2 * root_mean(squares))
    assert [low, high] == pytest.approx(
        [root_mean(squares) - 1.96 * deviation, root_mean(squares) + 1.96 * deviation], abs=2e-3
    )


def test_points():
    pair = PairedResiduals(np.full(2000, 0.25), np.full(2000, 0.36))
    assert pair.points() == "+10.00 points [+10.00, +10.00]"
    assert repr(pair) == "PairedResiduals()"
