"""Clarabel and SCS, called directly: min c'x, A x + s = b, s in K is the SDPA format's (P).

The vector s is sum_i x_i F_i - F0, and the dual variable z of the rows is Y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from frobmetric.sdp.sdpa import Layout

from ..harness.worker import Target
from .sdp import SDPBaseline

#: Seconds for a worker to write its files, beside the limit that the solvers keep to themselves.
GRACE = 10.0
#: Statuses of both solvers, whose primal is the SDPA format's.
STATUS = {
    "Solved": "optimal",
    "PrimalInfeasible": "primal_infeasible",
    "DualInfeasible": "dual_infeasible",
    "solved": "optimal",
    "infeasible": "primal_infeasible",
    "unbounded": "dual_infeasible",
}
CLARABEL_TOLERANCES = ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_infeas_abs", "tol_infeas_rel")


def solve_by_clarabel(task):
    """Solve by Clarabel, an interior-point method; its seconds include its set-up."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = task["limit"]
    settings.max_threads = task["threads"]
    for name in CLARABEL_TOLERANCES:
        setattr(settings, name, task["tol"])
    n, cones = len(task["c"]), []
    if task["n_linear"]:
        cones.append(clarabel.NonnegativeConeT(task["n_linear"]))
    cones += [clarabel.PSDTriangleConeT(order) for order in task["orders"]]
    solution = clarabel.DefaultSolver(
        sp.csc_matrix((n, n)), task["c"], _matrix(task), task["b"], cones, settings
    ).solve()
    return {"x": solution.x, "s": solution.s, "z": solution.z}, {
        "seconds": solution.solve_time,
        "iterations": solution.iterations,
        "primal": solution.obj_val,
        "dual": solution.obj_val_dual,
        **_outcome(str(solution.status)),
    }


def solve_by_scs(task):
    """Solve by SCS, a first-order method."""
    import scs

    solution = scs.SCS(
        {"A": _matrix(task), "b": task["b"], "c": task["c"]},
        {"l": task["n_linear"], "s": task["orders"]},
        eps_abs=task["tol"],
        eps_rel=task["tol"],
        eps_infeas=task["tol"],
        time_limit_secs=task["limit"],
        max_iters=10_000_000,  # the time limit comes first
        verbose=False,
    ).solve()
    info = solution["info"]
    return {"x": solution["x"], "s": solution["s"], "z": solution["y"]}, {
        "seconds": (info["setup_time"] + info["solve_time"]) / 1000,
        "iterations": info["iter"],
        "primal": info["pobj"],
        "dual": info["dobj"],
        **_outcome(info["status"]),
    }


def _matrix(task):
    shape = len(task["b"]), len(task["c"])
    return sp.csc_matrix((task["A.data"], task["A.indices"], task["A.indptr"]), shape=shape)


def _outcome(word):
    status = STATUS.get(word, "not_converged")
    return {"status": status, "word": word, "seconds_of": "set-up and solving"}


@dataclass(frozen=True)
class Triangles:
    """The map T from the elements of a cone to their diagonal blocks, then their triangles.

    Off-diagonal entries are multiplied by sqrt(2), which keeps inner products: T has orthonormal
    rows, `T @ M.ravel()` is the vector of M and `T.T @ v` the flattened M of a vector.
    """

    T: sp.csr_array  # of shape (length of the vectors, size of the cone's elements)
    n_linear: int  # number of entries of diagonal blocks
    orders: tuple[int, ...]  # orders of the matrices


def triangles(cone, half):
    """Return the map for a cone and one order of a triangle's entries.

    `half` is `np.triu_indices` for lower triangles column by column (SCS), `np.tril_indices` for
    upper ones column by column (Clarabel): the matrices are symmetric, and NumPy goes by rows.
    """
    layout = Layout.of(cone)
    diagonal = [k for k, size in enumerate(layout.sizes) if size < 0]
    matrices = [k for k, size in enumerate(layout.sizes) if size > 0]
    entries = [(k, np.diag_indices(-layout.sizes[k])) for k in diagonal]
    entries += [(k, half(layout.sizes[k])) for k in matrices]
    pairs = [(layout.position(k, i, j), layout.position(k, j, i)) for k, (i, j) in entries]
    return Triangles(
        T=_symmetric_rows(*np.concatenate(pairs, axis=1), layout.size),
        n_linear=-sum(layout.sizes[k] for k in diagonal),
        orders=tuple(layout.sizes[k] for k in matrices),
    )


def _symmetric_rows(upper, lower, size):
    # a diagonal entry is its own mirror image: its two halves are added
    weights = np.where(upper == lower, 0.5, np.sqrt(0.5))
    rows = np.arange(len(upper))
    entries = np.concatenate([weights, weights])
    places = np.concatenate([rows, rows]), np.concatenate([upper, lower])
    return sp.csr_array((entries, places), shape=(len(upper), size))


def _baseline(name, half, *packages):
    def write(problem):
        vectors = triangles(problem.cone, half)
        A = sp.csc_matrix(-vectors.T @ problem.constraints.rows.T)
        A.sort_indices()
        arrays = {"b": vectors.T @ problem.cost.ravel(), "c": problem.loss.target}
        arrays |= {f"A.{part}": getattr(A, part) for part in ("data", "indices", "indptr")}
        return arrays, {"n_linear": vectors.n_linear, "orders": vectors.orders}

    def read(problem, answer):
        T = triangles(problem.cone, half).T
        return T.T @ answer["z"], -answer["x"], T.T @ answer["s"]

    target = Target(f"{__name__}:solve_by_{name}", packages)
    how = {"write": write, "read": read, "missing": target.missing, "grace": GRACE}
    return SDPBaseline(name=name, target=target, **how)


BASELINES = (
    # SciPy's linalg is Clarabel's BLAS: imported later, Clarabel's clock would count that
    _baseline("clarabel", np.tril_indices, "clarabel", "scipy.linalg"),
    _baseline("scs", np.triu_indices, "scs"),
)
