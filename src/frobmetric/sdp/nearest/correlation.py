"""The nearest correlation matrix, by Newton's method on the dual (Qi & Sun, 2006)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core import PSD, Certificate, FrobeniusSDP, Step
from ...core.points import as_dense
from ...core.problem import ROUNDING
from ...core.threads import one_thread, threads_for_order
from ...core.types import Array, Symmetric, Vector
from ...solvers import SOLVERS, Callback, Monitor, State, solve
from .covariance import NearestMatrix, as_symmetric, check_floor, residual
from .entries import Entries, EntryRows, Norm, around, as_hadamard, as_norm, as_rows

__all__ = ["nearest_correlation"]

#: How far below `min_eigenvalue` rounding may leave an eigenvalue, as one test tells.
BELOW = 5e-13
MISSING = "; where it is missing, give it the weight 0 by `elementwise`"


def nearest_correlation(
    G: Any,
    weights: Any = None,
    *,
    elementwise: Any = None,
    bounds: tuple[Any, Any] | None = None,
    fixed: Any = None,
    min_eigenvalue: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> NearestMatrix:
    """The correlation matrix X nearest to G: unit diagonal, positive semidefinite.

    Parameters
    ----------
    G : array-like of shape (n, n), symmetric
        Its diagonal need not be 1.
    weights : array-like of shape (n,) or (n, n), optional
        Minimise |W^(1/2) (X - G) W^(1/2)|_F with W the diagonal matrix of a positive vector, or a
        positive definite matrix.
    elementwise : array-like of shape (n, n), optional
        Minimise |H o (X - G)|_F, entry by entry, for these H >= 0 instead. Where H is 0 the entry
        is free, and that of G may be NaN. Slower: many nearest matrices in a row.
    bounds : (lower, upper), optional
        Of the entries off the diagonal: numbers or symmetric arrays. None, NaN and infinity are
        no bound.
    fixed : boolean array of shape (n, n) or pairs (i, j), optional
        Entries that keep their value of G. Values of 1 or -1 leave X no interior, and Newton's
        method is then slow.
    min_eigenvalue : float in [0, 1)
        No eigenvalue of X is smaller.
    tol : float
        Norm of what the constraints may lack before X is made exact. With `elementwise`, proven
        gap of half the squared distance, relative to that plus the largest weight squared.
    max_iter : int
        Most eigen-decompositions.
    callback : callable
        Called with each step; a true answer stops.

    Returns
    -------
    NearestMatrix
        X is symmetric with diagonal 1.0 and entries in [-1, 1], exactly, and no eigenvalue is
        below `min_eigenvalue` by more than 1e-12. Bounds and fixed entries hold exactly where
        that leaves it so, and up to `tol` otherwise.

    Raises
    ------
    ValueError
        If no correlation matrix has these bounds and fixed entries, or the input is not valid.

    Examples
    --------
    >>> from frobmetric.sdp.nearest.correlation import nearest_correlation
    >>> found = nearest_correlation([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> found.matrix.round(6).tolist()
    [[1.0, 0.76069, 0.157298], [0.76069, 1.0, 0.76069], [0.157298, 0.76069, 1.0]]
    >>> print(f"{found.distance:.6f}", found.status)
    0.527790 optimal
    """
    if weights is not None and elementwise is not None:
        raise ValueError("give weights or elementwise, not both")
    unit = 1 - check_floor(min_eigenvalue, 1)
    H = None if elementwise is None else as_hadamard(elementwise, np.shape(G))
    G = as_symmetric("G", G, None if H is None else H == 0, MISSING)
    norm, rows = as_norm(weights, len(G)), as_rows(G, bounds, fixed, unit)
    prior = np.nan_to_num(G) - (1 - unit) * np.eye(len(G))
    task = _Task(prior, rows, unit, tol, max_iter, callback)
    if H is None:
        return _answer(task, _project(task, norm), lambda D: around(norm.root, D))
    return _answer(task, _descend(task, H), lambda D: H * D)


@dataclass(frozen=True)
class _Task:
    """What is asked of M = X - min_eigenvalue I; G is moved as well, and M_ii = unit."""

    G: Symmetric
    rows: EntryRows
    unit: float
    tol: float
    max_iter: int
    callback: Callback | None

    def __post_init__(self) -> None:
        if not self.tol > 0:
            raise ValueError(f"tol={self.tol!r} must be positive")
        if self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter!r} must be at least 1")

    @property
    def row_tol(self) -> float:
        """Of the largest relative error of a row, so that the norm of all is below `tol`."""
        return self.tol / (2 * np.sqrt(len(self.G)))

    def wants_stop(self, step: Step) -> bool:
        return self.callback is not None and bool(self.callback(step))


class _Found(NamedTuple):
    """A positive semidefinite M, and what u proves: `dual` is a bound from below."""

    M: Symmetric
    u: Vector
    dual: float
    status: str
    n_iter: int


def _problem(task: _Task, norm: Norm, G: Symmetric) -> FrobeniusSDP:
    """In W^(1/2) M W^(1/2), where the norm is Frobenius' own and the cone the same."""
    rows = Entries(task.rows.i, task.rows.j, norm.inverse)
    return FrobeniusSDP(rows, task.rows.loss, prior=around(norm.root, G))


def _project(task: _Task, norm: Norm) -> _Found:
    """The nearest matrix in the norm of W."""
    problem = _problem(task, norm, task.G)
    # what meets every row, if none touches another and no eigenvalue is negative
    lack = task.rows.loss.target - task.rows.of(task.G)
    start = State(lack / problem.constraints.norms() ** 2)
    limit = _farthest(task, norm, problem)

    def watch(step: Step) -> bool:
        return task.wants_stop(step) or step.dual > limit

    options = {"tol": task.row_tol, "max_iter": task.max_iter, "callback": watch}
    found = solve(problem, solver="newton", start=start, **options)
    M = around(norm.inverse, found.point.dense())
    _check_feasible(task, M, found.history, limit)
    return _Found(M, found.u, found.certificate.dual, found.status, found.n_iter)


def _farthest(task: _Task, norm: Norm, problem: FrobeniusSDP) -> float:
    """Half a squared distance that no correlation matrix has: |M'|_F <= tr M' = <W, M>."""
    # 1% above the bound itself, so that rounding proves nothing
    return 0.505 * (float(np.linalg.norm(problem.prior)) + task.unit * norm.size) ** 2


def _check_feasible(task: _Task, M: Symmetric, history: Any, limit: float) -> None:
    if max(step.dual for step in history) <= limit:
        return
    rows, words, n = task.rows, {-1: "at most", 0: "equal to", 1: "at least"}, len(M)
    worst = n + np.argsort(-rows.loss.violation(rows.of(M))[n:], kind="stable")[:3]
    asked = ", ".join(
        f"X[{rows.i[r]}, {rows.j[r]}] {words[int(rows.loss.sense[r])]} {rows.loss.target[r]:.4g}"
        for r in worst
    )
    raise ValueError(
        "no correlation matrix has all these bounds and fixed entries: it would be farther from G "
        f"than any is. Hardest to meet: {asked}"
    )


def _descend(task: _Task, H: Array) -> _Found:
    """Accelerated proximal gradients: every step is a nearest matrix in a norm above that of H."""
    w = H.max(axis=1)  # w_i w_j >= H_ij^2; where all is free any norm will do
    norm = as_norm(np.maximum(w, w.max() / 100) if w.any() else np.ones(len(w)), len(w))
    weight, H2 = np.outer(norm.root, norm.root) ** 2, H * H
    whole, state = Monitor(task.tol, task.max_iter), State()
    X = Z = _unit_diagonal(np.where(H > 0, task.G, 0.0), task.unit)
    pace, error, began = 1.0, 1.0, time.perf_counter()
    while True:
        aim = Z - H2 / weight * (Z - task.G)
        run = whole.inner(min(1e-4, max(error / 100, task.row_tol / 10)), 50)
        M, state = _nearest(task, norm, aim, state, run)
        before, X = X, _unit_diagonal(M, task.unit)
        value, gap = _bound(task, H2, X, state.u, weight * (M - aim))
        broken = task.rows.loss.violation(task.rows.of(X)).max()
        error = max(gap / (value + weight.max()), float(broken))
        step = Step(value, value - gap, gap, state.point.rank, time.perf_counter() - began)
        status = _status(task, error, step, whole.n_steps)
        if status:
            return _Found(M, state.u, value - gap, status, whole.n_steps)
        uphill = np.vdot(weight * (Z - X), X - before) > 0
        pace, share = (1.0, 0.0) if uphill else ((1 + np.sqrt(1 + 4 * pace**2)) / 2, pace - 1)
        Z = X + share / pace * (X - before)


def _nearest(
    task: _Task, norm: Norm, aim: Symmetric, state: State, run: Monitor
) -> tuple[Symmetric, State]:
    """One projection of `_descend`: not certified, as the bound of the whole is."""
    problem = _problem(task, norm, aim)
    with one_thread():
        state = SOLVERS["newton"](problem, state, run)
    M = around(norm.inverse, as_dense(state.point))
    _check_feasible(task, M, run.history, _farthest(task, norm, problem))
    return M, state


def _bound(task: _Task, H2: Array, X: Symmetric, u: Vector, pull: Symmetric) -> tuple[float, float]:
    """|H o (X - G)|^2 / 2, and by how much it is above the least such value, at most.

    `pull` is A*(u) plus a positive semidefinite matrix, so that <pull, Y> >= target.u for every
    admissible Y; where it is not the slope at X, entries of Y may be anywhere up to `unit`.
    """
    slope = H2 * (X - task.G)
    rest = slope - pull
    diagonal = float(np.trace(rest))
    apart = float(np.abs(rest).sum() - np.abs(np.diagonal(rest)).sum())
    least = float(task.rows.loss.target @ u) + task.unit * (diagonal - apart)
    value = float(np.vdot(slope, X - task.G)) / 2
    return value, min(max(0.0, float(np.vdot(slope, X)) - least), value)


def _status(task: _Task, error: float, step: Step, n_iter: int) -> str:
    wants_stop = task.wants_stop(step)
    if error <= task.tol:
        return "optimal"
    if wants_stop:
        return "stopped"
    if n_iter < task.max_iter:
        return ""
    warnings.warn(
        f"nearest_correlation ended (max_iter) after {n_iter} steps with relative gap {error:.1e} "
        f"> tol={task.tol:g}; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )
    return "max_iter"


def _unit_diagonal(M: Symmetric, unit: float) -> Symmetric:
    """D M D with the diagonal `unit`; a congruence, so it stays positive semidefinite."""
    lengths = np.diagonal(M)
    X = around(np.sqrt(unit / np.where(lengths > 0, lengths, unit)), M)
    X = np.clip((X + X.T) / 2, -unit, unit)
    np.fill_diagonal(X, unit)
    return X


def _exact(task: _Task, M: Symmetric) -> Symmetric:
    """M with the diagonal exact, other rows too if it stays positive semidefinite."""
    X = _unit_diagonal(M, task.unit)
    broken = task.rows.loss.violation(task.rows.of(X)) > 0
    met, (i, j) = X.copy(), (k[broken] for k in task.rows[:2])
    met[i, j] = met[j, i] = task.rows.loss.target[broken]
    for candidate in (met, X) if broken.any() else (X,):
        if _is_positive(candidate):
            return candidate
    lowest = min(0.0, PSD(len(X)).min_eigenvalue(X))
    share = lowest / (lowest - task.unit)
    return (1 - share) * X + share * task.unit * np.eye(len(X))


def _is_positive(X: Symmetric) -> bool:
    try:
        with threads_for_order(len(X)):
            np.linalg.cholesky(X + BELOW * np.eye(len(X)))
    except np.linalg.LinAlgError:
        return False
    return True


def _answer(task: _Task, found: _Found, weigh: Callable[[Symmetric], Symmetric]) -> NearestMatrix:
    M = _exact(task, found.M)
    distance = float(np.linalg.norm(weigh(M - task.G)))
    X = M + (1 - task.unit) * np.eye(len(M))
    np.fill_diagonal(X, 1.0)
    return NearestMatrix(
        matrix=X,
        distance=distance,
        certificate=_certificate(task, M, distance**2 / 2, found.dual),
        multipliers=found.u[: len(X)],
        gradient=residual(task.rows.loss, task.rows.of(found.M)),
        status=found.status,
        n_iter=found.n_iter,
    )


def _certificate(task: _Task, M: Symmetric, primal: float, dual: float) -> Certificate:
    violation = float(task.rows.loss.violation(task.rows.of(M)).max())
    size = max(primal, abs(dual))
    noise = ROUNDING * size + (ROUNDING * float(np.linalg.norm(task.G))) ** 2
    gap = np.inf if violation > 0 else max(0.0, primal - dual)
    gap = gap if gap > noise else 0.0
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=gap / size if size > 0 else gap,
        distance_bound=float(np.sqrt(2 * max(gap, noise))),
        min_eigenvalue=1 - task.unit - BELOW,
        violation=violation,
    )
