"""Maximum variance unfolding: speed, certified intervals and quality, beside CSDP and Isomap.

Swiss rolls are `make_swiss_roll(n, random_state=0)` with 6 neighbours. CSDP has the well-posed
formulation (inequalities, no centring row), at its default tolerance 1e-8 and at 1e-6.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from frobmetric import solve
from frobmetric.manifold import MaximumVarianceUnfolding, neighbor_graph, neighborhood_quality
from frobmetric.manifold.methods.program import (
    UnfoldingProgram,
    feasible,
    gram_problem,
    principal_axes,
)
from frobmetric.manifold.sparse.spectrum import proven_bound
from frobmetric.sdp import solve_sdp, write_sdpa

from ..baselines import SDP
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import best_answer, best_of, in_new_process, peak_memory, timed


def roll(n):
    """Return points of the Swiss roll."""
    return make_swiss_roll(n, random_state=0)[0]


def fit(X, options, **parameters):
    """Return the model and a description of the fastest of several fits."""
    timing = best_of(lambda: MaximumVarianceUnfolding(**parameters).fit(X), options.repeat)
    model, proof = timing.result, timing.result.certificate_
    row = {"seconds": timing.seconds, "primal": proof.primal, "dual": proof.dual}
    row |= {"gap": proof.relative_gap, "rank": model.full_embedding_.shape[1]}
    return model, row | {"steps": model.n_iter_, "status": model.status_}


def solve_by_csdp(n, tol, options):
    """Return seconds and objective of CSDP; or why there are none."""
    program = UnfoldingProgram(neighbor_graph(roll(n), 6))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mvu.dat-s")
        write_sdpa(gram_problem(program), file)
        given = {"tol": tol, "limit": options.limit, "threads": options.threads}
        repeat = options.repeat if n < 800 else 1
        timing = best_answer(partial(SDP["csdp"].solve, file, **given), repeat)
    if not timing.runs:
        return {"status": timing.reason}
    answer, n = timing.result, program.n_points
    gram = np.ravel(answer.X)[: n * n].reshape(n, n)
    objective = float(np.trace(gram) - gram.sum() / n)
    status = answer.detail["word"] or answer.status
    return {"seconds": timing.seconds, "objective": objective, "status": status}


def csdp(options):
    """Compare with CSDP on rolls of several sizes."""
    rows = []
    for n in options.choose((200, 400, 800), (60,)):
        theirs = {f"csdp {tol:g}": solve_by_csdp(n, tol, options) for tol in (1e-8, 1e-6)}
        rows.append({"n": n, "ours": fit(roll(n), options, tol=1e-5)[1]} | theirs)
    return rows


def large(options):
    """Unfold larger rolls."""
    sizes = options.choose((2000, 5000), (300,))
    return [{"n": n} | fit(roll(n), options, tol=1e-4)[1] for n in sizes]


def perturbed(options):
    """Unfold with the paper's sigma; and say how far w is from stationary for its own dual."""
    X, rows = roll(options.choose(500, 100)), []
    for tol in (1e-5, 1e-7):
        model, row = fit(X, options, sigma=1e5, tol=tol)
        w, size = model.dual_coef_, np.linalg.norm(model.dual_coef_)
        g = gram_problem(UnfoldingProgram(model.graph_, 1e5)).evaluate(-w).gradient
        step = size / np.linalg.norm(model.graph_.squared) * g
        gradient = np.linalg.norm(w - np.maximum(0, w - step)) / size
        rows.append({"tol": tol, "gradient": gradient} | row)
    return rows


def faces(options):
    """Unfold Frey's faces."""
    X = np.load(options.path("frey_faces.npz"))["X"][: options.choose(None, 200)] / 255
    return [fit(X, options, n_neighbors=5, tol=1e-5)[1]]


def teapots(options):
    """Count the views that follow their neighbour in angle around the mean."""
    X = np.load(options.path("teapots_100_38x50.npz"))["X_rgbsum"].reshape(100, -1) / 765
    rows = []
    for k, sigma in ((6, None), (6, 1e10), (3, None), (3, 1e10)):
        model, row = fit(X, options, n_neighbors=k, sigma=sigma, tol=1e-6)
        angle = np.angle((model.embedding_ / model.embedding_.std(axis=0)) @ [1, 1j])
        turn = (np.roll(angle, -1) - angle + np.pi) % (2 * np.pi) - np.pi
        apart = np.abs(np.diff(model.graph_.edges)).ravel()
        in_order = int(max((turn > 0).sum(), (turn < 0).sum()))
        shortcuts = int((np.minimum(apart, 100 - apart) > 10).sum())
        rows.append({"k": k, "sigma": sigma, "in_order": in_order, "shortcuts": shortcuts} | row)
    return rows


#: Parameters of the runs of 20,000 samples.
LARGE_RUNS = {
    "mvu": {},
    "mvu extra_edges": {"extra_edges": True},
    "mvu landmarks": {"n_landmarks": 1000, "random_state": 0},
}


def embed_large(task):
    """Embed a roll in a worker: seconds, peak memory, quality."""
    X, method = roll(task["n"]), task["method"]
    if method == "isomap":
        model = Isomap(n_neighbors=6, eigen_solver="arpack")
    else:
        model = MaximumVarianceUnfolding(tol=1e-4, **LARGE_RUNS[method])
    seconds, Y = timed(lambda: model.fit_transform(X))
    row = {"method": method, "seconds": seconds, "gigabytes": peak_memory() / 2**30}
    row["gap"] = None if method == "isomap" else model.certificate_.relative_gap
    quality = neighborhood_quality(X, Y, n_rows=min(2000, len(X)), random_state=0)
    return {}, {"row": row | {"area": float(quality.area)}}


def embed_in_workers(methods, options):
    """Embed 20,000 samples by each method in a process of its own, for its memory."""
    n, target = options.choose(20_000, 1_200), f"{__name__}:embed_large"
    return [in_new_process(target, {"method": name, "n": n}, options)["row"] for name in methods]


def held_out(options):
    """Place a tenth of a roll by `transform`, against an embedding of all samples."""
    n = options.choose(1000, 150)
    X, rows = roll(n), []
    whole = MaximumVarianceUnfolding().fit_transform(X)
    radius = np.sqrt(((whole - whole.mean(axis=0)) ** 2).sum(axis=1).mean())
    for seed in range(options.choose(5, 2)):
        mixed = np.random.default_rng(seed).permutation(n)
        new, known = mixed[: n // 10], mixed[n // 10 :]
        model = MaximumVarianceUnfolding().fit(X[known])
        Y, Z = model.embedding_, whole[known]
        turn, _ = orthogonal_procrustes(Y - Y.mean(axis=0), Z - Z.mean(axis=0))
        row = {"seed": seed}
        for name, placed, part in (("placed", model.transform(X[new]), new), ("common", Y, known)):
            aligned = (placed - Y.mean(axis=0)) @ turn + Z.mean(axis=0)
            row[name] = np.sqrt(((aligned - whole[part]) ** 2).sum(axis=1).mean()) / radius
        rows.append(row)
    return rows


# Ways to solve the problem of one roll


def methods(options):
    """Return what each way to solve the problem reached within a limit."""
    graph, rows = neighbor_graph(roll(options.choose(200, 40)), 6), []
    limit = min(60.0, options.limit)
    for sigma in (np.inf, 1e5, 1e2):
        program = UnfoldingProgram(graph, sigma)
        for name, work in WAYS.items():
            if not (np.isinf(sigma) and name in ONLY_WITH_SIGMA):
                rows.append({"sigma": sigma, "method": name} | work(program, limit))
    return rows


def _stop_after(limit):
    end = time.perf_counter() + limit
    return lambda step: time.perf_counter() > end


def by_estimator(solver, program, limit):
    """Solve by one of the estimator's own methods."""
    sigma = None if np.isinf(program.sigma) else program.sigma
    model = MaximumVarianceUnfolding(sigma=sigma, solver=solver, callback=_stop_after(limit))
    seconds, _ = timed(lambda: model.fit(roll(program.n_points)))
    return {"seconds": seconds, "gap": model.certificate_.relative_gap, "steps": model.n_iter_}


def by_general_solver(program, limit):
    """Solve by proximal steps, or by Newton on the dual with a Frobenius term."""
    problem = gram_problem(program)
    seconds, answer = timed(lambda: solve_sdp(problem, tol=1e-6, time_limit=limit))
    return _proven(program, answer.X, -answer.y, seconds, answer.n_iter)


def by_paper(program, limit):
    """Solve as the paper does: L-BFGS-B on the dual."""
    problem, given = gram_problem(program), {"tol": 1e-6, "max_iter": 20_000}
    stop = _stop_after(limit)
    seconds, answer = timed(lambda: solve(problem, solver="lbfgsb", callback=stop, **given))
    return _proven(program, answer.point.dense(), -answer.u, seconds, answer.n_iter)


def _proven(program, X, w, seconds, steps):
    """Return the gap by the same bounds as for ours: X shrunk until it is feasible, w proven."""
    values, vectors = np.linalg.eigh(X)
    Y = principal_axes(program, vectors * np.sqrt(np.maximum(values, 0)))
    upper = proven_bound(program, np.maximum(w, 0))
    gap = (upper - program.objective(feasible(program, Y))) / upper
    return {"seconds": seconds, "gap": float(gap), "steps": steps}


WAYS = {
    "coordinates, interior point": partial(by_estimator, "lowrank"),
    "multipliers, interior point": partial(by_estimator, "dual"),
    "general SDP solver": by_general_solver,
    "L-BFGS-B on the dual": by_paper,
}
ONLY_WITH_SIGMA = ("multipliers, interior point", "L-BFGS-B on the dual")


# The page


def csdp_rows(parts):
    """Return the numbers of the comparison with CSDP."""
    rows = []
    for row in parts.get("csdp", []):
        ours, numbers = row["ours"], {"n": row["n"]}
        for name in ("csdp 1e-08", "csdp 1e-06"):
            seconds = row[name].get("seconds")
            numbers[f"s{name[-2:]}"] = seconds
            numbers[f"r{name[-2:]}"] = seconds and seconds / ours["seconds"]
        objective = row["csdp 1e-08"].get("objective")
        rows.append(ours | numbers | {"off": objective and objective / ours["primal"] - 1})
    return rows


#: Name and note of the rows of a part.
OTHER_PROBLEMS = {
    "large": ("roll, n = {n:,}, tol 1e-4", ""),
    "faces": ("Frey faces, 1,965, k = 5, tol 1e-5", ""),
    "perturbed": (
        "roll, n = 500, σ = 1e5, tol {tol:g}",
        "gradient of the paper's dual {gradient:.1e}",
    ),
    "teapots": (
        "teapots, k = {k}, σ = {sigma}",
        "{in_order} of 100 views in their cyclic order; {shortcuts} edges join views more than 36° "
        "apart",
    ),
}


def unfolding_page(parts):
    """Return the rows of all tables; other problems in units of CSDP's seconds at n = 800."""
    known = [row["csdp 1e-06"] for row in parts.get("csdp", []) if row["n"] == 800]
    unit = known[0].get("seconds") if known else None
    others = []
    for part, texts in OTHER_PROBLEMS.items():
        for row in parts.get(part, []):
            filled = row | {"sigma": row.get("sigma") or "none"}
            name, note = (text.format(**filled) for text in texts)
            units = unit and row["seconds"] / unit
            others.append(row | {"name": name, "note": note, "units": units})
    large_rows = parts.get("huge", []) + parts.get("isomap", [])
    tables = {"csdp": csdp_rows(parts), "other": others, "large": large_rows}
    return tables | {name: parts.get(name, []) for name in ("held_out", "methods")}


PARTS = {each.__name__: each for each in (csdp, large, faces, perturbed, teapots)}
PARTS["huge"] = partial(embed_in_workers, list(LARGE_RUNS))
PARTS["isomap"] = partial(embed_in_workers, ["isomap"])
PARTS |= {"held_out": held_out, "methods": methods}
OPTIONS = Options(threads=2, limit=3600.0)
BENCHMARK = Benchmark(parts=PARTS, page=unfolding_page, options=OPTIONS)
