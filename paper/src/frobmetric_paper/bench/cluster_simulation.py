"""Simulation of a fit on a large cluster: stragglers, lost machines and what they cost.

A fit is a sequence of phases with a barrier at the end of each: all machines work, then all wait
for the slowest one and for what happens in one place. The work and the waiting of a phase are
those of `cost_model`; without disturbances a simulated fit takes what the model predicts.
"""

from dataclasses import asdict, dataclass, replace
from textwrap import wrap

import numpy as np

from . import cost_model
from .cost_model import Job, Machines

#: The fit that is planned: 10^8 points of 512 features, one pass.
JOB = Job(n=10**8, D=512, n_classes=100, rank=100.0, n_steps=100)
#: Its machines: cores as fast as the measured one, 10 Gbit/s, storage of 1 GB/s for each.
MACHINES = Machines(n_machines=64, n_cores=32, bandwidth=1.25e9, storage=1e9, is_cluster=True)
#: Memory of a machine, in bytes.
MEMORY = 256e9
#: Ways to find neighbours.
WAYS = {
    "exact search": {},
    "approximate search, 1 of 64 shards each": {"searched": 1 / 64},
    "exact search of 1,000,000 anchors": {"n_anchors": 10**6},
}
#: Shares of the simulated fits whose longest time is kept.
SHARES = np.arange(101) / 100
#: The ways that are simulated.
SIMULATED = tuple(WAYS)[1:]
#: Numbers of shards of a machine that are compared.
SHARDS = (1, 2, 4, 8, 16, 32)
#: Orders of matrices for which a step is divided into its parts.
ORDERS = (128, 256, 512, 1024, 2048, 4096, 8192)


@dataclass(frozen=True)
class Disturbances:
    """Mishaps of a cluster: slow tasks, slow machines, lost machines."""

    #: Standard deviation of the logarithm of the time of a machine in a phase.
    spread: float = 0.0
    #: Number of machines that are slower than the others, and how much.
    n_slow: int = 0
    slowness: float = 1.0
    #: Mean hours until a machine is lost.
    lifetime: float = np.inf
    #: Whether a lost machine's shards are computed again, or the fit goes on from its checkpoint.
    is_replayed: bool = True


#: Seconds until a lost machine is noticed, and steps that a resumed fit takes to be where it was.
NOTICE, AGAIN = 30.0, 10
#: Lost machines after which a fit is given up.
MOST_LOST = 1000
STRAGGLERS = {"spread": 0.1, "n_slow": 2, "slowness": 1.3}
SCENARIOS = {
    "nothing": Disturbances(),
    "stragglers": Disturbances(**STRAGGLERS),
    "stragglers, losses in 30 days, replayed": Disturbances(**STRAGGLERS, lifetime=720.0),
    "stragglers, losses in a day, replayed": Disturbances(**STRAGGLERS, lifetime=24.0),
    "stragglers, losses in a day, checkpoint": Disturbances(
        **STRAGGLERS, lifetime=24.0, is_replayed=False
    ),
}


def phases_of(job, machines, rates):
    """Return the costs of the phases of a fit in order."""
    names = ("reading", "search", "exchange")
    before = [getattr(cost_model, name)(job, machines, rates) for name in names]
    step = cost_model.step(job, machines, rates)
    return [*before, *[step] * job.n_steps]


def repetitions(job, machines, rates, is_replayed):
    """Return the seconds after which a machine that is lost in each phase is made up for.

    A replay does all work of a shard so far, each shard on a machine of its own. With a checkpoint
    all machines repeat what came before the steps, and some steps.
    """
    if is_replayed:
        alone = replace(machines, n_machines=job.n_shards)
        return np.cumsum([phase.work for phase in phases_of(job, alone, rates)])
    seconds = np.cumsum([phase.seconds for phase in phases_of(job, machines, rates)])
    last = len(seconds) - 1 - job.n_steps + AGAIN
    return seconds[np.minimum(np.arange(len(seconds)), last)]


def machine_factors(n_phases, n_machines, disturbances, rng):
    """Return by how much the work of each machine in each phase is longer; the mean is one."""
    spread = disturbances.spread
    factors = np.exp(spread * rng.standard_normal((n_phases, n_machines)) - spread**2 / 2)
    factors[:, : disturbances.n_slow] *= disturbances.slowness
    return factors


def simulate(job, machines, rates, disturbances, seed):
    """Return the seconds of one fit, and the number of machines that were lost.

    The seconds are infinite if machines are lost faster than they are made up for.
    """
    of_work, of_losses = (np.random.default_rng((seed, part)) for part in (0, 1))
    phases = phases_of(job, machines, rates)
    again = repetitions(job, machines, rates, disturbances.is_replayed)
    factors = machine_factors(len(phases), machines.n_machines, disturbances, of_work)
    mean = 3600 * disturbances.lifetime / machines.n_machines
    now, n_lost, next_loss = 0.0, 0, mean * of_losses.standard_exponential()
    for phase, seconds, slowest in zip(phases, again, factors.max(axis=1), strict=True):
        end = now + phase.work * slowest + phase.waiting
        while next_loss < end:
            end = max(end, next_loss + NOTICE + seconds)
            n_lost += 1
            if n_lost > MOST_LOST:
                return np.inf, n_lost
            next_loss += mean * of_losses.standard_exponential()
        now = end
    return now, n_lost


# The plan


def simulate_plan(rates, n_runs):
    """Return what the model predicts for each way and number of shards, and simulated fits."""
    jobs = {name: _planned(way, rates) for name, way in WAYS.items()}
    plan = {"n_runs": n_runs, "ways": [_way(name, job, rates) for name, job in jobs.items()]}
    plan["shards"] = [_shards(number, rates) for number in SHARDS]
    plan["orders"] = [_order(D, rates) for D in ORDERS]
    plan["runs"] = [
        _runs(way, name, jobs[way], rates, n_runs) for way in SIMULATED for name in SCENARIOS
    ]
    return plan


def _planned(way, rates):
    """Return the job of a way, with the best number of shards."""
    return cost_model.best_shards(replace(JOB, **way), MACHINES, rates)


def _way(name, job, rates):
    """Return the hours of the phases of a way, and its bytes and memory."""
    search, solve = (f(job, MACHINES, rates) for f in (cost_model.search, cost_model.solve))
    whole = cost_model.fit(job, MACHINES, rates)
    return asdict(job) | {
        "way": name,
        "search_hours": search.seconds / 3600,
        "step_seconds": cost_model.step(job, MACHINES, rates).seconds,
        "solve_hours": solve.seconds / 3600,
        "fit_hours": whole.seconds / 3600,
        "core_hours": whole.seconds / 3600 * MACHINES.n_machines * MACHINES.n_cores,
        "gigabytes_moved": whole.bytes / 1e9,
        "gigabytes": whole.memory / 1e9,
    }


def _shards(number, rates):
    """Return the parts of a step with this many shards on each machine."""
    job = replace(JOB, **WAYS[SIMULATED[0]], n_shards=number * MACHINES.n_machines)
    cost = cost_model.step(job, MACHINES, rates)
    row = {"shards": number, "n_shards": job.n_shards, "step": cost.seconds, "work": cost.work}
    return row | {"waiting": cost.waiting, "tasks": cost_model.tasks_of_step(job)}


def _order(D, rates):
    """Return the parts of a step with this many features, and twice the machines' share of it."""
    job = cost_model.best_shards(replace(JOB, D=D, rank=min(D, JOB.rank)), MACHINES, rates)
    cost = cost_model.step(job, MACHINES, rates)
    eigh = cost_model.seconds_of(cost_model.work_of_eigh(job), rates)
    row = {"D": D, "work": cost.work, "eigh": eigh, "messages": cost.waiting - eigh}
    few = replace(job, n_anchors=10**6)
    return row | {
        "share": eigh / cost.seconds,
        "few_work": cost_model.step(few, MACHINES, rates).work,
    }


def _runs(way, name, job, rates, n_runs):
    """Return the hours of simulated fits, and what they lost to stragglers and to lost machines."""
    disturbances = SCENARIOS[name]
    calm = replace(disturbances, lifetime=np.inf)
    hours, lost = np.transpose(
        [simulate(job, MACHINES, rates, disturbances, seed) for seed in range(n_runs)]
    )
    without = [simulate(job, MACHINES, rates, calm, seed)[0] for seed in range(n_runs)]
    model = cost_model.fit(job, MACHINES, rates).seconds
    mean = hours.mean()
    return {
        "way": way,
        "scenario": name,
        "hours": np.quantile(hours / 3600, SHARES, method="inverted_cdf"),
        "lost": lost.mean(),
        "stragglers": max(0.0, np.mean(without) - model) / mean,
        "losses": 1 - np.mean(without) / mean,
    }


def plan_page(plan):
    """Return the tables of the page."""
    runs = []
    for row in plan["runs"]:
        middle, late, latest = (row["hours"][percent] for percent in (50, 90, 100))
        runs.append(row | {"middle": middle, "late": late, "latest": latest})
    assumed = {"n_runs": str(plan["n_runs"]), "memory": f"{MEMORY / 1e9:.0f}"}
    tables = {name: plan[name] for name in ("ways", "shards")}
    return tables | {"dimensions": plan["orders"], "runs": runs} | assumed


def draw_runs(plan, path):
    """Draw the hours of the ways, the parts of a step, and the simulated fits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    ways, steps, runs = figure.subplots(1, 3)
    _draw_ways(ways, plan["ways"])
    _draw_orders(steps, plan["orders"])
    _draw_runs(runs, [row for row in plan["runs"] if row["way"] == SIMULATED[0]])
    figure.savefig(path, dpi=110)


def _draw_ways(axes, rows):
    places = np.arange(len(rows))
    for shift, (name, label) in enumerate((("search_hours", "search"), ("solve_hours", "solve"))):
        values = [row[name] for row in rows]
        axes.barh(places + 0.4 * shift - 0.2, values, 0.38, color=COLOURS[shift], label=label)
    labels = ["\n".join(wrap(row["way"], 20)) for row in rows]
    axes.set(yticks=places, yticklabels=labels, xscale="log", xlabel="hours on 64 machines")
    axes.set_title("Search and solve")
    axes.invert_yaxis()
    axes.legend(frameon=False)


def _draw_orders(axes, rows):
    orders = [row["D"] for row in rows]
    lines = {"work": "work of the shards", "few_work": "the same, 1,000,000 anchors"}
    lines |= {"eigh": "eigh in one place", "messages": "messages"}
    for colour, (name, label) in zip(COLOURS, lines.items(), strict=False):
        axes.plot(orders, [row[name] for row in rows], "o-", color=colour, label=label, ms=4)
    axes.set(xscale="log", yscale="log", xlabel="features D", ylabel="seconds of a step")
    axes.set_title("Parts of a step")
    axes.legend(frameon=False, fontsize=8)


def _draw_runs(axes, rows):
    for colour, row in zip(COLOURS, rows, strict=False):
        axes.step(row["hours"], SHARES, where="post", color=colour, label=row["scenario"])
    axes.set(xlabel="hours of a fit", ylabel="share of the fits", ylim=(0, 1.02))
    axes.set_title("Simulated fits, approximate search")
    axes.legend(frameon=False, fontsize=8, loc="lower right")


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555")
