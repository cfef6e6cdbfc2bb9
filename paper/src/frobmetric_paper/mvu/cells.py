"""One method on one set of points: the answer as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from frobmetric.manifold.quality import neighborhood_quality

from ..harness.record import describe_machine
from ..harness.store import ENDED, CellStore, Settling, ending
from .spread import local_spread

#: The measures of a table, as `local_spread` names them.
SPREADS = ("alstd", "aled", "alcd", "gscd")


@dataclass(frozen=True)
class Task:
    """What is to be computed: two equal ones have the same answer.

    Attributes
    ----------
    experiment, method : str
    n : int
        Number of points.
    n_neighbors, threads : int
    data : str
        A checksum of the points.
    version : str
        Of frobmetric.
    """

    experiment: str
    method: str
    n: int
    n_neighbors: int
    threads: int
    data: str
    version: str = field(default_factory=lambda: version("frobmetric"))

    @property
    def file_name(self):
        return f"{self.experiment}-{self.n}-{self.method}.json"


@dataclass(frozen=True)
class Cell(Settling):
    """How one method did.

    Attributes
    ----------
    task : Task
    label : str
        The method, for people.
    outcome : {"done", "limit", "missing", "failed", "skipped"}
    limit : float
        Seconds that it was given.
    remark : str
        Why there is no answer, or what is to be known of it.
    seconds, objective, certificate, spectrum
        Those of `Embedded`; None without an answer.
    embedding : list of lists, optional
        One row a point.
    measures : dict
        What `measure` finds.
    machine : dict
        Where it ran.
    """

    task: Task
    label: str
    outcome: str
    limit: float
    remark: str = ""
    seconds: float | None = None
    objective: float | None = None
    certificate: dict | None = None
    spectrum: list | None = None
    embedding: list | None = None
    measures: dict = field(default_factory=dict)
    machine: dict = field(default_factory=dict)

    @property
    def points(self):
        """The embedding as an array; None without one."""
        return None if self.embedding is None else np.array(self.embedding)


class Store(CellStore):
    """A folder of finished cells, one JSON file each."""

    cell_type, task_type = Cell, Task


def compute(embedder, task, X, limit):
    """The cell of a task, whatever comes of it.

    Parameters
    ----------
    embedder : EmbeddingBaseline
    task : Task
    X : ndarray of shape (n, n_features)
    limit : float
        Seconds.

    Returns
    -------
    Cell
    """
    known = {"task": task, "label": embedder.label, "limit": limit, "machine": describe_machine()}
    try:
        found = embedder.embed(X, task.n_neighbors, 2, limit, task.threads)
    except ENDED as error:
        outcome, remark = ending(error)
        return Cell(outcome=outcome, remark=remark, **known)
    return Cell(
        outcome="done",
        embedding=found.embedding.tolist(),
        measures=measure(X, found.embedding, task.n_neighbors),
        **{
            name: getattr(found, name)
            for name in ("seconds", "objective", "certificate", "spectrum", "remark")
        },
        **known,
    )


def measure(X, Y, n_neighbors):
    """How good an embedding is.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    Y : ndarray of shape (n, n_components)
    n_neighbors : int

    Returns
    -------
    dict
        "alstd", "aled", "alcd" and "gscd" of Y scaled to a mean squared distance of 1 from its
        mean; "area" under R_NX; "mean_b_nx", the mean of B_NX over all sizes of neighbourhoods.
    """
    spread = local_spread(at_unit_scale(Y), n_neighbors)
    quality = neighborhood_quality(X, Y)
    return {name: float(getattr(spread, name)) for name in SPREADS} | {
        "area": quality.area,
        "mean_b_nx": float(quality.b_nx.mean()),
    }


def at_unit_scale(Y):
    """The embedding at a mean squared distance of 1 from its mean, which is taken off."""
    Y = Y - Y.mean(axis=0)
    size = np.sqrt(np.square(Y).sum(axis=1).mean())
    return Y / size if size else Y
