"""The commands for SDPA files: sdp solve and sdp info.

Primal, dual and signs follow the SDPA format: see `frobmetric.sdp.sdpa`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from os.path import realpath
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core import Cone, FrobeniusSDP
from ...runtime.environment import target_file
from ...sdp import read_sdpa, solve_sdp
from ...sdp.presolve import split_blocks
from ...sdp.rays import round_down
from ...sdp.sdpa import SDPAAnswer, sdpa_objectives
from ...sdp.solution import SDPSolution
from ...solvers import Interrupted
from ...solvers.plain import SDPStep, targets
from ..tables.reading import check_input
from .declaration import Positive, SolveLimits, command
from .progress import live_progress
from .terminal import ExitCode, Report, exit_codes, live_line, say, wrong_usage

CODES = exit_codes(
    "solved to --tol, or proven to have no solution",
    "not solved to --tol",
    "with -o the best answer so far is written first",
)
VERDICTS = {
    "optimal": "optimal",
    "primal_infeasible": "primal infeasible: no x has Z positive semidefinite",
    "dual_infeasible": "dual infeasible: no positive semidefinite X has <F_i, X> = c_i",
}
#: Why a run ended, and what to do.
ADVICE = {
    "max_iter": "--max-iter was reached; raise it, or --tol",
    "time_limit": "--time-limit was reached; raise it, or --tol",
    "stalled": "no more progress; raise --tol",
}
#: Numbers that a solve keeps for each entry of X, each entry of the rows and each pair of rows,
#: fitted to the memory that some problems of SDPLIB took.
NUMBERS_KEPT = (25, 50, 1)
#: Help of the group.
HELP = "Solve semidefinite programs from SDPA files, with a proof of the answer."


@command(solve_sdp, codes=CODES)
def solve(
    problem: Path,
    parameters: SolveLimits,
    *,
    output: Path | None = None,
    sigma: Positive | None = None,
) -> Report:
    r"""Solve an SDPA file, and prove how good the answer is.

    \b
    The problem, with its names and signs, is that of the SDPA format:
      (P)  minimise c.x       with  Z = sum x_i F_i - F0  positive semidefinite
      (D)  maximise <F0, X>   with  <F_i, X> = c_i  and X positive semidefinite

    \b
    -o NAME.npz   writes arrays: x; X1, X2, ... and Z1, Z2, ..., one for each
                  block, vectors for diagonal blocks.
    -o OTHER      writes text as CSDP does: a line with x, then lines
                  `1 block i j value` of Z and `2 block i j value` of X, upper
                  triangles.
    If there is no solution, the proof is written, and all else is 0:
    an X with <F_i, X> = 0 and <F0, X> = 1 if (P) is infeasible; an x with
    c.x = -1 and Z = sum x_i F_i if (D) is.

    \b
    The errors, and the names in the JSON object:
      eta_p           |<F_i, X> - c_i| / (1 + |c|): the rows, those of (D)
      eta_d           distance of Z from semidefinite / (1 + |F0|)
      eta_g           |primal - dual| / (1 + |primal| + |dual|)
      status          optimal, primal_infeasible, dual_infeasible, not_converged
      primal, dual    c.x and <F0, X>; null if infeasible
      bound           <F0, X> of (D) is proven to be no larger; null if unknown
      min_eigenvalue  of X and of Z
      ray_error       0 if infeasible, which is proven; else null
      proof           arithmetic in which the proof was checked; else null
      nearly          of a problem that is not solved: a trace that every
                      feasible X of (D) has at least (least_trace), or a norm
                      that every feasible x of (P) has (least_norm); else null
      n_iter          eigen-decompositions
      seconds         to solve, without reading and writing

    Parameters
    ----------
    output
        File of the solution; see above. Not written if not given.
    sigma
        Solve the perturbed problem instead, with <F0, X> - |X|^2 / (2 sigma) in (D).
    """
    if output is not None:
        if ".dat-s" in output.name.lower() or realpath(output) == realpath(problem):
            raise wrong_usage(
                "--output", f"{output} names a problem; give the solution another name"
            )
        target_file(output)
    sdp = _read(problem)
    began = perf_counter()
    solution = _solve(sdp if sigma is None else replace(sdp, sigma=sigma), parameters)
    seconds = perf_counter() - began
    answer = SDPAAnswer.from_solution(solution)
    if output is not None:
        answer.write(output)
    data = answer.as_dict() | {"tol": parameters["tol"], "seconds": seconds}
    data |= {"file": str(problem), "solution": output and str(output)}
    code, ended = ExitCode.CERTIFIED, data["ended"]
    if ended == "interrupted":
        say(f"interrupted; the best answer so far {f'is in {output}' if output else 'follows'}")
        code = ExitCode.INTERRUPTED
    elif data["status"] == "not_converged":
        say(f"warning: not solved to tol {data['tol']:g}: {ADVICE.get(ended, ended)}")
        code = ExitCode.NOT_CERTIFIED
    return Report(code, "\n".join(_solve_lines(data)), data)


@command(codes=exit_codes("done", "(not used)", "nothing is written"))
def info(problem: Path) -> Report:
    """Show sizes and numbers of an SDPA file, without solving it.

    Blocks are shown as number × size. Blocks whose entries are not connected can be split into
    smaller ones, which `solve` does.
    """
    sdp = _read(problem)
    split, _ = split_blocks(sdp)
    rows, split_rows, F0, c = _rows(sdp), _rows(split), sdp.cost, targets(sdp)
    sizes = split.cost.size, split_rows.nnz, split_rows.shape[0] ** 2
    data = {
        "file": str(problem),
        "rows": rows.shape[0],
        "blocks": _count_blocks(sdp.cone),
        "split_blocks": _count_blocks(split.cone),
        "nonzeros": {"F": rows.nnz, "F0": int(np.count_nonzero(F0))},
        "density": rows.nnz / (rows.shape[0] * rows.shape[1]),
        "norms": {"c": float(np.linalg.norm(c)), "F0": float(np.linalg.norm(F0))},
        "ranges": {"F": _range(rows.data), "F0": _range(F0), "c": _range(c)},
        "memory_bytes": 8 * int(np.dot(NUMBERS_KEPT, sizes)),
    }
    return Report(ExitCode.CERTIFIED, "\n".join(_info_lines(data)), data)


def _read(path: Path) -> FrobeniusSDP:
    check_input(path, expected="an SDPA sparse file")
    try:
        with live_line(f"reading {path}"):
            return read_sdpa(path)
    except MemoryError as error:
        raise MemoryError(f"{path} is too large for this machine: {error}") from error


def _rows(problem: FrobeniusSDP) -> Any:
    """Return F1, F2, ... as the rows of a sparse matrix."""
    sparse = problem.constraints.as_sparse()
    assert sparse is not None  # SDPA files are
    return sparse.rows


def _solve(problem: FrobeniusSDP, parameters: SolveLimits) -> SDPSolution:
    def describe(step: SDPStep) -> str:
        errors = {"eta_p": step.eta_p, "eta_d": step.eta_d, "eta_g": step.eta_g}
        known = (f"{name} {error:.1e}" for name, error in errors.items() if isfinite(error))
        return f"{step.phase}  {' '.join(known)}  value {sdpa_objectives(step)[1]:.6g}"

    with live_progress("solving", describe) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the report says it, in SDPA's signs
        try:
            return solve_sdp(problem, **parameters, callback=callback)
        except Interrupted as error:
            return error.solution


def _solve_lines(data: dict[str, Any]) -> Iterator[str]:
    def shown(value: float | None, form: str) -> str:
        return "unknown" if value is None else format(value, form)

    yield "status   " + VERDICTS.get(data["status"], f"NOT solved to tol {data['tol']:g}")
    if data["ray_error"] is not None:
        yield f"proof    a ray, checked in {data['proof']}"
    else:
        yield f"primal   {shown(data['primal'], '.10g')}"
        yield f"dual     {shown(data['dual'], '.10g')}"
        if data["bound"] is not None:
            yield f"bound    {data['bound']:.10g}: the dual optimum is proven to be no larger"
        named = zip(data["errors"].items(), ("rows", "cone", "gap"), strict=True)
        errors = (f"{name} {shown(error, '.1e')} ({word})" for (name, error), word in named)
        yield f"errors   {', '.join(errors)}"
    if data["nearly"] is not None:
        yield f"nearly   {_describe_nearly(data['nearly'])}"
    yield f"time     {data['seconds']:.1f} s, {data['n_iter']} eigen-decompositions"
    for note in data["notes"]:
        yield f"note     {note} (the first row is 0)"
    if data["solution"]:
        yield f"written  {data['solution']}"


def _describe_nearly(nearly: dict[str, Any]) -> str:
    """Return what is proven of the answers of a problem that nearly has none."""
    if "least_trace" in nearly:
        least = round_down(nearly["least_trace"])
        return f"dual infeasible: any feasible X has a trace of at least {least}"
    least = round_down(nearly["least_norm"])
    return f"primal infeasible: any feasible x has a norm of at least {least}"


def _info_lines(data: dict[str, Any]) -> Iterator[str]:
    def matrices(blocks: list[dict[str, Any]]) -> dict[int, int]:
        return {b["size"]: b["count"] for b in blocks if b["size"] > 1 and not b["is_diagonal"]}

    def names(blocks: list[dict[str, Any]]) -> str:
        each = (f"{b['count']} × {b['size']}{' diagonal' * b['is_diagonal']}" for b in blocks)
        return ", ".join(each)

    yield f"rows       {data['rows']}"
    yield f"blocks     {names(data['blocks'])}"
    if matrices(data["split_blocks"]) != matrices(data["blocks"]):
        yield f"           which split into {names(data['split_blocks'])}"
    counts, density = data["nonzeros"], f"both triangles; density {data['density']:.2g}"
    yield f"non-zeros  {counts['F']} in F1, F2, ... ({density}), {counts['F0']} in F0"
    yield f"norms      |c| = {data['norms']['c']:.4g}, |F0| = {data['norms']['F0']:.4g}"
    ends = data["ranges"].items()
    ranges = (f"{name}: {'{:.3g} to {:.3g}'.format(*e) if e else 'none'}" for name, e in ends)
    yield f"ranges     {', '.join(ranges)} (absolute values that are not 0)"
    yield f"memory     about {max(1, data['memory_bytes'] / 1e6):,.0f} MB to solve, as a guess"


def _count_blocks(cone: Cone) -> list[dict[str, Any]]:
    """Return the number of blocks of each size, in the order of the file."""
    counts = Counter((block.shape[0], block.is_diagonal) for block in cone.blocks())
    names = ("count", "size", "is_diagonal")
    return [dict(zip(names, (count, *kind), strict=True)) for kind, count in counts.items()]


def _range(values: np.ndarray) -> list[float] | None:
    """Return the smallest and the largest absolute value that is not 0; None if all are."""
    sizes = np.abs(values[values != 0])
    return [float(sizes.min()), float(sizes.max())] if sizes.size else None
