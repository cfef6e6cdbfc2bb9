"""How M = sum_j w_j v_j v_j.T is built up: by columns, by single stages, by proximal steps.

A method is a function `(problem, start, ledger)` that notes its iterates in the ledger until that
says to end. The certificate judges what was noted.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize
from sklearn.exceptions import ConvergenceWarning

from ...core import PSD, FrobeniusSDP, Solution
from ...core.points import Factored
from ...core.threads import one_thread
from ...solvers import Interrupted, Monitor, State
from ...solvers.active_set import active_set
from .problem import certify_trace

#: Steps in which a round corrects all columns, the first time; twice as many each next time.
ROUND = 50
#: Pairs of steps and gradient changes that its quasi-Newton matrix remembers.
MEMORY = 30
#: A round ends when its own columns are to blame for no more than this share of the gap.
SHARE = 0.1
#: Columns that together have less than this share of the trace, times the tolerance, are dropped.
NEGLIGIBLE = 1e-2
#: Rounds without a smaller gap after which a run is given up.
PATIENCE = 6
#: The first proximal step is this long times the size that a metric has to separate a typical
#: triplet; its inner relative gap is this large.
FIRST_SIGMA, FIRST_TOL = 3.0, 1e-2
#: How much longer a proximal step is than the last, far from the answer and near to it.
FAR, NEAR = 3.0, 1.5


class Ledger:
    """Keeps the lowest objective and the highest bound; they need not be of the same step."""

    def __init__(self, monitor):
        self.monitor, self.best = monitor, None
        self._idle, self._mark = 0, np.inf

    def note(self, found):
        """Note one iterate; true if the run is to end here."""
        if self.best is not None:
            lower = min(self.best, found, key=lambda bounds: bounds.primal)
            higher = max(self.best, found, key=lambda bounds: bounds.dual)
            found = replace(higher, point=lower.point, primal=lower.primal)
        self.best = found
        return self.monitor.record(found)

    def is_idle(self):
        """Whether the gap has not fallen by a hundredth in so many rounds; ends the run then."""
        self._idle = 0 if self.best.gap < 0.99 * self._mark else self._idle + 1
        self._mark = self.best.gap if self._idle == 0 else self._mark
        if self._idle >= PATIENCE and not self.monitor.status:
            self.monitor.status = "stalled"
        return bool(self.monitor.status)


def boost(problem, method, tol, max_iter, callback=None, start=None):
    """Solve P2 to a relative duality gap.

    Parameters
    ----------
    problem : TraceSDP
    method : callable
        `column_rounds`, `stages` or `proximal_rounds`.
    tol : float
        Relative gap at which to end.
    max_iter : int
        Largest number of steps.
    callback : callable, optional
        Called with each `Step`; a true answer stops with the best iterate, status "stopped".
    start : Factored, optional
        M to start from; zero if not given, or if zero has the lower objective.

    Returns
    -------
    Solution
        With u feasible for D2. A run that ends above `tol` for another reason than the callback
        warns; "optimal" is only what the certificate, computed anew, says is.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the best certified iterate.
    """
    monitor = Monitor(tol, max_iter, callback)
    try:
        with one_thread():
            method(problem, _no_worse_than_zero(problem, start), Ledger(monitor))
    except KeyboardInterrupt:
        if monitor.best is None:
            raise
        monitor.status = "interrupted"
    solution = _certified(problem, method.__name__, monitor)
    if solution.status == "interrupted":
        raise Interrupted(solution)
    if solution.status not in ("optimal", "stopped"):
        warnings.warn(
            f"{solution.solver} ended ({solution.status}) after {solution.n_iter} steps with "
            f"relative gap {solution.certificate.relative_gap:.1e} > tol={tol:g}; raise max_iter "
            "or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


def _no_worse_than_zero(problem, start):
    """Where to start: the exponential of a bad start is so large that nothing leads back."""
    zero = Factored(np.zeros((problem.order, 0)))
    if start is None:
        return zero
    with np.errstate(over="ignore", invalid="ignore"):
        objective = problem.objective(start, problem.constraints.forward(start))
    of_zero = problem.loss.value(np.zeros(problem.constraints.shape[0]))
    return start if objective <= of_zero else zero


def column_rounds(problem, start, ledger):
    """Totally corrective: add every direction that gains, then correct all columns together.

    The columns of L, M = L L.T, are the sqrt(w_j) v_j. For smooth losses.
    """
    point, n_steps = start, ROUND
    while True:
        margins, u, pull = _state(problem, point)
        if ledger.note(problem.bounds(point, margins, u, pull)) or ledger.is_idle():
            return
        point = _with_new_columns(problem, point, margins, pull)
        point = _Correction(problem, ledger, n_steps).run(principal(point, ledger.monitor.tol))
        if ledger.monitor.status:
            return
        n_steps *= 2


def stages(problem, start, ledger):
    """Stage-wise: one new rank-one matrix at a time, its weight by a line search.

    After it one common factor of all weights is searched for, without which weights that turn out
    too large could never fall. For smooth losses.
    """
    point = start
    margins = problem.constraints.forward(point)
    while True:
        u = problem.loss.multiplier(margins)
        pull = problem.constraints.adjoint(u)
        if ledger.note(problem.bounds(point, margins, u, pull)):
            return
        top = Factored(PSD(problem.order).split(pull).vectors[:, -1:])
        change = problem.constraints.forward(top)
        weight = best_step(1.0, problem.loss, margins, change)
        margins = margins + weight * change
        L = np.hstack([point.L, np.sqrt(weight) * top.L])
        factor = best_step(np.vdot(L, L), problem.loss, np.zeros_like(margins), margins)
        point, margins = _compact(np.sqrt(factor) * L), factor * margins
        if weight == 0 and abs(factor - 1) < 1e-12:  # nothing moves any more
            ledger.monitor.status = "stalled"
            return


def proximal_rounds(problem, start, ledger):
    """Totally corrective for the hinge: each round is one proximal step.

    A round minimises the objective plus |M - last M|^2 / (2 sigma), which is `FrobMetric`'s
    problem with another cost and prior: its rank-one matrices are the eigenvectors of
    last M / sigma + sum_r u_r A_r - I above zero, its weights follow from the eigenvalues, and
    its u are the multipliers. sigma grows until the bound from u is as good as asked for.
    """
    margins = problem.constraints.forward(start)
    u = problem.loss.multiplier(margins)
    if ledger.note(problem.bounds(start, margins, u)):
        return
    sigma = FIRST_SIGMA / max(float(problem.constraints.norms().mean()), 1e-100)
    prior, inner_tol = start.dense(), FIRST_TOL
    state, tol = State(u=u if start.rank else None), ledger.monitor.tol
    while not ledger.monitor.status:
        around = FrobeniusSDP(
            problem.constraints, problem.loss, np.eye(problem.order), prior, sigma
        )
        state, found = _proximal_step(problem, around, state, inner_tol, ledger)
        if ledger.is_idle():
            return
        prior = state.point.dense()
        sigma, inner_tol = _next_step(problem, state.u, found, sigma, inner_tol, tol)


def _next_step(problem, u, found, sigma, inner_tol, tol):
    """Length and accuracy of the next proximal step.

    The gap has two parts: u is not feasible, which a longer step cures, and M does not belong to
    u, which a better solved one cures.
    """
    size = max(abs(found.primal), abs(found.dual))
    beyond = (problem.loss.conjugate(u)[0] - found.dual) / size
    apart = found.error - beyond
    if beyond > apart or apart < tol / 4:
        sigma *= FAR if beyond > 5 * tol else NEAR
    wanted = SHARE * found.error if apart > beyond else 2 * SHARE * found.error
    return sigma, max(tol * SHARE, min(inner_tol, wanted))


#: What solves P2 with each loss, totally corrective or not.
METHODS = {
    ("hinge", True): proximal_rounds,
    ("logistic", True): column_rounds,
    ("exponential", True): column_rounds,
    ("logistic", False): stages,
    ("exponential", False): stages,
}


def best_step(price, loss, margins, change):
    """The s >= 0 that minimises price * s + loss(margins + s * change), for a smooth loss."""

    def slope(s):
        return price - loss.multiplier(margins + s * change) @ change

    if slope(0.0) >= 0:
        return 0.0
    above = 1.0
    while slope(above) < 0:
        above *= 4
    return brentq(slope, 0.0, above, xtol=1e-12 * above, rtol=1e-10)


def principal(point, tol):
    """The same M from orthogonal columns, the longest first, without those that are negligible."""
    if not point.rank:
        return point
    directions, lengths, _ = np.linalg.svd(point.L, full_matrices=False)
    weights = lengths**2
    kept = weights > NEGLIGIBLE * tol * weights.sum() / len(weights)
    return Factored(np.ascontiguousarray(directions[:, kept] * lengths[kept]))


def _compact(L):
    """M from at most as many columns as rows."""
    return Factored(L) if L.shape[1] <= 2 * L.shape[0] else principal(Factored(L), 1e-12)


def _state(problem, point):
    """Margins, their u and sum_r u_r A_r."""
    margins = problem.constraints.forward(point)
    u = problem.loss.multiplier(margins)
    return margins, u, problem.constraints.adjoint(u)


def _with_new_columns(problem, point, margins, pull):
    """All eigenvectors whose eigenvalue is above the bound of the dual join, by a line search."""
    split = PSD(problem.order).split(pull - np.eye(problem.order))
    new = split.positive()
    change = problem.constraints.forward(new)
    step = best_step(np.vdot(new.L, new.L), problem.loss, margins, change)
    return Factored(np.hstack([point.L, np.sqrt(step) * new.L]))


class _Correction:
    """Minimise over all columns at once: |L|_F^2 + loss(<A_r, L L.T>), by L-BFGS.

    Weights and directions move together, so that the objective falls at least as far as it
    would by the weights alone. It is not convex in L, but where it ends with an eigenvalue of
    sum_r u_r A_r above one, that eigenvector as a new column leads further down.
    """

    def __init__(self, problem, ledger, n_steps):
        self.problem, self.ledger, self.n_left = problem, ledger, n_steps

    def run(self, point):
        if not point.rank:
            return point
        self.last = point
        options = {"maxcor": MEMORY, "maxiter": 10**6, "maxfun": 10**7, "ftol": 0, "gtol": 0}
        minimize(
            self._evaluate,
            point.L.ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options,
            callback=self._step,
        )
        return self.last

    def _evaluate(self, x):
        self.point = Factored(x.reshape(self.problem.order, -1).copy())
        self.margins, self.u, self.pull = _state(self.problem, self.point)
        self.residual = self.point.L - self.pull @ self.point.L
        return self.problem.objective(self.point, self.margins), 2 * self.residual.ravel()

    def _step(self, x):
        if not np.array_equal(x, self.point.L.ravel()):
            self._evaluate(x)
        self.last, self.n_left = self.point, self.n_left - 1
        found = self.problem.bounds(self.point, self.margins, self.u, self.pull)
        if self.ledger.note(found) or self.n_left <= 0 or self._is_corrected(found):
            raise StopIteration

    def _is_corrected(self, found):
        """Whether most of the gap is due to directions that these columns do not span."""
        L = self.point.L
        if np.linalg.norm(self.residual) * np.linalg.norm(L) > SHARE * found.gap:
            return False
        basis = np.linalg.qr(L)[0]
        inside = np.linalg.eigvalsh(basis.T @ self.pull @ basis)[-1]
        return inside - 1 < SHARE * (found.highest - 1)


def _proximal_step(problem, around, state, inner_tol, ledger):
    """Solve the problem around the last M; its answer also counts when interrupted."""
    inner = ledger.monitor.inner(inner_tol)
    try:
        active_set(around, state, inner)
    except KeyboardInterrupt:
        if inner.best is not None:
            ledger.note(_bounds_of(problem, inner))
        raise
    found = _bounds_of(problem, inner)
    ledger.note(found)
    return inner.state, found


def _bounds_of(problem, inner):
    best = inner.best
    pull = np.eye(problem.order) - best.slack  # without the cost
    return problem.bounds(best.point, problem.constraints.forward(best.point), best.u, pull)


def _certified(problem, name, monitor):
    """The best iterate, negligible columns dropped where the certificate allows."""
    best, tol = monitor.best, monitor.tol
    point = principal(best.point, tol)
    certificate = certify_trace(problem, point, best.u)
    if certificate.relative_gap > max(tol, best.error):
        point = principal(best.point, 1e-12)
        certificate = certify_trace(problem, point, best.u)
    is_refuted = monitor.status == "optimal" and not certificate.relative_gap <= tol
    return Solution(
        point=point,
        u=best.u,
        certificate=certificate,
        status="stalled" if is_refuted else monitor.status,
        solver=name,
        history=tuple(monitor.history),
        n_iter=monitor.n_steps,
    )
