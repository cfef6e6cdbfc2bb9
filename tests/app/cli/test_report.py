"""The command report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric, FrobMetricCV, save
from terminals import check_help, run, run_json

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
QUICK = ["--folds", "2", "--n-refits", "2"]


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """An own current folder with a model and its data."""
    monkeypatch.chdir(tmp_path)
    rows = [[*map(str, row), name] for row, name in zip(X.tolist(), NAMES[y], strict=True)]
    for file, part in (("iris.csv", rows), ("train.csv", rows[::2]), ("test.csv", rows[1::2])):
        lines = [["a", "b", "c", "d", "kind"], *part]
        Path(file).write_text("\n".join(map(",".join, lines)))
    np.save("iris.npy", X)
    save(FrobMetric().fit(X, NAMES[y]), "m.safetensors")


def _report(*arguments):
    return ["report", "m.safetensors", *arguments, "-o", "r.html"]


def test_help():
    text = check_help("report")
    assert "--image-shape" in text
    assert "without a network" in " ".join(text.split())


def test_page():
    result = run(*_report("iris.csv", "--target", "kind", *QUICK, "--title", "Irises"))
    assert "Euclid on" in result.stdout
    assert "r.html: 4." in result.stdout
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<title>Irises</title>" in page
    assert "m.safetensors (SHA-256 " in page
    assert '"features": ["a", "b", "c", "d"]' in page


def test_names_of_a_column_and_a_title_of_the_file():
    lines = Path("iris.csv").read_text().splitlines()
    named = [f"{line},{'id' if i == 0 else f'plant {i}'}" for i, line in enumerate(lines)]
    Path("named.csv").write_text("\n".join(named))
    save(FrobMetric().fit(pd.DataFrame(X, columns=list("abcd")), NAMES[y]), "m.safetensors")
    run(*_report("named.csv", "--target", "kind", "--name", "id", *QUICK))
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<title>Does a learned distance help on named.csv?</title>" in page
    assert '"names": ["plant 1", "plant 2"' in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the learned metric does not help here")
def test_test_samples_and_a_model_that_chose():
    options = {"Cs": [100.0], "prior": None, "n_neighbors": 3, "n_passes": 1}
    save(FrobMetricCV(**options).fit(X[::2], NAMES[y[::2]]), "m.safetensors")
    arguments = ["train.csv", "--target", "kind", "--test", "test.csv", "--n-refits", "0"]
    content = run_json(*_report(*arguments))
    assert content["comparison"]["n_test"] == 75
    assert content["comparison"]["n_folds"] == 0
    assert content["facts"]["Test file"] == "test.csv"


def test_pictures_and_json():
    np.savez("squares.npz", X=X, y=y)
    content = run_json(*_report("squares.npz", "--image-shape", "2x2", *QUICK))
    assert content["output"] == "r.html"
    assert content["comparison"]["n_test"] == 150
    assert content["facts"]["Data file"] == "squares.npz"
    assert content["megabytes"] < 8
    assert '"image": [2, 2]' in Path("r.html").read_text(encoding="utf-8")
