"""What the methods for plain SDPs share: the errors of an iterate, the best one, the end of a run.

A plain SDP here has equations only: minimise <C, X> with A X = b and X in the cone; its dual is to
maximise b.y with Z = C - A*(y) in the dual cone. Iterates are measured in the units of the problem
that the user gave, whatever the scaling of the one that is worked on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..core.problem import FrobeniusSDP
from ..core.types import Symmetric, Vector


class SDPStep(NamedTuple):
    """One entry of the history of a plain SDP: objectives and relative errors."""

    phase: str
    primal: float
    dual: float
    eta_p: float
    eta_d: float
    eta_g: float
    sigma: float
    seconds: float

    @property
    def error(self) -> float:
        """The largest of the three errors."""
        return max(self.eta_p, self.eta_d, self.eta_g)


#: Called after each step; a true answer stops the run.
SDPCallback = Callable[[SDPStep], object]


@dataclass(frozen=True)
class Units:
    """How the problem worked on relates to the one given.

    Row r was divided by `rows[r]`, X is `primal` times smaller and C `dual` times; the norms are
    those of b and C as given.
    """

    rows: Vector
    primal: float
    dual: float
    norm_b: float
    norm_c: float

    @classmethod
    def of(cls, problem: FrobeniusSDP) -> Units:
        """Those of a problem that is worked on as it is given."""
        _, b = problem.loss.conjugate(np.zeros(problem.constraints.shape[0]))
        norms = float(np.linalg.norm(b)), float(np.linalg.norm(problem.cost))
        return cls(np.ones(len(b)), 1.0, 1.0, *norms)


@dataclass(frozen=True)
class Iterate:
    """X in the cone and y, with what is known of them."""

    X: Symmetric
    y: Vector
    sigma: float
    step: SDPStep


@dataclass
class Watch:
    """Keeps the history and the best iterate of a run, and says when to stop.

    `status` is empty while the run goes on, then "optimal", "max_iter", "time_limit" or "stopped".
    """

    tol: float
    max_iter: int
    units: Units
    time_limit: float = np.inf
    callback: SDPCallback | None = None
    history: list[SDPStep] = field(default_factory=list)
    best: Iterate | None = None
    status: str = ""
    n_steps: int = 0
    _began: float = field(default_factory=time.perf_counter)

    def step(
        self,
        phase: str,
        problem: FrobeniusSDP,
        X: Symmetric,
        y: Vector,
        missed: Vector,
        uncovered: float,
        sigma: float,
    ) -> SDPStep:
        """The errors of an iterate with A X - b = -missed and |C - A*(y) - Z| = uncovered."""
        units, volume = self.units, self.units.primal * self.units.dual
        _, b = problem.loss.conjugate(y)
        primal = volume * float(np.vdot(problem.cost, X)) + problem.offset
        dual = volume * float(b @ y) + problem.offset
        return SDPStep(
            phase=phase,
            primal=primal,
            dual=dual,
            eta_p=units.primal * float(np.linalg.norm(units.rows * missed)) / (1 + units.norm_b),
            eta_d=units.dual * uncovered / (1 + units.norm_c),
            eta_g=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
            sigma=sigma,
            seconds=self.seconds,
        )

    def count(self) -> bool:
        """One more eigen-decomposition; true if that was the last one allowed."""
        self.n_steps += 1
        if self.n_steps >= self.max_iter and not self.status:
            self.status = "max_iter"
        return bool(self.status) or self.is_late()

    def is_late(self) -> bool:
        """Whether the time is up."""
        if not self.status and self.seconds > self.time_limit:
            self.status = "time_limit"
        return bool(self.status)

    @property
    def state(self) -> tuple[Symmetric, Vector, float]:
        """X, y and sigma of the best iterate, to go on from."""
        if self.best is None:
            raise RuntimeError("no iterate was recorded")
        return self.best.X, self.best.y, self.best.sigma

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._began

    @property
    def error(self) -> float:
        """Of the best iterate."""
        return np.inf if self.best is None else self.best.step.error

    def record(self, X: Symmetric, y: Vector, step: SDPStep) -> bool:
        """Note an iterate; true if the run is to end here."""
        if not np.isfinite(step.error):
            return bool(self.status)
        self.history.append(step)
        if self.best is None or step.error < self.best.step.error:
            self.best = Iterate(X, y, step.sigma, step)
        wants_stop = self.callback is not None and bool(self.callback(step))
        if step.error <= self.tol:
            self.status = "optimal"
        elif wants_stop:
            self.status = "stopped"
        return bool(self.status)
