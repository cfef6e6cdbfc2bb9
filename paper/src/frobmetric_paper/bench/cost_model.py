"""Cost model of a fit in shards: seconds, bytes and memory of its phases.

A fit reads the rows, searches the neighbours of each shard in all shards, brings the rows of
neighbours to the shards that need them, and takes solver steps. Each phase is a function of a
`Job`, of the `Machines` it runs on, and of measured `Rates`. Seconds of work are a sum of products
(size of the work) x (seconds of one unit on one core); `work_of_*` return these sizes by the name
of the rate, so that the rates can be fitted to measured times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, exp, log2
from typing import NamedTuple

#: Bytes of a number.
NUMBER = 8
#: Pairs of vectors in the memory of the quasi-Newton method, and other vectors that a step keeps.
PAIRS, OTHERS = 10, 8
#: Bytes of a candidate: its query, its number and its distance.
CANDIDATE = 24
#: Messages of a step: the adjoint comes back; the factor goes out, and products come back.
MESSAGES = 2
#: Messages of the reading and of a search, beside the search itself: sums and counts.
READ_MESSAGES, SEARCH_MESSAGES = 8, 4
#: Partial sums that are added by the client and not by the workers.
FEW = 4


@dataclass(frozen=True)
class Job:
    """Size of a fit with one pass."""

    n: int
    D: int
    n_shards: int = 1
    n_near: int = 3
    n_far: int = 3
    n_classes: int = 10
    #: Mean rank of the metrics of the steps, and number of steps: properties of the data.
    rank: float = 64.0
    n_steps: int = 50
    #: Rows that have triplets of their own; all if None.
    n_anchors: int | None = None
    #: Share of the rows that each anchor is compared with; below 1 the search is approximate.
    searched: float = 1.0
    #: Rows that a shard has while it solves, if counted; a bound is computed if None.
    n_held: float | None = None

    @property
    def anchors(self) -> float:
        """Anchors of a shard."""
        return (self.n if self.n_anchors is None else self.n_anchors) / self.n_shards

    @property
    def pairs(self) -> float:
        """Pairs of an anchor and a neighbour, of a shard."""
        return self.anchors * (self.n_near + self.n_far)

    @property
    def triplets(self) -> float:
        """Triplets of a shard."""
        return self.anchors * self.n_near * self.n_far

    @property
    def held(self) -> float:
        """Rows that a shard has while it solves: anchors and their neighbours, each once.

        The bound is their number if every row is a neighbour with equal chance; in data of many
        features some rows are neighbours of many, and fewer rows are held.
        """
        if self.n_held is not None:
            return self.n_held
        others = self.n - self.anchors
        return self.anchors + others * (1 - exp(-self.pairs / self.n))

    @property
    def halo(self) -> float:
        """Rows of other shards that a shard needs."""
        others = self.n - self.anchors
        share = (self.n - self.n / self.n_shards) / others if others else 0.0
        return share * (self.held - self.anchors)

    @property
    def vectors(self) -> float:
        """Mean number of vectors in the quasi-Newton products of a step."""
        filling = min(self.n_steps, PAIRS)
        return 1 + 2 * (PAIRS - filling * (PAIRS - (filling - 1) / 2) / max(1, self.n_steps))


@dataclass(frozen=True)
class Rates:
    """Seconds of one unit of work on one core; those of a cluster are seconds of the whole."""

    #: A number of the data in one pass over it.
    read: float = 0.0
    #: Search: a multiplication, a pair of rows, and per row and shard that is searched: once, and
    #: for each feature; a pair of shards: for each class, and for each multiplication of D^3.
    search_product: float = 0.0
    search_pair: float = 0.0
    search_row: float = 0.0
    search_feature: float = 0.0
    search_class: float = 0.0
    search_frame: float = 0.0
    #: Number of a row that is copied to the shard that needs it, and of a row that is only looked
    #: at: in one process the rows of all shards are computed again.
    exchange: float = 0.0
    exchange_pass: float = 0.0
    #: Margins: a multiplication of rows and factor, a number of a pair of mapped rows, a pair.
    forward_product: float = 0.0
    forward_number: float = 0.0
    forward_pair: float = 0.0
    #: Adjoint: a multiplication of D x D sums, a number of a pair of rows, a pair.
    adjoint_product: float = 0.0
    adjoint_number: float = 0.0
    adjoint_pair: float = 0.0
    #: Eigen-decomposition: a unit of D^3, of D^2, and a call.
    eigh: float = 0.0
    eigh_square: float = 0.0
    eigh_call: float = 0.0
    #: Other work on D x D matrices, in one place: a unit of D^3.
    matrix: float = 0.0
    #: Vectors: a triplet, a triplet of each remembered vector, a task in this process.
    vector: float = 0.0
    vector_memory: float = 0.0
    local_task: float = 0.0
    #: Byte that is written to a temporary file and read again.
    file_byte: float = 0.0
    #: Dask: a message to all shards and back, a task, and the factor by which the same work takes
    #: longer in a worker, which returns memory to the system again and again.
    message: float = 0.0
    task: float = 0.0
    worker: float = 1.0


@dataclass(frozen=True)
class Machines:
    """Machines of a fit: one process, one machine out of core, or a cluster."""

    n_machines: int = 1
    n_cores: int = 1
    #: Bytes a second into a machine.
    bandwidth: float = 1.25e9
    #: Bytes a second that a machine reads from storage; infinite if the data are in memory.
    storage: float = float("inf")
    is_cluster: bool = False
    is_out_of_core: bool = False


class Cost(NamedTuple):
    """Seconds that machines work and that they wait, bytes into one machine, memory of one.

    Machines wait for the network, for tasks to be sent, and for the eigen-decomposition.
    """

    work: float
    waiting: float = 0.0
    bytes: float = 0.0
    memory: float = 0.0

    @property
    def seconds(self):
        """Seconds of the phase."""
        return self.work + self.waiting

    def then(self, other):
        """Return the cost of one phase after the other."""
        total = (a + b for a, b in zip(self[:3], other[:3], strict=True))
        return Cost(*total, max(self.memory, other.memory))

    def times(self, number):
        """Return the cost of a phase that is repeated."""
        return Cost(*(number * each for each in self[:3]), self.memory)


# Sizes of the work of one shard, by the names of the rates


def work_of_reading(job):
    """Return the work to read the rows of a shard and to compute statistics."""
    return {"read": job.n / job.n_shards * job.D}


def work_of_search(job):
    """Return the work to search the neighbours of the anchors of a shard in all shards."""
    queries, S = job.anchors, max(1.0, job.searched * job.n_shards)
    n = job.searched * job.n
    return {
        "search_product": queries * n * (job.D + 4),
        "search_pair": queries * n,
        "search_row": queries * S,
        "search_feature": queries * S * job.D,
        "search_class": S * job.n_classes,
        "search_frame": S * job.D**3,
    }


def work_of_exchange(job):
    """Return the work to collect the rows that a shard needs."""
    return {"exchange": job.held * job.D, "exchange_pass": job.n / job.n_shards * job.D}


def work_of_forward(job):
    """Return the work of the margins of the triplets of a shard."""
    numbers = job.pairs * job.rank
    product = job.held * job.D * job.rank
    return {"forward_product": product, "forward_number": numbers, "forward_pair": job.pairs}


def work_of_adjoint(job):
    """Return the work of the sum of u_r A_r over the triplets of a shard."""
    product, numbers = job.held * job.D**2, job.pairs * job.D
    return {"adjoint_product": product, "adjoint_number": numbers, "adjoint_pair": job.pairs}


def work_of_vectors(job):
    """Return the work of losses, inner products and directions of a shard."""
    memory = job.triplets * job.vectors
    return {"vector": job.triplets, "vector_memory": memory, "local_task": MESSAGES}


def work_of_eigh(job):
    """Return the work of the eigen-decomposition, which one process does for all shards."""
    return {"eigh": job.D**3, "eigh_square": job.D**2, "eigh_call": 1}


def work_of_matrices(job):
    """Return the work on D x D matrices beside the eigen-decomposition, of one process too."""
    return {"matrix": job.D**3}


def seconds_of(work, rates):
    """Return the seconds of some work on one core."""
    return sum(size * getattr(rates, name) for name, size in work.items())


# Phases


def reading(job, machines, rates):
    """Return the cost to read all rows and to compute their statistics."""
    size = NUMBER * job.n * job.D / machines.n_machines
    work = _in_parallel(seconds_of(work_of_reading(job), rates), job, machines, rates)
    waiting = READ_MESSAGES * rates.message if machines.is_cluster else 0.0
    return Cost(work + size / machines.storage, waiting, memory=size)


def search(job, machines, rates):
    """Return the cost of one search for the neighbours of all anchors, compared in full.

    Rows near a plane of few dimensions are found by sketches, for less.
    """
    work = _in_parallel(seconds_of(work_of_search(job), rates), job, machines, rates)
    size, S = NUMBER * job.n * job.D, job.n_shards
    n_searched = max(1.0, job.searched * S)
    found = CANDIDATE * job.pairs * n_searched
    if machines.is_out_of_core:
        return Cost(work, memory=2 * size / S + found)
    moved = max(0.0, size * (job.searched - 1 / machines.n_machines))
    # a task for each pair of shards, and one of each shard that joins the results
    waiting = _overhead(S * (n_searched + 1), moved, machines, rates)
    waiting += SEARCH_MESSAGES * rates.message if machines.is_cluster else 0.0
    memory = (2 * size + S * found) / machines.n_machines
    return Cost(work, waiting, moved, memory)


def exchange(job, machines, rates):
    """Return the cost to bring the rows of neighbours to the shards that need them."""
    rates = replace(rates, exchange_pass=0.0) if machines.is_cluster else rates
    work = _in_parallel(seconds_of(work_of_exchange(job), rates), job, machines, rates)
    size = NUMBER * job.held * job.D
    if machines.is_out_of_core:
        return Cost(work + job.n_shards * size * rates.file_byte, memory=2 * size)
    of_machine = job.n_shards / machines.n_machines
    moved = of_machine * NUMBER * job.halo * job.D if machines.n_machines > 1 else 0.0
    waiting = _overhead(job.n_shards * (job.n_shards + 1), moved, machines, rates)
    return Cost(work, waiting, moved, of_machine * size)


def step(job, machines, rates):
    """Return the cost of one step of the solver."""
    products = seconds_of(work_of_forward(job), rates) + seconds_of(work_of_adjoint(job), rates)
    vectors = seconds_of(work_of_vectors(job), rates)
    work = _in_parallel(products, job, machines, rates)
    work += _in_turn(vectors, job, machines, rates)
    waiting = seconds_of(work_of_eigh(job) | work_of_matrices(job), rates)
    kept = NUMBER * job.triplets * (job.vectors + OTHERS)
    memory = NUMBER * job.held * job.D + 2 * kept
    if machines.is_out_of_core:
        return Cost(work + job.n_shards * kept * rates.file_byte, waiting, memory=memory)
    is_many = machines.n_machines > 1
    moved = NUMBER * job.D * (job.rank + job.D) * log2(2 * machines.n_machines) * is_many
    waiting += _overhead(tasks_of_step(job), moved, machines, rates)
    waiting += MESSAGES * rates.message if machines.is_cluster else 0.0
    return Cost(work, waiting, moved, job.n_shards / machines.n_machines * memory)


def solve(job, machines, rates):
    """Return the cost of the exchange of rows and of all steps."""
    steps = step(job, machines, rates).times(job.n_steps)
    return exchange(job, machines, rates).then(steps)


def fit(job, machines, rates):
    """Return the cost of a fit with one pass."""
    phases = reading(job, machines, rates).then(search(job, machines, rates))
    return phases.then(solve(job, machines, rates))


def tasks_of_step(job):
    """Return the tasks of a step: a shard's work, its reduced values, and their tree of sums."""
    return MESSAGES * (2 * job.n_shards + max(0, job.n_shards - FEW))


def best_shards(job, machines, rates):
    """Return the job with the number of shards a machine, a power of two, of the fastest step."""
    counts = [machines.n_machines * 2**i for i in range(ceil(log2(machines.n_cores)) + 1)]
    jobs = [replace(job, n_shards=count) for count in counts]
    return min(jobs, key=lambda each: step(each, machines, rates).seconds)


def _in_parallel(seconds, job, machines, rates):
    """Return the time of work of which each shard has this much, and which all cores share."""
    busiest = ceil(job.n_shards / machines.n_machines)
    return busiest * seconds / machines.n_cores * _slowness(machines, rates)


def _in_turn(seconds, job, machines, rates):
    """Return the time of work of which each shard has this much, on one core."""
    turns = ceil(job.n_shards / (machines.n_machines * machines.n_cores))
    return turns * seconds * _slowness(machines, rates)


def _slowness(machines, rates):
    return rates.worker if machines.is_cluster else 1.0


def _overhead(n_tasks, moved, machines, rates):
    """Return the seconds of Dask for some tasks, and of the network for some bytes."""
    return n_tasks * rates.task + moved / machines.bandwidth if machines.is_cluster else 0.0
