"""How good an answer of an SDP is, computed from the answer and the problem alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import CertificateError, FrobeniusSDP
from ..core.types import Symmetric, Vector
from ..solvers.gram import gram_solver
from .presolve import senses, targets


@dataclass(frozen=True)
class SDPCertificate:
    """What is proven of an answer (X, y).

    Attributes
    ----------
    primal, dual : float
        <C, X> and b.y, with the Frobenius term's share if the problem has one.
    eta_p, eta_d, eta_g : float
        Relative errors: how far X is from the rows, |A X - b| / (1 + |b|); how far C - A*(y) is
        from the cone, |C - A*(y) - Z| / (1 + |C|); and the gap, |p - d| / (1 + |p| + |d|).
    min_eigenvalue, min_eigenvalue_dual : float
        Of X, and of C - A*(y); the latter is 0 with a Frobenius term, where every y is feasible.
    bound : float
        A number that no feasible X goes below; -infinity if none is known.
    trace_bound : float
        The bound on the trace of X that `bound` rests on; infinity if none is known.
    """

    primal: float
    dual: float
    eta_p: float
    eta_d: float
    eta_g: float
    min_eigenvalue: float
    min_eigenvalue_dual: float
    bound: float
    trace_bound: float

    @property
    def error(self) -> float:
        """The largest of the three relative errors."""
        return max(self.eta_p, self.eta_d, self.eta_g)

    def __str__(self) -> str:
        errors = f"errors {self.eta_p:.1e} (rows), {self.eta_d:.1e} (dual), {self.eta_g:.1e} (gap)"
        proven = f"; optimum >= {self.bound:.8g}" if np.isfinite(self.bound) else ""
        return f"primal {self.primal:.8g}, dual {self.dual:.8g}, {errors}{proven}"


def certify_sdp(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, trace_bound: float | None = None
) -> SDPCertificate:
    """Measure (X, y) from scratch.

    Parameters
    ----------
    problem : FrobeniusSDP
        Hard rows only; sigma may be infinite.
    X : ndarray of the cone's shape
    y : ndarray of shape (n_rows,)
        Multipliers: how fast the optimum rises with each right-hand side.
    trace_bound : float, optional
        A number that the trace of no feasible X exceeds. Looked for in the rows if not given.

    Raises
    ------
    CertificateError
        If X or y has the wrong shape or is not finite.
    """
    b = targets(problem)
    X, y = _checked("X", X, problem.cone.shape), _checked("y", y, b.shape)
    y = np.clip(y, problem.loss.lower, problem.loss.upper)
    broken = missed(problem, problem.constraints.forward(X), b)
    primal, dual = _objectives(problem, X, y)
    eta_d, lowest, bound, known = _dual_side(problem, X, y, dual, trace_bound)
    return SDPCertificate(
        primal=primal,
        dual=dual,
        eta_p=float(np.linalg.norm(broken)) / (1 + float(np.linalg.norm(b))),
        eta_d=eta_d,
        eta_g=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
        min_eigenvalue=problem.cone.min_eigenvalue(X),
        min_eigenvalue_dual=lowest,
        bound=bound,
        trace_bound=known,
    )


def _objectives(problem: FrobeniusSDP, X: Symmetric, y: Vector) -> tuple[float, float]:
    if np.isfinite(problem.sigma):
        found = problem.compare(X, y)
        return found.primal, found.dual
    dual = float(targets(problem) @ y) + problem.offset
    return float(np.vdot(problem.cost, X)) + problem.offset, dual


def _dual_side(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, dual: float, trace_bound: float | None
) -> tuple[float, float, float, float]:
    """eta_d, the smallest eigenvalue of the slack, the bound and the trace bound behind it."""
    if np.isfinite(problem.sigma):  # every y is dual feasible, and its objective a bound
        return 0.0, 0.0, dual, np.inf
    slack = problem.cone.split(dual_slack(problem, X, y))
    eta_d = float(np.sqrt(slack.negative_norm2)) / (1 + float(np.linalg.norm(problem.cost)))
    known = find_trace_bound(problem) if trace_bound is None else trace_bound
    short = min(0.0, slack.lowest)
    return eta_d, slack.lowest, dual + known * short if short else dual, known


def dual_slack(problem: FrobeniusSDP, X: Symmetric, y: Vector) -> Symmetric:
    """C - A*(y), and the slope of the Frobenius term at X: in the dual cone at an optimum."""
    slope = (X - problem.prior) / problem.sigma  # zero for a plain SDP
    return problem.cost + slope - problem.constraints.adjoint(y)


def find_trace_bound(problem: FrobeniusSDP) -> float:
    """A bound on the trace of feasible X that the rows imply, infinity if none was found.

    If A*(v) has no eigenvalue below w > 0, then w tr X <= <A*(v), X> = v.A(X) <= v.b.
    """
    A, sense = problem.constraints, senses(problem)
    v = gram_solver(A)(A.forward(problem.cone.identity()))
    v = np.where(sense * v > 0, 0.0, v)  # an inequality bounds in its own direction only
    if not np.isfinite(v).all():
        return np.inf
    lowest = problem.cone.min_eigenvalue(A.adjoint(v))
    if lowest <= 1e-8 * float(np.abs(v).max(initial=0.0)):
        return np.inf
    return max(0.0, float(targets(problem) @ v)) / lowest


def missed(problem: FrobeniusSDP, margins: Vector, b: Vector) -> Vector:
    """By how much the rows are broken, given <A_r, X> of each."""
    short, sense = b - margins, senses(problem)
    return np.where(sense == 0, short, np.maximum(0, sense * short))


def _checked(name: str, value: Symmetric, shape: tuple[int, ...]) -> Symmetric:
    value = np.asarray(value, dtype=float)
    if value.shape != shape:
        raise CertificateError(f"{name} has shape {value.shape}; this problem's has {shape}")
    if not np.isfinite(value).all():
        raise CertificateError(f"{name} contains NaN or infinity")
    return value
