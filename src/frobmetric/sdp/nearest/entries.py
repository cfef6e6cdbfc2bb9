"""Constraints on single entries of a correlation matrix, and weighted norms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks.arguments import as_symmetric, refuse_where
from ...core import PSD, Constraints, Hard
from ...core.checks import MOST, as_array, as_finite
from ...core.points import Array, Index, Point, Rows, Symmetric, Vector, as_dense
from ...core.threads import threads_for_order


class EntryRows(NamedTuple):
    """Entries (i, j) and the hard rows on them; the first n are the diagonal."""

    i: Index
    j: Index
    loss: Hard

    def of(self, M: Symmetric) -> Vector:
        """Return the entries of M."""
        return M[self.i, self.j]

    def violation(self, M: Symmetric) -> Vector:
        """Return by how much M breaks each row, relative to 1 + |target|."""
        return self.loss.violation(self.of(M))


class Norm(NamedTuple):
    """|W^(1/2) D W^(1/2)|_F: W^(1/2), its inverse, and the sum of |W|; vectors are diagonal."""

    root: Array
    inverse: Array
    size: float


class ScaledEntries(Constraints):
    """Constraints whose row r is the entry (i_r, j_r) of K M K; a vector K is a diagonal matrix."""

    def __init__(self, i: Index, j: Index, K: Array) -> None:
        self.i, self.j, self.K = i, j, K
        self.shape = (len(i), len(K))
        self._is_diagonal = K.ndim == 1  # then entries are scaled one by one
        self._scale = K[i] * K[j] if self._is_diagonal else 1.0

    def forward(self, M: Point | Symmetric) -> Vector:
        X = as_dense(M) if self._is_diagonal else congruence(self.K, as_dense(M))
        return self._scale * X[self.i, self.j]

    def adjoint(self, u: Vector) -> Symmetric:
        n = self.shape[1]
        half: Any = np.bincount(self.i * n + self.j, self._scale * u / 2, n * n)
        whole = half.reshape(n, n) + half.reshape(n, n).T
        return whole if self._is_diagonal else congruence(self.K, whole)

    def restrict(self, rows: Rows) -> ScaledEntries:
        return ScaledEntries(self.i[rows], self.j[rows], self.K)

    def norms(self) -> Vector:
        gram = congruence(self.K, np.eye(self.shape[1]))
        lengths = np.diagonal(gram)
        return np.sqrt((lengths[self.i] * lengths[self.j] + gram[self.i, self.j] ** 2) / 2)


def congruence(K: Array, A: Symmetric) -> Symmetric:
    """Return K A K; a vector K is a diagonal matrix."""
    if K.ndim == 1:
        return K[:, None] * A * K
    with threads_for_order(len(A)):
        return K @ A @ K


def as_elementwise(elementwise: Any, shape: tuple[int, ...]) -> Array:
    """Return the weights H of |H o (X - G)|_F."""
    H = as_symmetric(elementwise, name="elementwise")
    if H.shape != shape:
        raise ValueError(f"elementwise has shape {H.shape} and G has {shape}; they must be equal")
    wrong = "is negative; weights are 0 or more"
    refuse_where(H < 0, lambda i, j: f"elementwise[{i}, {j}] = {H[i, j]:g} {wrong}")
    return H


def as_norm(weights: Any, n: int) -> Norm:
    """Return the norm of a positive vector or a positive definite matrix; Frobenius for None."""
    w = np.ones(n) if weights is None else as_array(weights, name="weights")
    if w.shape == (n,):
        expected, is_valid = "weights must be positive and finite", np.isfinite(w) & (w > 0)
        refuse_where(~is_valid, lambda k: f"weights[{k}] = {w[k]:g}; {expected}")
        with np.errstate(over="ignore"):
            as_finite(np.append(w, 1 / w), name="weights or one over them", most=MOST)
        return Norm(np.sqrt(w), 1 / np.sqrt(w), float(w.sum()))
    if w.shape != (n, n):
        raise ValueError(f"weights has shape {w.shape}; expected ({n},) or ({n}, {n})")
    pairs = PSD(n).split(as_symmetric(w, name="weights"))
    if not pairs.values[0] > n * np.finfo(float).eps * pairs.values[-1]:
        raise ValueError(
            f"weights has the eigenvalue {pairs.values[0]:.3g}; W must be positive definite "
            "(for weights entry by entry use `elementwise`)"
        )
    root, inverse = ((pairs.vectors * pairs.values**p) @ pairs.vectors.T for p in (0.5, -0.5))
    return Norm(root, inverse, float(np.abs(w).sum()))


def as_rows(G: Symmetric, bounds: Any, fixed: Any, unit: float) -> EntryRows:
    """Return rows for the diagonal, the entries with one value, and bounds that some X break."""
    n = len(G)
    if bounds is not None and (not isinstance(bounds, tuple | list) or len(bounds) != 2):
        raise ValueError("bounds must be a pair (lower, upper); None in it is no bound")
    low, high = bounds or (None, None)
    lower, upper = _as_bounds("lower", low, -np.inf, n), _as_bounds("upper", high, np.inf, n)
    is_fixed = _as_mask(fixed, n)
    _check_entries(G, lower, upper, is_fixed, unit)
    lower, upper = np.where(is_fixed, G, lower), np.where(is_fixed, G, upper)
    is_equal = lower == upper
    parts = [(np.arange(n), np.arange(n), np.full(n, unit), np.zeros(n))]
    for mask, value, sense in (
        (is_equal, lower, 0.0),
        (~is_equal & (lower > -unit), lower, 1.0),
        (~is_equal & (upper < unit), upper, -1.0),
    ):
        i, j = np.nonzero(np.triu(mask, 1))
        parts.append((i, j, value[i, j], np.full(len(i), sense)))
    i, j, target, senses = (np.concatenate(column) for column in zip(*parts, strict=True))
    return EntryRows(i, j, Hard(target, senses))


def _as_bounds(name: str, value: Any, none: float, n: int) -> Array:
    """Return a symmetric matrix of bounds, infinite where there is none."""
    bound = as_array(none if value is None else value, name=name)
    if bound.ndim and bound.shape != (n, n):
        raise ValueError(f"the {name} bounds have shape {bound.shape}; give a number or ({n}, {n})")
    bound = np.broadcast_to(np.where(np.isnan(bound), none, bound), (n, n))
    wrong = (
        f"the {name} bounds are not symmetric: {{:g}} at ({{}}, {{}}) and {{:g}} at ({{}}, {{}})"
    )
    refuse_where(bound != bound.T, lambda i, j: wrong.format(bound[i, j], i, j, bound[j, i], j, i))
    return bound


def _as_mask(fixed: Any, n: int) -> Any:
    """Return a symmetric mask of the fixed entries."""
    mask, given = np.zeros((n, n), dtype=bool), np.asarray(() if fixed is None else fixed)
    if given.dtype == bool:
        if given.shape != (n, n):
            raise ValueError(f"fixed has shape {given.shape}; a mask must have ({n}, {n})")
        mask |= given
    elif given.size:
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise ValueError(
                f"fixed has shape {given.shape} and type {given.dtype}; give a boolean mask or "
                "pairs of integers (i, j)"
            )
        is_valid = ((given >= 0) & (given < n)).all(axis=1) & (given[:, 0] != given[:, 1])
        expected = f"must be two different numbers below {n}; the diagonal is 1 anyway"
        refuse_where(~is_valid, lambda k: f"fixed[{k}] = {tuple(given[k].tolist())} {expected}")
        mask[given[:, 0], given[:, 1]] = True
    return mask | mask.T


def _check_entries(G: Symmetric, lower: Array, upper: Array, is_fixed: Any, unit: float) -> None:
    """Refuse bounds and fixed entries that no correlation matrix has."""
    off_diagonal = ~np.eye(len(G), dtype=bool)
    limit = f"{unit:g}, the most that a correlation can be here"
    for is_wrong, message in (
        (lower > upper, "the bounds cross at {0}: {2:g} > {3:g}"),
        (is_fixed & ~(abs(G) <= unit), f"the fixed entry G{{0}} = {{1:g}} is not within {limit}"),
        (is_fixed & ((lower > G) | (upper < G)), "the fixed entry G{0} = {1:g} breaks its bounds"),
        (lower > unit, f"the lower bound {{2:g}} at {{0}} is above {limit}"),
        (upper < -unit, f"the upper bound {{3:g}} at {{0}} is below -{limit}"),
    ):
        if (places := np.argwhere(is_wrong & off_diagonal)).size:
            i, j = places[0].tolist()
            raise ValueError(message.format([i, j], G[i, j], lower[i, j], upper[i, j]))
