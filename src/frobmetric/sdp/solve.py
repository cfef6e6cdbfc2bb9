"""`solve_sdp`: an SDP with or without a Frobenius term, and the proof of its answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core import FrobeniusSDP
from ..core.points import as_dense
from ..core.threads import one_thread
from ..core.types import Symmetric, Vector
from ..solvers import Interrupted
from ..solvers.admm import admm
from ..solvers.gram import GramSolver, gram_solver
from ..solvers.interior import interior, is_quick, work_of_step
from ..solvers.monitor import State
from ..solvers.proximal import proximal
from ..solvers.watch import SDPCallback, Watch
from .certificate import certify_sdp, dual_slack
from .facial_reduction import Exposure, cover, reduce_to_face
from .infeasibility import Ray, find_ray, verify_ray
from .presolve import simplify
from .regularised import solve_regularised
from .solution import SDPSolution, warn_unless_solved

#: Error that the first phase is to reach, and the rounds that it has for it.
ROUGH, ROUNDS = 1e-2, 150
#: Error after that from which a proof of infeasibility is looked for.
HOPELESS = 1e-1
#: Rounds of refinement without progress before the run is given up.
PATIENCE = 3


def solve_sdp(
    problem: FrobeniusSDP,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    time_limit: float = np.inf,
    callback: SDPCallback | None = None,
    start: SDPSolution | State | None = None,
    trace_bound: float | None = None,
) -> SDPSolution:
    """Solve an SDP: minimise <C, X> over X in the cone, with rows that must hold.

    A finite sigma adds |X - prior|^2 / (2 sigma): the paper's problem, solved in the dual by
    semismooth Newton. With sigma = inf the SDP itself is solved: a face that holds all feasible
    X is looked for, ADMM gives a first answer and proximal steps the exact one; an interior-point
    method takes problems with few rows.

    Parameters
    ----------
    problem : FrobeniusSDP
        Hard rows only; see `frobmetric.sdp.sdp` for one made of matrices.
    tol : float
        Stop when the three relative errors of the certificate are this small.
    max_iter : int
        Stop after so many eigen-decompositions.
    time_limit : float
        Stop after so many seconds.
    callback : callable
        Called with each step; a true answer stops the run.
    start : SDPSolution or State
        Where to start; of a state X (`point`), the multipliers (`u`) or `sigma` may be missing.
    trace_bound : float
        A number that the trace of no feasible X exceeds, for the bound of the certificate.
        Looked for in the rows if not given.

    Returns
    -------
    SDPSolution
        Its certificate is computed from X and y alone. An answer that misses `tol` has the status
        "not_converged", and a `ConvergenceWarning` names the errors.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the best answer so far.

    Examples
    --------
    The largest eigenvalue of a matrix, as an SDP: maximise <S, X> with trace X = 1.

    >>> import numpy as np
    >>> from frobmetric.sdp import sdp, solve_sdp
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> solution = solve_sdp(sdp(-S, [np.eye(2)], [1.0]))
    >>> solution.status, round(-solution.certificate.primal, 4)
    ('optimal', 3.0)
    """
    _check(problem, tol, max_iter)
    if np.isfinite(problem.sigma):
        return solve_regularised(problem, tol, max_iter, time_limit, callback, start)
    run = _Run(problem, tol, max_iter, time_limit, callback)
    interrupted = False
    try:
        with one_thread():
            run.go(start)
    except KeyboardInterrupt:
        if run.watch.best is None:
            raise
        interrupted = True
    solution = run.solution(trace_bound)
    if interrupted:
        raise Interrupted(replace(solution, ended="interrupted"))
    warn_unless_solved(solution, tol)
    return solution


class _Run:
    """One run on a plain SDP, from the problem as given to its answer."""

    def __init__(
        self,
        problem: FrobeniusSDP,
        tol: float,
        max_iter: int,
        time_limit: float,
        callback: SDPCallback | None,
    ) -> None:
        self.given = problem
        self.simple, units, self.lift, fewer = simplify(problem)
        self.watch = Watch(tol, max_iter, units, time_limit, callback)
        self.exposure: Exposure | None = None
        self.ray: Ray | None = None
        self.notes = fewer.notes
        if fewer.contradiction is not None:
            self.ray = verify_ray(problem, "primal_infeasible", fewer.contradiction)

    def go(self, start: SDPSolution | State | None) -> None:
        if self.ray is not None:
            self._record_zero()
            self.watch.status = "ray"
            return
        gram, watch = gram_solver(self.simple.constraints), self.watch
        self.exposure = reduce_to_face(self.simple, gram, watch)
        problem = self.exposure.problem if self.exposure else self.simple
        work = work_of_step(problem)
        if start is None and is_quick(problem, work):
            interior(problem, watch)
        if watch.error > ROUGH and not watch.status:
            X, y, _ = admm(problem, gram, *self._begin(start), watch, ROUGH, ROUNDS)
            if watch.error > HOPELESS and not watch.status:
                self._look_for_ray(gram, X, y, thorough=False)
            if watch.error > ROUGH and np.isfinite(work) and not watch.status:
                interior(problem, watch)
        self._refine(problem, gram)
        if watch.best is None:
            self._record_zero()

    def _refine(self, problem: FrobeniusSDP, gram: GramSolver) -> None:
        """Proximal steps and ADMM in turn, from the best iterate on, while that gets better."""
        watch, idle = self.watch, 0
        while not watch.status:
            before = watch.error
            proximal(problem, *watch.state, watch)
            if not watch.status:
                admm(problem, gram, *watch.state, watch, watch.error / 10, ROUNDS)
            idle = 0 if watch.error < 0.7 * before else idle + 1
            if idle == PATIENCE and not watch.status:
                X, y, _ = watch.state
                self._look_for_ray(gram, X, y, thorough=True)
                watch.status = watch.status or "stalled"

    def _record_zero(self) -> None:
        """An iterate where there is no time, or no use, for better ones."""
        simple, watch = self.simple, self.watch
        X, y = np.zeros(simple.cone.shape), np.zeros(simple.constraints.shape[0])
        outside = float(np.sqrt(simple.cone.split(simple.cost).negative_norm2))
        step = watch.step("presolve", simple, X, y, simple.loss.conjugate(y)[1], outside, 1.0)
        watch.record(X, y, step)

    def _begin(self, start: SDPSolution | State | None) -> tuple[Symmetric, Vector, float]:
        if isinstance(start, SDPSolution):
            X, y, sigma = start.X, start.y, start.sigma
        elif start is not None:
            X = None if start.point is None else as_dense(start.point)
            y, sigma = start.u, start.sigma
        else:
            X = y = sigma = None
        return (
            np.zeros(self.simple.cone.shape) if X is None else self.lift.lower_x(X),
            np.zeros(self.simple.constraints.shape[0]) if y is None else self.lift.lower_y(y),
            1.0 if sigma is None else sigma,
        )

    def _look_for_ray(self, gram: GramSolver, X: Symmetric, y: Vector, thorough: bool) -> None:
        found = find_ray(self.simple, gram, X, y, self.watch, thorough)
        if found is None:
            return
        kind, vector = found
        back = self.lift.y if kind == "primal_infeasible" else self.lift.X
        self.ray = verify_ray(self.given, kind, back(vector))
        if self.ray is not None:
            self.watch.status = "ray"

    def solution(self, trace_bound: float | None) -> SDPSolution:
        """The best iterate as an answer to the problem as given."""
        best = self.watch.best
        if best is None:
            raise RuntimeError("the run recorded no iterate")
        y = best.y if self.exposure is None else cover(self.simple, self.exposure, best.y)
        X, y = self.lift.X(best.X), self.lift.y(y)
        y = np.clip(y, self.given.loss.lower, self.given.loss.upper)
        certificate = certify_sdp(self.given, X, y, trace_bound)
        solved = "optimal" if certificate.error <= self.watch.tol else "not_converged"
        return SDPSolution(
            status=solved if self.ray is None else self.ray.kind,
            X=X,
            y=y,
            Z=dual_slack(self.given, X, y),
            certificate=certificate,
            ray=self.ray,
            sigma=best.sigma,
            history=tuple(self.watch.history),
            n_iter=self.watch.n_steps,
            ended=self.watch.status,
            problem=self.given,
            notes=self.notes,
        )


def _check(problem: FrobeniusSDP, tol: float, max_iter: int) -> None:
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive")
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter!r} must be at least 1")
    open_ended = np.isinf(problem.loss.lower) | np.isinf(problem.loss.upper)
    if problem.loss.curvature.any() or not open_ended.all():
        raise ValueError(
            "solve_sdp takes rows that must hold (Hard, Equal, AtLeast, AtMost); this problem has "
            "losses that can be paid: use frobmetric.solve"
        )
    if np.isinf(problem.sigma) and problem.prior.any():
        raise ValueError("a prior without a Frobenius term means nothing: give a finite sigma")
