"""Runner of metric-learn's own tests, on a small checkout that is made here."""

import pytest

from frobmetric_paper.bench.metric_learn_tests import HELPERS, as_markdown, main, prepare, run

TESTS = """
import numpy as np
import pytest
from metric_learn import LMNN, Constraints
from metric_learn.base_metric import MahalanobisMixin
from metric_learn.exceptions import PreprocessorError


def test_names():
    assert issubclass(LMNN, MahalanobisMixin.__mro__[1])


def test_message():
    with pytest.raises(ValueError, match="a text of metric-learn") as raised_err:
        LMNN().fit(np.zeros((3, 2)), [0, 0, 0])
    assert "another text" in str(raised_err.value)


def test_wrong():
    assert Constraints([0, 0, 1]).partial_labels.sum() == 5
"""


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clone"
    for name in ("test", "metric_learn"):
        (folder / name).mkdir(parents=True)
    (folder / "test" / "test_small.py").write_text(TESTS)
    for name in HELPERS:
        (folder / "metric_learn" / name).write_text("class ArrayIndexer:\n    pass\n")
    return folder


def test_texts_of_messages_do_not_count_and_all_else_does(clone, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    assert prepare(clone, folder) == 1
    outcomes = run(folder, ["-p", "no:xdist"])
    assert outcomes == {
        "test_small::test_names": "passed",
        "test_small::test_message": "passed",
        "test_small::test_wrong": "failure",
    }
    page = as_markdown(outcomes, 1, "v1")
    assert "| test_small | 2 | 1 | 0 |" in page
    assert "* `test_small::test_wrong`" in page


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="has no folder test"):
        main([str(tmp_path)])
