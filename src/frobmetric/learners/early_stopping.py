"""Early stopping of MLKR: as many steps as help to predict rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.points import Array, Vector
from ..search.exact import blocks
from .softmax_neighbors import Descent, Entries, FeatureWeights, OnStep, SoftNeighbors, Value

#: With fewer rows nothing is held out.
FEWEST = 20
#: Each fold holds out one row of this many.
SHARE = 5
#: Rows that the folds hold out together, if there are as many.
ENOUGH = 500
#: A fold ends after this many steps without a lower error.
PATIENCE = 10
#: Standard errors of the difference by which a step has to be better than none.
MARGIN = 1.0
#: Multiples of the map with a mean squared distance of one that are tried, beside the map itself.
MULTIPLES = 2.0 ** np.arange(-2, 6)
#: Costs that differ by less than this share of the squared targets are equal.
ROUNDING = 1e-12
#: The families of maps in which one descends, one after the other.
STAGES = (FeatureWeights, Entries)


@dataclass
class Fold:
    """Rows to learn from, rows that are held out, and what was learned: a map after each step."""

    problem: SoftNeighbors[Value]
    known: Array  # targets of the rows to learn from
    X: Array
    y: Array
    maps: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)

    def trace(self, family: Entries, max_iter: int) -> None:
        """Descend in a family, and keep map and squared errors of each step, the start first."""
        self.maps, self.errors = [family.start], [self.measure(family.start)]
        lowest = [self.errors[0].sum(), 0]

        def on_step(number: int, _: float, L: Array) -> None:
            self.maps.append(L.copy())
            self.errors.append(self.measure(L))
            if self.errors[-1].sum() < lowest[0]:
                lowest[:] = self.errors[-1].sum(), number
            if number - lowest[1] >= PATIENCE:
                raise StopIteration

        run = Descent(self.problem, family, on_step).run(max_iter)
        if run.is_interrupted:
            raise KeyboardInterrupt("while the number of steps was chosen; nothing is learned yet")

    def measure(self, L: Array) -> Array:
        """Return the squared errors of the rows that are held out."""
        Z, queries = self.problem.X @ L.T, self.X @ L.T
        offset = np.log(self.problem.weight) - np.einsum("ij,ij->i", Z, Z)
        errors = np.empty(len(queries))
        for rows in blocks(len(queries), len(Z)):
            p = (2 * queries[rows]) @ Z.T + offset
            p = np.exp(p - p.max(axis=1, keepdims=True))
            errors[rows] = (p @ self.known / p.sum(axis=1) - self.y[rows]) ** 2
        return errors

    def at(self, step: int) -> Array:
        """Return the map after this many steps, or the last one."""
        return self.maps[min(step, len(self.maps) - 1)]


def choose_steps(
    problem: SoftNeighbors[Value], start: Array, max_iter: int
) -> tuple[list[int], Vector]:
    """Return the number of steps of each stage, and the held-out error before and after each."""
    parts = held_out_parts(len(problem.X))
    folds = [_fold(problem, held_out) for held_out in parts]
    weight = np.concatenate([problem.weight[held_out] for held_out in parts])
    steps, means, starts = [], [], [best_multiple(fold.problem, start) for fold in folds]
    for family in STAGES:
        for fold, L in zip(folds, starts, strict=True):
            fold.trace(family(L), max_iter)
        curve = _curve(folds)
        steps.append(last_helpful_step(curve, weight))
        starts = [fold.at(steps[-1]) for fold in folds]
        means += [np.average(curve[i], weights=weight) for i in (0, steps[-1])]
    return steps, np.array([means[0], means[1], means[3]])


def descend_in_stages(
    problem: SoftNeighbors[Value],
    start: Array,
    steps: Sequence[int],
    tol: float | None,
    on_step: OnStep | None,
) -> Descent:
    """Return the last `Descent`, with the steps of all stages: so many of each."""
    run, n_iter = Descent(problem, Entries(best_multiple(problem, start))), 0
    for family, n_steps in zip(STAGES, steps, strict=True):
        run = Descent(problem, family(run.best), on_step)
        if n_steps:
            run.run(n_steps, tol)
        n_iter += run.n_iter
        if run.is_interrupted:
            break
    run.n_iter, run.is_converged = n_iter, True  # it ends where it was to end
    return run


def best_multiple(problem: SoftNeighbors[Value], L: Array) -> Array:
    """Return the multiple of a map of the lowest cost: the map itself if none is lower.

    Rounding does not count, as with equal targets.
    """
    Z = problem.X @ L.T
    mean = 2 * np.average(np.einsum("ij,ij->i", Z, Z), weights=problem.weight)
    if not 0 < mean < np.inf:
        return L
    multiples = np.append(1.0, MULTIPLES / np.sqrt(mean))
    costs = np.array([problem.evaluate(L * number)[0] for number in multiples])
    costs[0] -= ROUNDING * (problem.weight @ problem.payoff.y**2)
    return L * multiples[np.argmin(costs)]


def last_helpful_step(curve: Array, weight: Vector) -> int:
    """Return the step of the lowest error, if it is lower than that of none by a margin.

    `curve` has the squared errors of the rows after each step, shape (n_steps + 1, n_rows).
    """
    share, difference = weight / weight.sum(), curve - curve[0]
    mean = difference @ share
    variance = (difference - mean[:, None]) ** 2 @ share
    return int(np.argmin(mean + MARGIN * np.sqrt(variance / weight.sum())))


def held_out_parts(n: int) -> list[slice]:
    """Return the rows that each fold holds out; every part has its share of all targets."""
    n_folds = min(SHARE, max(1, -(-ENOUGH * SHARE // n)))
    return [slice(i, None, SHARE) for i in range(n_folds)]


def _fold(problem: SoftNeighbors[Value], held_out: slice) -> Fold:
    rest = np.ones(len(problem.X), dtype=bool)
    rest[held_out] = False
    y, weight = problem.payoff.y, problem.weight[rest]
    inner = SoftNeighbors(problem.X[rest], weight, Value(y[rest], weight))
    return Fold(inner, y[rest], problem.X[held_out], y[held_out])


def _curve(folds: list[Fold]) -> Array:
    """Return the squared errors of all folds after each step; a fold that ended stays as it is."""
    length = max(len(fold.errors) for fold in folds)
    padded = [fold.errors + fold.errors[-1:] * (length - len(fold.errors)) for fold in folds]
    return np.hstack(padded)
