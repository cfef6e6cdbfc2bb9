"""Observation of a run: where it starts, its history and best iterate, when and why it ends.

Every solver reports its iterates to a `Monitor`, and stops when that says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.checks import as_real, require_callable
from ..core.points import Point, Symmetric, Vector, as_vector
from ..core.problem import FrobeniusSDP
from ..core.solution import Solution, Step
from ..core.threads import one_thread
from ..core.warning import warn_user

#: More steps than any run takes.
MOST_STEPS = 2**62
#: Called with each entry of the history; a true answer stops the run.
Callback = Callable[[Any], object]


@dataclass(frozen=True)
class State:
    """Start of a solver, and where it ended; any part may be missing.

    Examples
    --------
    >>> from frobmetric.solvers import State
    >>> State().u is None
    True
    """

    u: Vector | None = None
    point: Point | Symmetric | None = None
    sigma: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every part is missing."""
        return self.u is None and self.point is None and self.sigma is None

    def dual(self, problem: FrobeniusSDP) -> Vector:
        """Return a u inside the box: the given one, else one that belongs to the point, else 0."""
        m = problem.constraints.shape[0]
        if self.u is not None:
            u = as_vector(self.u)
        elif self.point is not None:
            u = problem.loss.multiplier(problem.constraints.forward(self.point))
        else:
            u = np.zeros_like(problem.loss.scale)
        if u.shape != (m,):
            raise ValueError(f"start has u of shape {u.shape}; this problem has {m} constraints")
        return np.clip(u, problem.loss.lower, problem.loss.upper)


class Iterate(Protocol):
    """One iterate of a solver, with the error that a tolerance is compared with."""

    @property
    def error(self) -> float: ...


def describe(iterate: Any, seconds: float) -> Step:
    """Return the entry of the history for an iterate."""
    return Step(float(iterate.primal), float(iterate.dual), iterate.gap, iterate.rank, seconds)


def ignore(monitor: Monitor) -> None:
    """Do nothing: the listener of a run that nobody follows."""


@dataclass
class Monitor:
    """Observer of a run: keeps the history and the best iterate, and says when to stop.

    A solver that solves parts of the problem on the way observes each by `inner`: those steps
    count, but prove nothing of the whole problem and are not in its history. Several solvers that
    share a run have a `phase` each.

    Parameters
    ----------
    tol : float
        Error of an iterate at which the run ends with the status "optimal".
    max_iter : int
        Largest number of eigen-decompositions.
    callback : callable, optional
        Called with each entry of the history; a true answer stops the run.
    time_limit : float
        Seconds after which the run ends.
    describe : callable
        Function of an iterate and the seconds since the start that returns the entry of the
        history; a `Step` by default.
    listener : callable
        Function called with this monitor after every step, also those of inner monitors.

    Attributes
    ----------
    status : str
        Empty while the run goes on, then a key of `frobmetric.core.solution.STATUSES`.
    best : iterate with the smallest error, None while no error is finite
    history : list
    n_steps : int
        Number of eigen-decompositions.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> from frobmetric.solvers import SOLVERS, Monitor, State
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> monitor = Monitor(tol=1e-3, max_iter=100)
    >>> with monitor.running():
    ...     state = SOLVERS["lbfgsb"](problem, State(), monitor)
    >>> monitor.status, monitor.best.u.round(3).tolist(), monitor.error <= 1e-3
    ('optimal', [1.0], True)
    """

    tol: float
    max_iter: int
    callback: Callback | None = None
    time_limit: float = np.inf
    describe: Callable[[Any, float], Any] = describe
    listener: Callable[[Monitor], object] = ignore
    history: list[Any] = field(default_factory=list)
    best: Any = None
    status: str = ""
    n_steps: int = 0
    _outer: Monitor | None = None
    _is_phase: bool = False
    _began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        require_callable(self.callback, name="callback")
        require_callable(self.listener, name="listener")
        self.tol, self.time_limit = float(self.tol), as_real(self.time_limit, name="time_limit")
        # an integer of 8 bits would wrap around where the steps are counted
        self.max_iter = int(min(self.max_iter, MOST_STEPS))

    def record(self, iterate: Iterate) -> bool:
        """Record an iterate, which cost one eigen-decomposition; return whether to stop."""
        self._add(iterate)
        return self.count()

    def count(self) -> bool:
        """Count one eigen-decomposition without an iterate; return whether to stop."""
        self.n_steps += 1
        if self._outer is not None:
            self._outer.count()
        if not self.status and self.n_steps >= self.max_iter:
            self.status = "max_iter"
        self.listener(self)
        return self.should_stop()

    def should_stop(self) -> bool:
        """Return whether the run is over, also because its time is up."""
        if self._outer is not None and self._outer.should_stop():
            self.status = self._outer.status
        elif not self.status and self.seconds > self.time_limit:
            self.status = "time_limit"
        return bool(self.status)

    @property
    def error(self) -> float:
        """Error of the best iterate."""
        return np.inf if self.best is None else float(self.best.error)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    @property
    def state(self) -> State:
        """Best iterate of a `FrobeniusSDP`, to start again from."""
        best = self.best
        return State() if best is None else State(best.u, best.point, best.sigma)

    def inner(self, tol: float, max_iter: int | None = None) -> Monitor:
        """Return a monitor for another problem that is solved on the way, within these limits."""
        return Monitor(tol, self._left(max_iter), _outer=self)

    def phase(self, tol: float, max_iter: int | None = None) -> Monitor:
        """Return a monitor for a part of this run; its iterates are recorded here."""
        return Monitor(max(tol, self.tol), self._left(max_iter), _outer=self, _is_phase=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a solver with one BLAS thread; Ctrl-C ends it if there is an iterate to return.

        Overflow gives no warning: an iterate that is not finite is never the best.
        """
        try:
            with one_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                yield
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.status = "interrupted"

    def _add(self, iterate: Iterate) -> None:
        if np.isnan(iterate.error):  # overflow
            return
        if iterate.error < self.error:
            self.best = iterate
        wants_stop = False
        if self._outer is not None and self._is_phase:
            self._outer._add(iterate)
        else:
            self.history.append(self.describe(iterate, self.seconds))
            wants_stop = self.callback is not None and bool(self.callback(self.history[-1]))
        if iterate.error <= self.tol:
            self.status = "optimal"
        elif wants_stop:
            self.status = "stopped"

    def _left(self, max_iter: int | None) -> int:
        left = max(1, self.max_iter - self.n_steps)
        return left if max_iter is None else min(left, max_iter)


@dataclass(frozen=True, eq=False)
class Run:
    """Finished part of a solve: its best u, its history and its number of steps."""

    u: Vector | None = None
    history: tuple[Step, ...] = ()
    n_iter: int = 0

    def followed_by(self, u: Vector | None, history: Iterable[Step], n_iter: int) -> Run:
        """Return this part together with the next one, whose clock began at zero."""
        seconds = self.history[-1].seconds if self.history else 0.0
        later = (step._replace(seconds=seconds + step.seconds) for step in history)
        return Run(u, (*self.history, *later), self.n_iter + n_iter)

    def complete(self, solution: Solution) -> Solution:
        """Return the solution of the last part with the history of the whole solve."""
        whole = self.followed_by(solution.u, solution.history, solution.n_iter)
        return replace(solution, history=whole.history, n_iter=whole.n_iter)


#: The part of a solve that has not begun.
NOTHING = Run()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `solution` is the best certified answer so far.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> from frobmetric.solvers import Interrupted, solve
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> def press_ctrl_c(step):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     solve(problem, callback=press_ctrl_c)
    ... except Interrupted as stop:
    ...     print(stop.solution.status, stop.solution.certificate.dual >= 0)
    interrupted True
    """

    def __init__(self, solution: Any, message: str = "") -> None:
        super().__init__(
            message or f"interrupted after {solution.n_iter} steps; {solution.certificate}"
        )
        self.solution = solution


def conclude(solution: Any, tol: float, *, advice: str = "") -> None:
    """Raise `Interrupted` after Ctrl-C; warn of a run that ended above its tolerance by itself.

    `solution` has `certificate`, `status`, `solver` and `n_iter`; `advice` tells what to do, by
    default to raise the limit that ended the run. The warning points to the caller's caller.

    Examples
    --------
    >>> import warnings
    >>> from types import SimpleNamespace
    >>> from frobmetric.core.solution import Certificate
    >>> from frobmetric.solvers.monitor import conclude
    >>> run = {"status": "max_iter", "solver": "admm", "n_iter": 9}
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     conclude(SimpleNamespace(**run, certificate=Certificate(1.0, 0.9, 0.1, 0.1)), tol=0.01)
    >>> print(caught[0].message)
    admm ended (max_iter) after 9 steps with relative gap 1.0e-01 > tol=0.01; raise max_iter or tol
    """
    if solution.status == "interrupted":
        raise Interrupted(solution)
    if solution.status not in ("max_iter", "time_limit", "stalled"):
        return
    usual = "raise tol" if solution.status == "stalled" else f"raise {solution.status} or tol"
    if solution.certificate.is_rounding:
        usual = (
            "it cannot be certified at this precision: raise tol, centre the data, or use units "
            "in which their values are near 1"
        )
    warn_user(
        f"{solution.solver} ended ({solution.status}) after {solution.n_iter} steps with "
        f"{solution.certificate.describe_error()} > tol={tol:g}; {advice or usual}",
        ConvergenceWarning,
    )


class Reporter:
    """Callback that prints a line every few steps, and passes each step on."""

    def __init__(self, every: int, callback: Callback | None) -> None:
        self.every, self.callback, self.count = every, callback, 0

    def __call__(self, step: Step) -> bool:
        if self.count % self.every == 0:
            sys.stdout.write(
                f"step {self.count + 1:4d}  objective {step.primal:.6g}  gap {step.gap:.2e}  "
                f"rank {step.rank}  {step.seconds:.1f} s\n"
            )
        self.count += 1
        return self.callback is not None and bool(self.callback(step))
