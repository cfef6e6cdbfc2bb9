"""Contracts that all estimators share: parameters and their tables, and fits that fail."""

import inspect
import re
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)

ESTIMATORS = [
    FrobMetric,
    FrobMetricCV,
    BoostMetric,
    TripletFrobMetric,
    QuadrupletFrobMetric,
    PairFrobMetric,
]
X, Y = load_iris(return_X_y=True)
PAIRS, KINDS = [[0, 1], [50, 51], [0, 50], [50, 100]], [1, 1, -1, -1]


def parameters(kind):
    return list(inspect.signature(kind).parameters.values())


def documented(kind):
    """Return names and defaults in the table of a class docstring."""
    table = re.search(r"Parameters\n-+\n(.*?)\n\n", inspect.getdoc(kind), re.DOTALL)[1]
    return re.findall(r"^(\w+) : .*?(?:, default=(.*))?$", table, re.MULTILINE)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_keywords_and_all_are_explained(kind):
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters(kind))
    table = documented(kind)
    assert [name for name, _ in table] == [p.name for p in parameters(kind)]
    for (_, text), parameter in zip(table, parameters(kind), strict=True):
        assert eval(text) == parameter.default  # a literal in our own docstring
    assert set(kind._rules) == {p.name for p in parameters(kind)}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_have_one_order_and_one_default(kind):
    order = [p.name for p in parameters(FrobMetric)]
    shared = [p.name for p in parameters(kind) if p.name in order]
    chosen = {"units", "n_neighbors", "n_impostors", "n_passes", "prior"}  # first in FrobMetricCV
    ordered = [name for name in shared if kind is not FrobMetricCV or name not in chosen]
    assert all(order.index(a) < order.index(b) for a, b in pairwise(ordered))
    own = {
        FrobMetric: set(),
        FrobMetricCV: {"n_neighbors", "n_passes", "prior"},
        BoostMetric: {"C", "max_iter", "n_passes"},
        TripletFrobMetric: {"C"},
        QuadrupletFrobMetric: {"C"},
        PairFrobMetric: {"C", "n_neighbors"},
    }[kind]
    values, defaults = kind().get_params(), FrobMetric().get_params()
    assert {name for name in shared if values[name] != defaults[name]} == own


@pytest.mark.parametrize(
    ("metric", "arguments"),
    [
        (FrobMetric(n_components=9), (X, Y)),
        (FrobMetricCV(n_components=9, Cs=[1.0], cv=2), (X, Y)),
        (BoostMetric(n_components=9), (X, Y)),
        (TripletFrobMetric(n_components=9, preprocessor=X), ([[0, 1, 60]],)),
        (QuadrupletFrobMetric(n_components=9, preprocessor=X), ([[0, 1, 2, 60]],)),
        (PairFrobMetric(n_components=9, preprocessor=X), (PAIRS, KINDS)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_first_fit_that_fails_stores_nothing(metric, arguments):
    before = vars(metric).copy()
    with pytest.raises(ValueError, match="n_components=9 is larger than the 4 features"):
        metric.fit(*arguments)
    assert vars(metric) == before


def test_an_error_of_a_callback_stores_nothing():
    def fail(step):
        raise RuntimeError("out of paper")

    metric = FrobMetric(C=10, callback=fail)
    before = vars(metric).copy()
    with pytest.raises(RuntimeError, match="out of paper"):
        metric.fit(X, Y)
    assert vars(metric) == before


def test_an_interrupted_pass_is_stored():
    steps = []

    def press_ctrl_c(step):
        steps.append(step)
        if len(steps) > len(first.history_):
            raise KeyboardInterrupt

    first = FrobMetric(C=10).fit(X, Y)
    metric = FrobMetric(C=10, n_passes=2, callback=press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        metric.fit(X, Y)
    assert metric.status_ == "interrupted"
    assert metric.transform(X).shape == (150, 4)


def test_distances_of_pairs_do_not_depend_on_how_they_are_computed():
    metric = FrobMetric(C=10).fit(X, Y)
    pairs = X[[[0, 60], [60, 0], [5, 5], [0, 60]]]
    distance = metric.pair_distance(pairs)
    assert distance[0] == distance[1] == distance[3]
    assert distance[2] == 0
    np.testing.assert_allclose(distance[0], metric.get_metric()(X[0], X[60]))
