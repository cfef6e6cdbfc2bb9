"""The answer of an SDP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import FrobeniusSDP
from ..core.solution import STATUSES
from ..core.types import Symmetric, Vector
from ..solvers.plain import SDPStep
from .certificate import SDPCertificate
from .infeasibility import Ray


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
    sigma : float
        Length of the last proximal step; with X and y a start for a similar problem.
    history : tuple of SDPStep
    n_iter : int
        Number of eigen-decompositions, and of steps of the interior-point method.
    problem : FrobeniusSDP
    notes : tuple of str
        Rows that were dropped, or contradict each other.
    solver : str
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

    @property
    def blocks(self) -> list[Symmetric]:
        """X block by block."""
        return self.problem.cone.cut(self.X)

    def __str__(self) -> str:
        seconds = self.history[-1].seconds if self.history else 0.0
        head = f"{self.status} ({STATUSES[self.status]}): {self.n_iter} steps, {seconds:.2g} s"
        if self.ray is not None:
            return f"{head}\n  proof with an error of {self.ray.error:.1e}"
        multipliers = f"{len(self.y)} rows, {np.count_nonzero(self.y)} of them with y != 0"
        return f"{head}\n  X in {self.problem.cone}, {multipliers}\n  {self.certificate}"

    def __repr__(self) -> str:
        return (
            f"SDPSolution(status={self.status!r}, n_iter={self.n_iter}, "
            f"primal={self.certificate.primal:.6g}, error={self.certificate.error:.1e})"
        )
