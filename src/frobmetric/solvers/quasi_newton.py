"""Projected quasi-Newton: limited-memory BFGS on the variables that their bounds leave free.

Where L-BFGS-B searches a path of breakpoints at every step, this one takes the quasi-Newton
direction of the free variables and projects it: a handful of passes over u, and fewer steps.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ..core.points import Array, Vector
from ..core.problem import Evaluation, FrobeniusSDP
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


class Trial(NamedTuple):
    """A point of the unit box, with the evaluation, the value and the gradient there."""

    v: Vector
    evaluation: Evaluation
    gradient: Vector

    @property
    def value(self) -> float:
        return -float(self.evaluation.dual)


class Pair(NamedTuple):
    """A step and the change of the gradient along it, with the inner products of the two."""

    step: Vector
    change: Vector
    curvature: float
    step2: float
    change2: float

    @classmethod
    def between(cls, start: Trial, end: Trial) -> Pair:
        """Return the pair of a step from one trial point to another."""
        step, change = end.v - start.v, end.gradient - start.gradient
        return cls(step, change, np.dot(step, change), np.dot(step, step), np.dot(change, change))

    @property
    def is_curved(self) -> bool:
        """Whether the curvature along the step is more than rounding."""
        return float(self.curvature) > 1e-10 * sqrt(float(self.step2) * float(self.change2))


class UnitBoxDual:
    """The function to minimise: minus the dual, on the box rescaled to the unit box."""

    def __init__(self, problem: FrobeniusSDP) -> None:
        self.problem = problem
        self.scale = np.where(problem.loss.scale > 0, problem.loss.scale, 1.0)
        self.lower = problem.loss.lower / self.scale
        self.upper = problem.loss.upper / self.scale

    def evaluate(self, v: Vector) -> Trial:
        """Return value and gradient at v."""
        loss = self.problem.loss
        u = np.clip(v * self.scale, loss.lower, loss.upper)
        evaluation = self.problem.evaluate(u)
        return Trial(v, evaluation, -evaluation.gradient * self.scale)

    def clip(self, v: Vector) -> Vector:
        """Return the point of the box that is nearest to v."""
        return np.clip(v, self.lower, self.upper)

    def free(self, trial: Trial) -> Vector:
        """Return 1.0 where a descent step can move the variable, 0.0 where its bound holds it."""
        v, gradient = trial.v, trial.gradient
        held = ((v <= self.lower) & (gradient > 0)) | ((v >= self.upper) & (gradient < 0))
        return np.where(held, 0.0, 1.0)


class Model:
    """Quasi-Newton model of the dual at a trial point: L-BFGS on the variables that are free.

    The two loops of L-BFGS run on coefficients: the inner products of all vectors are computed at
    once. A model is made before its trial point is judged, so that sharded vectors are multiplied
    in the same message that evaluates the point.
    """

    def __init__(self, dual: UnitBoxDual, trial: Trial, pairs: tuple[Pair, ...] = ()) -> None:
        self.trial, self._pairs, self.free = trial, pairs[-MEMORY:], dual.free(trial)
        changes = [pair.change * self.free for pair in self._pairs]
        gradient = trial.gradient * self.free
        self.vectors = np.stack([*changes, *(pair.step for pair in self._pairs), gradient])
        self.products = np.inner(self.vectors, self.vectors)
        self.largest = np.abs(gradient).max(initial=0.0)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Pairs that are remembered."""
        return tuple(pair for pair in self._pairs if pair.is_curved)

    def after(self, dual: UnitBoxDual, trial: Trial) -> Model:
        """Return the model at the end of a step, which remembers that step."""
        return Model(dual, trial, (*self.pairs, Pair.between(self.trial, trial)))

    def forget(self, dual: UnitBoxDual) -> Model:
        """Return the model at the same point without any memory."""
        return Model(dual, self.trial)

    def direction(self) -> Vector:
        """Return minus the inverse of the quasi-Newton matrix times the gradient."""
        is_used = [pair.is_curved for pair in self._pairs]
        coefficients = _two_loops(np.asarray(self.products), is_used)
        if coefficients is None:
            gradient = self.trial.gradient * self.free
            return -gradient / max(float(self.largest), np.finfo(float).tiny)
        return -(coefficients @ self.vectors) * self.free


def quasi_newton(problem: FrobeniusSDP, state: State, monitor: Monitor) -> State:
    """Maximise the dual over its box."""
    dual = UnitBoxDual(problem)
    model = Model(dual, dual.evaluate(state.dual(problem) / dual.scale))
    monitor.record(model.trial.evaluation)
    while not monitor.status:
        found = _search(dual, model, monitor)
        if found is None and not model.pairs and not monitor.status:
            monitor.status = "stalled"
        model = model.forget(dual) if found is None else found
    return monitor.state


def _two_loops(products: Array, is_used: list[bool]) -> Vector | None:
    """Return minus the direction as coefficients of the changes, the steps and the gradient.

    `products` has the inner products of all of them, and `is_used` tells which pairs count. None
    if no pair has curvature.
    """
    n = len(is_used)
    q = np.zeros(2 * n + 1)
    q[-1] = 1.0
    used: list[tuple[int, float, float]] = []
    length = 0.0
    for i in reversed(np.flatnonzero(is_used)):
        curvature = products[n + i, i]
        if curvature <= 0:  # positive over all variables, not over the free ones
            continue
        length = length or curvature / products[i, i]
        share = (products[n + i] @ q) / curvature
        q[i] -= share
        used.append((i, curvature, share))
    q *= length
    for i, curvature, share in reversed(used):
        q[n + i] += share - (products[i] @ q) / curvature
    return q if used else None


def _search(dual: UnitBoxDual, start: Model, monitor: Monitor) -> Model | None:
    """Return the model at a point on the projected line with sufficient descent, if there is one.

    Points are judged by value and slope, which for sharded vectors are computed together.
    """
    direction, length, begin = start.direction(), 1.0, start.trial
    for _ in range(MOST_TRIALS):
        v = dual.clip(begin.v + length * direction)
        predicted = begin.gradient @ (v - begin.v)
        trial = dual.evaluate(v)
        if predicted >= 0:
            return None
        slope, model = trial.gradient @ (v - begin.v), start.after(dual, trial)
        monitor.record(trial.evaluation)
        noise = NOISE * float(trial.evaluation.rounding)
        if monitor.status or trial.value <= begin.value + SUFFICIENT * float(predicted) + noise:
            is_short = length == 1 and slope <= STEEP * predicted
            return _lengthen(dual, start, direction, model, monitor) if is_short else model
        # the minimum of the parabola through both values and the slope at the start
        rise = trial.value - begin.value - float(predicted)
        length *= min(max(-float(predicted) / (2 * rise), 0.1), 0.5)
    return None


def _lengthen(
    dual: UnitBoxDual, start: Model, direction: Vector, model: Model, monitor: Monitor
) -> Model:
    """Lengthen a step while the slope along it hardly changes: the memory has no curvature there.

    Without this a valley with a flat floor is walked in steps as short as its walls are steep.
    """
    length, begin = 1.0, start.trial
    while not monitor.status:
        length *= LONGER
        v = dual.clip(begin.v + length * direction)
        if np.array_equal(v, model.trial.v):
            break
        trial = dual.evaluate(v)
        step = v - begin.v
        slope, predicted = trial.gradient @ step, begin.gradient @ step
        longer = start.after(dual, trial)
        monitor.record(trial.evaluation)
        if trial.value >= model.trial.value:
            break
        model = longer
        if slope > STEEP * predicted:
            break
    return model
