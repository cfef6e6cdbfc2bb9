"""The paper's other form: an SDP whose X is bounded in norm, instead of a Frobenius term."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from ..checks.arguments import as_tolerance
from ..core import FrobeniusSDP
from ..core.checks import MOST, as_real, require_problem
from ..core.points import Symmetric, Vector
from ..core.rounding import EPS, inner, norm
from ..solvers import Monitor, State
from ..solvers.monitor import Callback, conclude
from ..solvers.plain import targets
from .rays import FLOATS, Ray
from .solution import SDPCertificate, SDPSolution, certify_sdp, dual_slack
from .solve import SDPRun, as_state, describe_by, make_run

#: Step in log sigma, and most of them; after PATIENCE steps upwards the plain SDP is tried.
STEP, MOST_STEPS, PATIENCE = np.log(10.0), 40, 2
#: Eigen-decompositions for the plain SDP, which may have no answer.
TRIAL = 2000
#: Share of the tolerance to which the problem of one sigma is solved.
FINER = 0.01


def solve_norm_bounded(
    problem: FrobeniusSDP,
    delta: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    time_limit: float = np.inf,
    callback: Callback | None = None,
    start: SDPSolution | None = None,
) -> SDPSolution:
    """Minimise <C, X> over X in the cone, with rows that must hold and |X|_F^2 <= delta.

    The bound has a multiplier, 1 / (2 sigma), with which this is the SDP with the Frobenius term
    |X|^2 / (2 sigma). |X| grows with sigma, so a search over sigma finds where it meets the
    bound. By weak duality, every sigma and y on the way prove the lower bound

        d(y, sigma) - delta / (2 sigma).

    Parameters
    ----------
    problem : FrobeniusSDP
        A plain SDP: sigma = inf.
    delta : float
        Bound on the squared norm, between 2^-250 and 2^250.
    tol : float
        Tolerance of the three errors of the certificate; |X|^2 may exceed delta by this share.
    max_iter, time_limit, callback
        As in `solve_sdp`, for all sigma together.
    start : SDPSolution, optional
        Solution of a similar problem.

    Returns
    -------
    SDPSolution
        Its `sigma` is infinity where the norm bound is not active. The objectives of its
        certificate are <C, X> and the lower bound above. If even the smallest X that meets the
        rows is too large the status is "primal_infeasible", and the ray y with b.y = 1 proves it:
        every X that meets the rows has a norm of at least 1 / |(A*(y))_+|, rounding counted, which
        is 1 / `ray.error`; or no X meets them, and `ray.error` is 0.

    Examples
    --------
    With trace 1, |X|^2 is 1 at the optimum, which has rank one, and 1/2 or more for every X.

    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_norm_bounded
    >>> problem = make_sdp(np.diag([1.0, 2.0]), [np.eye(2)], [1.0])
    >>> np.diag(solve_norm_bounded(problem, 0.625).X).round(3).tolist()
    [0.75, 0.25]
    >>> round(solve_norm_bounded(problem, 2.0).certificate.primal, 3)
    1.0
    >>> solve_norm_bounded(problem, 0.4).status
    'primal_infeasible'
    """
    require_problem(problem)
    delta = as_real(delta, name="delta")
    if not 1 / MOST <= delta <= MOST:
        raise ValueError(
            f"delta={delta!r}; expected a number between {1 / MOST:.1g} and {MOST:.1g}, by which "
            "squares of X can be divided; scale the problem, or use solve_sdp, which has no bound"
        )
    tol = as_tolerance(tol, max_iter)
    if np.isfinite(problem.sigma) or problem.prior.any():
        raise ValueError(
            f"sigma={problem.sigma!r}; the bound replaces the Frobenius term: give sigma=np.inf"
        )
    monitor = Monitor(-np.inf, max_iter, callback, time_limit, describe_by(problem))
    search = _Search(problem, delta, tol, monitor)
    state = as_state(start, problem)
    with monitor.running():
        search.run(state)
    solution = search.solution()
    conclude(solution, tol)
    return solution


@dataclass
class _Search:
    """The problems of different sigma, and the best of their answers for the bounded problem."""

    problem: FrobeniusSDP
    delta: float
    tol: float
    monitor: Monitor
    best: tuple[Symmetric, Vector, float, SDPCertificate] | None = None
    ray: Ray | None = None
    y: Vector | None = None

    def run(self, start: State) -> None:
        """Find the smallest X that meets the rows, then the sigma whose X meets the bound."""
        rows = replace(self.problem, cost=0 * self.problem.cost, sigma=1.0, offset=0.0)
        smallest = self._solve(rows, FINER * self.tol)
        X, y = smallest.answer()
        self._record(X, 0 * y, np.inf)
        if smallest.ray is not None:  # whatever the norm
            self.ray, self.monitor.status = smallest.ray, smallest.ray.kind
        self._check_size(y)
        if not self.monitor.status:
            sigma = float(np.sqrt(self.delta) / np.linalg.norm(self.problem.cost))
            self.y = y / sigma
            if start.u is not None:
                self.y = start.u
            if start.sigma is not None:
                sigma = min(start.sigma, 1e6 * sigma)
            self._search(float(np.log(sigma)))

    def solution(self) -> SDPSolution:
        """Return the best answer with the status and history of the whole search."""
        if self.best is None:
            raise KeyboardInterrupt
        X, y, sigma, certificate = self.best
        Z, ray = dual_slack(replace(self.problem, sigma=sigma), X, y), self.ray
        status, solver = self.monitor.status or "stalled", "solve_norm_bounded"
        history, n_iter = tuple(self.monitor.history), self.monitor.n_steps
        return SDPSolution(
            status, X, y, Z, certificate, ray, sigma, history, n_iter, self.problem, (), solver
        )

    def _check_size(self, y: Vector) -> None:
        """End the search if y proves that every X that meets the rows is too large."""
        if self.monitor.status:
            return
        problem, A = self.problem, self.problem.constraints
        y = np.clip(y, problem.loss.lower, problem.loss.upper)
        gain, rounding = inner(targets(problem), y)
        W = A.adjoint(y)
        minus = problem.cone.split(W).negative()
        # |X| |W + N| >= <W + N, X> >= <W, X> >= b.y for every N in the dual cone
        size = norm(W + minus.dense()) * (1 + 2 * EPS) + minus.rounding
        size += A.adjoint_error(y, n_more=2) + 2 * EPS * norm(W)
        gain -= rounding
        if gain > 0 and gain * (1 - 4 * EPS) > np.sqrt(self.delta * (1 + self.tol)) * size:
            error = size / gain * (1 + 8 * EPS)
            self.ray = Ray("primal_infeasible", y / gain, error, FLOATS)
            self.monitor.status = self.ray.kind

    def _search(self, s: float) -> None:
        """Search from log sigma = s for the sigma where |X|^2 is delta."""
        excess = cache(self._excess)
        is_small = excess(s) < 0
        for count in range(1, MOST_STEPS):
            if is_small and count == PATIENCE:
                excess(np.inf)
            before, s = s, s + (STEP if is_small else -STEP)
            if self.monitor.status or (excess(s) < 0) != is_small:
                break
        if not self.monitor.status and (excess(s) < 0) != is_small:
            brentq(excess, before, s, xtol=1e-13, disp=False)

    def _excess(self, s: float) -> float:
        """Return log(|X|^2 / delta) of the answer at log sigma = s; 0 where the search is over."""
        if self.monitor.status:
            return 0.0
        sigma = float(np.exp(s))
        is_plain = np.isinf(sigma)
        tol, most = (self.tol, TRIAL) if is_plain else (FINER * self.tol, None)
        X, y = self._solve(replace(self.problem, sigma=sigma), tol, most).answer()
        self._record(X, y, sigma)
        self.y = self.y if is_plain else y
        size = float(np.vdot(X, X)) / self.delta
        return 0.0 if self.monitor.status else float(np.log(max(size, 1e-300)))

    def _solve(self, problem: FrobeniusSDP, tol: float, max_iter: int | None = None) -> SDPRun:
        """Solve the problem of one sigma, within what is left of the limits."""
        run = make_run(problem, tol, self.monitor.phase(0.0, max_iter))
        run.go(State(u=self.y))
        return run

    def _record(self, X: Symmetric, y: Vector, sigma: float) -> None:
        """Certify an answer; keep the best so far, and end the search if it is good enough."""
        problem, delta = self.problem, self.delta
        # tr X = <I, X> <= |I| |X|
        trace_bound = float(np.linalg.norm(problem.cone.identity()) * np.sqrt(delta))
        certificate = certify_sdp(replace(problem, sigma=sigma), X, y, trace_bound=trace_bound)
        primal = float(np.vdot(problem.cost, X)) + problem.offset
        excess, price = float(np.vdot(X, X)) / delta - 1, delta / (2 * sigma)
        dual = certificate.dual - price
        certificate = replace(
            certificate,
            primal=primal,
            dual=dual,
            gap=abs(primal - dual),
            relative_gap=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
            violation=max(certificate.violation, excess),
            eta_p=max(certificate.eta_p, excess),
            bound=certificate.bound - price,
        )
        if self.best is None or certificate.error < self.best[-1].error:
            self.best = X, y, sigma, certificate
        if certificate.error <= self.tol:
            self.monitor.status = "optimal"
