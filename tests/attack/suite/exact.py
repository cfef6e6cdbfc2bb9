"""Objectives of a problem in exact rational arithmetic, from its definition alone.

Nothing of the library computes here. A problem is given by its samples, comparisons and weights;
every float64 is a rational number, and sums and products of these have no rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def exact(values):
    """Return an array of floats as an array of rational numbers."""
    values = np.asarray(values, dtype=float)
    flat = list(map(number, values.ravel().tolist()))
    return np.array([*flat, None], dtype=object)[:-1].reshape(values.shape)


def number(value):
    """Return a float as a rational number, by python-flint."""
    from flint import fmpq  # of the extra `test`: other attacks do without

    return fmpq(*float(value).as_integer_ratio())


@dataclass(frozen=True)
class ExactProblem:
    """The problem of margins |x_c - x_d|^2 - |x_a - x_b|^2 of rows (a, b, c, d) under M.

    Minimise <cost, M> + |M - prior|^2 / (2 sigma) + sum_r loss_r(margin_r). The loss has a kind, a
    weight for each row, the target 1 and the width 1/2.
    """

    X: np.ndarray
    quadruplets: np.ndarray
    kind: str
    weight: np.ndarray
    cost: np.ndarray
    prior: np.ndarray
    sigma: float = 1.0

    def primal(self, L):
        """Return the objective at M = L @ L.T."""
        L = exact(L)
        M, total = L @ L.T, number(0)
        for weight, margin in zip(
            exact(self.weight), self._margins(exact(self.X) @ L), strict=True
        ):
            total += weight * self._loss(margin)
        moved = M - exact(self.prior)
        return (
            total + np.sum(exact(self.cost) * M) + np.sum(moved * moved) / (2 * number(self.sigma))
        )

    def dual(self, u):
        """Return a lower bound of the optimum, the best that the eigenvectors of floats give."""
        u, sigma, prior = exact(u), number(self.sigma), exact(self.prior)
        slack = exact(self.cost) - self._adjoint(u)
        S = (prior / sigma - slack).astype(float)
        values, vectors = np.linalg.eigh(S)
        F = exact(vectors[:, values < 0] * np.sqrt(-values[values < 0]))
        Z = slack - F @ F.T
        value = sum(map(self._conjugate, exact(self.weight), u), number(0))
        return value + np.sum(prior * Z) - sigma / 2 * np.sum(Z * Z)

    def _margins(self, P):
        a, b, c, d = self.quadruplets.T
        near, far = P[a] - P[b], P[c] - P[d]
        return np.sum(far * far, axis=1) - np.sum(near * near, axis=1)

    def _adjoint(self, u):
        X, (a, b, c, d) = exact(self.X), self.quadruplets.T
        near, far = X[a] - X[b], X[c] - X[d]
        return (far.T * u) @ far - (near.T * u) @ near

    def _loss(self, margin):
        short, half = max(number(0), 1 - margin), number(0.5)
        if self.kind == "hinge":
            return short
        if self.kind == "squared_hinge":
            return short * short
        return short * short if short <= half else short - half / 2

    def _conjugate(self, weight, u):
        """Return -loss*(-u) of one row."""
        if self.kind == "hinge" or weight == 0:
            return u
        return u - u * u / (4 * weight)  # both losses are weight t^2 for t up to the width
