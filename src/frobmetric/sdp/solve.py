"""`solve_sdp`: solve an SDP with or without a Frobenius term, and certify the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from ..checks.arguments import as_tolerance
from ..core import FrobeniusSDP
from ..core.checks import MOST, as_finite, as_real, require_problem
from ..core.points import Symmetric, Vector, as_dense
from ..core.problem import Evaluation
from ..solvers import Monitor, State
from ..solvers.admm import admm
from ..solvers.interior import interior, is_quick, work_of_step
from ..solvers.monitor import Callback, conclude
from ..solvers.newton import newton
from ..solvers.plain import GramSolver, PlainIterate, SDPStep, gram_solver, targets
from ..solvers.proximal import proximal
from .infeasibility import find_rays
from .presolve import Exposure, lift_dual_from_face, reduce_to_face, simplify
from .rays import Ray, bound_answers, verify_ray
from .solution import SDPSolution, certify_sdp, dual_slack, primal_residual

#: Error that the first phase is to reach, and its largest number of rounds.
ROUGH, ROUNDS = 1e-2, 150
#: Error after that phase above which a proof of infeasibility is looked for.
HOPELESS = 1e-1
#: Rounds of refinement without progress after which the run ends.
PATIENCE = 3
#: Steps on a problem with a Frobenius term after which a proof of infeasibility is looked for.
SUSPICIOUS = 150


def solve_sdp(
    problem: FrobeniusSDP,
    *,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    time_limit: float = inf,
    callback: Callback | None = None,
    start: SDPSolution | State | None = None,
    trace_bound: float | None = None,
) -> SDPSolution:
    """Solve an SDP: minimise <C, X> over X in the cone, with rows that must hold.

    A finite sigma adds |X - prior|^2 / (2 sigma): the paper's problem, solved in the dual by
    semismooth Newton. With sigma = inf the SDP itself is solved: first the search for a face that
    contains all feasible X, then ADMM for a first answer and proximal steps for the exact one; an
    interior-point method solves problems with few rows.

    Parameters
    ----------
    problem : FrobeniusSDP
        Hard rows only; `frobmetric.sdp.make_sdp` makes one from matrices.
    tol : float
        Stop when the three relative errors of the certificate are this small.
    max_iter : int
        Largest number of eigen-decompositions.
    time_limit : float
        Seconds after which to stop.
    callback : callable, optional
        Called with each `SDPStep`; a true answer stops the run.
    start : SDPSolution or State, optional
        Where to start; of a state X (`point`), the multipliers (`u`) or `sigma` may be missing.
    trace_bound : float, optional
        Upper bound on the trace of every feasible X, for the bound of the certificate; derived
        from the rows if not given.

    Returns
    -------
    SDPSolution
        Its certificate is computed from X and y alone. The status of an answer that misses `tol`
        is the reason for which the run ended, and a `ConvergenceWarning` names the errors.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the best answer so far.

    Examples
    --------
    The largest eigenvalue of a matrix, as an SDP: maximise <S, X> with trace X = 1.

    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> solution = solve_sdp(make_sdp(-S, [np.eye(2)], [1.0]))
    >>> solution.status, round(-solution.certificate.primal, 4)
    ('optimal', 3.0)
    """
    tol = as_tolerance(tol, max_iter)
    require_problem(problem)
    _check(problem)
    if trace_bound is not None:
        trace_bound = as_real(trace_bound, name="trace_bound")
    # with a Frobenius term the certificate decides when the run ends
    monitor = Monitor(0.0, max_iter, callback, time_limit, describe_by(problem))
    run = make_run(problem, tol, monitor)
    state = as_state(start, problem)
    with monitor.running():
        run.go(state)
    solution = run.solution(trace_bound)
    conclude(solution, tol, advice=str(solution.nearly or ""))
    return solution


def as_state(start: Any, problem: FrobeniusSDP) -> State:
    """Return where to start; refuse anything but the answer of a problem of this size."""
    if isinstance(start, SDPSolution):
        start = State(start.y, start.X, start.sigma)
    if not (start is None or isinstance(start, State)):
        raise TypeError(
            f"start is {start!r:.80} of type {type(start).__name__}; expected an SDPSolution or a "
            "State; give None to start anew"
        )
    state = start or State()
    sizes = {"u": (problem.constraints.shape[0],), "point": problem.cone.shape}
    for name, shape in sizes.items():
        part = getattr(state, name)
        given = None if part is None else np.shape(as_dense(part) if name == "point" else part)
        if given not in (None, shape):
            raise ValueError(
                f"start has {name} of shape {given}; this problem has {shape}; give the solution "
                "of a problem of the same size, or None"
            )
    return state


def describe_by(problem: FrobeniusSDP) -> Callable[[Any, float], SDPStep]:
    """Return the function that turns an iterate of an SDP with these rows into an `SDPStep`."""
    norm_b = float(np.linalg.norm(targets(problem)))

    def describe(iterate: PlainIterate | Evaluation, seconds: float) -> SDPStep:
        if isinstance(iterate, PlainIterate):
            return iterate.step(seconds)
        primal, dual = iterate.primal, iterate.dual
        eta_p = float(np.linalg.norm(primal_residual(problem, iterate.margins))) / (1 + norm_b)
        eta_g = abs(iterate.gap) / (1 + abs(primal) + abs(dual))
        return SDPStep("newton", primal, dual, eta_p, 0.0, eta_g, iterate.sigma, seconds)

    return describe


def make_run(problem: FrobeniusSDP, tol: float, monitor: Monitor) -> SDPRun:
    """Return the run for a problem with or without a Frobenius term."""
    return (_PlainRun if np.isinf(problem.sigma) else _RegularisedRun)(problem, tol, monitor)


class SDPRun:
    """One run, from the problem as given to its answer."""

    notes: tuple[str, ...] = ()
    ray: Ray | None = None
    nearly: Ray | None = None

    def __init__(self, problem: FrobeniusSDP, tol: float, monitor: Monitor) -> None:
        self.given, self.tol, self.monitor = problem, tol, monitor

    def go(self, start: State) -> None:
        """Solve the problem."""
        raise NotImplementedError

    def answer(self) -> tuple[Symmetric, Vector]:
        """Return X and y of the best iterate, for the problem as given."""
        raise NotImplementedError

    def solution(self, trace_bound: float | None) -> SDPSolution:
        """Certify the best iterate."""
        X, y = self.answer()
        Z, certificate = (
            dual_slack(self.given, X, y),
            certify_sdp(self.given, X, y, trace_bound=trace_bound),
        )
        history, n_iter = tuple(self.monitor.history), self.monitor.n_steps
        sigma, status, ray = self.monitor.best.sigma, self.monitor.status, self.ray
        if status != "interrupted" and ray is not None:
            status = ray.kind
        elif status != "interrupted" and certificate.error <= self.tol:
            status = "optimal"
        elif status in ("", "optimal"):
            status = "stalled"
        nearly = None if ray is not None or status == "optimal" else self.nearly
        fields = (X, y, Z, certificate, ray, sigma, history, n_iter, self.given, self.notes)
        return SDPSolution(status, *fields, nearly=nearly)

    def judge(self, kind: str, vector: Symmetric) -> None:
        """Keep a ray of the problem as given if it is a proof, else what it says of answers."""
        self.ray = verify_ray(self.given, kind, vector)
        near = bound_answers(self.given, kind, vector) if self.ray is None else None
        if near is not None and (self.nearly is None or near.error < self.nearly.error):
            self.nearly = near


class _PlainRun(SDPRun):
    """A run on a plain SDP."""

    def __init__(self, problem: FrobeniusSDP, tol: float, monitor: Monitor) -> None:
        super().__init__(problem, tol, monitor)
        monitor.tol = tol  # iterates are measured as the certificate is
        self.simple, self.units, self.lift, fewer = simplify(problem)
        self.exposure: Exposure | None = None
        self.notes = fewer.notes
        if fewer.contradiction is not None:
            self.judge("primal_infeasible", fewer.contradiction)

    def go(self, start: State) -> None:
        if self.ray is not None:
            self._record_zero()
            self.monitor.status = self.ray.kind
            return
        gram, monitor = gram_solver(self.simple.constraints), self.monitor
        self.exposure = reduce_to_face(self.simple, gram, monitor)
        problem = self.exposure.problem if self.exposure else self.simple
        work = work_of_step(problem)
        if start.is_empty and is_quick(problem, work):
            interior(problem, start, monitor.phase(self.tol), units=self.units)
        if monitor.error > ROUGH and not monitor.status:
            u = None if start.u is None else self.lift.lower_y(start.u)
            X = None if start.point is None else self.lift.lower_x(as_dense(start.point))
            last = self._admm(problem, gram, State(u, X, start.sigma), ROUGH)
            if monitor.error > HOPELESS and not monitor.status:
                self.look_for_ray(gram, last, thorough=False)
            if monitor.error > ROUGH and np.isfinite(work) and not monitor.status:
                interior(problem, State(), monitor.phase(self.tol), units=self.units)
        self._refine(problem, gram)
        if monitor.best is None:
            self._record_zero()

    def _admm(self, problem: FrobeniusSDP, gram: GramSolver, state: State, tol: float) -> State:
        return admm(problem, state, self.monitor.phase(tol, ROUNDS), gram=gram, units=self.units)

    def _refine(self, problem: FrobeniusSDP, gram: GramSolver) -> None:
        """Alternate proximal steps and ADMM, from the best iterate, while the error falls."""
        monitor, idle = self.monitor, 0
        while not monitor.status:
            before = monitor.error
            proximal(problem, monitor.state, monitor.phase(self.tol), units=self.units)
            if not monitor.status:
                self._admm(problem, gram, monitor.state, monitor.error / 10)
            idle = 0 if monitor.error < 0.7 * before else idle + 1
            if idle == PATIENCE and not monitor.status:
                self.look_for_ray(gram, monitor.state, thorough=True)
                monitor.status = monitor.status or "stalled"

    def _record_zero(self) -> None:
        """Record zero, where there is no time for a better iterate, or no need."""
        simple = self.simple
        X, y = np.zeros(simple.cone.shape), np.zeros(simple.constraints.shape[0])
        outside = float(np.sqrt(simple.cone.split(simple.cost).negative_norm2))
        residuals = targets(simple), outside
        iterate = self.units.measure("presolve", simple, (X, y, 1.0), residuals, 0)
        self.monitor.record(iterate)

    def look_for_ray(self, gram: GramSolver, state: State, thorough: bool) -> None:
        """Look for a proof of infeasibility near a state of the simple problem."""
        for kind, vector in find_rays(self.simple, gram, state, self.monitor, thorough):
            back = self.lift.y if kind == "primal_infeasible" else self.lift.X
            self.judge(kind, back(vector))
            if self.ray is not None:
                self.monitor.status = self.ray.kind
                return

    def answer(self) -> tuple[Symmetric, Vector]:
        y, loss = self.monitor.best.u, self.given.loss
        if self.exposure is not None:
            y = lift_dual_from_face(self.simple, self.exposure, y)
        return self.lift.X(self.monitor.best.point), np.clip(self.lift.y(y), loss.lower, loss.upper)


class _RegularisedRun(SDPRun):
    """A run on a problem with a Frobenius term: the paper's, by semismooth Newton on its dual."""

    def go(self, start: State) -> None:
        monitor = self.monitor
        phase = self._newton(start, self.tol, SUSPICIOUS)
        if phase.status == "max_iter" and not monitor.status:
            self._look_for_ray()
            if self.ray is not None:
                return
            phase = self._newton(monitor.state, self.tol)
        # a monitor compares the worst row, a certificate their norm: the same up to a factor
        for finer in (0.1, 0.01):
            if monitor.status or phase.status != "optimal":
                break
            if certify_sdp(self.given, *self.answer()).error <= self.tol:
                break
            phase = self._newton(monitor.state, finer * self.tol)
        monitor.status = monitor.status or phase.status

    def _newton(self, state: State, tol: float, max_iter: int | None = None) -> Monitor:
        phase = self.monitor.phase(tol, max_iter)
        newton(self.given, State(state.u), phase)
        return phase

    def _look_for_ray(self) -> None:
        """Look for a proof that the rows alone cannot be met, whatever the Frobenius term."""
        zero = np.zeros(self.given.cone.shape)
        rows = replace(self.given, cost=zero, prior=zero, sigma=np.inf)
        run = _PlainRun(rows, self.tol, self.monitor.inner(0.0))
        if run.ray is None:
            state = State(run.lift.lower_y(self.monitor.best.u))
            run.look_for_ray(gram_solver(run.simple.constraints), state, thorough=True)
        self.ray, self.nearly = run.ray, run.nearly

    def answer(self) -> tuple[Symmetric, Vector]:
        return self.monitor.best.point.dense(), self.monitor.best.u


def _check(problem: FrobeniusSDP) -> None:
    for name, value in (("cost", problem.cost), ("right-hand sides", targets(problem))):
        as_finite(value, name=name, most=MOST)
    open_ended = np.isinf(problem.loss.lower) | np.isinf(problem.loss.upper)
    if problem.loss.curvature.any() or not open_ended.all():
        raise ValueError(
            "solve_sdp takes rows that must hold (Hard, Equal, AtLeast, AtMost); this problem has "
            "soft losses: use frobmetric.solve"
        )
    if np.isinf(problem.sigma) and problem.prior.any():
        raise ValueError("a prior without a Frobenius term has no effect: give a finite sigma")
