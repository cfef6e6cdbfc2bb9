"""Proof of the quality of an answer of an SDP, computed from the answer and the problem alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import Certificate, CertificateError, FrobeniusSDP
from ..core.types import Symmetric, Vector
from ..solvers.plain import gram_solver, senses, targets

#: Rounding of an eigenvalue or a sum, relative to the sum of the norms of its terms.
ROUNDING = 1e-15


@dataclass(frozen=True, kw_only=True)
class SDPCertificate(Certificate):
    """Errors of an answer (X, y) of an SDP, and a proven lower bound.

    Attributes
    ----------
    primal, dual : float
        <C, X> and b.y, with the share of the Frobenius term if the problem has one.
    gap, relative_gap : float
        |primal - dual|, and that divided by 1 + |primal| + |dual|. Unless both errors below are
        zero only `bound` is proven.
    eta_p, eta_d : float
        Relative errors: of the rows, |A X - b| / (1 + |b|); and of the dual, the distance of
        C - A*(y) from the dual cone / (1 + |C|).
    min_eigenvalue, min_eigenvalue_dual : float
        Smallest eigenvalue of X, and of C - A*(y); the latter is 0 with a Frobenius term, where
        every y is feasible.
    bound : float
        Proven lower bound on <C, X> of every feasible X; -infinity if none is known.
    trace_bound : float
        Bound on the trace of X that `bound` rests on; infinity if none is known.
    """

    eta_p: float
    eta_d: float
    min_eigenvalue_dual: float
    bound: float
    trace_bound: float

    @property
    def eta_g(self) -> float:
        """The relative gap, third of the errors."""
        return self.relative_gap

    @property
    def error(self) -> float:
        """Largest of the three relative errors."""
        return max(self.eta_p, self.eta_d, self.eta_g)

    def describe_error(self) -> str:
        return f"errors {self.eta_p:.1e} (rows), {self.eta_d:.1e} (dual), {self.eta_g:.1e} (gap)"

    def __str__(self) -> str:
        proven = f"; optimum >= {self.bound:.8g}" if np.isfinite(self.bound) else ""
        return f"primal {self.primal:.8g}, dual {self.dual:.8g}, {self.describe_error()}{proven}"


def certify_sdp(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, trace_bound: float | None = None
) -> SDPCertificate:
    """Compute the certificate of (X, y) from scratch.

    Parameters
    ----------
    problem : FrobeniusSDP
        Hard rows only; sigma may be infinite.
    X : ndarray of the cone's shape
    y : ndarray of shape (n_rows,)
        Multipliers: the rate at which the optimum rises with each right-hand side.
    trace_bound : float, optional
        Upper bound on the trace of every feasible X; derived from the rows if not given.

    Raises
    ------
    CertificateError
        If X or y has the wrong shape or is not finite.
    """
    b = targets(problem)
    X, y = _checked("X", X, problem.cone.shape), _checked("y", y, b.shape)
    y = np.clip(y, problem.loss.lower, problem.loss.upper)
    margins = problem.constraints.forward(X)
    residual = primal_residual(problem, margins)
    primal, dual = _objectives(problem, X, y)
    eta_d, lowest, bound, known = _dual_side(problem, X, y, dual, trace_bound)
    return SDPCertificate(
        primal=primal,
        dual=dual,
        gap=abs(primal - dual),
        relative_gap=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
        violation=float(problem.loss.violation(margins).max(initial=0.0)),
        eta_p=float(np.linalg.norm(residual)) / (1 + float(np.linalg.norm(b))),
        eta_d=eta_d,
        min_eigenvalue=problem.cone.min_eigenvalue(X),
        min_eigenvalue_dual=lowest,
        bound=bound,
        trace_bound=known,
    )


def _objectives(problem: FrobeniusSDP, X: Symmetric, y: Vector) -> tuple[float, float]:
    if np.isfinite(problem.sigma):
        comparison = problem.compare(X, y)
        return comparison.primal, comparison.dual
    dual = float(targets(problem) @ y) + problem.offset
    return float(np.vdot(problem.cost, X)) + problem.offset, dual


def _dual_side(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, dual: float, trace_bound: float | None
) -> tuple[float, float, float, float]:
    """Return eta_d, the smallest eigenvalue of the slack, the bound and its trace bound."""
    if np.isfinite(problem.sigma):  # every y is dual feasible, and its objective a bound
        return 0.0, 0.0, dual, np.inf
    slack = problem.cone.split(dual_slack(problem, X, y))
    eta_d = float(np.sqrt(slack.negative_norm2)) / (1 + float(np.linalg.norm(problem.cost)))
    known = find_trace_bound(problem) if trace_bound is None else trace_bound
    # the terms of b.y and of C - A*(y) may cancel, so rounding counts too
    size = float(np.linalg.norm(problem.cost)) + float(np.abs(y) @ problem.constraints.norms())
    short = min(0.0, slack.lowest - ROUNDING * size)
    bound = dual - ROUNDING * float(np.abs(y) @ np.abs(targets(problem)))
    return eta_d, slack.lowest, bound + known * short if short else bound, known


def dual_slack(problem: FrobeniusSDP, X: Symmetric, y: Vector) -> Symmetric:
    """Return C - A*(y) plus the slope of the Frobenius term: in the dual cone at an optimum."""
    slope = (X - problem.prior) / problem.sigma  # zero for a plain SDP
    return problem.cost + slope - problem.constraints.adjoint(y)


def find_trace_bound(problem: FrobeniusSDP) -> float:
    """Return a bound on the trace of feasible X that the rows imply, infinity if none is found.

    If A*(v) has no eigenvalue below w > 0, then w tr X <= <A*(v), X> = v.A(X) <= v.b.
    """
    A, sense = problem.constraints, senses(problem)
    v = gram_solver(A)(A.forward(problem.cone.identity()))
    v = np.where(sense * v > 0, 0.0, v)  # an inequality is a bound in one direction only
    if not np.isfinite(v).all():
        return np.inf
    lowest = problem.cone.min_eigenvalue(A.adjoint(v))
    if lowest <= 1e-8 * float(np.abs(v).max(initial=0.0)):
        return np.inf
    return max(0.0, float(targets(problem) @ v)) / lowest


def primal_residual(problem: FrobeniusSDP, margins: Vector) -> Vector:
    """Return by how much the rows are broken, given <A_r, X> of each."""
    short, sense = targets(problem) - margins, senses(problem)
    return np.where(sense == 0, short, np.maximum(0, sense * short))


def _checked(name: str, value: Symmetric, shape: tuple[int, ...]) -> Symmetric:
    value = np.asarray(value, dtype=float)
    if value.shape != shape:
        raise CertificateError(f"{name} has shape {value.shape}; expected {shape}")
    if not np.isfinite(value).all():
        raise CertificateError(f"{name} contains NaN or infinity")
    return value
