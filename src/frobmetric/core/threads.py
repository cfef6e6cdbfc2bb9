"""Threads: one for BLAS, and a pool of our own for large work.

The number of BLAS threads belongs to the whole process. Limits of threads that overlap in time are
therefore held in one list: the smallest of them applies, and when the last of them ends, BLAS has
the number of threads again that it had before the first.

BLAS threads wait for each other by spinning, which on a busy machine costs a hundredfold. A solver
therefore runs with one BLAS thread (`one_thread`), and large work is cut into blocks that a few
threads of our own take in turn (`map_blocks`). The cut does not depend on the number of threads, so
neither do these sums; decompositions, which BLAS threads share, are rounded differently.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

#: Floating-point operations below which work is small: some milliseconds of one core.
SMALL_WORK = 5e7
#: Blocks that wait for each thread, so that none is idle.
AHEAD = 4
#: An eigen-decomposition, which cannot be cut, gets BLAS threads from this order on.
LARGE_ORDER = 400

#: Number of threads that work may have inside `one_thread`, None outside of it.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)
#: Limit of the caller, which other threads of the process do not have.
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread; `map_blocks` then has as many threads as BLAS had."""
    if _granted.get() is not None:
        yield
        return
    token = _granted.set(_n_threads())
    _limits.change(add=1)
    try:
        yield
    finally:
        _limits.change(remove=1)
        _granted.reset(token)


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Limit BLAS, and the threads of our own, to this many threads."""
    token = _allowed.set(min(n_threads, _allowed.get() or n_threads))
    _limits.change(add=n_threads)
    try:
        yield
    finally:
        _limits.change(remove=n_threads)
        _allowed.reset(token)


@contextmanager
def threads_for_order(n: int) -> Iterator[None]:
    """Give BLAS the threads for a decomposition of this order."""
    if n < LARGE_ORDER:
        with one_thread():
            yield
        return
    n_threads, own = _n_threads(), None if _granted.get() is None else 1
    _limits.change(add=n_threads, remove=own)
    try:
        yield
    finally:
        _limits.change(add=own, remove=n_threads)


class _Limits:
    """The limits of all threads of the process, and what BLAS had before the first of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: list[int] = []
        self._before: list[int] = []

    def change(self, add: int | None = None, remove: int | None = None) -> None:
        """Add a limit and remove another in one step, and set BLAS to the smallest of all."""
        with self._lock:
            libraries = _blas().lib_controllers
            if not self._held:
                self._before = [library.num_threads for library in libraries]
            if add is not None:
                self._held.append(add)
            if remove is not None:
                self._held.remove(remove)
            smallest = min(self._held, default=None)
            for library, before in zip(libraries, self._before, strict=True):
                _set_threads(library, before if smallest is None else min(before, smallest))

    def unlimited(self) -> int:
        """Return the number of threads that BLAS has without these limits."""
        with self._lock:
            now = [library.num_threads for library in _blas().lib_controllers]
            return max(self._before if self._held else now, default=1)


_limits = _Limits()


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the threads of a BLAS library; the lock of the limits is held."""
    # threadpoolctl 3.8 ignores all threads but the first one that asks, until that is forgotten
    forget = getattr(library, "clear_controlling_thread", lambda force: None)
    forget(force=True)
    library.set_num_threads(n_threads)
    forget(force=True)


def map_blocks(
    work: Callable[[slice], Result], n_rows: int, block: int, flops: float
) -> list[Result]:
    """Call `work` for each block of rows, in threads if it is large; return results in order."""
    return list(each_block(work, n_rows, block, flops))


def each_block(
    work: Callable[[slice], Result], n_rows: int, block: int, flops: float
) -> Iterator[Result]:
    """Yield the results of `map_blocks` in order; few are held at a time, as they may be large."""
    blocks = [slice(start, min(start + block, n_rows)) for start in range(0, n_rows, block)]
    with one_thread():
        n_threads = min(_n_threads(), len(blocks))
        if n_threads < 2 or flops < SMALL_WORK:
            yield from map(work, blocks)
            return
        pool = ThreadPoolExecutor(n_threads)
        try:
            waiting: deque[Future[Result]] = deque()
            for rows in blocks:
                waiting.append(pool.submit(work, rows))
                if len(waiting) > AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C, blocks that wait are not begun


def _n_threads() -> int:
    """Return the number of threads that the caller may use, whatever others do meanwhile."""
    return _granted.get() or min(_limits.unlimited(), _allowed.get() or sys.maxsize)


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS libraries of this process, looked up once, because it takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")
