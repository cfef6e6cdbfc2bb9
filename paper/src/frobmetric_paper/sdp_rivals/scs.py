"""SCS, a first-order method, called directly; run by `child.py`."""

#: So many that the time limit comes first.
MAX_ITERATIONS = 10_000_000
#: SCS's primal is the SDPA format's.
STATUS = {"solved": "optimal", "infeasible": "primal_infeasible", "unbounded": "dual_infeasible"}


def solve(task):
    import scs

    data = {name: task[name] for name in "Abc"}
    cone = {"l": task["n_linear"], "s": task["orders"]}
    found = scs.SCS(
        data,
        cone,
        eps_abs=task["tol"],
        eps_rel=task["tol"],
        eps_infeas=task["tol"],
        time_limit_secs=task["limit"],
        max_iters=MAX_ITERATIONS,
        verbose=False,
    ).solve()
    info = found["info"]
    return {"x": found["x"], "s": found["s"], "z": found["y"]}, {
        "status": STATUS.get(info["status"], "not_converged"),
        "seconds": (info["setup_time"] + info["solve_time"]) / 1000,
        "word": info["status"],
        "iterations": info["iter"],
        "primal": info["pobj"],
        "dual": info["dobj"],
        "version": scs.__version__,
    }
