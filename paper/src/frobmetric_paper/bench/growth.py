"""How steps and time of a solve grow with the dimension D and the number m of triplets.

    OPENBLAS_NUM_THREADS=1 python benchmarks/growth.py [--quick]

The paper argues that a solve takes 20 to 30 iterations whatever the size, each O(D³). Here ten
overlapping Gaussian classes are solved to a relative gap of 1e-3 at C = 1e4 by the paper's L-BFGS-B
and by our default. Writes benchmarks/results/growth.json, growth.png and growth.md; with --quick,
small sizes (half a minute), written to a temporary folder.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from frobmetric import mine_triplets, solve
from frobmetric.core import FrobeniusSDP, Hinge
from frobmetric.metric.coordinates import unit_mean_square

from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
SOLVERS = {"lbfgsb": "L-BFGS-B (the paper's)", "auto": "auto (active set)"}
C, TOL, MAX_ITER = 1e4, 1e-3, 2000
SAMPLES, DIMENSION, NEIGHBOURS = 2000, 60, 3
DIMENSIONS = (16, 32, 64, 128, 256, 512, 1024)
TRIPLETS = (2_000, 5_000, 20_000, 50_000, 200_000, 500_000)
#: Features in which the means of the classes differ; the others are noise.
INFORMATIVE = 16
#: A solve longer than this is not repeated: its time is hardly noise.
LONG = 15.0


def classes(n, D):
    """Ten Gaussian classes that overlap: means and noise have the same spread."""
    rng = np.random.default_rng(0)
    means = np.zeros((10, D))
    means[:, :INFORMATIVE] = rng.standard_normal((10, INFORMATIVE))
    y = rng.integers(10, size=n)
    return unit_mean_square(rng.standard_normal((n, D)) + means[y])[0], y


def measure(n, D):
    """One row a solver; CPU seconds, since other work on the machine would count in the others."""
    Z, y = classes(n, D)
    triplets = mine_triplets(Z, y, n_neighbors=NEIGHBOURS)
    problem = FrobeniusSDP(triplets.constraints(Z), Hinge(C * triplets.share))
    rows = [_solve(problem, solver) for solver in SOLVERS]
    return [{"n": n, "D": D, "m": triplets.n_triplets, **row} for row in rows]


def _solve(problem, solver):
    times = []
    while len(times) < 2 and (not times or times[0][0] < LONG):
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


def exponent(sizes, values):
    """The slope of log(value) over log(size) on the upper half of the sizes."""
    half = len(sizes) // 2
    return slope(sizes[half:], values[half:])


def slope(sizes, values):
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def column(rows, solver, name):
    return np.array([row[name] for row in rows if row["solver"] == solver], dtype=float)


def summary(sweeps):
    """For each sweep and solver: range of the steps, and the exponents of time and steps."""
    found = []
    for size, rows in sweeps.items():
        for solver in SOLVERS:
            sizes, steps, seconds = (
                column(rows, solver, name) for name in (size, "steps", "cpu_seconds")
            )
            found.append(
                {
                    "size": size,
                    "solver": solver,
                    "fewest_steps": int(steps.min()),
                    "most_steps": int(steps.max()),
                    "first_steps": int(steps[0]),
                    "last_steps": int(steps[-1]),
                    "time_exponent": exponent(sizes, seconds),
                    "step_time_exponent": exponent(sizes, seconds / steps),
                    "steps_exponent": exponent(sizes, steps),
                    "last_time_exponent": slope(sizes[-2:], seconds[-2:]),
                }
            )
    return found


def draw(sweeps, path):
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    labels = {
        "D": f"dimension D (n = {SAMPLES:,}, m = {NEIGHBOURS**2 * SAMPLES:,})",
        "m": f"number of triplets m (D = {DIMENSION})",
    }
    for (size, rows), (top, bottom) in zip(sweeps.items(), axes.T, strict=True):
        for solver, colour in zip(SOLVERS, ("#D55E00", "#0072B2"), strict=True):
            sizes = column(rows, solver, size)
            style = {"color": colour, "label": SOLVERS[solver], "markersize": 4}
            top.plot(sizes, column(rows, solver, "steps"), "o-", **style)
            bottom.plot(sizes, column(rows, solver, "cpu_seconds"), "o-", **style)
        top.axhspan(20, 30, color="0.88", zorder=0, label="the paper: 20 to 30")
        top.set_ylim(0, 1.1 * max(row["steps"] for row in rows))
        _draw_slope(bottom, rows, size, 3 if size == "D" else 1)
        bottom.set_yscale("log")
        top.set_title(f"Steps to a gap of {TOL:g}, over {size}")
        bottom.set_title(f"Time to a gap of {TOL:g}, over {size}")
        top.set_ylabel("steps")
        bottom.set_ylabel("CPU seconds, one thread")
        for ax in (top, bottom):
            _dress(ax, labels[size], sizes)
    figure.savefig(path, dpi=110)


def _draw_slope(ax, rows, size, power):
    """A dashed line of this power through the paper's solver at the largest size."""
    sizes, seconds = (column(rows, "lbfgsb", name) for name in (size, "cpu_seconds"))
    label = f"slope of {size}³" if power == 3 else f"slope of {size}"
    upper = sizes[len(sizes) // 2 :]
    ax.plot(upper, 2 * seconds[-1] * (upper / sizes[-1]) ** power, "--", color="0.4", label=label)


def _dress(ax, label, ticks):
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" if tick < 1500 else f"{tick / 1e3:.0f}k" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(label)
    ax.legend(frameon=False)
    ax.grid(True, color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def report(sweeps, found, record):
    lines = [
        f"Ten overlapping Gaussian classes, {INFORMATIVE} informative features, C = {C:g}, "
        f"relative gap {TOL:g}, 3 + 3 neighbours; CPU seconds of the solve alone, best of 2 "
        f"(solves over {LONG:g} s once). Exponents: least squares on the upper half of the sizes.",
        "",
        "![growth](growth.png)",
        "",
    ]
    for f in found:
        within = f["fewest_steps"] >= 20 and f["most_steps"] <= 30
        verdict = "always 20 to 30" if within else "not always 20 to 30"
        lines.append(
            f"* {f['solver']} over {f['size']}: {f['first_steps']} steps at the smallest, "
            f"{f['last_steps']} at the largest, from {f['fewest_steps']} to {f['most_steps']} "
            f"({verdict}); time grows as {f['size']}^{f['time_exponent']:.2f}: time per step as "
            f"{f['size']}^{f['step_time_exponent']:.2f}, steps as "
            f"{f['size']}^{f['steps_exponent']:.2f}; between the last two sizes the time grows as "
            f"{f['size']}^{f['last_time_exponent']:.2f}."
        )
    lines += [
        "",
        "Rank and share of active triplets change along both sweeps, so the size is not "
        "all that changes. One kind of synthetic data and one C: other data may differ.",
    ]
    lines += [
        "",
        "| n | D | m | solver | steps | CPU s | wall s | gap | rank | active |",
        "|" + "---|" * 10,
    ]
    lines += [
        f"| {r['n']:,} | {r['D']} | {r['m']:,} | {r['solver']} | {r['steps']} | "
        f"{r['cpu_seconds']:.3f} | {r['wall_seconds']:.3f} | {r['relative_gap']:.1e} | "
        f"{r['rank']} | {r['active_share']:.0%} |"
        for rows in sweeps.values()
        for r in rows
    ]
    load = ", ".join(f"{x:.1f}" for x in record["load"])
    return "\n".join([*lines, "", f"{as_markdown(record)} Load at the end: {load}.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    dimensions, triplets = (DIMENSIONS[:4], TRIPLETS[:4]) if quick else (DIMENSIONS, TRIPLETS)
    sweeps = {"D": [], "m": []}
    sizes = [("D", SAMPLES, D) for D in dimensions]
    sizes += [("m", round(m / NEIGHBOURS**2), DIMENSION) for m in triplets]
    for size, n, D in sizes:
        sweeps[size] += measure(n, D)
        print(*sweeps[size][-2:], sep="\n", flush=True)
    folder = Path(tempfile.mkdtemp()) if quick else RESULTS
    record = {**run_record(), "load": os.getloadavg()}
    found = summary(sweeps)
    (folder / "growth.json").write_text(
        json.dumps({"run": record, "summary": found, "sweeps": sweeps}, indent=1)
    )
    (folder / "growth.md").write_text(report(sweeps, found, record))
    draw(sweeps, folder / "growth.png")
    print(f"wrote {folder}/growth.*")


if __name__ == "__main__":
    main()
