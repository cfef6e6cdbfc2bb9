"""The answer of a solver, and the proof of its quality."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from .points import Point, Symmetric, Vector, as_dense, as_vector
from .problem import FrobeniusSDP, relative_error

#: Every `status` of a solution, and its meaning.
STATUSES = {
    "optimal": "certified to the tolerance",
    "max_iter": "the number of steps reached its limit",
    "time_limit": "the time reached its limit",
    "stalled": "the method could make no more progress",
    "stopped": "the callback asked to stop",
    "interrupted": "stopped by Ctrl-C",
    "primal_infeasible": "proven: no M satisfies the constraints",
    "dual_infeasible": "proven: the objective has no lower bound, or no M satisfies the rows",
}


class CertificateError(ValueError):
    """An answer that proves nothing: outside the cone, outside the box, or not finite."""


@dataclass(frozen=True)
class Certificate:
    """Proof of the quality of an answer (M, u): the optimum lies in [dual, primal].

    Certificates of other problems refine this one: all have these fields, `error` and `str`.

    Attributes
    ----------
    primal, dual : float
        Objective at M, and the lower bound at u. With hard rows `primal` leaves them out.
    gap : float
        primal - dual, never negative; infinity when M breaks a hard row.
    relative_gap : float
        gap / max(|primal|, |dual|).
    distance_bound : float
        Upper bound on the distance of M to the optimal matrix, in Frobenius norm.
    min_eigenvalue : float
        Smallest eigenvalue of M; infinity if M may be any matrix.
    violation : float
        Largest amount by which M breaks a hard row, relative to 1 + |target|. Without a Frobenius
        term u has a constraint too, and its relative violation counts here as well.
    scope : str
        What the certificate holds for, where that is not all that was asked for.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    distance_bound: float = np.inf
    min_eigenvalue: float = 0.0
    violation: float = 0.0
    scope: str = ""

    @property
    def error(self) -> float:
        """Number that a tolerance is compared with: the relative gap, or the error of the rows."""
        size = max(abs(self.primal), abs(self.dual))
        gap = self.gap if self.violation == 0 else self.primal - self.dual
        return relative_error(gap, size, self.violation)

    def describe_error(self) -> str:
        """Return the error in words, as a warning states it."""
        name = "relative gap" if np.isfinite(self.gap) else "relative error"
        return f"{name} {self.error:.1e}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the optimisation, not of usefulness: {self}>"

    def _repr_html_(self) -> str:
        return (
            f"<div><b>Certificate of the optimisation</b>: {escape(str(self))}</div>"
            "<div><small>It bounds how far the answer can be from the best one of this problem. It "
            "does not say how useful the answer is on new data.</small></div>"
        )

    def __str__(self) -> str:
        scope = f"; {self.scope}" if self.scope else ""
        if self.violation > 0:
            return (
                f"optimum >= {self.dual:.6g}; M costs {self.primal:.6g} and breaks "
                f"a constraint by {self.violation:.1e}{scope}"
            )
        return (
            f"optimum in [{self.dual:.6g}, {self.primal:.6g}], relative gap "
            f"{self.relative_gap:.1e}; |M - M*| <= {self.distance_bound:.3g}{scope}"
        )


class Step(NamedTuple):
    """One entry of the history: both objectives of the whole problem at one iterate."""

    primal: float
    dual: float
    gap: float
    rank: int
    seconds: float

    @property
    def relative_gap(self) -> float:
        size = max(abs(self.primal), abs(self.dual))
        return self.gap / size if size > 0 else self.gap


@dataclass(frozen=True)
class Solution:
    """The best certified iterate of a run, and why the run ended.

    `n_iter` counts the eigen-decompositions; `history` has those of the whole problem.
    `status` is a key of `STATUSES`.
    """

    point: Point
    u: Vector
    certificate: Certificate
    status: str
    solver: str
    history: tuple[Step, ...]
    n_iter: int

    def __str__(self) -> str:
        seconds = self.history[-1].seconds if self.history else 0.0
        return (
            f"{self.status} ({STATUSES[self.status]}): {self.solver}, {self.n_iter} steps, "
            f"{seconds:.2g} s\n"
            f"  M  rank {self.point.rank}, {len(self.u)} rows, {np.count_nonzero(self.u)} of them "
            f"with u != 0\n  {self.certificate}"
        )

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status!r}, solver={self.solver!r}, n_iter={self.n_iter}, "
            f"rank={self.point.rank}, relative_gap={self.certificate.relative_gap:.1e})"
        )


def certify(problem: FrobeniusSDP, point: Point | Symmetric, u: Vector) -> Certificate:
    """Prove from scratch how good (M, u) is, without trusting any number of a solver.

    Parameters
    ----------
    problem : FrobeniusSDP
    point : Point or ndarray
        M, as a factor or as a matrix.
    u : ndarray of shape (n_constraints,)

    Raises
    ------
    CertificateError
        If M is not in the cone or u not in the box of the dual: such an answer proves nothing.
    """
    M = np.asarray(as_dense(point), dtype=float)
    smallest = _check_point(problem, M)
    u = _check_dual(problem, as_vector(u))
    comparison = problem.compare(M, u)
    is_broken = comparison.violation > 0
    if comparison.gap < 0 and not is_broken:
        raise CertificateError(
            f"primal {comparison.primal!r} is below dual {comparison.dual!r} by more than "
            "rounding: the constraints' forward and adjoint do not belong together"
        )
    gap = np.inf if is_broken else comparison.gap
    objectives = float(comparison.primal), float(comparison.dual)
    size = max(map(abs, objectives))
    reach = max(gap, float(comparison.rounding))  # a gap of zero is one below rounding
    distance2 = np.inf if np.isinf(problem.sigma) else 2 * problem.sigma * reach
    relative_gap, distance = gap / size if size > 0 else gap, float(np.sqrt(distance2))
    return Certificate(*objectives, gap, relative_gap, distance, smallest, comparison.violation)


def _check_point(problem: FrobeniusSDP, M: Symmetric) -> float:
    """Return the smallest eigenvalue of M, which must belong to the cone."""
    if M.shape != problem.cone.shape:
        raise CertificateError(f"M has shape {M.shape}; expected {problem.cone.shape}")
    if not np.isfinite(M).all():
        raise CertificateError("M contains NaN or infinity")
    is_symmetric = M.ndim == 2 and problem.cone.is_symmetric
    if is_symmetric and not np.allclose(M, M.T, rtol=0, atol=1e-12 * np.abs(M).max()):
        raise CertificateError("M is not symmetric")
    smallest = problem.cone.min_eigenvalue(M)
    if smallest < -1e-10 * np.linalg.norm(M):
        raise CertificateError(
            f"M has the eigenvalue {smallest:.3e}; a metric must be positive semidefinite"
        )
    return smallest


def _check_dual(problem: FrobeniusSDP, u: Vector) -> Vector:
    """Return u, moved into its box by no more than rounding."""
    lower, upper = problem.loss.lower, problem.loss.upper
    if u.shape != lower.shape:
        raise CertificateError(f"u has shape {u.shape}; expected {lower.shape}")
    inside = np.clip(u, lower, upper)
    excess = np.abs(u - inside) - 1e-12 * np.abs(problem.loss.scale)
    if not (excess <= 0).all():  # NaN is outside
        raise CertificateError(
            f"u is outside its box in {int(np.count_nonzero(~(excess <= 0)))} rows, by up to "
            f"{float(excess.max()):.3g}, so it bounds nothing; this u does not belong to this "
            "problem"
        )
    return inside
