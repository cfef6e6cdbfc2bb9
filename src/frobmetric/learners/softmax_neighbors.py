"""Soft neighbours, the problem of NCA and MLKR: each sample is told from others by their nearness.

Sample i takes j as its neighbour with probability p_ij, in proportion to w_j exp(-d2(i, j)), and
gets the mean_i of what its neighbours pay, sum_j p_ij t_ij. The objectives are functions of these
means, so both learners have one gradient, computed in blocks of rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import scipy.optimize

from ..checks.arguments import WIDEST_SQUARES
from ..checks.parameters import FLAG, NONE, NOT_NEGATIVE, SEED, Rule, check_parameters, integer
from ..checks.samples import check_random_state
from ..core.points import Array, Index, Vector
from ..core.threads import each_block, one_thread
from .learner import PREPROCESSOR, LabelLearner
from .start import INIT_RULE, start_components

#: Probabilities that a block may hold, and rows that it has at least.
BLOCK, FEW_ROWS = 1 << 19, 32
#: Largest tolerance that SciPy is given, which divides it by the rounding error.
LARGEST_TOL = 1e200

#: Function called with the number, the lowest cost and the map of each step.
OnStep: TypeAlias = Callable[[int, float, Array], Any]


class Payoff(Protocol):
    """Gain of a row from each neighbour, and the cost of the expected gains of all rows."""

    def settle(self, rows: slice, p: Array) -> float:
        """Return the cost of the rows with these probabilities, and overwrite them.

        Entry (i, j) becomes minus the derivative of the cost by the squared distance of i and j.
        """


P = TypeVar("P", bound=Payoff, covariant=True)


@dataclass(frozen=True, eq=False)
class SameClass(Payoff):
    """Payoff of one from each neighbour of the same class; the cost is minus the sum of the means.

    Rows are in the order of their classes.
    """

    labels: Index
    weight: Array

    def settle(self, rows: slice, p: Array) -> float:
        labels, cost = self.labels[rows], 0.0
        for label in np.unique(labels):
            own = slice(*np.searchsorted(labels, [label, label + 1]))
            same = slice(*np.searchsorted(self.labels, [label, label + 1]))
            weight, mean = self.weight[rows][own], p[own, same].sum(axis=1)
            cost -= float(weight @ mean)
            p[own, same] *= (weight * (mean - 1))[:, None]
            for others in (slice(0, same.start), slice(same.stop, None)):
                p[own, others] *= (weight * mean)[:, None]
        return cost


@dataclass(frozen=True, eq=False)
class Value(Payoff):
    """Payoff y_j from neighbour j; the cost is the weighted sum of (mean_i - y_i)^2."""

    y: Array
    weight: Array

    def settle(self, rows: slice, p: Array) -> float:
        mean = p @ self.y
        error = mean - self.y[rows]
        p *= (2 * self.weight[rows] * error)[:, None]
        p *= self.y - mean[:, None]
        return float(self.weight[rows] @ error**2)


@dataclass(frozen=True, eq=False)
class SoftNeighbors(Generic[P]):
    """Cost of a map L of the samples, and its gradient, without an array of all distances."""

    X: Array
    weight: Array
    payoff: P

    def evaluate(self, L: Array) -> tuple[float, Array]:
        """Return the cost and its gradient in L, (n_components, n_features)."""
        Z = self.X @ L.T
        norm2 = np.einsum("ij,ij->i", Z, Z)
        if not np.isfinite(norm2).all():
            raise ValueError(
                f"squared distances of samples up to {np.abs(self.X).max():.3g} overflow; scale "
                "the features first (sklearn.preprocessing.StandardScaler)"
            )
        offset = np.log(self.weight) - norm2

        def measure(rows: slice) -> tuple[float, Array, Array, Array]:
            p = _probabilities(Z, offset, rows)
            cost = self.payoff.settle(rows, p)
            return cost, p.sum(axis=0), p.T @ Z[rows], p @ Z

        n, flops = len(Z), 6.0 * len(Z) * Z.size
        cost, degree, moved, own = 0.0, np.zeros(n), np.zeros_like(Z), []
        for part, sums, theirs, mine in each_block(measure, n, max(FEW_ROWS, BLOCK // n), flops):
            cost, degree, moved = cost + part, degree + sums, moved + theirs
            own.append(mine)
        # rows of the derivatives sum to zero, so that only the sums of columns are degrees
        moved += np.concatenate(own) - degree[:, None] * Z
        return cost, 2 * moved.T @ self.X


def _probabilities(Z: Array, offset: Vector, rows: slice) -> Array:
    """Return p_ij for the rows i: a sample and its copies are no neighbours of it."""
    logs = (2 * Z[rows]) @ Z.T
    logs += offset
    here = np.arange(rows.start, rows.stop)
    logs[here - rows.start, here] = -np.inf
    largest = logs.max(axis=1, keepdims=True)
    logs -= np.where(np.isfinite(largest), largest, 0.0)
    p = np.exp(logs, out=logs)
    total = p.sum(axis=1, keepdims=True)
    p /= np.where(total > 0, total, 1.0)
    return p


@dataclass(frozen=True, eq=False)
class Entries:
    """All maps of a shape; the coordinates are their entries."""

    start: Array

    def coordinates(self) -> Array:
        """Return the coordinates of the start."""
        return self.start.ravel()

    def map(self, x: Array) -> Array:
        """Return the map with these coordinates."""
        return x.reshape(self.start.shape)

    def gradient(self, of_map: Array) -> Array:
        """Return the gradient in the coordinates, from that in the map."""
        return of_map.ravel()


@dataclass(frozen=True, eq=False)
class FeatureWeights(Entries):
    """Map behind weights of the features; the coordinates are the weights."""

    def coordinates(self) -> Array:
        return np.ones(self.start.shape[1])

    def map(self, x: Array) -> Array:
        return self.start * x

    def gradient(self, of_map: Array) -> Array:
        return np.sum(of_map * self.start, axis=0)


@dataclass
class Descent:
    """L-BFGS that remembers the best map of all that it tried, also after Ctrl-C."""

    problem: SoftNeighbors[Any]
    family: Entries
    on_step: OnStep | None = None
    best: Array = field(init=False)
    cost: float = np.inf
    n_iter: int = 0
    is_converged: bool = False
    is_interrupted: bool = False

    def __post_init__(self) -> None:
        self.best = self.family.start

    def run(self, max_iter: int, tol: float | None = None) -> Descent:
        """Minimise; the tolerance is that of SciPy's L-BFGS-B."""
        tol = None if tol is None else min(tol, LARGEST_TOL)
        given = {"jac": True, "method": "L-BFGS-B", "tol": tol, "callback": self._count}
        try:
            with one_thread():
                start = self.family.coordinates()
                found = scipy.optimize.minimize(
                    self._value, start, options={"maxiter": max_iter}, **given
                )
            self.is_converged = bool(found.success)
        except KeyboardInterrupt:
            self.is_interrupted = True
        return self

    def _value(self, x: Vector) -> tuple[float, Vector]:
        L = self.family.map(x)
        cost, gradient = self.problem.evaluate(L)
        if cost < self.cost:
            self.best, self.cost = L.copy(), cost
        return cost, self.family.gradient(gradient)

    def _count(self, x: Vector) -> None:
        self.n_iter += 1
        if self.on_step:
            self.on_step(self.n_iter, self.cost, self.family.map(x))


class SoftNeighborLearner(LabelLearner):
    """Base of NCA and MLKR, which differ in what neighbours pay."""

    init: Any
    n_components: int | None
    max_iter: int
    tol: float | None
    verbose: bool
    random_state: Any
    _payoff: ClassVar[type[SameClass] | type[Value]]
    _widest = WIDEST_SQUARES
    _rules: ClassVar[dict[str, Rule]] = {
        "init": INIT_RULE,
        "n_components": integer(1) | NONE,
        "max_iter": integer(1),
        "tol": NOT_NEGATIVE | NONE,
        "verbose": FLAG,
        "random_state": SEED | NONE,
    } | PREPROCESSOR

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Label of each sample: a class for NCA, a number for MLKR.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        start = start_components(self.init, self.n_components, samples, rng)
        order = np.argsort(samples.y, kind="stable")
        weight = samples.weight[order]
        centred = samples.X[order] - np.average(samples.X, axis=0, weights=samples.weight)
        problem = SoftNeighbors(centred, weight, self._payoff(samples.y[order], weight))
        run, details = self._descend(problem, start, _print_steps() if self.verbose else None)
        return self._keep_of(
            samples,
            run.best,
            n_iter=max(1, run.n_iter),
            is_converged=run.is_converged,
            is_interrupted=run.is_interrupted,
            details=details,
        )

    def _descend(
        self, problem: SoftNeighbors[Any], start: Array, on_step: OnStep | None
    ) -> tuple[Descent, dict[str, Any]]:
        """Return the finished `Descent`, and details of the map."""
        return Descent(problem, Entries(start), on_step).run(self.max_iter, self.tol), {}


def _print_steps() -> OnStep:
    """Return a function that prints a line for each iteration."""
    begin = time.perf_counter()

    def on_step(number: int, cost: float, _: Array) -> None:
        seconds = time.perf_counter() - begin
        sys.stdout.write(f"step {number:4d}  objective {abs(cost):.6g}  {seconds:.1f} s\n")

    return on_step
