"""The paper's Table I: its numbers, its data sets and their small versions."""

import numpy as np
import pytest
from frobmetric_paper.rivals import RIVALS, TABLE
from frobmetric_paper.table.runs import Run
from frobmetric_paper.uci.words import EXPLANATIONS, NOTES

from frobmetric_paper.data.labelled import DatasetNotFound
from frobmetric_paper.uci import experiment as uci
from frobmetric_paper.uci import paper as uci_paper


def by_name(**more):
    return {column.name: column for column in uci.plan(**more).columns}


# The paper's numbers


def test_some_cells_of_the_paper():
    paper = uci_paper.published()
    frob = paper["FrobMetric"]
    assert (frob["usps"].error, frob["usps"].std, frob["usps"].seconds) == (2.32, 0.31, 9.0)
    assert (frob["mnist"].error, frob["mnist"].std) == (2.56, None)
    assert (frob["iris"].seconds, frob["iris"].is_bound) == (1.0, True)
    assert (paper["lmnn_matrix"]["wine"].error, paper["lmnn_matrix"]["wine"].std) == (20.77, 14.18)
    assert paper["LMNN"]["mnist"].seconds == 11 * 3600
    assert set(paper["NCA"]) == {"balance", "wine", "iris"}
    assert set(paper["PCA"]) == {"mnist", "usps", "yale"}


def test_every_row_and_column_of_the_paper_is_there():
    rows = {RIVALS[name].paper_name or name for name in TABLE}
    assert set(uci_paper.ERRORS) <= rows
    assert set(uci_paper.SECONDS) <= set(uci_paper.ERRORS)
    columns = tuple(column.name for column in uci.plan().columns)
    assert columns == uci_paper.COLUMNS
    assert set(uci.WORK) == set(columns) == set(NOTES)


def test_explanations_name_what_is_there():
    known = {*TABLE, *uci_paper.COLUMNS}
    for key in EXPLANATIONS:
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
    names = [column.name for column in uci.plan().in_order_of_work]
    assert names[0] == "iris"
    assert names[-1] == "mnist"


def test_a_run_is_a_split_by_its_number():
    first, again, second = (by_name()["iris"].load(run) for run in (0, 0, 1))
    np.testing.assert_array_equal(first.reduced.X_test, again.reduced.X_test)
    assert not np.array_equal(first.reduced.X_test, second.reduced.X_test)
    assert first.full is None
    assert Run.of(first).data == Run.of(again).data != Run.of(second).data


def test_absent_files_are_said(tmp_path):
    with pytest.raises(DatasetNotFound, match=r"letter\.npz"):
        by_name(folder=tmp_path)["letters"].load(0)


@pytest.mark.parametrize("size", [10, 60, 61])
def test_of_each_class_its_share(size):
    y = np.repeat([0, 1, 2], [10, 20, 30])
    rows = uci._some(y, size, 0)
    assert len(rows) == len(set(rows)) == min(size, 60)
    shares = np.bincount(y[rows], minlength=3) / len(rows)
    np.testing.assert_allclose(shares, [1 / 6, 2 / 6, 3 / 6], atol=0.1)
    assert (np.diff(rows) > 0).all()


def test_small_sets_without_pca_keep_their_features_and_samples():
    whole, small = by_name()["wine"].load(1), by_name(quick=True)["wine"].load(1)
    np.testing.assert_array_equal(small.reduced.X_train, whole.reduced.X_train)
    assert len(small.reduced.y_test) == 26
    assert small.full is None


def test_usps_in_its_small_version(data_folder):
    parts = by_name(quick=True, folder=data_folder)["usps"].load(0)
    assert parts.reduced.X_train.shape == (200, 10)
    assert parts.full.X_train.shape == (200, 256)
    assert parts.reduced.X_test.shape == (60, 10)
    np.testing.assert_array_equal(parts.reduced.y_test, parts.full.y_test)
    assert np.bincount(parts.reduced.y_train).min() >= 15
    sizes = Run.of(parts).sizes
    assert (sizes["dimension"], sizes["dimension after PCA"]) == (256, 10)
