"""What is taken out of metric-learn's tests, and how their outcomes are counted."""

import pytest

from frobmetric_paper.bench.metric_learn_tests import (
    FILES,
    contract_of,
    contract_page,
    find_clone,
    measure_file,
)
from frobmetric_paper.harness.benchmark import Options

SOURCE = """
import pytest
from metric_learn import Covariance
from metric_learn._util import check_input


def test_text():
    with pytest.raises(ValueError, match="its text") as raised_error:
        Covariance().fit([[1.0]])
    assert str(raised_error.value) == "its text"


def test_value():
    assert Covariance().get_params() == {"preprocessor": None}


def test_function():
    check_input([[1.0]])


def test_method():
    Covariance()._prepare_inputs([[1.0]])


def test_wrong():
    assert Covariance().get_params() == {}
"""


def make_clone(folder):
    for name in ("metric_learn", "test"):
        (folder / name).mkdir()
    (folder / "metric_learn" / "sklearn_shims.py").touch()
    for name in FILES:
        (folder / "test" / f"{name}.py").write_text(SOURCE if name == "test_utils" else "")
    return folder


def test_asserts_on_texts_and_private_tests_are_taken_out():
    source, n_texts = contract_of(SOURCE)
    assert n_texts == 1
    assert "its text" not in source
    assert source.count("pytest.mark.skip(reason='private')") == 2
    assert "{'preprocessor': None}" in source


def test_an_assert_on_the_text_of_a_warning_still_needs_a_warning():
    source, n_texts = contract_of("assert any((msg in str(w.message) for w in raised_warnings))")
    assert n_texts == 1
    assert source.endswith("assert len(raised_warnings) > 0")


@pytest.mark.slow
def test_outcomes_are_counted(tmp_path):
    data = measure_file("test_utils", Options(folder=make_clone(tmp_path)))
    failures = data.pop("failures")
    assert data == {"passed": 2, "failed": 1, "skipped": 0, "private": 2, "texts": 1}
    assert [(row["test"], row["count"]) for row in failures] == [("test_wrong", 1)]
    page = contract_page({"test_utils": data | {"failures": failures}})
    assert page["failures"][0]["reason"] == "not explained yet"
    assert page["files"][-1]["passed"] == 2


def test_a_file_that_cannot_be_read_is_a_failure(tmp_path):
    clone = make_clone(tmp_path)
    (clone / "test" / "test_utils.py").write_text("import no_such_package")
    data = measure_file("test_utils", Options(folder=clone))
    assert (data["passed"], data["failed"]) == (0, 1)


def test_a_folder_without_clone_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no clone of metric-learn; expected a folder"):
        find_clone(tmp_path)
