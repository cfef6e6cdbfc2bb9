"""Problem P2 of the paper: large margins with the trace as regulariser, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.special import entr, expit

from ...core import PSD, CertificateError, Constraints, Hinge
from ...core.bounds import lowest_eigenvalue
from ...core.points import Array, Factored, Point, Symmetric, Vector, as_dense
from ...core.problem import ROUNDING, relative_error
from ...core.rounding import SUM, gamma, inner
from ...core.solution import Certificate

#: Upper bound on exponents, so that the loss of a trial far from the optimum stays finite.
MOST_EXPONENT = 600.0
#: Amount by which rounding may put the largest eigenvalue of sum_r u_r A_r above one.
FEASIBLE = 1e-9
#: Roundings of a term for which a logarithm or an exponential of the C library counts.
LIBRARY = 32
#: Rounding error of sum_r u_r A_r, relative to the sum of u_r |A_r|: its terms may cancel.
CANCELLATION = 4 * np.finfo(float).eps


@dataclass(frozen=True)
class Logistic:
    """Logistic loss_r(v) = weight_r * log(1 + exp(-v)); u lives in [0, weight_r].

    -loss*(-u) is weight_r times the entropy of u_r / weight_r, whose slope is infinite at both
    bounds: this loss suits primal methods, not the dual ones of `frobmetric.solvers`.
    """

    weight: Array

    @property
    def upper(self) -> Vector:
        return self.weight

    def value(self, v: Vector) -> float:
        return float(self.weight @ np.logaddexp(0, -v))

    def multiplier(self, v: Vector) -> Vector:
        return self.weight * expit(-v)

    def conjugate_error(self, u: Vector) -> float:
        """Return a bound on the rounding error of the value of `conjugate`."""
        return gamma(SUM + LIBRARY) * (self.conjugate(u)[0] + 2 * float(np.sum(u)))

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        """Return the sum of -loss*(-u), and its gradient in u."""
        share = np.clip(_share(u, self.weight), 0, 1)
        with np.errstate(divide="ignore"):
            slope = np.log1p(-share) - np.log(share)
        return float(self.weight @ (entr(share) + entr(1 - share))), slope


@dataclass(frozen=True)
class Exponential:
    """Exponential loss_r(v) = weight_r * exp(-v) of AdaBoost; u >= 0 has no upper bound.

    -loss*(-u) = u - u log(u / weight_r).
    """

    weight: Array

    @property
    def upper(self) -> Vector:
        return np.where(self.weight > 0, np.inf, 0.0)

    def value(self, v: Vector) -> float:
        return float(self.weight @ np.exp(np.minimum(-v, MOST_EXPONENT)))

    def multiplier(self, v: Vector) -> Vector:
        return self.weight * np.exp(np.minimum(-v, MOST_EXPONENT))

    def conjugate_error(self, u: Vector) -> float:
        """Return a bound on the rounding error of the value of `conjugate`."""
        terms = float(2 * np.sum(u) + self.weight @ np.abs(entr(_share(u, self.weight))))
        return gamma(SUM + LIBRARY) * terms

    def conjugate(self, u: Vector) -> tuple[float, Vector]:
        """Return the sum of -loss*(-u), and its gradient in u."""
        share = _share(u, self.weight)
        with np.errstate(divide="ignore"):
            slope = -np.log(share)
        return float(np.sum(u) + self.weight @ entr(share)), slope


def _share(u: Vector, weight: Vector) -> Vector:
    return u / np.where(weight > 0, weight, 1.0)  # a row of weight 0 has u = 0


#: Losses of the problem.
TraceLoss: TypeAlias = Hinge | Logistic | Exponential


@dataclass(frozen=True)
class Bounds:
    """Objective of P2 at some M, and the lower bound of its optimum from some u.

    `u` is feasible for D2: it was divided by `max_eigenvalue`, that of sum_r u_r A_r, if above one.
    """

    point: Factored
    u: Array
    primal: float
    dual: float
    max_eigenvalue: float

    @property
    def rank(self) -> int:
        """Rank of M."""
        return self.point.rank

    @property
    def rounding(self) -> float:
        """Bound on the rounding error of the two objectives, which may be of different steps."""
        return 10 * ROUNDING * (abs(self.primal) + abs(self.dual))

    @property
    def gap(self) -> float:
        """Difference of primal and dual, zero where it is only rounding."""
        gap = self.primal - self.dual
        return gap if abs(gap) > self.rounding else 0.0

    @property
    def error(self) -> float:
        """Relative gap, which a tolerance is compared with."""
        return relative_error(self.gap, max(abs(self.primal), abs(self.dual)), 0.0)


@dataclass(frozen=True)
class TraceSDP:
    """Problem P2: minimise over positive semidefinite M the sum of trace and losses.

        trace(M) + sum_r loss_r(<A_r, M>)

    Its dual D2 maximises sum_r -loss_r*(-u_r) where no eigenvalue of sum_r u_r A_r is above one.
    Any u of the loss, divided by the largest eigenvalue if that is above one, gives a bound.
    """

    constraints: Constraints
    loss: TraceLoss

    @property
    def order(self) -> int:
        return self.constraints.shape[1]

    def objective(self, point: Factored, margins: Vector) -> float:
        return float(np.vdot(point.L, point.L)) + self.loss.value(margins)

    def bounds(
        self, point: Factored, margins: Vector, u: Vector, weighted_sum: Symmetric | None = None
    ) -> Bounds:
        """Return the objective at M and the bound from u; `weighted_sum` is sum_r u_r A_r."""
        weighted_sum = self.constraints.adjoint(u) if weighted_sum is None else weighted_sum
        largest = self.max_eigenvalue(weighted_sum)
        u = u / max(1.0, largest + self.rounding_margin(u))
        return Bounds(point, u, self.objective(point, margins), self.loss.conjugate(u)[0], largest)

    def max_eigenvalue(self, matrix: Symmetric) -> float:
        """Return the largest eigenvalue of a symmetric matrix."""
        return -PSD(self.order).min_eigenvalue(-matrix)

    def rounding_margin(self, u: Vector) -> float:
        """Return a bound, 0 if negligible, on the error of the largest eigenvalue of `bounds`."""
        margin = CANCELLATION * float(u @ self._norms)
        return margin if margin > FEASIBLE else 0.0

    @cached_property
    def _norms(self) -> Vector:
        return self.constraints.norms()


def certify_trace(problem: TraceSDP, point: Point | Symmetric, u: Vector) -> Certificate:
    """Prove from scratch how good (M, u) is, without trusting any number of a solver.

    P2 is not strongly convex, so the bound on the distance to the optimum only uses
    |M*| <= trace(M*) <= primal and <M, M*> >= 0.

    Raises
    ------
    CertificateError
        If u is not feasible for D2 or M is not finite: such an answer proves nothing.
    """
    point = point if isinstance(point, Factored) else _factored(problem, as_dense(point))
    if not np.isfinite(point.L).all():
        raise CertificateError("M contains NaN or infinity")
    primal, rounding = _primal_bound(problem, point)
    dual, dual_rounding = _dual_bound(problem, _feasible(problem, u))
    if not np.isfinite([primal, dual]).all() or primal + rounding < dual - dual_rounding:
        raise CertificateError(
            f"primal {primal!r} is below dual {dual!r} by more than rounding, or not finite: the "
            "constraints' forward and adjoint do not belong together, or the data are too large"
        )
    proof = Certificate.between(dual, primal, max(rounding, dual_rounding))
    M = point.dense()
    reach = float(np.hypot(np.linalg.norm(M), proof.primal)) * (1 + gamma(SUM))
    smallest = PSD(problem.order).min_eigenvalue(M)
    return replace(proof, distance_bound=reach, min_eigenvalue=smallest)


def _primal_bound(problem: TraceSDP, point: Factored) -> tuple[float, float]:
    """Return the objective at M with all rounding added, and how much of it that is."""
    margins, reach = problem.constraints.forward_bound(point)
    trace, trace_rounding = inner(point.L, point.L)
    losses, worst = (problem.loss.value(v) for v in (margins, margins - reach))
    return trace + losses, trace_rounding + worst - losses + gamma(SUM + LIBRARY) * worst


def _dual_bound(problem: TraceSDP, u: Vector) -> tuple[float, float]:
    """Return the bound from u, made feasible with all rounding, and its own rounding."""
    S, error = problem.constraints.adjoint(u), problem.constraints.adjoint_error(u)
    largest = -lowest_eigenvalue(PSD(problem.order), -S, error)
    u = u / max(1.0, largest * (1 + gamma(8)))
    return problem.loss.conjugate(u)[0], problem.loss.conjugate_error(u)


def _factored(problem: TraceSDP, M: Symmetric) -> Factored:
    split = PSD(problem.order).split(M)
    if split.lowest < -1e-10 * np.linalg.norm(M):
        raise CertificateError(
            f"M has the eigenvalue {split.lowest:.3e}; a metric must be positive semidefinite"
        )
    return split.positive()


def _feasible(problem: TraceSDP, u: Vector) -> Vector:
    """Return u if it is feasible for D2 up to rounding."""
    u, upper = np.asarray(u, dtype=float), problem.loss.upper
    if u.shape != upper.shape:
        raise CertificateError(f"u has shape {u.shape}; this problem's has {upper.shape}")
    outside = ~((u >= 0) & (u <= upper * (1 + FEASIBLE)) & np.isfinite(u))
    if outside.any():
        worst = int(np.flatnonzero(outside)[0])
        raise CertificateError(
            f"u[{worst}] = {u[worst]!r} is outside [0, {upper[worst]!r}], so it bounds nothing; "
            "this u does not belong to this problem"
        )
    above = problem.max_eigenvalue(problem.constraints.adjoint(u)) - 1
    allowed = FEASIBLE + problem.rounding_margin(u)
    if above > allowed:
        raise CertificateError(
            f"the sum of u_r A_r has an eigenvalue above 1 by {above:.3g}; D2 allows none, and "
            f"rounding explains no more than {allowed:.1g}; this u does not belong to this "
            "problem, or these are other data"
        )
    return np.minimum(u, upper)
