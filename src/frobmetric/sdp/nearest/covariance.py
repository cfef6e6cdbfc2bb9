"""The nearest covariance matrix: least-squares covariance adjustment (Boyd & Xiao, 2005).

Also what it shares with the nearest correlation matrix: the answer, and the checks of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import PSD, Certificate, FrobeniusSDP, Hard, LowRank, Solution, Sparse, Stack
from ...core.types import Array, Symmetric, Vector
from ...solvers import Callback, solve
from ..construct import as_senses

__all__ = ["NearestMatrix", "nearest_covariance"]

#: How far a given matrix may be from symmetric, relative to its largest entry.
ASYMMETRY = 1e-8


@dataclass(frozen=True)
class NearestMatrix:
    """A nearest matrix X, and how near it is; `numpy.asarray` of it is X.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
    distance : float
        |X - given matrix|_F, in the weighted norm if there are weights.
    certificate : Certificate
        Of X, for half the squared distance: the optimum lies in [dual, primal], and
        `distance_bound` is in the norm of `distance`. `min_eigenvalue` is a bound from below.
    multipliers : ndarray of shape (n_constraints,)
        How fast half the squared distance grows with each right-hand side; of a correlation
        matrix those of the n diagonal entries.
    gradient : float
        Euclidean norm of what the constraints lacked before X was made exact.
    status : str
        As of `frobmetric.core.Solution`; other than "optimal" it came with a warning.
    n_iter : int
        Eigen-decompositions in the solver.
    """

    matrix: Symmetric
    distance: float
    certificate: Certificate
    multipliers: Vector
    gradient: float
    status: str
    n_iter: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)


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
    """The covariance matrix nearest to S among those that meet linear constraints:

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
        Most eigen-decompositions.
    callback : callable
        Called with each step; a true answer stops.

    Returns
    -------
    NearestMatrix
        Positive semidefinite up to rounding; it meets the constraints up to `tol`. Constraints
        that contradict each other end in a `ConvergenceWarning`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp.nearest.covariance import nearest_covariance
    >>> found = nearest_covariance([[2.0, 1.0], [1.0, 1.0]], [[1.0, 1.0]], [4.0], "<=")
    >>> print(np.round(found.matrix, 6).tolist(), np.round(found.multipliers, 6).tolist())
    [[1.75, 0.75], [0.75, 0.75]] [-0.25]
    """
    S = as_symmetric("S", S)
    floor = check_floor(min_eigenvalue, np.inf)
    rows = [_row(k, row, len(S)) for k, row in enumerate(A)]
    loss = Hard(_numbers(b, len(rows)), as_senses(senses, len(rows)))
    _check_variances(rows, loss, floor)
    problem, order, sizes = _problem(S, rows, loss, floor)
    solution = solve(problem, solver="newton", tol=tol, max_iter=max_iter, callback=callback)
    multipliers = np.empty(len(rows))
    multipliers[order] = solution.u
    return _answer(S, floor, problem, solution, multipliers / sizes)


def as_symmetric(name: str, A: Any, free: Array | None = None, hint: str = "") -> Symmetric:
    """A as a symmetric array of finite numbers; `free` entries may be missing, and are then NaN."""
    A = np.array(A.toarray() if sp.issparse(A) else A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise ValueError(f"{name} has shape {A.shape}; expected (n, n) with n at least 1")
    missing = ~np.isfinite(A)
    if (missing if free is None else missing & ~free).any():
        i, j = first(missing if free is None else missing & ~free)
        raise ValueError(f"{name}[{i}, {j}] is {A[i, j]}; every entry must be finite{hint}")
    A[missing | missing.T] = 0.0
    _check_symmetry(name, A)
    A[missing | missing.T] = np.nan
    return (A + A.T) / 2


def check_floor(min_eigenvalue: float, below: float) -> float:
    if not 0 <= min_eigenvalue < below:
        span = "be finite and not negative" if below == np.inf else f"lie in [0, {below:g})"
        raise ValueError(f"min_eigenvalue={min_eigenvalue!r} must {span}")
    return float(min_eigenvalue)


def first(mask: Array) -> tuple[int, ...]:
    """Where a mask is true for the first time."""
    return tuple(int(k[0]) for k in np.nonzero(mask))


def residual(loss: Hard, margins: Vector) -> float:
    """The norm of what hard rows lack."""
    return float(np.linalg.norm(loss.violation(margins) * (1 + np.abs(loss.target))))


def _check_symmetry(name: str, A: Any) -> None:
    difference = abs(A - A.T)
    if difference.max() <= ASYMMETRY * abs(A).max():
        return
    i, j = np.unravel_index(int(difference.argmax()), A.shape)
    raise ValueError(
        f"{name} is not symmetric: {name}[{i}, {j}] = {float(A[i, j])!r} and {name}[{j}, {i}] = "
        f"{float(A[j, i])!r} differ by {difference.max():.2g}; give ({name} + {name}.T) / 2"
    )


def _row(k: int, row: Any, n: int) -> Any:
    """A constraint as a sparse matrix, or as a vector."""
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
        _check_symmetry(f"A[{k}]", row)
    return row


def _numbers(b: Any, n_rows: int) -> Vector:
    b = np.asarray(b, dtype=float)
    if b.shape != (n_rows,):
        raise ValueError(f"b has shape {b.shape} for {n_rows} constraints; give one number each")
    if not np.isfinite(b).all():
        k = first(~np.isfinite(b))[0]
        raise ValueError(f"b[{k}] is {b[k]}; leave out constraints that demand nothing")
    return b


def _check_variances(rows: list[Any], loss: Hard, floor: float) -> None:
    """No covariance matrix has a.T X a < min_eigenvalue |a|^2."""
    for k, row in enumerate(rows):
        least = floor * float(row @ row) if row.ndim == 1 else -np.inf
        if loss.sense[k] <= 0 and loss.target[k] < least:
            raise ValueError(
                f"b[{k}] = {loss.target[k]:g} asks for a variance below {least:g}, which the "
                f"portfolio A[{k}] has at least; raise b[{k}] or lower min_eigenvalue"
            )


def _problem(
    S: Symmetric, rows: list[Any], loss: Hard, floor: float
) -> tuple[FrobeniusSDP, list[int], Vector]:
    """The problem in X - floor I, the row that each of its rows is, and what each was divided by.

    Rows are divided by their norm and the size of S, so that `tol` is relative to both.
    """
    n = len(S)
    prior = S - floor * np.eye(n)
    size = float(np.linalg.norm(prior)) / np.sqrt(n) or 1.0
    sizes = size * np.array([_norm(row) for row in rows])
    order = sorted(range(len(rows)), key=lambda k: rows[k].ndim == 1)  # vectors last
    n_matrices = sum(row.ndim == 2 for row in rows)
    flat = [(rows[k] / sizes[k]).reshape((1, -1)) for k in order[:n_matrices]]
    parts: list[Any] = [Sparse(sp.vstack([sp.csr_array((0, n * n)), *flat]), PSD(n))]
    if n_matrices < len(rows):
        parts.append(LowRank([rows[k] / np.sqrt(sizes[k]) for k in order[n_matrices:]]))
    target = (loss.target - floor * np.array([_trace(row) for row in rows])) / sizes
    hard = Hard(target[order], loss.sense[order])
    return FrobeniusSDP(Stack(parts), hard, prior=prior), order, sizes


def _norm(row: Any) -> float:
    return float(row @ row) if row.ndim == 1 else float(np.linalg.norm(row.data))


def _trace(row: Any) -> float:
    return float(row @ row) if row.ndim == 1 else float(row.diagonal().sum())


def _answer(
    S: Symmetric, floor: float, problem: FrobeniusSDP, solution: Solution, multipliers: Vector
) -> NearestMatrix:
    M = solution.point.dense()
    X = (M + M.T) / 2 + floor * np.eye(len(S))
    return NearestMatrix(
        matrix=X,
        distance=float(np.linalg.norm(X - S)),
        certificate=replace(
            solution.certificate, min_eigenvalue=solution.certificate.min_eigenvalue + floor
        ),
        multipliers=multipliers,
        gradient=residual(problem.loss, problem.constraints.forward(M)),
        status=solution.status,
        n_iter=solution.n_iter,
    )
