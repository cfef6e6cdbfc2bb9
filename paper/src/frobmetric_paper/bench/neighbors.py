"""Search for neighbours: exact mining beside scikit-learn's search, and approximate mining.

CPU seconds do not count other work on the machine; wall seconds do. Exact mining of many samples is
measured on some of the queries and extrapolated.
"""

import os
import time

import numpy as np
from sklearn.neighbors import NearestNeighbors

from frobmetric import FrobeniusSDP, mine_triplets
from frobmetric.core import Hinge
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.search.mining import Mining
from frobmetric.search.recall import MiningRecall, share_found
from frobmetric.solvers import solve

from ..data import labelled
from ..harness.benchmark import Benchmark, Options

#: Queries of exact mining where there are many samples.
QUERIES = 10_000
#: Standard deviation of the noise of drawn samples, relative to that of each feature.
NOISE = 0.3


def load_digits(options):
    """Return the scaled training samples of MNIST and their labels."""
    split, n = labelled.load("mnist", folder=options.folder), options.choose(None, 2000)
    return unit_mean_square(split.X_train[:n])[0], split.y_train[:n]


def clocked(work):
    """Return wall seconds, CPU seconds and result of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def best(work, repeat):
    """Return the least wall and CPU seconds of some calls, and the last result."""
    runs = [clocked(work) for _ in range(repeat)]
    return min(run[0] for run in runs), min(run[1] for run in runs), runs[-1][2]


def exact(options):
    """Compare mining, and mining with solving, with scikit-learn's exact search."""
    Z, y = load_digits(options)

    def learn():
        triplets = mine_triplets(Z, y, warn_small=False)
        problem = FrobeniusSDP(triplets.constraints(Z), Hinge(1e5 * triplets.share))
        return solve(problem, tol=1e-3)

    works = {
        "mining": lambda: mine_triplets(Z, y, warn_small=False),
        "mining + solving": learn,
        "scikit-learn": lambda: (
            NearestNeighbors(n_neighbors=4, algorithm="brute").fit(Z).kneighbors()
        ),
    }
    times = {name: best(work, options.repeat)[:2] for name, work in works.items()}
    base = times.pop("scikit-learn")
    return [
        {"work": f"{name}, {len(Z):,} samples", "wall": wall, "cpu": cpu}
        | {"other": "scikit-learn, 3 nearest", "other_wall": base[0], "other_cpu": base[1]}
        | {"wall_ratio": wall / base[0], "cpu_ratio": cpu / base[1], "recall": None}
        for name, (wall, cpu) in times.items()
    ]


def draw_between(Z, y, n):
    """Return n samples: those given, and points between near ones of a class, with noise."""
    rng = np.random.default_rng(0)
    near = Mining(Z, y, 3, 1, 0.0).exact(np.arange(len(Z)))[0]
    first = np.arange(n - len(Z)) % len(Z)
    second = near[first, rng.integers(3, size=len(first))]
    drawn = Z[first] + rng.random((len(first), 1)) * (Z[second] - Z[first])
    drawn += NOISE * Z.std(axis=0) * rng.standard_normal(drawn.shape)
    return np.vstack([Z, drawn]), np.concatenate([y, y[first]])


def approximate(options):
    """Compare approximate mining with exact mining of some queries, extrapolated to all."""
    Z, y = load_digits(options)
    n = options.choose(500_000, 6_000)
    X, y = draw_between(Z, y.astype(int), n)
    mining = Mining(X, y, 3, 3, 0.0)
    rows = np.sort(np.random.default_rng(1).choice(n, options.choose(QUERIES, 500), replace=False))
    wall, cpu, exact_lists = clocked(lambda: mining.exact(rows))
    factor = n / len(rows)
    ours_wall, ours_cpu, (near, far, _) = clocked(mining.approximate)
    # more rows than the search itself measures, so that the interval is narrower
    found = zip((near[rows], far[rows]), exact_lists, strict=True)
    shares = [share_found(lists, true) for lists, true in found]
    recall = MiningRecall(*shares[0], *shares[1], len(rows))
    line = {"work": f"approximate mining, {n:,} samples", "wall": ours_wall, "cpu": ours_cpu}
    line |= {"other": "exact mining, extrapolated", "other_wall": wall * factor}
    line |= {"other_cpu": cpu * factor, "wall_ratio": ours_wall / (wall * factor)}
    return [line | {"cpu_ratio": ours_cpu / (cpu * factor), "recall": str(recall)}]


def neighbors_page(parts):
    """Return the lines of all parts."""
    return {"lines": [line for lines in parts.values() for line in lines]}


BENCHMARK = Benchmark(
    parts={"exact": exact, "approximate": approximate},
    page=neighbors_page,
    options=Options(threads=min(2, os.cpu_count())),
)
