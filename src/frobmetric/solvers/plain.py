"""Common parts of the solvers of plain SDPs: errors of an iterate, units, solves with A A*.

A plain SDP here has equations only: minimise <C, X> with A X = b and X in the cone; its dual is to
maximise b.y with Z = C - A*(y) in the dual cone. Errors are measured in the units of the problem
that the user gave, whatever the scaling of the one that is worked on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from ..core.cg import conjugate_gradients
from ..core.matrices import Constraints
from ..core.points import Symmetric, Vector, as_dense
from ..core.problem import FrobeniusSDP
from .monitor import State

#: Added to the diagonal of A A*, relative to it: dependent rows make the matrix singular.
RIDGE = 1e-13

#: The map v -> (A A*)^-1 v.
GramSolver = Callable[[Vector], Vector]
#: X, y and sigma.
Triple = tuple[Symmetric, Vector, float]
#: b - A X, and |C - A*(y) - Z|.
Residuals = tuple[Vector, float]


class SDPStep(NamedTuple):
    """One entry of the history of an SDP: objectives and relative errors.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> history = solve_sdp(make_sdp(np.diag([1.0, 3.0]), [np.eye(2)], [2.0])).history
    >>> history[-1].error < history[0].error
    True
    >>> round(history[-1].primal, 3)
    2.0
    """

    phase: str
    primal: float
    dual: float
    eta_p: float
    eta_d: float
    eta_g: float
    sigma: float
    seconds: float

    @property
    def error(self) -> float:
        """Largest of the three errors."""
        return max(self.eta_p, self.eta_d, self.eta_g)


@dataclass(frozen=True)
class PlainIterate:
    """X in the cone (`point`) and y (`u`), with their objectives and relative errors."""

    phase: str
    point: Symmetric
    u: Vector
    sigma: float
    rank: int
    primal: float
    dual: float
    eta_p: float
    eta_d: float

    @property
    def gap(self) -> float:
        return abs(self.primal - self.dual)

    @property
    def eta_g(self) -> float:
        return self.gap / (1 + abs(self.primal) + abs(self.dual))

    @property
    def error(self) -> float:
        return max(self.eta_p, self.eta_d, self.eta_g)

    def step(self, seconds: float) -> SDPStep:
        """Return the entry of the history."""
        errors = self.eta_p, self.eta_d, self.eta_g
        return SDPStep(self.phase, self.primal, self.dual, *errors, self.sigma, seconds)


@dataclass(frozen=True)
class Units:
    """Relation of the problem worked on to the problem given.

    Row r was divided by `rows[r]`, X by `primal` and C by `dual`; `norm_b` and `norm_c` are the
    norms of b and C as given.
    """

    rows: Vector
    primal: float
    dual: float
    norm_b: float
    norm_c: float

    @classmethod
    def of(cls, problem: FrobeniusSDP) -> Units:
        """Return the units of a problem that is worked on as it is given."""
        b = targets(problem)
        norms = float(np.linalg.norm(b)), float(np.linalg.norm(problem.cost))
        return cls(np.ones(len(b)), 1.0, 1.0, *norms)

    def measure(
        self, phase: str, problem: FrobeniusSDP, state: Triple, residuals: Residuals, rank: int
    ) -> PlainIterate:
        """Return the iterate (X, y, sigma) with these residuals."""
        X, y, sigma = state
        volume = self.primal * self.dual
        primal = volume * float(np.vdot(problem.cost, X)) + problem.offset
        dual = volume * float(targets(problem) @ y) + problem.offset
        eta_p = self.primal * float(np.linalg.norm(self.rows * residuals[0])) / (1 + self.norm_b)
        eta_d = self.dual * residuals[1] / (1 + self.norm_c)
        return PlainIterate(phase, X, y, sigma, rank, primal, dual, eta_p, eta_d)


def targets(problem: FrobeniusSDP) -> Vector:
    """Return the right-hand sides of hard rows."""
    return problem.loss.conjugate(np.zeros(problem.constraints.shape[0]))[1]


def senses(problem: FrobeniusSDP) -> Vector:
    """Return +1 for hard rows that say at least, -1 for at most, 0 for equal."""
    return np.isfinite(problem.loss.lower).astype(float) - np.isfinite(problem.loss.upper)


def begin(
    problem: FrobeniusSDP, state: State, units: Units | None, solver: str
) -> tuple[Symmetric, Vector, float, Units]:
    """Check that this is a plain SDP; return X, y and sigma to start from, and the units."""
    is_equation = np.isinf(problem.loss.lower) & np.isinf(problem.loss.upper)
    if np.isfinite(problem.sigma) or not is_equation.all():
        rows = "equations" if is_equation.all() else "rows that are not equations"
        raise ValueError(
            f"solver={solver!r} is for plain SDPs, with sigma=inf and equations; this problem has "
            f"sigma={problem.sigma:g} and {rows}: use another solver, or "
            "frobmetric.sdp.solve_sdp, which also takes inequalities"
        )
    X = np.zeros(problem.cone.shape) if state.point is None else as_dense(state.point)
    y = state.dual(problem)
    return X, y, state.sigma or 1.0, units or Units.of(problem)


def gram_solver(constraints: Constraints) -> GramSolver:
    """Return the map v -> (A A*)^-1 v."""
    sparse = constraints.as_sparse()
    if sparse is None:
        return _iterated(constraints)
    gram = sp.csc_array(sparse.rows @ sparse.rows.T)
    gram = gram + sp.diags_array(RIDGE * gram.diagonal() + np.finfo(float).tiny)
    options = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    return scipy.sparse.linalg.splu(gram.tocsc(), diag_pivot_thresh=0.0, **options).solve


def _iterated(constraints: Constraints) -> GramSolver:
    """Solve by conjugate gradients, for rows that are known by their products only."""
    diagonal = np.maximum(constraints.norms() ** 2, np.finfo(float).tiny)

    def product(u: Vector) -> Vector:
        return constraints.forward(constraints.adjoint(u)) + RIDGE * diagonal * u

    def solve(v: Vector) -> Vector:
        most = 10 * constraints.shape[0]
        return conjugate_gradients(product, v, diagonal, accuracy=1e-12, max_products=most).x

    return solve
