"""Speed of frobmetric beside other programs, on the same data at equal accuracy.

Baselines are set up by `frobmetric reproduce baselines`; the table says which one is
absent. Times are the best of some runs, with compiled kernels.
"""

import cProfile
import os
import pstats
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from frobmetric import FrobeniusSDP, FrobMetric, frob_path, mine_triplets
from frobmetric.core import Hinge
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.model.sets import GivenTriplets
from frobmetric.neighbors import knn_error
from frobmetric.solvers import solve

from ..baselines import METRIC
from ..baselines.ours import PAPER
from ..data import labelled
from ..harness.benchmark import Benchmark, Options
from ..harness.formatting import short
from ..harness.timing import Timing, best_answer, best_of, in_new_process, peak_memory

#: Seconds of the paper's FrobMetric.
PAPER_SECONDS = {"Yale": 335, "LFW": 7621}
GB = 1e9


# Data and problems, each made once


@cache
def training(name, options):
    """Return scaled samples, labels and triplets of a set; few samples for the small version."""
    split, n = labelled.load(name, folder=options.folder), options.choose(None, 500)
    Z, y = unit_mean_square(split.X_train[:n])[0], split.y_train[:n]
    return Z, y, mine_triplets(Z, y, warn_small=False)


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
    counts = sorted({1, options.threads})
    timings = [fit_baseline(build, options, Z, threads=count, **given) for count in counts]
    return min(timings, key=lambda timing: timing.seconds or np.inf)


# Lines of the table


def line(work, ours, baseline, *, speedup=None, cost=None, is_bound=False, gap=None, **detail):
    """Return one line: `speedup` is the baseline's time over ours, `cost` the inverse."""
    ratios = {"speedup": speedup, "cost": cost, "is_bound": is_bound}
    names = {"work": work, "ours": ours, "baseline": baseline}
    return names | ratios | {"gap": gap, "detail": detail}


def compare(work, ours, baseline, name, ratio="speedup", **others):
    """Return the line of two Timings; a baseline beyond its limit gives a bound on the ratio."""
    if ours.seconds and baseline.seconds:
        faster = baseline.seconds / ours.seconds
        others[ratio] = faster if ratio == "speedup" else 1 / faster
    others |= {"is_bound": not baseline.runs, "runs": ours.runs, "baseline_runs": baseline.runs}
    others["baseline_detail"] = getattr(baseline.result, "detail", None)
    return line(work, str(ours), f"{name} {baseline}", **others)


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
        more = {"gap": gap_of(ours), "steps": ours.result.n_iter, "baseline_objective": goal}
        lines.append(compare(f"{work}, {goal:.2f}", ours, dlib, name, **more))
    return lines, partial(solve_p3, Z, triplets, 1e4, 1e-3)


def usps_accurate(options):
    """Solve to five more digits."""
    Z, _, triplets = training("usps", options)
    calls = [partial(solve_p3, Z, triplets, 1e4, tol) for tol in (1e-3, 1e-8)]
    rough, ours = (best_of(call, options.repeat) for call in calls)
    work, more = "USPS, C = 1e4, gap 1e-8", {"ratio": "cost", "gap": gap_of(ours)}
    baselines = {"gap 1e-3:": rough, "dlib": fit_dlib("usps", 1e4, "dlib", options)}
    lines = [compare(work, ours, other, name, **more) for name, other in baselines.items()]
    return lines, calls[1]


def path(options):
    """Solve for ten values of C."""
    Z, _, triplets = training("usps", options)
    given = {name: PAPER[name] for name in ("units", "prior")}
    given |= {"Cs": np.geomspace(1e2, 1e6, 10), "tol": 1e-3, "triplets": triplets}
    call = partial(frob_path, Z, **given)
    ours = best_of(call, options.repeat)
    single = best_of(partial(solve_p3, Z, triplets, 1e6, 1e-3), options.repeat)
    points = ours.result.points
    more = {"ratio": "cost", "gap": max(point.certificate.relative_gap for point in points)}
    more["steps"] = [point.n_iter for point in points]
    work = "USPS, path of 10 values of C from 1e2 to 1e6, gap 1e-3 each"
    dlib = fit_dlib("usps", 1e4, "dlib", options)
    baselines = {"C = 1e6 alone:": single, "dlib at C = 1e4:": dlib}
    lines = [compare(work, ours, other, name, **more) for name, other in baselines.items()]
    return lines, call


def learners(name, options):
    """Compare whole fits, mining included, with other learners from labels at their defaults."""
    X, y, _ = training(name, options)
    split = labelled.load(name, folder=options.folder)
    call = partial(FrobMetric(**PAPER).fit, X, y)

    def test_error(L):
        """Return the 3-NN error in percent; neighbours do not depend on the scale of L."""
        return 100 * knn_error(split.X_train[: len(y)] @ L, y, split.X_test @ L, split.y_test)

    ours, lines = best_of(call, options.repeat), []
    error, gap = test_error(ours.result.components_.T), ours.result.certificate_.relative_gap
    for baseline in options.choose(("scml", "itml", "lmnn", "nca"), ("scml", "nca")):
        timing = fit_baseline(baseline, options, X, y)
        other = test_error(timing.result.L) if timing.runs else None
        work = f"{name}, whole fit; test error {error:.2f} %"
        work += "" if other is None else f" against {other:.2f} %"
        more = {"gap": gap, "test_error": error, "baseline_error": other}
        lines.append(compare(work, ours, timing, baseline, **more))
    return lines, call


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
        baseline = fit_baseline(name, options, Z, triplets=triplets, parameters={"C": 1e4})
        primal = objective(Z, triplets, 1e4, baseline.result.L) if baseline.runs else None
        more = {"primal": ours.result.certificate.primal, "baseline_primal": primal}
        work = f"P3, D = {D}, {m:,} triplets, C = 1e4, gap 1e-6"
        lines.append(compare(work, ours, baseline, name, gap=gap_of(ours), **more))
    return lines, call


def faces(options):
    """Solve the face sets at the sizes of the paper."""
    Z, _, triplets = training("yale", options)
    sets, lines = {"Yale": (Z, triplets), "LFW": _lfw(options)}, []
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
    person = np.load(options.path("lfw_meta.npz"))["person"]
    rows = np.flatnonzero(np.bincount(person)[person] >= 4)[:n]
    X = np.sqrt(np.load(options.path("lfw_sift3456.npz"))["X"][rows].astype(float))
    Z, _ = unit_mean_square(PCA(D, svd_solver="covariance_eigh").fit_transform(X))
    return Z, mine_triplets(Z, person[rows], warn_small=False)


def growth(options):
    """Solve with half of the samples, and with all."""
    Z, y, triplets = training("mnist", options)
    n, few = len(Z), mine_triplets(Z[: len(Z) // 2], y[: len(Z) // 2], warn_small=False)
    call = partial(solve_p3, Z, triplets, 1e5, 1e-3)
    half = best_of(partial(solve_p3, Z[: n // 2], few, 1e5, 1e-3), options.repeat)
    whole = best_of(call, options.repeat)
    more = {"steps": whole.result.n_iter, "half_steps": half.result.n_iter}
    work, name = f"MNIST, {n:,} samples, C = 1e5, gap 1e-3: solving", f"{n // 2:,} samples:"
    return [compare(work, whole, half, name, "cost", gap=gap_of(whole), **more)], call


def use_memory(task):
    """Mine and solve on Gaussian classes whose spectrum falls as that of images does."""
    imports, (n, D) = peak_memory(), task["shape"]
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    X = rng.standard_normal((n, D)) + 2 * rng.standard_normal((10, D))[y]
    X = unit_mean_square(X / np.sqrt(1 + np.arange(D)))[0]
    triplets = mine_triplets(X, y)
    mining = peak_memory()
    gap = solve_p3(X, triplets, 1e4, 1e-3).certificate.relative_gap
    peaks = {"imports": imports, "data": X.nbytes, "mining": mining, "peak": peak_memory()}
    return {}, peaks | {"n_triplets": triplets.n_triplets, "gap": gap}


def memory(options):
    """Measure the peak of a process that mines and solves."""
    n, D = options.choose((100_000, 164), (2_000, 20))
    used = in_new_process(f"{__name__}:use_memory", {"shape": [n, D]}, options)
    data, imports, mining = (used[name] / GB for name in ("data", "imports", "mining"))
    m = used["n_triplets"]
    work = f"memory: n = {n:,}, D = {D}, {m:,} triplets mined exactly, C = 1e4"
    parts = f"X itself {data:.2f}, imports {imports:.2f}, mining {mining:.2f}"
    parts += f"; n² {8 * n**2 / GB:.0f}, m·D {8 * m * D / GB:.1f} GB"
    return [line(work, f"{used['peak'] / GB:.2f} GB", parts, **used)], None


# Parts and page


def measure(row, options, n_entries=5):
    """Return the lines of a row, and where its work spends most time in one thread."""
    lines, work = row(options)
    if work is None:
        return {"lines": lines, "profile": []}
    profiler = cProfile.Profile()
    with threadpool_limits(1):
        profiler.runcall(work)
    stats = pstats.Stats(profiler)
    own = {where: entry[2] / (stats.total_tt or 1.0) for where, entry in stats.stats.items()}
    largest = sorted(own, key=own.get, reverse=True)[:n_entries]
    return {"lines": lines, "profile": [[round(own[where], 3), _name(where)] for where in largest]}


def _name(where):
    file, number, function = where
    if file.startswith("~") or not number:
        return function.strip("<>")
    return f"{Path(file).parent.name}/{Path(file).name}:{function}"


def speed_page(parts):
    """Return all lines, and where the time goes."""
    lines = []
    for each in (each for part in parts.values() for each in part["lines"]):
        bound = {"speedup": "> ", "cost": "< "} if each["is_bound"] else {}
        known = [name for name in ("speedup", "cost") if each[name] is not None]
        lines.append(each | {name: bound.get(name, "") + short(each[name]) for name in known})
    shares = [
        f"* {name}: " + ", ".join(f"{share:.0%} {where}" for share, where in part["profile"][:5])
        for name, part in parts.items()
        if part["profile"]
    ]
    return {"lines": lines, "profiles": "\n".join(shares)}


ROWS = {each.__name__: each for each in (usps_dlib, usps_accurate, path)}
ROWS |= {f"{name}_learners": partial(learners, name) for name in ("usps", "letters")}
ROWS |= {each.__name__: each for each in (mnist, generic, faces, growth, memory)}

BENCHMARK = Benchmark(
    parts={name: partial(measure, row) for name, row in ROWS.items()},
    page=speed_page,
    options=Options(threads=min(2, os.cpu_count())),
    retired=("floor", "cold_start"),
)
