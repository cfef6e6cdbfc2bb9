"""The command export."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, save
from terminals import run, run_json

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """An own current folder with a model and its data."""
    monkeypatch.chdir(tmp_path)
    np.save("iris.npy", X)
    estimator = FrobMetric().fit(X, y)
    save(estimator, "m.safetensors")
    return estimator


def test_npy(model):
    assert (
        "4 features to 4, float32"
        in run(*["export", "m.safetensors", "--to", "npy", "-o", "w.npy"]).stdout
    )
    np.testing.assert_array_equal(np.load("w.npy"), model.components_.astype(np.float32))


def test_recall():
    arguments = "export m.safetensors --to npy --dtype float16 -o w.npy --recall iris.npy"
    assert 0.9 < run_json(*arguments.split())["recall"] <= 1
    assert "recall of the 10 nearest neighbours: " in run(*arguments.split()).stdout


def test_sql_of_a_database():
    line = "export m.safetensors --to sql --dialect pgvector --name f -o f.sql"
    run(*line.split())
    assert "CREATE OR REPLACE FUNCTION f(x vector)" in Path("f.sql").read_text()
