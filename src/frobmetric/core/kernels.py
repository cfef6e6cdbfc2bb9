"""The hot loops of the constraints: NumPy as reference, numba if it is installed.

Everything runs in blocks: memory stays bounded, and large work is shared by threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .points import Array, Data, Index, Symmetric, Vector
from .threads import each_block, map_blocks
from .warning import warn_user

#: Numbers that a block of rows may hold: it should stay in cache.
BLOCK = 1 << 18
#: Numbers that an intermediate result may hold.
CHUNK = 1 << 23
#: Columns of a large product that one thread computes at a time.
COLUMNS = 256
#: Points of a tile, points of a group of it, and rows that are multiplied with a tile together.
WIDTH, GROUP, ROWS = 64, 16, 6


def image(X: Data, L: Array) -> Array:
    """Return X @ L."""
    if sp.issparse(X):
        return X @ L
    result = np.empty((X.shape[0], L.shape[1]))

    def multiply(rows: slice) -> None:
        np.dot(X[rows], L, out=result[rows])

    map_blocks(multiply, X.shape[0], _rows_of(X), 2.0 * X.size * L.shape[1])
    return result


def pair_products(P: Data, Q: Data, first: Index, second: Index) -> Vector:
    """Return (P[i] - P[j]) . (Q[i] - Q[j]) for each pair (i, j).

    Differences are taken before products: the expansion |p|^2 + |q|^2 - 2 p.q would cancel.
    """
    products = np.empty(len(first))
    fast = None if sp.issparse(P) or sp.issparse(Q) else compiled()

    def multiply(rows: slice) -> None:
        if fast:
            fast.difference_products(P, Q, first[rows], second[rows], products[rows])
            return
        left = _differences(P, first[rows], second[rows])
        right = left if Q is P else _differences(Q, first[rows], second[rows])
        np.einsum("ij,ij->i", left, right, out=products[rows])

    map_blocks(multiply, len(first), _rows_of(P), 20.0 * len(first) * P.shape[1])
    return products


def cross_distances(P: Array, Q: Array, first: Index, second: Index) -> Vector:
    """Return |P[i] - Q[j]|^2 for each pair (i, j), in this thread."""
    values = np.empty(len(first))
    is_large = len(first) * P.shape[1] >= BLOCK  # small work is done before numba is imported
    fast = compiled() if is_large and P.dtype == Q.dtype == np.float64 else None
    if fast:
        fast.cross_distances(P, Q, first, second, values)
        return values
    step = max(1, BLOCK // max(1, P.shape[1]))
    for start in range(0, len(first), step):
        rows = slice(start, start + step)
        away = P[first[rows]].astype(np.float64, copy=False)
        away = np.subtract(away, Q[second[rows]], out=away)
        np.einsum("ij,ij->i", away, away, out=values[rows])
    return values


def laplacian_product(X: Data, indptr: Index, indices: Index, weights: Vector) -> Symmetric:
    """Return X.T @ (Deg - W - W.T) @ X; W is in CSR form, Deg its row sums plus column sums.

    This is the sum of W_ij (x_i - x_j)(x_i - x_j).T over the stored pairs, at the cost of one
    sparse product and one n D^2 product, however many triplets the weights stand for.
    """

    def multiply(rows: slice, moved: Data) -> Symmetric:
        half = X[rows].T @ moved
        return half.toarray() if sp.issparse(half) else half

    flops = 2.0 * X.shape[0] * X.shape[1] ** 2
    half: Data = np.zeros((X.shape[1], X.shape[1]))
    for part in _each_laplacian(multiply, X, indptr, indices, weights, flops):
        half += part
    return half + half.T


def laplacian_diagonal(X: Array, indptr: Index, indices: Index, weights: Vector) -> Vector:
    """Return the diagonal of `laplacian_product`, without the n D^2 product; X is dense."""

    def multiply(rows: slice, moved: Array) -> Vector:
        return np.einsum("ij,ij->j", X[rows], moved)

    flops = 2.0 * (len(indices) + X.shape[0]) * X.shape[1]
    parts = _each_laplacian(multiply, X, indptr, indices, weights, flops)
    return 2 * np.sum(list(parts), axis=0)


def _each_laplacian(
    work: Callable[[slice, Any], Any],
    X: Data,
    indptr: Index,
    indices: Index,
    weights: Vector,
    flops: float,
) -> Iterator[Any]:
    """Yield `work` of each block of rows, with these rows of (Deg / 2 - W) @ X."""
    n = X.shape[0]
    rows_of_pairs = np.repeat(np.arange(n), np.diff(indptr))
    degree = np.bincount(rows_of_pairs, weights, n) + np.bincount(indices, weights, n)
    fast = None if sp.issparse(X) else compiled()
    W: Any = None if fast else sp.csr_array((weights, indices, indptr), shape=(n, n))

    def multiply(rows: slice) -> Any:
        if fast:
            moved = np.empty((rows.stop - rows.start, X.shape[1]))
            fast.laplacian_rows(X, indptr, indices, weights, degree, rows.start, moved)
        else:
            moved = _scale_rows(X[rows], degree[rows] / 2) - W[rows] @ X
        return work(rows, moved)

    return each_block(multiply, n, _rows_of(X), flops)


def block_differences(X: Array, quadruplets: Index, block_of: Index) -> Array:
    """Return |x_c - x_d|^2 - |x_a - x_b|^2 in each block of features, for each row (a, b, c, d).

    `block_of` has the number of the block of each feature.
    """
    sizes, order = np.bincount(block_of), np.argsort(block_of, kind="stable")
    starts = np.cumsum(sizes) - sizes
    result, fast = np.empty((len(quadruplets), len(sizes))), compiled()

    def subtract(rows: slice) -> None:
        if fast:
            fast.block_differences(X, quadruplets[rows], block_of, result[rows])
            return
        a, b, c, d = quadruplets[rows].T
        near, far = X[a] - X[b], X[c] - X[d]
        products = np.take((far - near) * (far + near), order, axis=1)
        np.add.reduceat(products, starts, axis=1, out=result[rows])

    map_blocks(subtract, len(quadruplets), _rows_of(X), 20.0 * len(quadruplets) * X.shape[1])
    return result


def row_products(P: Array, Q: Array, indptr: Index, indices: Index) -> Vector:
    """Return P[i] . Q[j] for each stored entry (i, j) of a CSR pattern."""
    products, fast = np.empty(len(indices)), compiled()
    first = np.repeat(np.arange(P.shape[0]), np.diff(indptr))

    def multiply(rows: slice) -> None:
        if fast:
            fast.row_products(P, Q, first[rows], indices[rows], products[rows])
        else:
            left, right = P[first[rows]], Q[indices[rows]]
            np.einsum("ij,ij->i", left, right, out=products[rows])

    map_blocks(multiply, len(indices), _rows_of(P), 20.0 * len(indices) * P.shape[1])
    return products


def cross_product(P: Array, indptr: Index, indices: Index, weights: Vector, Q: Array) -> Array:
    """Return P.T @ W @ Q; W is in CSR form, of shape (rows of P, rows of Q).

    The smaller of the two sets should be P: the dense product has as many terms as P has rows.
    """
    total = np.zeros((P.shape[1], Q.shape[1]))
    n_rows = max(1, CHUNK // max(1, Q.shape[1]))
    for start in range(0, P.shape[0], n_rows):
        rows = slice(start, min(start + n_rows, P.shape[0]))
        entries = slice(indptr[rows.start], indptr[rows.stop])
        part = indptr[rows.start : rows.stop + 1] - entries.start
        moved = _combined_rows(part, indices[entries], weights[entries], Q)
        _add_product(P[rows], moved, total)
    return total


def _combined_rows(indptr: Index, indices: Index, weights: Vector, Q: Array) -> Array:
    """Return W @ Q; W is in CSR form."""
    n, fast = len(indptr) - 1, compiled()
    W: Any = None if fast else sp.csr_array((weights, indices, indptr), shape=(n, Q.shape[0]))
    result = np.zeros((n, Q.shape[1]))

    def combine(rows: slice) -> None:
        if fast:
            fast.weighted_rows(Q, indptr, indices, weights, rows.start, result[rows])
        else:
            result[rows] = W[rows] @ Q

    map_blocks(combine, n, _rows_of(Q), 20.0 * len(indices) * Q.shape[1])
    return result


def _add_product(P: Array, Q: Array, total: Array) -> None:
    """Add P.T @ Q to the total; each thread has rows of its own there, so no sum is held twice."""

    def multiply(columns: slice) -> None:
        total[columns] += P[:, columns].T @ Q

    map_blocks(multiply, P.shape[1], COLUMNS, 2.0 * P.size * Q.shape[1])


class Compiled(NamedTuple):
    """The loops below and those of `tiles`, compiled by numba."""

    difference_products: Any
    laplacian_rows: Any
    row_products: Any
    weighted_rows: Any
    block_differences: Any
    cross_distances: Any
    least_of_groups: Any
    group_products: Any
    nearest_in_tiles: Any


@cache
def compiled() -> Compiled | None:
    """Return the compiled loops, None without numba; a numba that fails gives one warning."""
    try:
        import numba

        from . import tiles

        functions = *LOOPS, *tiles.LOOPS
        loops = Compiled(*(_compile(numba, function) for function in functions))
        one, rows = np.ones((1, 1)), np.zeros(1, dtype=np.intp)
        loops.difference_products(one, one, rows, rows, np.empty(1))
        loops.laplacian_rows(one, np.zeros(2, dtype=np.intp), rows, one[0], one[0], 0, one.copy())
        loops.row_products(one, one, rows, rows, np.empty(1))
        loops.weighted_rows(one, np.zeros(2, dtype=np.intp), rows, one[0], 0, one.copy())
        loops.block_differences(one, np.zeros((1, 4), dtype=np.intp), rows, one.copy())
        loops.cross_distances(one, one, rows, rows, np.empty(1))
        tiles.call(*loops[len(LOOPS) :])
        return loops
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != "numba":
            warn_user(
                f"numba is installed but does not work ({type(error).__name__}: {error}); using "
                "NumPy, which is slower",
                RuntimeWarning,
            )
        return None


def _compile(numba: Any, function: Any) -> Any:
    # no threads of numba's own: `map_blocks` calls the loops from ours, which survive a fork;
    # sums may be reordered, so that they vectorise, but infinities and NaN keep their meaning
    options = {"nogil": True, "fastmath": {"reassoc", "contract"}}
    try:
        return numba.njit(cache=True, **options)(function)
    except (RuntimeError, OSError, numba.core.errors.NumbaError):  # no folder to cache in
        return numba.njit(**options)(function)


def _difference_products(P: Any, Q: Any, first: Any, second: Any, products: Any) -> None:
    for r in range(len(first)):
        i, j, total = first[r], second[r], 0.0
        for k in range(P.shape[1]):
            total += (P[i, k] - P[j, k]) * (Q[i, k] - Q[j, k])
        products[r] = total


def _laplacian_rows(
    X: Any, indptr: Any, indices: Any, weights: Any, degree: Any, start: Any, rows: Any
) -> None:
    for i in range(len(rows)):
        for k in range(X.shape[1]):
            rows[i, k] = 0.5 * degree[start + i] * X[start + i, k]
        for p in range(indptr[start + i], indptr[start + i + 1]):
            weight, j = weights[p], indices[p]
            if weight != 0.0:
                for k in range(X.shape[1]):
                    rows[i, k] -= weight * X[j, k]


def _block_differences(X: Any, quadruplets: Any, block_of: Any, differences: Any) -> None:
    for r in range(len(quadruplets)):
        a, b = quadruplets[r, 0], quadruplets[r, 1]
        c, d = quadruplets[r, 2], quadruplets[r, 3]
        differences[r] = 0.0
        for k in range(X.shape[1]):
            near, far = X[a, k] - X[b, k], X[c, k] - X[d, k]
            # as a product: equal distances have the difference zero, without rounding
            differences[r, block_of[k]] += (far - near) * (far + near)


def _row_products(P: Any, Q: Any, first: Any, second: Any, products: Any) -> None:
    for r in range(len(first)):
        i, j, total = first[r], second[r], 0.0
        for k in range(P.shape[1]):
            total += P[i, k] * Q[j, k]
        products[r] = total


def _weighted_rows(Q: Any, indptr: Any, indices: Any, weights: Any, start: Any, rows: Any) -> None:
    for i in range(len(rows)):
        for p in range(indptr[start + i], indptr[start + i + 1]):
            weight, j = weights[p], indices[p]
            if weight != 0.0:
                for k in range(Q.shape[1]):
                    rows[i, k] += weight * Q[j, k]


def _cross_distances(P: Any, Q: Any, first: Any, second: Any, values: Any) -> None:
    for r in range(len(first)):
        i, j, total = first[r], second[r], 0.0
        for k in range(P.shape[1]):
            total += (P[i, k] - Q[j, k]) * (P[i, k] - Q[j, k])
        values[r] = total


#: Loops that numba compiles, in the order of `Compiled`; those of `tiles` follow.
LOOPS = (
    *(_difference_products, _laplacian_rows, _row_products, _weighted_rows),
    *(_block_differences, _cross_distances),
)


def _rows_of(X: Data) -> int:
    return max(1, BLOCK // max(1, X.shape[1]))


def _differences(P: Data, first: Index, second: Index) -> Array:
    difference = P[first] - P[second]
    return difference.toarray() if sp.issparse(difference) else difference


def _scale_rows(X: Data, factors: Vector) -> Data:
    return sp.diags_array(factors) @ X if sp.issparse(X) else factors[:, None] * X
