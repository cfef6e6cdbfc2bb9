"""The answer of an SDP, and the proof of its quality from the answer and the problem alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import CertificateError, FrobeniusSDP
from ..core.bounds import dual_bound, lowest_eigenvalue
from ..core.checks import MOST, as_array, as_real, require_problem
from ..core.points import Symmetric, Vector
from ..core.rounding import EPS, inner, norm
from ..core.solution import STATUSES, Certificate
from ..solvers.plain import SDPStep, gram_solver, senses, targets
from .rays import Ray


@dataclass(frozen=True, kw_only=True, repr=False)
class SDPCertificate(Certificate):
    """Errors of an answer (X, y) of an SDP, and a proven lower bound.

    Attributes
    ----------
    primal, dual : float
        <C, X> and b.y, with the share of the Frobenius term if the problem has one.
    gap, relative_gap : float
        |primal - dual|, and the same divided by 1 + |primal| + |dual|. Unless both errors below are
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

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> problem = make_sdp(np.diag([1.0, 3.0]), [np.eye(2)], [1.0])  # the trace is 1
    >>> certificate = solve_sdp(problem).certificate
    >>> print(f"{certificate.bound:.3f} {certificate.primal:.3f} {certificate.trace_bound:.3f}")
    1.000 1.000 1.000
    >>> certificate.error < 1e-6
    True
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


@dataclass(frozen=True)
class SDPSolution:
    """The answer of an SDP and its certificate.

    Attributes
    ----------
    status : str
        A key of `frobmetric.core.solution.STATUSES`: "optimal", or "primal_infeasible" or
        "dual_infeasible" with the proof in `ray`, or else the reason for which the run ended.
    X : ndarray of the cone's shape
    y : ndarray of shape (n_rows,)
        Multipliers in the sign of the rows as given: the rate at which the optimum rises with each
        right-hand side; >= 0 for rows that say at least, <= 0 for at most.
    Z : ndarray of the cone's shape
        The multiplier of X: C - A*(y), plus the slope of the Frobenius term if there is one.
    certificate : SDPCertificate
    ray : Ray or None
        The proof of infeasibility.
    nearly : Ray or None
        A ray that is no proof, of a run without an answer: it bounds every feasible X, or y, from
        below.
    sigma : float
        Length of the last proximal step; with X and y a start for a similar problem.
    history : tuple of SDPStep
    n_iter : int
        Number of eigen-decompositions, and of steps of the interior-point method.
    problem : FrobeniusSDP
    notes : tuple of str
        Rows that were dropped, or contradict each other.
    solver : str

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> solution = solve_sdp(make_sdp(np.diag([1.0, 3.0]), [np.eye(2)], [2.0]))
    >>> solution.status, solution.X.round(3).tolist()
    ('optimal', [[2.0, 0.0], [0.0, 0.0]])
    >>> solution.y.round(3).tolist(), solution.Z.round(3).tolist()
    ([1.0], [[0.0, 0.0], [0.0, 2.0]])
    """

    status: str
    X: Symmetric
    y: Vector
    Z: Symmetric
    certificate: SDPCertificate
    ray: Ray | None
    sigma: float
    history: tuple[SDPStep, ...]
    n_iter: int
    problem: FrobeniusSDP
    notes: tuple[str, ...] = ()
    solver: str = "solve_sdp"
    nearly: Ray | None = None

    @property
    def blocks(self) -> list[Symmetric]:
        """X block by block."""
        return self.problem.cone.cut(self.X)

    def __str__(self) -> str:
        seconds = self.history[-1].seconds if self.history else 0.0
        head = f"{self.status} ({STATUSES[self.status]}): {self.n_iter} steps, {seconds:.2g} s"
        if self.ray is not None:
            return f"{head}\n  {self.ray}"
        near = "" if self.nearly is None else f"\n  {self.nearly}"
        rows = "1 row" if len(self.y) == 1 else f"{len(self.y)} rows"
        multipliers = f"{rows}, {np.count_nonzero(self.y)} of them with y != 0"
        return f"{head}\n  X in {self.problem.cone}, {multipliers}\n  {self.certificate}{near}"

    def __repr__(self) -> str:
        return (
            f"SDPSolution(status={self.status!r}, n_iter={self.n_iter}, "
            f"primal={self.certificate.primal:.6g}, error={self.certificate.error:.1e})"
        )


def certify_sdp(
    problem: FrobeniusSDP, X: Symmetric, y: Vector, *, trace_bound: float | None = None
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

    Examples
    --------
    Any y gives a lower bound, if the trace of X is bounded.

    >>> import numpy as np
    >>> from frobmetric.sdp import certify_sdp, make_sdp
    >>> problem = make_sdp(np.diag([1.0, 3.0]), [np.eye(2)], [1.0])
    >>> for y in (0.5, 1.0):
    ...     certificate = certify_sdp(problem, np.diag([1.0, 0.0]), np.array([y]))
    ...     print(f"{certificate.bound:.3f} {certificate.primal:.3f}")
    0.500 1.000
    1.000 1.000
    """
    require_problem(problem)
    b, norm_c = targets(problem), float(np.linalg.norm(problem.cost))
    if trace_bound is not None:
        trace_bound = as_real(trace_bound, name="trace_bound")
    X, y = _checked("X", X, problem.cone.shape), _checked("y", y, b.shape)
    y = np.clip(y, problem.loss.lower, problem.loss.upper)
    margins = problem.constraints.forward(X)
    residual = float(np.linalg.norm(primal_residual(problem, margins)))
    if np.isfinite(problem.sigma):  # every y is dual feasible, and its objective a bound
        comparison = problem.compare(X, y)
        primal, dual = comparison.primal, comparison.dual
        lower = dual_bound(problem, y)
        outside, lowest, trace_bound = 0.0, 0.0, np.inf
        bound = lower.value - lower.error
    else:
        primal = float(np.vdot(problem.cost, X)) + problem.offset
        dual = float(b @ y) + problem.offset
        slack = problem.cone.split(dual_slack(problem, X, y))
        outside, lowest = float(np.sqrt(slack.negative_norm2)), slack.lowest
        trace_bound = find_trace_bound(problem) if trace_bound is None else trace_bound
        bound = _proven_bound(problem, y, dual, trace_bound)
    if not np.isfinite([primal, dual]).all():
        raise CertificateError(
            f"the objectives are {primal!r} and {dual!r}, which prove nothing; expected numbers "
            "that float64 holds; scale the problem"
        )
    return SDPCertificate(
        primal=primal,
        dual=dual,
        gap=abs(primal - dual),
        relative_gap=abs(primal - dual) / (1 + abs(primal) + abs(dual)),
        violation=float(problem.loss.violation(margins).max(initial=0.0)),
        eta_p=residual / (1 + float(np.linalg.norm(b))),
        eta_d=outside / (1 + norm_c),
        min_eigenvalue=problem.cone.min_eigenvalue(X),
        min_eigenvalue_dual=lowest,
        bound=bound,
        trace_bound=trace_bound,
    )


def _proven_bound(problem: FrobeniusSDP, y: Vector, dual: float, trace_bound: float) -> float:
    """Return b.y less what C - A*(y) lacks to the dual cone, times the trace; all rounded down."""
    slack = problem.cost - problem.constraints.adjoint(y)
    error = problem.constraints.adjoint_error(y, n_more=1) + EPS * norm(slack)
    short = min(0.0, lowest_eigenvalue(problem.cone, slack, error))
    missing = trace_bound * short if short else 0.0
    rounding = problem.loss.conjugate_error(y) + 8 * EPS * (abs(dual) + abs(problem.offset))
    return (dual - rounding + missing) - 2 * EPS * abs(missing)


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
    lowest = lowest_eigenvalue(problem.cone, A.adjoint(v), A.adjoint_error(v))
    if lowest <= 1e-8 * float(np.abs(v).max(initial=0.0)):
        return np.inf
    total, rounding = inner(targets(problem), v)
    return max(0.0, total + rounding) / lowest * (1 + 4 * EPS)


def primal_residual(problem: FrobeniusSDP, margins: Vector) -> Vector:
    """Return by how much the rows are broken, given <A_r, X> of each."""
    short, sense = targets(problem) - margins, senses(problem)
    return np.where(sense == 0, short, np.maximum(0, sense * short))


def _checked(name: str, value: Symmetric, shape: tuple[int, ...]) -> Symmetric:
    value = as_array(value, name=name)
    if value.shape != shape:
        raise CertificateError(f"{name} has shape {value.shape}; expected {shape}")
    if not np.isfinite(value).all():
        raise CertificateError(f"{name} contains NaN or infinity")
    if np.abs(value).max(initial=0.0) > MOST:
        raise CertificateError(
            f"{name} has an entry of size {np.abs(value).max():.3g}; expected at most {MOST:.1g}, "
            "so that sums of products are finite; scale the problem"
        )
    return value
