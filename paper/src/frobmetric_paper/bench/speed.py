"""Speed of frobmetric beside other programs, on the same data at equal accuracy.

Baselines are set up by `frobmetric reproduce baselines`; the table says which one is
absent. Times are the best of some runs, with compiled kernels.
"""

import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from frobmetric import FrobeniusSDP, FrobMetric, frob_path, mine_triplets
from frobmetric.core import Hinge
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.sets import GivenTriplets
from frobmetric.neighbors import knn_error
from frobmetric.solvers import solve

from ..baselines import METRIC
from ..data import labelled
from ..harness.worker import Target, WorkerPool
from . import (
    Benchmark,
    Options,
    Timing,
    best_answer,
    best_of,
    peak_memory,
    short,
    show,
    table,
    timed,
)

#: Seconds of the paper's FrobMetric.
PAPER_SECONDS = {"Yale": 335, "LFW": 7621}
GB = 1e9


# Data and problems, each made once


@cache
def load_split(name, folder, n=None):
    """Return a split, of which the training part may be cut."""
    split = labelled.load(name, folder=folder)
    return vars(split) | {"X_train": split.X_train[:n], "y_train": split.y_train[:n]}


@cache
def load_training(name, folder, n=None):
    """Return the training part at unit mean squared norm, its labels and triplets."""
    split = load_split(name, folder, n)
    Z = unit_mean_square(split["X_train"])[0]
    return Z, split["y_train"], mine_triplets(Z, split["y_train"], warn_small=False)


def training(name, options):
    """Return the samples, labels and triplets of a set; few for the small version."""
    return load_training(name, options.folder, options.choose(None, 500))


def make_problem(Z, triplets, C):
    """Return P3: |M|^2 / 2 plus C times the mean hinge loss."""
    return FrobeniusSDP(triplets.constraints(Z), Hinge(C * triplets.share))


def solve_p3(Z, triplets, C, tol, **others):
    """Return the solution of P3 from the points and the neighbour lists, as a user gets it."""
    return solve(make_problem(Z, triplets, C), tol=tol, **others)


def objective(Z, triplets, C, L):
    """Return the value of P3 at L L.T."""
    return make_problem(Z, triplets, C).compare(L @ L.T, np.zeros(triplets.n_triplets)).primal


def fit_baseline(name, options, *data, threads=None, **others):
    """Return the Timing of a baseline."""
    threads = threads or options.threads
    fit = partial(METRIC[name].fit, *data, limit=options.limit, threads=threads, **others)
    return best_answer(fit, options.repeat)


@cache
def fit_dlib(name, C, build, options):
    """Return the Timing of a build of dlib with one thread or with all, whichever is faster."""
    Z, _, triplets = training(name, options)
    given = {"triplets": triplets, "parameters": {"C": C}}
    timings = [
        fit_baseline(build, options, Z, threads=count, **given)
        for count in sorted({1, options.threads})
    ]
    return min(timings, key=lambda timing: timing.seconds or np.inf)


# Lines of the table


def line(work, ours, rival, *, speedup=None, cost=None, is_bound=False, gap=None, **detail):
    """Return one line: `speedup` is rival's time over ours, `cost` is ours over the rival's."""
    ratios = {"speedup": speedup, "cost": cost, "is_bound": is_bound}
    return {"work": work, "ours": ours, "rival": rival, **ratios, "gap": gap, "detail": detail}


def compare(work, ours, rival, name, ratio="speedup", **others):
    """Return the line of two Timings; a rival beyond its limit gives a bound on the ratio."""
    if ours.seconds and rival.seconds:
        faster = rival.seconds / ours.seconds
        others[ratio] = faster if ratio == "speedup" else 1 / faster
    runs = {"runs": ours.runs, "rival_runs": rival.runs}
    detail = {"rival_detail": getattr(rival.result, "detail", None)}
    return line(
        work, str(ours), f"{name} {rival}", is_bound=not rival.runs, **others, **runs | detail
    )


def gap_of(timing):
    """Return the relative gap that a solve reached."""
    return timing.result.certificate.relative_gap


def usps_dlib(options):
    """Reach the objective of each build of dlib."""
    Z, _, triplets = training("usps", options)
    lines, work = [], f"USPS {triplets.n_triplets:,} triplets, C = 1e4: reach dlib's objective"
    for build in ("dlib", "dlib_fast_math"):
        dlib = fit_dlib("usps", 1e4, build, options)
        if not dlib.runs:
            lines.append(line(work, "", f"{build} {dlib}"))
            continue
        goal = objective(Z, triplets, 1e4, dlib.result.L)
        call = partial(solve_p3, Z, triplets, 1e4, 1e-4, callback=lambda s, g=goal: s.primal <= g)
        ours = best_of(call, options.repeat)
        is_reached = any(step.primal <= goal for step in ours.result.history)
        name = build if is_reached else f"not reached: {build}"
        more = {"gap": gap_of(ours), "steps": ours.result.n_iter, "rival_objective": goal}
        lines.append(compare(f"{work}, {goal:.2f}", ours, dlib, name, **more))
    return lines, partial(solve_p3, Z, triplets, 1e4, 1e-3)


def usps_accurate(options):
    """Solve to five more digits."""
    Z, _, triplets = training("usps", options)
    calls = [partial(solve_p3, Z, triplets, 1e4, tol) for tol in (1e-3, 1e-8)]
    rough, ours = (best_of(call, options.repeat) for call in calls)
    work, dlib = "USPS, C = 1e4, gap 1e-8", fit_dlib("usps", 1e4, "dlib", options)
    rivals = {"gap 1e-3:": rough, "dlib": dlib}
    return [
        compare(work, ours, rival, name, "cost", gap=gap_of(ours)) for name, rival in rivals.items()
    ], calls[1]


def path(options):
    """Solve for ten values of C."""
    Z, _, triplets = training("usps", options)
    call = partial(frob_path, Z, Cs=np.geomspace(1e2, 1e6, 10), tol=1e-3, triplets=triplets)
    ours = best_of(call, options.repeat)
    single = best_of(partial(solve_p3, Z, triplets, 1e6, 1e-3), options.repeat)
    gap = max(point.certificate.relative_gap for point in ours.result.points)
    steps = [point.n_iter for point in ours.result.points]
    work = "USPS, path of 10 values of C from 1e2 to 1e6, gap 1e-3 each"
    dlib = fit_dlib("usps", 1e4, "dlib", options)
    rivals = {"C = 1e6 alone:": single, "dlib at C = 1e4:": dlib}
    return [
        compare(work, ours, rival, name, "cost", gap=gap, steps=steps)
        for name, rival in rivals.items()
    ], call


def learners(name, options):
    """Compare whole fits, mining included, with learners from labels, all at their defaults."""
    X, y, _ = training(name, options)
    split = load_split(name, options.folder, len(X))
    call = FrobMetric().fit

    def test_error(L):
        """Return the 3-NN error in percent; neighbours do not depend on the scale of L."""
        train, test = split["X_train"] @ L, split["X_test"] @ L
        return 100 * knn_error(train, split["y_train"], test, split["y_test"])

    ours = best_of(partial(call, X, y), options.repeat)
    error, gap = test_error(ours.result.components_.T), ours.result.certificate_.relative_gap
    lines = []
    for rival in options.choose(("scml", "itml", "lmnn", "nca"), ("scml", "nca")):
        timing = fit_baseline(rival, options, X, y)
        other = test_error(timing.result.L) if timing.runs else None
        work = f"{name}, whole fit; test error {error:.2f} %"
        work += "" if other is None else f" against {other:.2f} %"
        more = {"gap": gap, "test_error": error, "rival_error": other}
        lines.append(compare(work, ours, timing, rival, **more))
    return lines, partial(call, X, y)


def mnist(options):
    """Compare mining and solving with one neighbour search."""
    Z, y, triplets = training("mnist", options)

    def call():
        return solve_p3(Z, mine_triplets(Z, y, warn_small=False), 1e5, 1e-3)

    def search():
        return NearestNeighbors(n_neighbors=3, algorithm="brute").fit(Z).kneighbors()

    ours, knn = best_of(call, options.repeat), best_of(search, options.repeat)
    solving = best_of(partial(solve_p3, Z, triplets, 1e5, 1e-3), options.repeat)
    more = {"gap": gap_of(ours), "steps": ours.result.n_iter, "seconds_solving": solving.seconds}
    work = f"MNIST {triplets.n_triplets:,} triplets, C = 1e5, gap 1e-3: mining + solving"
    return [compare(work, ours, knn, "exact 3-NN search:", "cost", **more)], call


def generic(options):
    """Compare with generic solvers of semidefinite programs, and with the paper's recipe."""
    D, m = options.choose((30, 2000), (8, 200))
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=400)
    X = rng.normal(size=(400, D)) + 1.5 * rng.normal(size=(4, D))[y] / np.sqrt(D)
    Z, _ = unit_mean_square(X)
    triplets = GivenTriplets(rng.permutation(mine_triplets(Z, y).to_array())[:m], np.ones(m))
    call = partial(solve_p3, Z, triplets, 1e4, 1e-6)
    ours, lines = best_of(call, options.repeat), []
    for name in ("clarabel", "scs", "paper_recipe"):
        rival = fit_baseline(name, options, Z, triplets=triplets, parameters={"C": 1e4})
        primal = objective(Z, triplets, 1e4, rival.result.L) if rival.runs else None
        more = {"primal": ours.result.certificate.primal, "rival_primal": primal}
        work = f"P3, D = {D}, {m:,} triplets, C = 1e4, gap 1e-6"
        lines.append(compare(work, ours, rival, name, gap=gap_of(ours), **more))
    return lines, call


def faces(options):
    """Solve the face sets at the sizes of the paper."""
    Z, _, triplets = training("yale", options)
    sets = {"Yale": (Z, triplets), "LFW": _lfw(options)}
    lines = []
    for name, data in sets.items():
        ours = best_of(partial(solve_p3, *data, 1e5, 1e-3), options.repeat)
        n, D = data[0].shape
        work = f"{name} {n:,} x {D}, {data[1].n_triplets:,} triplets, C = 1e5, gap 1e-3"
        paper = Timing((PAPER_SECONDS[name],) * 3)
        more = {"gap": gap_of(ours), "steps": ours.result.n_iter}
        lines.append(compare(work, ours, paper, "the paper:", **more))
    return lines, partial(solve_p3, Z, triplets, 1e5, 1e-3)


def _lfw(options):
    """Return 2,000 faces with another of the same person, in 400 principal components."""
    n, D = options.choose((2000, 400), (300, 40))
    folder = Path(options.folder)
    person = np.load(folder / "lfw_meta.npz")["person"]
    rows = np.flatnonzero(np.bincount(person)[person] >= 4)[:n]
    X = np.sqrt(np.load(folder / "lfw_sift3456.npz")["X"][rows].astype(float))
    Z, _ = unit_mean_square(PCA(D, svd_solver="covariance_eigh").fit_transform(X))
    return Z, mine_triplets(Z, person[rows], warn_small=False)


def growth(options):
    """Solve with half of the samples, and with all."""
    Z, y, _ = training("mnist", options)
    timings, n = [], len(Z)
    for size in (n // 2, n):
        triplets = mine_triplets(Z[:size], y[:size], warn_small=False)
        call = partial(solve_p3, Z[:size], triplets, 1e5, 1e-3)
        timings.append(best_of(call, options.repeat))
    half, whole = timings
    more = {"steps": whole.result.n_iter, "half_steps": half.result.n_iter}
    work = f"MNIST, {n:,} samples, C = 1e5, gap 1e-3: solving"
    name = f"{n // 2:,} samples:"
    return [compare(work, whole, half, name, "cost", gap=gap_of(whole), **more)], call


# Memory, first call, and the bound of the hardware


def in_new_process(function, options, **values):
    """Return the detail of a function of this module that a new worker calls."""
    pool = WorkerPool()
    try:
        target = Target(f"{__name__}:{function.__name__}")
        return target.run({}, values, 3600.0, options.threads, pool)[1]
    finally:
        pool.end()


def use_memory(task):
    """Mine and solve on Gaussian classes whose spectrum falls as that of images does."""
    imports, (n, D) = peak_memory(), task["shape"]
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    X = (rng.standard_normal((n, D)) + 2 * rng.standard_normal((10, D))[y]) / np.sqrt(
        1 + np.arange(D)
    )
    X = unit_mean_square(X)[0]
    triplets = mine_triplets(X, y)
    mining = peak_memory()
    gap = solve_p3(X, triplets, 1e4, 1e-3).certificate.relative_gap
    peaks = {"imports": imports, "data": X.nbytes, "mining": mining, "peak": peak_memory()}
    return {}, peaks | {"n_triplets": triplets.n_triplets, "gap": gap}


def memory(options):
    """Measure the peak of a process that mines and solves."""
    n, D = options.choose((100_000, 164), (2_000, 20))
    used = in_new_process(use_memory, options, shape=[n, D])
    data, imports, mining = (used[name] / GB for name in ("data", "imports", "mining"))
    m = used["n_triplets"]
    work = f"memory: n = {n:,}, D = {D}, {m:,} triplets mined exactly, C = 1e4"
    parts = f"X itself {data:.2f}, imports {imports:.2f}, mining {mining:.2f}"
    parts += f"; n² {8 * n**2 / GB:.0f}, m·D {8 * m * D / GB:.1f} GB"
    return [line(work, f"{used['peak'] / GB:.2f} GB", parts, **used)], None


def fit_first(task):
    """Fit several times in a new process, and import in another one."""
    split = load_split("usps", task["folder"], task["n"])
    call = partial(FrobMetric().fit, split["X_train"], split["y_train"])
    seconds = [timed(call)[0] for _ in range(4)]
    code = "import time; t = time.perf_counter(); import frobmetric; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {}, {"import": float(run.stdout), "first": seconds[0], "warm": min(seconds[1:])}


def cold_start(options):
    """Measure the first fit of a process, with nothing compiled and with kernels on disk."""
    given = {"folder": str(options.folder), "n": options.choose(None, 500)}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, NUMBA_CACHE_DIR=folder):
        runs = [in_new_process(fit_first, options, **given) for _ in range(2)]
    lines = []
    for run, when in zip(
        runs, ("nothing compiled before", "kernels compiled by an earlier process"), strict=True
    ):
        rival = f"warm {run['warm']:.3g} s; import {run['import']:.3g} s"
        work = f"first fit on USPS (C = 1e4), mining included, {when}"
        cost = run["first"] / run["warm"]
        lines.append(line(work, f"{run['first']:.3g} s", rival, cost=cost, **run))
    return lines, None


def floor(options):
    """Compare one evaluation with what its arithmetic and its memory traffic must take."""
    lines = []
    for name, C in (("usps", 1e4), ("mnist", 1e5)):
        Z, _, triplets = training(name, options)
        problem = make_problem(Z, triplets, C)
        u = problem.loss.upper / 2
        u[np.random.default_rng(0).random(len(u)) < 0.8] = 0.0
        call = partial(problem.evaluate, u)
        ours = best_of(call, 5)
        flops, moved = _least_work(*problem.constraints.shape, len(Z), ours.result.point.rank)
        gemm, stream = _gemm_speed(*Z.shape, options.threads), _stream_speed(options.threads)
        least = max(flops / gemm, moved / stream)
        work = f"one evaluation, {name}: {flops / GB:.2f} GFlop, {moved / GB:.3f} GB"
        bound = f"floor {least * 1e3:.3g} ms ({gemm / GB:.0f} GFlop/s, {stream / GB:.1f} GB/s)"
        cost = ours.seconds / least
        lines.append(line(work, f"{ours.seconds * 1e3:.3g} ms", bound, cost=cost))
    return lines, call


def _least_work(m, D, n, rank):
    """Return operations and bytes of `evaluate` with 3 + 3 neighbours, X and u in memory."""
    pairs = 6 * n
    adjoint = 2 * pairs * D + 2 * n * D * D  # W X, then X.T (W X)
    forward = 2 * n * D * rank + 3 * pairs * rank
    moved = 8 * (2 * n * D + pairs + 2 * m)  # X for each of the two, the lists, u and the margins
    return adjoint + 10 * D**3 + forward, moved


def _gemm_speed(n, D, threads):
    """Return operations per second of the largest product in an evaluation.

    Threads of BLAS wait for each other, so on a busy machine one core's speed says more.
    """
    A, B = np.random.default_rng(0).random((2, n, D))
    fastest = {}
    for count in (1, threads):
        with threadpool_limits(count):
            fastest[count] = best_of(lambda: A.T @ B, 10).seconds
    return 2 * n * D * D * max(1 / fastest[threads], threads / fastest[1])


def _stream_speed(threads, size=1 << 25):
    """Return bytes per second that all threads together read and write."""
    source, target = np.ones(size), np.empty(size)
    step = -(-size // threads)
    slices = [slice(start, start + step) for start in range(0, size, step)]
    with ThreadPoolExecutor(threads) as pool:

        def copy():
            list(pool.map(lambda s: np.copyto(target[s], source[s]), slices))

        return 2 * 8 * size / best_of(copy, 5).seconds


# Parts and page


def measure(row, options):
    """Return the lines of a row, and the largest shares of the profile of its work."""
    lines, work = row(options)
    return {"lines": lines, "profile": profile(work) if work else []}


def profile(work, n_entries=5):
    """Return the functions with most time of their own, in one thread: [share, name]."""
    profiler = cProfile.Profile()
    with threadpool_limits(1):
        profiler.runcall(work)
    stats = pstats.Stats(profiler)
    own = {where: entry[2] for where, entry in stats.stats.items()}
    largest = sorted(own, key=own.get, reverse=True)[:n_entries]
    return [[round(own[where] / (stats.total_tt or 1.0), 3), _name(where)] for where in largest]


def _name(where):
    file, number, function = where
    if file.startswith("~") or not number:
        return function.strip("<>")
    return f"{Path(file).parent.name}/{Path(file).name}:{function}"


def speed_page(parts):
    """Return all lines, and where the time goes."""
    lines = []
    for each in (each for part in parts.values() for each in part["lines"]):
        texts = {"gap": show(".1e", each["gap"])}
        for name, sign in (("speedup", "> "), ("cost", "< ")):
            known = each[name] is not None
            texts[name] = (sign * each["is_bound"] + short(each[name])) if known else ""
        lines.append(each | texts)
    header = "work | frobmetric | rival | rival / frobmetric | frobmetric / rival | gap reached"
    cells = "{work} | {ours} | {rival} | {speedup} | {cost} | {gap}"
    shares = [
        f"* {name}: " + ", ".join(f"{share:.0%} {where}" for share, where in part["profile"][:5])
        for name, part in parts.items()
        if part["profile"]
    ]
    return {"lines": table(lines, header, cells, texts=("rival",)), "profiles": "\n".join(shares)}


ROWS = {
    "usps_dlib": usps_dlib,
    "usps_accurate": usps_accurate,
    "path": path,
    "usps_learners": partial(learners, "usps"),
    "letters_learners": partial(learners, "letters"),
    "mnist": mnist,
    "generic": generic,
    "faces": faces,
    "growth": growth,
    "memory": memory,
    "floor": floor,
    "cold_start": cold_start,
}

BENCHMARKS = (
    Benchmark(
        name="speed",
        parts={name: partial(measure, row) for name, row in ROWS.items()},
        page=speed_page,
        options=Options(threads=min(2, os.cpu_count())),
    ),
)
