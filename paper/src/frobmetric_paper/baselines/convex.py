"""P3 with its matrices written out: by cvxpy with Clarabel or SCS, and by the paper's recipe.

minimise over M >= 0:   |M|^2 / 2 + C / m sum_r max(0, 1 - <A_r, M>)

The matrices A_r take O(m D^2) memory: for small problems.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ..harness.worker import Target
from .base import MetricBaseline

#: Bytes that the matrices A_r may take together.
MAX_BYTES = 4 << 30
#: Options of the solvers of cvxpy; Clarabel's default tolerances are 1e-8.
OPTIONS = {"CLARABEL": {}, "SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7}}


def dense_rows(X, triplets):
    """Return A_r = f f.T - g g.T, flattened, with f = anchor - far and g = anchor - near."""
    m, D = len(triplets), X.shape[1]
    size = 8 * m * D * D
    if size > MAX_BYTES:
        raise ValueError(
            f"{m} dense matrices of order {D} take {size / 2**30:.1f} GiB; this formulation is for "
            f"less than {MAX_BYTES / 2**30:g} GiB"
        )
    anchor, near, far = (X[column] for column in triplets.T)
    rows = np.zeros((m, D, D))
    for sign, other in ((1.0, far), (-1.0, near)):
        step = anchor - other
        rows += sign * step[:, :, None] * step[:, None, :]
    return rows.reshape(m, D * D)


def psd_factor(M):
    """Return L with L L.T the nearest positive semidefinite matrix to M."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return vectors * np.sqrt(np.maximum(values, 0))


def learn_by_clarabel(task):
    """Solve P3 by cvxpy with Clarabel, an interior-point method."""
    return _solve(task, "CLARABEL")


def learn_by_scs(task):
    """Solve P3 by cvxpy with SCS, a first-order method."""
    return _solve(task, "SCS")


def _solve(task, solver):
    """Solve P3 by cvxpy; the time includes compilation."""
    import cvxpy as cp

    rows = dense_rows(task["X"], task["triplets"])
    D = task["X"].shape[1]
    M = cp.Variable((D, D), PSD=True)
    margins = rows @ cp.vec(M, order="C")
    loss = task["parameters"]["C"] / len(rows) * cp.sum(cp.pos(1 - margins))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M) / 2 + loss))
    problem.solve(solver=solver, **OPTIONS[solver])
    if M.value is None:
        raise RuntimeError(f"{solver} ended with status {problem.status} and no matrix")
    return {"L": psd_factor(M.value)}, {
        "status": problem.status,
        "objective": float(problem.value),
        "solver_seconds": problem.solver_stats.solve_time,
        "steps": problem.solver_stats.num_iters,
    }


def learn_by_paper_recipe(task):
    """Solve the dual of P3 by L-BFGS-B, to the letter of the paper.

    minimise over 0 <= u_r <= C / m:   |(S)_+|^2 / 2 - sum_r u_r   with   S = sum_r u_r A_r
    """
    rows = dense_rows(task["X"], task["triplets"])
    m, D = len(rows), task["X"].shape[1]

    def positive_part(u):
        values, vectors = np.linalg.eigh((rows.T @ u).reshape(D, D))
        return (vectors * np.maximum(values, 0)) @ vectors.T

    def objective(u):
        M = positive_part(u)
        return np.vdot(M, M) / 2 - u.sum(), rows @ M.ravel() - 1

    # gtol=0: it compares a projected step, which on a narrow box is small at u = 0 already
    how = {"jac": True, "method": "L-BFGS-B", "options": {"gtol": 0.0}}
    box = Bounds(0, task["parameters"]["C"] / m)
    result = minimize(objective, np.zeros(m), bounds=box, **how)
    detail = {"objective": -float(result.fun), "steps": int(result.nfev), "status": result.message}
    return {"L": psd_factor(positive_part(result.x))}, detail


def _baseline(name, *packages):
    target = Target(f"{__name__}:learn_by_{name}", packages)
    return MetricBaseline(name=name, target=target, learns_from="triplets", required=("C",))


BASELINES = (
    _baseline("clarabel", "cvxpy", "clarabel"),
    _baseline("scs", "cvxpy", "scs"),
    _baseline("paper_recipe", "scipy"),
)
