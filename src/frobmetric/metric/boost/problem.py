"""The paper's P1 and P2: large margins with the trace for a regulariser, and what bounds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit

from ...core import PSD, Certificate, CertificateError
from ...core.points import Factored, as_dense
from ...core.problem import ROUNDING, relative_error

#: Exponents are held below this, so that a trial far from the answer is large and not infinite.
MOST_EXPONENT = 600.0
#: By how much rounding may put the top eigenvalue of the dual matrix above its bound.
FEASIBLE = 1e-9
#: Rounding of sum_r u_r A_r, relative to the sum of u_r |A_r|: its terms may cancel.
CANCELLATION = 4 * np.finfo(float).eps


@dataclass(frozen=True)
class Logistic:
    """loss_r(v) = weight_r * log(1 + exp(-v)); u lives in [0, weight_r].

    -loss*(-u) is weight_r times the entropy of u_r / weight_r, whose slope is infinite at both
    bounds: a loss for primal methods, not for the dual ones of `frobmetric.solvers`.
    """

    weight: np.ndarray

    @property
    def upper(self):
        return self.weight

    def value(self, v):
        return float(self.weight @ np.logaddexp(0, -v))

    def multiplier(self, v):
        return self.weight * expit(-v)

    def conjugate(self, u):
        """The sum of -loss*(-u), and its gradient in u."""
        share = np.clip(_share(u, self.weight), 0, 1)
        with np.errstate(divide="ignore"):
            slope = np.log1p(-share) - np.log(share)
        return float(self.weight @ (entr(share) + entr(1 - share))), slope


@dataclass(frozen=True)
class Exponential:
    """loss_r(v) = weight_r * exp(-v), AdaBoost's; u >= 0 has no upper bound.

    -loss*(-u) = u - u log(u / weight_r).
    """

    weight: np.ndarray

    @property
    def upper(self):
        return np.where(self.weight > 0, np.inf, 0.0)

    def value(self, v):
        return float(self.weight @ np.exp(np.minimum(-v, MOST_EXPONENT)))

    def multiplier(self, v):
        return self.weight * np.exp(np.minimum(-v, MOST_EXPONENT))

    def conjugate(self, u):
        """The sum of -loss*(-u), and its gradient in u."""
        share = _share(u, self.weight)
        with np.errstate(divide="ignore"):
            slope = -np.log(share)
        return float(np.sum(u) + self.weight @ entr(share)), slope


def _share(u, weight):
    return u / np.where(weight > 0, weight, 1.0)  # a row of weight 0 has u = 0


@dataclass(frozen=True)
class Bounds:
    """The objective of P2 at some M beside the bound from below of some u.

    `u` is feasible for D2: it was divided by `highest`, the largest eigenvalue of sum_r u_r A_r, if
    that was above one.
    """

    point: Factored
    u: np.ndarray
    primal: float
    dual: float
    highest: float

    @property
    def rank(self):
        """Rank of M."""
        return self.point.rank

    @property
    def rounding(self):
        """That of the two objectives; of these two, also where they come from different steps."""
        return 10 * ROUNDING * (abs(self.primal) + abs(self.dual))

    @property
    def gap(self):
        """Primal - dual, and zero where that is nothing but rounding."""
        gap = self.primal - self.dual
        return gap if abs(gap) > self.rounding else 0.0

    @property
    def error(self):
        """What a tolerance is compared with: the relative gap."""
        return relative_error(self.gap, max(abs(self.primal), abs(self.dual)), 0.0)


@dataclass(frozen=True)
class TraceSDP:
    """P2: minimise over positive semidefinite M

        trace(M) + sum_r loss_r(<A_r, M>)

    Its dual D2 is to maximise sum_r -loss_r*(-u_r) where no eigenvalue of sum_r u_r A_r is above
    one. Any u of the loss, divided by the largest eigenvalue if that is above one, is a bound.

    Parameters
    ----------
    constraints : Constraints of shape (m, n)
    loss : Hinge, Logistic or Exponential with m rows
    """

    constraints: object
    loss: object

    @property
    def order(self):
        return self.constraints.shape[1]

    def objective(self, point, margins):
        return float(np.vdot(point.L, point.L)) + self.loss.value(margins)

    def bounds(self, point, margins, u, pull=None):
        """The objective at M beside the bound from u; `pull` is sum_r u_r A_r if known."""
        pull = self.constraints.adjoint(u) if pull is None else pull
        highest = self.highest(pull)
        u = u / max(1.0, highest + self.doubt(u))
        return Bounds(point, u, self.objective(point, margins), self.loss.conjugate(u)[0], highest)

    def highest(self, pull):
        """The largest eigenvalue."""
        return -PSD(self.order).min_eigenvalue(-pull)

    def doubt(self, u):
        """How much of that of sum_r u_r A_r rounding may hide; zero if that is negligible."""
        doubt = CANCELLATION * float(u @ self._norms)
        return doubt if doubt > FEASIBLE else 0.0

    @cached_property
    def _norms(self):
        return self.constraints.norms()


def certify_trace(problem, point, u):
    """Prove from scratch how good (M, u) is, trusting nothing that a solver said.

    P2 is not strongly convex. Of the distance to the optimum it is therefore only known that
    |M*| <= trace(M*) <= primal and <M, M*> >= 0.

    Parameters
    ----------
    problem : TraceSDP
    point : Factored or ndarray
        M.
    u : ndarray of shape (n_constraints,)
        Feasible for D2.

    Returns
    -------
    Certificate

    Raises
    ------
    CertificateError
        If u is not feasible for D2 or M not finite: such an answer proves nothing.
    """
    point = point if isinstance(point, Factored) else _factored(problem, as_dense(point))
    if not np.isfinite(point.L).all():
        raise CertificateError("M contains NaN or infinity")
    found = problem.bounds(point, problem.constraints.forward(point), _feasible(problem, u))
    if found.gap < 0:
        raise CertificateError(
            f"primal {found.primal!r} is below dual {found.dual!r} by more than rounding: the "
            "constraints' forward and adjoint do not belong together"
        )
    M = point.dense()
    return Certificate(
        primal=found.primal,
        dual=found.dual,
        gap=found.gap,
        relative_gap=found.error,
        distance_bound=float(np.hypot(np.linalg.norm(M), found.primal)),
        min_eigenvalue=PSD(problem.order).min_eigenvalue(M),
        violation=0.0,
    )


def _factored(problem, M):
    split = PSD(problem.order).split(M)
    if split.lowest < -1e-10 * np.linalg.norm(M):
        raise CertificateError(
            f"M has the eigenvalue {split.lowest:.3e}; a metric must be positive semidefinite"
        )
    return split.positive()


def _feasible(problem, u):
    """u, if it is feasible for D2 up to rounding."""
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
    above = problem.highest(problem.constraints.adjoint(u)) - 1
    allowed = FEASIBLE + problem.doubt(u)
    if above > allowed:
        raise CertificateError(
            f"the sum of u_r A_r has an eigenvalue above 1 by {above:.3g}; D2 allows none, and "
            f"rounding explains no more than {allowed:.1g}; this u does not belong to this "
            "problem, or these are other data"
        )
    return np.minimum(u, upper)


class P1Optimum(NamedTuple):
    """An optimum of P1: maximise rho - C sum_r w_r max(0, rho - <A_r, M>) with trace(M) = 1."""

    C: float
    M: np.ndarray
    rho: float
    value: float


class P2Optimum(NamedTuple):
    """An optimum of P2: minimise trace(M) + C sum_r w_r max(0, 1 - <A_r, M>)."""

    C: float
    M: np.ndarray
    value: float


def p2_from_p1(C, M, rho, value):
    """The paper's theorem: the optimum of P2 that an optimum of P1 is, up to scale.

    C2 = C1 / Opt(P1), M2 = M1 / rho and Opt(P2) = 1 / Opt(P1). The weights w_r of the triplets
    sum to one, in P1 as in P2.

    Parameters
    ----------
    C : float
        Of P1, at least 1.
    M : ndarray of shape (n, n)
        Of P1, of trace one.
    rho : float
        The margin at the optimum.
    value : float
        Opt(P1) = rho - C sum_r w_r max(0, rho - <A_r, M>).

    Returns
    -------
    P2Optimum

    Raises
    ------
    ValueError
        Where P1 has no optimum (C < 1) or none that P2 knows (rho or Opt(P1) not positive).

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.metric.boost.problem import p2_from_p1
    >>> p2_from_p1(2.0, np.eye(1), 0.5, 0.25).C
    8.0
    """
    M = np.asarray(M, dtype=float)
    if not C >= 1:
        raise ValueError(
            f"C={C!r}: P1 is unbounded for C < 1, because rho can grow for free (each unit of it "
            "costs only C); it has no optimum to translate. Give the optimum for some C >= 1"
        )
    if not (np.isfinite([rho, value]).all() and rho > 0 and value > 0):
        raise ValueError(
            f"rho={rho!r} and Opt(P1)={value!r} must both be positive and finite: for large C on "
            "triplets that no metric separates Opt(P1) <= 0, and no C of P2 corresponds. Lower "
            "C, or solve P2 itself, which has no such limit"
        )
    if not np.isclose(np.trace(M), 1.0, rtol=1e-3):
        raise ValueError(f"M has the trace {np.trace(M):.6g}; P1 demands trace(M) = 1")
    return P2Optimum(C / value, M / rho, 1 / value)


def p1_from_p2(C, M, value):
    """The paper's theorem read backwards: C1 = C2 / Opt(P2), M1 = M2 / trace(M2).

    Then rho = 1 / trace(M2) and Opt(P1) = 1 / Opt(P2). Since Opt(P2) <= C2, which M = 0 costs,
    C1 is at least 1.

    Parameters
    ----------
    C : float
        Of P2.
    M : ndarray of shape (n, n)
        Of P2.
    value : float
        Opt(P2) = trace(M) + C sum_r w_r max(0, 1 - <A_r, M>).

    Returns
    -------
    P1Optimum

    Raises
    ------
    ValueError
        If M is zero, which is no optimum of P1 up to scale.
    """
    M = np.asarray(M, dtype=float)
    trace = float(np.trace(M))
    if not (np.isfinite([trace, value]).all() and trace > 0 and value > 0):
        raise ValueError(
            f"trace(M)={trace!r} and Opt(P2)={value!r} must both be positive and finite: where "
            "M = 0 is the optimum of P2 no multiple of it has the trace 1 of P1; raise C"
        )
    return P1Optimum(C / value, M / trace, 1 / trace, 1 / value)
