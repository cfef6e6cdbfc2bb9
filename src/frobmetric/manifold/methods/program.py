"""Maximum variance unfolding as a program in the coordinates Y of the points.

    maximise   Σ_i m_i |y_i - ȳ|² - ‖X‖²_F / (2 sigma)    such that  |y_i - y_j|² <= b_ij

over Y of shape (n_points, r), where X is the Gram matrix of the centred samples and m_i samples
coincide in point i. With sigma = inf this is the original problem, otherwise the paper's; it is
exact if r is large enough. The multipliers w_ij of the constraints weigh the edges of the graph:
with L_w the Laplacian of the weighted graph and J = diag(m) - m mᵀ / Σm, a Y is stationary for
sigma = inf if (L_w - J) Y = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core import PSD, AtMost, FrobeniusSDP, Sparse
from ...core.cg import conjugate_gradients
from ...core.points import Array, Vector
from ..graph import NeighborGraph
from ..sparse.cholesky import Elimination, Factor

#: Error of an iterate that proves nothing: finite, because a monitor leaves out infinite ones.
NO_PROOF = np.finfo(float).max


class Bounds(NamedTuple):
    """Iterate of a method as a monitor sees it: a lower and an upper bound of the maximum.

    `violation` is the largest relative error of a squared distance, or `NO_PROOF`.
    """

    primal: float
    dual: float
    rank: int
    violation: float = 0.0

    @property
    def gap(self) -> float:
        return abs(self.dual - self.primal)

    @property
    def error(self) -> float:
        """Number that a tolerance is compared with."""
        if not 0 < abs(self.dual) < np.inf:
            return NO_PROOF
        return max(self.gap / abs(self.dual), self.violation)


class UnfoldingProgram:
    """Objective, slacks and derivatives for a connected graph and the weight of the Frobenius term.

    The cost of each is linear in the number of edges; `sigma = inf` leaves the term out.
    """

    def __init__(self, graph: NeighborGraph, sigma: float = np.inf) -> None:
        self.squared, self.masses, self.sigma = graph.squared, graph.masses, sigma
        self.first, self.second = graph.edges.T
        self.n_edges, self.n_points = len(graph.edges), graph.n_points
        self.elimination = Elimination(graph.edges, graph.n_points)
        rows, ones = np.arange(self.n_edges), np.ones(self.n_edges)
        ends = (np.r_[self.first, self.second], np.r_[rows, rows])
        shape = (self.n_points, self.n_edges)
        self._divergence = sp.csr_array((np.r_[ones, -ones], ends), shape=shape)
        self._sum_at_ends = abs(self._divergence)

    def differences(self, Y: Array) -> Array:
        """Return y_i - y_j of each edge."""
        return Y[self.first] - Y[self.second]

    def divergence(self, flow: Array) -> Array:
        """Apply the adjoint of `differences`: L_w Y is the divergence of w (y_i - y_j)."""
        return self._divergence @ flow

    def slack(self, differences: Array) -> Vector:
        """Return (b - |y_i - y_j|²) / 2 of each edge."""
        return (self.squared - squares(differences)) / 2

    def relative_squares(self, Y: Array) -> Vector:
        """Return |y_i - y_j|² / b of each edge."""
        return squares(self.differences(Y)) / self.squared

    def centred(self, Y: Array) -> Array:
        """Return Y less the mean of the samples."""
        return Y - (self.masses @ Y) / self.masses.sum()

    def mass_centred(self, V: Array) -> Array:
        """Return J V."""
        return self.masses[:, None] * self.centred(V)

    def scatter(self, Y: Array) -> Array:
        """Return Σ_i m_i (y_i - ȳ)(y_i - ȳ)ᵀ, whose eigenvalues are the nonzero ones of X."""
        Y = self.centred(Y)
        return Y.T @ (self.masses[:, None] * Y)

    def objective(self, Y: Array) -> float:
        """Return the variance less the Frobenius term."""
        scatter = self.scatter(Y)
        return np.trace(scatter) - (scatter**2).sum() / (2 * self.sigma)

    def half_gradient(self, Y: Array) -> Array:
        return self.mass_centred(Y) - self.mass_centred(Y) @ self.scatter(Y) / self.sigma

    def half_hessian(self, Y: Array) -> Callable[[Array], Array]:
        """Return half the second derivative of the objective, as a function of a direction."""
        if np.isinf(self.sigma):
            return self.mass_centred
        scatter, centred = self.scatter(Y), self.mass_centred(Y)

        def apply(V: Array) -> Array:
            moved = self.mass_centred(V)
            cross = Y.T @ moved
            return moved - (moved @ scatter + centred @ (cross + cross.T)) / self.sigma

        return apply

    def factor(self, weights: Vector, stiffness: Vector, differences: Array) -> Factor:
        """Factor Σ_e (w_e I + k_e d_e d_eᵀ) ⊗ (e_i - e_j)(e_i - e_j)ᵀ, with one point held.

        Holding a point removes the null space, the translations. For right-hand sides that sum to
        0 this changes the solution by a translation only.
        """
        blocks = (stiffness[:, None] * differences)[:, :, None] * differences[:, None, :]
        each = np.arange(differences.shape[1])
        blocks[:, each, each] += weights[:, None]
        return self._factor(blocks)

    def dense_laplacian(self, weights: Vector) -> Array:
        """Return diag(m)^-1/2 L_w diag(m)^-1/2."""
        root = np.sqrt(self.masses)
        flow = weights[:, None] * self.differences(np.diag(1 / root))
        return self.divergence(flow) / root[:, None]

    def laplacian_factor(self, weights: Vector) -> Factor:
        """Factor the Laplacian L_w, with one point held."""
        return self._factor(weights[:, None, None])

    def _factor(self, blocks: Array) -> Factor:
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

    def count_below(self, weights: Vector, level: float) -> int:
        """Count the eigenvalues of L_w v = λ diag(m) v below a level, including the zero.

        A `LinAlgError` is raised if one is too close to the level to be counted with certainty.
        """
        degree = self._sum_at_ends @ weights - level * self.masses
        return self.elimination.count_negative(degree[:, None, None], -weights[:, None, None])


class NewtonSystem:
    """Linear system of a Newton step in the coordinates.

    Its matrix is Σ_e (w_e I + k_e d_e d_eᵀ) ⊗ (e_i - e_j)(e_i - e_j)ᵀ less half the second
    derivative of the objective at Y. The sum, with |w| in place of w, is factored with the
    sparsity of the graph and preconditions conjugate gradients.
    """

    def __init__(
        self, program: UnfoldingProgram, Y: Array, w: Vector, stiffness: Vector, d: Array
    ) -> None:
        self.program, self.w, self.stiffness, self.d = program, w[:, None], stiffness, d
        self.half_hessian = program.half_hessian(Y)
        self.factor = program.factor(np.abs(w), stiffness, d)

    def apply(self, V: Array) -> Array:
        dV = self.program.differences(V)
        flow = self.w * dV + (self.stiffness * dots(self.d, dV))[:, None] * self.d
        return self.program.divergence(flow) - self.half_hessian(V)

    def _precondition(self, residual: Array) -> Array:
        return self.program.centred(self.factor.solve(residual))

    def solve(self, right: Array, accuracy: float) -> tuple[Array, bool]:
        """Solve for a right-hand side, and return whether the system looked convex on the way.

        A direction along which it is not convex ends the iteration, and the solution follows it.
        """
        result = conjugate_gradients(
            self.apply,
            right,
            self._precondition,
            accuracy=accuracy,
            max_products=60,
            min_curvature=1e-10,
        )
        if result.direction is None:
            return result.x, True
        bend = max(abs(result.curvature), 1e-3 * result.slope)
        return result.x + result.slope / bend * result.direction, False


def gram_problem(program: UnfoldingProgram) -> FrobeniusSDP:
    """Write the program as a `FrobeniusSDP` in the Gram matrix, for solvers of general SDPs.

    minimise -<I - q qᵀ, X> + |X|² / (2 sigma)  such that  |y_i - y_j|² <= b_ij,

    where X is the Gram matrix of the points, each multiplied by the root of its mass, so that its
    Frobenius norm equals the norm for all samples; q is the unit vector of these roots.
    """
    root = np.sqrt(program.masses)
    q = root / np.linalg.norm(root)
    cost = np.outer(q, q) - np.eye(len(q))
    i, j, n = program.first, program.second, program.n_points
    entries = [(1, i, i), (1, j, j), (-1, i, j), (-1, j, i)]  # (e_i/√m_i - e_j/√m_j)(...)ᵀ
    values = np.concatenate([sign / (root[a] * root[b]) for sign, a, b in entries])
    columns = np.concatenate([a * n + b for _, a, b in entries])
    rows = np.tile(np.arange(program.n_edges), len(entries))
    flat = sp.csr_array((values, (rows, columns)), shape=(program.n_edges, n * n))
    return FrobeniusSDP(Sparse(flat, PSD(n)), AtMost(program.squared), cost, sigma=program.sigma)


def feasible(program: UnfoldingProgram, Y: Array) -> Array:
    """Shrink Y until it meets every constraint; for sigma = inf, also stretch it to the limit."""
    longest = np.sqrt(program.relative_squares(Y).max())
    return Y / (longest if np.isinf(program.sigma) else max(longest, 1.0))


def principal_axes(program: UnfoldingProgram, Y: Array) -> Array:
    """Centre Y and rotate it so that its columns are its principal axes, the widest first."""
    Y = program.centred(Y)
    return Y @ np.linalg.eigh(program.scatter(Y))[1][:, ::-1]


def squares(differences: Array) -> Vector:
    """Return |d|² of each row."""
    return dots(differences, differences)


def dots(A: Array, B: Array) -> Vector:
    """Return the inner product of each row of A with the same row of B."""
    return np.einsum("ij,ij->i", A, B)
