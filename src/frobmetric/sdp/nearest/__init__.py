"""Nearest correlation and covariance matrices: the answer and the checks that both share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks.text import in_html
from ...core import Hard
from ...core.checks import as_bounded
from ...core.points import Array, Vector
from ...core.solution import Certificate
from ...runtime.tables import html_table

#: Difference of the diagonal of a correlation matrix from 1 that is rounding.
UNCHANGED = 1e-13
#: Largest number of rows of a matrix that is shown in HTML.
SHOWN = 20


@dataclass(frozen=True, repr=False)
class NearestMatrix:
    """A nearest matrix X and its distance; `numpy.asarray` of it is X.

    Attributes
    ----------
    matrix : ndarray of shape (n, n), or a data frame if one was given
    distance : float
        |X - given matrix|_F, in the weighted norm if there are weights.
    certificate : Certificate
        Certificate of X for half the squared distance: the optimum lies in [dual, primal], and
        `distance_bound` is in the norm of `distance`. `min_eigenvalue` is a lower bound.
    multipliers : ndarray of shape (n_constraints,)
        Derivative of half the squared distance by each right-hand side; for a correlation matrix
        only by the n diagonal entries.
    gradient : float
        Euclidean norm of the residuals of the constraints before X was made exact.
    status : str
        As in `frobmetric.core.solution.Solution`; any other than "optimal" came with a warning.
    n_iter : int
        Eigen-decompositions in the solver.
    solver : str
    is_unchanged : bool
        Whether the given matrix was valid already, so that X is that matrix, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import nearest_correlation
    >>> found = nearest_correlation([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    >>> np.asarray(found).shape, found.distance > 0
    ((3, 3), True)
    """

    matrix: Any
    distance: float
    certificate: Certificate
    multipliers: Vector
    gradient: float
    status: str
    n_iter: int
    solver: str = "newton"
    is_unchanged: bool = False

    def describe(self) -> str:
        """Return what was found, in one line."""
        if self.is_unchanged:
            return "the given matrix was already valid; nothing changed"
        bound = self.certificate.distance_bound
        near = f", at most {bound:.1e} from the nearest" if np.isfinite(bound) else ""
        return f"distance {self.distance:.6g}{near}, {self.status}"

    def __repr__(self) -> str:
        n = len(np.asarray(self))
        return f"{type(self).__name__}, {n} × {n}: {self.describe()}\n{self.matrix!r}"

    def _repr_html_(self) -> str:
        head = f"<div>{in_html(self.describe())}</div>"
        values = np.asarray(self)
        if hasattr(self.matrix, "_repr_html_"):
            return head + self.matrix._repr_html_()
        if len(values) > SHOWN:
            return f"{head}<pre>{in_html(repr(values))}</pre>"
        numbers = [str(j) for j in range(len(values))]
        rows = [[str(i), *(f"{x:.4g}" for x in row)] for i, row in enumerate(values)]
        return head + html_table(["", *numbers], rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.matrix, dtype=dtype) if copy else np.asarray(self.matrix, dtype=dtype)


def check_min_eigenvalue(min_eigenvalue: float, *, below: float = np.inf) -> float:
    """Return the smallest eigenvalue that is allowed, if it lies in [0, below)."""
    if not 0 <= as_bounded(min_eigenvalue, name="min_eigenvalue") < below:
        expected = "be finite and not negative" if below == np.inf else f"lie in [0, {below:g})"
        raise ValueError(f"min_eigenvalue={min_eigenvalue!r} must {expected}")
    return float(min_eigenvalue)


def residual_norm(loss: Hard, margins: Vector) -> float:
    """Return the norm of the residuals of hard rows."""
    return float(np.linalg.norm(loss.violation(margins) * (1 + np.abs(loss.target))))
