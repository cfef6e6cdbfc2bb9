"""Work in a process of its own, which may hang, crash, or take all memory."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Signals that end a process, unless it does something else.
ENDING = (signal.SIGINT, signal.SIGTERM)
#: Bytes of addresses that a process may have: it ends before the machine suffers.
ADDRESSES = 6 << 30


@dataclass(frozen=True)
class Ending:
    """End of a process.

    `code` is the exit code, negative if a signal ended it; `peak` are the bytes of memory that it
    had at most, with all imported modules, and `is_late` tells whether its time was up.
    """

    code: int
    output: str
    errors: str
    seconds: float
    peak: int
    is_late: bool = False


def call(
    work: Callable[[], Any], seconds: float = 60.0, meanwhile: Callable[[int], Any] | None = None
) -> Ending:
    """Call a function in a fork of this process; an exception gives a traceback and code 1.

    `meanwhile` is called here with the number of the process as soon as it runs.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        sys.stderr.flush()
        began = time.monotonic()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # a fork is to be ready for them
        child = os.fork()
        if not child:
            _run(work, output.fileno(), errors.fileno())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if meanwhile is not None:
            meanwhile(child)
        status, usage, is_late = _wait(child, began + seconds)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    peak = usage.ru_maxrss * 1024
    code = os.waitstatus_to_exitcode(status)
    return Ending(code, *texts, usage.ru_utime + usage.ru_stime, peak, is_late)


def call_command(arguments: list[str], seconds: float = 60.0) -> Ending:
    """Call the command line in a fork of this process, which has imported it."""
    from frobmetric.app.cli import main

    def work():
        sys.argv = ["frobmetric", *map(str, arguments)]
        main()

    return call(work, seconds)


def _run(work, output, errors):
    """Do the work of a fork, and end it; signals end it at once unless the work handles them."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(errors, 2)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        code = _code_of(work)
    finally:  # whatever comes: a fork that went on would do the work of this process again
        os._exit(code)


def _code_of(work):
    """Do some work and return the exit code; an exception is printed."""
    try:
        work()
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _wait(child, until):
    """Return status and resources of a process, which is ended when its time is up."""
    is_late, pause = False, 0.002
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage, is_late
        if time.monotonic() > until and not is_late:
            is_late = True
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)


def resident():
    """Return the bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
