"""The paper's own recipe: L-BFGS-B on the dual, with the matrices A_r summed as they are written.

minimise over 0 <= u_r <= C / m:   |(S)_+|^2 / 2 - sum_r u_r   with   S = sum_r u_r A_r

An evaluation costs O(m D^2), and as much memory: for small problems.
"""

import numpy as np
from scipy.optimize import Bounds, minimize

from .dense import dense_rows, factor
from .in_python import command
from .rival import Rival


def learn(task):
    rows = dense_rows(task["X"], task["triplets"])
    m, D = len(rows), task["X"].shape[1]

    def positive_part(u):
        values, vectors = np.linalg.eigh((rows.T @ u).reshape(D, D))
        return (vectors * np.maximum(values, 0)) @ vectors.T

    def descend(u):
        M = positive_part(u)
        return np.vdot(M, M) / 2 - u.sum(), rows @ M.ravel() - 1

    # gtol=0: it compares a projected step, which on a narrow box is small at u = 0 already
    found = minimize(
        descend,
        np.zeros(m),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0, task["parameters"]["C"] / m),
        options={"gtol": 0.0},
    )
    detail = {"objective": -float(found.fun), "steps": int(found.nfev), "status": found.message}
    return factor(positive_part(found.x)), detail


RIVAL = Rival(
    name="paper_recipe",
    learns_from="triplets",
    required=("C",),
    needs="SciPy, which frobmetric brings",
    command=command("function", f"{__name__}:learn", "scipy"),
)
