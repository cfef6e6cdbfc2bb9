"""The option --memory of the command fit: a parquet file is read in parts."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from frobmetric import FrobMetric
from frobmetric.app.tables.reading import Table
from frobmetric.app.tables.writing import write_table
from frobmetric.io import load
from terminals import run

X, Y = load_wine(return_X_y=True)
NAMES = [f"f{i}" for i in range(13)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("wine.parquet", Table(X, Y, NAMES), labels_name="label")


@pytest.mark.parametrize("options", ["--cv 0", ""])
def test_a_file_is_learned_from_in_parts(options):
    command = f"fit wine.parquet -t label -o m.safetensors --memory 0.01 {options}"
    run(*command.split())
    found = load("m.safetensors")
    assert list(found.feature_names_in_) == NAMES
    assert not hasattr(found, "dual_coef_")
    assert found.certificate_.relative_gap <= found.tol
    if options:
        M = FrobMetric().fit(X, Y).get_mahalanobis_matrix()
        np.testing.assert_allclose(found.get_mahalanobis_matrix(), M, atol=1e-9 * np.abs(M).max())
