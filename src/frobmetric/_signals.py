"""Signals that end a command, Ctrl-C and SIGTERM: one line, and exit code 130 or 143.

Inside a command, both raise KeyboardInterrupt, so that what was reached can be saved. Outside,
while modules are imported or the process ends, they end it at once: an exception could be lost.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Signals, and what they do to a command, in one word.
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

#: The last signal that a command got.
_received: list[int] = []


def end_at_once() -> None:
    """Let the signals end this process at once; processes that nobody is to interrupt stay so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let the signals raise KeyboardInterrupt in this block, if they would end the process."""
    is_main = threading.current_thread() is threading.main_thread()
    ours = [each for each in SIGNALS if is_main and signal.getsignal(each) is _end]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _end)


def describe() -> tuple[str, int]:
    """Return what the last signal did to the command, in one word, and the exit code for it."""
    number = _received[-1] if _received else signal.SIGINT
    return SIGNALS[signal.Signals(number)], 128 + number


def leave(code: int) -> None:
    """End this process with an exit code after a command that got a signal; else do nothing.

    If an interrupt comes while Python executes a text, as it does to define a named tuple during an
    import, Python remembers it as unhandled, and would end by SIGINT whatever the exit code is.
    """
    if _received:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end(number: int, frame: Any) -> None:
    # os.write, because a signal may come while a line is being printed
    os.write(2, f"error: {SIGNALS[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)


def _raise(number: int, frame: Any) -> None:
    _received.append(number)
    raise KeyboardInterrupt
