"""Maximum variance unfolding through its dual, for the Gram matrix of the samples.

The Gram matrix is dense, and every step decomposes it: for a Frobenius term that keeps many of its
eigenvalues. The weaker that term, the more steps it takes.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from ...core import PSD, AtMost, FrobeniusSDP, Sparse
from ..sparse.spectrum import proven_bound
from .lowrank import Unfolded, feasible
from .multipliers import is_proven, unfold_weights

#: Without a Frobenius term: that many times the variance is a sigma to begin with, and what the
#: last one may cost, with the gap left beside it, in tol.
FIRST, COST, REST = 100.0, 0.2, 0.3


def unfold_dual(program, tol=1e-5, max_iter=1000, callback=None):
    """Solve the program for the Gram matrix of the samples.

    Parameters and answer are those of `frobmetric.manifold.methods.lowrank.unfold`, without a start.
    """
    solver = unfold_weights if np.isfinite(program.sigma) else _unfold_plain
    return solver(program, tol, max_iter, callback)


def _unfold_plain(program, tol, max_iter, callback):
    """With two Frobenius terms that should not be there, whose problems the history tells of."""
    near, found, history = copy(program), [], []
    for times in (FIRST, max(FIRST, COST / tol)):
        near.sigma = times * proven_bound(program, 1 / program.squared)
        found.append(unfold_weights(near, REST * COST / times, max_iter - len(history), callback))
        history += found[-1].history
        if found[-1].status != "optimal":
            break
    Y = max((feasible(program, each.Y) for each in found), key=program.objective)
    w = min((each.w for each in found), key=lambda w: proven_bound(program, w))
    ended = found[-1].status.replace("optimal", "stalled")
    status = "optimal" if is_proven(program, Y, w, tol) else ended
    return Unfolded(Y, w, status, tuple(history), len(history))


def gram_problem(program):
    """Minimise -<I - q qᵀ, X> + |X|² / (2 sigma) with |y_i - y_j|² <= b_ij.

    X is the Gram matrix of the points, each times the root of its mass, so that its Frobenius
    norm is that of all samples; q is the constant vector, times those roots.
    """
    root = np.sqrt(program.masses)
    q = root / np.linalg.norm(root)
    cost = np.outer(q, q) - np.eye(len(q))
    rows = Sparse(_rows(program, root), PSD(len(q)))
    return FrobeniusSDP(rows, AtMost(program.squared), cost, sigma=program.sigma)


def _rows(program, root):
    """(e_i / √m_i - e_j / √m_j)(...)ᵀ of each edge, flattened."""
    i, j, n = program.first, program.second, program.n_points
    entries = [(1, i, i), (1, j, j), (-1, i, j), (-1, j, i)]
    values = np.concatenate([sign / (root[a] * root[b]) for sign, a, b in entries])
    columns = np.concatenate([a * n + b for _, a, b in entries])
    rows = np.tile(np.arange(program.n_edges), len(entries))
    return sp.csr_array((values, (rows, columns)), shape=(program.n_edges, n * n))
