"""The command export."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, save
from terminals import check_help, check_mistake, run, run_json

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """An own current folder with a model and its data."""
    monkeypatch.chdir(tmp_path)
    np.save("iris.npy", X)
    estimator = FrobMetric().fit(X, y)
    save(estimator, "m.safetensors")
    return estimator


def test_help():
    assert "sentence-transformers" in check_help("export")


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
    run(
        *[
            "export",
            "m.safetensors",
            "--to",
            "sql",
            "--dialect",
            "pgvector",
            "--name",
            "f",
            "-o",
            "f.sql",
        ]
    )
    assert "CREATE OR REPLACE FUNCTION f(x vector)" in Path("f.sql").read_text()


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ("m.safetensors --to pickle -o w", "'pickle' is not a format; choose one of", 2),
        ("m.safetensors --to faiss --dtype int8 -o w", "faiss has no 'int8'; choose", 2),
        ("iris.npy --to npy -o w.npy", "iris.npy is a table; expected a model", 3),
        ("m.safetensors --to pgvector -o w", "a database: --to sql --dialect pgvector", 2),
        ("m.safetensors --to npy -o no/w.npy", "does not exist; create it", 3),
        ("m.safetensors --to sql --dialect oracle -o w", "'oracle' is not known", 3),
    ],
)
def test_mistakes(arguments, message, code):
    check_mistake(f"export {arguments}", message, code)
