"""Sparse inverse of a matrix by an L1 penalty (graphical lasso): the problem of SDML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.points import Array, Mask

#: Largest number of steps, and of conjugate gradients in each.
MOST_STEPS, MOST_CONJUGATES = 500, 50
#: Duality gap for each row of T at which a solve ends.
TOL = 1e-7
#: Relative residual at which conjugate gradients end.
RESIDUAL = 0.1
#: Entries of T below this share of the diagonal are small.
SMALL = 1e-4
#: Steps below this are no steps.
SHORTEST = 1e-14


class UnboundedError(RuntimeError, ValueError):
    """The objective has no lower bound, so that there is no optimum."""


@dataclass(frozen=True, eq=False)
class SparseInverseProblem:
    """Minimise trace(P T) - log det T + sum_ij A_ij |T_ij| over positive definite T.

    A is symmetric and zero on the diagonal. The dual problem is to maximise log det W + n over W
    with |W_ij - P_ij| <= A_ij; at the optimum T is the inverse of W.
    """

    P: Array
    A: Array

    def primal(self, T: Array) -> float:
        """Return the objective, infinity if T is not positive definite."""
        try:
            factor = np.linalg.cholesky(T)
        except np.linalg.LinAlgError:
            return np.inf
        return self.linear_part(T) - 2 * np.log(np.diag(factor)).sum()

    def linear_part(self, T: Array) -> float:
        """Return the objective without the determinant; if it is negative, multiples of T win."""
        return np.sum(self.P * T) + np.sum(self.A * np.abs(T))

    def dual(self, W: Array) -> float:
        """Return the dual bound at the feasible matrix next to W, -inf if it is not definite."""
        return self._log_det(self.P + self._part(W)) + len(W)

    def best_dual(self, W: Array) -> float:
        """Return the dual bound there, or on the way to P; -inf if no matrix is definite."""
        part = self._part(W)
        bounds = (self._log_det(self.P + s * part) for s in 0.5 ** np.arange(30))
        return next((bound for bound in bounds if bound > -np.inf), -np.inf) + len(W)

    def _part(self, W: Array) -> Array:
        return np.clip(W - self.P, -self.A, self.A)

    def start(self) -> Array:
        """Return the better one of the diagonal and the full inverse of P."""
        starts = [np.diag(1 / np.diag(self.P))]
        if self._log_det(self.P) > -np.inf:
            starts.append(symmetric_inverse(self.P))
        return min(starts, key=self.primal)

    @staticmethod
    def _log_det(S: Array) -> float:
        try:
            return 2 * np.log(np.diag(np.linalg.cholesky(S))).sum()
        except np.linalg.LinAlgError:
            return -np.inf


def solve_sparse_inverse(
    problem: SparseInverseProblem, report: Callable[[float, float, int], None]
) -> tuple[Array, bool]:
    """Return T, and whether its gap is below the tolerance; raise `UnboundedError`.

    Each step is a proximal gradient step, which chooses the entries that are not zero, and a
    Newton step in these entries with their signs.
    """
    T, t = problem.start(), 1.0
    value = problem.primal(T)
    for _ in range(MOST_STEPS):
        W = symmetric_inverse(T)
        if problem.linear_part(T) <= 0:
            raise UnboundedError
        gap = value - problem.dual(W)
        report(value, gap, len(T))
        if gap <= TOL * len(T):
            return T, True
        T, value, t = _proximal_step(problem, T, W, value, 4 * t)
        if t < SHORTEST:
            break
        T, value = _newton_step(problem, T, value)
    return T, False


def _proximal_step(
    problem: SparseInverseProblem, T: Array, W: Array, value: float, t: float
) -> tuple[Array, float, float]:
    """Return the point after a proximal gradient step, its objective, and its step length."""
    gradient, before = problem.P - W, np.sum(problem.A * np.abs(T))
    while t >= SHORTEST:
        moved = T - t * gradient
        following = np.sign(moved) * np.maximum(np.abs(moved) - t * problem.A, 0.0)
        change = following - T
        model = np.sum(change * gradient) + np.sum(change**2) / (2 * t) - before
        model += np.sum(problem.A * np.abs(following))
        lower = problem.primal(following)
        if lower <= value + model + SHORTEST * abs(value):
            return following, lower, t
        t /= 2
    return T, value, t


def _newton_step(problem: SparseInverseProblem, T: Array, value: float) -> tuple[Array, float]:
    """Return the point after a Newton step in the entries that are not zero, if it is better."""
    W, sign = symmetric_inverse(T), np.sign(T)
    descent, root = W - problem.P - problem.A * sign, np.sqrt(np.diag(T))
    # entries that are about to vanish stay: to stop them at zero would bend the direction
    free = (np.abs(T) > SMALL * np.outer(root, root)) | (descent * sign > 0)
    H = _newton_direction(T, W, free, np.where(free, descent, 0.0))
    for s in 0.5 ** np.arange(20):
        following = T + s * H
        following[following * sign < 0] = 0.0
        lower = problem.primal(following)
        if lower < value:
            return following, lower
    return T, value


def _newton_direction(T: Array, W: Array, free: Mask, residual: Array) -> Array:
    """Return H in the free entries with W H W = residual there, by conjugate gradients.

    T R T, the solution if all entries were free, is the preconditioner.
    """
    H = np.zeros_like(T)
    image = direction = np.where(free, T @ residual @ T, 0.0)
    size = first = np.sum(residual * image)
    for _ in range(MOST_CONJUGATES):
        if size <= RESIDUAL**2 * first:
            break
        product = np.where(free, W @ direction @ W, 0.0)
        step = size / np.sum(direction * product)
        H, residual = H + step * direction, residual - step * product
        image = np.where(free, T @ residual @ T, 0.0)
        last, size = size, np.sum(residual * image)
        direction = image + size / last * direction
    return H


def symmetric_inverse(S: Array) -> Array:
    """Return the inverse of a symmetric matrix, exactly symmetric."""
    inverse = np.linalg.inv(S)
    return (inverse + inverse.T) / 2
