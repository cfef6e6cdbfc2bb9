"""The answer of a solver, and the proof of its quality."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from math import inf, nextafter, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from .bounds import dual_bound, primal_bound
from .checks import MOST, as_array, require_problem
from .points import Array, Point, Symmetric, Vector, as_dense, as_vector
from .problem import FrobeniusSDP, relative_error
from .proof import state_proof
from .rounding import EPS, norm

#: Objectives below this share of that of M = 0, without its cost, count as this share.
FLOOR = 1e-6

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

#: Relative gap from which on nothing is proven.
NOTHING = 0.99


class CertificateError(ValueError):
    """An answer that proves nothing: outside the cone, outside the box, or not finite.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.exceptions import CertificateError
    >>> model = FrobMetric(keep_dual=True).fit(X, y)
    >>> try:
    ...     model.certify(X + 1.0 * (X > 3), y)
    ... except CertificateError:
    ...     print("other data")
    other data
    """


@dataclass(frozen=True)
class Certificate:
    """Proof of the quality of an answer (M, u): the optimum lies in [dual, primal].

    Every rounding error of both objectives is bounded and is part of the interval (`certify`).
    Certificates of other problems refine this one: all have these fields, `error` and `str`.

    Attributes
    ----------
    primal, dual : float
        Objective at M rounded up, and the lower bound at u rounded down. With hard rows `primal`
        leaves them out.
    gap : float
        primal - dual, never negative; infinity when M breaks a hard row, which equations always do
        by rounding.
    relative_gap : float
        gap / max(|primal|, |dual|, 1e-6 of the objective of M = 0): an optimum may be zero.
    distance_bound : float
        Upper bound on the distance of M to the optimal matrix, in Frobenius norm.
    min_eigenvalue : float
        Smallest eigenvalue of M; infinity if M may be any matrix.
    violation : float
        Largest amount by which M breaks a hard row, relative to 1 + |target|. Without a Frobenius
        term u has a constraint too, and its relative violation counts here as well.
    scope : str
        What the certificate holds for, where that is not all that was asked for.
    rounding : float
        Part of primal - dual that bounds rounding errors: no answer has a smaller gap at this
        precision.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> certificate = FrobMetric().fit(X, y).certificate_
    >>> certificate.dual <= certificate.primal
    True
    >>> certificate.relative_gap < 1e-3
    True
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    distance_bound: float = np.inf
    min_eigenvalue: float = 0.0
    violation: float = 0.0
    scope: str = ""
    rounding: float = 0.0

    @property
    def error(self) -> float:
        """Number that a tolerance is compared with: the relative gap, or the error of the rows."""
        if self.violation == 0:
            return self.relative_gap
        size = max(abs(self.primal), abs(self.dual))
        return relative_error(self.primal - self.dual, size, self.violation)

    @classmethod
    def between(cls, dual: float, primal: float, rounding: float = 0.0, **more: Any) -> Self:
        """Return the certificate of two objectives whose rounding errors sum up to `rounding`.

        The interval is widened by them. Objectives that are not finite have an infinite gap.
        """
        rounding = float(rounding) + 8 * EPS * (abs(float(primal)) + abs(float(dual)))
        primal, dual = float(primal) + rounding, float(dual) - rounding
        gap, size = primal - dual, max(abs(primal), abs(dual))
        if not np.isfinite(gap):
            return cls(primal, dual, np.inf, np.inf, **more)
        gap = max(gap, rounding)  # objectives that were estimated may have changed places
        relative_gap = gap / size if size > 0 else gap
        return cls(primal, dual, gap, relative_gap, **more, rounding=2 * rounding)

    @property
    def rounding_share(self) -> float:
        """Share of primal - dual that is rounding."""
        return min(1.0, self.rounding / abs(self.primal - self.dual)) if self.rounding else 0.0

    def is_within(self, tol: float) -> bool:
        """Return whether the answer is certified: its error is within a tolerance.

        An error of `NOTHING` or more proves nothing, whatever the tolerance.
        """
        return bool(self.error <= min(tol, NOTHING))

    def describe_error(self) -> str:
        """Return the error in words, as a warning states it."""
        name = "relative gap" if np.isfinite(self.gap) else "relative error"
        hidden = f" ({self.rounding_share:.0%} of it rounding)" if self.is_rounding else ""
        return f"{name} {self.error:.1e}{hidden}"

    @property
    def is_rounding(self) -> bool:
        """Whether most of the gap is rounding, so that this precision can prove little more."""
        return self.rounding_share > 0.5

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the optimisation, not of usefulness: {self}>"

    def _repr_html_(self) -> str:
        return (
            f"<div><b>Certificate of the optimisation</b>: {escape(str(self))}</div>"
            "<div><small>It bounds how far the answer can be from the best one of this problem. It "
            "does not say how useful the answer is on new data.</small></div>"
        )

    def __str__(self) -> str:
        scope = f"; {self.rounding_share:.0%} of the gap is rounding" if self.is_rounding else ""
        scope += f"; {self.scope}" if self.scope else ""
        if self.violation > 0:
            return (
                f"optimum >= {self.dual:.6g}; M costs {self.primal:.6g} and breaks "
                f"a constraint by {self.violation:.1e}{scope}"
            )
        return (
            f"optimum in [{self.dual:.6g}, {self.primal:.6g}], relative gap "
            f"{self.relative_gap:.1e}; |M - M*| <= {self.distance_bound:.3g}{scope}"
        )


@dataclass(frozen=True, repr=False)
class ExactCertificate(Certificate):
    """Certificate whose interval was verified in exact arithmetic, with the proof of it.

    `proof` has the arrays that `frobmetric.verify` takes; `numpy.savez(path, **proof)` writes them
    to a file that others can verify.
    """

    proof: dict[str, Array] = field(default_factory=dict, compare=False)


class Step(NamedTuple):
    """One entry of the history: both objectives of the whole problem at one iterate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> last = FrobMetric().fit(X, y).history_[-1]
    >>> last.dual <= last.primal
    True
    """

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

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> from frobmetric.solvers import solve
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> solution = solve(problem)
    >>> solution.status, solution.u.round(3).tolist(), solution.point.dense().round(3).tolist()
    ('optimal', [1.0], [[1.0, 0.0], [0.0, 0.0]])
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


def certify(
    problem: FrobeniusSDP, point: Point | Symmetric, u: Vector, *, exact: bool = False
) -> Certificate:
    """Prove from scratch how good (M, u) is, without trusting any number of a solver.

    The interval of the certificate contains the optimum of the problem, whose numbers are the
    float64 of its parts: all rounding errors are bounded (`core.bounds`). Only constraints that are
    functions, `MatrixFree`, are trusted to round no more than sums of their terms do.

    Parameters
    ----------
    problem : FrobeniusSDP
    point : Point or ndarray
        M, as a factor or as a matrix; the bound of a matrix, or of a point that is in the cone
        only up to rounding, is that of the nearest element of the cone.
    u : ndarray of shape (n_constraints,)
    exact : bool, default=False
        Whether to verify both objectives in exact arithmetic, by `frobmetric.verify`: the interval
        then holds without any bound on rounding. For comparisons of distances and soft losses.

    Raises
    ------
    CertificateError
        If M is not in the cone, u not in the box of the dual, or an objective not finite: such an
        answer proves nothing.
    ValueError
        If the problem is none that can be verified in exact arithmetic, and `exact` asks for that.

    Examples
    --------
    Any M and u give an interval; better ones give a narrower one.

    >>> import numpy as np
    >>> from frobmetric.core import FrobeniusSDP, Hinge, Triplets
    >>> from frobmetric import certify
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)))
    >>> for M, u in [(np.zeros((2, 2)), 0.5), (np.diag([1.0, 0.0]), 1.0)]:
    ...     proof = certify(problem, M, np.array([u]))
    ...     print(f"{proof.dual:.3f} {proof.primal:.3f}")
    0.375 1.000
    0.500 0.500
    """
    require_problem(problem)
    if not isinstance(exact, bool | np.bool_):
        raise TypeError(f"exact={exact!r:.80} is no truth value; give exact=True or exact=False")
    u = _check_dual(problem, as_vector(u))
    with np.errstate(over="ignore", invalid="ignore"):
        point, smallest, moved = _check_point(problem, point)
    if exact:
        return _exact_certificate(problem, point, u, smallest, moved)
    with np.errstate(over="ignore", invalid="ignore"):
        upper, lower = primal_bound(problem, point), dual_bound(problem, u)
    primal, dual = float(upper.value + upper.error), float(lower.value - lower.error)
    if not (np.isfinite(primal) and np.isfinite(dual)):
        raise CertificateError(
            f"the objectives are {primal!r} and {dual!r}, which prove nothing; expected numbers "
            "that float64 holds; bring the data to values near 1, or lower the weights of the loss"
        )
    violation = max(upper.violation, lower.violation)
    if primal < dual and violation == 0:
        raise CertificateError(
            f"primal {primal!r} is below dual {dual!r} by more than "
            "rounding: the constraints' forward and adjoint do not belong together"
        )
    gap = np.inf if violation > 0 else float(np.nextafter(primal - dual, np.inf))
    size = _size(problem, primal, dual)
    distance = np.inf if np.isinf(problem.sigma) else float(np.sqrt(2 * problem.sigma * gap))
    rounding = float(upper.error + lower.error)
    relative_gap, reach = gap / size if size > 0 else gap, distance * (1 + 4 * EPS) + moved
    return Certificate(
        *(primal, dual, gap, relative_gap, reach, smallest, violation), rounding=rounding
    )


def _exact_certificate(
    problem: FrobeniusSDP, point: Point, u: Vector, smallest: float, moved: float
) -> ExactCertificate:
    """Return the certificate by exact arithmetic, all its numbers rounded to the safe side."""
    from ..verify import ProofError

    try:
        proof = state_proof(problem, point, u)
    except ProofError as error:
        raise CertificateError(str(error)) from error
    dual, primal = proof["claim"].tolist()
    size, gap = _size(problem, primal, dual), _above(primal - dual)
    distance = _above(_above(sqrt(_above(2 * problem.sigma * gap))) + moved)
    scope = "verified in exact arithmetic"
    bounds = (primal, dual, gap, _above(gap / size) if gap else 0.0, distance)
    return ExactCertificate(*bounds, smallest, scope=scope, proof=proof)


def _size(problem: FrobeniusSDP, primal: float, dual: float) -> float:
    """Return the number that a gap is relative to."""
    losses = float(problem.loss.value(np.zeros_like(problem.loss.scale)))
    at_zero = losses + float(np.vdot(problem.prior, problem.prior)) / (2 * problem.sigma)
    return max(abs(primal), abs(dual), FLOOR * at_zero)


def _above(number: float) -> float:
    """Return a number that is larger than all which are rounded to this one; 0 stays."""
    return nextafter(number, inf) if number else 0.0


def _check_point(problem: FrobeniusSDP, point: Point | Symmetric) -> tuple[Point, float, float]:
    """Return M in the cone by its form, its smallest eigenvalue, and how far a matrix was moved."""
    M = as_array(as_dense(point), name="M")
    if M.shape != problem.cone.shape:
        raise CertificateError(f"M has shape {M.shape}; expected {problem.cone.shape}")
    if not np.isfinite(M).all():
        raise CertificateError("M contains NaN or infinity")
    if np.abs(M).max(initial=0.0) > MOST:
        raise CertificateError(
            f"M has an entry of size {np.abs(M).max():.3g}; expected at most {MOST:.1g}, so that "
            "sums of products are finite; scale the problem"
        )
    is_symmetric = M.ndim == 2 and problem.cone.is_symmetric
    if is_symmetric and not np.allclose(M, M.T, rtol=0, atol=1e-12 * np.abs(M).max()):
        raise CertificateError("M is not symmetric")
    smallest = problem.cone.min_eigenvalue(M)
    if isinstance(point, Point) and problem.cone.is_element(point):
        return point, smallest, 0.0
    if smallest < -1e-10 * np.linalg.norm(M):
        raise CertificateError(
            f"M has the eigenvalue {smallest:.3e}; a metric must be positive semidefinite"
        )
    near = problem.cone.split(M).positive()
    return near, smallest, norm(near.dense() - M) + near.rounding


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
