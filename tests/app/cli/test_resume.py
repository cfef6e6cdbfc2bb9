"""The options --checkpoint and --resume of the command fit."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from frobmetric import FrobMetric, FrobMetricCV
from frobmetric.app.tables.reading import Table
from frobmetric.app.tables.writing import write_table
from frobmetric.io import load
from frobmetric.runtime.checkpoint import Checkpoint
from terminals import check_mistake, run

X, Y = load_wine(return_X_y=True)
FIT = "fit wine.csv -t label -o m.safetensors --cv 0 --checkpoint state.ckpt"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with the wine data in it."""
    monkeypatch.chdir(tmp_path)
    write_table("wine.csv", Table(X, Y, [f"f{i}" for i in range(13)]), labels_name="label")
    return tmp_path


@pytest.fixture
def interrupted(monkeypatch):
    """A fit that Ctrl-C ended right after the first search for neighbours."""
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", _saving_and_stopping(Checkpoint.save))
        assert "nothing was saved" in run(*FIT.split(), code=130).stderr
    assert Path("state.ckpt").exists()


def _saving_and_stopping(save):
    """Return a function that saves, and presses Ctrl-C after the first search."""

    def save_and_stop(self, arrays):
        save(self, arrays)
        if arrays["is_searched"]:
            raise KeyboardInterrupt

    return save_and_stop


def _assert_fitted():
    expected = FrobMetric().fit(X, Y)
    assert np.array_equal(load("m.safetensors").components_, expected.components_)
    assert not Path("state.ckpt").exists()


def test_a_fit_removes_its_checkpoint():
    assert run(*FIT.split()).stderr == ""
    _assert_fitted()


def test_resume_goes_on(interrupted):
    assert run(*FIT.split(), "--resume").stderr == "going on from state.ckpt\n"
    _assert_fitted()


def test_resume_without_a_file_is_a_new_fit():
    assert run(*FIT.split(), "--resume").stderr == "state.ckpt does not exist: a new fit\n"
    _assert_fitted()


def test_an_existing_file_needs_resume(interrupted):
    check_mistake(FIT, "state.ckpt exists; go on with its fit by --resume, or delete it", code=2)


@pytest.mark.slow
def test_a_choice_of_options_goes_on_too(monkeypatch):
    fit = "fit wine.csv -t label -o m.safetensors --checkpoint state.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", _saving_and_stopping(Checkpoint.save))
        assert "nothing was saved" in run(*fit.split(), code=130).stderr
    assert Path("state.ckpt").exists()
    assert "going on from state.ckpt" in run(*fit.split(), "--resume").stderr
    assert np.array_equal(load("m.safetensors").components_, FrobMetricCV().fit(X, Y).components_)
    assert not Path("state.ckpt").exists()


def test_another_fit_and_a_damaged_file_are_refused(interrupted):
    message = "state.ckpt belongs to another fit: C was 1000.0 and is 7.0"
    result = run(*FIT.split(), "--C", "7", "--resume", code=3)
    assert result.stderr.splitlines()[0] == "going on from state.ckpt"
    assert message in result.stderr
    Path("state.ckpt").write_bytes(Path("state.ckpt").read_bytes()[:-1])
    result = run(*FIT.split(), "--resume", code=3)
    assert "is torn or damaged: its checksum is wrong. Delete it" in result.stderr


def test_ctrl_c_in_a_solve_saves_the_model_and_the_state(monkeypatch):
    fit = FrobMetric.fit

    def interrupt(step):
        raise KeyboardInterrupt

    def fit_and_interrupt(self, *arguments, **given):
        return fit(self.set_params(callback=interrupt), *arguments, **given)

    monkeypatch.setattr(FrobMetric, "fit", fit_and_interrupt)
    result = run(*FIT.split(), code=130)
    assert "the best metric so far was saved in m.safetensors; go on by --resume" in result.stderr
    monkeypatch.setattr(FrobMetric, "fit", fit)
    run(*FIT.split(), "--resume", "-o", "again.safetensors")
    assert load("again.safetensors").status_ == "optimal"
