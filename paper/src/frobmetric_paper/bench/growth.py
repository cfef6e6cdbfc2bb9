"""Growth of steps and time of a solve with the dimension D and the number m of triplets.

The paper argues that a solve takes 20 to 30 iterations whatever the size, each O(D³). Here ten
overlapping Gaussian classes are solved by the paper's L-BFGS-B and by our default solver.
"""

import time
from functools import partial

import numpy as np

from frobmetric import mine_triplets, solve
from frobmetric.core import FrobeniusSDP, Hinge
from frobmetric.learning.coordinates import unit_mean_square

from ..harness.benchmark import Benchmark, Options

SOLVERS = {"lbfgsb": "L-BFGS-B (the paper's)", "auto": "auto (active set)"}
C, TOL, MAX_ITER = 1e4, 1e-3, 2000
SAMPLES, DIMENSION, NEIGHBOURS = 2000, 60, 3
DIMENSIONS = (16, 32, 64, 128, 256, 512, 1024)
TRIPLETS = (2_000, 5_000, 20_000, 50_000, 200_000, 500_000)
#: Features in which the means of the classes differ; the others are noise.
INFORMATIVE = 16
#: Seconds of a solve that is not repeated: its time is hardly noise.
LONG = 15.0


def make_classes(n, D):
    """Return ten Gaussian classes that overlap: means and noise have the same spread."""
    rng = np.random.default_rng(0)
    means = np.zeros((10, D))
    means[:, :INFORMATIVE] = rng.standard_normal((10, INFORMATIVE))
    y = rng.integers(10, size=n)
    return unit_mean_square(rng.standard_normal((n, D)) + means[y])[0], y


def measure_size(n, D, repeat):
    """Return a row for each solver; CPU seconds do not count other work on the machine."""
    Z, y = make_classes(n, D)
    triplets = mine_triplets(Z, y, n_neighbors=NEIGHBOURS)
    problem = FrobeniusSDP(triplets.constraints(Z), Hinge(C * triplets.share))
    size = {"n": n, "D": D, "m": triplets.n_triplets}
    return [size | _solve(problem, solver, repeat) for solver in SOLVERS]


def _solve(problem, solver, repeat):
    times = []
    while len(times) < repeat and (not times or times[0][0] < LONG):
        before = time.process_time(), time.perf_counter()
        solution = solve(problem, solver=solver, tol=TOL, max_iter=MAX_ITER)
        times.append((time.process_time() - before[0], time.perf_counter() - before[1]))
    cpu, wall = np.min(times, axis=0)
    return {
        "solver": solver,
        "steps": solution.n_iter,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "repetitions": len(times),
        "relative_gap": solution.certificate.relative_gap,
        "status": solution.status,
        "rank": solution.point.rank,
        "active_share": float(np.mean(solution.u > 0)),
    }


def grow(size, options):
    """Return the rows of all dimensions, or of all numbers of triplets."""
    if size == "D":
        n = options.choose(SAMPLES, 300)
        sizes = [(n, D) for D in options.choose(DIMENSIONS, DIMENSIONS[:3])]
    else:
        triplets = options.choose(TRIPLETS, TRIPLETS[:3])
        sizes = [(round(m / NEIGHBOURS**2), DIMENSION) for m in triplets]
    return [row for n, D in sizes for row in measure_size(n, D, options.repeat)]


def column(rows, solver, name):
    """Return a number of all rows of a solver."""
    return np.array([row[name] for row in rows if row["solver"] == solver], dtype=float)


def summarise(size, rows, solver):
    """Return the range of the steps, and the exponents on the upper half of the sizes."""
    names = (size, "steps", "cpu_seconds")
    sizes, steps, seconds = (column(rows, solver, name) for name in names)

    half = len(sizes) // 2

    def exponent(values, start=half):
        return np.polyfit(np.log(sizes[start:]), np.log(values[start:]), 1)[0]

    ends = {"first": steps[0], "last": steps[-1], "fewest": steps.min(), "most": steps.max()}
    powers = {"time": seconds, "step_time": seconds / steps, "steps": steps}
    exponents = {name: exponent(values) for name, values in powers.items()}
    exponents["last_time"] = exponent(seconds, -2)
    return {"solver": solver, "size": size} | ends | exponents


def growth_page(parts):
    """Return the exponents, then all rows."""
    summaries = [
        summarise(size, rows, solver) for size, rows in parts.items() for solver in SOLVERS
    ]
    return {"exponents": summaries, "rows": [row for rows in parts.values() for row in rows]}


def draw(parts, path):
    """Draw steps and time over both sizes, with a dashed line of the expected power."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.5), layout="constrained")
    labels = {
        "D": f"dimension D (n = {SAMPLES:,}, m = {NEIGHBOURS**2 * SAMPLES:,})",
        "m": f"number of triplets m (D = {DIMENSION})",
    }
    for (size, rows), (top, bottom) in zip(parts.items(), figure.subplots(2, 2).T, strict=False):
        sizes = column(rows, "lbfgsb", size)
        for solver, colour in zip(SOLVERS, ("#D55E00", "#0072B2"), strict=True):
            style = {"color": colour, "label": SOLVERS[solver], "markersize": 4}
            top.plot(sizes, column(rows, solver, "steps"), "o-", **style)
            bottom.plot(sizes, column(rows, solver, "cpu_seconds"), "o-", **style)
        top.axhspan(20, 30, color="0.88", zorder=0, label="the paper: 20 to 30")
        top.set(ylim=(0, 1.1 * max(row["steps"] for row in rows)), ylabel="steps")
        upper, seconds = sizes[len(sizes) // 2 :], column(rows, "lbfgsb", "cpu_seconds")
        power, label = (3, "slope of D³") if size == "D" else (1, "slope of m")
        slope = 2 * seconds[-1] * (upper / sizes[-1]) ** power
        bottom.plot(upper, slope, "--", color="0.4", label=label)
        bottom.set(yscale="log", ylabel="CPU seconds, one thread")
        for axes, name in ((top, "Steps"), (bottom, "Time")):
            axes.set(xscale="log", xlabel=labels[size], title=f"{name} to a gap of {TOL:g}")
            axes.legend(frameon=False)
            axes.grid(True, color="0.9")
    figure.savefig(path, dpi=110)


PARTS = {size: partial(grow, size) for size in ("D", "m")}
BENCHMARK = Benchmark(parts=PARTS, page=growth_page, draw=draw, options=Options(repeat=2))
