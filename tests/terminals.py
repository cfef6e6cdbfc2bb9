"""Runs of the command line: in this process, in one of its own, and on a terminal."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frobmetric.app.cli import app

SOURCE = Path(__file__).resolve().parents[1] / "src"


def run(*arguments, code=0):
    """Run a command, and check its exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    """Return the one JSON object, which must be all of stdout, without NaN and infinity."""
    stdout = run(*arguments, "--json", code=code).stdout
    answer = json.loads(stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert answer["exit_code"] == code
    return answer


def check_mistake(arguments, message, code):
    """Check that a mistake is reported in one line, also as JSON, and that no file is written."""
    before = sorted(Path().iterdir())
    result = run(*arguments.split(), code=code)
    assert re.search(message, " ".join(result.stderr.split())), result.stderr
    if code == 3:
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1
        assert result.stdout == ""
        assert re.search(message, run_json(*arguments.split(), code=code)["error"])
    assert sorted(Path().iterdir()) == before


def check_help(command):
    """Check that the help of a command lists the exit codes; return it."""
    text = run(*command.split(), "--help").stdout
    for code in ("0  ", "2  ", "3  ", "4  ", "130  "):
        assert re.search(rf"^\s+{code}", text, re.MULTILINE)
    return text


def interrupt(*_, **__):
    """Replace a function that is interrupted by Ctrl-C at once."""
    raise KeyboardInterrupt


def environment():
    """Return the environment of a process on a terminal."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return os.environ | threads | {"PYTHONPATH": str(SOURCE), "TERM": "xterm", "COLUMNS": "150"}


def run_process(*arguments, code=None):
    """Run a command, or Python code, in a process of its own."""
    command = ["-c", code] if code else ["-m", "frobmetric", *arguments]
    return subprocess.run(
        [sys.executable, *command], env=environment(), capture_output=True, text=True
    )


def press_ctrl_c(arguments, pattern):
    """Run a command on a terminal, and press Ctrl-C when the progress line shows the pattern.

    Returns
    -------
    exit code, text on the terminal, JSON object on stdout
    """
    terminal, stderr = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "frobmetric", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(),
        # a test run in the background of a shell would hand on that SIGINT is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(stderr)
    try:
        seen = read_until(terminal, pattern)
        child.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        answer = json.loads(child.communicate()[0])
    finally:
        child.kill()
        os.close(terminal)
    return child.returncode, seen.decode(), answer


def read_until(terminal, pattern):
    """Return what a terminal shows until the pattern is seen, or to its end."""
    seen = b""
    while pattern is None or not re.search(pattern, seen):
        try:
            more = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other side is closed
            more = b""
        if not more:
            assert pattern is None, f"the process ended early: {seen.decode()}"
            break
        seen += more
    return seen
