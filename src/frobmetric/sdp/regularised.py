"""SDPs with a Frobenius term: the paper's problem, by semismooth Newton on its dual."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..core import Evaluation, FrobeniusSDP
from ..core.threads import one_thread
from ..core.types import Vector
from ..solvers import SOLVERS, Interrupted, Monitor, State
from ..solvers.gram import gram_solver
from ..solvers.watch import SDPCallback, SDPStep, Watch
from .certificate import SDPCertificate, certify_sdp, dual_slack, missed
from .infeasibility import Ray, find_ray, verify_ray
from .presolve import simplify, targets
from .solution import SDPSolution, warn_unless_solved

#: Steps after which it is asked whether the rows can be met at all.
SUSPICIOUS = 150


def solve_regularised(
    problem: FrobeniusSDP,
    tol: float,
    max_iter: int,
    time_limit: float,
    callback: SDPCallback | None,
    start: SDPSolution | State | None,
) -> SDPSolution:
    """What `solve_sdp` does with a finite sigma."""
    run = _Run(problem, max_iter, time_limit, callback)
    state = State(u=start.y) if isinstance(start, SDPSolution) else start or State()
    state = run.go(state, tol, SUSPICIOUS)
    if run.monitor.status == "max_iter" and len(run.history) < max_iter:
        run.look_for_ray()
        if run.ray is None:
            state = run.go(state, tol)
    # a monitor looks at the worst row, a certificate at their norm: the same but for a factor
    certificate = certify_sdp(problem, run.X, run.u)
    for finer in (0.1, 0.01):
        if certificate.error <= tol or run.monitor.status != "optimal":
            break
        run.go(state, finer * tol)
        certificate = certify_sdp(problem, run.X, run.u)
    solution = run.solution(certificate, tol)
    if run.interrupted:
        raise Interrupted(solution)
    warn_unless_solved(solution, tol, depth=4)
    return solution


@dataclass
class _Noting(Monitor):
    """A monitor that tells the run of every step."""

    run: _Run | None = None

    def record(self, u: Vector, found: Evaluation) -> bool:
        super().record(u, found)
        if self.run is not None and self.run.note(found) and not self.status:
            self.status = "stopped"
        return bool(self.status)


class _Run:
    """One run; `monitor` is that of its last part."""

    def __init__(
        self, problem: FrobeniusSDP, max_iter: int, time_limit: float, callback: SDPCallback | None
    ) -> None:
        self.problem, self.max_iter, self.time_limit = problem, max_iter, time_limit
        self.callback, self.history = callback, list[SDPStep]()
        self.interrupted = self.is_late = False
        self.monitor = Monitor(1.0, max_iter)
        self.ray: Ray | None = None
        self._began = time.perf_counter()

    def look_for_ray(self) -> None:
        """Whether the rows alone can be met; the Frobenius term has no say in that."""
        rows = replace(self.problem, cost=None, prior=None, sigma=np.inf)
        simple, units, lift, _ = simplify(rows)
        watch = Watch(1.0, self.max_iter, units, self.time_limit - self.history[-1].seconds)
        u = lift.lower_y(self.u)
        found = find_ray(simple, gram_solver(simple.constraints), 0 * simple.cost, u, watch)
        if found is not None and found[0] == "primal_infeasible":
            self.ray = verify_ray(rows, found[0], lift.y(found[1]))

    def go(self, state: State, tol: float, most: int | None = None) -> State:
        left = max(1, min(self.max_iter, most or self.max_iter) - len(self.history))
        self.monitor = _Noting(tol, left, run=self)
        try:
            with one_thread():
                SOLVERS["newton"](self.problem, state, self.monitor)
        except KeyboardInterrupt:
            if self.monitor.best is None:
                raise
            self.interrupted, self.monitor.status = True, "interrupted"
        self.u = self.monitor.best_u
        self.X = self.monitor.best.point.dense()
        return self.monitor.state

    def note(self, found: Evaluation) -> bool:
        """Add a step to the history; true if the run is to end here."""
        b = targets(self.problem)
        step = SDPStep(
            phase="newton",
            primal=found.primal,
            dual=found.dual,
            eta_p=float(np.linalg.norm(missed(self.problem, found.margins, b)))
            / (1 + float(np.linalg.norm(b))),
            eta_d=0.0,
            eta_g=abs(found.gap) / (1 + abs(found.primal) + abs(found.dual)),
            sigma=self.problem.sigma,
            seconds=time.perf_counter() - self._began,
        )
        self.history.append(step)
        wants_stop = self.callback is not None and bool(self.callback(step))
        self.is_late = not wants_stop and step.seconds > self.time_limit
        return wants_stop or self.is_late

    def solution(self, certificate: SDPCertificate, tol: float) -> SDPSolution:
        ended = self.monitor.status
        solved = "optimal" if certificate.error <= tol else "not_converged"
        return SDPSolution(
            status=solved if self.ray is None else self.ray.kind,
            X=self.X,
            y=self.u,
            Z=dual_slack(self.problem, self.X, self.u),
            certificate=certificate,
            ray=self.ray,
            sigma=self.problem.sigma,
            history=tuple(self.history),
            n_iter=len(self.history),
            ended="ray" if self.ray else "time_limit" if self.is_late else ended,
            problem=self.problem,
        )
