"""Projected quasi-Newton: limited-memory BFGS on the variables that their bounds leave free.

Where L-BFGS-B searches a path of breakpoints at every step, this one takes the quasi-Newton
direction of the free variables and projects it: a handful of passes over u, and fewer steps.
"""

from __future__ import annotations

from collections import deque
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..core.points import Vector
from ..core.problem import FrobeniusSDP
from .monitor import Monitor, State

#: Number of pairs of steps and gradient changes in the quasi-Newton matrix.
MEMORY = 10
#: Share of the predicted descent that a step must reach (Armijo).
SUFFICIENT = 1e-4
#: Typical rounding error of a value, as a share of the bound that a certificate allows for.
NOISE = 1e-2
#: A step is too short if the slope at its end is above this share of the slope at its start.
STEEP = 0.98
#: Factor by which a step that is too short grows.
LONGER = 4.0
#: Shortenings of one step before the memory is cleared.
MOST_TRIALS = 25

Memory = deque[tuple[Vector, Vector]]


class Trial(NamedTuple):
    """A point of the unit box, with value and gradient there."""

    v: Vector
    value: float
    gradient: Vector


class UnitBoxDual:
    """The function to minimise: minus the dual, on the box rescaled to the unit box.

    `gap` and `rounding` are those of the last evaluation.
    """

    def __init__(self, problem: FrobeniusSDP, monitor: Monitor) -> None:
        self.problem, self.monitor = problem, monitor
        self.scale = np.where(problem.loss.scale > 0, problem.loss.scale, 1.0)
        self.lower = problem.loss.lower / self.scale
        self.upper = problem.loss.upper / self.scale
        self.gap = self.rounding = 0.0

    def evaluate(self, v: Vector) -> Trial:
        """Record the evaluation at v, and return value and gradient."""
        loss = self.problem.loss
        u = np.clip(v * self.scale, loss.lower, loss.upper)
        evaluation = self.problem.evaluate(u)
        self.gap, self.rounding = evaluation.gap, evaluation.rounding
        self.monitor.record(evaluation)
        return Trial(v, -evaluation.dual, -evaluation.gradient * self.scale)

    def free(self, trial: Trial) -> Vector:
        """Return 1.0 where a descent step can move the variable, 0.0 where its bound holds it."""
        v, gradient = trial.v, trial.gradient
        held = ((v <= self.lower) & (gradient > 0)) | ((v >= self.upper) & (gradient < 0))
        return np.where(held, 0.0, 1.0)


def quasi_newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual over its box."""
    dual, memory = UnitBoxDual(problem, monitor), Memory(maxlen=MEMORY)
    start = dual.evaluate(state.dual(problem) / dual.scale)
    while not monitor.status:
        direction = _direction(start.gradient, dual.free(start), memory)
        trial = _search(dual, start, direction)
        if trial is None:
            if not memory and not monitor.status:
                monitor.status = "stalled"
            memory.clear()
            continue
        step, change = trial.v - start.v, trial.gradient - start.gradient
        lengths = sqrt(float(step @ step) * float(change @ change))
        if step @ change > 1e-10 * lengths:
            memory.append((step, change))
        start = trial
    return monitor.state


def _direction(gradient: Vector, free: Vector, memory: Memory) -> Vector:
    """Return minus the inverse of the quasi-Newton matrix of the free variables times gradient."""
    q = gradient * free
    used: list[tuple[Vector, Vector, float, float]] = []
    length = 0.0
    for step, change in reversed(memory):
        change = change * free
        curvature = float(step @ change)
        if curvature <= 0:  # positive over all variables, not over the free ones
            continue
        length = length or curvature / float(change @ change)
        share = float(step @ q) / curvature
        q = q - share * change
        used.append((step, change, curvature, share))
    q = q * (length or 1 / max(float(np.abs(q).max(initial=0.0)), np.finfo(float).tiny))
    for step, change, curvature, share in reversed(used):
        q = q + (share - float(change @ q) / curvature) * step
    return -q * free


def _search(dual: UnitBoxDual, start: Trial, direction: Vector) -> Trial | None:
    """Return a point on the projected line with sufficient descent, None if there is none."""
    length = 1.0
    for _ in range(MOST_TRIALS):
        v = np.clip(start.v + length * direction, dual.lower, dual.upper)
        predicted = float(start.gradient @ (v - start.v))
        if predicted >= 0:
            return None
        trial = dual.evaluate(v)
        enough = start.value + SUFFICIENT * predicted + NOISE * dual.rounding
        if dual.monitor.status or trial.value <= enough:
            return _lengthen(dual, start, direction, trial) if length == 1 else trial
        # the minimum of the parabola through both values and the slope at the start
        length *= min(max(-predicted / (2 * (trial.value - start.value - predicted)), 0.1), 0.5)
    return None


def _lengthen(dual: UnitBoxDual, start: Trial, direction: Vector, trial: Trial) -> Trial:
    """Lengthen the step while the slope along it hardly changes: the memory has no curvature there.

    Without this a valley with a flat floor is walked in steps as short as its walls are steep.
    """
    length = 1.0
    while not dual.monitor.status:
        step = trial.v - start.v
        if trial.gradient @ step > STEEP * (start.gradient @ step):
            break
        length *= LONGER
        v = np.clip(start.v + length * direction, dual.lower, dual.upper)
        if np.array_equal(v, trial.v):
            break
        longer = dual.evaluate(v)
        if longer.value >= trial.value:
            break
        trial = longer
    return trial
