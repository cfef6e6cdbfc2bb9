"""The answer of an SDP."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from ..core import FrobeniusSDP, Product
from ..core.types import Symmetric, Vector
from ..solvers.watch import SDPStep
from .certificate import SDPCertificate
from .infeasibility import Ray


@dataclass(frozen=True)
class SDPSolution:
    """The answer of an SDP and what is proven of it.

    Attributes
    ----------
    status : {"optimal", "primal_infeasible", "dual_infeasible", "not_converged"}
    X : ndarray of the cone's shape
    y : ndarray of shape (n_rows,)
        Multipliers in the sign of the rows as given: how fast the optimum rises with each
        right-hand side; >= 0 for rows that say at least, <= 0 for at most.
    Z : ndarray of the cone's shape
        The multiplier of X: C - A*(y), with the slope of the Frobenius term if there is one.
    certificate : SDPCertificate
    ray : Ray or None
        The proof of infeasibility.
    sigma : float
        Where the proximal steps ended; with X and y a start for a similar problem.
    history : tuple of SDPStep
    n_iter : int
        Eigen-decompositions, and steps of the interior-point method.
    ended : str
        Why the run ended: "optimal", "max_iter", "time_limit", "stalled", "stopped",
        "interrupted", "ray".
    notes : tuple of str
        Rows that were dropped, or contradict each other.
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
    ended: str
    problem: FrobeniusSDP
    notes: tuple[str, ...] = ()

    @property
    def blocks(self) -> list[Symmetric]:
        """X block by block."""
        cone = self.problem.cone
        return cone.cut(self.X) if isinstance(cone, Product) else [self.X]


def warn_unless_solved(solution: SDPSolution, tol: float, depth: int = 3) -> None:
    """Warn of errors above the tolerance, `depth` calls up."""
    if solution.status != "not_converged" or solution.ended == "stopped":
        return
    warnings.warn(
        f"not solved to tol={tol:g} ({solution.ended} after {solution.n_iter} "
        f"eigen-decompositions): {solution.certificate}",
        ConvergenceWarning,
        stacklevel=depth,
    )
