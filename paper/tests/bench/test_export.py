"""Comparison of what other programs make of exported maps."""

import numpy as np
import pytest

from frobmetric import FrobMetric
from frobmetric_paper.bench import export
from frobmetric_paper.harness.benchmark import Options


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(90, 4)).astype(np.float32)
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    return export.Problem(X[:60], y[:60], X[60:], y[60:], FrobMetric().fit(X[:60], y[:60]))


def test_every_program_reads_what_export_wrote(problem, tmp_path):
    for program in ("npy", "safetensors"):
        mapped = export.PROGRAMS[program][1](problem.model, tmp_path, problem.samples)
        found = export.compare(problem, mapped)
        assert found["difference"] < 1e-6
        assert found["same"] == 100


def test_another_map_is_seen(problem):
    expected = problem.samples @ problem.model.components_.T
    found = export.compare(problem, expected * [-3.0, 1, 1, 1])
    assert found["difference"] > 0.1
    assert export.relative_difference(expected + 1e-3, expected) > 1e-5


def test_ties_are_counted_and_decide_nothing():
    points = np.array([[0.0], [1.0], [3.0], [-3.0], [7.0]])
    labels, is_tie = export.predict(points, np.array([0, 0, 1, 1, 1]), np.array([[0.0], [0.9]]))
    assert labels.tolist() == [0, 0]
    assert is_tie.tolist() == [True, False]  # 3 and -3 are equally far from 0, not from 0.9


def test_a_missing_program_is_named(monkeypatch):
    def refuse(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(export, "import_module", refuse)
    parts = {"onnx": export.measure("onnx", Options())}
    assert "onnx: No module named 'onnxruntime'" in export.page(parts)["missing"]
