"""Every example runs, and says nothing on stderr."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
#: Examples that are quick enough for every run of the tests.
QUICK = ("plot_user_defined_sdp",)


def _params():
    for script in EXAMPLES:
        marks = () if script.stem in QUICK else pytest.mark.slow
        yield pytest.param(script, marks=marks, id=script.stem)


def test_there_are_examples():
    assert {script.stem for script in EXAMPLES} > set(QUICK)


@pytest.mark.parametrize("script", list(_params()))
def test_example_runs_without_a_warning(script, tmp_path):
    pytest.importorskip("matplotlib", reason="examples end in a figure, which needs matplotlib")
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "default"}
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert "Warning" not in run.stderr
    assert "Traceback" not in run.stderr
