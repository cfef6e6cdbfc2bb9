"""The command compare: the table, its files, progress, Ctrl-C, messages for mistakes."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from fake_learners import InProcess
from frobmetric import compare
from frobmetric.app.cli import compare as module
from frobmetric.evaluation.trial import ComparisonProgress
from terminals import press_ctrl_c, run, run_json

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with flowers in it, as one file and as two."""
    monkeypatch.chdir(tmp_path)
    names = load_iris().target_names[y]
    rows = [",".join([*map(str, x), name]) for x, name in zip(X.tolist(), names, strict=True)]
    for file, chosen in {"iris": rows, "odd": rows[1::2], "even": rows[::2]}.items():
        Path(f"{file}.csv").write_text("\n".join(["a,b,c,d,kind", *chosen]) + "\n")
    return tmp_path


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr("frobmetric.evaluation.compare.FitWorker", InProcess)


def test_table_and_files(in_process):
    names = ("--learner", "Covariance", "--learner", "FrobMetric")
    files = ("--figure", "found.png", "--markdown", "found.md")
    text = run("compare", "iris.csv", "--target", "kind", *names, *files).stdout
    result = compare(["Covariance", "FrobMetric"], X, load_iris().target_names[y])
    # of equally good ones the fastest is named, which may differ from run to run
    assert f" has the smallest error, {result.best.percent()}." in text.splitlines()[0]
    assert "written: found.png and found.md" in text
    assert Path("found.png").read_bytes().startswith(b"\x89PNG")
    rows = [line for line in Path("found.md").read_text().splitlines() if line.startswith("|")]
    assert [row.split(" | ")[0] for row in rows[2:]] == [
        "| Euclid, raw",
        "| Euclid, scaled",
        "| LDA",
        "| Covariance",
        "| FrobMetric",
    ]


def test_json_with_test_samples(in_process):
    options = ("--learner", "Covariance", "--n-votes", "5", "--budget", "30", "--seed", "3")
    data = run_json("compare", "even.csv", "-t", "kind", "--test", "odd.csv", *options)
    expected = compare(
        ["Covariance"], X[::2], y[::2], X_test=X[1::2], y_test=y[1::2], n_neighbors=5
    )
    assert (data["n_train"], data["n_test"], data["n_neighbors"]) == (75, 75, 5)
    assert data["budget"] == 30
    for row in expected.rows:
        assert data["rows"][row.key]["error"] == row.error


def test_a_target_of_numbers(in_process):
    X, y = load_diabetes(return_X_y=True)
    np.savez("numbers.npz", X=X, y=y + 0.5)
    data = run_json("compare", "numbers.npz", "--learner", "Covariance")
    assert data["error"].startswith("RMSE")
    assert list(data["rows"]) == ["raw", "scaled", "Covariance"]


def test_the_progress_line():
    progress = ComparisonProgress("LMNN", 4, 10, 2, 3, 15.0, 60.0)
    assert module._describe(progress) == (
        "32%   LMNN (4 of 10)   setting 2 of 3   15.0 s, at most 45 s left"
    )
    progress = ComparisonProgress("LDA", 1, 10, 1, 1, 0.0, 60.0)
    assert module._describe(progress) == "0%   LDA (1 of 10)   0.0 s, at most 60 s left"


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
@pytest.mark.slow
def test_ctrl_c_prints_the_finished_rows():
    rng = np.random.default_rng(0)
    np.savez("large.npz", X=rng.normal(size=(4000, 60)), y=rng.integers(4, size=4000))
    arguments = ["compare", "large.npz", "--learner", "Covariance", "--learner", "BoostMetric"]
    code, text, data = press_ctrl_c(arguments, rb"BoostMetric")
    assert (code, data["exit_code"]) == (130, 130)
    assert "interrupted; the rows that were finished follow" in text
    assert "Traceback" not in text
    assert not data["is_complete"]
    assert "error" in data["rows"]["Covariance"]
