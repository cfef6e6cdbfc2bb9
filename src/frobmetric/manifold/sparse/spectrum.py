"""Smallest eigenvalues of a weighted Laplacian, and the bounds that they prove.

For any w >= 0 the maximum variance is at most bᵀw / λ₂, with λ₂ the second eigenvalue of
L_w v = λ diag(m) v; with a Frobenius term it is at most bᵀw + sigma/2 Σ_k max(0, 1 - λ_k)². Where
the squared distances have to be equal to b, both hold for w of any sign.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ...core.points import Array, Vector
from .cholesky import Factor

DENSE = 120  #: number of points up to which a Laplacian is decomposed as a dense matrix
#: Relative distances from a computed eigenvalue at which its proof is tried, in this order.
MARGINS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


class Laplacian(Protocol):
    """Program on a graph, with the decompositions of its weighted Laplacians."""

    squared: Vector
    masses: Vector
    sigma: float
    n_points: int

    def dense_laplacian(self, weights: Vector) -> Array: ...
    def laplacian_factor(self, weights: Vector) -> Factor: ...
    def count_below(self, weights: Vector, level: float) -> int: ...


def smallest_eigenpairs(
    program: Laplacian, weights: Vector, n_pairs: int, tol: float = 1e-9
) -> tuple[Vector, Array]:
    """Return the smallest eigenpairs of L_w v = λ diag(m) v after the first, whose value is 0.

    Values ascend, up to the relative accuracy `tol`; vectors have Σ_i m_i v_i² = 1. A
    `LinAlgError` is raised if an eigenvalue is negative, or was not found.
    """
    n_pairs = min(n_pairs, program.n_points - 1)
    root = np.sqrt(program.masses)
    if program.n_points <= max(DENSE, 2 * n_pairs + 2):
        laplacian = program.dense_laplacian(weights)
        laplacian += (np.linalg.norm(laplacian) + 1) * np.outer(root, root) / (root @ root)
        values, vectors = scipy.linalg.eigh(laplacian)  # the constant vector is moved to the end
        values, vectors = values[:n_pairs], vectors[:, :n_pairs]
    else:
        values, vectors = _lanczos(program.laplacian_factor(weights), root, n_pairs, tol)
    if values[0] <= 1e-14 * np.abs(weights).max():
        raise np.linalg.LinAlgError("the Laplacian has a negative eigenvalue")
    return values, vectors / root[:, None]


def _lanczos(factor: Factor, root: Vector, n_pairs: int, tol: float) -> tuple[Vector, Array]:
    """Return eigenpairs of the scaled Laplacian, from its inverse without the constant vector."""
    constant = root / np.linalg.norm(root)

    def apply(x: Vector) -> Vector:
        x = x.ravel() - constant * (constant @ x.ravel())
        y = root * factor.solve((root * x)[:, None]).ravel()
        return y - constant * (constant @ y)

    inverse = LinearOperator((len(root), len(root)), matvec=apply, dtype=float)
    start = np.random.default_rng(0).standard_normal(len(root))
    try:
        values, vectors = eigsh(inverse, n_pairs, which="LA", tol=tol, v0=start)
    except ArpackError as error:
        raise np.linalg.LinAlgError("the eigenvalues of the Laplacian were not found") from error
    return 1 / values[::-1], vectors[:, ::-1]


def proven_bound(program: Laplacian, weights: Vector) -> float:
    """Return an upper bound of the objective from any w; infinity if w proves nothing.

    The inertia of a factorisation confirms the computed eigenvalues.
    """
    bound = _variance_bound if np.isinf(program.sigma) else _frobenius_bound
    try:
        return bound(program, weights)
    except np.linalg.LinAlgError:
        return np.inf


def _variance_bound(program: Laplacian, weights: Vector) -> float:
    second = smallest_eigenpairs(program, weights, 1)[0][0]
    for margin in MARGINS:
        if _count(program, weights, (1 - margin) * second) == 1:
            return program.squared @ weights / ((1 - margin) * second)
    return np.inf


def _frobenius_bound(program: Laplacian, weights: Vector) -> float:
    """Return the bound from all eigenvalues below 1; additional eigenvalues do no harm."""
    counts = (_count(program, weights, 1 + margin) for margin in MARGINS)
    n_below = next((count for count in counts if count is not None), program.n_points) - 1
    values = smallest_eigenpairs(program, weights, n_below)[0] if n_below else np.ones(1)
    below = np.maximum(0, 1 - (1 - MARGINS[0]) * values)
    return program.squared @ weights + program.sigma / 2 * (below**2).sum()


def _count(program: Laplacian, weights: Vector, level: float) -> int | None:
    """Return the number of eigenvalues below a level, or None where it is not certain."""
    try:
        return program.count_below(weights, level)
    except np.linalg.LinAlgError:
        return None
