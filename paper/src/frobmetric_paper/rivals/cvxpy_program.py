"""P3 written in cvxpy, without a loop over triplets."""

from __future__ import annotations

from .dense import dense_rows, factor


def solve_with(task, solver, **options):
    """The answer of one of cvxpy's solvers: (L, detail). All of it is timed, compilation too."""
    import cvxpy as cp

    rows = dense_rows(task["X"], task["triplets"])
    D = task["X"].shape[1]
    M = cp.Variable((D, D), PSD=True)
    margins = rows @ cp.vec(M, order="C")
    loss = task["parameters"]["C"] / len(rows) * cp.sum(cp.pos(1 - margins))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M) / 2 + loss))
    problem.solve(solver=solver, **options)
    if M.value is None:
        raise RuntimeError(f"{solver} ended with status {problem.status} and no matrix")
    return factor(M.value), {
        "status": problem.status,
        "objective": float(problem.value),
        "solver_seconds": problem.solver_stats.solve_time,
        "steps": problem.solver_stats.num_iters,
    }
