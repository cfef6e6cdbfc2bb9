"""Methods that build up M = sum_j w_j v_j v_j.T: by columns, by stages, by proximal steps.

A method is a function `(problem, start, ledger)` that records its iterates in the ledger until that
says to stop. The certificate is computed from the best of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
from scipy.optimize import brentq, minimize

from ...core import PSD, FrobeniusSDP, Hinge
from ...core.points import Array, Factored, Symmetric, Vector
from ...core.solution import Solution
from ...solvers import Monitor, State
from ...solvers.active_set import active_set
from ...solvers.monitor import Callback, conclude
from .problem import Bounds, TraceLoss, TraceSDP, certify_trace

#: Number of steps in which the first round corrects all columns; it doubles with each round.
ROUND = 50
#: Number of steps and gradient changes that the quasi-Newton matrix of a round is made of.
MEMORY = 30
#: Share of the gap that may be due to the present columns at the end of a round.
SHARE = 0.1
#: Share of the trace, relative to the tolerance, that the dropped columns may have together.
NEGLIGIBLE = 1e-2
#: Number of rounds without a smaller gap after which a run is given up.
PATIENCE = 6
#: Length of the first proximal step, relative to a metric that separates a typical triplet, and
#: relative gap to which this step is solved.
FIRST_SIGMA, FIRST_TOL = 3.0, 1e-2
#: Ratio of the lengths of successive proximal steps, far from the optimum and near to it.
FAR, NEAR = 3.0, 1.5


#: Function (problem, start, ledger) that runs a method.
Method: TypeAlias = Callable[[TraceSDP, Factored, "Ledger"], None]


class Ledger:
    """Lowest objective and highest bound of a run, which may be of different steps."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        #: The best iterate, once one was recorded.
        self.best: Any = None
        self._idle, self._mark = 0, np.inf

    def record(self, bounds: Bounds) -> bool:
        """Record one iterate; return whether to stop."""
        if self.best is not None:
            lower = min(self.best, bounds, key=lambda each: each.primal)
            higher = max(self.best, bounds, key=lambda each: each.dual)
            bounds = replace(higher, point=lower.point, primal=lower.primal)
        self.best = bounds
        return self.monitor.record(bounds)

    def is_idle(self) -> bool:
        """Return whether to stop, also because the gap has not fallen in `PATIENCE` rounds."""
        self._idle = 0 if self.best.gap < 0.99 * self._mark else self._idle + 1
        self._mark = self.best.gap if self._idle == 0 else self._mark
        if self._idle >= PATIENCE and not self.monitor.status:
            self.monitor.status = "stalled"
        return bool(self.monitor.status)


def boost(
    problem: TraceSDP,
    method: Method,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    start: Factored | None = None,
) -> Solution:
    """Solve a `TraceSDP` to a relative duality gap by one of `METHODS`.

    `start` is an initial M, used if its objective is lower than that of zero. The other parameters,
    warnings and `Interrupted` are those of `frobmetric.solvers.solve`. The u of the solution is
    feasible for D2, and its status is "optimal" only if the certificate, computed from scratch, is
    within `tol`.
    """
    monitor = Monitor(tol, max_iter, callback)
    with monitor.running():
        method(problem, _no_worse_than_zero(problem, start), Ledger(monitor))
    solution = _certified(problem, method.__name__, monitor)
    conclude(solution, tol)
    return solution


def _no_worse_than_zero(problem: TraceSDP, start: Factored | None) -> Factored:
    """Return the start, or zero if that is better: no step leads back from a huge exponential."""
    zero = Factored(np.zeros((problem.order, 0)))
    if start is None:
        return zero
    with np.errstate(over="ignore", invalid="ignore"):
        objective = problem.objective(start, problem.constraints.forward(start))
    of_zero = problem.loss.value(np.zeros(problem.constraints.shape[0]))
    return start if objective <= of_zero else zero


def column_rounds(problem: TraceSDP, start: Factored, ledger: Ledger) -> None:
    """Add every direction that gains, then correct all columns together (totally corrective).

    The columns of L, M = L L.T, are the sqrt(w_j) v_j. This needs a smooth loss.
    """
    point, n_steps = start, ROUND
    while True:
        margins, u, weighted_sum = _state(problem, point)
        if ledger.record(problem.bounds(point, margins, u, weighted_sum)) or ledger.is_idle():
            return
        point = _with_new_columns(problem, point, margins, weighted_sum)
        point = _Correction(problem, ledger, n_steps).run(principal(point, ledger.monitor.tol))
        if ledger.monitor.status:
            return
        n_steps *= 2


def stages(problem: TraceSDP, start: Factored, ledger: Ledger) -> None:
    """Add one rank-one matrix at a time, with a weight from a line search (stage-wise).

    A second line search finds one common factor of all weights, without which weights that turn
    out too large could never fall. This needs a smooth loss.
    """
    point = start
    margins = problem.constraints.forward(point)
    while True:
        u = problem.loss.multiplier(margins)
        weighted_sum = problem.constraints.adjoint(u)
        if ledger.record(problem.bounds(point, margins, u, weighted_sum)):
            return
        top = Factored(PSD(problem.order).split(weighted_sum).vectors[:, -1:])
        change = problem.constraints.forward(top)
        weight = best_step(1.0, problem.loss, margins, change)
        margins = margins + weight * change
        L = np.hstack([point.L, np.sqrt(weight) * top.L])
        factor = best_step(float(np.vdot(L, L)), problem.loss, np.zeros_like(margins), margins)
        point, margins = _compact(np.sqrt(factor) * L), factor * margins
        if weight == 0 and abs(factor - 1) < 1e-12:  # nothing moves any more
            ledger.monitor.status = "stalled"
            return


def proximal_rounds(problem: TraceSDP, start: Factored, ledger: Ledger) -> None:
    """Take one proximal step per round, which corrects all of M also with the hinge.

    A round minimises the objective plus |M - last M|^2 / (2 sigma), which is the problem of
    `FrobMetric` with another cost and prior: its rank-one matrices are the eigenvectors of
    last M / sigma + sum_r u_r A_r - I with positive eigenvalues, which give the weights, and its
    dual variables are the u. sigma grows until the bound from u is tight enough.
    """
    margins = problem.constraints.forward(start)
    u = problem.loss.multiplier(margins)
    if ledger.record(problem.bounds(start, margins, u)):
        return
    sigma = FIRST_SIGMA / max(float(problem.constraints.norms().mean()), 1e-100)
    prior, inner_tol = start.dense(), FIRST_TOL
    state: Any = State(u=u if start.rank else None)
    tol = ledger.monitor.tol
    while not ledger.monitor.status:
        identity, loss = np.eye(problem.order), cast(Hinge, problem.loss)
        proximal = FrobeniusSDP(problem.constraints, loss, identity, prior, sigma)
        state, bounds = _proximal_step(problem, proximal, state, inner_tol, ledger)
        if ledger.is_idle():
            return
        prior = state.point.dense()
        sigma, inner_tol = _next_step(problem, state.u, bounds, sigma, inner_tol, tol)


def _next_step(
    problem: TraceSDP, u: Vector, bounds: Bounds, sigma: float, inner_tol: float, tol: float
) -> tuple[float, float]:
    """Return length and accuracy of the next proximal step.

    The gap has two parts: u is infeasible, which a longer step reduces, and M does not belong to
    u, which a more accurate step reduces.
    """
    size = max(abs(bounds.primal), abs(bounds.dual))
    infeasibility = (problem.loss.conjugate(u)[0] - bounds.dual) / size
    inaccuracy = bounds.error - infeasibility
    if infeasibility > inaccuracy or inaccuracy < tol / 4:
        sigma *= FAR if infeasibility > 5 * tol else NEAR
    wanted = (SHARE if inaccuracy > infeasibility else 2 * SHARE) * bounds.error
    return sigma, max(tol * SHARE, min(inner_tol, wanted))


#: Method for each loss, totally corrective or not.
METHODS = {
    ("hinge", True): proximal_rounds,
    ("logistic", True): column_rounds,
    ("exponential", True): column_rounds,
    ("logistic", False): stages,
    ("exponential", False): stages,
}


def best_step(price: float, loss: TraceLoss, margins: Vector, change: Vector) -> float:
    """Return the s >= 0 that minimises price * s + loss(margins + s * change), if smooth."""

    def slope(s: float) -> float:
        return price - float(loss.multiplier(margins + s * change) @ change)

    if slope(0.0) >= 0:
        return 0.0
    above = 1.0
    while slope(above) < 0:
        above *= 4
    return brentq(slope, 0.0, above, xtol=1e-12 * above, rtol=1e-10)


def principal(point: Factored, tol: float) -> Factored:
    """Return M with orthogonal columns, the longest first, without negligible ones."""
    if not point.rank:
        return point
    directions, lengths, _ = np.linalg.svd(point.L, full_matrices=False)
    weights = lengths**2
    counts = weights > NEGLIGIBLE * tol * weights.sum() / len(weights)
    return Factored(np.ascontiguousarray(directions[:, counts] * lengths[counts]))


def _compact(L: Array) -> Factored:
    """Return M with at most twice as many columns as rows."""
    return Factored(L) if L.shape[1] <= 2 * L.shape[0] else principal(Factored(L), 1e-12)


def _state(problem: TraceSDP, point: Factored) -> tuple[Vector, Vector, Symmetric]:
    """Return the margins of M, the u of the loss there, and sum_r u_r A_r."""
    margins = problem.constraints.forward(point)
    u = problem.loss.multiplier(margins)
    return margins, u, problem.constraints.adjoint(u)


def _with_new_columns(
    problem: TraceSDP, point: Factored, margins: Vector, weighted_sum: Symmetric
) -> Factored:
    """Add all eigenvectors of eigenvalues above one, with a common weight from a line search."""
    split = PSD(problem.order).split(weighted_sum - np.eye(problem.order))
    new = split.positive()
    change = problem.constraints.forward(new)
    step = best_step(float(np.vdot(new.L, new.L)), problem.loss, margins, change)
    return Factored(np.hstack([point.L, np.sqrt(step) * new.L]))


class _Correction:
    """Minimisation of |L|_F^2 + loss(<A_r, L L.T>) over all columns of L at once, by L-BFGS.

    Weights and directions move together, so that the objective falls at least as far as by the
    weights alone. It is not convex in L, but if it ends with an eigenvalue of sum_r u_r A_r above
    one, that eigenvector as a new column leads further down.
    """

    def __init__(self, problem: TraceSDP, ledger: Ledger, n_steps: int) -> None:
        self.problem, self.ledger, self.n_left = problem, ledger, n_steps

    def run(self, point: Factored) -> Factored:
        if not point.rank:
            return point
        self.last = point
        options = {"maxcor": MEMORY, "maxiter": 10**6, "maxfun": 10**7, "ftol": 0, "gtol": 0}
        given = {"jac": True, "method": "L-BFGS-B", "options": options}
        minimize(self._evaluate, point.L.ravel(), callback=self._step, **given)
        return self.last

    def _evaluate(self, x: Vector) -> tuple[float, Vector]:
        self.point = Factored(x.reshape(self.problem.order, -1).copy())
        self.margins, self.u, self.weighted_sum = _state(self.problem, self.point)
        self.residual = self.point.L - self.weighted_sum @ self.point.L
        return self.problem.objective(self.point, self.margins), 2 * self.residual.ravel()

    def _step(self, x: Vector) -> None:
        if not np.array_equal(x, self.point.L.ravel()):
            self._evaluate(x)
        self.last, self.n_left = self.point, self.n_left - 1
        bounds = self.problem.bounds(self.point, self.margins, self.u, self.weighted_sum)
        if self.ledger.record(bounds) or self.n_left <= 0 or self._is_corrected(bounds):
            raise StopIteration

    def _is_corrected(self, bounds: Bounds) -> bool:
        """Return whether most of the gap is due to directions that these columns do not span."""
        L = self.point.L
        if np.linalg.norm(self.residual) * np.linalg.norm(L) > SHARE * bounds.gap:
            return False
        basis = np.linalg.qr(L)[0]
        inside = np.linalg.eigvalsh(basis.T @ self.weighted_sum @ basis)[-1]
        return inside - 1 < SHARE * (bounds.max_eigenvalue - 1)


def _proximal_step(
    problem: TraceSDP, proximal: FrobeniusSDP, state: State, inner_tol: float, ledger: Ledger
) -> tuple[State, Bounds]:
    """Solve the problem of one proximal step; its solution is recorded also when interrupted."""
    inner = ledger.monitor.inner(inner_tol)
    try:
        active_set(proximal, state, inner)
    except KeyboardInterrupt:
        if inner.best is not None:
            ledger.record(_bounds_of(problem, inner))
        raise
    bounds = _bounds_of(problem, inner)
    ledger.record(bounds)
    return inner.state, bounds


def _bounds_of(problem: TraceSDP, inner: Monitor) -> Bounds:
    best = inner.best
    weighted_sum = np.eye(problem.order) - best.slack  # the cost is the identity
    margins = problem.constraints.forward(best.point)
    return problem.bounds(best.point, margins, best.u, weighted_sum)


def _certified(problem: TraceSDP, name: str, monitor: Monitor) -> Solution:
    """Return the best iterate, without negligible columns if the certificate allows that."""
    best, tol = monitor.best, monitor.tol
    point = principal(best.point, tol)
    certificate = certify_trace(problem, point, best.u)
    if certificate.relative_gap > max(tol, best.error):
        point = principal(best.point, 1e-12)
        certificate = certify_trace(problem, point, best.u)
    is_refuted = monitor.status == "optimal" and not certificate.relative_gap <= tol
    status = "stalled" if is_refuted else monitor.status
    return Solution(
        point,
        best.u,
        certificate,
        status,
        solver=name,
        history=tuple(monitor.history),
        n_iter=monitor.n_steps,
    )
