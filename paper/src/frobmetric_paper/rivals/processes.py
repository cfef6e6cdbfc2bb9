"""Processes of other programs, which end at a time limit with all that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

#: What tells numerical libraries how many threads to use.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


class RivalMissing(RuntimeError):
    """The rival is not installed; the message says what to do."""


class RivalFailed(RuntimeError):
    """The rival ended without an answer."""


class TimeLimitExceeded(RuntimeError):
    """The rival was ended at its time limit; `str` of it is what a table shows."""

    def __init__(self, limit):
        super().__init__(f"> {limit:g} s")
        self.limit = limit


def environment(threads):
    """The variables of a process whose numerical libraries have so many threads."""
    settings = {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))
    return os.environ | settings


def tail(told):
    """The end of what a program said."""
    return told[-2000:]


def run(command, limit, threads=None):
    """What a command writes to its standard error, the end of it.

    At the limit the command and all that it started are ended.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(threads),
        start_new_session=True,
    ) as process:
        try:
            _, told = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise TimeLimitExceeded(limit) from None
        finally:
            end(process)
    if process.returncode:
        raise RivalFailed(f"exit code {process.returncode} of {command[0]}: {tail(told)}")
    return tail(told)


def end(process):
    """End the process and those that it started: its session is its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:  # Windows has no groups of processes to end
            process.kill()
