"""Parameters of the estimators of this room: keywords, in one order, with one default."""

import inspect
from itertools import pairwise

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


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_keywords(kind):
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters(kind))


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
