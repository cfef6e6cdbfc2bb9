"""The paper's other form: an SDP whose X is bounded in norm, instead of paying for it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

from ..core import Evaluation, FrobeniusSDP, Step
from ..core.threads import one_thread
from ..core.types import Symmetric, Vector
from ..solvers import Interrupted, Monitor, State
from ..solvers.newton import newton
from ..solvers.watch import SDPCallback, SDPStep
from .certificate import SDPCertificate, certify_sdp, dual_slack
from .infeasibility import Ray
from .presolve import targets
from .solution import SDPSolution, warn_unless_solved
from .solve import solve_sdp

__all__ = ["solve_norm_bounded"]

#: The first steps in log sigma, at most so many; after some upwards the plain SDP is tried.
STEP, MOST_STEPS, PATIENCE = np.log(10.0), 40, 2
#: Eigen-decompositions for that, which may have no answer.
TRIAL = 2000
#: Share of the tolerance to which the problem of one sigma is solved.
FINER = 0.01


def solve_norm_bounded(
    problem: FrobeniusSDP,
    delta: float,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    time_limit: float = np.inf,
    callback: SDPCallback | None = None,
    start: SDPSolution | None = None,
) -> SDPSolution:
    """minimise <C, X> over X in the cone, with rows that must hold and |X|_F^2 <= delta.

    The bound has a multiplier, 1 / (2 sigma), with which this is the SDP with the Frobenius term
    |X|^2 / (2 sigma). |X| grows with sigma, so a search over sigma finds where it meets the
    bound. By weak duality, every sigma and y on the way prove that no X is better than

        d(y, sigma) - delta / (2 sigma).

    Parameters
    ----------
    problem : FrobeniusSDP
        A plain SDP: sigma = inf.
    delta : float
    tol : float
        For the three errors of the certificate; |X|^2 may exceed delta by that share of it.
    max_iter, time_limit, callback
        As for `solve_sdp`, for all sigma together.
    start : SDPSolution
        Of a similar problem.

    Returns
    -------
    SDPSolution
        Its `sigma` is the one found, infinity where the bound does not matter. The objectives of
        its certificate are <C, X> and the bound above. If even the smallest X that meets the rows
        is too large the status is "primal_infeasible", and the ray y with b.y = 1 proves it: every
        feasible X has a norm of at least 1 / |(A*(y))_+|, which is 1 / `ray.error`.

    Examples
    --------
    With trace 1, |X|^2 is 1 at the optimum, which has rank one, and 1/2 or more for every X.

    >>> import numpy as np
    >>> from frobmetric.sdp import sdp, solve_norm_bounded
    >>> problem = sdp(np.diag([1.0, 2.0]), [np.eye(2)], [1.0])
    >>> np.diag(solve_norm_bounded(problem, 0.625).X).round(3).tolist()
    [0.75, 0.25]
    >>> round(solve_norm_bounded(problem, 2.0).certificate.primal, 3)
    1.0
    >>> solve_norm_bounded(problem, 0.4).status
    'primal_infeasible'
    """
    if not 0 < delta < np.inf:
        raise ValueError(f"delta={delta!r} must be a positive number; solve_sdp has no bound")
    if not tol > 0 or max_iter < 1:
        raise ValueError(f"tol={tol!r} must be positive, max_iter={max_iter!r} at least 1")
    if np.isfinite(problem.sigma) or problem.prior.any():
        raise ValueError(
            f"sigma={problem.sigma!r}; the bound replaces the Frobenius term: give sigma=np.inf"
        )
    search = _Search(problem, delta, tol, max_iter, time_limit, callback)
    try:
        solution = search.run(start)
    except KeyboardInterrupt:
        if search.best is None:
            raise
        raise Interrupted(replace(search.best, ended="interrupted")) from None
    warn_unless_solved(solution, tol)
    return solution


@dataclass
class _Search:
    """The problems of different sigma, and the best answer of them to the one with the bound."""

    problem: FrobeniusSDP
    delta: float
    tol: float
    max_iter: int
    time_limit: float
    callback: SDPCallback | None
    best: SDPSolution | None = None
    ended: str = ""
    n_iter: int = 0
    history: list[SDPStep] = field(default_factory=list)
    _y: Vector | None = None
    _known: dict[float, float] = field(default_factory=dict)
    _began: float = field(default_factory=time.perf_counter)

    def run(self, start: SDPSolution | None) -> SDPSolution:
        X, y = self._smallest()
        cost = float(np.linalg.norm(self.problem.cost))
        if not self.ended and cost == 0:  # nothing to minimise: any feasible X is an answer
            self._note(self._answer(X, 0 * y, np.inf))
        elif not self.ended:
            sigma = np.sqrt(self.delta) / cost
            self._y = y / sigma
            if start is not None:
                sigma, self._y = min(start.sigma, 1e6 * sigma), start.y
            self._search(float(np.log(sigma)))
        return replace(
            self.best or self._answer(X, y, np.inf),
            ended=self.ended or "stalled",
            history=tuple(self.history),
            n_iter=self.n_iter,
        )

    def _smallest(self) -> tuple[Symmetric, Vector]:
        """The smallest X that meets the rows; the end of the search if that is too large."""
        limit = self.delta * (1 + self.tol)
        around = replace(self.problem, cost=None, sigma=1.0, offset=0.0)
        monitor = _Above(FINER * self.tol, self.max_iter, self._tell_smallest, limit=limit / 2)
        with one_thread():
            newton(around, State(), monitor)
        X, y = monitor.best.point.dense(), monitor.best_u
        self._spend(monitor.n_steps)
        gain = float(targets(self.problem) @ y)
        pull = self.problem.cone.split(self.problem.constraints.adjoint(y))
        # |X| |(A*(y))_+| >= <A*(y), X> >= b.y
        if gain > 0 and gain**2 > limit * pull.positive_norm2:
            error = float(np.sqrt(pull.positive_norm2)) / gain
            self.ended = "ray"
            self.best = replace(
                self._answer(X, y, np.inf),
                status="primal_infeasible",
                ray=Ray("primal_infeasible", y / gain, error),
            )
        return X, y

    def _search(self, s: float) -> None:
        """From log sigma = s to where |X|^2 is delta."""
        is_small = self._excess(s) < 0
        for count in range(1, MOST_STEPS):
            if is_small and count == PATIENCE:
                self._excess(np.inf)
            before, s = s, s + (STEP if is_small else -STEP)
            if self.ended or (self._excess(s) < 0) != is_small:
                break
        if not self.ended and (self._excess(s) < 0) != is_small:
            scipy.optimize.brentq(self._excess, before, s, xtol=1e-13, disp=False)

    def _excess(self, s: float) -> float:
        """log(|X|^2 / delta) of the answer at log sigma = s; 0 where the search is over."""
        if self.ended:
            return 0.0
        if s not in self._known:
            sigma = float(np.exp(s))
            found = self._solve(replace(self.problem, sigma=sigma))
            self._note(self._answer(found.X, found.y, sigma))
            if np.isfinite(sigma):
                self._y = found.y
            size = float(np.vdot(found.X, found.X)) / self.delta
            self._known[s] = float(np.log(max(size, 1e-300)))
        return 0.0 if self.ended else self._known[s]

    def _note(self, answer: SDPSolution) -> None:
        if self.best is None or answer.certificate.error < self.best.certificate.error:
            self.best = answer
        if answer.status == "optimal":
            self.ended = "optimal"

    def _solve(self, around: FrobeniusSDP) -> SDPSolution:
        """The problem of one sigma."""
        is_plain = np.isinf(around.sigma)
        left = max(1, self.max_iter - self.n_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = solve_sdp(
                around,
                self.tol if is_plain else FINER * self.tol,
                min(left, TRIAL) if is_plain else left,
                self.time_limit - self._seconds,
                self._tell,
                State(u=self._y),
            )
        self._spend(found.n_iter)
        return found

    def _tell(self, step: SDPStep) -> bool:
        """Note a step; true if the search is to end here."""
        self.history.append(step)
        if self.callback is not None and self.callback(step):
            self.ended = "stopped"
        elif self._seconds > self.time_limit:
            self.ended = "time_limit"
        return bool(self.ended)

    def _tell_smallest(self, step: Step) -> bool:
        gap = abs(step.gap) / (1 + abs(step.primal) + abs(step.dual))
        return self._tell(
            SDPStep("smallest", step.primal, step.dual, np.nan, 0.0, gap, 1.0, step.seconds)
        )

    def _spend(self, n_iter: int) -> None:
        self.n_iter += n_iter
        if self.n_iter >= self.max_iter:
            self.ended = self.ended or "max_iter"

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._began

    def _answer(self, X: Symmetric, y: Vector, sigma: float) -> SDPSolution:
        """What was found at this sigma, as an answer to the problem with the bound."""
        around = replace(self.problem, sigma=sigma)
        certificate = _certify(around, self.delta, X, y)
        return SDPSolution(
            status="optimal" if certificate.error <= self.tol else "not_converged",
            X=X,
            y=y,
            Z=dual_slack(around, X, y),
            certificate=certificate,
            ray=None,
            sigma=sigma,
            history=tuple(self.history),
            n_iter=self.n_iter,
            ended=self.ended,
            problem=self.problem,
        )


@dataclass
class _Above(Monitor):
    """Ends at the first u whose dual exceeds `limit`, and keeps that one."""

    limit: float = np.inf

    def record(self, u: Vector, found: Evaluation) -> bool:
        super().record(u, found)
        if found.dual > self.limit:
            self.best, self.best_u, self.status = found, u, "stopped"
        return bool(self.status)


def _certify(around: FrobeniusSDP, delta: float, X: Symmetric, y: Vector) -> SDPCertificate:
    """Of (X, y, sigma) for the problem with the bound; sigma is that of `around`."""
    identity = around.cone.identity()
    # tr X = <I, X> <= |I| |X|
    trace_bound = float(np.linalg.norm(identity)) * float(np.sqrt(delta))
    own = certify_sdp(around, X, y, trace_bound)
    price = delta / (2 * around.sigma)
    primal, dual = float(np.vdot(around.cost, X)) + around.offset, own.dual - price
    return replace(
        own,
        primal=primal,
        dual=dual,
        eta_p=max(own.eta_p, float(np.vdot(X, X)) / delta - 1),
        eta_g=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
        bound=own.bound - price,
    )
