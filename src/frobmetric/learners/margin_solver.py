"""Solver of large margins: L-BFGS on a factor of M, a rounded hinge, and the gap that it proves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.optimize

from ..core.kernels import image
from ..core.points import Array, Index, Vector
from ..core.solution import Step
from ..core.threads import one_thread
from .large_margin import Evaluation, LargeMargin, WorkingSet

#: Factor by which the width of the corners shrinks from round to round.
NARROWER = 0.8
#: Factor by which it grows if L-BFGS makes no step, and the width at which that is given up.
WIDER, WIDEST = 10.0, 1e9
#: A smooth problem is solved well enough if the gap without the corners is this multiple of theirs.
SOLVED = 10.0
#: Iterations on the first and on later working sets, and between two looks at the gap.
SHORTEST, LONGEST, LOOK = 30, 240, 4
#: Factor by which the objective rises if a working set lacks too many triplets.
RISE = 1.5
#: Distances between a few anchors and all others, for the scale of the start, and those anchors.
FEW_DISTANCES, FEW_ANCHORS = 1 << 20, 100
#: The scale is changed if the objective of these is this many times as large as need be.
WORSE = 2.0
#: Anchors of the problem that is solved first, if there are several times as many.
SAMPLE, SAMPLE_ROUNDS = 2500, 3
#: Steps that L-BFGS remembers.
MEMORY = 20


@dataclass
class MarginSolver:
    """Minimiser over the factors L of M, with the method of multipliers for the hinge.

    A round searches the triplets with small margins, rounds the corners of their hinges around the
    last u, and minimises. With as many columns as coordinates (`is_convex`) the rounds end by the
    gap. Otherwise they end when the objective falls no more, which proves nothing. `L`, `primal`
    and `dual` are the best of all rounds; both bounds are computed from the L of a round and all
    triplets.
    """

    problem: LargeMargin
    is_convex: bool
    tol: float
    max_iter: int
    report: Callable[[Step], Any] | None = None
    n_iter: int = 0
    L: Array = field(init=False)
    primal: float = np.inf
    dual: float = 0.0
    is_converged: bool = False
    is_interrupted: bool = False

    def solve(self, L: Array) -> MarginSolver:
        """Minimise from M = L @ L.T, up to its scale; Ctrl-C ends with the best so far."""
        try:
            with one_thread():
                self._run(L)
        except KeyboardInterrupt:
            if self.primal == np.inf:
                raise
            self.is_interrupted = True
        return self

    def _run(self, L: Array) -> None:
        # of any order; the same in every fit, so that equal fits have equal answers
        rows = np.random.RandomState(0).permutation(len(self.problem.Z))
        L, work = self._start(self._scaled(L, rows), rows), None
        begin, length = time.perf_counter(), SHORTEST
        while True:
            L = self._scaled(L, rows)
            work, evaluation = self._search(L, rows, work)
            left = self._record(L, work, evaluation, time.perf_counter() - begin)
            is_solved = left <= SOLVED * evaluation.corners
            if self._is_finished(work, evaluation, left):
                return
            if is_solved:
                work.width, work.center = NARROWER * work.width, evaluation.share
            before = self.n_iter
            L, length = self._descend(work, L, length), min(2 * length, LONGEST)
            if self.n_iter == before and not is_solved:  # the corners are too sharp to go on
                work.width *= WIDER
                if work.width > WIDEST:
                    return

    def _search(
        self, L: Array, rows: Index, last: WorkingSet | None
    ) -> tuple[WorkingSet, Evaluation]:
        """Return the working set at L, with the centers of the last one, and its evaluation.

        If the objective rose much, triplets were missing: those of the last one are kept as well.
        """
        work = self.problem.working_set(L, rows)
        if last is not None:
            work.recenter(last)
        evaluation = work.evaluate(L)
        if last is None or evaluation.primal <= RISE * self.primal:
            return work, evaluation
        work = work.joined(last)
        return work, work.evaluate(L)

    def _record(self, L: Array, work: WorkingSet, evaluation: Evaluation, seconds: float) -> float:
        """Keep the better bounds; return what is left of the gap without the corners."""
        L = L * np.sqrt(work.scale(L))
        is_whole = work.is_whole
        primal = work.evaluate(L).primal if is_whole else self.problem.objective(L)
        fallen = self.primal - primal
        if primal < self.primal:
            self.L, self.primal = L, primal
        if self.is_convex:
            self.dual = max(self.dual, evaluation.bound(self.problem.pull))
        gap = self.primal - self.dual
        if self.report:
            self.report(Step(self.primal, self.dual, gap, int(np.linalg.matrix_rank(L)), seconds))
        return max(gap - evaluation.corners if self.is_convex else fallen, 0.0)

    def _is_finished(self, work: WorkingSet, evaluation: Evaluation, left: float) -> bool:
        """Return whether to end; a sample of the anchors can be solved without a proof for all."""
        self.is_converged = left + evaluation.corners <= self.tol * max(
            self.primal, self.problem.unit
        )
        gap = evaluation.primal - evaluation.bound()
        is_sample_solved = not work.is_whole and gap <= self.tol * evaluation.primal
        return self.is_converged or is_sample_solved or self.n_iter >= self.max_iter

    def _start(self, L: Array, rows: Index) -> Array:
        """Return an L that is about optimal for a sample of the anchors."""
        if len(rows) < 4 * SAMPLE:
            return L
        for _ in range(SAMPLE_ROUNDS):
            L = self._descend(self.problem.working_set(L, rows[:SAMPLE]), L, SHORTEST)
        return L

    def _scaled(self, L: Array, rows: Index) -> Array:
        """Return L times the best number for a few anchors, if L itself is much worse for them."""
        problem = self.problem
        moved, reg = image(problem.Z, L), problem.regularization
        rows = rows[: min(FEW_ANCHORS, max(1, FEW_DISTANCES // len(rows)))]
        near, weight = problem.near(moved, rows), problem.weight[rows]
        far = [_distances_to_others(moved, problem.labels, row) for row in rows]
        loss = _hinge_sums(
            [np.subtract.outer(a, b) for a, b in zip(near, far, strict=True)], weight
        )
        pull = weight @ near.sum(axis=1)

        def cost(log_scale: float) -> float:
            scale = np.exp(log_scale)
            return reg * scale * pull + (1 - reg) * loss(scale)

        middle = -np.log(max(np.mean(np.concatenate(far)), np.finfo(float).tiny))
        options = {"bounds": (middle - 10, middle + 20), "options": {"xatol": 0.2}}
        found = scipy.optimize.minimize_scalar(cost, method="bounded", **options)
        return L * np.exp(found.x / 2) if cost(0.0) > WORSE * found.fun else L

    def _descend(self, work: WorkingSet, L: Array, length: int) -> Array:
        """Return L after at most `length` iterations on a working set."""
        descent = _Descent(self, work, L.shape)
        options = {
            "maxiter": min(length, self.max_iter - self.n_iter),
            "maxfun": 20 * length,
            "maxcor": MEMORY,
            "gtol": 0.0,
            "ftol": 0.0 if self.is_convex else self.tol / 100,
        }
        given = {"jac": True, "method": "L-BFGS-B", "callback": descent.watch, "options": options}
        scipy.optimize.minimize(descent, L.ravel(), **given)
        self.n_iter += descent.n_iter
        return descent.best


class _Descent:
    """Function that L-BFGS minimises, and the callback that ends it."""

    def __init__(self, solver: MarginSolver, work: WorkingSet, shape: tuple[int, ...]) -> None:
        self.solver, self.work, self.shape = solver, work, shape
        self.unit, self.n_iter, self.value = 0.0, 0, np.inf

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        L = x.reshape(self.shape)
        evaluation = self.work.evaluate(L)
        if evaluation.smooth < self.value:
            self.best, self.value, self.evaluation = L.copy(), evaluation.smooth, evaluation
        self.unit = self.unit or max(abs(evaluation.smooth), np.finfo(float).tiny)
        return evaluation.smooth / self.unit, evaluation.gradient(L).ravel() / self.unit

    def watch(self, _: Vector) -> None:
        """End the descent when the corners or the tolerance are most of the gap."""
        self.n_iter += 1
        if self.n_iter % LOOK or not self.solver.is_convex:
            return
        best = self.evaluation
        gap = best.primal - best.bound()
        is_solved = gap - best.corners <= SOLVED / 2 * best.corners
        if is_solved or gap <= self.solver.tol / 2 * best.primal:
            raise StopIteration


def _distances_to_others(Z: Array, labels: Index, row: int) -> Vector:
    return np.sum((Z[labels != labels[row]] - Z[row]) ** 2, axis=1)


def _hinge_sums(differences: list[Array], weight: Vector) -> Callable[[float], float]:
    """Return the function s -> sum of weight * max(0, 1 + s * difference) over arrays of each row.

    The differences are sorted once; a call then finds the place from which terms are positive.
    """
    sizes = [each.size for each in differences]
    flat, weights = np.concatenate([each.ravel() for each in differences]), np.repeat(weight, sizes)
    order = np.argsort(-flat)
    flat, weights = flat[order], weights[order]
    n_terms = np.concatenate([[0.0], np.cumsum(weights)])
    total = np.concatenate([[0.0], np.cumsum(weights * flat)])

    def evaluate(scale: float) -> float:
        end = np.searchsorted(-flat, 1 / scale)
        return n_terms[end] + scale * total[end]

    return evaluate
