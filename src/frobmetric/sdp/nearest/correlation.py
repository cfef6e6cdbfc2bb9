"""The nearest correlation matrix, by Newton's method on the dual (Qi & Sun, 2006)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...checks.arguments import as_symmetric, as_tolerance
from ...core import PSD, FrobeniusSDP
from ...core.checks import as_array, read_array, require_callable
from ...core.points import Array, Symmetric, Vector, as_dense
from ...core.problem import ROUNDING
from ...core.solution import Certificate, Step
from ...core.threads import one_thread, threads_for_order
from ...solvers import SOLVERS, Monitor, State, solve
from ...solvers.monitor import Callback, conclude
from . import UNCHANGED, NearestMatrix, check_min_eigenvalue, residual_norm
from .entries import EntryRows, Norm, ScaledEntries, as_elementwise, as_norm, as_rows, congruence
from .pairwise import Labels, PairwiseCorrelation, counts_as_weights

#: Distance by which rounding may leave an eigenvalue below `min_eigenvalue`.
BELOW = 5e-13
MISSING = (
    "; where it is missing, give it the weight 0 by `elementwise`, or give the numbers of rows "
    "behind the entries by `counts`"
)


def nearest_correlation(
    G: Any,
    *,
    weights: Any = None,
    elementwise: Any = None,
    counts: Any = None,
    bounds: tuple[Any, Any] | None = None,
    fixed: Any = None,
    min_eigenvalue: float = 0.0,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> NearestMatrix:
    """Find the correlation matrix X nearest to G: unit diagonal, positive semidefinite.

    Parameters
    ----------
    G : array-like or data frame of shape (n, n), symmetric, or PairwiseCorrelation
        Its diagonal need not be 1. Of a data frame the answer has the labels. The counts of a
        `PairwiseCorrelation` are used, unless there are other weights.
    weights : array-like of shape (n,) or (n, n), optional
        Minimise |W^(1/2) (X - G) W^(1/2)|_F with W the diagonal matrix of a positive vector, or a
        positive definite matrix.
    elementwise : array-like of shape (n, n), optional
        Minimise |H o (X - G)|_F, entry by entry, for these H >= 0 instead. Where H is 0 the entry
        is free, and that of G may be NaN. Slower: it solves many nearest-matrix problems in turn.
    counts : array-like of shape (n, n), optional
        Numbers of rows of data behind the entries of G, as `pairwise_correlation` gives them. H is
        then their square root, relative to the largest; entries of G that are NaN, or have the
        count 0, are free.
    bounds : (lower, upper), optional
        Bounds on the entries off the diagonal: numbers or symmetric arrays. None, NaN and infinity
        are no bound.
    fixed : boolean array of shape (n, n) or pairs (i, j), optional
        Entries that keep their value of G. Values of 1 or -1 leave X no interior, and Newton's
        method is then slow.
    min_eigenvalue : float in [0, 1)
        Lower bound on the eigenvalues of X.
    tol : float
        Largest norm of the residuals of the constraints before X is made exact. With
        `elementwise`, largest proven gap of half the squared distance, relative to that plus the
        largest weight squared.
    max_iter : int
        Maximum number of eigen-decompositions.
    callback : callable
        Called with each step; a true return value stops.

    Returns
    -------
    NearestMatrix
        X is symmetric with diagonal 1.0 and entries in [-1, 1], exactly, and no eigenvalue is
        below `min_eigenvalue` by more than 1e-12. Bounds and fixed entries hold exactly where
        that is possible, and up to `tol` otherwise. A matrix that is valid already is returned as
        it is: `is_unchanged`.

    Raises
    ------
    ValueError
        If no correlation matrix has these bounds and fixed entries, or the input is not valid.

    Examples
    --------
    >>> from frobmetric.sdp import nearest_correlation
    >>> nearest = nearest_correlation([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> nearest.matrix.round(6).tolist()
    [[1.0, 0.76069, 0.157298], [0.76069, 1.0, 0.76069], [0.157298, 0.76069, 1.0]]
    >>> print(f"{nearest.distance:.6f}", nearest.status)
    0.527790 optimal
    """
    if sum(given is not None for given in (weights, elementwise, counts)) > 1:
        raise ValueError("give one of weights, elementwise and counts, not several")
    tol = as_tolerance(tol, max_iter)
    require_callable(callback, name="callback")
    if isinstance(G, PairwiseCorrelation):
        G, behind = G.matrix, G.counts
        counts = behind if weights is None and elementwise is None and counts is None else counts
    unit, labels = 1 - check_min_eigenvalue(min_eigenvalue, below=1), Labels(G, name="G")
    if counts is not None:
        G, elementwise = _without_gaps_on_diagonal(G), counts_as_weights(counts, G)
    H = elementwise
    if H is not None:
        H = as_elementwise(H, read_array(G, name="G").shape)
    G = as_symmetric(G, name="G", is_free=None if H is None else H == 0, hint=MISSING)
    norm, rows = as_norm(weights, len(G)), as_rows(G, bounds, fixed, unit)
    valid = _already_valid(G, rows, unit)
    # the distance of rounding is that of the unweighted norm
    if valid is not None and (valid.distance == 0 or (weights is None and H is None)):
        return replace(valid, matrix=labels.put(valid.matrix))
    prior = np.nan_to_num(G) - (1 - unit) * np.eye(len(G))
    task = _Task(prior, rows, unit, tol, max_iter, callback)
    nearest = _project(task, norm) if H is None else _descend(task, H)
    if H is not None:
        conclude(nearest, tol)
    return replace(nearest, matrix=labels.put(nearest.matrix))


def _already_valid(G: Symmetric, rows: EntryRows, unit: float) -> NearestMatrix | None:
    """Return the answer for a G that is a correlation matrix with these rows, up to rounding."""
    X, n = G.copy(), len(G)
    np.fill_diagonal(X, 1.0)
    if not np.abs(X - G).max() <= UNCHANGED or np.abs(X).max() > 1:
        return None  # also with entries that are NaN
    M = X - (1 - unit) * np.eye(n)
    if rows.violation(M).max(initial=0.0) > 0:
        return None
    try:
        with threads_for_order(n):
            np.linalg.cholesky(M + BELOW * np.eye(n))
    except np.linalg.LinAlgError:
        return None
    distance = float(np.linalg.norm(X - G))
    size = distance**2 / 2
    certificate = Certificate(
        size, 0.0, size, float(size > 0), distance, min_eigenvalue=1 - unit - BELOW, rounding=size
    )
    found = NearestMatrix(X, distance, certificate, np.zeros(n), 0.0, "optimal", 0)
    return replace(found, is_unchanged=True)


def _without_gaps_on_diagonal(G: Any) -> Array:
    """Return G with 1 for a column of data that does not vary, and so has no correlation."""
    G = np.array(as_array(G, name="G"))
    if G.ndim != 2:
        return G  # refused by its shape, as without counts
    diagonal = np.diag(G)
    np.fill_diagonal(G, np.where(np.isnan(diagonal), 1.0, diagonal))
    return G


@dataclass(frozen=True)
class _Task:
    """Problem in M = X - min_eigenvalue I: G is shifted as well, and M_ii = unit."""

    G: Symmetric
    rows: EntryRows
    unit: float
    tol: float
    max_iter: int
    callback: Callback | None

    @property
    def row_tol(self) -> float:
        """Tolerance of a single row, so that the norm of all residuals is below `tol`."""
        return self.tol / (2 * np.sqrt(len(self.G)))

    def wants_stop(self, step: Step) -> bool:
        return self.callback is not None and bool(self.callback(step))

    def problem(self, norm: Norm, G: Symmetric) -> tuple[FrobeniusSDP, float]:
        """Return the projection of G in W^(1/2) M W^(1/2), where the norm is Frobenius' own.

        Also half a squared distance that no correlation matrix has, since |M'|_F <= <W, M>.
        """
        rows = ScaledEntries(self.rows.i, self.rows.j, norm.inverse)
        problem = FrobeniusSDP(rows, self.rows.loss, prior=congruence(norm.root, G))
        # 1% above the bound itself, so that rounding proves nothing
        limit = 0.505 * (float(np.linalg.norm(problem.prior)) + self.unit * norm.size) ** 2
        return problem, limit

    def check_feasible(self, M: Symmetric, history: Any, limit: float) -> None:
        """Raise an error if a dual objective above the limit proves that no M meets the rows."""
        if max(step.dual for step in history) <= limit:
            return
        (i, j, loss), words, n = self.rows, {-1: "at most", 0: "equal to", 1: "at least"}, len(M)
        worst = n + np.argsort(-self.rows.violation(M)[n:], kind="stable")[:3]
        hardest = (f"X[{i[r]}, {j[r]}] {words[loss.sense[r]]} {loss.target[r]:.4g}" for r in worst)
        raise ValueError(
            "no correlation matrix has all these bounds and fixed entries: it would be farther "
            f"from G than any is. Hardest to meet: {', '.join(hardest)}"
        )


def _project(task: _Task, norm: Norm) -> NearestMatrix:
    """Find the nearest matrix in the norm of W."""
    problem, limit = task.problem(norm, task.G)
    # meets every row, if no two rows interact and no eigenvalue is negative
    residual = task.rows.loss.target - task.rows.of(task.G)
    start, tol = State(residual / problem.constraints.norms() ** 2), task.row_tol

    def stop(step: Step) -> bool:
        return task.wants_stop(step) or step.dual > limit

    end = solve(
        problem, solver="newton", tol=tol, max_iter=task.max_iter, callback=stop, start=start
    )
    M = congruence(norm.inverse, end.point.dense())
    task.check_feasible(M, end.history, limit)
    weigh = partial(congruence, norm.root)
    return _answer(task, weigh, M, end.u, end.certificate.dual, end.status, end.n_iter)


def _descend(task: _Task, H: Array) -> NearestMatrix:
    """Minimise |H o (M - G)|^2 by accelerated proximal gradients.

    Every step is a nearest matrix in a weighted norm above that of H.
    """
    w = H.max(axis=1)  # w_i w_j >= H_ij^2; where all is free any norm will do
    norm = as_norm(np.maximum(w, w.max() / 100) if w.any() else np.ones(len(w)), len(w))
    weight, H2 = np.outer(norm.root, norm.root) ** 2, H * H
    whole, state = Monitor(task.tol, task.max_iter), State()
    X = Z = _with_unit_diagonal(np.where(H > 0, task.G, 0.0), task.unit)
    pace, error = 1.0, 1.0
    while True:
        aim = Z - H2 / weight * (Z - task.G)
        inner = whole.inner(min(1e-4, max(error / 100, task.row_tol / 10)), 50)
        problem, limit = task.problem(norm, aim)
        with one_thread():
            state = SOLVERS["newton"](problem, state, inner)
        assert state.point is not None  # a solver returns all of its state
        assert state.u is not None
        M = congruence(norm.inverse, as_dense(state.point))
        task.check_feasible(M, inner.history, limit)
        before, X = X, _with_unit_diagonal(M, task.unit)
        value, gap = _gap(task, H2, X, state.u, weight * (M - aim))
        error = max(gap / (value + weight.max()), float(task.rows.violation(X).max()))
        step = Step(value, value - gap, gap, inner.history[-1].rank, whole.seconds)
        wants_stop, is_last = task.wants_stop(step), whole.n_steps >= task.max_iter
        if error <= task.tol or wants_stop or is_last:
            status = "stopped" if wants_stop else "max_iter"
            status = "optimal" if error <= task.tol else status
            return _answer(task, lambda D: H * D, M, state.u, value - gap, status, whole.n_steps)
        is_uphill = np.vdot(weight * (Z - X), X - before) > 0
        pace, share = (1.0, 0.0) if is_uphill else ((1 + np.sqrt(1 + 4 * pace**2)) / 2, pace - 1)
        Z = X + share / pace * (X - before)


def _gap(
    task: _Task, H2: Array, X: Symmetric, u: Vector, support: Symmetric
) -> tuple[float, float]:
    """Return |H o (X - G)|^2 / 2, and a bound on its distance from the optimum.

    `support` is A*(u) plus a positive semidefinite matrix, so that <support, Y> >= target.u for
    every admissible Y; where it is not the slope at X, entries of Y may be anywhere up to `unit`.
    """
    slope = H2 * (X - task.G)
    rest = slope - support
    trace, size = float(np.trace(rest)), float(np.abs(rest).sum())
    off_diagonal = size - float(np.abs(np.diagonal(rest)).sum())
    least = float(task.rows.loss.target @ u) + task.unit * (trace - off_diagonal)
    value = float(np.vdot(slope, X - task.G)) / 2
    return value, min(max(0.0, float(np.vdot(slope, X)) - least), value)


def _with_unit_diagonal(M: Symmetric, unit: float) -> Symmetric:
    """Return D M D with the diagonal `unit`; a congruence, so it stays positive semidefinite."""
    lengths = np.diagonal(M)
    X = congruence(np.sqrt(unit / np.where(lengths > 0, lengths, unit)), M)
    X = np.clip((X + X.T) / 2, -unit, unit)
    np.fill_diagonal(X, unit)
    return X


def make_exact(M: Symmetric, rows: EntryRows, unit: float) -> Symmetric:
    """Return M with an exact diagonal, and other rows too if it stays positive semidefinite."""
    X = _with_unit_diagonal(M, unit)
    is_broken = rows.violation(X) > 0
    candidate, i, j = X.copy(), rows.i[is_broken], rows.j[is_broken]
    candidate[i, j] = candidate[j, i] = rows.loss.target[is_broken]
    for result in (candidate, X):
        try:
            with threads_for_order(len(X)):
                np.linalg.cholesky(result + BELOW * np.eye(len(X)))
            return result
        except np.linalg.LinAlgError:
            continue
    lowest = min(0.0, PSD(len(X)).min_eigenvalue(X))
    share = lowest / (lowest - unit)
    return (1 - share) * X + share * unit * np.eye(len(X))


def _answer(
    task: _Task, weigh: Any, M: Symmetric, u: Vector, dual: float, status: str, n_iter: int
) -> NearestMatrix:
    """Return the answer from M and u; `weigh` maps X - G to its weighted form."""
    exact = make_exact(M, task.rows, task.unit)
    distance = float(np.linalg.norm(weigh(exact - task.G)))
    primal, violation = distance**2 / 2, float(task.rows.violation(exact).max())
    rounding = ROUNDING * max(primal, abs(dual)) + (ROUNDING * float(np.linalg.norm(task.G))) ** 2
    certificate = Certificate.between(dual, primal, rounding, min_eigenvalue=1 - task.unit - BELOW)
    certificate = replace(certificate, distance_bound=float(np.sqrt(2 * certificate.gap)))
    if violation > 0:
        certificate = replace(certificate, gap=np.inf, relative_gap=np.inf, violation=violation)
    X = exact + (1 - task.unit) * np.eye(len(M))
    np.fill_diagonal(X, 1.0)
    gradient = residual_norm(task.rows.loss, task.rows.of(M))
    return NearestMatrix(X, distance, certificate, u[: len(X)], gradient, status, n_iter)
