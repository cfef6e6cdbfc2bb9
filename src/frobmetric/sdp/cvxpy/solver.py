"""`FROBMETRIC`: solve cvxpy problems with `solve_sdp`.

Importing this module needs cvxpy, the extra `sdp`; nothing else in frobmetric does.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

try:
    import cvxpy.settings as s
    from cvxpy.constraints import SOC, SvecPSD
    from cvxpy.error import SolverError
    from cvxpy.reductions.solution import Solution, failure_solution
    from cvxpy.reductions.solvers import utilities
    from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
    from cvxpy.utilities.psd_utils import TriangleKind
except ImportError as error:
    raise ImportError(
        "frobmetric.sdp.cvxpy.solver needs cvxpy 1.9 or later; install it with "
        "`pip install frobmetric[sdp]`"
    ) from error

from ...core import FrobeniusSDP
from ...core.types import Vector
from ...solvers.plain import SDPStep
from ..solution import SDPSolution
from ..solve import solve_sdp
from .cones import Conic, Dims, Translation, translate

__all__ = ["FROBMETRIC", "FrobmetricSolver"]

#: Error up to which an answer that misses the tolerance is called inaccurate, not failed.
INACCURATE = 1e-3
#: Steps of a problem with a Frobenius term before it is asked whether it is feasible at all.
FIRST_STEPS = 300
#: Ends of a run that the user has set.
LIMITS = ("max_iter", "time_limit")
#: Steps between two lines of `verbose=True`.
STEPS_A_LINE = 20
#: Cones that are ours, or that cvxpy turns into ours.
KNOWN_CONES = {"Zero", "Equality", "NonNeg", "NonPos", "Inequality", "SOC", "PSD", "SvecPSD"}
CITATION = """@article{shen2014efficient,
  title={Efficient Dual Approach to Distance Metric Learning},
  author={Shen, Chunhua and Kim, Junae and Liu, Fayao and Wang, Lei and van den Hengel, Anton},
  journal={IEEE Transactions on Neural Networks and Learning Systems},
  volume={25},
  number={2},
  pages={394--406},
  year={2014}
}"""


@dataclass(frozen=True)
class Options:
    """What `problem.solve(solver=FROBMETRIC, ...)` takes; as in `solve_sdp`."""

    tol: float = 1e-6
    max_iter: int = 20_000
    time_limit: float = np.inf

    def within(self, seconds: float) -> Options:
        """What is left after so many seconds."""
        return replace(self, time_limit=max(0.0, self.time_limit - seconds))

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """The options among what cvxpy hands over."""
        own = {name: value for name, value in given.items() if name != "use_quad_obj"}
        unknown = sorted(set(own) - set(cls.__dataclass_fields__))
        if unknown:
            raise TypeError(
                f"FROBMETRIC has no option {unknown[0]!r}; its options are "
                f"{', '.join(cls.__dataclass_fields__)}"
            )
        return cls(**own)


@dataclass(frozen=True)
class Answer:
    """A problem's answer in cvxpy's terms.

    x and the multipliers of its rows; or one of them alone, the proof that there is no answer:
    multipliers if it is infeasible, a direction of x if it is unbounded.
    """

    status: str
    x: Vector | None
    multipliers: Vector | None
    value: float
    statistics: dict[str, Any]


class FrobmetricSolver(ConicSolver):
    """The solver object that cvxpy works with; `FROBMETRIC` is one, and one is enough.

    Problems with linear constraints, second-order cones and semidefinite ones are solved; those
    that need exponential or power cones, or integers, are refused with a message.

    * cvxpy hands over: minimise c.x with b - A x in a cone K, x free. Free variables are eliminated
      and either that problem or its dual is solved, whichever has fewer rows; see
      `frobmetric.sdp.cvxpy.cones`.
    * A second-order cone of dimension d is exactly the image of the positive semidefinite matrices
      of order d - 1 under a linear map; above dimension 40 it becomes a tree of smaller ones.
    * `sum_squares(X - G)` for a positive semidefinite variable X is recognised, whatever the linear
      constraints are: this is the Frobenius term, and the problem is solved as it is, without a
      second-order cone. All other quadratic objectives become one.

    Options of `problem.solve(solver=FROBMETRIC, ...)`: `tol` (1e-6), `max_iter` (20 000) and
    `time_limit` in seconds, as in `solve_sdp`. `verbose=True` writes the errors as they fall,
    `warm_start=True` (cvxpy's default) starts where the last solve of the same problem ended.

    The status is "optimal" if the certificate's error is within `tol`, "optimal_inaccurate" if it
    is not but within 1e-3, "infeasible" or "unbounded" with a proof, "user_limit" if the steps or
    the time ran out; else cvxpy raises `SolverError`.

    `problem.solver_stats.extra_stats` is a dictionary: `certificate`, the `SDPCertificate`;
    `solution`, the `SDPSolution`; `is_primal`, whether that SDP is the problem itself or its dual,
    the objectives of which have the other sign (as those of a maximisation have); and `ray`, the
    proof if there is no answer: multipliers v of cvxpy's rows with A'v = 0 and b.v < 0 if the
    problem is infeasible, a direction of x if it is unbounded.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from frobmetric.sdp.cvxpy.solver import FROBMETRIC
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> X = cp.Variable((2, 2), PSD=True)
    >>> problem = cp.Problem(cp.Maximize(cp.trace(S @ X)), [cp.trace(X) == 1])
    >>> round(float(problem.solve(solver=FROBMETRIC)), 5), problem.status
    (3.0, 'optimal')
    >>> problem.solver_stats.extra_stats["certificate"].error < 1e-6
    True
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS: ClassVar[list[type]] = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD]
    PSD_TRIANGLE_KIND = TriangleKind.LOWER
    PSD_SQRT2_SCALING = True

    def name(self) -> str:
        """What cvxpy calls it."""
        return "FROBMETRIC"

    def import_solver(self) -> None:
        """Nothing is left to import."""

    def supports_quad_obj(self) -> bool:
        """Quadratic objectives are handed over as they are."""
        return True

    def can_solve(self, problem_form: Any) -> bool:
        """Whether cvxpy may use this solver; if cones are in the way, an error names them."""
        if problem_form.is_mixed_integer() or super().can_solve(problem_form):
            return not problem_form.is_mixed_integer()
        raise SolverError(
            "FROBMETRIC solves problems with linear, second-order and semidefinite constraints; "
            f"this one needs {_foreign_cones(problem_form)}: use another solver, such as CLARABEL "
            "or SCS"
        )

    def solve_via_data(
        self,
        data: dict[str, Any],
        warm_start: bool,
        verbose: bool,
        solver_opts: dict[str, Any],
        solver_cache: dict[str, Any] | None = None,
    ) -> Answer:
        """Solve what `apply` made of a problem."""
        options, began = Options.of(solver_opts), time.perf_counter()
        conic = _conic(data)
        translation = translate(conic)
        ready = time.perf_counter()
        found = None
        if translation.fall is None:
            last = (solver_cache or {}).get(self.name()) if warm_start else None
            start = last if last is not None and _is_alike(last.problem, translation.sdp) else None
            found = _solve(translation.sdp, options, _Writer() if verbose else None, start)
            if solver_cache is not None and found.ray is None:
                solver_cache[self.name()] = found
        if verbose:
            _write(_summary(found))
        status, x, multipliers = _read(translation, found, options)
        ray = {s.INFEASIBLE: multipliers, s.UNBOUNDED: x}.get(status)
        seconds = {s.SETUP_TIME: ready - began, s.SOLVE_TIME: time.perf_counter() - ready}
        return Answer(
            status=status,
            x=x,
            multipliers=multipliers,
            value=np.nan if x is None else conic.value(x),
            statistics=seconds | _statistics(translation, found, ray),
        )

    def invert(self, solution: Answer, inverse_data: dict[str, Any]) -> Solution:
        """The answer in terms of the variables and constraints that cvxpy knows."""
        duals: dict[Any, Any] = {}
        if solution.multipliers is not None:
            split = inverse_data[self.DIMS].zero
            own = utilities.extract_dual_value
            duals = utilities.get_dual_values(
                solution.multipliers[:split], own, inverse_data[self.EQ_CONSTR]
            ) | utilities.get_dual_values(
                solution.multipliers[split:], own, inverse_data[self.NEQ_CONSTR]
            )
        if solution.status not in s.SOLUTION_PRESENT:
            return failure_solution(solution.status, solution.statistics, duals)
        return Solution(
            solution.status,
            solution.value + inverse_data[s.OFFSET],
            {inverse_data[self.VAR_ID]: solution.x},
            duals,
            solution.statistics,
        )

    def cite(self, data: dict[str, Any]) -> str:
        """The paper, for `problem.solve(bibtex=True)`."""
        return CITATION


def _foreign_cones(problem_form: Any) -> str:
    """The names of the cones that no reduction takes away."""
    names = {cone.__name__ for cone in problem_form.cones(quad_obj=True)}
    return ", ".join(sorted(names - KNOWN_CONES)) or "cones of another kind"


def _conic(data: dict[str, Any]) -> Conic:
    """The data of cvxpy; linear rows with an infinite side say nothing, or never hold."""
    A, b, dims = sp.csr_array(data[s.A]), np.asarray(data[s.B], dtype=float), data["dims"]
    c, P, finite = data[s.C], data.get(s.P), np.isfinite(b)
    if not finite[dims.zero + dims.nonneg :].all():
        raise ValueError(
            "a second-order or semidefinite constraint contains infinity; give finite numbers"
        )
    conic = Conic(
        A=sp.diags_array(finite.astype(float)) @ A,
        b=np.where(finite, b, np.sign(b)),
        c=c,
        P=sp.csr_array((len(c), len(c)) if P is None else P),
        dims=Dims(dims.zero, dims.nonneg, tuple(dims.soc), tuple(dims.psd)),
    )
    conic.P.eliminate_zeros()
    return conic


def _solve(
    sdp: FrobeniusSDP, options: Options, callback: Any, start: SDPSolution | None
) -> SDPSolution:
    """`solve_sdp`, again from nowhere if a start led astray."""
    solve = _solve_plain if np.isinf(sdp.sigma) else _solve_regularised
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `_read` warns, of the final answer
        found = solve(sdp, options, callback, start)
        if start is None or found.status != "stalled":
            return found
        return solve(sdp, options, callback, None)


def _solve_plain(
    sdp: FrobeniusSDP, options: Options, callback: Any, start: SDPSolution | None
) -> SDPSolution:
    return solve_sdp(sdp, **vars(options), callback=callback, start=start)


def _solve_regularised(
    sdp: FrobeniusSDP, options: Options, callback: Any, start: SDPSolution | None
) -> SDPSolution:
    """With a Frobenius term; if that takes long, the rows alone are asked whether they can hold."""
    began, n_first = time.perf_counter(), min(FIRST_STEPS, options.max_iter)
    found = _solve_plain(sdp, replace(options, max_iter=n_first), callback, start)
    if found.status == "optimal" or found.status == "time_limit":
        return found
    rows = replace(sdp, cost=None, prior=None, sigma=np.inf, offset=0.0)
    asked = _solve_plain(rows, options.within(time.perf_counter() - began), callback, None)
    if asked.ray is not None:
        return asked
    left = options.within(time.perf_counter() - began)
    if n_first == options.max_iter or left.time_limit == 0:
        return found
    left = replace(left, max_iter=options.max_iter - n_first)
    return _solve_plain(sdp, left, callback, found)


def _is_alike(last: FrobeniusSDP, now: FrobeniusSDP) -> bool:
    """Whether an answer of the one can be a start for the other."""
    return (
        last.cone == now.cone
        and last.constraints.shape == now.constraints.shape
        and np.isinf(last.sigma) == np.isinf(now.sigma)
    )


def _read(
    translation: Translation, found: SDPSolution | None, options: Options
) -> tuple[str, Vector | None, Vector | None]:
    """The status, x and the multipliers; of a proof only what it consists of."""
    if found is None or found.ray is not None:
        proof = translation.proof(None if found is None else found.ray)
        return proof.status, proof.x, proof.multipliers
    if found.status != "optimal":
        warnings.warn(
            f"FROBMETRIC did not reach tol={options.tol:g} ({found.status} after {found.n_iter} "
            f"eigen-decompositions): {found.certificate}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return _status(found), *translation.answer(found.X, found.y)


def _status(found: SDPSolution) -> str:
    if found.status == "optimal":
        return s.OPTIMAL
    if found.certificate.error <= INACCURATE:
        return s.OPTIMAL_INACCURATE
    return s.USER_LIMIT if found.status in LIMITS else s.SOLVER_ERROR


def _statistics(
    translation: Translation, found: SDPSolution | None, ray: Vector | None
) -> dict[str, Any]:
    extra = {
        "certificate": None if found is None else found.certificate,
        "solution": found,
        "is_primal": translation.is_primal,
        "ray": ray,
    }
    return {s.NUM_ITERS: 0 if found is None else found.n_iter, s.EXTRA_STATS: extra}


class _Writer:
    """The callback of `verbose=True`: a line for every so many steps."""

    def __init__(self) -> None:
        self._n_steps = 0
        _write("   step  phase           primal           dual   rows    dual    gap     seconds")

    def __call__(self, step: SDPStep) -> None:
        if self._n_steps % STEPS_A_LINE == 0:
            _write(
                f"{self._n_steps:7d}  {step.phase:8s} {step.primal:15.7g} {step.dual:15.7g}"
                f"  {step.eta_p:.0e}  {step.eta_d:.0e}  {step.eta_g:.0e} {step.seconds:8.2f}"
            )
        self._n_steps += 1


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _summary(found: SDPSolution | None) -> str:
    if found is None:
        return "no steps: the objective of this problem or of its dual falls without end"
    return f"{found.status} after {found.n_iter} steps: {found.certificate}"


#: The solver: `problem.solve(solver=FROBMETRIC)`.
FROBMETRIC = FrobmetricSolver()
