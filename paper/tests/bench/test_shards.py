"""The benchmark of fits in shards: small parts of it, and the rows of its page."""

import numpy as np
import pytest

from frobmetric_paper.bench.shards import (
    fit_beyond_memory,
    kill_workers,
    make_hard_classes,
    shards_page,
    write_wide,
)
from frobmetric_paper.harness.benchmark import Options

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.slow
def test_fits_whose_worker_is_killed_give_the_same_metric():
    pytest.importorskip("distributed", reason="needs the extra dask")
    rows = kill_workers(Options(is_quick=True))
    assert len(rows) == 2
    assert max(row["difference"] for row in rows) <= 1e-10


@pytest.mark.slow
def test_data_in_a_file_are_read_by_the_workers():
    pytest.importorskip("distributed", reason="needs the extra dask")
    row = fit_beyond_memory(Options(is_quick=True))
    assert row["survived"]
    assert row["peak"] <= row["limit"]
    assert row["gap"] <= 1e-3


def test_wide_data_are_near_a_plane(tmp_path):
    y = write_wide(tmp_path / "X.npy", 300, 50)
    X = np.load(tmp_path / "X.npy")
    assert (len(y), X.shape) == (300, (300, 50))
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert sizes[20] < 0.2 * sizes[19]


def test_hard_classes_are_the_same_for_new_samples():
    X, y = make_hard_classes(4000, 40)
    new, labels = make_hard_classes(2000, 40, seed=5)
    means = np.array([X[y == c].mean(axis=0) for c in range(50)])
    others = np.array([new[labels == c].mean(axis=0) for c in range(50)])
    assert np.linalg.norm(means - others) < np.linalg.norm(means - others[::-1])


def test_the_page_compares_the_fastest_runs():
    row = {"seconds": 4.0, "solve_seconds": 1.0, "steps": 3, "objective": 2.0, "gap": 1e-4}
    row |= {"n_triplets": 9}
    fits = [row | {"place": "local"}, row | {"place": "cluster", "seconds": 6.0}]
    fits += [row | {"place": "cluster", "seconds": 5.0, "objective": 2.0 + 2e-9}]
    kill = row | {"was_killed": True, "difference": 1e-15, "whole": 3.0, "moment": 1.0}
    late = kill | {"was_killed": False, "difference": 1e-9}
    page = shards_page({"cluster": fits, "workers": [kill, late]})
    assert [entry["ratio"] for entry in page["cluster"]] == [1.0, 1.25]
    assert page["cluster"][1]["difference"] == pytest.approx(1e-9, rel=1e-6)
    (killed,) = page["workers"]
    assert (killed["fits"], killed["killed"], killed["same"]) == (2, 1, 1)
