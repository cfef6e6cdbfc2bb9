"""The paper's Table I: its numbers, its data sets and their small versions."""

import numpy as np
import pytest

from frobmetric_paper.baselines import METRIC, TABLE
from frobmetric_paper.classification.measure import Run
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.uci import experiment as uci


def by_name(**more):
    return {column.name: column for column in uci.experiment(**more).columns}


# The paper's numbers


def test_some_cells_of_the_paper():
    paper = uci.experiment().paper
    frob = paper["FrobMetric"]
    assert (frob["usps"].error, frob["usps"].std, frob["usps"].seconds) == (2.32, 0.31, 9.0)
    assert (frob["mnist"].error, frob["mnist"].std) == (2.56, None)
    assert (frob["iris"].seconds, frob["iris"].is_bound) == (1.0, True)
    assert (paper["lmnn_matrix"]["wine"].error, paper["lmnn_matrix"]["wine"].std) == (20.77, 14.18)
    assert paper["LMNN"]["mnist"].seconds == 11 * 3600
    assert set(paper["NCA"]) == {"balance", "wine", "iris"}
    assert set(paper["PCA"]) == {"mnist", "usps", "yale"}


def test_every_row_and_column_of_the_paper_is_there():
    rows = {METRIC[name].paper_name or name for name in TABLE}
    table = uci.experiment()
    assert set(table.paper) <= rows
    assert {column for row in table.paper.values() for column in row} == set(uci.SETS)
    assert table.parts == list(uci.SETS)
    assert set(uci.WORK) == set(uci.SETS)
    page = table.template.read_text(encoding="utf-8")
    assert all(f"$set_{name}\n" in page for name in uci.SETS)


def test_explanations_name_what_is_there():
    known = {*TABLE, *uci.SETS}
    for key in uci.explanations():
        assert set(key if isinstance(key, tuple) else (key,)) <= known


# The data


def test_runs_are_as_many_as_the_paper_has_or_more():
    found = {name: column.n_runs for name, column in by_name().items()}
    assert found == {
        "mnist": 1,
        "usps": 10,
        "letters": 1,
        "yale": 10,
        "balance": 10,
        "wine": 50,
        "iris": 50,
    }
    found = {name: column.n_runs for name, column in by_name(runs=4).items()}
    assert (found["mnist"], found["letters"], found["iris"], found["usps"]) == (1, 1, 4, 4)
    assert by_name(quick=True)["iris"].n_runs == 2
    assert by_name(quick=True, runs=3)["iris"].n_runs == 3


def test_the_order_of_work_begins_with_the_cheap():
    assert (uci.WORK[0], uci.WORK[-1]) == ("iris", "mnist")


def test_a_run_is_a_split_by_its_number():
    first, again, second = (by_name()["iris"].load(run) for run in (0, 0, 1))
    np.testing.assert_array_equal(first[0].X_test, again[0].X_test)
    assert not np.array_equal(first[0].X_test, second[0].X_test)
    assert first[1] is None
    checksums = [Run.from_splits(*each).data for each in (first, again, second)]
    assert checksums[0] == checksums[1] != checksums[2]


def test_absent_files_are_said(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"letter\.npz"):
        by_name(data=tmp_path)["letters"].load(0)


@pytest.mark.parametrize("size", [10, 60, 61])
def test_of_each_class_its_share(size):
    y = np.repeat([0, 1, 2], [10, 20, 30])
    rows = uci.some_rows(y, size, 0)
    assert len(rows) == len(set(rows)) == min(size, 60)
    shares = np.bincount(y[rows], minlength=3) / len(rows)
    np.testing.assert_allclose(shares, [1 / 6, 2 / 6, 3 / 6], atol=0.1)
    assert (np.diff(rows) > 0).all()


def test_small_sets_without_pca_keep_their_features_and_samples():
    (whole, _), (small, full) = (by_name(quick=quick)["wine"].load(1) for quick in (False, True))
    np.testing.assert_array_equal(small.X_train, whole.X_train)
    assert len(small.y_test) == 26
    assert full is None


def test_usps_in_its_small_version(data_folder):
    reduced, full = by_name(quick=True, data=data_folder)["usps"].load(0)
    assert reduced.X_train.shape == (200, 10)
    assert full.X_train.shape == (200, 256)
    assert reduced.X_test.shape == (60, 10)
    np.testing.assert_array_equal(reduced.y_test, full.y_test)
    assert np.bincount(reduced.y_train).min() >= 15
    sizes = Run.from_splits(reduced, full).sizes
    assert (sizes["dimension"], sizes["dimension after PCA"]) == (256, 10)
