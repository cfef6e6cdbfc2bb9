"""Fits beyond memory and beyond one process: a real cluster, killed workers, a million samples."""

import os
import signal
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from frobmetric import FrobMetric
from frobmetric.neighbors import knn_error

from ..data import labelled
from ..harness.benchmark import Benchmark, Options
from ..harness.timing import in_new_process, peak_memory, timed
from .growth import make_classes

GB = 1e9
#: Options of the fit to MNIST: 450,000 triplets.
MNIST = {"C": 1e5, "n_passes": 1, "units": "raw"}
#: Number of fits whose worker is killed, samples and features of each.
FITS, SAMPLES, FEATURES = 20, 6000, 40
#: Samples and features of the large fit, and its classes.
MILLION, LONG, CLASSES = 1_000_000, 128, 50
#: Directions in which the classes differ, and those that vary most and say nothing.
INFORMATIVE, NUISANCE = 10, 5
#: Bytes of free memory that a worker of the cluster keeps.
KEPT = 1 << 28
#: Memory limit of each worker, data as a multiple of it, and features of these data.
LIMIT, TIMES, WIDE = 800_000_000, 4, 1000
#: Number of chunks in which these data are read.
CHUNKS = 256
#: Options of the fit to data beyond memory.
BEYOND = {"C": 100, "n_neighbors": 1, "n_impostors": 1, "n_passes": 1, "units": "raw"}


@contextmanager
def cluster(n_workers=2, memory_limit="auto", kept=KEPT, spills=True):
    """Yield a cluster of worker processes of one thread each, and its client.

    Dask lets the workers return memory to the system whenever 64 kB are free, which costs a third
    of their time; here they keep up to so many bytes. Without `spills` Dask writes no results to
    files: where memory is short the library has them in files, and imports take most of the share
    of the memory from which on Dask writes all it has.
    """
    import dask
    import distributed

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    options |= {"silence_logs": 50, "memory_limit": memory_limit}
    names = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
    settings = {f"distributed.nanny.pre-spawn-environ.{name}": kept for name in names}
    if not spills:
        names = ("target", "spill")
        settings |= {f"distributed.worker.memory.{name}": False for name in names}
        settings["distributed.worker.memory.pause"] = 0.9
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=n_workers, **options) as workers,
        distributed.Client(workers) as client,
    ):
        yield workers, client


def collections(X, y, n_rows):
    """Return samples and labels as Dask arrays of so many rows a chunk."""
    import dask.array

    return dask.array.from_array(X, chunks=(n_rows, -1)), dask.array.from_array(y, chunks=n_rows)


def describe(metric, seconds):
    """Return what a fit took and found."""
    history = metric.history_
    certificate = metric.certificate_
    row = {"seconds": seconds, "solve_seconds": history[-1].seconds, "steps": metric.n_iter_}
    row |= {"objective": certificate.primal, "gap": certificate.relative_gap}
    return row | {"n_triplets": metric.n_triplets_}


# MNIST on a cluster


def compare_with_local(options):
    """Return rows of the same fit in memory and on a cluster, in turns."""
    split = labelled.load(options.choose("mnist", "usps_9298"), folder=options.folder)
    X, y, rows = split.X_train, split.y_train, []
    with cluster() as (_, client):
        samples = client.persist(list(collections(X, y, -(-len(X) // 2))))
        for _ in range(1 + options.repeat):  # the first of each compiles
            for place, data in (("local", (X, y)), ("cluster", samples)):
                seconds, metric = timed(lambda data=data: FrobMetric(**MNIST).fit(*data))
                rows.append({"place": place} | describe(metric, seconds))
                options.store(rows)
    return rows


# Killed workers


def kill_workers(options):
    """Return a row for each fit, one worker of which is killed at a random moment.

    There are more fits if some ended before that moment.
    """
    X, y = make_classes(options.choose(SAMPLES, 600), FEATURES)
    rows = list(options.stored or [])
    rng = np.random.default_rng(len(rows))
    expected = FrobMetric().fit(X, y)
    M = expected.get_mahalanobis_matrix()
    with cluster() as (workers, client):
        samples = collections(X, y, -(-len(X) // 4))
        for _ in range(2):  # the first compiles
            whole, _ = timed(lambda: FrobMetric().fit(*samples))
        wanted = options.choose(FITS, 2)
        while sum(row["was_killed"] for row in rows) < wanted and len(rows) < 3 * wanted:
            client.wait_for_workers(2)
            moment = float(rng.uniform(0, whole))
            victim = list(workers.workers.values())[rng.integers(2)].pid
            killer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            killer.start()
            seconds, metric = timed(lambda: FrobMetric().fit(*samples))
            was_killed = not killer.is_alive()
            killer.cancel()
            difference = np.abs(metric.get_mahalanobis_matrix() - M).max() / np.abs(M).max()
            row = {"moment": moment, "whole": whole, "was_killed": was_killed}
            rows.append(row | {"difference": float(difference)} | describe(metric, seconds))
            options.store(rows)
    return rows


# Data larger than memory


def write_wide(path, n, D, seed=0):
    """Write samples of ten classes to a file, block by block, and return the labels.

    They are near a plane of 20 dimensions, as images and spectra are near one of few.
    """
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((20, D)) / np.sqrt(D)
    means, y = rng.standard_normal((10, 20)), rng.integers(10, size=n)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, D))
    for start in range(0, n, 10_000):
        part = slice(start, min(start + 10_000, n))
        hidden = means[y[part]] + rng.standard_normal((part.stop - part.start, 20))
        rows[part] = hidden @ plane + 0.01 * rng.standard_normal((len(hidden), D))
    rows.flush()
    return y


def read_rows(path, start, stop):
    """Return some rows of an npy file."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def array_of_file(path, n_rows):
    """Return an npy file as a Dask array whose chunks are read by the workers."""
    import dask
    import dask.array

    n, D = np.load(path, mmap_mode="r").shape
    read = dask.delayed(read_rows)
    parts = [
        dask.array.from_delayed(
            read(path, start, start + n_rows), (min(n_rows, n - start), D), np.float64
        )
        for start in range(0, n, n_rows)
    ]
    return dask.array.concatenate(parts)


def fit_beyond_memory(options):
    """Return what a fit takes whose data are several times the memory limit of its workers."""
    limit = options.choose(LIMIT, 1_500_000_000)
    D = options.choose(WIDE, 30)
    n = options.choose(TIMES * limit // (8 * D), 2000)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "samples.npy"))
        y = write_wide(path, n, D)
        size = Path(path).stat().st_size
        with cluster(memory_limit=limit, kept=1 << 16, spills=False) as (workers, _):
            pids = {worker.pid for worker in workers.workers.values()}
            model = FrobMetric(**BEYOND)
            samples = array_of_file(path, -(-n // CHUNKS))
            with Watch(workers) as watch:
                seconds, metric = timed(lambda: model.fit(samples, y))
            survived = pids == {worker.pid for worker in workers.workers.values()}
    row = {"n": n, "D": D, "bytes": size, "limit": limit, "peak": watch.peak}
    return row | {"survived": survived} | describe(metric, seconds)


class Watch:
    """Thread that notes the largest memory of the workers of a cluster."""

    def __init__(self, workers):
        self.peak, self._workers, self._ended = 0, workers, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _run(self):
        while not self._ended.wait(0.2):
            for worker in list(self._workers.workers.values()):
                self.peak = max(self.peak, _resident(worker.pid))


def _resident(pid):
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (OSError, TypeError):  # it is being restarted
        return 0
    line = next((line for line in text.split("\n") if line.startswith("VmRSS")), "VmRSS: 0")
    return 1024 * int(line.split()[1])


# A million samples


def make_hard_classes(n, D, seed=0):
    """Return samples in single precision in which strong directions hide the classes.

    Classes differ in a few directions; a few others vary four times as much and say nothing, and
    all features have a little noise. A rotation mixes the directions.
    """
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(1).standard_normal((CLASSES, INFORMATIVE))
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((D, D)))[0].astype(np.float32)
    y = rng.integers(CLASSES, size=n)
    X = rng.standard_normal((n, D), dtype=np.float32)
    X[:, :INFORMATIVE] *= 0.7
    X[:, :INFORMATIVE] += means[y].astype(np.float32)
    X[:, INFORMATIVE : INFORMATIVE + NUISANCE] *= 4
    X[:, INFORMATIVE + NUISANCE :] *= 0.1
    for start in range(0, n, 100_000):
        X[start : start + 100_000] = X[start : start + 100_000] @ turn
    return X, y


def fit_million(values, *_):
    """Return what a fit of many samples takes, in this process."""
    n, D = values["n"], values["D"]
    X, y = make_hard_classes(n, D)
    began = time.process_time()
    seconds, metric = timed(lambda: FrobMetric(C=values["C"], n_passes=1, units="raw").fit(X, y))
    row = {"n": n, "D": D, "C": values["C"], "cpu_seconds": time.process_time() - began}
    row |= {"peak": peak_memory(), "recall": str(getattr(metric, "mining_recall_", "exact"))}
    new, labels = make_hard_classes(2000, D, seed=5)
    some = slice(0, 50_000)
    L = metric.components_.T
    row["error_before"] = float(knn_error(X[some], y[some], new, labels))
    row["error_after"] = float(knn_error(X[some] @ L, y[some], new @ L, labels))
    return {}, row | describe(metric, seconds)


def measure_million(options):
    """Return what a fit of a million samples takes, in a process of its own."""
    values = {"n": options.choose(MILLION, 4000), "D": options.choose(LONG, 40), "C": 1e4}
    return in_new_process(f"{__name__}:fit_million", values, options)


# The page


def shards_page(parts):
    """Return the tables of the page."""
    kills, fits = parts.get("workers", []), parts.get("cluster", [])
    tables = {"cluster": [], "workers": [], "memory": [], "million": []}
    best = {}
    for place in dict.fromkeys(row["place"] for row in fits):
        best[place] = min((r for r in fits if r["place"] == place), key=lambda r: r["seconds"])
        local = best["local"]
        more = {"ratio": best[place]["seconds"] / local["seconds"]}
        more["difference"] = abs(best[place]["objective"] / local["objective"] - 1)
        tables["cluster"].append(best[place] | more)
    if kills:
        killed = [row for row in kills if row["was_killed"]]
        tables["workers"].append(
            {
                "fits": len(kills),
                "killed": len(killed),
                "same": sum(row["difference"] <= 1e-10 for row in kills),
                "difference": max(row["difference"] for row in kills),
                "whole": kills[0]["whole"],
                "seconds": float(np.mean([row["seconds"] for row in killed])),
                "longest": max(row["seconds"] for row in kills),
            }
        )
    for name in ("memory", "million"):
        if name in parts:
            row = dict(parts[name])
            sizes = {f"{key}_gb": row[key] / GB for key in ("bytes", "limit", "peak") if key in row}
            tables[name].append(row | sizes)
    return tables


BENCHMARK = Benchmark(
    parts={
        "cluster": compare_with_local,
        "workers": kill_workers,
        "memory": fit_beyond_memory,
        "million": measure_million,
    },
    page=shards_page,
    options=Options(threads=2, repeat=2),
)
