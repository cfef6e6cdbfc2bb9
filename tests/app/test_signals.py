"""Exit codes of processes that a signal ended, and signals whose exception would be lost."""

import os
import shlex
import subprocess
import sys

import pytest

#: A program that gets a signal while Python executes a text, and catches the interrupt.
PROGRAM = """
import os, signal, sys
from frobmetric.app.signals import as_interrupts, describe, end_at_once, leave

end_at_once()
try:
    with as_interrupts():
        exec("os.kill(os.getpid(), getattr(signal, sys.argv[1])); signal.pause()")
except KeyboardInterrupt:
    print("caught")
    leave(describe()[1])
"""


#: Begins a program that gets a signal in a callback of ctypes, which cannot raise, and goes on.
BEGIN = """
import ctypes, os, signal, sys, time
from frobmetric.app.signals import as_interrupts, describe, end_at_once, leave

def get_signal():
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    for _ in range(1000):
        pass
    print("called to its end", flush=True)
"""
END = """
end_at_once()
began = time.monotonic()
try:
    with as_interrupts():
        work()
        while time.monotonic() < began + 60:
            time.sleep(1)
except KeyboardInterrupt:
    print("caught", time.monotonic() - began < 30)
    leave(describe()[1])
"""
CALLBACK = "work = ctypes.CFUNCTYPE(None)(get_signal)"
#: Functions of llvmlite are left alone until they are done: it would go on without their results.
IN_LLVMLITE = """
exec("def work(): get_signal()", module := {"get_signal": get_signal})
module["__name__"] = "llvmlite.binding.executionengine"
work = ctypes.CFUNCTYPE(None)(module["work"])
"""
FINALIZER = """
class Finalized:
    def __del__(self):
        get_signal()

def work():
    Finalized()
"""
#: Compiles a function, and gets the signal while llvmlite tells that it is compiled.
COMPILED = """
import numba

def signal_in_callback(frame, event, argument):
    if frame.f_code.co_name == "_raw_object_cache_notify" and event == "call":
        sys.setprofile(None)
        get_signal()

def work():
    sys.setprofile(signal_in_callback)
    numba.njit(lambda x: x + 1)(1)
"""
SIGNALS = [("SIGINT", 130), ("SIGTERM", 143)]


def run_program(folder, text, name):
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "program", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(("name", "code"), SIGNALS)
def test_an_interrupt_in_a_text_has_the_exit_code_of_its_signal(tmp_path, name, code):
    done = run_program(tmp_path, PROGRAM, name)
    assert (done.returncode, done.stdout, done.stderr) == (code, "caught\n", "")


@pytest.mark.parametrize(("name", "code"), SIGNALS)
def test_an_interrupt_that_a_callback_loses_comes_again(tmp_path, name, code):
    done = run_program(tmp_path, BEGIN + CALLBACK + END, name)
    assert (done.returncode, done.stdout, done.stderr) == (code, "caught True\n", "")


@pytest.mark.parametrize("work", [IN_LLVMLITE, FINALIZER])
@pytest.mark.parametrize(("name", "code"), SIGNALS)
def test_functions_that_cannot_raise_are_not_interrupted(tmp_path, work, name, code):
    done = run_program(tmp_path, BEGIN + work + END, name)
    said = "called to its end\ncaught True\n"
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


@pytest.mark.slow
def test_compilation_can_be_interrupted(tmp_path):
    pytest.importorskip("numba")
    done = run_program(tmp_path, BEGIN + COMPILED + END, "SIGINT")
    said = "called to its end\ncaught True\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, said, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("use", ["say('x')", "sys.stderr.write('x')"])
def test_a_full_stderr_does_not_change_the_end(use):
    program = (
        "import sys\nfrom frobmetric.app.signals import leave\n"
        f"from frobmetric.app.cli.terminal import say\n{use}\nprint('done')\nleave(4)"
    )
    command, env = [sys.executable, "-c", program], os.environ | {"PYTHONUNBUFFERED": ""}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, env=env)
    assert (done.returncode, done.stdout) == (4, "done\n")


@pytest.mark.skipif(os.name != "posix", reason="shells close files otherwise")
@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [(">&-", "--version", 0), ("2>&-", "--version", 0), ("2>&-", "evaluate no.csv -t y", 3)],
)
def test_closed_streams_do_not_change_the_end(closed, arguments, code):
    command = f"{shlex.quote(sys.executable)} -m frobmetric {arguments} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")


#: A command in which other code takes the interrupt for an error of its own.
MISTAKEN = """
import os, signal, sys
from typer import Exit
from frobmetric.app.signals import end_at_once, leave
from frobmetric.app.cli.terminal import reports

@reports
def command(as_json):
    try:
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        signal.pause()
    except KeyboardInterrupt:
        raise AttributeError("no read") from None

end_at_once()
try:
    command(as_json=False)
except Exit as end:
    leave(end.exit_code)
"""


@pytest.mark.parametrize(("name", "code"), SIGNALS)
def test_an_interrupt_that_other_code_takes_for_an_error(tmp_path, name, code):
    done = run_program(tmp_path, MISTAKEN, name)
    said = {130: "error: interrupted; no read\n", 143: "error: terminated; no read\n"}
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said[code])


def test_other_exceptions_that_cannot_be_raised_are_reported(tmp_path):
    text = BEGIN + "work = ctypes.CFUNCTYPE(None)(lambda: 1 / 0)\nend_at_once()\n"
    done = run_program(tmp_path, text + "with as_interrupts():\n    work()\n", "SIGINT")
    assert done.returncode == 0
    assert "ZeroDivisionError" in done.stderr


def test_a_command_leaves_with_what_it_said_and_after_what_is_due_at_the_end():
    program = (
        "import atexit\nfrom frobmetric.app.signals import leave\n"
        "atexit.register(print, 'at the end')\nprint('said', end=' ')\nleave(3)\nprint('on')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said at the end\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(("code", "expected"), [(0, 3), (4, 4)])
def test_what_cannot_be_written_at_the_end_is_said(code, expected):
    program = f"from frobmetric.app.signals import leave\nprint('x')\nleave({code})"
    command, env = [sys.executable, "-c", program], os.environ | {"PYTHONUNBUFFERED": ""}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=env)
    assert done.returncode == expected
    assert done.stderr.startswith("error: ")
    assert "space" in done.stderr
