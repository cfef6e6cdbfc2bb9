"""Solves with A A*, the matrix of the rows' inner products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from ..core.constraints import Constraints
from ..core.matrices import Sparse
from ..core.types import Vector

#: Added to the diagonal, relative to it: dependent rows make the matrix singular.
RIDGE = 1e-13

GramSolver = Callable[[Vector], Vector]


def gram_solver(constraints: Constraints) -> GramSolver:
    """The map v -> (A A*)^-1 v."""
    if isinstance(constraints, Sparse):
        return _factored(constraints.rows)
    return _iterated(constraints)


def _factored(rows: sp.csr_array) -> GramSolver:
    gram = sp.csc_array(rows @ rows.T)
    gram = gram + sp.diags_array(RIDGE * gram.diagonal() + np.finfo(float).tiny)
    factor = scipy.sparse.linalg.splu(
        gram.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return factor.solve


def _iterated(constraints: Constraints) -> GramSolver:
    """By conjugate gradients: rows that are known by what they do only."""
    n_rows = constraints.shape[0]
    diagonal = np.maximum(constraints.norms() ** 2, np.finfo(float).tiny)

    def product(u: Vector) -> Vector:
        return constraints.forward(constraints.adjoint(u)) + RIDGE * diagonal * u

    gram = scipy.sparse.linalg.LinearOperator((n_rows, n_rows), product, dtype=float)
    inverse = scipy.sparse.linalg.LinearOperator(
        (n_rows, n_rows), lambda u: u / diagonal, dtype=float
    )

    def solve(v: Vector) -> Vector:
        u, _ = scipy.sparse.linalg.cg(gram, v, rtol=1e-12, maxiter=10 * n_rows, M=inverse)
        return u

    return solve
