"""Bounds on rounding errors, for certificates.

A sum of products in which no term is rounded more than n times has an error of at most `gamma(n)`
times the sum of the absolute products, in whatever order it is computed, with fused operations or
without, plus `TINY` for each operation that underflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Twice the relative error of one operation; the other half is for the rounding of the bounds.
EPS = 2.0**-52
#: Bound on the error of one operation that underflows, flushed to zero or not.
TINY = 2.0**-1022
#: Number of roundings of a term of `np.sum`, which adds in pairs, of up to 2^32 terms.
SUM = 64


def gamma(n_roundings: float) -> float:
    """Return the relative error of a term that is rounded so many times, infinity beyond 1 %."""
    return EPS * n_roundings if EPS * n_roundings < 0.01 else np.inf


def inner(a: Array, b: Array) -> tuple[float, float]:
    """Return the inner product of two arrays, and a bound on its error."""
    products = (a * b).ravel()
    size, n_terms = float(np.sum(np.abs(products))), min(map(np.count_nonzero, (a, b)))
    return float(np.sum(products)), gamma(SUM) * size + n_terms * TINY


def norm(a: Array) -> float:
    """Return a number that is not below the Frobenius norm and hardly above it."""
    largest = float(np.max(np.abs(np.asarray(a)), initial=0.0))
    if not 0 < largest < np.inf:
        return largest
    unit = 2.0 ** np.floor(np.log2(largest))  # squares of 1e-200 underflow
    scaled = (a / unit).ravel()
    return float(unit * np.sqrt(np.sum(scaled * scaled)) * (1 + gamma(SUM)))


def row_norms(X: Any) -> Array:
    """Return the norm of each row, dense or sparse, not below the true one; 0 if all are zeros."""
    if hasattr(X, "multiply"):
        n_terms = np.asarray((X != 0).sum(axis=1)).ravel()
        squares = np.asarray(X.multiply(X.astype(np.float64)).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        n_terms, is_zero = np.full(len(X), X.shape[1]), squares == 0  # or all squares underflow
        n_terms[is_zero] = np.count_nonzero(X[is_zero], axis=1)
    return np.sqrt(squares * (1 + gamma(n_terms.max(initial=0) + 4)) + n_terms * TINY)
