"""How many BLAS threads work deserves.

Waking BLAS threads for small work costs more than they save; on a busy machine a hundredfold,
because they wait for each other by spinning. A solver therefore runs in `one_thread`, and the
few large products inside it ask for the others back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Floating-point operations below which work is small: some milliseconds of one core.
SMALL_WORK = 1e8

#: What BLAS had before `one_thread`, None outside of it.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS works in one thread here, but for `threads_for` large work."""
    if _granted.get() is not None:
        yield
        return
    token = _granted.set(max((lib.num_threads for lib in _blas().lib_controllers), default=1))
    try:
        with _limit(1):
            yield
    finally:
        _granted.reset(token)


def threads_for(flops: float) -> AbstractContextManager[Any]:
    """One BLAS thread for small work, as many as there were for large work."""
    granted = _granted.get()
    if flops > SMALL_WORK:
        return nullcontext() if granted is None else _limit(granted)
    return _limit(1) if granted is None else nullcontext()


def _limit(n: int) -> AbstractContextManager[Any]:
    return _blas().limit(limits=n)


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process; looking them up costs milliseconds, so once."""
    return ThreadpoolController().select(user_api="blas")
