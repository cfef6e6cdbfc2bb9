"""Cost model of fits in shards against measured fits, and what it predicts for a large cluster.

The rates of `cost_model` are fitted to the times of the phases of a few small fits. The model then
predicts larger fits of other shapes: in memory, out of core, and on a cluster of two processes.
The number of steps and the rank of the metrics are properties of the data and taken from the fit.
"""

import operator
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from frobmetric import FrobMetric, RowFile
from frobmetric.backends import constraints
from frobmetric.backends.engine import LocalEngine
from frobmetric.backends.files import SHARE
from frobmetric.backends.table import ShardedTable, split_rows
from frobmetric.backends.vectors import Sharded
from frobmetric.core.cones import PSD
from frobmetric.learning import learn as learning
from frobmetric.learning.sharded.samples import ShardedSamples
from frobmetric.learning.sharded.triplets import ShardedTriplets

from ..harness.benchmark import Benchmark, Cell, Options
from ..harness.task import Store
from . import RESULTS, cost_model
from .cluster_simulation import draw_runs, plan_page, simulate_plan
from .cost_model import Job, Rates
from .cost_rates import MACHINES, calibrate, with_cluster, with_files
from .growth import make_classes

#: Fits that the rates are fitted to: samples, features, shards.
SMALL = ((3000, 32, 2), (6000, 32, 3), (8000, 32, 1), (1500, 128, 2), (3000, 128, 6))
SMALL += ((4000, 128, 1), (3000, 256, 2), (8000, 256, 1), (2500, 512, 1), (8000, 64, 4))
QUICK_SMALL = ((300, 16, 1), (600, 16, 2), (600, 24, 3), (900, 24, 1))
#: Fits that the model predicts: where the shards are, samples, features, shards.
CHECKS = (("memory", 20_000, 96, 3), ("memory", 8_000, 384, 4), ("file", 24_000, 64, 8))
CHECKS += (("cluster", 20_000, 128, 2),)
#: Fits that were chosen after the model and its rates were fixed, and measured once.
NEW_CHECKS = (("memory", 12_000, 160, 5), ("file", 15_000, 100, 6), ("cluster", 16_000, 80, 2))
QUICK_CHECKS = (("memory", 900, 20, 2), ("file", 900, 20, 4))
#: A fit out of core, for the cost of temporary files, and one on a cluster that is all messages.
FILE, TINY = ("file", 6000, 64, 3), ("cluster", 300, 16, 2)
#: A fit on a cluster, for the work of its workers.
PARALLEL = ("cluster", 12_000, 96, 2)
QUICK_FILE = ("file", 600, 16, 3)
#: Shards of two sums on a cluster, whose difference is the time of tasks.
SUMS, N_SUMS = (2, 64), 15
C, TOL, MAX_ITER = 1e4, 1e-3, 40
#: Phases of a fit: what they call, as (owner, name).
PHASES = {
    "reading": ((ShardedSamples, "check"), (ShardedSamples, "coordinates")),
    "search": ((ShardedSamples, "add_mined"),),
    "solve": ((learning, "frobenius_problem"), (learning, "solve_frobenius")),
}
#: The same inside of a solve, for fits in this process.
INNER_PHASES = {
    "exchange": ((ShardedTriplets, "_with_rows"),),
    "forward": ((constraints, "_forward"),),
    "adjoint": ((constraints, "_adjoint"),),
    "eigh": ((PSD, "split"),),
}
#: Orders of matrices whose eigen-decomposition is timed for the rates, and of a check.
ORDERS, CHECKED_ORDERS = (64, 128, 256, 512, 1024), (384, 1536)
QUICK_ORDERS, QUICK_CHECKED_ORDERS = (16, 32, 64), (48,)


class Pieces(RowFile):
    """Rows in memory that are fitted in shards, in this process."""

    def __init__(self, X, n_shards):
        self.X, self.n_shards = X, n_shards

    @property
    def shape(self):
        return self.X.shape

    def open(self, y):
        parts, engine = np.array_split(self.X, self.n_shards), LocalEngine(self.n_shards)
        labels = split_rows(y, [len(part) for part in parts])
        return ShardedTable(Sharded.put(engine, parts), Sharded.put(engine, labels))


# Measuring


@contextmanager
def timed_phases(phases, clock):
    """Yield a counter of the seconds of each phase, while fits run."""
    spent, replaced = Counter(), []

    def timed_call(function, phase):
        def call(*arguments, **options):
            began = clock()
            try:
                return function(*arguments, **options)
            finally:
                spent[phase] += clock() - began

        return call

    try:
        for phase, functions in phases.items():
            for owner, name in functions:
                replaced.append((owner, name, vars(owner)[name]))
                setattr(owner, name, timed_call(getattr(owner, name), phase))
        yield spent
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)


@contextmanager
def counted_rows(counts):
    """Count the mean number of rows that a shard holds, as `held` of the counts."""
    mined = vars(ShardedTriplets)["mined"]

    def count(*arguments):
        triplets = mined.__func__(ShardedTriplets, *arguments)
        sizes = triplets.needed.reduce(operator.add, _size).get()
        counts["held"] = float(np.mean(sizes))
        return triplets

    ShardedTriplets.mined = count
    try:
        yield
    finally:
        ShardedTriplets.mined = mined


def _size(piece):
    return [len(piece)]


def time_fit(X, y, phases=PHASES | INNER_PHASES, clock=time.process_time):
    """Return the seconds of the phases of a fit, its steps and the mean rank of its metrics."""
    metric = FrobMetric(n_passes=1, units="raw", solver="quasi_newton", C=C, tol=TOL)
    metric.set_params(max_iter=MAX_ITER)
    with timed_phases(phases, clock) as spent, counted_rows(spent), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a given number of steps is enough
        began = clock(), time.perf_counter()
        metric.fit(X, y)
        spent["fit"], wall = clock() - began[0], time.perf_counter() - began[1]
    rank = float(np.mean([step.rank for step in metric.history_]))
    size = {"n_steps": metric.n_iter_, "rank": rank, "n_held": spent.pop("held")}
    return {"size": size, "wall": wall, "seconds": dict(spent)}


def measure_all(cases, repeat):
    """Return the least seconds of each phase of each case, and the job that it was.

    Each round has all cases: other work on the machine comes and goes.
    """
    for case in {home: (home, *QUICK_SMALL[1]) for home, *_ in cases}.values():
        _measure(*case)  # compiles
    rounds = [[_measure(*case) for case in cases] for _ in range(repeat)]
    return [_least(runs) for runs in zip(*rounds, strict=True)]


def _least(runs):
    seconds = {name: min(run["seconds"][name] for run in runs) for name in runs[0]["seconds"]}
    longest = max(run["seconds"]["fit"] for run in runs)
    wall = min(run["wall"] for run in runs)
    return runs[0] | {"seconds": seconds, "longest": longest, "wall": wall}


def _measure(home, n, D, n_shards):
    run = HOMES[home](*make_classes(n, D), n_shards)
    job = asdict(Job(n=n, D=D, n_shards=n_shards, **run.pop("size")))
    return {"home": home, "job": job} | run


def fit_in_memory(X, y, n_shards):
    """Return the CPU seconds of a fit in shards in memory."""
    return time_fit(Pieces(X, n_shards), y)


def fit_out_of_core(X, y, n_shards):
    """Return the CPU seconds of a fit from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        memory = int(8 * X.shape[1] * -(-len(X) // n_shards) / SHARE)
        return time_fit(RowFile(path, memory=memory, folder=folder), y)


@contextmanager
def small_cluster(n_workers=2):
    """Yield the client of a cluster of processes of one thread each."""
    import distributed

    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def fit_on_cluster(X, y, n_shards):
    """Return the CPU seconds of a fit on the current cluster: a worker's plus the client's.

    Shards do the same work at the same time, so this is the time of a machine with free cores,
    but for the moments in which every process waits.
    """
    import dask.array
    import distributed

    client = distributed.get_client()

    def clock():
        return time.process_time() + np.mean(list(client.run(time.process_time).values()))

    rows = -(-len(X) // n_shards)
    return time_fit(dask.array.from_array(X, chunks=(rows, -1)), y, PHASES, clock)


HOMES = {"memory": fit_in_memory, "file": fit_out_of_core, "cluster": fit_on_cluster}


def least_cpu(work, repeat):
    """Return the least CPU seconds of this process in several calls; the first may compile."""
    times = []
    for _ in range(repeat + 1):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def time_eigh(D, repeat):
    """Return the seconds of a projection of a D x D matrix."""
    S = np.random.default_rng(0).standard_normal((D, D))
    return least_cpu(lambda: PSD(D).split(S + S.T), repeat)


def time_sum(client, n_shards):
    """Return the seconds of a sum of one number of each shard, in client and scheduler."""
    from frobmetric.backends.dask import DaskEngine

    v = Sharded.put(DaskEngine(client, n_shards), list(range(n_shards)))
    return least_cpu(lambda: v.reduce(operator.add, abs).get(), N_SUMS)


# Checks


def check_orders(orders, rates, repeat):
    """Return predicted and measured seconds of eigen-decompositions."""
    rows = []
    for D in orders:
        work = cost_model.work_of_eigh(Job(n=1, D=D))
        row = {"D": D, "measured": time_eigh(D, repeat)}
        row["predicted"] = cost_model.seconds_of(work, rates)
        rows.append(row | {"ratio": row["predicted"] / row["measured"]})
    return rows


def compare(point, rates):
    """Return predicted and measured seconds of a fit."""
    job, machines = Job(**point["job"]), MACHINES[point["home"]]
    row = {"home": point["home"], "wall": point["wall"], "longest": point["longest"]} | point["job"]
    row["held_bound"] = replace(job, n_held=None).held
    for phase in ("search", "solve", "fit"):
        predicted = getattr(cost_model, phase)(job, machines, rates).seconds
        measured = point["seconds"][phase]
        row |= {f"{phase}_predicted": predicted, f"{phase}_measured": measured}
        row[f"{phase}_ratio"] = predicted / measured
    return row


def measure_model(options):
    """Return the rates of this machine, and predicted and measured times of other fits."""
    small = [("memory", *size) for size in options.choose(SMALL, QUICK_SMALL)]
    others = [options.choose(FILE, QUICK_FILE), *options.choose((TINY, PARALLEL), ())]
    cases, repeat = options.choose(CHECKS, QUICK_CHECKS), options.choose(options.repeat, 1)
    orders = {D: time_eigh(D, repeat) for D in options.choose(ORDERS, QUICK_ORDERS)}
    with small_cluster() if not options.is_quick else nullcontext() as client:
        sums = {n: time_sum(client, n) for n in SUMS} if client else None
        points = measure_all([*small, *others, *cases], repeat)
    n_small = len(small)
    rates, errors = calibrate(points[:n_small], orders)
    rates = with_files(rates, points[n_small])
    if client:
        rates = with_cluster(rates, *points[n_small + 1 : n_small + 3], sums)
    checks = [compare(point, rates) for point in points[-len(cases) :]]
    orders = options.choose(CHECKED_ORDERS, QUICK_CHECKED_ORDERS)
    data = {"rates": asdict(rates), "errors": errors, "points": points[: -len(cases)]}
    return data | {"checks": checks, "orders": check_orders(orders, rates, repeat)}


def measure_new(options):
    """Return predicted and measured times of fits that nothing in the model was chosen by."""
    rates, repeat = stored_rates(), options.choose(options.repeat, 1)
    with small_cluster() if not options.is_quick else nullcontext():
        points = measure_all(options.choose(NEW_CHECKS, QUICK_CHECKS), repeat)
    return [compare(point, rates) for point in points]


# What the model predicts


def stored_rates():
    """Return the rates of the committed results."""
    stored = {cell.task.method: cell for cell in Store(RESULTS, Cell).read("scale.json")}
    if "model" not in stored:
        raise ValueError(f"{RESULTS / 'scale.json'} has no rates; measure the part model first")
    return Rates(**stored["model"].data["rates"])


def measure_plan(options):
    """Return what the model and the simulation predict for a large cluster.

    The factor of workers is that of short arrays, and shrinks with the size: here it is one.
    """
    return simulate_plan(replace(stored_rates(), worker=1.0), options.choose(500, 10))


def scale_page(parts):
    """Return the tables of the page."""
    model = parts.get("model", {})
    worst = [{"phase": name, "error": error} for name, error in model.get("errors", {}).items()]
    rates = [{"rate": name, "seconds": value} for name, value in model.get("rates", {}).items()]
    page = {"checks": model.get("checks", []), "rates": rates, "calibration": worst}
    page["new_checks"] = parts.get("new", [])
    page["orders"] = model.get("orders", [])
    return page | (plan_page(parts["plan"]) if "plan" in parts else {})


def draw(parts, path):
    """Draw the simulated times, if there are any."""
    if "plan" in parts:
        draw_runs(parts["plan"], path)


PARTS = {"model": measure_model, "new": measure_new, "plan": measure_plan}
BENCHMARK = Benchmark(parts=PARTS, page=scale_page, draw=draw, options=Options(repeat=3))
