"""Growth of steps and time of a solve with the dimension D and the number m of triplets.

The paper argues that a solve takes 20 to 30 iterations whatever the size, each O(D³). Here ten
overlapping Gaussian classes are solved by the paper's L-BFGS-B and by our default solver.
"""

import time

import numpy as np

from frobmetric import mine_triplets, solve
from frobmetric.core import FrobeniusSDP, Hinge
from frobmetric.metric.coordinates import unit_mean_square

from . import Benchmark, Options, table

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


def grow_dimension(options):
    """Return the rows of all dimensions."""
    sizes = options.choose(DIMENSIONS, DIMENSIONS[:3])
    n = options.choose(SAMPLES, 300)
    return [row for D in sizes for row in measure_size(n, D, options.repeat)]


def grow_triplets(options):
    """Return the rows of all numbers of triplets."""
    sizes = options.choose(TRIPLETS, TRIPLETS[:3])
    samples = [round(m / NEIGHBOURS**2) for m in sizes]
    return [row for n in samples for row in measure_size(n, DIMENSION, options.repeat)]


def column(rows, solver, name):
    """Return a number of all rows of a solver."""
    return np.array([row[name] for row in rows if row["solver"] == solver], dtype=float)


def exponent(sizes, values):
    """Return the slope of log(value) over log(size)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def summarise(size, rows, solver):
    """Return the range of the steps, and the exponents on the upper half of the sizes."""
    names = (size, "steps", "cpu_seconds")
    sizes, steps, seconds = (column(rows, solver, name) for name in names)
    half = len(sizes) // 2
    return {
        "solver": solver,
        "size": size,
        "first": steps[0],
        "last": steps[-1],
        "fewest": steps.min(),
        "most": steps.max(),
        "time": exponent(sizes[half:], seconds[half:]),
        "step_time": exponent(sizes[half:], (seconds / steps)[half:]),
        "steps": exponent(sizes[half:], steps[half:]),
        "last_time": exponent(sizes[-2:], seconds[-2:]),
    }


def growth_page(parts):
    """Return the exponents, then all rows."""
    summaries = [
        summarise(size, rows, solver) for size, rows in parts.items() for solver in SOLVERS
    ]
    exponents = (
        "solver | over | steps at the smallest | at the largest | fewest | most | "
        "time grows as | time per step | steps | time, last two sizes"
    )
    exponents_cells = (
        "{solver} | {size} | {first:.0f} | {last:.0f} | {fewest:.0f} | {most:.0f} | "
        "{size}^{time:.2f} | {size}^{step_time:.2f} | {size}^{steps:.2f} | "
        "{size}^{last_time:.2f}"
    )
    header = "n | D | m | solver | steps | CPU s | wall s | gap | rank | active"
    header_cells = (
        "{n:,} | {D} | {m:,} | {solver} | {steps} | {cpu_seconds:.3f} | {wall_seconds:.3f} | "
        "{relative_gap:.1e} | {rank} | {active_share:.0%}"
    )
    rows = [row for rows in parts.values() for row in rows]
    return {
        "exponents": table(summaries, exponents, exponents_cells),
        "rows": table(rows, header, header_cells),
    }


def draw(parts, path):
    """Draw steps and time over both sizes."""
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
        _draw_slope(bottom, sizes, column(rows, "lbfgsb", "cpu_seconds"), size)
        bottom.set(yscale="log", ylabel="CPU seconds, one thread")
        for axes, name in ((top, "Steps"), (bottom, "Time")):
            axes.set(xscale="log", xlabel=labels[size], title=f"{name} to a gap of {TOL:g}")
            axes.legend(frameon=False)
            axes.grid(True, color="0.9")
    figure.savefig(path, dpi=110)


def _draw_slope(axes, sizes, seconds, size):
    """Draw a dashed line of the expected power above the paper's solver."""
    upper = sizes[len(sizes) // 2 :]
    power, label = (3, "slope of D³") if size == "D" else (1, "slope of m")
    line = 2 * seconds[-1] * (upper / sizes[-1]) ** power
    axes.plot(upper, line, "--", color="0.4", label=label)


BENCHMARKS = (
    Benchmark(
        name="growth",
        parts={"D": grow_dimension, "m": grow_triplets},
        page=growth_page,
        draw=draw,
        options=Options(repeat=2),
    ),
)
