"""The paper's method: L-BFGS-B on the dual, stopped by the duality gap."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ..core.problem import FrobeniusSDP
from ..core.types import Vector
from .monitor import Monitor, State

#: Pairs of steps and gradients that the quasi-Newton matrix remembers.
MEMORY = 10


class _Finished(Exception):
    """Leaves SciPy's loop from inside an evaluation."""


def lbfgsb(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual over its box, rescaled to the unit box and to a gap of one at the start.

    SciPy's own tests are switched off: `gtol` compares a projected gradient, which cannot exceed
    the width of the box, so that on a narrow box it is satisfied by u = 0.
    """
    scale = np.where(problem.loss.scale > 0, problem.loss.scale, 1.0)
    bounds = Bounds(problem.loss.lower / scale, problem.loss.upper / scale)
    size = 0.0

    def descend(v: Vector) -> tuple[float, Vector]:
        nonlocal size
        u = np.clip(v * scale, problem.loss.lower, problem.loss.upper)
        found = problem.evaluate(u)
        if monitor.record(u, found):
            raise _Finished
        # the first step is as long as the gradient says, so its unit matters
        size = size or abs(found.gap) or 1.0
        return -found.dual / size, -found.gradient * scale / size

    v = state.dual(problem) / scale
    options = {
        "ftol": 0.0,
        "gtol": 0.0,
        "maxcor": MEMORY,
        "maxls": 30,
        "maxfun": np.inf,
        "maxiter": monitor.max_iter,
    }
    try:
        while True:
            before = monitor.best.error if monitor.best else np.inf
            v = minimize(descend, v, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
            # its line search gave up: a fresh quasi-Newton matrix may get further
            if monitor.best is None or not monitor.best.error < 0.9 * before:
                monitor.status = "stalled"
                break
    except _Finished:
        pass
    return monitor.state
