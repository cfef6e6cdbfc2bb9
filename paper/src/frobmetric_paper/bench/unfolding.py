"""Maximum variance unfolding: speed, certified intervals and quality, beside CSDP and Isomap.

    python benchmarks/unfolding.py [--repeat 3] [--threads 2] [--only csdp large perturbed ...]

Swiss rolls are `make_swiss_roll(n, random_state=0)` with 6 neighbours. CSDP has the well-posed
formulation (inequalities, no centring row) in an SDPA file of ours, at its default tolerance 1e-8
and at 1e-6. Needs `python -m frobmetric_paper.baselines.setup csdp`, and $FROBMETRIC_DATA
for the faces and the teapots. Writes benchmarks/results/unfolding.json and unfolding.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap
from threadpoolctl import threadpool_limits

from frobmetric import solve
from frobmetric.manifold import MaximumVarianceUnfolding, neighbor_graph, neighborhood_quality
from frobmetric.manifold.methods.program import (
    UnfoldingProgram,
    feasible,
    gram_problem,
    principal_axes,
)
from frobmetric.manifold.sparse.spectrum import proven_bound
from frobmetric.sdp import solve_sdp
from frobmetric.sdp.sdpa import write_sdpa

from ..baselines import SDP
from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
DATA = Path(os.environ.get("FROBMETRIC_DATA", "data"))
ROWS = 2000  # reference points of the quality of large embeddings


def roll(n):
    return make_swiss_roll(n, random_state=0)[0]


def fit(X, repeat, **options):
    """The estimator of the fastest of several fits, and its seconds."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        model = MaximumVarianceUnfolding(**options).fit(X)
        times.append(time.perf_counter() - began)
    return model, min(times)


def described(model, seconds):
    proof = model.certificate_
    return {
        "seconds": seconds,
        "primal": proof.primal,
        "dual": proof.dual,
        "gap": proof.relative_gap,
        "rank": model.full_embedding_.shape[1],
        "steps": model.n_iter_,
        "status": model.status_,
    }


def by_csdp(X, tol, threads, repeat):
    program = UnfoldingProgram(neighbor_graph(X, 6))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mvu.dat-s")
        write_sdpa(gram_problem(program), file)
        answers = [
            SDP["csdp"].solve(file, tol=tol, limit=3600, threads=threads) for _ in range(repeat)
        ]
    n = program.n_points
    gram = np.ravel(answers[0].X)[: n * n].reshape(n, n)
    objective = np.trace(gram) - gram.sum() / n
    return {
        "seconds": min(a.seconds for a in answers),
        "objective": float(objective),
        "status": answers[0].detail["word"] or answers[0].status,
    }


def csdp(repeat, threads):
    rows = []
    for n in (200, 400, 800):
        row = {"n": n, "ours": described(*fit(roll(n), repeat, tol=1e-5))}
        for tol in (1e-8, 1e-6):
            row[f"csdp {tol:g}"] = by_csdp(roll(n), tol, threads, repeat if n < 800 else 1)
        rows.append(row)
        print(row, flush=True)
    return rows


def large(repeat, threads):
    return [{"n": n} | described(*fit(roll(n), repeat, tol=1e-4)) for n in (2000, 5000)]


def perturbed(repeat, threads):
    """At the paper's sigma; and how far w is from stationary for the paper's own dual."""
    X, rows = roll(500), []
    for tol in (1e-5, 1e-7):
        model, seconds = fit(X, repeat, sigma=1e5, tol=tol)
        rows.append(
            {"tol": tol, "gradient": _dual_gradient(model, 1e5)} | described(model, seconds)
        )
    return rows


def _dual_gradient(model, sigma):
    """|w - max(0, w - t g)| / |w| with g the gradient of the paper's dual and t = |w| / |b|."""
    problem = gram_problem(UnfoldingProgram(model.graph_, sigma))
    w, b = model.dual_coef_, model.graph_.squared
    g = problem.evaluate(-w).gradient
    scale = np.linalg.norm(w) / np.linalg.norm(b)
    return float(np.linalg.norm(w - np.maximum(0, w - scale * g)) / np.linalg.norm(w))


def faces(repeat, threads):
    X = np.load(DATA / "frey_faces.npz")["X"] / 255
    return [described(*fit(X, repeat, n_neighbors=5, tol=1e-5))]


def teapots(repeat, threads):
    """How many of the 100 views follow their neighbour in angle around the mean."""
    X = np.load(DATA / "teapots_100_38x50.npz")["X_rgbsum"].reshape(100, -1) / 765
    rows = []
    for k, sigma in ((6, None), (6, 1e10), (3, None), (3, 1e10)):
        model, seconds = fit(X, repeat, n_neighbors=k, sigma=sigma, tol=1e-6)
        angle = np.angle((model.embedding_ / model.embedding_.std(axis=0)) @ [1, 1j])
        turn = (np.roll(angle, -1) - angle + np.pi) % (2 * np.pi) - np.pi
        apart = np.abs(np.diff(model.graph_.edges)).ravel()
        rows.append(
            {
                "k": k,
                "sigma": sigma,
                "in_order": int(max((turn > 0).sum(), (turn < 0).sum())),
                "shortcuts": int((np.minimum(apart, 100 - apart) > 10).sum()),
            }
            | described(model, seconds)
        )
    return rows


def huge(repeat, threads):
    """20,000 samples, each run in a process of its own for its memory."""
    return _in_children(("mvu", "mvu extra_edges", "mvu landmarks"))


def isomap(repeat, threads):
    """The same by Isomap, whose matrix of all distances takes gigabytes and many minutes."""
    return _in_children(("isomap",))


def _in_children(names):
    rows = []
    for method in names:
        run = subprocess.run(
            [sys.executable, __file__, "--child", method],
            check=True,
            capture_output=True,
            text=True,
        )
        rows.append(json.loads(run.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    return rows


def child(method):
    """One embedding of the roll of 20,000: seconds, peak memory, quality."""
    X, began = roll(20_000), time.perf_counter()
    if method == "isomap":
        Y, gap = Isomap(n_neighbors=6, eigen_solver="arpack").fit_transform(X), None
    else:
        options = {
            "mvu extra_edges": {"extra_edges": True},
            "mvu landmarks": {"n_landmarks": 1000, "random_state": 0},
        }.get(method, {})
        model = MaximumVarianceUnfolding(tol=1e-4, **options).fit(X)
        Y, gap = model.embedding_, model.certificate_.relative_gap
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    area = neighborhood_quality(X, Y, n_rows=ROWS, random_state=0).area
    print(
        json.dumps(
            {"method": method, "seconds": seconds, "gigabytes": memory, "gap": gap, "area": area}
        )
    )


def held_out(repeat, threads):
    """10 % of the roll of 1,000 placed by `transform`, against an embedding of all samples."""
    X, rows = roll(1000), []
    whole = MaximumVarianceUnfolding().fit_transform(X)
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(1000)
        new, known = mixed[:100], mixed[100:]
        model = MaximumVarianceUnfolding().fit(X[known])
        turn, shift = _alignment(model.embedding_, whole[known])
        radius = np.sqrt(((whole - whole.mean(axis=0)) ** 2).sum(axis=1).mean())
        error = [
            np.sqrt(((Y @ turn + shift - whole[part]) ** 2).sum(axis=1).mean()) / radius
            for Y, part in ((model.transform(X[new]), new), (model.embedding_, known))
        ]
        rows.append({"seed": seed, "placed": error[0], "common": error[1]})
    return rows


def _alignment(Y, Z):
    """The rotation and shift that bring Y closest to Z."""
    u, _, vt = np.linalg.svd((Y - Y.mean(axis=0)).T @ (Z - Z.mean(axis=0)))
    return u @ vt, Z.mean(axis=0) - Y.mean(axis=0) @ u @ vt


def methods(repeat, threads):
    """What each way to solve the problem reached on the roll of 200, within 60 s."""
    graph, rows = neighbor_graph(roll(200), 6), []
    for sigma in (np.inf, 1e5, 1e2):
        program = UnfoldingProgram(graph, sigma)
        for name, work in WAYS.items():
            if (found := work(program)) is not None:
                rows.append({"sigma": sigma, "method": name} | found)
                print(rows[-1], flush=True)
    return rows


def _estimator(method):
    def work(program):
        sigma = None if np.isinf(program.sigma) else program.sigma
        if method == "dual" and sigma is None:
            return None
        began = time.perf_counter()
        model = MaximumVarianceUnfolding(sigma=sigma, solver=method, callback=_Limit(60)).fit(
            roll(200)
        )
        return {
            "seconds": time.perf_counter() - began,
            "gap": model.certificate_.relative_gap,
            "steps": model.n_iter_,
        }

    return work


class _Limit:
    def __init__(self, seconds):
        self.end = time.perf_counter() + seconds

    def __call__(self, step):
        return time.perf_counter() > self.end


def _general(program):
    """The general solver: proximal steps, or Newton on the dual with a Frobenius term."""
    began = time.perf_counter()
    answer = solve_sdp(gram_problem(program), tol=1e-6, time_limit=60)
    return _judged(program, answer.X, -answer.y, time.perf_counter() - began, answer.n_iter)


def _paper(program):
    """The paper's: L-BFGS-B on the dual."""
    if np.isinf(program.sigma):
        return None
    began = time.perf_counter()
    answer = solve(
        gram_problem(program), solver="lbfgsb", tol=1e-6, max_iter=20_000, callback=_Limit(60)
    )
    X = answer.point.dense()
    return _judged(program, X, -answer.u, time.perf_counter() - began, answer.n_iter)


def _judged(program, X, w, seconds, steps):
    """The same bounds as for ours: X shrunk until it is feasible, w proven."""
    values, vectors = np.linalg.eigh(X)
    Y = principal_axes(program, vectors * np.sqrt(np.maximum(values, 0)))
    upper = proven_bound(program, np.maximum(w, 0))
    gap = (upper - program.objective(feasible(program, Y))) / upper
    return {"seconds": seconds, "gap": float(gap), "steps": steps}


WAYS = {
    "coordinates, interior point": _estimator("lowrank"),
    "multipliers, interior point": _estimator("dual"),
    "general SDP solver": _general,
    "L-BFGS-B on the dual": _paper,
}
MEASURES = {
    "csdp": csdp,
    "large": large,
    "perturbed": perturbed,
    "faces": faces,
    "teapots": teapots,
    "huge": huge,
    "isomap": isomap,
    "held_out": held_out,
    "methods": methods,
}


def write(record):
    rows = record["rows"]
    unit = next((r["csdp 1e-06"]["seconds"] for r in rows.get("csdp", []) if r["n"] == 800), None)
    lines = [
        "# Maximum variance unfolding",
        "",
        *_csdp_table(rows.get("csdp", [])),
        *_large_table(rows, unit),
        *_huge_table(rows.get("huge", []) + rows.get("isomap", [])),
        *_held_out_table(rows.get("held_out", [])),
        *_methods_table(rows.get("methods", [])),
        "Best of several runs (CSDP at n = 800, the 20,000 and the methods once). CSDP has "
        "two BLAS threads; ours uses one.",
        "",
        *sorted({as_markdown(run) + "\n" for run in record["runs"].values()}),
    ]
    (RESULTS / "unfolding.md").write_text("\n".join(lines))


def _csdp_table(rows):
    lines = [
        "Swiss roll, exact, beside CSDP (its seconds are those of its iterations):",
        "",
        "| n | ours | interval | relative width | CSDP 1e-8 | ratio | CSDP 1e-6 | ratio | "
        "CSDP's objective against ours |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        ours, cells = r["ours"], []
        for name in ("csdp 1e-08", "csdp 1e-06"):
            theirs = r[name]
            cells += [f"{theirs['seconds']:.3g} s", f"{theirs['seconds'] / ours['seconds']:.3g}"]
        off = r["csdp 1e-08"]["objective"] / ours["primal"] - 1
        interval = f"[{ours['primal']:.2f}, {ours['dual']:.2f}]"
        lines.append(
            f"| {r['n']} | {ours['seconds']:.3g} s | {interval} | {ours['gap']:.1e} | "
            f"{' | '.join(cells)} | {off:+.1e} |"
        )
    return [*lines, ""]


def _large_table(rows, unit):
    lines = [
        "Larger and other problems, in units of CSDP's seconds (1e-6) at n = 800:",
        "",
        "| work | seconds | in units | relative width | rank | note |",
        "|---|---|---|---|---|---|",
    ]
    found = [(f"roll, n = {r['n']:,}, tol 1e-4", r, "") for r in rows.get("large", [])]
    found += [("Frey faces, 1,965, k = 5, tol 1e-5", r, "") for r in rows.get("faces", [])]
    found += [
        (
            f"roll, n = 500, σ = 1e5, tol {r['tol']:g}",
            r,
            f"gradient of the paper's dual {r['gradient']:.1e}",
        )
        for r in rows.get("perturbed", [])
    ]
    found += [
        (
            f"teapots, k = {r['k']}, σ = {r['sigma'] or 'none'}",
            r,
            f"{r['in_order']} of 100 views in their cyclic order; {r['shortcuts']} edges join "
            "views more than 36° apart",
        )
        for r in rows.get("teapots", [])
    ]
    for name, r, note in found:
        units = f"{r['seconds'] / unit:.3g}" if unit else ""
        lines.append(
            f"| {name} | {r['seconds']:.3g} | {units} | {r['gap']:.1e} | {r['rank']} | {note} |"
        )
    return [*lines, ""]


def _huge_table(rows):
    lines = [
        f"Swiss roll, n = 20,000, 6 neighbours (area of R_NX from {ROWS:,} points):",
        "",
        "| method | seconds | peak memory | relative width | area of R_NX |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['method']} | {r['seconds']:.3g} | {r['gigabytes']:.2f} GB | "
        f"{'' if r['gap'] is None else format(r['gap'], '.1e')} | {r['area']:.4f} |"
        for r in rows
    ]
    return [*lines, ""]


def _held_out_table(rows):
    lines = [
        "`transform`: 10 % of the roll of 1,000 held out and placed, against the embedding of "
        "all samples (root mean square distance relative to the radius, after alignment on "
        "the common samples, which by themselves differ by the last column):",
        "",
        "| split | placed samples | common samples |",
        "|---|---|---|",
    ]
    lines += [f"| {r['seed']} | {r['placed']:.4f} | {r['common']:.4f} |" for r in rows]
    return [*lines, ""]


def _methods_table(rows):
    lines = [
        "What each method reached on the roll of 200 points (limit 60 s):",
        "",
        "| σ | method | seconds | steps | proven gap |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['sigma']:g} | {r['method']} | {r['seconds']:.3g} | {r['steps']} | {r['gap']:.1e} |"
        for r in rows
    ]
    return [*lines, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    path = RESULTS / "unfolding.json"
    record = json.loads(path.read_text()) if path.exists() else {"runs": {}, "rows": {}}
    for name in options.only:
        with threadpool_limits(options.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record["rows"][name] = MEASURES[name](options.repeat, options.threads)
        record["runs"][name] = run_record()
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        write(record)
    return None


if __name__ == "__main__":
    main()
