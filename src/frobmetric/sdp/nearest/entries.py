"""What is asked of single entries of a matrix, in which norm, and whether it makes sense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core import PSD, Hard, Point
from ...core.points import as_dense
from ...core.threads import threads_for_order
from ...core.types import Array, Index, Rows, Symmetric, Vector
from .covariance import as_symmetric, first


class EntryRows(NamedTuple):
    """Entries (i, j) and what is asked of them; the first n are the diagonal."""

    i: Index
    j: Index
    loss: Hard

    def of(self, M: Symmetric) -> Vector:
        return M[self.i, self.j]


class Norm(NamedTuple):
    """|W^(1/2) D W^(1/2)|_F: W^(1/2), its inverse, and the sum of |W|; vectors are diagonal."""

    root: Array
    inverse: Array
    size: float


class Entries:
    """Row r is the entry (i_r, j_r) of K M K; a vector K is a diagonal matrix."""

    def __init__(self, i: Index, j: Index, K: Array) -> None:
        self.i, self.j, self.K = i, j, K
        self.shape = (len(i), len(K))
        self._is_diagonal = K.ndim == 1  # then entries are scaled one by one
        self._scale = K[i] * K[j] if self._is_diagonal else 1.0

    def forward(self, M: Point | Symmetric) -> Vector:
        X = as_dense(M) if self._is_diagonal else around(self.K, as_dense(M))
        return self._scale * X[self.i, self.j]

    def adjoint(self, u: Vector) -> Symmetric:
        n = self.shape[1]
        half = np.bincount(self.i * n + self.j, self._scale * u / 2, n * n).reshape(n, n)
        whole = half + half.T
        return whole if self._is_diagonal else around(self.K, whole)

    def restrict(self, rows: Rows) -> Entries:
        return Entries(self.i[rows], self.j[rows], self.K)

    def as_sparse(self) -> None:
        return None

    def norms(self) -> Vector:
        gram = around(self.K, np.eye(self.shape[1]))
        lengths = np.diagonal(gram)
        return np.sqrt((lengths[self.i] * lengths[self.j] + gram[self.i, self.j] ** 2) / 2)


def around(K: Array, A: Symmetric) -> Symmetric:
    """K A K."""
    if K.ndim == 1:
        return K[:, None] * A * K
    with threads_for_order(len(A)):
        return K @ A @ K


def as_hadamard(elementwise: Any, shape: tuple[int, ...]) -> Array:
    H = as_symmetric("elementwise", elementwise)
    if H.shape != shape:
        raise ValueError(f"elementwise has shape {H.shape} and G has {shape}; they must be equal")
    if (H < 0).any():
        i, j = first(H < 0)
        raise ValueError(f"elementwise[{i}, {j}] = {H[i, j]:g} is negative; weights are 0 or more")
    return H


def as_norm(weights: Any, n: int) -> Norm:
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if w.shape == (n,):
        if not (np.isfinite(w) & (w > 0)).all():
            k = first(~(np.isfinite(w) & (w > 0)))[0]
            raise ValueError(f"weights[{k}] = {w[k]:g}; weights must be positive and finite")
        return Norm(np.sqrt(w), 1 / np.sqrt(w), float(w.sum()))
    if w.shape != (n, n):
        raise ValueError(f"weights has shape {w.shape}; expected ({n},) or ({n}, {n})")
    pairs = PSD(n).split(as_symmetric("weights", w))
    if not pairs.values[0] > n * np.finfo(float).eps * pairs.values[-1]:
        raise ValueError(
            f"weights has the eigenvalue {pairs.values[0]:.3g}; W must be positive definite "
            "(for weights entry by entry use `elementwise`)"
        )
    root, inverse = ((pairs.vectors * pairs.values**p) @ pairs.vectors.T for p in (0.5, -0.5))
    return Norm(root, inverse, float(np.abs(w).sum()))


def as_rows(G: Symmetric, bounds: Any, fixed: Any, unit: float) -> EntryRows:
    """The diagonal, the entries held at one value, and the bounds that not every X meets."""
    n = len(G)
    low, high = (None, None) if bounds is None else _pair(bounds)
    lower, upper = _limit("lower", low, -np.inf, n), _limit("upper", high, np.inf, n)
    held = _held(fixed, n)
    _check_entries(G, lower, upper, held, unit)
    lower, upper = np.where(held, G, lower), np.where(held, G, upper)
    same = lower == upper
    parts = [(np.arange(n), np.arange(n), np.full(n, unit), np.zeros(n))]
    for mask, value, sense in (
        (same, lower, 0.0),
        (~same & (lower > -unit), lower, 1.0),
        (~same & (upper < unit), upper, -1.0),
    ):
        i, j = np.nonzero(np.triu(mask, 1))
        parts.append((i, j, value[i, j], np.full(len(i), sense)))
    i, j, target, sense = (np.concatenate(column) for column in zip(*parts, strict=True))
    return EntryRows(i, j, Hard(target, sense))


def _pair(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError("bounds must be a pair (lower, upper); None in it is no bound")
    return bounds[0], bounds[1]


def _limit(name: str, value: Any, nothing: float, n: int) -> Array:
    limit = np.asarray(nothing if value is None else value, dtype=float)
    if limit.ndim and limit.shape != (n, n):
        raise ValueError(f"the {name} bounds have shape {limit.shape}; give a number or ({n}, {n})")
    limit = np.broadcast_to(np.where(np.isnan(limit), nothing, limit), (n, n))
    if not np.array_equal(limit, limit.T):
        i, j = first(limit != limit.T)
        raise ValueError(
            f"the {name} bounds are not symmetric: {limit[i, j]:g} at ({i}, {j}) and "
            f"{limit[j, i]:g} at ({j}, {i})"
        )
    return limit


def _held(fixed: Any, n: int) -> Array:
    """Which entries are fixed, as a symmetric mask."""
    mask, given = np.zeros((n, n), dtype=bool), np.asarray(() if fixed is None else fixed)
    if given.dtype == bool:
        if given.shape != (n, n):
            raise ValueError(f"fixed has shape {given.shape}; a mask must have ({n}, {n})")
        mask |= given
    elif given.size:
        i, j = _pairs(given, n).T
        mask[i, j] = True
    return mask | mask.T


def _pairs(given: Array, n: int) -> Index:
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"fixed has shape {given.shape} and type {given.dtype}; give a boolean mask or pairs "
            "of integers (i, j)"
        )
    wrong = (given < 0).any(axis=1) | (given >= n).any(axis=1) | (given[:, 0] == given[:, 1])
    if wrong.any():
        k = first(wrong)[0]
        raise ValueError(
            f"fixed[{k}] = {tuple(given[k].tolist())} must be two different numbers below {n}; the "
            "diagonal is 1 anyway"
        )
    return given


def _check_entries(G: Symmetric, lower: Array, upper: Array, held: Array, unit: float) -> None:
    off = ~np.eye(len(G), dtype=bool)
    most = f"{unit:g}, the most that a correlation can be here"
    for wrong, words in (
        (lower > upper, "the bounds cross at {0}: {2:g} > {3:g}"),
        (held & ~(np.abs(G) <= unit), f"the fixed entry G{{0}} = {{1:g}} is not within {most}"),
        (held & ((lower > G) | (upper < G)), "the fixed entry G{0} = {1:g} breaks its bounds"),
        (lower > unit, f"the lower bound {{2:g}} at {{0}} is above {most}"),
        (upper < -unit, f"the upper bound {{3:g}} at {{0}} is below -{most}"),
    ):
        if (wrong & off).any():
            at = first(wrong & off)
            raise ValueError(words.format(list(at), G[at], lower[at], upper[at]))
