"""Threads: one for BLAS, and a pool of our own for large work.

BLAS threads wait for each other by spinning, which on a busy machine costs a hundredfold. A solver
therefore runs with one BLAS thread (`one_thread`), and large work is cut into blocks that a few
threads of our own take in turn (`map_blocks`). The cut does not depend on the number of threads,
so neither do the results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

#: Floating-point operations below which work is small: some milliseconds of one core.
SMALL_WORK = 5e7
#: Blocks that wait for each thread, so that none is idle.
AHEAD = 4
#: An eigen-decomposition, which cannot be cut, gets BLAS threads from this order on.
LARGE_ORDER = 400

#: Number of threads that BLAS had before `one_thread`, None outside of it.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread; `map_blocks` then has as many threads as BLAS had."""
    if _granted.get() is not None:
        yield
        return
    token = _granted.set(_blas_threads())
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _granted.reset(token)


def threads_for_order(n: int) -> AbstractContextManager[Any]:
    """Give BLAS the threads for a decomposition of this order."""
    return _blas().limit(limits=_n_threads()) if n >= LARGE_ORDER else one_thread()


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
        with ThreadPoolExecutor(n_threads) as pool:
            waiting: deque[Future[Result]] = deque()
            for rows in blocks:
                waiting.append(pool.submit(work, rows))
                if len(waiting) > AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def _n_threads() -> int:
    return _granted.get() or _blas_threads()


def _blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS libraries of this process, looked up once, because it takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")
