"""Fixtures for figures."""

import pytest


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib", reason="figures need matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")
