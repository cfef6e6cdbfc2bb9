"""Progress reports: workers publish how much is done; nothing is shown unless someone listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

#: Function of the name of a work and its share that is done.
Listener = Callable[[str, float], None]


class Work:
    """Work of known size in a unit; several threads may do parts of it."""

    def __init__(self, name: str, total: float, unit: str, listener: Listener | None) -> None:
        self.name, self.total, self.unit, self.done = name, total, unit, 0.0
        self._listener, self._lock = listener, Lock()

    def advance(self, amount: float) -> None:
        """Report a part as done."""
        if self._listener is not None:
            with self._lock:
                self.done += amount
                self._listener(self.name, min(1.0, self.done / self.total))


_silent = Work("", 1.0, "", None)
_listener: Listener | None = None
_current: Work = _silent
_stage: str = ""


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Call a listener, from any thread, with the name and share of each work in this block."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


@contextmanager
def working(name: str, total: float, unit: str) -> Iterator[Work]:
    """Yield a work of this size; inside of another work it is silent, as a part of the other."""
    global _current
    if _listener is None or total <= 0 or _current is not _silent:
        yield _silent
        return
    _current = Work(_stage + name, total, unit, _listener)
    _listener(_current.name, 0.0)  # from now on its time counts
    try:
        yield _current
    finally:
        _current = _silent


@contextmanager
def stage(number: int, count: int) -> Iterator[None]:
    """Put the number of a stage before the names of the works in this block: "2 of 4: name"."""
    global _stage
    before = _stage
    _stage = before or f"{number} of {count}: "  # a stage inside of a stage keeps the outer number
    try:
        yield
    finally:
        _stage = before


def current_stage() -> str:
    """Return the number of the current stage, such as "2 of 4: "; empty if there is none."""
    return _stage


def advance(amount: float, unit: str) -> None:
    """Report a part of the current work as done, if the work is counted in this unit."""
    if _current.unit == unit:
        _current.advance(amount)
