"""General SDPs beside the programs that people would use instead, at equal accuracy, in one run.

    python benchmarks/sdp_speed.py [--repeat 3] [--threads 1] [--only theta6 random nearest invalid]

theta6 against CSDP, a random SDP with a Frobenius term against SCS, the nearest correlation matrix
against statsmodels (`pip install statsmodels`), and all of correlation_invalid.npz. Needs
$FROBMETRIC_DATA and `python -m frobmetric_paper.baselines.setup csdp`. Writes
benchmarks/results/sdp_speed.json and sdp_speed.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from frobmetric.core import PSD, Equal, FrobeniusSDP, Sparse
from frobmetric.sdp import certify_sdp, nearest_correlation, read_sdpa, solve_sdp

from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
DATA = Path(os.environ.get("FROBMETRIC_DATA", "data"))
TOL = 1e-6


def best_of(repeat, work):
    """The answer and the least seconds of several runs."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - began)
    return answer, min(times)


def theta6(repeat, threads):
    from ..baselines import SDP

    path = DATA / "sdplib" / "theta6.dat-s.xz"
    problem = read_sdpa(path)
    found, seconds = best_of(repeat, lambda: solve_sdp(problem, tol=TOL))
    answers = [SDP["csdp"].solve(path, tol=TOL, limit=300, threads=threads) for _ in range(repeat)]
    theirs = certify_sdp(problem, answers[0].X, answers[0].y)
    return [
        {
            "work": "theta6 (m = 4,375, n = 300), tolerance 1e-6",
            "ours": seconds,
            "rival": "CSDP with OpenBLAS",
            "theirs": min(a.seconds for a in answers),
            "target": 4.0,
            "accuracy": f"largest error {found.certificate.error:.0e} against {theirs.error:.0e}",
        }
    ]


def random_frobenius(n=500, m=5000, seed=0):
    """min <C, X> + |X|^2 / 2 with rows of about ten non-zeros that a random X meets."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, m, 5))
    values = rng.normal(size=(m, 5))
    rows = np.repeat(np.arange(m), 5)
    upper = sp.csr_array((values.ravel(), (rows, (i * n + j).ravel())), shape=(m, n * n))
    lower = sp.csr_array((values.ravel(), (rows, (j * n + i).ravel())), shape=(m, n * n))
    L = rng.normal(size=(n, n)) / np.sqrt(n)
    C = rng.normal(size=(n, n)) / np.sqrt(n)
    constraints = Sparse((upper + lower) / 2, PSD(n))
    return FrobeniusSDP(
        constraints, Equal(constraints.forward(L @ L.T)), cost=(C + C.T) / 2, sigma=1.0
    )


def by_scs(problem, eps=TOL):
    """The same in SCS' own quadratic form, over the lower triangle of X."""
    import scs

    n = problem.cone.n
    i, j = np.tril_indices(n)
    order = np.lexsort((i, j))  # SCS goes down the columns
    i, j = i[order], j[order]
    weight = np.where(i == j, 1.0, np.sqrt(2.0))  # of the entries, so that norms agree
    A = problem.constraints.rows[:, i * n + j] @ sp.diags_array(np.where(i == j, 1.0, np.sqrt(2.0)))
    size = len(i)
    data = {
        "P": sp.csc_matrix(sp.diags_array(np.full(size, 1 / problem.sigma))),
        "A": sp.csc_matrix(sp.vstack([A, -sp.eye_array(size)])),
        "b": np.concatenate([problem.loss.target, np.zeros(size)]),
        "c": weight * problem.cost[i, j],
    }
    cone = {"z": len(problem.loss.target), "s": [n]}
    solver = scs.SCS(
        data, cone, eps_abs=eps, eps_rel=eps, max_iters=100_000, verbose=False, time_limit_secs=900
    )
    found = solver.solve()
    X = np.zeros((n, n))
    X[i, j] = X[j, i] = found["x"] / weight
    return X, -found["y"][: len(problem.loss.target)], found["info"]


def random(repeat, threads):
    problem = random_frobenius()
    found, seconds = best_of(repeat, lambda: solve_sdp(problem, tol=TOL))
    for eps in TOL / 2.0 ** np.arange(8):  # until its answer is as good, measured alike
        (X, y, info), theirs = best_of(1, lambda eps=eps: by_scs(problem, eps))
        judged = certify_sdp(problem, problem.cone.split(X).clipped(), y)
        if judged.error <= TOL:
            break
    return [
        {
            "work": "random Frobenius SDP, n = 500, m = 5,000 rows of ten non-zeros, σ = 1, 1e-6",
            "ours": seconds,
            "rival": f"SCS ({info['status']}, eps {eps:.1e}, {info['iter']} iterations)",
            "theirs": theirs,
            "target": 20.0,
            "accuracy": f"largest error {found.certificate.error:.0e} against {judged.error:.0e}; "
            f"{found.n_iter} eigen-decompositions",
        }
    ]


def nearest(repeat, threads):
    """statsmodels has no tolerance: it goes on until no eigenvalue is negative, or n_fact n rounds.

    So twice: as one calls it, ended at a limit, and with the fewest rounds, found by trial, that
    have our distance to eight digits.
    """
    from statsmodels.stats.correlation_tools import corr_nearest

    rng = np.random.default_rng(0)
    G = rng.uniform(-1, 1, (1000, 1000))
    G = np.triu(G, 1) + np.triu(G, 1).T + np.eye(1000)
    found, seconds = best_of(repeat, lambda: nearest_correlation(G))
    told = (
        f"{found.n_iter} eigen-decompositions, gradient {found.gradient:.0e}, distance "
        f"{found.distance:.10g}"
    )
    row = {"work": "nearest correlation matrix, n = 1,000 random", "ours": seconds, "target": 30.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n_fact in (0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3):
            theirs, slow = best_of(1, lambda: corr_nearest(G, n_fact=n_fact))
            distance = float(np.linalg.norm(theirs - G))
            if abs(distance - found.distance) <= 1e-8 * found.distance:
                break
    lowest = float(np.linalg.eigvalsh(theirs)[0])
    return [
        row
        | {
            "rival": "statsmodels corr_nearest as called, ended at the limit: >",
            "theirs": _as_called(G),
            "accuracy": told,
        },
        row
        | {
            "rival": f"statsmodels corr_nearest, n_fact = {n_fact:g} by hindsight:",
            "theirs": slow,
            "accuracy": f"{told} against {distance:.10g}, whose smallest "
            f"eigenvalue is {lowest:.0e}",
        },
    ]


def _as_called(G, limit=120.0):
    """Seconds of `corr_nearest(G)` in a process of its own, the limit if it takes longer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "G.npy"
        np.save(path, G)
        code = (
            "import numpy as np, warnings; warnings.simplefilter('ignore'); "
            "from statsmodels.stats.correlation_tools import corr_nearest; "
            f"corr_nearest(np.load({str(path)!r}))"
        )
        began = time.perf_counter()
        try:
            subprocess.run([sys.executable, "-c", code], timeout=limit, check=True)
        except subprocess.TimeoutExpired:
            return limit
        return time.perf_counter() - began


def invalid(repeat, threads):
    rows = []
    with np.load(DATA / "correlation_invalid.npz") as data:
        for name in sorted(data.files, key=lambda name: len(data[name])):
            G = data[name]
            found, seconds = best_of(1, lambda G=G: nearest_correlation(G))
            X = found.matrix
            rows.append(
                {
                    "name": name,
                    "n": len(G),
                    "seconds": seconds,
                    "n_iter": found.n_iter,
                    "status": found.status,
                    "distance": found.distance,
                    "unit_diagonal": bool((np.diagonal(X) == 1).all()),
                    "min_eigenvalue": float(np.linalg.eigvalsh(X)[0]),
                }
            )
            print(rows[-1], flush=True)
    return rows


MEASURES = {"theta6": theta6, "random": random, "nearest": nearest, "invalid": invalid}


def write(record):
    lines = [
        "# General SDPs: speed",
        "",
        "| work | frobmetric | rival | ratio | target | met | accuracy |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in ("theta6", "random", "nearest"):
        for r in record["rows"].get(name, []):
            ratio = r["theirs"] / r["ours"]
            met = "yes" if ratio >= r["target"] else "**no**"
            lines.append(
                f"| {r['work']} | {r['ours']:.3g} s | {r['rival']} {r['theirs']:.3g} s | "
                f"{ratio:.3g} | ≥ {r['target']:g} | {met} | {r['accuracy']} |"
            )
    lines += [
        "",
        "Invalid correlation matrices from the literature:",
        "",
        "| matrix | n | seconds | eigen-decompositions | status | distance | diagonal 1.0 | "
        "smallest eigenvalue |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['name']} | {r['n']} | {r['seconds']:.3g} | {r['n_iter']} | {r['status']} | "
        f"{r['distance']:.8g} | {'yes' if r['unit_diagonal'] else '**no**'} | "
        f"{r['min_eigenvalue']:.1e} |"
        for r in record["rows"].get("invalid", [])
    ]
    lines += [
        "",
        f"Best of {record['repeat']} runs (SCS and statsmodels once), "
        f"{record['program_threads']} BLAS thread(s) for both.",
        "",
        as_markdown(record["run"]),
        "",
    ]
    (RESULTS / "sdp_speed.md").write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    options = parser.parse_args()
    path = RESULTS / "sdp_speed.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else {}
    for name in options.only:
        with threadpool_limits(options.threads):
            rows[name] = MEASURES[name](options.repeat, options.threads)
        print(name, json.dumps(rows[name], indent=1), flush=True)
        record = {
            "run": run_record(),
            "repeat": options.repeat,
            "program_threads": options.threads,
            "rows": rows,
        }
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        write(record)


if __name__ == "__main__":
    main()
