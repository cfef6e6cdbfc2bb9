"""Certificate of an unfolding: an interval that contains the maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .sparse.spectrum import proven_bound


@dataclass(frozen=True)
class UnfoldingCertificate:
    """Interval that contains the maximum, in the squared units of the data.

    Attributes
    ----------
    primal : float
        Objective of the embedding with all its dimensions: the sum of the squared distances from
        the mean, less |X|² / (2 sigma) if there is a sigma. If `violation` is 0 the embedding is
        feasible, so the maximum is at least this large.
    dual : float
        Upper bound of the maximum.
    relative_gap : float
        |dual - primal| / |dual|.
    violation : float
        Largest relative error of a squared distance: 0 with "at_most"; with "equal" the equations
        hold up to this error.
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


def certify_unfolding(program, Y, w, constraints="at_most"):
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
    """
    is_equal = constraints == "equal"
    ratio = program.relative_squares(Y)
    excess = np.abs(ratio - 1) if is_equal else ratio - 1
    # the squares are rounded to less than 1e-12; NaN is not feasible
    violation = 0.0 if excess.max() <= 1e-12 else excess.max()
    is_bound = w is not None and np.isfinite(w).all() and (is_equal or w.min() >= 0)
    dual = proven_bound(program, w) if is_bound else np.inf
    return make_certificate(program.objective(Y), dual, violation)


def make_certificate(primal, dual, violation):
    """Return the certificate of these bounds."""
    gap = abs(dual - primal) / abs(dual) if 0 < abs(dual) < np.inf else np.inf
    return UnfoldingCertificate(*(float(number) for number in (primal, dual, gap, violation)))
