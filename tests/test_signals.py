"""Exit codes of processes that a signal ended."""

import subprocess
import sys

import pytest

#: A program that gets a signal while Python executes a text, and catches the interrupt.
PROGRAM = """
import os, signal, sys
from frobmetric._signals import as_interrupts, describe, end_at_once, leave

end_at_once()
try:
    with as_interrupts():
        exec("os.kill(os.getpid(), getattr(signal, sys.argv[1])); signal.pause()")
except KeyboardInterrupt:
    print("caught")
    leave(describe()[1])
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_in_a_text_has_the_exit_code_of_its_signal(tmp_path, name, code):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "program", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "caught\n", "")


def test_without_a_signal_nothing_ends(tmp_path):
    program = "from frobmetric._signals import leave; leave(3); print('on')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "on\n")
