"""Maximum variance unfolding through its dual, for the Gram matrix of the samples.

The Gram matrix is dense, and every step decomposes it: for a Frobenius term that keeps many of its
eigenvalues. Without that term the general solver does it, for comparison.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ..core import PSD, AtMost, FrobeniusSDP, Sparse
from ..core.solution import Step
from ..sdp import solve_sdp
from ..solvers import Interrupted
from .dual_interior import unfold_weights
from .lowrank import Unfolded, feasible, principal_axes
from .spectrum import proven_bound


def unfold_dual(program, tol=1e-5, max_iter=1000, callback=None):
    """Solve the program for the Gram matrix of the samples.

    Parameters and answer are those of `frobmetric.manifold.lowrank.unfold`, without a start.
    """
    solver = _unfold_plain if np.isinf(program.sigma) else unfold_weights
    return solver(program, tol, max_iter, callback)


def _unfold_plain(program, tol, max_iter, callback):
    problem, history = gram_problem(program), []

    def report(step):
        # the solver minimises, and its bounds are the other way round
        primal, dual = -step.primal, -step.dual
        history.append(Step(primal, dual, max(0.0, dual - primal), 0, step.seconds))
        return callback is not None and callback(history[-1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate will say so
        try:
            solution = solve_sdp(problem, 0.1 * tol, max_iter, callback=report)
        except Interrupted as interruption:
            solution = interruption.solution
    Y = feasible(program, _coordinates(program, solution.X))
    w = np.maximum(0, -solution.y)
    bound = proven_bound(program, w)
    is_proven = bound - program.objective(Y) <= tol * bound < np.inf
    ended = "stalled" if solution.ended == "optimal" else solution.ended
    status = "optimal" if is_proven else ended
    return Unfolded(Y, w, status, tuple(history), solution.n_iter)


def gram_problem(program):
    """minimise -<I - q qᵀ, X> + |X|² / (2 sigma) with |y_i - y_j|² <= b_ij.

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
    ends, n = (program.first, program.second), program.n_points
    entries = [
        (sign * np.ones(program.n_edges) / (root[a] * root[b]), np.arange(program.n_edges), a * n + b)
        for sign, a, b in [(1, ends[0], ends[0]), (1, ends[1], ends[1]),
                           (-1, *ends), (-1, *ends[::-1])]
    ]
    values, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sp.csr_array((values, (rows, columns)), shape=(program.n_edges, n * n))


def _coordinates(program, X):
    """Y of the points from their Gram matrix."""
    values, vectors = np.linalg.eigh(X)
    keep = values > 1e-12 * values[-1]
    Y = vectors[:, keep] * np.sqrt(values[keep]) / np.sqrt(program.masses)[:, None]
    return principal_axes(program, Y)
