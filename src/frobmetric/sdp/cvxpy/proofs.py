"""Proofs that a conic problem of cvxpy has no answer, on its own numbers.

The way from there to our SDP and back is rounded, so that a proof for our SDP is only a hint. It is
moved to rational numbers that meet all equations exactly; what is in a cone is then checked in
exact arithmetic, but for matrices, whose triangles are scaled by the irrational square root of two:
these are checked in float64 with every rounding error bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...core import PSD
from ...core.points import Vector
from ...core.rational import Row, as_float, as_row, dot, nearest_solution
from ...core.rounding import EPS, TINY
from ..rays import MOST_EQUATIONS, MOST_EXACT, MOST_MOVED, is_inside, power_below
from .cones import Conic

#: Share of the largest number up to which others are tried as zeros.
TIGHT = (1e-7, 1e-5)


def proves_infeasible(conic: Conic, v: Vector) -> bool:
    """Return whether multipliers near v prove that no x is feasible: A'v = 0, b.v < 0."""
    if not _is_small(conic) or not np.isfinite(v).all() or not v.any():
        return False
    identity = sp.eye_array(len(v), format="csr")
    equations = _exact_rows(conic.A.T.tocsr())
    goal = as_row(range(len(v)), conic.b.tolist())
    return _exists(equations, _exact_rows(identity), identity, goal, conic, v, is_dual=True)


def proves_unbounded(conic: Conic, x: Vector) -> bool:
    """Return whether a direction near x is proven to lower the objective for ever.

    A x is minus an element of K, P x = 0 and c.x < 0.
    """
    if not _is_small(conic) or not np.isfinite(x).all() or not x.any():
        return False
    goal = as_row(range(len(x)), conic.c.tolist())
    image = (-conic.A).tocsr()
    equations = _exact_rows(conic.P)
    return _exists(equations, _exact_rows(image), image, goal, conic, x, is_dual=False)


def _is_small(conic: Conic) -> bool:
    size = max(conic.A.shape) * min(conic.A.shape)
    return conic.A.nnz + conic.P.nnz <= MOST_EXACT and size <= MOST_EQUATIONS


def _exact_rows(rows: sp.csr_array) -> list[Row]:
    ends = zip(rows.indptr.tolist(), rows.indptr[1:].tolist(), strict=False)
    return [as_row(rows.indices[a:b].tolist(), rows.data[a:b].tolist()) for a, b in ends]


def _exists(
    equations: list[Row],
    image: list[Row],
    matrix: sp.csr_array,
    goal: Row,
    conic: Conic,
    guess: Vector,
    is_dual: bool,
) -> bool:
    """Return whether a z near the guess meets the equations, has its image in K and goal.z < 0.

    With `is_dual` the image is in the dual cone, whose part of the zeros is free.
    """
    guess = guess / power_below(float(np.abs(guess).max()))
    s, zero = matrix @ guess, conic.dims.zero
    for share in TIGHT:
        is_zero = np.abs(s) <= share * float(np.abs(s).max(initial=0.0))
        is_zero[:zero] = not is_dual
        rows = [*equations, *(image[k] for k in np.flatnonzero(is_zero))]
        if min(sum(map(bool, rows)), len(guess)) > 2 * MOST_MOVED:
            return False
        z = nearest_solution(rows, [Fraction()] * len(rows), guess)
        if z is None or not dot(goal, z) < 0:
            continue
        if _is_in_cone(conic, [dot(row, z) for row in image], is_dual):
            return True
    return False


def _is_in_cone(conic: Conic, s: Sequence[Fraction], is_dual: bool) -> bool:
    dims = conic.dims
    start = dims.zero + dims.nonneg
    if not is_dual and any(s[: dims.zero]):
        return False
    if any(value < 0 for value in s[dims.zero : start]):
        return False
    for d in dims.soc:
        head, *tail = s[start : start + d]
        if head < 0 or head * head < sum(value * value for value in tail):
            return False
        start += d
    for n in dims.psd:
        size = n * (n + 1) // 2
        if not _is_semidefinite(s[start : start + size], n):
            return False
        start += size
    return True


def _is_semidefinite(triangle: Sequence[Fraction], n: int) -> bool:
    """Return whether a scaled lower triangle, column by column, is proven semidefinite."""
    M, (j, i) = np.zeros((n, n)), np.triu_indices(n)
    for row, column, value in zip(i.tolist(), j.tolist(), triangle, strict=True):
        number = (as_float(value) or (TINY if value > 0 else -TINY)) if value else 0.0
        M[row, column] = M[column, row] = number if row == column else number * np.sqrt(0.5)
    errors = 4 * EPS * np.abs(M) + TINY * (M != 0)
    return is_inside(PSD(n), M, errors)
