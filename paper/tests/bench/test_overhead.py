"""Time of proofs and checks in a profile."""

import cProfile

import numpy as np
import pytest

from frobmetric import FrobMetric
from frobmetric_paper.bench import overhead


def test_parts_of_a_fit_are_found_in_its_profile():
    y = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * y[:, None]
    profile = cProfile.Profile()
    profile.runcall(FrobMetric(n_passes=1).fit, X, y)
    seconds, parts = overhead.shares(profile)
    assert all(0 < part < seconds for part in parts.values())
    rows = [{"part": name, "seconds": s, "share": s / seconds} for name, s in parts.items()]
    found = {"rows": rows, "n_samples": 60, "n_features": 4, "seconds": seconds}
    share = sum(list(parts.values())[1:]) / seconds
    assert overhead.page({"usps": found})["sum"] == f"{share:.1%}"
    assert overhead.page({}) == {}


@pytest.mark.parametrize(("caller", "is_bounded"), [("primal_bound", True), ("solve", False)])
def test_objectives_are_those_of_bounds(caller, is_bounded):
    assert overhead.is_objective(("x.py", 1, "forward"), ("y.py", 2, caller)) == is_bounded
