"""Fits that are killed at random moments and resumed, and what their checkpoints cost.

Each fit runs in a process of its own, which SIGKILL ends at a random moment, up to some times; the
last process finishes it. After each kill the file is read, and damaged copies of it are offered.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from frobmetric import FrobMetric
from frobmetric.learning import journal as _journal
from frobmetric.learning import samples
from frobmetric.runtime import checkpoint as checkpoints
from frobmetric.runtime.checkpoint import Checkpoint

from ..data import labelled
from ..harness.benchmark import Benchmark
from ..harness.timing import timed
from .growth import make_classes

#: Data and parameters of the fits: samples and features, and what the solver has to do.
CASES = {
    "all rows at once": {"n": 1000, "D": 60, "tol": 1e-6, "n_passes": 2},
    "active set": {"n": 3000, "D": 40, "tol": 1e-6, "n_passes": 2},
}
#: Number of fits, largest number of kills of one, and damaged copies of each file.
FITS, KILLS, COPIES = 50, 3, 20
#: Seconds between two states of these short fits.
SECONDS = 0.1
C = 1e4
#: Problem whose overhead is measured, and the seconds between two states.
LARGE, LARGE_C, INTERVALS = "mnist", 1e5, (None, 30.0, 1.0)
#: A process that fits: says that it begins, then fits and writes its answer.
SCRIPT = """
import json, sys
import numpy as np
from frobmetric import FrobMetric
from frobmetric.runtime import checkpoint

checkpoint.SHARE = 1.0  # a state whenever the seconds are over, whatever writing takes
folder, parameters = sys.argv[1], json.loads(sys.argv[2])
seconds = parameters.pop("seconds")
data = np.load(folder + "/data.npz")
print("begins", flush=True)
metric = FrobMetric(keep_dual=True, **parameters)
metric.fit(data["X"], data["y"], checkpoint=folder + "/state.ckpt", checkpoint_seconds=seconds)
answer = {"objective": metric.certificate_.primal, "gap": metric.certificate_.relative_gap}
triplets = checkpoint.fingerprint(metric.triplets_.to_array())
answer |= {"status": metric.status_, "triplets": triplets}
print(json.dumps(answer), flush=True)
"""


class Fit:
    """A fit in a folder, by one process after the other."""

    def __init__(self, folder, case):
        self.folder, self.case = folder, dict(case)
        X, y = make_classes(self.case.pop("n"), self.case.pop("D"))
        np.savez(folder / "data.npz", X=X, y=y)

    def run(self, seconds=None):
        """Return seconds and answer of a process; an answer of None if it was killed by then."""
        values = json.dumps(self.case | {"C": C, "seconds": SECONDS})
        command = [sys.executable, "-c", SCRIPT, str(self.folder), values]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            began = time.perf_counter()
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
            line = process.stdout.read()
        if process.returncode > 0:
            raise RuntimeError(f"a fit failed with exit code {process.returncode}")
        return time.perf_counter() - began, json.loads(line) if line else None

    @property
    def file(self):
        return self.folder / "state.ckpt"

    @property
    def drafts(self):
        """Unfinished files that killed processes left."""
        return [path for path in self.folder.iterdir() if path.suffix == ".tmp"]


def read_state(path):
    """Return the stage in a file, as the fit that wrote it would."""
    identity = json.loads(path.read_bytes().split(b"\n", 3)[2])["identity"]
    return identity, _journal.from_arrays(Checkpoint(path, identity).load())


def count_refused(path, rng):
    """Return how many damaged copies of a file are refused: a wrong byte, or an end too early."""
    content, (identity, _) = path.read_bytes(), read_state(path)
    copy, n_refused = path.with_name("copy.ckpt"), 0
    for number in range(COPIES):
        damaged, place = bytearray(content), rng.integers(len(content))
        damaged[place] ^= rng.integers(1, 256)
        copy.write_bytes(damaged if number % 2 else content[:place])
        try:
            Checkpoint(copy, identity).load()
        except ValueError:
            n_refused += 1
    copy.unlink()
    return n_refused


def describe_kill(fit, rng):
    """Return what a killed process left: the stage in its file, and whether copies are refused."""
    row = {"kills": 1, "drafts": len(fit.drafts), "stages": ["no file"]}
    if not fit.file.exists():
        return row
    _, stage = read_state(fit.file)
    doing = "searched" if stage.is_searched else "begun"
    doing = doing if stage.run.u is None else "solving"
    row |= {"stages": [f"pass {stage.number + 1}, {doing}"], "states": 1}
    return row | {"damaged": COPIES, "refused": count_refused(fit.file, rng)}


def interrupt(fit, seconds, rng):
    """Kill a fit at some random moments, and let it finish; return what happened."""
    row = {"kills": 0, "states": 0, "damaged": 0, "refused": 0, "drafts": 0, "stages": []}
    most, answer = rng.integers(1, KILLS + 1), None
    while row["kills"] < most and not (row["kills"] and answer):  # killed once at least
        _, answer = fit.run(rng.uniform(0, seconds))
        if answer is None:
            left = describe_kill(fit, rng)
            row |= {name: row[name] + value for name, value in left.items()}
    answer = answer or fit.run()[1]
    return row | answer | {"is_clean": sorted(p.name for p in fit.folder.iterdir()) == ["data.npz"]}


def kill_local_fits(options):
    """Return a row for each fit of this machine that was killed and resumed."""
    rng, rows = np.random.default_rng(0), []
    n_fits = options.choose(FITS, 4) // len(CASES)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            fit = Fit(Path(folder), case)
            seconds, whole = fit.run()
            for _ in range(n_fits):
                row = interrupt(fit, seconds, rng)
                row["difference"] = abs(row["objective"] / whole["objective"] - 1)
                row["same_triplets"] = row["triplets"] == whole["triplets"]
                rows.append({"case": name, "seconds": seconds} | case | row)
                options.store(rows)
    return rows


@contextmanager
def timed_checkpoints():
    """Yield a counter of the seconds, states and bytes of checkpoints, while they are written."""
    spent, save, fingerprint = Counter(), Checkpoint.save, checkpoints.fingerprint

    def timed_save(self, arrays):
        spent["seconds"] += timed(lambda: save(self, arrays))[0]
        spent["states"] += 1
        spent["bytes"] = max(spent["bytes"], self.path.stat().st_size)

    def timed_fingerprint(*arrays):
        seconds, text = timed(lambda: fingerprint(*arrays))
        spent["seconds"] += seconds
        spent["fingerprint"] += seconds
        return text

    Checkpoint.save, samples.fingerprint = timed_save, timed_fingerprint
    try:
        yield spent
    finally:
        Checkpoint.save, samples.fingerprint = save, fingerprint


def time_fit(X, y, interval, folder):
    """Return the seconds of a fit, and what its checkpoint took of them."""
    metric, given = FrobMetric(C=LARGE_C), {}
    if interval is not None:
        given = {"checkpoint": f"{folder}/state.ckpt", "checkpoint_seconds": interval}
    before = time.process_time()
    with timed_checkpoints() as spent:
        seconds, _ = timed(lambda: metric.fit(X, y, **given))
    cpu_seconds = time.process_time() - before  # does not count other work on the machine
    row = {"seconds": seconds, "cpu_seconds": cpu_seconds, "share": spent["seconds"] / seconds}
    row |= {name: spent[name] for name in ("states", "bytes", "fingerprint")}
    return row | {"n_triplets": metric.n_triplets_, "gap": metric.certificate_.relative_gap}


def measure_overhead(options):
    """Return rows of one fit without checkpoint, and with one at each interval.

    They take turns, because other work on the machine comes and goes.
    """
    split = labelled.load(options.choose(LARGE, "usps_9298"), folder=options.folder)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeat):
            for interval in INTERVALS:
                row = time_fit(split.X_train, split.y_train, interval, folder)
                rows.append({"interval": interval} | row)
                options.store(rows)
    return rows


def _summary(name, rows):
    """Return the row of the page for all fits of a case."""
    rows = [row for row in rows if row["case"] == name]
    certified = sum(row["status"] == "optimal" and row["gap"] <= row["tol"] for row in rows)
    total = Counter()
    for row in rows:
        numbers = ("kills", "states", "damaged", "refused", "drafts", "is_clean", "same_triplets")
        total.update({key: int(row[key]) for key in numbers})
    first = rows[0]
    return dict(total) | {
        "case": f"{name}: {first['n']:,} × {first['D']}, {first['n_passes']} passes",
        "seconds": first["seconds"],
        "fits": len(rows),
        "certified": certified,
        "equal": sum(row["difference"] <= row["tol"] for row in rows),
        "difference": max(row["difference"] for row in rows),
        "tol": first["tol"],
    }


def _costs(rows):
    """Return the rows of the page for each interval: the fastest fit, and the largest share."""
    costs = []
    for interval in dict.fromkeys(row["interval"] for row in rows):
        same = [row for row in rows if row["interval"] == interval]
        best = min(same, key=lambda row: row["cpu_seconds"])
        plain = costs[0]["cpu_seconds"] if costs else best["cpu_seconds"]
        every = "no checkpoint" if interval is None else f"{interval:g} s"
        more = {"every": every, "more": best["cpu_seconds"] / plain - 1, "runs": len(same)}
        more |= {"share": max(row["share"] for row in same), "megabytes": best["bytes"] / 1e6}
        costs.append(best | more)
    return costs


def interruptions_page(parts):
    """Return the tables of the page."""
    local, overhead = parts.get("local", []), parts.get("overhead", [])
    stages = Counter(stage for row in local for stage in row["stages"])
    return {
        "local": [_summary(name, local) for name in dict.fromkeys(row["case"] for row in local)],
        "stages": [{"stage": name, "kills": stages[name]} for name in sorted(stages)],
        "overhead": _costs(overhead),
    }


PARTS = {"local": kill_local_fits, "overhead": measure_overhead}
BENCHMARK = Benchmark(parts=PARTS, page=interruptions_page)
