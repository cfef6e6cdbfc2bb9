"""The nearest covariance matrix: least-squares covariance adjustment (Boyd & Xiao, 2005)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...checks.arguments import ASYMMETRY, as_symmetric, check_symmetric, refuse_where
from ...core import PSD, FrobeniusSDP, Hard, LowRank, Sparse, Stack
from ...core.checks import MOST, as_array, as_finite, as_sequence
from ...core.matrices import Scaled
from ...core.points import Index, Vector
from ...solvers import solve
from ...solvers.monitor import Callback
from ..construct import as_senses
from . import NearestMatrix, check_min_eigenvalue, residual_norm
from .pairwise import Labels

MISSING = (
    "; where it is missing, find the nearest correlation matrix (`nearest_correlation` with "
    "`counts`), and multiply it by the standard deviations on both sides"
)


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
    S : array-like or data frame of shape (n, n), symmetric
        Of a data frame the answer has the labels.
    A : sequence of symmetric matrices, dense or sparse, and of vectors
        A vector a stands for a a.T: <a a.T, X> is the variance of the portfolio a.
    b : array-like of shape (n_constraints,)
    senses : "=", "<=" or ">=", one for all or one each
    min_eigenvalue : float >= 0
        Lower bound on the eigenvalues of X.
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
    labels, S = Labels(S, name="S"), as_symmetric(S, name="S", hint=MISSING)
    floor, n = check_min_eigenvalue(min_eigenvalue), len(S)
    given = [
        _as_row(k, row, n)
        for k, row in enumerate(as_sequence(A, name="A", expected="a list of matrices"))
    ]
    order = np.array(sorted(range(len(given)), key=lambda k: given[k].ndim == 1), dtype=int)
    matrices = [given[k].reshape((1, -1)) for k in order if given[k].ndim == 2]
    vectors = [given[k] for k in order if given[k].ndim == 1]
    sparse = Sparse(sp.vstack([sp.csr_array((0, n * n)), *matrices]), PSD(n))
    rows = Stack([sparse, LowRank(vectors)] if vectors else [sparse])
    target, sense = _as_targets(b, len(given))[order], as_senses(senses, len(given))[order]
    traces = rows.forward(np.eye(n))
    _check_variances(given, order, target, sense, floor * traces)
    prior = S - floor * np.eye(n)
    # `tol` is relative to the norm of each row and to the size of S
    sizes = rows.norms() * (float(np.linalg.norm(prior)) / np.sqrt(n) or 1.0)
    loss = Hard((target - floor * traces) / sizes, sense)
    problem = FrobeniusSDP(Scaled(rows, 1 / sizes), loss, prior=prior)
    solution = solve(problem, solver="newton", tol=tol, max_iter=max_iter, callback=callback)
    M, certificate, status = solution.point.dense(), solution.certificate, solution.status
    X = (M + M.T) / 2 + floor * np.eye(n)
    certificate = replace(certificate, min_eigenvalue=certificate.min_eigenvalue + floor)
    multipliers = np.empty(len(given))
    multipliers[order] = solution.u / sizes
    gradient = residual_norm(loss, problem.constraints.forward(M))
    distance, n_iter = float(np.linalg.norm(X - S)), solution.n_iter
    X = labels.put(X)
    return NearestMatrix(X, distance, certificate, multipliers, gradient, status, n_iter)


def _as_row(k: int, row: Any, n: int) -> Any:
    """Return a constraint as a sparse matrix, or as a vector."""
    row = row if sp.issparse(row) else as_array(row, name="a matrix of A")
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
    b = as_array(b, name="b")
    if b.shape != (n_rows,):
        raise ValueError(f"b has shape {b.shape} for {n_rows} constraints; give one number each")
    advice = "leave out constraints that demand nothing"
    refuse_where(~np.isfinite(b), lambda k: f"b[{k}] is {b[k]}; {advice}")
    return as_finite(b, name="b", most=MOST)


def _check_variances(
    rows: list[Any], order: Index, target: Vector, sense: Vector, least: Vector
) -> None:
    """Refuse a.T X a < min_eigenvalue |a|^2, which no covariance matrix has."""
    for k, b, sign, floor in zip(order, target, sense, least, strict=True):
        if rows[k].ndim == 1 and sign <= 0 and b < floor:
            raise ValueError(
                f"b[{k}] = {b:g} asks for a variance below {floor:g}, which the portfolio A[{k}] "
                f"has at least; raise b[{k}] or lower min_eigenvalue"
            )
