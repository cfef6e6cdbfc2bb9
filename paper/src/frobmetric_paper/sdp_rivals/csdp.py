"""CSDP, an interior-point method in C, as Debian has it.

It calls max tr(C X), A(X) = a the primal: the SDPA format's (D).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

from .debian import DebianProgram
from .sdp_rival import SDPAnswer, SDPRival
from .triangles import layout_of

PROGRAM = DebianProgram("csdp", "coinor-csdp")
CLOCK = Path(__file__).with_name("csdp_clock.py")
#: Its exit codes; from 3, reduced accuracy, to 10 it gave up.
STATUS = {0: "optimal", 1: "dual_infeasible", 2: "primal_infeasible"} | dict.fromkeys(
    range(3, 11), "not_converged"
)
#: Its defaults but for the three tolerances.
PARAMETERS = """axtol={tol!r}
atytol={tol!r}
objtol={tol!r}
pinftol=1.0e8
dinftol=1.0e8
maxiter=100
minstepfrac=0.90
maxstepfrac=0.97
minstepp=1.0e-8
minstepd=1.0e-8
usexzgap=1
tweakgap=0
affine=0
printlevel=1
perturbobj=1
fastmode=0
"""


def command(task):
    (task.folder / "param.csdp").write_text(PARAMETERS.format(tol=float(task.tol)))
    run = PROGRAM.command(str(task.file), "solution")
    return [sys.executable, "-P", str(CLOCK), str(task.folder), *run]


def read(task):
    clock = json.loads((task.folder / "clock.json").read_text())
    said = (task.folder / "stdout").read_text()
    X, y, Z = read_solution(task.folder / "solution", task.problem)
    return SDPAnswer(
        STATUS[clock["code"]],
        X,
        y,
        Z,
        clock["seconds"],
        {
            "seconds_of": "iterations",
            "word": _last(r"^((?:Success|Partial Success|Failure): .*)$", said),
            "iterations": int(_last(r"^Iter: *(\d+)", said) or 0),
            "primal": float(_last(r"^Dual objective value: (\S+)", said) or "nan"),
            "dual": float(_last(r"^Primal objective value: (\S+)", said) or "nan"),
            "code": clock["code"],
        },
    )


def read_solution(path, problem):
    """X, y and Z of its file: a line of y, then `matrix block i j value`, Z being 1 and X 2."""
    numbers, m = np.fromfile(path, sep=" "), len(problem.loss.target)
    if len(numbers) < m or (len(numbers) - m) % 5:
        raise ValueError(f"{len(numbers)} numbers are no solution with {m} multipliers")
    table = numbers[m:].reshape(-1, 5)
    layout, values = layout_of(problem.cone), np.zeros((2, problem.cost.size))
    matrix, block, i, j = table[:, :4].astype(np.intp).T - 1
    values[matrix, layout.position(block, i, j)] = table[:, 4]
    values[matrix, layout.position(block, j, i)] = table[:, 4]
    return values[1], -numbers[:m], values[0]


def _last(pattern, text):
    """What the pattern's group was last; empty if it was not found."""
    return (re.findall(pattern, text, re.MULTILINE) or [""])[-1]


RIVAL = SDPRival(
    name="csdp",
    needs=PROGRAM.needs,
    command=command,
    read=read,
    missing=PROGRAM.missing,
    install=PROGRAM.install,
)
