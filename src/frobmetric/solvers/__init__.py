"""`solve` a problem with a solver given by name; the certificate states how good the answer is.

Examples
--------
A `Solver` is a function that reports to its monitor; a `Callback` sees each step:

>>> import numpy as np
>>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
>>> from frobmetric.solvers import SOLVERS, Callback, Solver, solve
>>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
>>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
>>> solver: Solver = SOLVERS["lbfgsb"]
>>> stop_at_once: Callback = lambda step: True
>>> solver.__name__, solve(problem, solver="lbfgsb", callback=stop_at_once).status
('lbfgsb', 'stopped')
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..checks.arguments import as_tolerance
from ..core.checks import require_problem
from ..core.cones import NumericalError
from ..core.problem import FrobeniusSDP
from ..core.solution import Solution, certify
from .active_set import active_set
from .admm import admm
from .interior import interior
from .lbfgsb import lbfgsb
from .monitor import Callback, Interrupted, Monitor, State, conclude, ignore
from .newton import newton
from .proximal import proximal
from .quasi_newton import quasi_newton
from .smoothing import smoothing

Solver = Callable[[FrobeniusSDP, State, Monitor], State]

#: Solvers of problems with a Frobenius term: sigma is finite.
FROBENIUS_SOLVERS: dict[str, Solver] = {
    "auto": active_set,
    "active_set": active_set,
    "lbfgsb": lbfgsb,
    "newton": newton,
    "quasi_newton": quasi_newton,
    "smoothing": smoothing,
}
#: Solvers of plain SDPs: sigma is infinite, all rows are equations.
PLAIN_SOLVERS: dict[str, Solver] = {"admm": admm, "interior": interior, "proximal": proximal}
#: Every solver by name.
SOLVERS = FROBENIUS_SOLVERS | PLAIN_SOLVERS

__all__ = ["SOLVERS", "Interrupted", "Monitor", "State", "solve"]


def solve(
    problem: FrobeniusSDP,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 1000,
    callback: Callback | None = None,
    start: State | Solution | None = None,
    time_limit: float = np.inf,
    listener: Callable[[Monitor], object] | None = None,
) -> Solution:
    """Solve a problem to a relative duality gap.

    Parameters
    ----------
    problem : FrobeniusSDP
    solver : str
        A name in `FROBENIUS_SOLVERS` or, for an SDP without Frobenius term whose rows are
        equations, in `PLAIN_SOLVERS`; `frobmetric.sdp.solve_sdp` solves any SDP.
    tol : float
        Stop when the relative gap, or with hard rows the largest relative error, is this small.
    max_iter : int
        Largest number of steps; each is one eigen-decomposition.
    callback : callable, optional
        Called with each `Step`; a true answer stops with the best iterate, status "stopped".
    start : State or Solution, optional
        Start of the solver; any part of a state may be missing.
    time_limit : float
        Seconds after which to stop.
    listener : callable, optional
        Called with the `Monitor` after each step, to read the best iterate so far.

    Returns
    -------
    Solution
        The iterate with the smallest error. A run that ends above `tol` for another reason than
        the callback warns. Where rounding hides the gap that is left, it ends "stalled".

    Raises
    ------
    Interrupted
        On Ctrl-C, with the best certified iterate.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> from frobmetric.solvers import solve
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> print(solve(problem).status)
    optimal
    """
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver={solver!r:.80} is not known; choose one of {sorted(SOLVERS)}")
    require_problem(problem)
    tol = as_tolerance(tol, max_iter)
    listener = ignore if listener is None else listener
    monitor = Monitor(tol, max_iter, callback, time_limit, listener=listener)
    if not (start is None or isinstance(start, (State, Solution))):
        raise TypeError(
            f"start is {start!r:.80} of type {type(start).__name__}; expected a State or a "
            "Solution; give None to start anew"
        )
    begin = start if isinstance(start, State) else State(getattr(start, "u", None))
    # iterates beyond the range of floats have no error that is a number, and are not recorded
    with monitor.running(), np.errstate(over="ignore", invalid="ignore"):
        SOLVERS[solver](problem, begin, monitor)
    best = monitor.best
    if best is None:
        raise NumericalError(
            f"{solver} met no iterate with a finite objective; bring the data to values near 1"
        )
    point = best.point
    if isinstance(point, np.ndarray):
        point = problem.cone.split(point).positive()
    certificate, history = certify(problem, point, best.u), tuple(monitor.history)
    # the solver counts rounding as gap zero, so the proof may be above the tolerance
    has_gap = np.isfinite(problem.sigma)  # plain solvers compare other errors with it
    is_refuted = has_gap and monitor.status == "optimal" and not certificate.error <= tol
    status, n_iter = "stalled" if is_refuted else monitor.status, monitor.n_steps
    solution = Solution(point, best.u, certificate, status, solver, history, n_iter)
    conclude(solution, tol)
    return solution
