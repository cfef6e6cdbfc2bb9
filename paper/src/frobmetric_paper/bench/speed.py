"""The speed table: frobmetric beside its rivals, in one run on a fixed number of threads.

    python benchmarks/speed.py [--rows usps_dlib path] [--repeat 3] [--threads 2] [--limit 420]
                               [--folder DIR]

Rivals are set up by `python -m frobmetric_paper.baselines.setup`; one that is absent is named as
such. Times are the best of the repetitions, of a rival that takes long fewer (the table says so).
Writes benchmarks/results/speed.json and speed.md; `--rows` replaces those rows alone.
"""

import argparse
import json
import os
import traceback
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parents[3] / "results"
HEAD = ("work", "frobmetric", "rival", "ratio", "target", "met", "gap reached")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--limit", type=float, default=420.0, help="seconds for one run of a rival")
    parser.add_argument("--folder", type=Path, default=os.environ.get("FROBMETRIC_DATA"))
    options = parser.parse_args()
    if options.folder is None:
        parser.error("the data folder is needed: give --folder or set FROBMETRIC_DATA")
    return options


def as_row(line):
    """A line of the table as cells."""
    from .speed_measure import shown

    ratio = "" if line["ratio"] is None else shown(line["ratio"])
    if ratio and line["is_bound"]:
        ratio = f"{'>' if line['target'].startswith('≥') else '<'} {ratio}"
    met = {True: "yes", False: "**no**", None: ""}[line["met"]]
    gap = "" if line["gap"] is None else f"{line['gap']:.1e}"
    return (line["work"], line["ours"], line["rival"], ratio, line["target"], met, gap)


def as_table(rows):
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for row in rows.values():
        lines += [f"| {' | '.join(as_row(line))} |" for line in row["lines"]]
    return "\n".join(lines)


def where_time_goes(rows):
    """The largest shares of each profile."""
    lines = []
    for name, row in rows.items():
        if row["profile"]:
            parts = [f"{share:.0%} {where}" for share, _, _, where in row["profile"]["own"][:5]]
            lines.append(f"* {name}: {', '.join(parts)}")
    return "\n".join(lines)


def write(rows, options):
    from .record import as_markdown

    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"rows": rows}, indent=1, ensure_ascii=False, default=str)
    (RESULTS / "speed.json").write_text(text + "\n")
    records = dict.fromkeys(as_markdown(row["run"]) for row in json.loads(text)["rows"].values())
    (RESULTS / "speed.md").write_text(
        f"{as_table(rows)}\n\n"
        f"Best of {options.repeat} with {options.threads} threads, kernels warm; a rival that "
        "takes two minutes runs once. Ratios: with ≥ the rival's time over frobmetric's, with ≤ "
        "frobmetric's over the rival's.\n\n"
        "Where the time goes (own time of functions, in one thread):\n\n"
        f"{where_time_goes(rows)}\n\n" + "\n\n".join(records) + "\n"
    )


def all_rows():
    """Every row by name, in the order of the table."""
    import frobmetric_paper.bench.speed_machine as machine
    import frobmetric_paper.bench.speed_rivals as rivals
    import frobmetric_paper.bench.speed_solver as solver

    rows = (
        solver.usps_dlib,
        solver.usps_accurate,
        solver.path,
        rivals.usps_learners,
        rivals.letters_learners,
        solver.mnist,
        solver.generic,
        solver.faces,
        solver.growth,
        machine.memory,
        machine.floor,
        machine.cold_start,
    )
    return {row.__name__: row for row in rows}


def measure(row, bench):
    """One row of the results file: its lines, and the profile of what it ran."""
    from .speed_measure import Line, profile

    try:
        lines, work = row(bench)
    except Exception as error:  # hours of other rows should not be lost with this one
        traceback.print_exc()
        lines, work = [Line(row.__name__, f"failed: {type(error).__name__}", "")], None
    for line in lines:
        print("  ".join(as_row(_plain(line))), flush=True)
    return {"lines": [_plain(line) for line in lines], "profile": profile(work) if work else None}


def _plain(line):
    return asdict(line) | {"met": line.met, "target": str(line.target or "")}


def earlier_rows(options):
    """The rows of the last run, when only some are measured again."""
    if options.rows is None or not (RESULTS / "speed.json").exists():
        return {}
    return json.loads((RESULTS / "speed.json").read_text())["rows"]


def full_record(options):
    from .record import run_record

    record = run_record() | {"threads_of_all": options.threads, "repeat": options.repeat}
    for name in ("numba", "cvxpy", "clarabel", "scs"):
        try:
            record["versions"][name] = version(name)
        except PackageNotFoundError:
            record["versions"][name] = "absent"
    return record


def main():
    options = parse()
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):  # before NumPy is imported
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    from .speed_bench import Bench

    known = all_rows()
    bench = Bench(options.folder, options.repeat, options.threads, options.limit)
    unknown = set(options.rows or ()) - set(known)
    if unknown:
        raise SystemExit(f"unknown rows {sorted(unknown)}; the known ones are {', '.join(known)}")
    done, record = earlier_rows(options), full_record(options)
    for name in options.rows or known:
        print(f"== {name}", flush=True)
        done[name] = measure(known[name], bench) | {"run": record}
        write({name: done[name] for name in known if name in done}, options)
    failed = [name for name in done if done[name]["lines"][0]["ours"].startswith("failed")]
    if failed:
        raise SystemExit(f"rows that failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
