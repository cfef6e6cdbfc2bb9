"""Runs one conic solver in a process of its own; needs NumPy, SciPy and that solver.

    python -P child.py FOLDER SOLVER

SOLVER is a Python file with a function `solve` of the task's arrays and numbers. It returns the
vectors x, s and z, and what else it tells: its status by the names of `SDPAnswer`, the seconds.
"""

import contextlib
import json
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def leave_memory(share=0.75):
    """Fail at this share of the machine's memory instead of taking it all, where that is known."""
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (int(share * memory),) * 2)


def main(folder, solver):
    leave_memory()
    folder = Path(folder)
    arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in "bc"}
    numbers = json.loads((folder / "task.json").read_text())
    task = {"A": sp.load_npz(folder / "A.npz")} | arrays | numbers
    vectors, detail = runpy.run_path(solver)["solve"](task)
    np.savez(folder / "answer.npz", **vectors)
    (folder / "detail.json").write_text(json.dumps(detail))


if __name__ == "__main__":
    main(*sys.argv[1:])
