"""SDPA, an interior-point method in C++, as Debian has it; its names are those of its format."""

from __future__ import annotations

import re

import numpy as np

from .debian import DebianProgram
from .sdp_rival import SDPAnswer, SDPRival

PROGRAM = DebianProgram("sdpa", "sdpa")
#: Its words for what it knows at the end. An unbounded problem has an infeasible dual.
STATUS = {
    "pdOPT": "optimal",
    "pINF_dFEAS": "primal_infeasible",
    "dUNBD": "primal_infeasible",
    "pFEAS_dINF": "dual_infeasible",
    "pUNBD": "dual_infeasible",
}
#: Its defaults but for the two tolerances and the digits of what it writes.
PARAMETERS = """100 unsigned int maxIteration;
{tol!r} double 0.0 < epsilonStar;
1.0E2 double 0.0 < lambdaStar;
2.0 double 1.0 < omegaStar;
-1.0E5 double lowerBound;
1.0E5 double upperBound;
0.1 double 0.0 <= betaStar < 1.0;
0.2 double 0.0 <= betaBar < 1.0, betaStar <= betaBar;
0.9 double 0.0 < gammaStar < 1.0;
{tol!r} double 0.0 < epsilonDash;
%+.16e char* xPrint
%+.16e char* XPrint
%+.16e char* YPrint
%+.16e char* infPrint
"""
_SPACES = bytes.maketrans(b"{},", b"   ")


def command(task):
    parameters, result = task.folder / "param.sdpa", task.folder / "result"
    parameters.write_text(PARAMETERS.format(tol=float(task.tol)))
    return PROGRAM.command(
        "-ds",
        str(task.file),
        "-o",
        str(result),
        "-p",
        str(parameters),
        "-numThreads",
        str(task.threads),
    )


def read(task):
    head, y, Z, X, tail = _parts((task.folder / "result").read_bytes())
    word = _find(r"phase.value *= *(\S+)", head)
    return SDPAnswer(
        status=STATUS.get(word, "not_converged"),
        X=_numbers(X),
        y=-_numbers(y),
        Z=_numbers(Z),
        seconds=float(_find(r"total time *= *(\S+)", tail))
        - float(_find(r"file +read time *= *(\S+)", tail)),
        detail={
            "seconds_of": "all but reading and writing",
            "word": word,
            "iterations": int(_find(r"Iteration *= *(\d+)", head)),
            "primal": float(_find(r"objValPrimal *= *(\S+)", head)),
            "dual": float(_find(r"objValDual *= *(\S+)", head)),
        },
    )


def _parts(content):
    """What comes before xVec, then xVec, xMat and yMat, then the times."""
    parts = []
    for head in (b"\nxVec =", b"\nxMat =", b"\nyMat =", b"main loop time"):
        part, found, content = content.partition(head)
        if not found:
            raise ValueError(f"its output file holds no {head.decode().strip()!r}")
        parts.append(part)
    return *parts, content


def _numbers(text):
    """The numbers of a vector, or of blocks one after the other."""
    return np.fromstring(text.translate(_SPACES), sep=" ")


def _find(pattern, text):
    found = re.search(pattern.encode(), text)
    if found is None:
        raise ValueError(f"its output file holds no {pattern!r}")
    return found[1].decode()


RIVAL = SDPRival(
    name="sdpa",
    needs=PROGRAM.needs,
    command=command,
    read=read,
    missing=PROGRAM.missing,
    install=PROGRAM.install,
)
