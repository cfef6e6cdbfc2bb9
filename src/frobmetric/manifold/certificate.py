"""Certificate of an unfolding: an interval that contains the maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..core.points import Array, Vector
from ..core.solution import Certificate
from .sparse.spectrum import Laplacian, proven_bound


@dataclass(frozen=True, repr=False)
class UnfoldingCertificate(Certificate):
    """Interval that contains the maximum, in the squared units of the data.

    Attributes
    ----------
    primal : float
        Objective of the embedding with all its dimensions: the sum of the squared distances from
        the mean, less |X|² / (2 sigma) if there is a sigma. If `violation` is 0 the embedding is
        feasible, so the maximum is at least this large.
    dual : float
        Upper bound of the maximum.
    gap, relative_gap : float
        |dual - primal|, and the same divided by |dual|.
    distance_bound : float
        Upper bound on the distance of the Gram matrix to the optimal one, in Frobenius norm;
        infinity without a sigma.
    min_eigenvalue : float
        0: the Gram matrix is a product of coordinates.
    violation : float
        Largest relative error of a squared distance: 0 with "at_most"; with "equal" the equations
        hold up to this error.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.certificate import UnfoldingCertificate
    >>> print(UnfoldingCertificate(1.9, 2.0, gap=0.1, relative_gap=0.05))
    maximum in [1.9, 2], gap 5.0e-02
    >>> print(UnfoldingCertificate(1.9, 2.0, gap=0.1, relative_gap=0.05, violation=1e-6))
    maximum <= 2; the embedding has 1.9 and misses a squared distance by 1.0e-06 of it
    """

    @property
    def error(self) -> float:
        """Number that a tolerance is compared with: the relative gap, or a larger violation."""
        return float(np.maximum(self.relative_gap, self.violation))  # NaN is passed on

    def describe_error(self) -> str:
        violation = f" and violation {self.violation:.1e}" if self.violation != 0 else ""
        return f"relative gap {self.relative_gap:.1e}{violation}"

    def __str__(self) -> str:
        if self.violation != 0:
            return (
                f"maximum <= {self.dual:.6g}; the embedding has {self.primal:.6g} and misses a "
                f"squared distance by {self.violation:.1e} of it"
            )
        return f"maximum in [{self.primal:.6g}, {self.dual:.6g}], gap {self.relative_gap:.1e}"


class Unfoldable(Laplacian, Protocol):
    """Program whose solution is certified: `methods.program.UnfoldingProgram`."""

    def relative_squares(self, Y: Array) -> Vector: ...
    def objective(self, Y: Array) -> float: ...


def certify_unfolding(
    program: Unfoldable, Y: Array, w: Vector | None, *, constraints: str = "at_most"
) -> UnfoldingCertificate:
    """Certify (Y, w) from scratch, without any number that a method computed.

    Parameters
    ----------
    program : UnfoldingProgram
    Y : ndarray of shape (n_points, rank)
        Coordinates.
    w : ndarray of shape (n_edges,), or None
        Multipliers, not negative with "at_most"; None gives no upper bound.
    constraints : {"at_most", "equal"}

    Returns
    -------
    UnfoldingCertificate

    Examples
    --------
    Three points in a row cannot be farther apart, which equal multipliers prove.

    >>> import numpy as np
    >>> from frobmetric.manifold import certify_unfolding, neighbor_graph
    >>> from frobmetric.manifold.methods.program import UnfoldingProgram
    >>> Y = np.array([[-1.0], [0.0], [1.0]])
    >>> certificate = certify_unfolding(UnfoldingProgram(neighbor_graph(Y, 1)), Y, np.ones(2))
    >>> round(certificate.primal, 6), round(certificate.dual, 6), certificate.violation
    (2.0, 2.0, 0.0)
    """
    is_equal = constraints == "equal"
    ratio = program.relative_squares(Y)
    excess = np.abs(ratio - 1) if is_equal else ratio - 1
    # the squares are rounded to less than 1e-12; NaN is not feasible
    violation = 0.0 if excess.max() <= 1e-12 else excess.max()
    dual = np.inf
    if w is not None and np.isfinite(w).all() and (is_equal or w.min() >= 0):
        dual = proven_bound(program, w)
    return make_certificate(program.objective(Y), dual, violation, program.sigma)


def make_certificate(
    primal: float, dual: float, violation: float, sigma: float = np.inf
) -> UnfoldingCertificate:
    """Return the certificate of these bounds."""
    gap = float(abs(dual - primal))
    is_near = violation == 0 and np.isfinite(sigma)
    return UnfoldingCertificate(
        primal=float(primal),
        dual=float(dual),
        gap=gap,
        relative_gap=float(gap / abs(dual)) if 0 < abs(dual) < np.inf else np.inf,
        distance_bound=float(np.sqrt(2 * sigma) * np.sqrt(gap)) if is_near else np.inf,
        violation=float(violation),
    )
