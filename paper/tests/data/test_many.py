"""Splits of labelled data of many kinds."""

import os

import numpy as np
import pytest

from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.many import N_TEST, N_TRAIN, SETS, SMALLEST_CLASS, load

DRAWN = [name for name, each in SETS.items() if each.description.startswith("drawn")]
BUNDLED = ["iris", "wine", "breast_cancer", "digits"]


def check(split):
    assert np.isfinite(split.X_train).all()
    assert np.isfinite(split.X_test).all()
    assert split.X_train.dtype == split.X_test.dtype == float
    assert split.X_train.shape[1] == split.X_test.shape[1]
    assert len(split.y_train) == len(split.X_train) <= N_TRAIN
    assert len(split.y_test) == len(split.X_test) <= N_TEST
    assert set(split.y_test) <= set(split.y_train) == set(range(split.size["classes"]))


def test_sets_are_many_and_of_many_kinds():
    assert len(SETS) >= 24
    assert len({each.kind for each in SETS.values()}) >= 8
    assert all(each.name == name for name, each in SETS.items())
    assert all(each.description for each in SETS.values())


@pytest.mark.parametrize("name", [*BUNDLED, *DRAWN])
def test_splits_are_drawn_by_their_seed(name):
    first, again, other = (load(name, seed=seed) for seed in (0, 0, 1))
    check(first)
    np.testing.assert_array_equal(first.X_train, again.X_train)
    np.testing.assert_array_equal(first.y_test, again.y_test)
    assert first.size == other.size
    assert not np.array_equal(first.X_train, other.X_train)


@pytest.mark.parametrize("name", [name for name in SETS if name not in (*BUNDLED, *DRAWN)])
def test_sets_of_the_folder(name, data_folder):
    check(load(name, folder=data_folder))


def test_parts_are_disjoint_and_stratified():
    split = load("imbalanced")
    rows = np.vstack([split.X_train, split.X_test])
    assert len(np.unique(rows, axis=0)) == len(rows)
    shares = [np.bincount(y) / len(y) for y in (split.y_train, split.y_test)]
    np.testing.assert_allclose(*shares, atol=0.005)


def test_small_classes_are_left_out(data_folder):
    split = load("nci60", folder=data_folder)
    counts = np.bincount(np.concatenate([split.y_train, split.y_test]))
    assert counts.min() >= SMALLEST_CLASS
    assert len(counts) == 8


def test_few_labels_of_each_class(data_folder):
    split = load("hwu64", folder=data_folder)
    assert set(np.bincount(split.y_train)) == {5}
    np.testing.assert_allclose(np.linalg.norm(split.X_train, axis=1), 1, atol=1e-2)


def test_reductions_are_learned_from_the_training_part(data_folder):
    components = load("isolet", folder=data_folder).X_train
    covariance = np.cov(components.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    words = load("r8", folder=data_folder).X_train
    assert words.shape[1] == 300
    assert words.sum(axis=0).min() > 0


def test_what_the_generators_promise():
    repeated = load("duplicates").X_train
    assert len(np.unique(repeated, axis=0)) < len(repeated)
    assert (np.ptp(repeated, axis=0) == 0).sum() == 2
    spread = load("units").X_train.std(axis=0)
    assert spread.max() > 1000 * spread.min()
    counts = load("counts").X_train
    np.testing.assert_array_equal(counts, counts.round())
    few = load("few_samples").size
    assert few["training"] < few["features"]


def test_absent_files(tmp_path, monkeypatch):
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match=r"nci60\.npz"):
        load("nci60", folder=tmp_path)
    with pytest.raises(ValueError, match="Did you mean 'rings'"):
        load("ring")
    assert "FROBMETRIC_DATA" not in os.environ
