"""The tool that compares whole checkouts reads sources and records as it says."""

import numpy as np
import pytest

from frobmetric import FrobMetric
from house import trees
from house.comparison import differences
from house.figures import docstrings, functions, parameters, questions
from house.library import find
from house.patches import replaced_names
from house.record import Recorder, fitted_attributes
from house.sources import Source, sources

TEXT = '''"""Module."""

# a comment


def first(a, b: int, *, c: "Any" = None):
    """That of nothing."""
    return getattr(a, "b", hasattr(b, "c"))


class Thing:
    def method(self, **options: int) -> int:
        try:
            return 1
        except (AttributeError, KeyError):
            return 2
'''
PATCHES = """
from importlib import import_module
from frobmetric.metric import frob
import frobmetric.core as core
search = import_module("frobmetric.search")
def test(monkeypatch):
    monkeypatch.setattr(frob, "SIZE", 1)
    monkeypatch.setattr("frobmetric.metric.frob.SIZE", 2)
    for name, value in {"A": 1, "B": 2}.items():
        monkeypatch.setattr(search, name, value)
    mock.patch.object(core, "solve")
    core.LIMIT = 3
    monkeypatch.setattr(os, "replace", None)
"""


def record(attributes):
    """Return answers of one case with these attributes."""
    recorder = Recorder(n_values=100)
    parts = (recorder.flat(*item) for item in attributes.items())
    return {"cases": {"it": {key: leaf for part in parts for key, leaf in part}}}


def test_figures_of_a_source():
    source = Source("src/frobmetric/room/file.py", TEXT)
    assert source.n_code_lines() == 8
    assert questions([source])["all"] == 3
    found = parameters([source])
    assert (found["none"], found["typed"], found["Any"]) == (1, 2, 1)
    assert functions([source])["longest"] == 5
    assert docstrings([source])["begin with a pronoun"] == 1


def test_names_that_tests_replace():
    assert set(replaced_names(Source("tests/test_it.py", PATCHES))) == {
        "frobmetric.metric.frob.SIZE",
        "frobmetric.search.A",
        "frobmetric.search.B",
        "frobmetric.core.solve",
        "frobmetric.core.LIMIT",
    }


def test_figures_of_a_room():
    room = sources(trees.ROOT, "src/frobmetric/solvers")
    assert functions(room)["number"] > 50
    assert find("FrobMetric") is FrobMetric


def test_records_differ_if_one_bit_does():
    X = np.random.default_rng(0).normal(size=(30, 3))
    attributes = fitted_attributes(FrobMetric(n_passes=1).fit(X, np.arange(30) % 2))
    before = record(attributes)
    assert differences(before, record(attributes)) == ([], [])
    assert not any("second" in key for key in before["cases"]["it"])
    changed = np.nextafter(attributes["components_"], np.inf)
    worse, more = differences(before, record(attributes | {"components_": changed}))
    assert len(worse) == 1
    assert worse[0].startswith("it: components_ differs: float64[3, 3], at most by ")
    assert more == []


@pytest.mark.parametrize("name", ["names", "walks", "figures", "tests"])
def test_what_was_before_can_be_read(name):
    assert trees.read_json(trees.BEFORE / f"{name}.json")["commit"] == "7f917b6"
