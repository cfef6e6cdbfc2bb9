"""What `sdp solve` and `sdp info` do, once their arguments are read.

Primal, dual and signs are those of the SDPA format: see `frobmetric.sdp.sdpa`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from math import isfinite
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._atomic import target_file
from .._extras import require
from ..core import Nonnegative, Product
from ..io.tables import check_file
from ..sdp import SDPAAnswer, read_sdpa, solve_sdp
from ..sdp.presolve import split_blocks
from ..solvers import Interrupted
from .progress import SDPProgress
from .terminal import ExitCode, Report, live_line, say

typer = require("typer", "cli")

WORDS = {
    "optimal": "optimal",
    "primal_infeasible": "primal infeasible: no x has Z positive semidefinite",
    "dual_infeasible": "dual infeasible: no positive semidefinite X has <F_i, X> = c_i",
}
#: Why a run ended, and what helps.
ENDS = {
    "max_iter": "--max-iter was reached; raise it, or --tol",
    "time_limit": "--time-limit was reached; raise it, or --tol",
    "stalled": "no more progress; raise --tol",
}
#: Numbers that a solve keeps for each entry of X, each entry of the rows and each pair of rows,
#: fitted to what some problems of SDPLIB took.
PER_ENTRY, PER_NONZERO, PER_PAIR = 25, 50, 1


def solve_file(path, output, sigma, **limits):
    """Solve an SDPA file and write the answer; Ctrl-C writes the best one so far."""
    if output is not None:
        _check_output(path, output)
    problem = _read(path)
    if isfinite(sigma):
        problem = replace(problem, sigma=sigma)
    began = perf_counter()
    solution = _solve(problem, limits)
    seconds = perf_counter() - began
    answer = SDPAAnswer.from_solution(solution)
    if output is not None:
        answer.write(output)
    return _solve_report(path, output, answer, seconds, limits["tol"])


def describe_file(path):
    """Sizes and numbers of an SDPA file."""
    problem = _read(path)
    return _info_report(path, problem, split_blocks(problem)[0])


def _check_output(path, output):
    if ".dat-s" in output.name.lower() or output.resolve() == path.resolve():
        raise typer.BadParameter(
            f"{output} names a problem; give the solution another name", param_hint="--output"
        )
    target_file(output)


def _read(path):
    check_file(path)
    try:
        with live_line(f"reading {path}"):
            return read_sdpa(path)
    except MemoryError as error:
        raise MemoryError(f"{path} is too large for this machine: {error}") from error


def _solve(problem, limits):
    with live_line("solving") as show, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # in our signs; the report has it
        try:
            return solve_sdp(problem, **limits, callback=show and SDPProgress(show))
        except Interrupted as error:
            return error.solution


def _solve_report(path, output, answer, seconds, tol):
    data = answer.as_dict() | {
        "tol": tol,
        "seconds": seconds,
        "file": str(path),
        "solution": output and str(output),
    }
    code = ExitCode.CERTIFIED
    if data["ended"] == "interrupted":
        where = f"is in {output}" if output else "follows"
        say(f"interrupted; the best answer so far {where}")
        code = ExitCode.INTERRUPTED
    elif data["status"] == "not_converged":
        say(f"warning: not solved to tol {tol:g}: {ENDS.get(data['ended'], data['ended'])}")
        code = ExitCode.NOT_CERTIFIED
    return Report(code, "\n".join(_solve_lines(data)), data)


def _solve_lines(data):
    yield "status   " + WORDS.get(data["status"], f"NOT solved to tol {data['tol']:g}")
    if data["ray_error"] is not None:
        yield f"proof    a ray with relative error {data['ray_error']:.1e}"
    else:
        yield f"primal   {_shown(data['primal'], '.10g')}"
        yield f"dual     {_shown(data['dual'], '.10g')}"
        if data["bound"] is not None:
            yield f"bound    {data['bound']:.10g}: the dual optimum is proven to be no larger"
        named = zip(data["errors"].items(), ("rows", "cone", "gap"), strict=True)
        errors = (f"{name} {_shown(error, '.1e')} ({word})" for (name, error), word in named)
        yield f"errors   {', '.join(errors)}"
    yield f"time     {data['seconds']:.1f} s, {data['n_iter']} eigen-decompositions"
    for note in data["notes"]:
        yield f"note     {note} (the first row is 0)"
    if data["solution"]:
        yield f"written  {data['solution']}"


def _info_report(path, problem, split):
    rows, F0 = problem.constraints.rows, problem.cost
    data = {
        "file": str(path),
        "rows": rows.shape[0],
        "blocks": _blocks(problem.cone),
        "split_blocks": _blocks(split.cone),
        "nonzeros": {"F": rows.nnz, "F0": int(np.count_nonzero(F0))},
        "density": rows.nnz / (rows.shape[0] * rows.shape[1]),
        "norms": {"c": float(np.linalg.norm(problem.loss.target)), "F0": float(np.linalg.norm(F0))},
        "ranges": {"F": _range(rows.data), "F0": _range(F0), "c": _range(problem.loss.target)},
        "memory_bytes": _memory(split),
    }
    return Report(ExitCode.CERTIFIED, "\n".join(_info_lines(data)), data)


def _memory(problem):
    rows = problem.constraints.rows
    pairs = rows.shape[0] ** 2
    return 8 * (PER_ENTRY * problem.cost.size + PER_NONZERO * rows.nnz + PER_PAIR * pairs)


def _info_lines(data):
    yield f"rows       {data['rows']}"
    yield f"blocks     {_as_words(data['blocks'])}"
    if _matrices(data["split_blocks"]) != _matrices(data["blocks"]):
        yield f"           which split into {_as_words(data['split_blocks'])}"
    counts = data["nonzeros"]
    yield (
        f"non-zeros  {counts['F']} in F1, F2, ... (both triangles; density "
        f"{data['density']:.2g}), {counts['F0']} in F0"
    )
    yield f"norms      |c| = {data['norms']['c']:.4g}, |F0| = {data['norms']['F0']:.4g}"
    ranges = (f"{name}: {_ends(ends)}" for name, ends in data["ranges"].items())
    yield f"ranges     {', '.join(ranges)} (absolute values that are not 0)"
    yield f"memory     about {max(1, data['memory_bytes'] / 1e6):,.0f} MB to solve, as a guess"


def _blocks(cone):
    """How many blocks there are of each size, those met first first."""
    parts = cone.cones if isinstance(cone, Product) else (cone,)
    counts = Counter((part.shape[0], isinstance(part, Nonnegative)) for part in parts)
    return [
        {"count": count, "size": size, "is_diagonal": is_diagonal}
        for (size, is_diagonal), count in counts.items()
    ]


def _matrices(blocks):
    """The blocks that are more than numbers, whatever their order."""
    return {
        block["size"]: block["count"]
        for block in blocks
        if block["size"] > 1 and not block["is_diagonal"]
    }


def _as_words(blocks):
    return ", ".join(
        f"{block['count']} × {block['size']}{' diagonal' * block['is_diagonal']}"
        for block in blocks
    )


def _range(values):
    """The smallest and the largest absolute value that is not 0; None if all are."""
    sizes = np.abs(values[values != 0])
    return [float(sizes.min()), float(sizes.max())] if sizes.size else None


def _ends(ends):
    return "none" if ends is None else "{:.3g} to {:.3g}".format(*ends)


def _shown(value, form):
    return "unknown" if value is None else format(value, form)
