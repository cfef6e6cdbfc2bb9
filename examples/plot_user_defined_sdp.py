"""
See what a constraint is worth: the multipliers of a portfolio
==============================================================

This is a semidefinite program of our own. Ten assets with the covariance S are held in the
proportions w. X stands for w w.T, and its variance <S, X> is minimised such that

* all money is invested: <1 1.T, X> = 1;
* each of three sectors gets at least a given share, where e marks its assets: <e 1.T, X> >= share;
* no asset is too heavy: X_ii <= cap.

Each row has a multiplier y: how fast the smallest variance rises with its right-hand side. A row
that does not matter has y = 0. The figure changes one right-hand side at a time and solves again.
The answers leave the star along the line with slope y and never go below it, because every y is
a proof: whatever b is, no X that satisfies the rows has a variance below b.y.
"""

import matplotlib.pyplot as plt
import numpy as np

from frobmetric.sdp import make_sdp, solve_sdp

rng = np.random.default_rng(4)
n, one = 10, np.ones(10)
factors = rng.normal(size=(n, 3))
S = factors @ factors.T + np.diag(rng.uniform(0.5, 3, n))
sectors = [np.isin(np.arange(n), part) * 1.0 for part in ([0, 1, 2], [3, 4, 5], [6, 7, 8, 9])]

rows = [np.outer(one, one)]
rows += [(np.outer(e, one) + np.outer(one, e)) / 2 for e in sectors]
rows += [np.diag(e) for e in np.eye(n)]
b = np.concatenate([[1.0], [0.45, 0.28, 0.1], np.full(n, 0.035)])
senses = ["="] + 3 * [">="] + n * ["<="]
names = ["all money", "sector A", "sector B", "sector C"] + [f"cap {i}" for i in range(n)]

solution = solve_sdp(make_sdp(S, rows, b, senses), tol=1e-8)
optimum, y = solution.certificate.primal, solution.y
shown = [0, 1, 3, 4 + int(np.argmin(y[4:]))]

figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharey=True)
for r, ax in zip(shown, axes.ravel(), strict=True):
    moves = b[r] * np.linspace(-0.15, 0.15, 7)
    moved = [b + move * np.eye(len(b))[r] for move in moves]
    values = [solve_sdp(make_sdp(S, rows, c, senses), tol=1e-8).certificate.primal for c in moved]
    ax.plot(b[r] + moves, optimum + y[r] * moves, color="0.6", label="predicted by y")
    ax.plot(b[r] + moves, values, "o", label="solved again")
    ax.plot(b[r], optimum, "k*", markersize=12, label="as given")
    ax.set(title=f"{names[r]}: y = {y[r]:.3f}", xlabel=f"right-hand side ({senses[r]})")
for ax in axes[:, 0]:
    ax.set_ylabel("smallest variance")
axes[0, 0].legend()
plt.show()
