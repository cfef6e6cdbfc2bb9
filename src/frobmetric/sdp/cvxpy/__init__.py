"""Solver interface for cvxpy: `problem.solve(solver=FROBMETRIC)`.

This package needs cvxpy, the extra `sdp`; nothing else in frobmetric does.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

try:
    import cvxpy.settings as s
    from cvxpy.constraints.psd import SvecPSD
    from cvxpy.constraints.second_order import SOC
    from cvxpy.error import SolverError
    from cvxpy.reductions.solution import Solution, failure_solution
    from cvxpy.reductions.solvers import utilities
    from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
    from cvxpy.utilities.psd_utils import TriangleKind
except ImportError as error:
    raise ImportError(
        "frobmetric.sdp.cvxpy needs cvxpy 1.9 or later; install it with "
        "`pip install frobmetric[sdp]`"
    ) from error

from ...core import FrobeniusSDP
from ...core.points import Vector
from ...core.warning import warn_user
from ...solvers.plain import SDPStep
from ..solution import SDPSolution
from ..solve import solve_sdp
from .cones import Conic, Dims, Translation, translate
from .proofs import proves_infeasible, proves_unbounded

__all__ = ["FROBMETRIC"]

#: Largest error of an answer that misses the tolerance and is called inaccurate, not failed.
INACCURATE = 1e-3
#: Statuses of problems without an answer: proven, and nearly so.
INFEASIBLE = (s.INFEASIBLE, s.INFEASIBLE_INACCURATE)
UNBOUNDED = (s.UNBOUNDED, s.UNBOUNDED_INACCURATE)
#: Ends of a run that the user has set.
LIMITS = ("max_iter", "time_limit")
#: Steps between two lines of `verbose=True`.
STEPS_PER_LINE = 20
#: Supported cones, and cones that cvxpy reduces to them.
KNOWN_CONES = {"Zero", "Equality", "NonNeg", "NonPos", "Inequality", "SOC", "PSD", "SvecPSD"}
#: Options of `problem.solve(solver=FROBMETRIC, ...)` and their defaults, as in `solve_sdp`.
OPTIONS = {"tol": 1e-6, "max_iter": 20_000, "time_limit": np.inf}
CITATION = """@article{shen2014efficient,
  title={Efficient Dual Approach to Distance Metric Learning},
  author={Shen, Chunhua and Kim, Junae and Liu, Fayao and Wang, Lei and van den Hengel, Anton},
  journal={IEEE Transactions on Neural Networks and Learning Systems},
  volume={25}, number={2}, pages={394--406}, year={2014}
}"""


class Answer(NamedTuple):
    """x and the multipliers of the rows; if the problem has no solution, the one that proves it."""

    status: str
    x: Vector | None
    multipliers: Vector | None
    value: float
    statistics: dict[str, Any]


class FrobmetricSolver(ConicSolver):
    """Solver object for cvxpy; `FROBMETRIC` is its only instance.

    It solves problems with linear, second-order and semidefinite constraints; problems that need
    exponential or power cones, or integers, are refused with a message.

    Free variables are eliminated, and either the problem or its dual is solved, whichever has fewer
    rows: see `frobmetric.sdp.cvxpy.cones`. `sum_squares(X - G)` for a positive semidefinite X is
    recognised as the Frobenius term, whatever the linear constraints are; every other quadratic
    objective becomes a second-order cone.

    Options of `problem.solve(solver=FROBMETRIC, ...)` are `tol`, `max_iter` and `time_limit`, as in
    `solve_sdp`. `verbose=True` writes the errors as they fall, `warm_start=True` (cvxpy's default)
    starts where the last solve of the same problem ended.

    The status is "optimal" if the certificate's error is within `tol`, "optimal_inaccurate" if it
    is not but within 1e-3, "infeasible" or "unbounded" with a proof on cvxpy's own numbers
    (`frobmetric.sdp.cvxpy.proofs`), "infeasible_inaccurate" or "unbounded_inaccurate" if only our
    SDP, whose numbers are rounded, is proven to have no answer, "user_limit" if the steps or the
    time ran out; else cvxpy raises `SolverError`.

    `problem.solver_stats.extra_stats` has the `SDPCertificate` as `certificate`, the `SDPSolution`
    as `solution`, `is_primal`, false if the dual was solved, whose objectives have the other sign,
    and `ray`, the proof up to rounding if there is no answer: multipliers v of cvxpy's rows with
    A'v = 0 and b.v < 0 if the problem is infeasible, a direction of x if it is unbounded.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from frobmetric.sdp.cvxpy import FROBMETRIC
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Maximize(cp.trace(S @ X)), [cp.trace(X) == 1])
    >>> round(float(problem.solve(solver=FROBMETRIC)), 5), problem.status
    (3.0, 'optimal')
    >>> problem.solver_stats.extra_stats["certificate"].error < 1e-6
    True
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS: ClassVar[list[Any]] = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD]  # type: ignore[misc]
    PSD_TRIANGLE_KIND = TriangleKind.LOWER  # type: ignore[assignment]
    PSD_SQRT2_SCALING = True  # type: ignore[assignment]

    def name(self) -> str:
        return "FROBMETRIC"

    def import_solver(self) -> None:
        """Do nothing: importing this module has imported all."""

    def supports_quad_obj(self) -> bool:
        return True

    def cite(self, data: dict[str, Any]) -> str:
        """Return the paper's entry for `problem.solve(bibtex=True)`."""
        return CITATION

    def can_solve(self, problem_form: Any) -> bool:
        """Return whether cvxpy may use this solver; raise an error that names foreign cones."""
        if problem_form.is_mixed_integer() or super().can_solve(problem_form):
            return not problem_form.is_mixed_integer()
        names = {cone.__name__ for cone in problem_form.cones(quad_obj=True)} - KNOWN_CONES
        raise SolverError(
            "FROBMETRIC solves problems with linear, second-order and semidefinite constraints; "
            f"this one needs {', '.join(sorted(names)) or 'cones of another kind'}: use another "
            "solver, such as CLARABEL or SCS"
        )

    def solve_via_data(
        self,
        data: dict[str, Any],
        warm_start: bool,
        verbose: bool,
        solver_opts: dict[str, Any],
        solver_cache: dict[str, Any] | None = None,
    ) -> Answer:
        """Solve the data that `apply` made of a problem."""
        options, began = _check_options(solver_opts), time.perf_counter()
        conic, cache = as_conic(data), {} if solver_cache is None else solver_cache
        translation = translate(conic)
        ready, solution = time.perf_counter(), None
        end = "no steps: the objective of this problem or of its dual is unbounded"
        if translation.descent is None:
            start = cache.get(self.name()) if warm_start else None
            solution = _solve(translation.sdp, options, _Log() if verbose else None, start)
            end = f"{solution.status} after {solution.n_iter} steps: {solution.certificate}"
            if solution.ray is None:
                cache[self.name()] = solution
        if verbose:
            sys.stdout.write(f"{end}\n")
        status, x, multipliers = _interpret(conic, translation, solution, options)
        extra = {
            "certificate": None if solution is None else solution.certificate,
            "solution": solution,
            "is_primal": translation.is_primal,
            "ray": x if status in UNBOUNDED else multipliers if status in INFEASIBLE else None,
        }
        statistics = {
            s.SETUP_TIME: ready - began,
            s.SOLVE_TIME: time.perf_counter() - ready,
            s.NUM_ITERS: 0 if solution is None else solution.n_iter,
            s.EXTRA_STATS: extra,
        }
        value = np.nan if x is None else conic.value(x)
        return Answer(status, x, multipliers, value, statistics)

    def invert(self, solution: Answer, inverse_data: dict[str, Any]) -> Solution:
        """Return the answer in terms of cvxpy's variables and constraints."""
        duals: dict[Any, Any] = {}
        if solution.multipliers is not None:
            parts = np.split(solution.multipliers, [inverse_data[self.DIMS].zero])
            for values, rows in zip(parts, (self.EQ_CONSTR, self.NEQ_CONSTR), strict=True):
                extract = utilities.extract_dual_value
                duals |= utilities.get_dual_values(values, extract, inverse_data[rows])
        if solution.status not in s.SOLUTION_PRESENT:
            return failure_solution(solution.status, solution.statistics, duals)
        value = solution.value + inverse_data[s.OFFSET]
        x = {inverse_data[self.VAR_ID]: solution.x}
        return Solution(solution.status, value, x, duals, solution.statistics)


def _check_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return all options of a solve, from the keywords that cvxpy passes."""
    options = {name: value for name, value in given.items() if name != "use_quad_obj"}
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise TypeError(
            f"FROBMETRIC has no option {unknown[0]!r}; its options are {', '.join(OPTIONS)}"
        )
    return OPTIONS | options


def as_conic(data: dict[str, Any]) -> Conic:
    """Return the conic problem of cvxpy's data; linear rows may have infinite sides."""
    A, b, dims = sp.csr_array(data[s.A]), np.asarray(data[s.B], dtype=float), data["dims"]
    c, P, is_finite = data[s.C], data.get(s.P), np.isfinite(b)
    if not is_finite[dims.zero + dims.nonneg :].all():
        raise ValueError(
            "a second-order or semidefinite constraint contains infinity; give finite numbers"
        )
    A = sp.diags_array(is_finite.astype(float)) @ A
    b = np.where(is_finite, b, np.sign(b))  # 0 <= 1 holds always, 0 <= -1 never
    P = sp.csr_array((len(c), len(c)) if P is None else P)
    P.eliminate_zeros()
    return Conic(A, b, c, P, Dims(dims.zero, dims.nonneg, tuple(dims.soc), tuple(dims.psd)))


def _solve(
    sdp: FrobeniusSDP, options: dict[str, Any], callback: Any, start: SDPSolution | None
) -> SDPSolution:
    """Solve the SDP from a start, if that fits; a second time without it if it led to no answer."""
    if start is not None:
        now, last = (
            (problem.cone, problem.constraints.shape, np.isinf(problem.sigma))
            for problem in (sdp, start.problem)
        )
        start = start if now == last else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `_interpret` warns
        solution = solve_sdp(sdp, **options, callback=callback, start=start)
        if start is None or solution.status != "stalled":
            return solution
        return solve_sdp(sdp, **options, callback=callback)


def _interpret(
    conic: Conic, translation: Translation, solution: SDPSolution | None, options: dict[str, Any]
) -> tuple[str, Vector | None, Vector | None]:
    """Return cvxpy's status, x and the multipliers; only the proof if there is no solution."""
    if solution is None or solution.ray is not None:
        x, multipliers = translation.proof(None if solution is None else solution.ray)
        if x is None:
            assert multipliers is not None  # one of the two is there
            return INFEASIBLE[not proves_infeasible(conic, multipliers)], x, multipliers
        return UNBOUNDED[not proves_unbounded(conic, x)], x, multipliers
    status = s.OPTIMAL
    if solution.status != "optimal":
        warn_user(
            f"FROBMETRIC did not reach tol={options['tol']:g} ({solution.status} after "
            f"{solution.n_iter} eigen-decompositions): {solution.certificate}",
            ConvergenceWarning,
        )
        status = s.USER_LIMIT if solution.status in LIMITS else s.SOLVER_ERROR
        status = s.OPTIMAL_INACCURATE if solution.certificate.error <= INACCURATE else status
    return status, *translation.answer(solution.X, solution.y)


class _Log:
    """Callback of `verbose=True`, which writes a line every few steps."""

    n_steps = 0

    def __call__(self, step: SDPStep) -> None:
        if self.n_steps == 0:
            head = "   step  phase           primal           dual   rows    dual    gap   seconds"
            sys.stdout.write(f"{head}\n")
        if self.n_steps % STEPS_PER_LINE == 0:
            sys.stdout.write(
                f"{self.n_steps:7d}  {step.phase:8s} {step.primal:15.7g} {step.dual:15.7g}"
                f"  {step.eta_p:.0e}  {step.eta_d:.0e}  {step.eta_g:.0e} {step.seconds:8.2f}\n"
            )
        self.n_steps += 1


#: The solver: `problem.solve(solver=FROBMETRIC)`.
FROBMETRIC = FrobmetricSolver()
