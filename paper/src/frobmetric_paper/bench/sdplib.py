"""SDPLIB, every problem up to an order: status, errors, objective and time beside other programs.

    python benchmarks/sdplib.py [--limit 60] [--threads 1] [--jobs 2] [--only theta mcp] [--again]

Needs the problems in $FROBMETRIC_DATA/sdplib and, for the others, `python -m
frobmetric_paper.baselines.setup`. Every answer is measured by the same function,
certify_sdp, whatever the program says of itself. Each program runs in a process of its own.
Finished runs are kept in benchmarks/results/sdplib.json, so that an interrupted run goes on where
it was; the table is benchmarks/results/sdplib.md.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
PROGRAMS = ("frobmetric", "csdp", "sdpa", "scs", "clarabel")
TOL = 1e-6
#: Largest error that a family is to reach; the others are reported as they are.
TARGETS = {
    "theta": 1e-6,
    "qap": 1e-6,
    "mcp": 1e-6,
    "truss1": 1e-6,
    "truss3": 1e-6,
    "gpp": 1e-4,
    "maxG11": 1e-4,
    "qpG11": 1e-4,
}


def library():
    """The rows of problems.csv, and the folder of the files."""
    folder = Path(os.environ.get("FROBMETRIC_DATA", "data")) / "sdplib"
    with open(folder / "problems.csv", newline="") as file:
        return list(csv.DictReader(file)), folder


def target(problem):
    """The error to reach, None if there is none; infinity where a proof is asked for."""
    if problem["sdplib_optimum"].endswith("infeasible"):
        return np.inf
    if problem["problem"].startswith("theta") and int(problem["n"]) > 500:
        return None
    return next((t for name, t in TARGETS.items() if problem["problem"].startswith(name)), None)


def ours(path, limit):
    """Solve in this process; reading and certifying the answer do not count."""
    from sklearn.exceptions import ConvergenceWarning

    from frobmetric.sdp import read_sdpa, solve_sdp
    from frobmetric.sdp.sdpa import sdpa_status

    problem, began = read_sdpa(path), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve_sdp(problem, tol=TOL, time_limit=limit)
    seconds = time.perf_counter() - began
    return measured(found.certificate, sdpa_status(found.status), seconds) | {
        "detail": {
            "iterations": found.n_iter,
            "ray_error": None if found.ray is None else found.ray.error,
            "phases": sorted({step.phase for step in found.history}),
        }
    }


def theirs(name, path, limit, threads):
    from frobmetric.sdp import certify_sdp, read_sdpa

    from ..baselines import SDP

    answer = SDP[name].solve(path, tol=TOL, limit=limit, threads=threads)
    detail = {key: answer.detail.get(key) for key in ("word", "iterations", "seconds_of")}
    if answer.X is None or answer.y is None:
        return {"status": answer.status, "seconds": answer.seconds, "detail": detail}
    certificate = certify_sdp(read_sdpa(path), answer.X, answer.y)
    return measured(certificate, answer.status, answer.seconds) | {"detail": detail}


def measured(certificate, status, seconds):
    from frobmetric.sdp.sdpa import sdpa_objectives

    primal, dual = sdpa_objectives(certificate)
    return {
        "status": status,
        "seconds": seconds,
        "eta_p": certificate.eta_p,
        "eta_d": certificate.eta_d,
        "eta_g": certificate.eta_g,
        "min_eigenvalue": certificate.min_eigenvalue,
        "primal": primal,
        "dual": dual,
    }


def one(name, path, limit, threads):
    """One program on one problem, as a dictionary; what ends it early is its status."""
    from ..baselines import ProgramFailedError, ProgramMissingError, TimeLimitError

    if name == "frobmetric":
        return ours(path, limit)
    try:
        return theirs(name, path, limit, threads)
    except TimeLimitError as error:
        return {"status": str(error), "seconds": limit, "detail": {}}
    except (ProgramMissingError, ProgramFailedError) as error:
        why = str(error).replace(sys.executable, "python")[:300]
        return {"status": "failed", "seconds": None, "detail": {"why": why}}


def in_a_process(name, path, limit, threads):
    """`one` in a process of its own with so many threads: none inherits another's state."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [
            sys.executable,
            __file__,
            "--one",
            name,
            str(path),
            file.name,
            "--limit",
            str(limit),
            "--threads",
            str(threads),
        ]
        subprocess.run(command, check=True, env=os.environ | dict.fromkeys(variables, str(threads)))
        return json.loads(Path(file.name).read_text())


def run_all(options):
    problems, folder = library()
    wanted = [p for p in problems if _is_wanted(p, options)]
    path = RESULTS / "sdplib.json"
    kept = json.loads(path.read_text())["runs"] if path.exists() and not options.again else {}
    tasks = [
        (p, name)
        for name in options.programs
        for p in wanted
        if f"{p['problem']} {name}" not in kept
    ]

    def work(task):
        problem, name = task
        file = folder / f"{problem['problem']}.dat-s.xz"
        found = in_a_process(name, file, options.limit, options.threads)
        kept[f"{problem['problem']} {name}"] = found
        worst = max(found.get(key, np.nan) for key in ("eta_p", "eta_d", "eta_g"))
        print(
            f"{problem['problem']:10s} {name:10s} {found['status']:18s} {worst:8.1e} "
            f"{found['seconds'] or np.nan:8.2f} s",
            flush=True,
        )
        record = {
            "run": run_record()
            | {"limit": options.limit, "program_threads": options.threads, "jobs": options.jobs},
            "runs": kept,
        }
        path.write_text(json.dumps(record, indent=1) + "\n")

    if not tasks:
        write_table(problems, json.loads(path.read_text()))
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, tasks))
    write_table(problems, json.loads(path.read_text()))


def _is_wanted(problem, options):
    name = problem["problem"]
    return int(problem["n"]) <= options.largest and (
        not options.only or any(name.startswith(start) for start in options.only)
    )


def reference(problem):
    """SDPA's value in higher precision, else the published one."""
    given = problem["sdpa_gmp_primal"] or problem["sdpa_dd_primal"] or problem["sdplib_optimum"]
    return problem["sdplib_optimum"] if "infeasible" in problem["sdplib_optimum"] else float(given)


def worst_error(run):
    """The largest of the three errors; NaN if there is no answer to measure."""
    return max((run.get(key, np.nan) for key in ("eta_p", "eta_d", "eta_g")), default=np.nan)


def row(problem, runs):
    name = problem["problem"]
    own, aim, known = runs[f"{name} frobmetric"], target(problem), reference(problem)
    worst = worst_error(own)
    if isinstance(known, str):
        shown, met = known, own["status"] == known.replace(" ", "_")
        objective, apart = "–", f"{own['detail']['ray_error']:.0e}"
    else:
        shown, met = f"{known:.8g}", aim is None or worst <= aim
        objective = f"{own['primal']:.8g}"
        apart = f"{abs(own['primal'] - known) / (1 + abs(known)):.0e}"
    others = [_other(runs.get(f"{name} {program}")) for program in PROGRAMS[1:]]
    errors = " / ".join(f"{own[key]:.0e}" for key in ("eta_p", "eta_d", "eta_g"))
    asked = "" if aim is None else ("proof" if np.isinf(aim) else f"{aim:.0e}")
    verdict = "" if aim is None else ("yes" if met else "**no**")
    cells = [
        name,
        problem["m"],
        problem["n"],
        shown,
        own["status"],
        errors,
        objective,
        apart,
        f"{own['seconds']:.2f}",
        asked,
        verdict,
        *others,
    ]
    return "| " + " | ".join(cells) + " |"


def _other(run):
    if run is None:
        return ""
    if "eta_p" not in run:
        seconds = (
            ""
            if run["seconds"] is None or run["status"].startswith(">")
            else (f", {run['seconds']:.2f}")
        )
        return f"{run['status']}{seconds}"
    word = "" if run["status"] == "optimal" else f"{run['status']}, "
    return f"{word}{worst_error(run):.0e}, {run['seconds']:.2f}"


def write_table(problems, record):
    runs = record["runs"]
    done = [p for p in problems if f"{p['problem']} frobmetric" in runs]
    head = [
        "problem",
        "m",
        "n",
        "reference",
        "status",
        "η_p / η_d / η_g",
        "objective",
        "from reference",
        "s",
        "target",
        "met",
        *PROGRAMS[1:],
    ]
    lines = [
        "# SDPLIB",
        "",
        "Objectives are those of (P) min c'x in the SDPA format. All errors, also the others', "
        "are measured by `certify_sdp` from the X and y that a program gave; of the others the "
        'largest of the three and the seconds are shown. "from reference" is relative to '
        "1 + |reference|; for infeasible problems it is the error of the proof. References are "
        "SDPA-GMP's and SDPA-DD's; on gpp, hinf and qap these themselves are good to 4 to 8 "
        f"digits. Limit {record['run']['limit']:g} s, {record['run']['program_threads']} thread(s) "
        f"each, {record['run']['jobs']} program(s) at a time, tolerance {TOL:g}. An empty cell was "
        "not run.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *(row(p, runs) for p in done),
        "",
        as_markdown(record["run"]),
        "",
    ]
    (RESULTS / "sdplib.md").write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a program and problem")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--largest", type=int, default=1600, help="largest order n")
    parser.add_argument("--only", nargs="*", default=[], help="names, or how they begin")
    parser.add_argument("--programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--again", action="store_true", help="forget the runs that are kept")
    parser.add_argument(
        "--one",
        nargs=3,
        metavar=("PROGRAM", "FILE", "ANSWER"),
        help="run one, leave its answer in a file",
    )
    options = parser.parse_args()
    if options.one:
        name, path, answer = options.one
        found = one(name, Path(path), options.limit, options.threads)
        Path(answer).write_text(json.dumps(found))
        return
    run_all(options)


if __name__ == "__main__":
    main()
