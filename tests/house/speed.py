"""Speed of two checkouts in one run: measured in turn, each time in a new process.

Other work on the machine slows a process down and never speeds it up, so the smallest times of all
pairs count. Wall time and processor time are both kept: the second bears a busy machine better.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from house import trees

#: Parts that are whole processes; the others are parts of `house.work`.
PROCESSES = {
    "import": ("import frobmetric", ["-c", "import frobmetric"]),
    "import_fit": (
        "from frobmetric import FrobMetric",
        ["-c", "from frobmetric import FrobMetric"],
    ),
    "import_io": ("from frobmetric.io import load", ["-c", "from frobmetric.io import load"]),
    "help": ("frobmetric --help", ["-m", "frobmetric", "--help"]),
    "help_fit": ("frobmetric fit --help", ["-m", "frobmetric", "fit", "--help"]),
}
WORKS = {
    "usps": "FrobMetric, USPS 7,700 x 60, C = 1e4, one pass",
    "defaults": "FrobMetric(), USPS 2,500 x 60",
    "mnist": "FrobMetric, MNIST 10,000 x 100, C = 1e5, one pass",
    "path": "frob_path, USPS 3,000 x 60, 8 values of C",
    "dask": "FrobMetric, USPS 4,000 x 60 in 4 blocks of Dask",
    "unfolding": "MaximumVarianceUnfolding, n = 800",
    "theta6": "solve_sdp, theta6 of SDPLIB, tolerance 1e-6",
    "correlation": "nearest_correlation, n = 500",
    "cv": "FrobMetricCV(), digits 500 x 64",
    "adapter": "EmbeddingAdapter(), 480 x 12",
    "lmnn": "LMNN(), digits 600 x 64",
    "boost": "BoostMetric, digits 300 x 64",
    "row": "transform of one row, 300 times",
    "pair": "pair_distance of one pair, 300 times",
    "load": "load of a model, 30 times",
}
PARTS = WORKS | {name: text for name, (text, _) in PROCESSES.items()}
SIDES = ("old", "new")

Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """Two checkouts, the parts, the number of pairs, and the number of threads of a process."""

    old: Path
    new: Path
    parts: tuple[str, ...]
    n_pairs: int
    threads: int = 1

    def measurements(self) -> Iterator[tuple[int, str, str]]:
        """Yield (pair, part, side): every pair has both sides, with the first one in turn."""
        for pair in range(self.n_pairs):
            for part in self.parts:
                for side in SIDES if pair % 2 == 0 else SIDES[::-1]:
                    yield pair, part, side

    def measure(self, part: str, side: str) -> Record:
        """Return one measurement."""
        tree = self.old if side == "old" else self.new
        variables = trees.environment(tree, one_thread=False)
        variables |= dict.fromkeys(trees.ONE_THREAD, f"{self.threads}")
        with tempfile.TemporaryDirectory() as folder:
            if part in PROCESSES:
                return _time_process([sys.executable, *PROCESSES[part][1]], variables, folder)
            command = [sys.executable, "-m", "house.work", f"{tree}", part]
            done = subprocess.run(
                command, env=variables, cwd=folder, capture_output=True, text=True, check=False
            )
        if done.returncode:
            error = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            return {"error": error[:300]}
        return json.loads(done.stdout.splitlines()[-1])

    @property
    def identity(self) -> Record:
        """What the records of one store have in common."""
        commits = [trees.commit_of(tree) for tree in (self.old, self.new)]
        return {
            "trees": [f"{self.old}", f"{self.new}"],
            "commits": commits,
            "threads": self.threads,
        }


def _time_process(command: list[str], variables: dict[str, str], folder: str) -> Record:
    """Return the smallest times of a few runs of a whole process."""
    found = [_run(command, variables, folder) for _ in range(3)]
    best = min(found, key=lambda record: record.get("cpu", float("inf")))
    return best if "error" in best else best | {"wall": min(each["wall"] for each in found)}


def _run(command: list[str], variables: dict[str, str], folder: str) -> Record:
    start = time.perf_counter()
    with Path(folder, "output").open("w+") as output:
        started = subprocess.Popen(command, env=variables, cwd=folder, stdout=output, stderr=output)
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if started.returncode:
        return {"error": (text.strip().splitlines() or ["no reason given"])[-1][:300]}
    cpu = used.ru_utime + used.ru_stime
    return {"wall": wall, "cpu": cpu, "memory": round(used.ru_maxrss / 1024, 1)}


def run(plan: Plan, store: Path | None) -> list[Record]:
    """Make the measurements that the store does not have; return all of them."""
    records = _read(store, plan.identity) if store else []
    done = {(each["pair"], each["part"], each["side"]) for each in records}
    for pair, part, side in plan.measurements():
        if (pair, part, side) not in done:
            record = {"pair": pair, "part": part, "side": side, **plan.measure(part, side)}
            _tell(record)
            records.append(record)
            if store:
                _append(store, record)
    return [record for record in records if record["part"] in plan.parts]


def _read(store: Path, identity: Record) -> list[Record]:
    if not store.exists():
        _append(store, identity)
        return []
    lines = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines() if line]
    if lines[0] != identity:
        raise SystemExit(f"{store} has measurements of {lines[0]}, not of {identity}")
    return lines[1:]


def _append(store: Path, record: Record) -> None:
    with store.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def _tell(record: Record) -> None:
    text = record.get("error") or f"{record['wall']:9.4f} s, {record['cpu']:9.4f} s of processor"
    words = f"pair {record['pair'] + 1:2}  {record['part']:12} {record['side']}  {text}"
    print(words, file=sys.stderr, flush=True)  # noqa: T201


def table(records: Iterable[Record]) -> str:
    """Return the smallest times of both sides and their ratios, as Markdown."""
    by_part: dict[str, list[Record]] = {}
    for record in records:
        by_part.setdefault(record["part"], []).append(record)
    lines = ["| part | pairs | old s | new s | new / old | processor | median of pairs | memory |"]
    lines += ["| --- | --: | --: | --: | --: | --: | --: | --: |"]
    return "\n".join([*lines, *(_row(part, found) for part, found in by_part.items())])


def _row(part: str, records: list[Record]) -> str:
    errors = [record for record in records if "error" in record]
    if errors:
        return f"| {PARTS[part]} | {errors[0]['side']}: {errors[0]['error']} |"
    by_side = {side: [each for each in records if each["side"] == side] for side in SIDES}
    old, new = by_side["old"], by_side["new"]
    if not old or not new:
        return f"| {PARTS[part]} | not measured on both sides |"

    def ratio(key: str) -> float:
        return min(each[key] for each in new) / min(each[key] for each in old)

    pairs = [b["wall"] / a["wall"] for a in old for b in new if a["pair"] == b["pair"]]
    smallest = [min(each["wall"] for each in side) for side in (old, new)]
    cells = [f"{len(pairs)}", *(f"{value:.4f}" for value in smallest), f"{ratio('wall'):.3f}"]
    cells += [f"{ratio('cpu'):.3f}", f"{median(pairs):.3f}", f"{ratio('memory'):.3f}"]
    return f"| {PARTS[part]} | {' | '.join(cells)} |"
