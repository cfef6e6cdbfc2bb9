"""Projected quasi-Newton: limited-memory BFGS on the variables that their bounds leave free.

Where L-BFGS-B searches a path of breakpoints at every step, this one takes the quasi-Newton
direction of the free variables and projects it: a handful of passes over u, and fewer steps.
"""

from __future__ import annotations

from collections import deque
from math import sqrt

import numpy as np

from ..core.problem import FrobeniusSDP
from ..core.types import Vector
from .monitor import Monitor, State
from .vectors import choose, clip, dot, largest

#: Pairs of steps and gradient changes that the quasi-Newton matrix remembers.
MEMORY = 10
#: Share of the predicted descent that a step must reach (Armijo).
SUFFICIENT = 1e-4
#: Share of the rounding allowed for in a certificate that a value typically has.
NOISE = 1e-2
#: A step along which the slope stays above this share of what it was is too short,
STEEP = 0.98
#: and is made so many times longer.
LONGER = 4.0
#: Shortenings of one step before the memory is given up.
MOST_TRIALS = 25

Memory = deque[tuple[Vector, Vector]]


class _Dual:
    """Minus the dual on the box rescaled to the unit box: what there is to minimise."""

    def __init__(self, problem: FrobeniusSDP, monitor: Monitor) -> None:
        self.problem, self.monitor = problem, monitor
        self.scale = choose(problem.loss.scale > 0, problem.loss.scale, 1.0)
        self.lower = problem.loss.lower / self.scale
        self.upper = problem.loss.upper / self.scale
        self.noise = 0.0

    def evaluate(self, v: Vector) -> tuple[float, Vector]:
        loss = self.problem.loss
        u = clip(v * self.scale, loss.lower, loss.upper)
        found = self.problem.evaluate(u)
        self.noise = NOISE * found.rounding
        self.monitor.record(u, found)
        return -found.dual, -found.gradient * self.scale

    def free(self, v: Vector, gradient: Vector) -> Vector:
        """1.0 where a descent step can move the variable, 0.0 where its bound holds it."""
        held = ((v <= self.lower) & (gradient > 0)) | ((v >= self.upper) & (gradient < 0))
        return choose(held, 0.0, 1.0)


def quasi_newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual over its box."""
    dual, memory = _Dual(problem, monitor), Memory(maxlen=MEMORY)
    v = state.dual(problem) / dual.scale
    value, gradient = dual.evaluate(v)
    while not monitor.status:
        direction = _direction(gradient, dual.free(v, gradient), memory)
        found = _search(dual, v, value, gradient, direction)
        if found is None:
            if not memory and not monitor.status:
                monitor.status = "stalled"
            memory.clear()
            continue
        step, change = found[0] - v, found[2] - gradient
        lengths = sqrt(dot(step, step) * dot(change, change))
        if dot(step, change) > 1e-10 * lengths:
            memory.append((step, change))
        v, value, gradient = found
    return monitor.state


def _direction(gradient: Vector, free: Vector, memory: Memory) -> Vector:
    """Minus the inverse of the quasi-Newton matrix of the free variables times the gradient."""
    q = gradient * free
    used: list[tuple[Vector, Vector, float, float]] = []
    length = 0.0
    for step, change in reversed(memory):
        change = change * free
        curvature = dot(step, change)
        if curvature <= 0:  # positive over all variables, not over the free ones
            continue
        length = length or curvature / dot(change, change)
        share = dot(step, q) / curvature
        q = q - share * change
        used.append((step, change, curvature, share))
    q = q * (length or 1 / max(largest(q), np.finfo(float).tiny))
    for step, change, curvature, share in reversed(used):
        q = q + (share - dot(change, q) / curvature) * step
    return -q * free


def _search(
    dual: _Dual, v: Vector, value: float, gradient: Vector, direction: Vector
) -> tuple[Vector, float, Vector] | None:
    """A point on the projected line with sufficient descent; None if there is none."""
    length = 1.0
    for _ in range(MOST_TRIALS):
        trial = clip(v + length * direction, dual.lower, dual.upper)
        predicted = dot(gradient, trial - v)
        if predicted >= 0:
            return None
        reached, slope = dual.evaluate(trial)
        if dual.monitor.status or reached <= value + SUFFICIENT * predicted + dual.noise:
            found = trial, reached, slope
            return _lengthen(dual, v, gradient, direction, found) if length == 1 else found
        # the minimum of the parabola through both values and the slope at v
        length *= min(max(-predicted / (2 * (reached - value - predicted)), 0.1), 0.5)
    return None


def _lengthen(
    dual: _Dual, v: Vector, gradient: Vector, direction: Vector, found: tuple[Vector, float, Vector]
) -> tuple[Vector, float, Vector]:
    """A longer step while the slope along it hardly changes: there the memory knows no curvature.

    Without this a valley with a flat floor is walked in steps as short as its walls are steep.
    """
    length = 1.0
    while not dual.monitor.status:
        trial, reached, slope = found
        if dot(slope, trial - v) > STEEP * dot(gradient, trial - v):
            break
        length *= LONGER
        further = clip(v + length * direction, dual.lower, dual.upper)
        if largest(further - trial) == 0:
            break
        longer = further, *dual.evaluate(further)
        if longer[1] >= reached:
            break
        found = longer
    return found
