"""Squared residuals of comparisons with a LogDet regulariser: Newton's method and a proof.

The residual of two squared distances, max(0, sqrt(near) - sqrt(far))^2, is convex and homogeneous
in (near, far): it is the largest of its tangents p near + q far, which pass through the origin.
With tangents in the place of the residuals, the minimum is known in closed form, and is a lower
bound of the one that is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from ..core import NumericalError
from ..core.cg import conjugate_gradients
from ..core.constraints import PairDifferences, Pairs, Quadruplets
from ..core.kernels import pair_products
from ..core.points import Array, Index, Vector
from ..core.solution import Certificate, Step
from .learner import certificate_of

#: Share of the residual that conjugate gradients leave, and the largest number of their products.
ACCURACY, MOST_PRODUCTS = 0.01, 500
#: Growth of the share of the residuals, and the relative gap at which it grows.
LARGER, ROUGH = 10.0, 0.1
#: Share of the way to a singular matrix that a step may go, and trials of its length.
INSIDE, MOST_TRIALS = 0.95, 60
#: A step may end uphill: with a slope of this share of that at its start.
UPHILL = 0.3
#: Halvings of the tangents until they prove a bound.
HALVINGS = 60
EPS = float(np.finfo(np.float64).eps)


class Answer(NamedTuple):
    """Matrix N, the number of iterates up to it, and whether its gap is small enough."""

    N: Array
    n_iter: int
    is_converged: bool


@dataclass(frozen=True, eq=False)
class SquaredResiduals:
    """Problem of a matrix N > 0 of order D that is to be close to the identity.

    Minimise sum_r weight_r max(0, |z_a - z_b| - |z_c - z_d|)^2 + trace(N) - logdet(N) - D over N.
    Row r of `index` is (a, b, c, d), rows of Z, and |v| is the root of v.T N v.
    """

    Z: Array
    index: Index
    weight: Array

    def minimise(
        self, tol: float, max_iter: int, report: Callable[[Step], Any] | None = None
    ) -> Answer:
        """Take Newton steps until the gap is at most `tol` times the objective.

        Large residuals come in by shares: the minimum with a small share of them is easy to find
        from the identity, and each is the start of the next. Lines of progress are about the share.
        """
        started = perf_counter()
        iterate = Iterate.of(np.eye(self.Z.shape[1]), self._rows, self.weight)
        share = min(1.0, len(iterate.R) / max(float(np.trace(iterate.pull)), EPS))
        iterate = iterate.with_residuals(share)
        for n_iter in range(1, max_iter + 1):
            while share < 1 and iterate.gap <= ROUGH * iterate.primal:
                before, share = share, min(1.0, LARGER * share)
                iterate = iterate.with_residuals(share / before)
            primal, gap = iterate.primal, iterate.gap
            if report is not None:
                seconds = perf_counter() - started
                report(Step(primal, primal - gap, gap, len(iterate.R), seconds))
            is_converged = share == 1 and gap <= tol * primal + iterate.rounding
            if is_converged or n_iter == max_iter:
                break
            iterate = iterate.step()
        return Answer(iterate.R @ iterate.R.T, n_iter, is_converged)

    def certify(self, N: Array) -> Certificate:
        """Return the certificate of N, in the coordinates of Z: its tangents prove the bound."""
        rows = self._rows
        near, far = (np.maximum(squares, 0.0) for squares in _forward(rows, N))
        moved: Any = np.linalg.eigvalsh(N - np.eye(len(N)))
        if len(moved) and not moved[0] > -1:
            raise NumericalError(
                "the metric has a direction that it shortens, beside the prior, by more than "
                "float64 can tell; scale the points to sizes near one"
            )
        loss = self.weight @ np.maximum(np.sqrt(near) - np.sqrt(far), 0.0) ** 2
        primal = float(loss + np.sum(moved - np.log1p(moved)))
        pull = _adjoint(rows, *(self.weight * slope for slope in _tangents(near, far)))
        _, bound = _positive_share(np.zeros_like(N), pull)
        # an eigenvalue has an error of some digits of the largest one
        errors = [_rounding(moved, moved / (1 + moved)), _rounding(bound, 1 / (1 + bound))]
        return certificate_of(primal, float(np.sum(np.log1p(bound))), max(errors) + EPS * primal)

    @cached_property
    def _rows(self) -> Quadruplets:
        return Quadruplets(self.Z, self.index)


@dataclass(frozen=True, eq=False)
class Iterate:
    """N = R R.T, with the comparisons in the coordinates Z R in which N is the identity."""

    R: Array
    #: Differences of `Pairs`.
    rows: Any
    weight: Array
    #: Squared distances that each row compares.
    near: Array
    far: Array
    #: sum_r weight_r (p_r A_r + q_r B_r): p and q tangents, <A, N> and <B, N> near and far.
    pull: Array

    @classmethod
    def of(cls, R: Array, rows: Any, weight: Array) -> Self:
        """Return the iterate of comparisons in its coordinates."""
        pairs = rows.pairs
        squares = pair_products(pairs.X, pairs.X, pairs.first, pairs.second)
        near, far = squares[rows.near], squares[rows.far]
        p, q = _tangents(near, far)
        return cls(R, rows, weight, near, far, _adjoint(rows, weight * p, weight * q))

    def with_residuals(self, factor: float) -> Iterate:
        """Return the same N where the residuals count so many times as much."""
        return replace(self, weight=factor * self.weight, pull=factor * self.pull)

    def scaled(self) -> Iterate:
        """Return the best multiple of N, of which the regulariser and the residuals are known.

        Its tangents are those of N, because the residuals are homogeneous.
        """
        factor = len(self.R) / (self._trace + float(np.trace(self.pull)))
        root = np.sqrt(factor)
        return Iterate(
            root * self.R,
            _with_points(self.rows, root * self.rows.pairs.X),
            self.weight,
            factor * self.near,
            factor * self.far,
            factor * self.pull,
        )

    @property
    def primal(self) -> float:
        """Objective at N."""
        loss = self.weight @ np.maximum(np.sqrt(self.near) - np.sqrt(self.far), 0.0) ** 2
        return float(loss + self._trace - self._logdet - len(self.R))

    @property
    def gap(self) -> float:
        """Difference of the objective and the bound of the tangents.

        The residuals sum up to trace(pull), because they are homogeneous.
        """
        share, moved = _positive_share(self.R.T @ self.R - np.eye(len(self.R)), self.pull)
        return float((1 - share) * np.trace(self.pull) + np.sum(moved - np.log1p(moved)))

    @property
    def rounding(self) -> float:
        """Bound on the rounding errors of the objectives."""
        return EPS * len(self.R) * (self._trace + abs(self._logdet) + len(self.R))

    def step(self) -> Iterate:
        """Return the iterate after a Newton step; its length costs no product."""
        change = self._direction()
        values, vectors = np.linalg.eigh(change)
        length = self._length(change, values)
        turn = vectors * np.sqrt(1 + length * values)
        rows = _with_points(self.rows, self.rows.pairs.X @ turn)
        return Iterate.of(self.R @ turn, rows, self.weight).scaled()

    @property
    def _trace(self) -> float:
        return float(np.sum(self.R**2))

    @property
    def _logdet(self) -> float:
        return 2 * float(np.linalg.slogdet(self.R)[1])

    def _direction(self) -> Array:
        """Return the change of N that about solves Newton's equations.

        The regulariser has the curvature of the identity here. A residual has that of
        sqrt(near far) / 4 times the square of (change of near) / near - (change of far) / far.
        """
        some = np.flatnonzero(self.near > self.far)
        rows, near, far = self.rows.restrict(some), self.near[some], self.far[some]
        rate = self.weight[some] * np.sqrt(near * far) / 2

        def product(change: Array) -> Array:
            of_near, of_far = _forward(rows, change)
            force = rate * (of_near / near - of_far / far)
            return change + _adjoint(rows, force / near, -force / far)

        gradient = self.R.T @ self.R + self.pull - np.eye(len(self.R))
        options: Any = {"accuracy": ACCURACY, "max_products": MOST_PRODUCTS}
        change = conjugate_gradients(product, -gradient, np.ones(1), **options).x
        return (change + change.T) / 2

    def _length(self, change: Array, values: Array) -> float:
        """Return the length of a step, halved until the slope at its end is not far uphill."""
        of_near, of_far = _forward(self.rows, change)
        linear = float(np.vdot(self.R.T @ self.R, change))

        def slope(length: float) -> float:
            p, q = _tangents(self.near + length * of_near, self.far + length * of_far)
            loss = self.weight @ (p * of_near + q * of_far)
            return float(loss + linear - np.sum(values / (1 + length * values)))

        length, most = min(1.0, INSIDE / max(-float(values[0]), EPS)), -UPHILL * slope(0.0)
        for _ in range(MOST_TRIALS):
            if slope(length) <= most:
                break
            length /= 2
        return length


def _positive_share(base: Array, pull: Array) -> tuple[float, Vector]:
    """Return a share t for which I + base + t pull > 0, and the eigenvalues of it without I.

    Any share of the tangents lies below the residuals. Near the minimum it is one.
    """
    share = 1.0
    for _ in range(HALVINGS):
        moved: Any = np.linalg.eigvalsh(base + share * pull)
        if moved[0] > EPS - 1:
            return share, moved
        share /= 2
    return 0.0, np.maximum(np.linalg.eigvalsh(base), EPS - 1)


def _rounding(values: Vector, slopes: Vector) -> float:
    """Return the error of a sum over eigenvalues, given its slope in each of them."""
    return float(EPS * len(values) * np.abs(values).max() * np.abs(slopes).sum())


def _with_points(rows: PairDifferences, X: Array) -> PairDifferences:
    """Return the same comparisons of other points."""
    index = np.column_stack([rows.pairs.first, rows.pairs.second])
    return PairDifferences(Pairs(X, index), rows.near, rows.far)


def _tangents(near: Vector, far: Vector) -> tuple[Vector, Vector]:
    """Return the slopes of the residuals in near and in far; zero where there is no residual."""
    is_wrong = near > far
    ratio = np.ones_like(near)
    np.divide(np.maximum(far, EPS**2 * near), near, where=is_wrong, out=ratio)
    ratio = np.sqrt(ratio)
    return 1 - ratio, 1 - 1 / ratio


def _forward(rows: PairDifferences, change: Array) -> tuple[Vector, Vector]:
    """Return the changes of the near and the far squared distances."""
    squares = rows.pairs.forward(change)
    return squares[rows.near], squares[rows.far]


def _adjoint(rows: PairDifferences, of_near: Vector, of_far: Vector) -> Array:
    """Return the matrix whose inner product with a change is that of `_forward` with these."""
    n_pairs = rows.pairs.shape[0]
    total = np.bincount(rows.near, of_near, n_pairs) + np.bincount(rows.far, of_far, n_pairs)
    return rows.pairs.adjoint(total.astype(np.float64, copy=False))
