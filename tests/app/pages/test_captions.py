"""Captions of samples: values of columns as users know them, and names."""

import numpy as np
import pytest

from frobmetric import FrobMetric
from frobmetric.app.pages.captions import Column, columns_of, largest, names_of
from frobmetric.app.pages.importance import Importance
from frobmetric.app.tables.reading import Table
from frobmetric.io.preparation import PreparedColumn, TablePreparation

X = np.array([[3.0, 0.0, 1.0, 0.123456], [200.0, 0.0, 0.0, 12345.6]])
COLUMNS = [Column("age", (0,)), Column("colour", (1, 2), ("red", "blue")), Column("size", (3,))]


@pytest.fixture
def model():
    columns = (PreparedColumn("age", 0), PreparedColumn("colour", 1, None, ("red", "blue")))
    preparation = TablePreparation((*columns, PreparedColumn("size", 2)))
    rows = np.random.default_rng(0).normal(size=(20, 4))
    table = Table(rows, None, preparation.feature_names)
    metric = FrobMetric().fit(table.dataframe(), np.arange(20) % 2)
    metric.preparation_ = preparation
    return metric


def test_values_are_those_before_the_preparation():
    texts = [column.texts(X) for column in COLUMNS]
    assert texts == [["3", "200"], ["blue", "–"], ["0.1235", "12346"]]


def test_columns_are_those_of_the_table(model):
    names = ["age", "colour=red", "colour=blue", "size"]
    assert columns_of(model, names) == COLUMNS
    assert columns_of(FrobMetric(), names[:1]) == [Column("age", (0,))]


def test_shares_of_categories_count_together():
    shares = np.array([0.3, 0.2, 0.2, 0.3])
    assert largest(COLUMNS, Importance(shares, shares)) == [1, 0, 2]
    assert largest(COLUMNS, None) == [0, 1, 2]


def test_names_are_short_texts_one_for_each_sample():
    assert names_of(None, 2) is None
    assert names_of([7, "a\x1b" + 50 * "b"], 2) == ["7", "a\\x1b" + 34 * "b" + "…"]
    with pytest.raises(ValueError, match="names has 1 names for 2 samples"):
        names_of(["a"], 2)
