"""Signals that end a command, Ctrl-C and SIGTERM: one line, and exit code 130 or 143.

Inside a command, both raise KeyboardInterrupt, so that what was reached can be saved. Outside,
while modules are imported or the process ends, they end it at once: an exception could be lost.

An exception is lost inside a command too, where Python code is called that cannot hand it on: the
callbacks of ctypes, by which llvmlite compiles, and finalizers. A signal that comes there comes
again a moment later.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

#: Signals, and what they do to a command, in one word.
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
#: Seconds after which a signal comes again if an exception would be lost, or was.
PAUSE = 0.02
#: Modules whose functions are called by ctypes, and names of functions that cannot raise.
CALLED_BY_C, FINALIZERS = ("llvmlite.binding", "threadpoolctl"), ("__del__",)

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
    report = sys.unraisablehook
    if ours:
        sys.unraisablehook = lambda lost: _notice(lost, report)
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _end)
        sys.unraisablehook = report


def is_received() -> bool:
    """Return whether a command got a signal, even if its exception was lost."""
    return bool(_received)


def describe() -> tuple[str, int]:
    """Return what the last signal did to the command, in one word, and the exit code for it."""
    number = _received[-1] if _received else signal.SIGINT
    return SIGNALS[signal.Signals(number)], 128 + number


def leave(code: int) -> NoReturn:
    """End this process with an exit code, without freeing one by one what was imported.

    Python takes some tenths of a second for that after a fit, in which signals would be its own:
    no line, and no exit code. If an interrupt comes while it executes a text, as it does to define
    a named tuple during an import, it would also end by SIGINT whatever the exit code is.
    """
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads any more
        pass
    except OSError as error:
        _say(f"error: {error}")
        code = code or 3
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _end(number: int, frame: Any) -> None:
    _say(f"error: {SIGNALS[signal.Signals(number)]}")
    os._exit(128 + number)


def _say(line: str) -> None:
    """Write a line to stderr, also while another one is being printed."""
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


def _raise(number: int, frame: Any) -> None:
    if _would_be_lost(frame):
        _come_again(number)
        return
    _received.append(number)
    raise KeyboardInterrupt


def _would_be_lost(frame: Any) -> bool:
    """Return whether a function is running from which no exception reaches the command."""
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if frame.f_code.co_name in FINALIZERS or module.startswith(CALLED_BY_C):
            return True
        frame = frame.f_back
    return False


def _notice(lost: Any, report: Any) -> None:
    """Report an exception that Python cannot raise; an interrupt comes again instead."""
    if issubclass(lost.exc_type, KeyboardInterrupt) and _received:
        _come_again(_received[-1])
    else:
        report(lost)


def _come_again(number: int) -> None:
    """Send a signal to this process, a moment later."""
    # no Timer: it takes locks, which the code that the signal interrupted may hold
    _thread.start_new_thread(_send, (number,))


def _send(number: int) -> None:
    time.sleep(PAUSE)
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):  # it also ends waiting for a lock
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))
