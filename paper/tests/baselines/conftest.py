"""Fixtures for the tests of baselines."""

from pathlib import Path

import numpy as np
import pytest

from frobmetric.learning.coordinates import unit_mean_square
from frobmetric_paper.harness import worker


@pytest.fixture
def points(rng):
    """Samples of three classes in four dimensions, at unit scale."""
    y = rng.integers(3, size=45)
    X = rng.normal(size=(45, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    return unit_mean_square(X)[0], y


@pytest.fixture
def in_process(monkeypatch):
    """Run targets without a worker: starting one takes seconds, most of it imports."""

    def run(command, folder, limit, threads=None):
        assert command[1:3] == ["-P", worker.__file__]
        worker.do_task(Path(folder), *worker.load(*command[3:]))
        return ""

    monkeypatch.setattr(worker.POOL, "run", run)


@pytest.fixture
def available():
    """Skip the test if a baseline cannot run here, else return the baseline."""

    def require(baseline):
        if not baseline.is_available():
            pytest.skip(f"{baseline.name}: {baseline.missing()}")
        return baseline

    return require


@pytest.fixture(scope="session")
def parts():
    """Two directions with the classes in them and four of noise: training and test part."""
    rng = np.random.default_rng(1)
    names = np.array(["oak", "elm", "ash"])
    y = np.arange(240) % 3
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    X = np.column_stack([centres[y] + rng.normal(size=(240, 2)), 3 * rng.normal(size=(240, 4))])
    Z = unit_mean_square(X)[0]
    return Z[:120], names[y[:120]], Z[120:], names[y[120:]]
