"""One BLAS thread for small work: waking the others would cost more than they save.

On a busy machine the difference is a hundredfold, because BLAS threads wait for each other
by spinning.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Floating-point operations below which work is small: some milliseconds of one core.
SMALL_WORK = 1e8


def blas_threads(flops: float) -> AbstractContextManager[Any]:
    """Inside this context BLAS uses one thread if the work is small, its own choice otherwise."""
    if flops > SMALL_WORK:
        return nullcontext()
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process; looking them up costs milliseconds, so once."""
    return ThreadpoolController()
