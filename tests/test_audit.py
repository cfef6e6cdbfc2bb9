"""Statements of the audit of dependencies, from what pip-audit prints."""

import json

import pytest

from audit import evaluate

GOOD = {"name": "numpy", "version": "2.4.6", "vulns": []}
OURS = {"name": "frobmetric", "skip_reason": "distribution marked as editable"}
UNKNOWN = {"name": "rich", "skip_reason": "Dependency not found on PyPI and could not be audited"}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}


@pytest.mark.parametrize(
    ("packages", "said", "is_good"),
    [
        ([GOOD, OURS], "0 known vulnerabilities", True),
        ([GOOD, BAD], "old 1.0: PYSEC-1, fixed in 1.1", False),
        (
            [GOOD, UNKNOWN],
            "not audited: 1 of 2 packages, which the service does not know (rich)",
            False,
        ),
    ],
)
def test_what_was_audited(packages, said, is_good):
    text, found = evaluate(json.dumps({"dependencies": packages}), "")
    assert said in text
    assert found is is_good


@pytest.mark.parametrize("output", ["", "[]", "{}", '{"dependencies": []}', "null", "<html>"])
def test_no_answer_is_one_line(output):
    errors = "Traceback (most recent call last):\n  ...\nConnectionError: no such host\n"
    text, is_good = evaluate(output, errors)
    assert (
        text
        == "not audited: the service of pip-audit gave no answer (ConnectionError: no such host)"
    )
    assert not is_good
