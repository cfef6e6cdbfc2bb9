"""General SDPs at equal accuracy, beside the programs that people would use instead.

theta6 is compared with CSDP, a random SDP with a Frobenius term with SCS, the nearest correlation
matrix with statsmodels; invalid correlation matrices are repaired. All answers are measured by
`certify_sdp`, whatever a program says of itself.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from frobmetric.core import PSD, Equal, FrobeniusSDP, Sparse
from frobmetric.sdp import certify_sdp, nearest_correlation, read_sdpa, solve_sdp

from ..baselines import SDP, ProgramMissingError
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import best_answer, best_of, timed
from ..harness.worker import Target

TOL = 1e-6


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


PARTS = {"theta6": theta6, "random": random, "nearest": nearest, "invalid": invalid}
BENCHMARK = Benchmark(parts=PARTS, page=speed_page, options=Options(limit=300.0))
