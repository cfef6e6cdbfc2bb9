"""LogDet divergence to the identity plus that of slacks: the problem of ITML and its solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..core.points import Array, Index, Vector
from ..core.solution import Certificate
from .learner import certificate_of
from .pairs import logdet_distance

#: Weights of pairs grow by this factor from one stage to the next, if they are large.
STAGE = 30.0
#: Gap at which a stage that is not the last one ends.
ROUGH = 1.0
#: Gap for each row of M that is zero up to rounding.
NOTHING = 1e-13
#: Relative error of the step that ends a line search.
ROUGH_STEP = 1e-3
#: Largest number of evaluations of a line search.
MOST_TRIALS = 60
#: Relative residual at which conjugate gradients end; less near the optimum.
RESIDUAL = 0.1


@dataclass(frozen=True, eq=False)
class LogDetProblem:
    """Minimise f(M) = LogDet(M, I) + sum_r w_r slack_r(z_r.T M z_r) over positive definite M.

    Here slack(d) is LogDet(d, 1) = d - log d - 1 for d on the wrong side of one, which is above for
    similar pairs (y = 1) and below for dissimilar ones, and zero for others. The dual function is
    log det(I + sum_r u_r z_r z_r.T) + sum_r w_r log(1 - u_r / w_r) with y_r u_r >= 0.

    A point is given by a factor R with M = R @ R.T. Rows of Z are the z_r, (n_pairs, n).
    """

    Z: Array
    y: Index
    weight: Array

    def evaluate(self, R: Array) -> _Point:
        """Return the `_Point` of a factor."""
        return _Point(self, R, self.Z @ R)

    def dual(self, u: Vector) -> float:
        """Return the dual function: -inf if the matrix in it is not positive definite."""
        S = np.eye(self.Z.shape[1]) + (self.Z * u[:, None]).T @ self.Z
        sign, log_det = np.linalg.slogdet(S)
        if sign <= 0 or np.linalg.eigvalsh(S)[0] <= 0:
            return -np.inf
        return log_det + self.weight @ np.log1p(-u / self.weight)

    def certify(self, R: Array, size: float) -> Certificate:
        """Return the certificate of a factor; `size` is the norm of M for its distance bound.

        The multipliers are those of M, made smaller if their matrix is not positive definite.
        """
        point = self.evaluate(R)
        u = point.multiplier
        while (dual := self.dual(u)) == -np.inf:
            u = u / 2
        proof = certificate_of(point.primal, dual, rounding=point.rounding)
        return replace(proof, distance_bound=logdet_distance(proof.gap, size))

    def start(self) -> Array:
        """Return a factor to start from: a lower bound of the optimal M, times the best number.

        No multiplier of a similar pair exceeds its weight, and others are not positive.
        """
        is_similar = self.y > 0
        Z, n = self.Z[is_similar], self.Z.shape[1]
        S = np.eye(n) + (Z * self.weight[is_similar, None]).T @ Z
        values, vectors = np.linalg.eigh(S)
        R = vectors / np.sqrt(np.maximum(values, 1.0))
        return R * np.exp(self._best_log_scale(R) / 2)

    def _best_log_scale(self, R: Array) -> float:
        """Return the s for which exp(s) M has the least objective."""
        d, trace, n = np.sum((self.Z @ R) ** 2, axis=1), np.sum(R**2), len(R)

        def slope(s: float) -> float:
            excess = np.exp(s) * d - 1
            is_active = self.y * excess > 0
            return trace * np.exp(s) - n + self.weight[is_active] @ excess[is_active]

        turning = -np.log(np.concatenate([d, [trace / n]]))
        return brentq(slope, turning.min() - 1, turning.max() + 1, xtol=0.01)


class _Point:
    """Point M = R R.T of a `LogDetProblem`, with what is known of it.

    The gradient is given for H in M + R H R.T, the coordinates in which M is the identity.
    """

    def __init__(self, problem: LogDetProblem, R: Array, U: Array) -> None:
        self.problem, self.R, self.U = problem, R, U
        self.d = np.einsum("ij,ij->i", U, U)
        self.is_active = problem.y * (self.d - 1) > 0

    @cached_property
    def multiplier(self) -> Vector:
        """Multipliers u of the pairs."""
        return np.where(self.is_active, self.problem.weight * (1 - 1 / self.d), 0.0)

    @cached_property
    def active(self) -> Array:
        """Rows of U of the pairs that have a multiplier."""
        return self.U[self.is_active]

    @cached_property
    def primal(self) -> float:
        d = self.d[self.is_active]
        slack = self.problem.weight[self.is_active] @ (d - 1 - np.log(d))
        return np.sum(self.R**2) - len(self.R) - self.log_det + slack

    @cached_property
    def log_det(self) -> float:
        return 2 * np.linalg.slogdet(self.R)[1]

    @property
    def rounding(self) -> float:
        """Bound on the rounding error of the objective, estimated from the size of its terms."""
        terms = np.sum(self.R**2) + len(self.R) + abs(self.log_det) + abs(self.primal)
        return float(4 * np.finfo(float).eps * terms)

    @cached_property
    def gradient(self) -> Array:
        u = self.multiplier[self.is_active, None]
        return self.R.T @ self.R - np.eye(len(self.R)) + (self.active * u).T @ self.active

    @cached_property
    def gap(self) -> float:
        """Objective minus dual function at the multipliers, from the gradient alone."""
        values = np.linalg.eigvalsh(self.gradient)
        return np.sum(values - np.log1p(values)) if values[0] > -1 else np.inf

    def is_solved(self, tol: float) -> bool:
        """Return whether the gap is below tol, in itself and relative to the objective."""
        return self.gap <= max(tol * min(1.0, self.primal), NOTHING * len(self.R))

    def newton_direction(self) -> Array:
        """Return the H that conjugate gradients find for Newton's equation."""
        U = self.active
        curvature = self.problem.weight[self.is_active] / self.d[self.is_active] ** 2
        H = np.zeros_like(self.gradient)
        residual = direction = -self.gradient
        size = first = np.sum(residual**2)
        goal = first * min(RESIDUAL**2, np.sqrt(first))
        for _ in range(H.size):
            lengths = curvature * np.einsum("ij,ij->i", U @ direction, U)
            image = direction + (U * lengths[:, None]).T @ U
            step = size / np.sum(direction * image)
            H, residual = H + step * direction, residual - step * image
            last, size = size, np.sum(residual**2)
            if size <= goal:
                break
            direction = residual + size / last * direction
        return H

    def after_newton_step(self) -> _Point:
        """Return the best point M + t R H R.T with Newton's direction H."""
        H = self.newton_direction()
        values: Any = np.linalg.eigvalsh(H)
        trace = float(np.sum((self.R @ H) * self.R))
        change = np.einsum("ij,ij->i", self.U @ H, self.U)
        t = _line_search(partial(self._slope, values, change, trace), values[0])
        C = np.linalg.cholesky(np.eye(len(H)) + t * H)
        return _Point(self.problem, self.R @ C, self.U @ C)

    def _slope(self, values: Vector, change: Vector, trace: float, t: float) -> tuple[float, float]:
        """Return both derivatives of the objective by t."""
        d, w = self.d + t * change, self.problem.weight
        is_active = self.problem.y * (d - 1) > 0
        d, w, change = d[is_active], w[is_active], change[is_active]
        rates = values / (1 + t * values)
        slope = trace - rates.sum() + (w * change) @ (1 - 1 / d)
        return slope, rates @ rates + w @ (change / d) ** 2


def _line_search(derivatives: Callable[[float], tuple[float, float]], smallest: float) -> float:
    """Return a t > 0 at which the slope of a convex function is zero, roughly.

    The function is finite as long as 1 + t * smallest is positive.
    """
    low, high = 0.0, -1 / smallest if smallest < 0 else np.inf
    t = min(1.0, 0.99 * high)
    for _ in range(MOST_TRIALS):
        slope, curvature = derivatives(t)
        low, high = (low, t) if slope > 0 else (t, high)
        following = t - slope / curvature
        if not low < following < high:
            following = (low + high) / 2 if high < np.inf else 2 * t
        if abs(following - t) <= ROUGH_STEP * t:
            break
        t = following
    return t


def solve_logdet(
    problem: LogDetProblem,
    gamma: float,
    tol: float,
    max_iter: int,
    report: Callable[[float, float, int], None],
) -> tuple[Array, dict[str, Any]]:
    """Return the factor R of the optimal M, (n, n), and how the solver ended.

    Newton's method with a line search, in stages of growing weights if `gamma` is large.
    """
    n_stages = max(0, int(np.ceil(np.log(gamma) / np.log(STAGE))))
    R, n_iter = None, 0
    for stage in range(n_stages, -1, -1):
        part = replace(problem, weight=problem.weight / STAGE**stage)
        point = part.evaluate(part.start() if R is None else R)
        while n_iter < max_iter:
            n_iter += 1
            report(point.primal, point.gap, len(point.R))
            if point.is_solved(tol) or (stage and point.gap <= ROUGH):
                break
            point = point.after_newton_step()
        R = point.R
    return point.R, {"n_iter": n_iter, "is_converged": point.is_solved(tol)}
