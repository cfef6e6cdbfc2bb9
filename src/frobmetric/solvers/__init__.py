"""`solve` a problem by name of a method; the certificate judges what comes back."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.problem import FrobeniusSDP
from ..core.solution import Certificate, Solution, certify
from ..core.threads import one_thread
from .active_set import active_set
from .lbfgsb import lbfgsb
from .monitor import Callback, Monitor, State
from .newton import newton
from .quasi_newton import quasi_newton

Solver = Callable[[FrobeniusSDP, State, Monitor], State]

#: Every method by name.
SOLVERS: dict[str, Solver] = {
    "auto": active_set,
    "active_set": active_set,
    "lbfgsb": lbfgsb,
    "newton": newton,
    "quasi_newton": quasi_newton,
}

__all__ = ["SOLVERS", "Callback", "Interrupted", "Monitor", "Solver", "State", "solve"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve; `solution` is the best certified iterate so far."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(f"interrupted after {solution.n_iter} steps; {solution.certificate}")
        self.solution = solution


def solve(
    problem: FrobeniusSDP,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 1000,
    callback: Callback | None = None,
    start: State | Solution | None = None,
) -> Solution:
    """Solve a problem to a relative duality gap.

    Parameters
    ----------
    problem : FrobeniusSDP
    solver : str
        A name in `SOLVERS`.
    tol : float
        Stop when the relative gap, or with hard rows the largest relative error, is this small.
    max_iter : int
        Stop after so many steps; each is one eigen-decomposition.
    callback : callable
        Called with each `Step`; a true answer stops with the best iterate, status "stopped".
    start : State or Solution
        Where to start; any part of a state may be missing.

    Returns
    -------
    Solution
        The iterate with the smallest error. A run that ends above `tol` for another reason than
        the callback warns.

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
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known; choose one of {sorted(SOLVERS)}")
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive")
    if max_iter < 1:
        raise ValueError(f"max_iter={max_iter!r} must be at least 1")
    monitor = Monitor(tol, max_iter, callback)
    begin = start if isinstance(start, State) else State(getattr(start, "u", None))
    try:
        with one_thread():
            SOLVERS[solver](problem, begin, monitor)
    except KeyboardInterrupt:
        if monitor.best is None:
            raise
        monitor.status = "interrupted"
    solution = _certified(problem, solver, monitor)
    if monitor.status == "interrupted":
        raise Interrupted(solution)
    _warn_unless_converged(solution, tol)
    return solution


def _certified(problem: FrobeniusSDP, solver: str, monitor: Monitor) -> Solution:
    if monitor.best is None or monitor.best_u is None:
        raise RuntimeError(f"solver {solver!r} recorded no step")
    return Solution(
        point=monitor.best.point,
        u=monitor.best_u,
        certificate=certify(problem, monitor.best.point, monitor.best_u),
        status=monitor.status,
        solver=solver,
        history=tuple(monitor.history),
        n_iter=monitor.n_steps,
    )


def _warn_unless_converged(solution: Solution, tol: float) -> None:
    if solution.status in ("optimal", "stopped"):
        return
    warnings.warn(
        f"{solution.solver} ended ({solution.status}) after {solution.n_iter} steps with "
        f"{_error_of(solution.certificate)} > tol={tol:g}; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=3,
    )


def _error_of(certificate: Certificate) -> str:
    name = "relative gap" if np.isfinite(certificate.gap) else "relative error"
    return f"{name} {certificate.error:.1e}"
