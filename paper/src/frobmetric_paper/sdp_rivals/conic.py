"""Solvers in Python of min c'x, A x + s = b, s in K: the SDPA format's (P) as it stands.

Its s is sum_i x_i F_i - F0 as a vector, and the dual variable z of the rows is Y. Each solver is a
file of its own here, which `child.py` runs in a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..rivals.in_python import missing_modules
from .sdp_rival import SDPAnswer, SDPRival
from .triangles import triangles

FOLDER = Path(__file__).parent
#: Seconds for the imports of the process, and for its files.
GRACE = 10.0


def conic_rival(name, half):
    """The rival that is the solver of this name; `half` is the order of its triangles' entries."""

    def command(task):
        write_task(task, triangles(task.problem.cone, half))
        solver = FOLDER / f"{name}.py"
        return [sys.executable, "-P", str(FOLDER / "child.py"), str(task.folder), str(solver)]

    return SDPRival(
        name=name,
        needs=f"{name}: pip install {name}",
        command=command,
        read=lambda task: read_answer(task, triangles(task.problem.cone, half)),
        missing=missing_modules(name),
        grace=GRACE,
    )


def write_task(task, vectors):
    """A, b, c, the cone and the numbers as files."""
    problem = task.problem
    A = sp.csc_matrix(-vectors.T @ problem.constraints.rows.T)
    A.sort_indices()
    sp.save_npz(task.folder / "A.npz", A, compressed=False)
    np.save(task.folder / "b.npy", vectors.T @ problem.cost.ravel(), allow_pickle=False)
    np.save(task.folder / "c.npy", problem.loss.target, allow_pickle=False)
    numbers = {
        "tol": task.tol,
        "limit": task.limit,
        "threads": task.threads,
        "n_linear": vectors.n_linear,
        "orders": vectors.orders,
    }
    (task.folder / "task.json").write_text(json.dumps(numbers))


def read_answer(task, vectors):
    with np.load(task.folder / "answer.npz", allow_pickle=False) as found:
        x, s, z = (found[name] for name in "xsz")
    detail = json.loads((task.folder / "detail.json").read_text())
    return SDPAnswer(
        status=detail.pop("status"),
        X=vectors.T.T @ z,
        y=-x,
        Z=vectors.T.T @ s,
        seconds=detail.pop("seconds"),
        detail=detail | {"seconds_of": "set-up and solving"},
    )
