"""Largest sum of distances for a trace of one: the problem of MMC and its solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

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
    e, it is equal.
    """

    Z: np.ndarray
    weight: np.ndarray

    def start(self):
        """Return the factor of a multiple of the identity, as a vector."""
        return np.eye(self.Z.shape[1]).ravel()

    def distances(self, x):
        """Return the distances under N."""
        F = self._factor(x)
        return np.linalg.norm(self.Z @ F, axis=1) / np.linalg.norm(F)

    def pull(self, x, c):
        """Return half the gradient of sum_r c_r |F.T z_r|^2 by the factor."""
        return (self.Z.T @ (c[:, None] * (self.Z @ self._factor(x)))).ravel()

    def largest(self, c):
        """Return the largest sum_r c_r z_r.T N z_r of all N in the cone."""
        return float(np.linalg.eigvalsh((self.Z * c[:, None]).T @ self.Z)[-1])

    def matrix_factor(self, x):
        """Return A with N = A.T @ A, the longest direction first; zero up to rounding is zero."""
        vectors, lengths, _ = np.linalg.svd(self._factor(x) / np.linalg.norm(x))
        is_zero = lengths**2 <= len(lengths) * np.finfo(float).eps
        return np.where(is_zero, 0.0, lengths)[:, None] * vectors.T

    def bound(self, distances):
        """Return an upper bound of the optimum, from the distances of any N as e."""
        mean = self.weight @ distances / self.weight.sum()
        e = np.maximum(distances, SHORTEST * mean)
        return float(np.sqrt(2 * self.largest(self.weight / (2 * e)) * (self.weight @ e)))

    def _factor(self, x):
        n = self.Z.shape[1]
        return x.reshape(n, n)


class DiagonalSpreadProblem(SpreadProblem):
    """The same over diagonal N, with the entries of Z squared: F is the root of the diagonal."""

    def start(self):
        return np.ones(self.Z.shape[1])

    def distances(self, x):
        return np.sqrt(self.Z @ x**2) / np.linalg.norm(x)

    def pull(self, x, c):
        return x * (self.Z.T @ c)

    def largest(self, c):
        return float((self.Z.T @ c).max())

    def matrix_factor(self, x):
        return np.diag(np.abs(x) / np.linalg.norm(x))


def solve_spread(problem, tol, max_iter, report):
    """Return the factor, as a vector, and how the solver ended: L-BFGS on minus the logarithm."""

    def objective(x):
        size, distances = np.linalg.norm(x), problem.distances(x)
        total = problem.weight @ distances
        c = np.divide(problem.weight, distances, where=distances > 0, out=np.zeros_like(distances))
        return -np.log(total), (x - problem.pull(x, c) / total) / size**2

    def is_solved(x):
        distances = problem.distances(x)
        total, bound = problem.weight @ distances, problem.bound(distances)
        report(-total, bound - total, problem.Z.shape[1])
        return bool(bound <= (1 + tol) * total)

    def watch(intermediate_result):
        if is_solved(intermediate_result.x):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": MEMORY, "ftol": 0, "gtol": 0}
    start = problem.start()
    found = minimize(objective, start, jac=True, method="L-BFGS-B", callback=watch, options=options)
    return found.x, {"n_iter": max(1, int(found.nit)), "is_converged": is_solved(found.x)}
