"""What is proven of an unfolding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .methods.program import squares
from .sparse.spectrum import proven_bound


@dataclass(frozen=True)
class UnfoldingCertificate:
    """The interval that holds the maximum, in the squared units of the data.

    Attributes
    ----------
    primal : float
        The objective of the embedding before it is cut to `n_components`: the sum of the squared
        distances from the mean, less |X|² / (2 sigma) if there is a sigma. It is that of a
        feasible embedding, so the maximum is at least this, if `violation` is 0.
    dual : float
        The maximum is at most this.
    relative_gap : float
        |dual - primal| / |dual|.
    violation : float
        The largest error of a squared distance, relative to it: 0 with "leq"; with "eq" the
        equations are met up to this.
    """

    primal: float
    dual: float
    relative_gap: float
    violation: float

    def __str__(self):
        if self.violation != 0:
            return (
                f"maximum <= {self.dual:.6g}; the embedding has {self.primal:.6g} and misses a "
                f"squared distance by {self.violation:.1e} of it"
            )
        return f"maximum in [{self.primal:.6g}, {self.dual:.6g}], gap {self.relative_gap:.1e}"


def certify_unfolding(program, Y, w, constraints="leq"):
    """Prove from scratch how good (Y, w) is, trusting nothing that a method said.

    Parameters
    ----------
    program : UnfoldingProgram
    Y : ndarray of shape (n_points, rank)
    w : ndarray of shape (n_edges,), or None
        Multipliers, not negative with "leq"; without any there is no bound.
    constraints : {"leq", "eq"}
    """
    ratio = squares(program.differences(Y)) / program.squared
    excess = np.abs(ratio - 1) if constraints == "eq" else ratio - 1
    # rounding of the squares is none; what is not a number is not feasible
    violation = 0.0 if excess.max() <= 1e-12 else excess.max()
    is_bound = w is not None and np.isfinite(w).all() and (constraints == "eq" or w.min() >= 0)
    dual = proven_bound(program, w) if is_bound else np.inf
    return make_certificate(program.objective(Y), dual, violation)


def make_certificate(primal, dual, violation):
    """The certificate of these numbers."""
    gap = abs(dual - primal) / abs(dual) if 0 < abs(dual) < np.inf else np.inf
    return UnfoldingCertificate(*(float(number) for number in (primal, dual, gap, violation)))
