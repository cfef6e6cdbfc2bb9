"""The linear systems of the methods that work with coordinates."""

from __future__ import annotations

import numpy as np

from .program import dots


class NewtonSystem:
    """Σ_e (w_e I + k_e d_e d_eᵀ) ⊗ (e_i - e_j)(e_i - e_j)ᵀ less the objective's curvature at Y.

    The sum, with |w| for w, is factored with the sparsity of the graph; the rest is left to
    conjugate gradients, which that preconditions.
    """

    def __init__(self, program, Y, w, stiffness, d):
        self.program, self.w, self.stiffness, self.d = program, w[:, None], stiffness, d
        self.curvature = program.curvature(Y)
        self.factor = program.factor(np.abs(w), stiffness, d)

    def apply(self, V):
        dV = self.program.differences(V)
        flow = self.w * dV + (self.stiffness * dots(self.d, dV))[:, None] * self.d
        return self.program.divergence(flow) - self.curvature(V)

    def solve(self, right, tol, max_iter=60):
        """By conjugate gradients; and whether no direction was met along which it is not convex.

        Such a direction ends the search, and the answer goes along it.
        """
        X, R = np.zeros_like(right), right
        P = self._rough_solve(R)
        first = now = float((R * P).sum())
        for _ in range(max_iter if first > 0 else 0):
            HP = self.apply(P)
            bend = float((P * HP).sum())
            if bend <= 1e-10 * now:
                return X + now / max(abs(bend), 1e-3 * now) * P, False
            X, R = X + now / bend * P, R - now / bend * HP
            Z = self._rough_solve(R)
            before, now = now, float((R * Z).sum())
            if now <= tol**2 * first:
                break
            P = Z + now / before * P
        return X, True

    def _rough_solve(self, R):
        """What was factored alone."""
        return self.program.centred(self.factor.solve(R))
