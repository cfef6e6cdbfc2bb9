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
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.optimize

from ..checks.arguments import WIDEST_SQUARES, in_precision
from ..checks.parameters import FLAG, NONE, NOT_NEGATIVE, SEED, Rule, check_parameters, integer
from ..checks.samples import check_random_state
from ..core.threads import each_block, one_thread
from ..model.linear_map import Source
from .learner import PREPROCESSOR, LabelLearner
from .start import INIT_RULE, start_components

#: Probabilities that a block may hold, and rows that it has at least.
BLOCK, FEW_ROWS = 1 << 19, 32
#: Largest tolerance that SciPy is given, which divides it by the rounding error.
LARGEST_TOL = 1e200


class Payoff(Protocol):
    """Gain of a row from each neighbour, and the cost of the expected gains of all rows."""

    def settle(self, rows: slice, p: np.ndarray) -> float:
        """Return the cost of the rows with these probabilities, and overwrite them.

        Entry (i, j) becomes minus the derivative of the cost by the squared distance of i and j.
        """


@dataclass(frozen=True, eq=False)
class SameClass(Payoff):
    """Neighbours of the same class pay one, and the cost is minus the weighted sum of the means.

    Rows are in the order of their classes.
    """

    labels: np.ndarray
    weight: np.ndarray

    def settle(self, rows: slice, p: np.ndarray) -> float:
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
    """Neighbour j pays y_j, and the cost is the weighted sum of (mean_i - y_i)^2."""

    y: np.ndarray
    weight: np.ndarray

    def settle(self, rows: slice, p: np.ndarray) -> float:
        mean = p @ self.y
        error = mean - self.y[rows]
        p *= (2 * self.weight[rows] * error)[:, None]
        p *= self.y - mean[:, None]
        return float(self.weight[rows] @ error**2)


@dataclass(frozen=True, eq=False)
class SoftNeighbors:
    """Cost of a map L of the samples, and its gradient, without an array of all distances."""

    X: np.ndarray
    weight: np.ndarray
    payoff: Payoff

    def evaluate(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cost and its gradient in L, (n_components, n_features)."""
        Z = self.X @ L.T
        norm2 = np.einsum("ij,ij->i", Z, Z)
        if not np.isfinite(norm2).all():
            raise ValueError(
                f"squared distances of samples up to {np.abs(self.X).max():.3g} overflow; scale "
                "the features first (sklearn.preprocessing.StandardScaler)"
            )
        offset = np.log(self.weight) - norm2

        def measure(rows: slice) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
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


def _probabilities(Z, offset, rows):
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

    start: np.ndarray

    def coordinates(self) -> np.ndarray:
        """Return the coordinates of the start."""
        return self.start.ravel()

    def map(self, x: np.ndarray) -> np.ndarray:
        """Return the map with these coordinates."""
        return x.reshape(self.start.shape)

    def gradient(self, of_map: np.ndarray) -> np.ndarray:
        """Return the gradient in the coordinates, from that in the map."""
        return of_map.ravel()


@dataclass(frozen=True, eq=False)
class FeatureWeights(Entries):
    """A map behind weights of the features; the coordinates are the weights."""

    def coordinates(self) -> np.ndarray:
        return np.ones(self.start.shape[1])

    def map(self, x: np.ndarray) -> np.ndarray:
        return self.start * x

    def gradient(self, of_map: np.ndarray) -> np.ndarray:
        return np.sum(of_map * self.start, axis=0)


@dataclass
class Descent:
    """L-BFGS that remembers the best map of all that it tried, also after Ctrl-C."""

    problem: SoftNeighbors
    family: Entries
    on_step: Callable[[int, float, np.ndarray], Any] | None = None
    best: np.ndarray = field(init=False)
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

    def _value(self, x):
        L = self.family.map(x)
        cost, gradient = self.problem.evaluate(L)
        if cost < self.cost:
            self.best, self.cost = L.copy(), cost
        return cost, self.family.gradient(gradient)

    def _count(self, x):
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
        return self._keep(
            in_precision(run.best, samples.dtype),
            samples.features,
            n_iter=max(1, run.n_iter),
            is_converged=run.is_converged,
            is_interrupted=run.is_interrupted,
            source=Source(n_unlabeled=samples.n_unlabeled),
            details=details,
        )

    def _descend(self, problem, start, on_step):
        """Return the finished `Descent`, and details of the map."""
        return Descent(problem, Entries(start), on_step).run(self.max_iter, self.tol), {}


def _print_steps():
    """Return a function that prints a line for each iteration."""
    begin = time.perf_counter()

    def on_step(number, cost, _):
        seconds = time.perf_counter() - begin
        sys.stdout.write(f"step {number:4d}  objective {abs(cost):.6g}  {seconds:.1f} s\n")

    return on_step
