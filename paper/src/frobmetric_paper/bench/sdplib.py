"""Every problem of SDPLIB up to an order, solved by every program.

Each program runs in a process of its own. All answers are measured by `certify_sdp`, whatever a
program says of itself.
"""

from functools import partial

from frobmetric.sdp import certify_sdp, read_sdpa, solve_sdp
from frobmetric.sdp.sdpa import sdpa_objectives, sdpa_status

from ..baselines import SDP, ProgramFailedError, ProgramMissingError, TimeLimitError
from ..harness.benchmark import Benchmark, Options
from ..harness.page import read_rows
from ..harness.timing import timed
from ..harness.worker import Target

TOL = 1e-6
PROGRAMS = ("frobmetric", "csdp", "sdpa", "scs", "clarabel")
#: Largest order of a problem.
LARGEST = 1600
SMALL_PROBLEMS = ("control1", "hinf1", "infd1", "truss1")
ERRORS = ("eta_p", "eta_d", "eta_g")


def solve_file(task):
    """Solve a file in a worker; reading it and certifying the answer do not count."""
    problem = read_sdpa(task["file"])
    seconds, found = timed(partial(solve_sdp, problem, tol=TOL, time_limit=task["limit"]))
    detail = {"iterations": found.n_iter, "phases": sorted({step.phase for step in found.history})}
    detail["ray_error"] = None if found.ray is None else found.ray.error
    run = measured(found.certificate, sdpa_status(found.status), seconds)
    return {}, {"run": run | {"detail": detail}}


def measured(certificate, status, seconds):
    """Return the errors and objectives of an answer in the signs of the SDPA format."""
    primal, dual = sdpa_objectives(certificate)
    numbers = {name: float(getattr(certificate, name)) for name in (*ERRORS, "min_eigenvalue")}
    return {"status": status, "seconds": seconds, **numbers, "primal": primal, "dual": dual}


def run_program(name, path, options):
    """Return the answer of a program; what ends it early is its status."""
    limit, threads = options.limit, options.threads
    if name == "frobmetric":
        values = {"file": str(path), "limit": limit}
        return Target(f"{__name__}:solve_file").run({}, values, 2 * limit + 60, threads)[1]["run"]
    answer = SDP[name].solve(path, tol=TOL, limit=limit, threads=threads)
    detail = {key: answer.detail.get(key) for key in ("word", "iterations", "seconds_of")}
    run = {"status": answer.status, "seconds": answer.seconds}
    if answer.X is not None and answer.y is not None:
        certificate = certify_sdp(read_sdpa(path), answer.X, answer.y)
        run = measured(certificate, answer.status, answer.seconds)
    return run | {"detail": detail}


def run_library(name, options):
    """Return the answers of a program to all problems, with what is known of the problems."""
    folder = options.path("sdplib")
    data = dict(options.stored or {})
    for problem in read_rows(folder / "problems.csv"):
        key, is_large = problem["problem"], int(problem["n"]) > LARGEST
        if key in data or is_large or (options.is_quick and key not in SMALL_PROBLEMS):
            continue
        try:
            run = run_program(name, folder / f"{key}.dat-s.xz", options)
        except TimeLimitError as error:
            run = {"status": str(error), "seconds": options.limit, "detail": {}}
        except (ProgramMissingError, ProgramFailedError) as error:
            run = {"status": "failed", "seconds": None, "detail": {"why": str(error)[:300]}}
        data[key] = run | {"m": problem["m"], "n": problem["n"], "reference": reference(problem)}
        options.store(data)
    return data


def reference(problem):
    """Return SDPA's optimum in higher precision, else the published one, or that there is none."""
    published = problem["sdplib_optimum"]
    if "infeasible" in published:
        return published
    return float(problem["sdpa_gmp_primal"] or problem["sdpa_dd_primal"] or published)


def distance_cells(run):
    """Return reference and objective of a run by frobmetric, and how far they are apart."""
    known = run["reference"]
    if isinstance(known, str):
        shown, objective, apart = known, "–", run["detail"]["ray_error"]
    else:
        shown, objective = f"{known:.8g}", f"{run['primal']:.8g}"
        apart = abs(run["primal"] - known) / (1 + abs(known))
    apart = "–" if apart is None else f"{apart:.0e}"
    return {"shown": shown, "objective": objective, "apart": apart}


def other_cell(run):
    """Return the largest error and the seconds of another program, or why there are none."""
    if run is None:
        return ""
    if "eta_p" not in run:
        is_known = run["seconds"] is not None and not run["status"].startswith(">")
        return run["status"] + (f", {run['seconds']:.2f}" if is_known else "")
    word = "" if run["status"] == "optimal" else f"{run['status']}, "
    return f"{word}{max(run[key] for key in ERRORS):.0e}, {run['seconds']:.2f}"


def library_page(parts):
    """Return a row for each problem that frobmetric has an answer to."""
    rows = []
    for name, run in parts.get("frobmetric", {}).items():
        if "eta_p" in run:
            others = {other: other_cell(parts.get(other, {}).get(name)) for other in PROGRAMS[1:]}
            rows.append({"name": name} | run | distance_cells(run) | others)
    return {"rows": rows}


PARTS = {name: partial(run_library, name) for name in PROGRAMS}
BENCHMARK = Benchmark(parts=PARTS, page=library_page, options=Options(limit=60.0))
