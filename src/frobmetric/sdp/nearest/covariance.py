"""The nearest covariance matrix: least-squares covariance adjustment (Boyd & Xiao, 2005)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._checks import ASYMMETRY, as_symmetric, check_symmetric, refuse_where
from ...core import PSD, FrobeniusSDP, Hard, LowRank, Sparse, Stack
from ...core.types import Symmetric, Vector
from ...solvers import Callback, solve
from ..construct import as_senses
from . import NearestMatrix, check_min_eigenvalue, residual_norm

__all__ = ["nearest_covariance"]


def nearest_covariance(
    S: Any,
    A: Sequence[Any] = (),
    b: Sequence[float] | Vector = (),
    senses: str | Sequence[str] = "=",
    *,
    min_eigenvalue: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> NearestMatrix:
    """Find the covariance matrix nearest to S among those that meet linear constraints.

        minimise |X - S|_F^2 / 2  subject to  X - min_eigenvalue I positive semidefinite,
                                              <A_i, X> = b_i, or <= b_i, or >= b_i.

    Without constraints this is S with its eigenvalues raised to `min_eigenvalue`.

    Parameters
    ----------
    S : array-like of shape (n, n), symmetric
    A : sequence of symmetric matrices, dense or sparse, and of vectors
        A vector a stands for a a.T: <a a.T, X> is the variance of the portfolio a.
    b : array-like of shape (n_constraints,)
    senses : "=", "<=" or ">=", one for all or one each
    min_eigenvalue : float >= 0
    tol : float
        Largest error of a constraint, relative to the sizes of A_i, S and b_i.
    max_iter : int
        Maximum number of eigen-decompositions.
    callback : callable
        Called with each step; a true return value stops.

    Returns
    -------
    NearestMatrix
        Positive semidefinite up to rounding; it meets the constraints up to `tol`. Constraints
        that contradict each other end in a `ConvergenceWarning`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import nearest_covariance
    >>> nearest = nearest_covariance([[2.0, 1.0], [1.0, 1.0]], [[1.0, 1.0]], [4.0], "<=")
    >>> print(np.round(nearest.matrix, 6).tolist(), np.round(nearest.multipliers, 6).tolist())
    [[1.75, 0.75], [0.75, 0.75]] [-0.25]
    """
    S = as_symmetric(S, name="S")
    floor = check_min_eigenvalue(min_eigenvalue)
    rows = [_as_row(k, row, len(S)) for k, row in enumerate(A)]
    loss = Hard(_as_targets(b, len(rows)), as_senses(senses, len(rows)))
    _check_variances(rows, loss, floor)
    problem, scaled, order, sizes = _problem(S, rows, loss, floor)
    solution = solve(problem, solver="newton", tol=tol, max_iter=max_iter, callback=callback)
    M, certificate = solution.point.dense(), solution.certificate
    X = (M + M.T) / 2 + floor * np.eye(len(S))
    multipliers = np.empty(len(rows))
    multipliers[order] = solution.u
    return NearestMatrix(
        matrix=X,
        distance=float(np.linalg.norm(X - S)),
        certificate=replace(certificate, min_eigenvalue=certificate.min_eigenvalue + floor),
        multipliers=multipliers / sizes,
        gradient=residual_norm(scaled, problem.constraints.forward(M)),
        status=solution.status,
        n_iter=solution.n_iter,
    )


def _as_row(k: int, row: Any, n: int) -> Any:
    """Return a constraint as a sparse matrix, or as a vector."""
    if not sp.issparse(row):
        row = np.asarray(row, dtype=float)
    if row.shape not in ((n,), (n, n)):
        raise ValueError(
            f"A[{k}] has shape {row.shape}; expected ({n}, {n}), or ({n},) for a portfolio"
        )
    row = row if row.ndim == 1 else sp.csr_array(row, dtype=float)
    values = row if row.ndim == 1 else row.data
    if not np.isfinite(values).all() or not np.any(values):
        raise ValueError(f"A[{k}] must be finite and not zero")
    if row.ndim == 2:
        check_symmetric(row, name=f"A[{k}]", tolerance=ASYMMETRY)
    return row


def _as_targets(b: Any, n_rows: int) -> Vector:
    b = np.asarray(b, dtype=float)
    if b.shape != (n_rows,):
        raise ValueError(f"b has shape {b.shape} for {n_rows} constraints; give one number each")
    advice = "leave out constraints that demand nothing"
    refuse_where(~np.isfinite(b), lambda k: f"b[{k}] is {b[k]}; {advice}")
    return b


def _check_variances(rows: list[Any], loss: Hard, floor: float) -> None:
    """Refuse a.T X a < min_eigenvalue |a|^2, which no covariance matrix has."""
    for k, row in enumerate(rows):
        least = floor * float(row @ row) if row.ndim == 1 else -np.inf
        if loss.sense[k] <= 0 and loss.target[k] < least:
            raise ValueError(
                f"b[{k}] = {loss.target[k]:g} asks for a variance below {least:g}, which the "
                f"portfolio A[{k}] has at least; raise b[{k}] or lower min_eigenvalue"
            )


def _problem(
    S: Symmetric, rows: list[Any], loss: Hard, floor: float
) -> tuple[FrobeniusSDP, Hard, list[int], Vector]:
    """Return the problem in X - floor I, its loss, the order of its rows, and their divisors.

    Rows are divided by their norm and the size of S, so that `tol` is relative to both.
    """
    n, n_matrices = len(S), sum(row.ndim == 2 for row in rows)
    prior = S - floor * np.eye(n)
    size = float(np.linalg.norm(prior)) / np.sqrt(n) or 1.0
    sizes = size * np.array([_of_row(row, lambda A: np.linalg.norm(A.data)) for row in rows])
    traces = np.array([_of_row(row, lambda A: A.diagonal().sum()) for row in rows])
    order = sorted(range(len(rows)), key=lambda k: rows[k].ndim == 1)  # vectors last
    flat = [(rows[k] / sizes[k]).reshape((1, -1)) for k in order[:n_matrices]]
    parts: list[Any] = [Sparse(sp.vstack([sp.csr_array((0, n * n)), *flat]), PSD(n))]
    if n_matrices < len(rows):
        parts.append(LowRank([rows[k] / np.sqrt(sizes[k]) for k in order[n_matrices:]]))
    target = (loss.target - floor * traces) / sizes
    hard = Hard(target[order], loss.sense[order])
    return FrobeniusSDP(Stack(parts), hard, prior=prior), hard, order, sizes


def _of_row(row: Any, measure: Any) -> float:
    """Return a measure of a matrix; |a|^2 for a vector a, the norm and the trace of a a.T."""
    return float(row @ row if row.ndim == 1 else measure(row))
