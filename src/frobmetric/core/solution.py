"""The answer of a solver, and the proof that it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .points import Point, as_dense
from .problem import Comparison, FrobeniusSDP, relative_error
from .types import Symmetric, Vector


class CertificateError(ValueError):
    """An answer that proves nothing: outside the cone, outside the box, or not finite."""


@dataclass(frozen=True)
class Certificate:
    """What is proven of an answer (M, u); the optimum lies in [dual, primal].

    Attributes
    ----------
    primal, dual : float
        Objective at M, and the bound from below at u. With hard rows `primal` leaves them out.
    gap : float
        primal - dual, never negative; infinity when M breaks a hard row.
    relative_gap : float
        gap / max(|primal|, |dual|).
    distance_bound : float
        The optimal matrix is at most this far from M in Frobenius norm.
    min_eigenvalue : float
        Of M.
    violation : float
        The largest amount by which M breaks a hard row, relative to 1 + |target|.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    distance_bound: float
    min_eigenvalue: float
    violation: float

    @property
    def error(self) -> float:
        """What a tolerance is compared with: the relative gap, or the error of broken rows."""
        size = max(abs(self.primal), abs(self.dual))
        gap = self.gap if self.violation == 0 else self.primal - self.dual
        return relative_error(gap, size, self.violation)

    def __str__(self) -> str:
        if self.violation > 0:
            return (
                f"optimum >= {self.dual:.6g}; M costs {self.primal:.6g} and breaks "
                f"a constraint by {self.violation:.1e}"
            )
        return (
            f"optimum in [{self.dual:.6g}, {self.primal:.6g}], relative gap "
            f"{self.relative_gap:.1e}; |M - M*| <= {self.distance_bound:.3g}"
        )


class Step(NamedTuple):
    """One entry of the history: both objectives of the whole problem at one u."""

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

    `n_iter` counts the eigen-decompositions; `history` has those that judged the whole problem.

    `status` is "optimal" (certified to the tolerance), "max_iter", "stalled" (the method could
    make no more progress), "stopped" (by the callback) or "interrupted" (by Ctrl-C).
    """

    point: Point
    u: Vector
    certificate: Certificate
    status: str
    solver: str
    history: tuple[Step, ...]
    n_iter: int


def certify(problem: FrobeniusSDP, point: Point | Symmetric, u: Vector) -> Certificate:
    """Prove from scratch how good (M, u) is, trusting nothing that a solver said.

    Raises
    ------
    CertificateError
        If M is not in the cone or u not in the box of the dual: such an answer proves nothing.
    """
    M = np.asarray(as_dense(point), dtype=float)
    smallest = _check_point(problem, M)
    u = _check_dual(problem, np.asarray(u, dtype=float))
    found = problem.compare(M, u)
    gap, size = _proven_gap(found), max(abs(found.primal), abs(found.dual))
    return Certificate(
        primal=found.primal,
        dual=found.dual,
        gap=gap,
        relative_gap=gap / size if size > 0 else gap,
        # a gap of zero is one below rounding
        distance_bound=float(np.sqrt(2 * problem.sigma * max(gap, found.rounding))),
        min_eigenvalue=smallest,
        violation=found.violation,
    )


def _check_point(problem: FrobeniusSDP, M: Symmetric) -> float:
    """The smallest eigenvalue of M, if M belongs to the cone."""
    if M.shape != problem.cone.shape:
        raise CertificateError(f"M has shape {M.shape}; this problem's has {problem.cone.shape}")
    if not np.isfinite(M).all():
        raise CertificateError("M contains NaN or infinity")
    if M.ndim == 2 and not np.allclose(M, M.T, rtol=0, atol=1e-12 * np.abs(M).max()):
        raise CertificateError("M is not symmetric")
    smallest = problem.cone.min_eigenvalue(M)
    if smallest < -1e-10 * np.linalg.norm(M):
        raise CertificateError(
            f"M has the eigenvalue {smallest:.3e}; a metric must be positive semidefinite"
        )
    return smallest


def _check_dual(problem: FrobeniusSDP, u: Vector) -> Vector:
    """u, moved into its box by no more than rounding."""
    lower, upper = problem.loss.lower, problem.loss.upper
    if u.shape != lower.shape:
        raise CertificateError(f"u has shape {u.shape}; this problem's has {lower.shape}")
    inside = np.clip(u, lower, upper)
    outside = ~(np.abs(u - inside) <= 1e-12 * np.abs(problem.loss.scale))  # NaN is outside
    if outside.any():
        worst = int(np.flatnonzero(outside)[0])
        raise CertificateError(
            f"u[{worst}] = {u[worst]!r} is outside [{lower[worst]!r}, {upper[worst]!r}], so it "
            "bounds nothing; this u does not belong to this problem"
        )
    return inside


def _proven_gap(found: Comparison) -> float:
    if found.violation > 0:
        return np.inf
    if found.gap < 0:
        raise CertificateError(
            f"primal {found.primal!r} is below dual {found.dual!r} by more than rounding: the "
            "constraints' forward and adjoint do not belong together"
        )
    return found.gap
