"""What every solver shares: where it starts, what it reports, when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..core.points import Point
from ..core.problem import Evaluation, FrobeniusSDP
from ..core.solution import Step
from ..core.types import Vector

#: Called after each step; a true answer stops the run.
Callback = Callable[[Step], object]


@dataclass(frozen=True)
class State:
    """Where to start; any part may be missing."""

    u: Vector | None = None
    point: Point | None = None
    sigma: float | None = None

    def dual(self, problem: FrobeniusSDP) -> Vector:
        """A u inside the box: the given one, else the one that belongs to the point, else 0."""
        if self.u is not None:
            u = np.asarray(self.u, dtype=float)
        elif self.point is not None:
            u = problem.loss.multiplier(problem.constraints.forward(self.point))
        else:
            u = np.zeros(problem.constraints.shape[0])
        if u.shape != (problem.constraints.shape[0],):
            raise ValueError(
                f"start has u of shape {u.shape}; this problem has "
                f"{problem.constraints.shape[0]} constraints"
            )
        return np.clip(u, problem.loss.lower, problem.loss.upper)


@dataclass
class Monitor:
    """Keeps the history and the best iterate, and says when to stop.

    `status` is empty while the run goes on. A method that solves parts of the problem on the way
    watches each with `inner`: its steps count, but they prove nothing of the whole and are not
    in the history.
    """

    tol: float
    max_iter: int
    callback: Callback | None = None
    n_steps: int = 0
    history: list[Step] = field(default_factory=list)
    best_u: Vector | None = None
    best: Evaluation | None = None
    status: str = ""
    _outer: Monitor | None = None
    _began: float = field(default_factory=time.perf_counter)

    def record(self, u: Vector, found: Evaluation) -> bool:
        """Note one step; true if the run is to end here."""
        step = Step(
            primal=found.primal,
            dual=found.dual,
            gap=found.gap,
            rank=found.point.rank,
            seconds=time.perf_counter() - self._began,
        )
        self.history.append(step)
        self._count()
        if self.best is None or found.error < self.best.error:
            self.best, self.best_u = found, u
        wants_stop = self.callback is not None and bool(self.callback(step))
        if found.error <= self.tol:
            self.status = "optimal"
        elif wants_stop:
            self.status = "stopped"
        elif self.n_steps >= self.max_iter:
            self.status = "max_iter"
        return bool(self.status)

    @property
    def state(self) -> State:
        """The best iterate, to start again from."""
        return State(self.best_u, self.best.point if self.best else None)

    def inner(self, tol: float, max_iter: int | None = None) -> Monitor:
        """A monitor for a part of the problem, within what is left of `max_iter`."""
        left = max(1, self.max_iter - self.n_steps)
        return Monitor(tol, left if max_iter is None else min(left, max_iter), _outer=self)

    def phase(self, tol: float) -> Monitor:
        """A monitor of the same problem that ends at this error; its steps are recorded here."""
        return _Phase(max(tol, self.tol), self.max_iter, whole=self)

    def _count(self) -> None:
        self.n_steps += 1
        if self._outer is not None:
            self._outer._count()


@dataclass
class _Phase(Monitor):
    """One method's part of a run that several methods share."""

    whole: Monitor | None = None

    def record(self, u: Vector, found: Evaluation) -> bool:
        super().record(u, found)
        if self.whole is not None and self.whole.record(u, found):
            self.status = self.whole.status
        return bool(self.status)
