"""Maximum variance unfolding as a program in the coordinates Y of the points.

    maximise   Σ_i m_i |y_i - ȳ|² - ‖X‖²_F / (2 sigma)    such that  |y_i - y_j|² <= b_ij

over Y of shape (n_points, r), with X the Gram matrix of the centred samples; m_i samples coincide
in point i. With sigma = inf and r large enough this is the exact problem, otherwise the paper's.
With w_ij the multipliers and L_w the Laplacian of the graph weighted by them, a Y with
(L_w - J) Y = 0, J = diag(m) - m mᵀ / Σm, is stationary.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..sparse.cholesky import Elimination


class UnfoldingProgram:
    """The objective, the slacks and their derivatives; everything is linear in the edges.

    Parameters
    ----------
    graph : NeighborGraph
        Connected.
    sigma : float
        Infinity for the problem without the Frobenius term.
    """

    def __init__(self, graph, sigma=np.inf):
        self.squared, self.masses, self.sigma = graph.squared, graph.masses, sigma
        self.first, self.second = graph.edges.T
        self.n_edges, self.n_points = len(graph.edges), graph.n_points
        self.elimination = Elimination(graph.edges, graph.n_points)
        rows, ones = np.arange(self.n_edges), np.ones(self.n_edges)
        ends = (np.r_[self.first, self.second], np.r_[rows, rows])
        shape = (self.n_points, self.n_edges)
        self._divergence = sp.csr_array((np.r_[ones, -ones], ends), shape=shape)
        self._sum_at_ends = abs(self._divergence)

    def differences(self, Y):
        """y_i - y_j of each edge."""
        return Y[self.first] - Y[self.second]

    def divergence(self, flow):
        """The adjoint of `differences`: L_w Y is the divergence of w (y_i - y_j)."""
        return self._divergence @ flow

    def slack(self, differences):
        """(b - |y_i - y_j|²) / 2 of each edge."""
        return (self.squared - squares(differences)) / 2

    def centred(self, Y):
        return Y - (self.masses @ Y) / self.masses.sum()

    def spread(self, V):
        """J V."""
        return self.masses[:, None] * self.centred(V)

    def gram(self, Y):
        """Σ_i m_i (y_i - ȳ)(y_i - ȳ)ᵀ, whose eigenvalues are those of X."""
        Y = self.centred(Y)
        return Y.T @ (self.masses[:, None] * Y)

    def objective(self, Y):
        inner = self.gram(Y)
        return np.trace(inner) - (inner**2).sum() / (2 * self.sigma)

    def slope(self, Y):
        """Half the gradient of the objective."""
        return self.spread(Y) - self.spread(Y) @ self.gram(Y) / self.sigma

    def curvature(self, Y):
        """Half the second derivative of the objective, as a function of a direction."""
        if np.isinf(self.sigma):
            return self.spread
        inner, spread = self.gram(Y), self.spread(Y)

        def apply(V):
            moved = self.spread(V)
            cross = Y.T @ moved
            return moved - (moved @ inner + spread @ (cross + cross.T)) / self.sigma

        return apply

    def factor(self, weights, stiffness, differences):
        """The factor of Σ_e (w_e I + k_e d_e d_eᵀ) ⊗ (e_i - e_j)(e_i - e_j)ᵀ, with one point held.

        Its null space, the translations, is thereby given up; on right-hand sides that sum to 0
        that changes the solution by a translation only.
        """
        blocks = (stiffness[:, None] * differences)[:, :, None] * differences[:, None, :]
        each = np.arange(differences.shape[1])
        blocks[:, each, each] += weights[:, None]
        return self._factor(blocks)

    def laplacian_factor(self, weights):
        """The same of L_w alone, for one column."""
        return self._factor(weights[:, None, None])

    def _factor(self, blocks):
        r = blocks.shape[1]
        diagonal = (self._sum_at_ends @ blocks.reshape(self.n_edges, -1)).reshape(-1, r, r)
        each = np.arange(r)
        diagonal[0, each, each] += diagonal[:, each, each].mean()
        for regulariser in (1e-13, 1e-11, 1e-9):
            diagonal[:, each, each] *= 1 + regulariser
            try:
                return self.elimination.factor(diagonal, -blocks)
            except np.linalg.LinAlgError:
                continue
        raise np.linalg.LinAlgError("the weighted Laplacian is not positive definite")

    def count_below(self, weights, level):
        """How many eigenvalues of L_w v = λ diag(m) v are below a level, that of the constant
        vector included.
        """
        degree = self._sum_at_ends @ weights - level * self.masses
        return self.elimination.count_negative(degree[:, None, None], -weights[:, None, None])


def squares(differences):
    """|d|² of each row."""
    return dots(differences, differences)


def dots(A, B):
    """The inner product of each row of A with that of B."""
    return np.einsum("ij,ij->i", A, B)
