"""The paper's method: L-BFGS-B on the dual, stopped by the duality gap."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ..core.points import Vector
from ..core.problem import FrobeniusSDP
from .monitor import Monitor, State
from .quasi_newton import MEMORY, UnitBoxDual


class _Finished(Exception):  # noqa: N818 - it ends SciPy's loop from inside an evaluation
    """The monitor has ended the run."""


def lbfgsb(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual over its box, rescaled to the unit box and to a gap of one at the start.

    SciPy's own tests are switched off: `gtol` compares a projected gradient, which cannot exceed
    the width of the box, so that on a narrow box it is satisfied by u = 0.
    """
    dual, size = UnitBoxDual(problem), 0.0
    bounds = Bounds(dual.lower, dual.upper)

    def descend(v: Vector) -> tuple[float, Vector]:
        nonlocal size
        trial = dual.evaluate(v)
        if monitor.record(trial.evaluation):
            raise _Finished
        # the first step is as long as the gradient, so its unit matters
        size = size or abs(trial.evaluation.gap) or 1.0
        return trial.value / size, trial.gradient / size

    v = state.dual(problem) / dual.scale
    limits = {"maxcor": MEMORY, "maxls": 30, "maxfun": np.inf, "maxiter": monitor.max_iter}
    options = {"ftol": 0.0, "gtol": 0.0} | limits
    try:
        while True:
            before = monitor.error
            v = minimize(descend, v, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
            # its line search gave up: a fresh quasi-Newton matrix may get further
            if not monitor.error < 0.9 * before:
                monitor.status = "stalled"
                break
    except _Finished:
        pass
    return monitor.state
