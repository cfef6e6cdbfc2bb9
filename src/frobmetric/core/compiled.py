"""The hot loops compiled by numba; same arguments and results as the NumPy ones in `kernels`.

No threads of numba's own: `map_blocks` calls these from ours, which survive a fork.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.errors import NumbaError

# sums may be reordered, so that they vectorise; infinities and NaN keep their meaning
_FAST = {"reassoc", "contract"}


def _compile(function: Any) -> Any:
    try:
        return njit(nogil=True, cache=True, fastmath=_FAST)(function)
    except (RuntimeError, OSError, NumbaError):  # no folder to cache in
        return njit(nogil=True, fastmath=_FAST)(function)


@_compile
def difference_products(P, Q, first, second, products):  # type: ignore[no-untyped-def]
    for r in range(len(first)):
        i, j, total = first[r], second[r], 0.0
        for k in range(P.shape[1]):
            total += (P[i, k] - P[j, k]) * (Q[i, k] - Q[j, k])
        products[r] = total


@_compile
def laplacian_rows(X, indptr, indices, weights, degree, start, rows):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for k in range(X.shape[1]):
            rows[i, k] = 0.5 * degree[start + i] * X[start + i, k]
        for p in range(indptr[start + i], indptr[start + i + 1]):
            weight, j = weights[p], indices[p]
            if weight != 0.0:
                for k in range(X.shape[1]):
                    rows[i, k] -= weight * X[j, k]
