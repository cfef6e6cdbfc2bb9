"""FrobMetric on the large rows of the paper's first table: error, seconds and gap.

    python benchmarks/paper_rows.py [--folder DIR] [--only usps letters] [--repeat 3]

PCA, split and 3 + 3 neighbours are the paper's; C is chosen on the validation part. Writes
benchmarks/results/paper_rows.json and paper_rows.md.
"""

import argparse
import json
import time
from pathlib import Path

from frobmetric import FrobMetric
from frobmetric.metric.coordinates import unit_mean_square
from frobmetric.metric.triplets import mine_triplets
from frobmetric.neighbors import knn_error

from ..data import labelled as datasets
from .record import as_markdown, run_record

RESULTS = Path(__file__).parents[3] / "results"
#: Test error in % and seconds of the paper's FrobMetric.
PAPER = {"mnist": (2.56, 280), "usps": (2.32, 9), "letters": (2.72, 13)}
GRID = (1e3, 1e4, 1e5)


def measure(name, C, folder, repeat):
    """One row: the fit is timed as a whole and without the search for neighbours."""
    split = datasets.load(name, folder=folder)
    fits = []
    for _ in range(repeat):
        started = time.perf_counter()
        metric = FrobMetric(C=C).fit(split.X_train, split.y_train)
        fits.append((time.perf_counter() - started, metric.history_[-1].seconds))
    whole, solving = (min(times) for times in zip(*fits, strict=True))
    parts = [metric.transform(X) for X in (split.X_train, split.X_validation, split.X_test)]
    return {
        "set": name,
        "C": C,
        "triplets": metric.n_triplets_,
        "steps": metric.n_iter_,
        "rank": metric.rank_,
        "relative_gap": metric.certificate_.relative_gap,
        "seconds": whole,
        "seconds_solving": solving,
        "seconds_mining": mining(split),
        "validation_error": 100 * knn_error(parts[0], split.y_train, parts[1], split.y_validation),
        "test_error": 100 * knn_error(parts[0], split.y_train, parts[2], split.y_test),
        "euclid_test_error": 100
        * knn_error(split.X_train, split.y_train, split.X_test, split.y_test),
        "paper_test_error": PAPER[name][0],
        "paper_seconds": PAPER[name][1],
    }


def mining(split):
    Z, _ = unit_mean_square(split.X_train)
    started = time.perf_counter()
    mine_triplets(Z, split.y_train)
    return time.perf_counter() - started


def table(rows):
    head = (
        "set",
        "triplets",
        "C",
        "gap",
        "steps",
        "rank",
        "mining + solving, s",
        "validation, %",
        "test, %",
        "Euclid, %",
        "paper: test, %",
        "paper: s",
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        best = min(q["validation_error"] for q in rows if q["set"] == r["set"])
        mark = "**" if r["validation_error"] == best else ""
        lines.append(
            f"| {r['set']} | {r['triplets']:,} | {r['C']:g} | {r['relative_gap']:.1e} | "
            f"{r['steps']} | {r['rank']} | {r['seconds_mining']:.1f} + "
            f"{r['seconds_solving']:.1f} | {r['validation_error']:.2f} | "
            f"{mark}{r['test_error']:.2f}{mark} | {r['euclid_test_error']:.2f} | "
            f"{r['paper_test_error']} | {r['paper_seconds']} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PAPER))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for name in options.only:
        for C in GRID:
            rows.append(measure(name, C, options.folder, options.repeat))
            print(rows[-1], flush=True)
    record = run_record()
    (RESULTS / "paper_rows.json").write_text(json.dumps({"run": record, "rows": rows}, indent=1))
    (RESULTS / "paper_rows.md").write_text(
        "3-NN; the C with the smallest validation error is bold; best time of "
        f"{options.repeat}.\n\n{table(rows)}\n\n{as_markdown(record)}\n"
    )


if __name__ == "__main__":
    main()
