"""Time of proofs in exact arithmetic beside that of the certificate in float64."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from frobmetric import verify
from frobmetric.core import FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, Triplets, certify
from frobmetric.solvers import solve

from ..harness.benchmark import Benchmark, Options
from ..harness.timing import best_of, timed

#: Parts: number of coordinates, of triplets, and loss.
SIZES = {
    "small": (16, 10_000, Hinge),
    "wide": (64, 10_000, Hinge),
    "large": (64, 100_000, Hinge),
    "smoothed": (64, 100_000, SmoothedHinge),
    "squared": (64, 100_000, SquaredHinge),
}
#: Number of points, of classes, weight of all losses together, and gap that is asked for.
N_POINTS, N_CLASSES, C, TOL = 5000, 10, 1e3, 1e-5


def make_problem(D, m, loss, n=N_POINTS):
    """Return the problem of triplets of random points: two of one class, one of another."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % N_CLASSES
    X = rng.normal(size=(n, D)) * rng.uniform(0.05, 1.0, D)
    X[:, :N_CLASSES] += np.eye(N_CLASSES)[y][:, :D]
    anchor = rng.integers(0, n, m)
    near = (anchor + N_CLASSES * rng.integers(1, n // N_CLASSES, m)) % n
    far = (anchor + 1 + rng.integers(0, N_CLASSES - 1, m)) % n
    rows = Triplets(X / np.abs(X).max(), np.column_stack([anchor, near, far]))
    return FrobeniusSDP(rows, loss(np.full(m, C / m)))


def measure(name, options):
    """Return seconds of both certificates of one answer, and the interval that is proven."""
    D, m, loss = SIZES[name]
    problem = make_problem(D, options.choose(m, m // 100), loss, options.choose(N_POINTS, 500))
    answer = solve(problem, tol=TOL, max_iter=1000)
    plain = best_of(lambda: certify(problem, answer.point, answer.u), options.repeat)
    stated, exact = timed(lambda: certify(problem, answer.point, answer.u, exact=True))
    began = time.process_time()
    seconds, interval = timed(lambda: verify.verify(exact.proof))
    return {
        "D": D,
        "triplets": problem.constraints.shape[0],
        "loss": str(problem.loss),
        "float64_seconds": plain.seconds,
        "state_seconds": stated,
        "verify_seconds": seconds,
        "processor_seconds": time.process_time() - began,
        "dual": interval[0],
        "primal": interval[1],
        "gap": exact.relative_gap,
        "difference": max(
            abs(plain.result.primal / exact.primal - 1), abs(plain.result.dual / exact.dual - 1)
        ),
    }


def page(data):
    """Return the rows of the page, and the processor time of the slowest proof."""
    slowest = max((row["processor_seconds"] for row in data.values()), default=0.0)
    return {"rows": list(data.values()), "slowest": f"{slowest:.0f} s"}


BENCHMARK = Benchmark(
    parts={name: partial(measure, name) for name in SIZES}, page=page, options=Options(repeat=3)
)
