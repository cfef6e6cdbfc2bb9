"""Rates of the cost model, fitted to the measured phases of small fits."""

import operator
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from . import cost_model
from .cost_model import Job, Machines, Rates

#: Machines of a measured fit, by where its shards are.
MACHINES = {
    "memory": Machines(),
    "file": Machines(is_out_of_core=True),
    "cluster": Machines(n_machines=2, is_cluster=True),
}


def calibrate(points, orders):
    """Return the rates that fit some fits in memory, with the largest relative error of each phase.

    `orders` has the seconds of eigen-decompositions by their order.
    """
    jobs = [Job(**point["job"]) for point in points]
    rates, errors = {}, {}
    for phase, (measured, kinds) in SOURCES.items():
        work = [_work(job, phase, kinds) for job in jobs]
        seconds = np.array([measured(point["seconds"]) for point in points])
        found, errors[phase] = _fitted(work, seconds)
        rates |= found
    work = [cost_model.work_of_eigh(Job(n=1, D=D)) for D in orders]
    found, errors["eigh"] = _fitted(work, np.array(list(orders.values())))
    return Rates(**rates, **found), errors


def _vector_seconds(seconds):
    known = ("forward", "adjoint", "eigh", "exchange")
    return seconds["solve"] - sum(seconds[name] for name in known)


#: Phases: their measured seconds, and the kinds of work they have.
SOURCES = {
    "reading": (operator.itemgetter("reading"), (cost_model.work_of_reading,)),
    "search": (operator.itemgetter("search"), (cost_model.work_of_search,)),
    "exchange": (operator.itemgetter("exchange"), (cost_model.work_of_exchange,)),
    "forward": (operator.itemgetter("forward"), (cost_model.work_of_forward,)),
    "adjoint": (operator.itemgetter("adjoint"), (cost_model.work_of_adjoint,)),
    "vectors": (_vector_seconds, (cost_model.work_of_vectors, cost_model.work_of_matrices)),
}


def _work(job, phase, kinds):
    """Return the work of a whole fit in a phase, by the name of the rate."""
    is_step = phase in ("forward", "adjoint", "vectors")
    calls = job.n_steps if is_step else 1
    work = {}
    for kind in kinds:
        n_places = 1 if kind is cost_model.work_of_matrices else job.n_shards
        work |= {name: calls * n_places * size for name, size in kind(job).items()}
    return work


def _fitted(work, seconds):
    """Return the rates of some work that took these seconds, and the largest relative error."""
    sizes = np.array([list(each.values()) for each in work])
    rates, error = _least_relative(sizes, seconds)
    return dict(zip(work[0], rates.tolist(), strict=True)), error


def _least_relative(sizes, seconds):
    """Return rates, none negative, with the least relative errors, and the largest error."""
    weighted = sizes / seconds[:, None]
    unit = weighted.max(axis=0)
    rates = nnls(weighted / unit, np.ones(len(seconds)))[0] / unit
    return rates, float(np.abs(weighted @ rates - 1).max())


def with_files(rates, point):
    """Return the rates with that of temporary files: what a fit out of core takes beyond them."""
    job = Job(**point["job"])
    without = cost_model.solve(job, MACHINES["file"], rates).seconds
    per_byte = cost_model.solve(job, MACHINES["file"], Rates(file_byte=1.0)).seconds
    more = point["seconds"]["solve"] - without
    return replace(rates, file_byte=max(0.0, more) / per_byte)


def with_cluster(rates, tiny, small, sums):
    """Return the rates with those of Dask.

    `sums` has the seconds of sums over few and many shards, by their number; the difference is the
    time of tasks. A tiny fit has the time of messages, and a small one tells how much longer the
    same work takes.
    """
    n_tasks = [2 * n + max(0, n - cost_model.FEW) for n in sums]
    few, many = sums.values()
    rates = replace(rates, task=max(0.0, many - few) / (n_tasks[1] - n_tasks[0]))
    job = Job(**tiny["job"])
    more = tiny["seconds"]["solve"] - cost_model.solve(job, MACHINES["cluster"], rates).seconds
    rates = replace(rates, message=max(0.0, more) / (cost_model.MESSAGES * job.n_steps))
    job, phases = Job(**small["job"]), ("search", "solve")
    costs = [getattr(cost_model, name)(job, MACHINES["cluster"], rates) for name in phases]
    more = sum(small["seconds"][name] for name in phases) - sum(cost.waiting for cost in costs)
    return replace(rates, worker=more / sum(cost.work for cost in costs))
