"""Which C should be the default: validation error over C on every data set at hand.

    python benchmarks/default_c.py [--folder DIR] [--most-runs 5] [--only iris wine]

Writes benchmarks/results/default_c.csv and default_c.md. The test parts are not looked at.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from frobmetric import mine_triplets, solve
from frobmetric.core import FrobeniusSDP, Hinge
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.neighbors import knn_error
from frobmetric.solvers import State

from ..data import labelled as datasets
from .record import as_markdown, run_record

GRID = 10.0 ** np.arange(0, 7)
RESULTS = Path(__file__).parents[3] / "results"
#: Sets left out unless named: one fit takes minutes, and the paper's rows measure them anyway.
LARGE = {"mnist"}


def errors_along_c(split):
    """Validation error of Euclid, then of each C (warm-started), and the largest gap reached."""
    Z, scale = unit_mean_square(split.X_train)
    V = split.X_validation / scale
    triplets = mine_triplets(Z, split.y_train, warn_small=False)
    constraints = triplets.constraints(Z)
    base = split.X_train / scale
    row = [knn_error(base, split.y_train, V, split.y_validation)]
    u, worst = np.zeros(triplets.n_triplets), 0.0
    for before, C in zip(np.r_[GRID[0], GRID[:-1]], GRID, strict=True):
        problem = FrobeniusSDP(constraints, Hinge(C * triplets.share))
        solution = solve(problem, start=State(u * (C / before)), max_iter=3000)
        u, L = solution.u, solution.point.factor()
        worst = max(worst, solution.certificate.relative_gap)
        row.append(knn_error(base @ L, split.y_train, V @ L, split.y_validation))
    return row, worst


def measure(name, folder, n_runs):
    started = time.perf_counter()
    splits = (datasets.load(name, seed=seed, folder=folder) for seed in range(n_runs))
    runs, gaps = zip(*(errors_along_c(split) for split in splits), strict=True)
    mean = 100 * np.mean(runs, axis=0)
    print(
        f"{name:14s} {n_runs:2d} runs {time.perf_counter() - started:6.1f} s  "
        + " ".join(f"{e:6.2f}" for e in mean)
        + f"  gap {max(gaps):.1e}",
        flush=True,
    )
    return [name, n_runs, *mean.tolist()], max(gaps)


def summary(rows):
    """Over the sets: mean rank of each C, and mean error relative to the best C of the set."""
    table = np.array([row[3:] for row in rows])
    ranks = rankdata(table, axis=1).mean(axis=0)
    excess = (table - table.min(axis=1, keepdims=True)).mean(axis=0)
    ratio = ((table + 0.1) / (table.min(axis=1, keepdims=True) + 0.1)).mean(axis=0)
    return {
        "mean rank": ranks,
        "mean excess over the set's best (points)": excess,
        "mean ratio to the set's best": ratio,
    }


def write(rows, worst):
    head = ["set", "runs", "Euclid", *[f"C = {C:g}" for C in GRID]]
    with (RESULTS / "default_c.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        best = min(row[3:])
        cells = [f"**{e:.2f}**" if e == best else f"{e:.2f}" for e in row[2:]]
        lines.append(f"| {row[0]} | {row[1]} | " + " | ".join(cells) + " |")
    for name, values in summary(rows).items():
        lines.append(f"| {name} | | | " + " | ".join(f"{v:.2f}" for v in values) + " |")
    (RESULTS / "default_c.md").write_text(
        "3-NN error in % on the validation part, mean over runs; data scaled to unit mean squared "
        f"norm, hinge loss, 3 + 3 neighbours, largest gap {worst:.1e}.\n\n"
        + "\n".join(lines)
        + f"\n\n{as_markdown(run_record())}\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--most-runs", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the largest gap is reported
    names = options.only or [n for n in datasets.available(options.folder) if n not in LARGE]
    rows, worst = [], 0.0
    for name in names:
        n = len(datasets.load(name, folder=options.folder).y_train)
        row, gap = measure(name, options.folder, options.most_runs if n < 3000 else 1)
        rows, worst = [*rows, row], max(worst, gap)
        write(rows, worst)


if __name__ == "__main__":
    main()
