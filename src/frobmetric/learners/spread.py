"""Largest sum of distances for a trace of one: the problem of MMC and its solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..core.points import Array, Vector

#: Distances below this share of the mean count as that share in the bound.
SHORTEST = 1e-9
#: Past steps that the quasi-Newton method remembers.
MEMORY = 20


@dataclass(frozen=True, eq=False)
class SpreadProblem:
    """Maximise sum_r w_r sqrt(z_r.T N z_r) over N in a cone with trace N = 1.

    The variable is a factor F with N = F F.T / |F|^2. For every e > 0, the optimum is at most
    sqrt(2 a b) with a = sum_r w_r e_r, b the largest eigenvalue of sum_r w_r z_r z_r.T / (2 e_r):
    sqrt(q) <= (q / e + e) / 2, and N is free to be scaled. With the distances of the optimal N as
    e, it is equal. The same matrix, of the distances under N, gives the gradient in F.
    """

    Z: Array
    weight: Array

    def start(self) -> Vector:
        """Return the factor of a multiple of the identity, as a vector."""
        return np.eye(self.Z.shape[1]).ravel()

    def evaluate(self, x: Vector) -> tuple[float, float, Vector]:
        """Return the sum of distances under N, an upper bound of it, and its gradient in F."""
        distances = self.distances(x)
        total = float(self.weight @ distances)
        scatter, bound = self._scatter(distances)
        return total, bound, (self.pull(x, scatter) - total * x) / (x @ x)

    def distances(self, x: Vector) -> Vector:
        """Return the distances under N."""
        Y = self.Z @ self._factor(x)
        return np.sqrt(np.einsum("ij,ij->i", Y, Y)) / np.linalg.norm(x)

    def pull(self, x: Vector, scatter: Array) -> Vector:
        """Return the product of the scatter and the factor."""
        return (scatter @ self._factor(x)).ravel()

    def scatter(self, c: Vector) -> Array:
        """Return sum_r c_r z_r z_r.T."""
        return (self.Z * c[:, None]).T @ self.Z

    def largest(self, scatter: Array) -> float:
        """Return the largest inner product of the scatter with any N in the cone of trace one."""
        return float(np.linalg.eigvalsh(scatter)[-1])

    def matrix_factor(self, x: Vector) -> Array:
        """Return A with N = A.T @ A, the longest direction first; zero up to rounding is zero."""
        vectors, lengths, _ = np.linalg.svd(self._factor(x) / np.linalg.norm(x))
        is_zero = lengths**2 <= len(lengths) * np.finfo(float).eps
        return np.where(is_zero, 0.0, lengths)[:, None] * vectors.T

    def bound(self, distances: Vector) -> float:
        """Return an upper bound of the optimum, from the distances of any N as e."""
        return self._scatter(distances)[1]

    def _scatter(self, distances: Vector) -> tuple[Array, float]:
        """Return the sum of w_r z_r z_r.T / e_r for these distances, and the bound from it."""
        mean = self.weight @ distances / self.weight.sum()
        e = np.maximum(distances, SHORTEST * mean)
        scatter = self.scatter(self.weight / e)
        return scatter, float(np.sqrt(self.largest(scatter) * (self.weight @ e)))

    def _factor(self, x: Vector) -> Array:
        n = self.Z.shape[1]
        return x.reshape(n, n)


class DiagonalSpreadProblem(SpreadProblem):
    """Spread problem over diagonal N, with the entries of Z squared: F is the root of it."""

    def start(self) -> Vector:
        return np.ones(self.Z.shape[1])

    def distances(self, x: Vector) -> Vector:
        return np.sqrt(self.Z @ x**2) / np.linalg.norm(x)

    def pull(self, x: Vector, scatter: Array) -> Vector:
        return x * scatter

    def scatter(self, c: Vector) -> Array:
        return self.Z.T @ c

    def largest(self, scatter: Array) -> float:
        return float(scatter.max())

    def matrix_factor(self, x: Vector) -> Array:
        return np.diag(np.abs(x) / np.linalg.norm(x))


def solve_spread(
    problem: SpreadProblem, tol: float, max_iter: int, report: Callable[[float, float, int], None]
) -> tuple[Vector, dict[str, Any]]:
    """Return the factor, as a vector, and how the solver ended: L-BFGS on minus the logarithm."""
    last: dict[str, Any] = {}

    def objective(x: Vector) -> tuple[float, Vector]:
        total, bound, gradient = problem.evaluate(x)
        last.update(x=x.copy(), total=total, bound=bound)
        return -np.log(total), -gradient / total

    def is_solved(x: Vector) -> bool:
        if not np.array_equal(x, last["x"]):
            objective(x)
        report(-last["total"], last["bound"] - last["total"], problem.Z.shape[1])
        return last["bound"] <= (1 + tol) * last["total"]

    def watch(intermediate_result: OptimizeResult) -> None:
        if is_solved(intermediate_result.x):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": MEMORY, "ftol": 0, "gtol": 0}
    start = problem.start()
    found = minimize(objective, start, jac=True, method="L-BFGS-B", callback=watch, options=options)
    return found.x, {"n_iter": max(1, int(found.nit)), "is_converged": is_solved(found.x)}
