"""Clarabel, an interior-point method, called directly; run by `child.py`."""

#: Clarabel's primal is the SDPA format's.
STATUS = {
    "Solved": "optimal",
    "PrimalInfeasible": "primal_infeasible",
    "DualInfeasible": "dual_infeasible",
}
TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_infeas_abs", "tol_infeas_rel")


def solve(task):
    import clarabel
    import scipy.sparse as sp

    n, cones = len(task["c"]), []
    if task["n_linear"]:
        cones.append(clarabel.NonnegativeConeT(task["n_linear"]))
    cones += [clarabel.PSDTriangleConeT(order) for order in task["orders"]]
    found = clarabel.DefaultSolver(
        sp.csc_matrix((n, n)), task["c"], task["A"], task["b"], cones, _settings(task)
    ).solve()
    return {"x": found.x, "s": found.s, "z": found.z}, {
        "status": STATUS.get(str(found.status), "not_converged"),
        "seconds": found.solve_time,  # of the set-up too
        "word": str(found.status),
        "iterations": found.iterations,
        "primal": found.obj_val,
        "dual": found.obj_val_dual,
        "version": clarabel.__version__,
    }


def _settings(task):
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = task["limit"]
    settings.max_threads = task["threads"]
    for name in TOLERANCES:
        setattr(settings, name, task["tol"])
    return settings
