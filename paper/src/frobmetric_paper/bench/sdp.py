"""General SDPs beside the programs that people would use instead.

`sdp_speed` compares at equal accuracy: theta6 with CSDP, a random SDP with a Frobenius term with
SCS, the nearest correlation matrix with statsmodels; and repairs invalid correlation matrices.
`sdplib` solves every problem of SDPLIB up to an order by every program, each in a process of its
own. All answers are measured by `certify_sdp`, whatever a program says of itself.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from frobmetric.core import PSD, Equal, FrobeniusSDP, Sparse
from frobmetric.sdp import certify_sdp, nearest_correlation, read_sdpa, solve_sdp
from frobmetric.sdp.sdpa import sdpa_objectives, sdpa_status

from ..baselines import SDP, ProgramFailedError, ProgramMissingError, TimeLimitError
from ..harness.page import read_rows
from ..harness.worker import Target
from . import Benchmark, Options, best_answer, best_of, timed

TOL = 1e-6


# Speed


def compare(work, ours, baseline, theirs, accuracy):
    """Return a row of two Timings."""
    baseline = baseline if theirs.runs or theirs.limit else f"{baseline} {theirs.reason}"
    seconds = {"ours": ours.seconds, "theirs": theirs.seconds}
    return {"work": work, "baseline": baseline, "accuracy": accuracy} | seconds


def theta6(options):
    """Solve a problem with many rows, beside CSDP."""
    name = options.choose("theta6", "theta1")
    path = options.path("sdplib", f"{name}.dat-s.xz")
    problem = read_sdpa(path)
    ours = best_of(lambda: solve_sdp(problem, tol=TOL), options.repeat)
    csdp = partial(SDP["csdp"].solve, path, tol=TOL, limit=options.limit, threads=options.threads)
    theirs = best_answer(csdp, options.repeat)
    m = len(problem.loss.target)
    accuracy = f"largest error {ours.result.certificate.error:.0e}"
    if theirs.runs:
        error = certify_sdp(problem, theirs.result.X, theirs.result.y).error
        accuracy += f" against {error:.0e}"
    work = f"{name} (m = {m:,}, n = {problem.cone.n}), tolerance 1e-6"
    return [compare(work, ours, "CSDP with OpenBLAS", theirs, accuracy)]


def random_frobenius(n, m, seed=0):
    """Return min <C, X> + |X|^2 / 2 with rows of about ten non-zeros that a random X meets."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, m, 5))
    values = rng.normal(size=(m, 5)).ravel()
    rows = np.repeat(np.arange(m), 5)
    upper, lower = (
        sp.csr_array((values, (rows, place.ravel())), shape=(m, n * n))
        for place in (i * n + j, j * n + i)
    )
    L, C = (rng.normal(size=(n, n)) / np.sqrt(n) for _ in range(2))
    constraints = Sparse((upper + lower) / 2, PSD(n))
    loss = Equal(constraints.forward(L @ L.T))
    return FrobeniusSDP(constraints, loss, cost=(C + C.T) / 2, sigma=1.0)


def solve_by_scs(problem, eps, limit):
    """Return X, y and SCS' own report, from its quadratic form over the lower triangle of X."""
    import scs

    n, m = problem.cone.n, len(problem.loss.target)
    j, i = np.triu_indices(n)  # SCS goes down the columns of the lower triangle
    weight = np.where(i == j, 1.0, np.sqrt(2.0))  # of the entries, so that norms agree
    A = problem.constraints.rows[:, i * n + j] @ sp.diags_array(weight)
    data = {
        "P": sp.csc_matrix(sp.diags_array(np.full(len(i), 1 / problem.sigma))),
        "A": sp.csc_matrix(sp.vstack([A, -sp.eye_array(len(i))])),
        "b": np.concatenate([problem.loss.target, np.zeros(len(i))]),
        "c": weight * problem.cost[i, j],
    }
    settings = {"eps_abs": eps, "eps_rel": eps, "max_iters": 100_000, "time_limit_secs": limit}
    found = scs.SCS(data, {"z": m, "s": [n]}, verbose=False, **settings).solve()
    X = np.zeros((n, n))
    X[i, j] = X[j, i] = found["x"] / weight
    return X, -found["y"][:m], found["info"]


def random(options):
    """Solve a random SDP with a Frobenius term, beside SCS."""
    n, m = options.choose((500, 5000), (40, 100))
    problem = random_frobenius(n, m)
    ours = best_of(lambda: solve_sdp(problem, tol=TOL), options.repeat)
    for eps in TOL / 2.0 ** np.arange(8):  # until its answer is as good, measured alike
        theirs = best_of(partial(solve_by_scs, problem, eps, options.limit), 1)
        X, y, info = theirs.result
        error = certify_sdp(problem, problem.cone.split(X).clipped(), y).error
        if error <= TOL:
            break
    accuracy = f"largest error {ours.result.certificate.error:.0e} against {error:.0e}"
    accuracy += f"; {ours.result.n_iter} eigen-decompositions"
    work = f"random Frobenius SDP, n = {n}, m = {m:,} rows of ten non-zeros, σ = 1, 1e-6"
    baseline = f"SCS ({info['status']}, eps {eps:.1e}, {info['iter']} iterations)"
    return [compare(work, ours, baseline, theirs, accuracy)]


def call_statsmodels(task):
    """Return the nearest correlation matrix by statsmodels."""
    from statsmodels.stats.correlation_tools import corr_nearest

    return {"X": corr_nearest(task["G"], **task["given"])}, {}


def run_statsmodels(G, limit, threads, **given):
    """Return X and seconds of statsmodels in a worker."""
    target = Target(f"{__name__}:call_statsmodels", ("statsmodels",))
    if target.missing():
        raise ProgramMissingError(target.missing())
    answer, detail = target.run({"G": G}, {"given": given}, limit, threads)
    return SimpleNamespace(X=answer["X"], seconds=detail["seconds"])


def nearest(options):
    """Find the nearest correlation matrix, beside statsmodels.

    statsmodels has no tolerance but a number of rounds, n_fact n. It runs as one calls it, and
    with the fewest rounds, found by trial, that have our distance to eight digits.
    """
    n = options.choose(1000, 40)
    G = np.triu(np.random.default_rng(0).uniform(-1, 1, (n, n)), 1)
    G = G + G.T + np.eye(n)
    ours = best_of(partial(nearest_correlation, G), options.repeat)
    found = ours.result
    accuracy = f"{found.n_iter} eigen-decompositions, gradient {found.gradient:.0e}"
    accuracy += f", distance {found.distance:.10g}"
    work = f"nearest correlation matrix, n = {n:,} random"
    limit = min(120.0, options.limit)
    as_called = best_answer(partial(run_statsmodels, G, limit, options.threads), 1)
    baseline = "statsmodels corr_nearest as called"
    baseline += ", ended at the limit: >" if as_called.limit else ""
    rows = [compare(work, ours, baseline, as_called, accuracy)]
    for n_fact in (0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3):
        call = partial(run_statsmodels, G, options.limit, options.threads, n_fact=n_fact)
        theirs = best_answer(call, 1)
        if not theirs.runs:
            return rows
        X = theirs.result.X
        distance = float(np.linalg.norm(X - G))
        if abs(distance - found.distance) <= 1e-8 * found.distance:
            break
    lowest = np.linalg.eigvalsh(X)[0]
    accuracy += f" against {distance:.10g}, whose smallest eigenvalue is {lowest:.0e}"
    baseline = f"statsmodels corr_nearest, n_fact = {n_fact:g} by hindsight:"
    return [*rows, compare(work, ours, baseline, theirs, accuracy)]


def invalid(options):
    """Repair invalid correlation matrices from the literature."""
    rows, matrices = [], dict(np.load(options.path("correlation_invalid.npz")))
    for name, G in sorted(matrices.items(), key=lambda item: len(item[1])):
        if len(G) > options.choose(np.inf, 100):
            continue
        seconds, answer = timed(partial(nearest_correlation, G))
        row = {key: getattr(answer, key) for key in ("n_iter", "status", "distance")}
        row["unit_diagonal"] = bool((np.diagonal(answer.matrix) == 1).all())
        row["min_eigenvalue"] = np.linalg.eigvalsh(answer.matrix)[0]
        rows.append({"name": name, "n": len(G), "seconds": seconds} | row)
    return rows


def speed_page(parts):
    """Return the comparisons, then the invalid matrices."""
    rows = []
    for row in (row for name, part in parts.items() if name != "invalid" for row in part):
        theirs = row["theirs"]
        baseline = row["baseline"] + (f" {theirs:.3g} s" if theirs else "")
        rows.append(row | {"baseline": baseline, "ratio": theirs and theirs / row["ours"]})
    matrices = [
        row | {"unit": "yes" if row["unit_diagonal"] else "no"} for row in parts.get("invalid", [])
    ]
    return {"comparisons": rows, "invalid": matrices}


# SDPLIB

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


SPEED = {"theta6": theta6, "random": random, "nearest": nearest, "invalid": invalid}
LIBRARY = {name: partial(run_library, name) for name in PROGRAMS}
BENCHMARKS = (
    Benchmark(name="sdp_speed", parts=SPEED, page=speed_page, options=Options(limit=300.0)),
    Benchmark(name="sdplib", parts=LIBRARY, page=library_page, options=Options(limit=60.0)),
)
