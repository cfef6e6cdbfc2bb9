"""One method learned from one split of the pairs of faces: the answer as plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import numpy as np

from ..harness.record import describe_machine
from ..harness.store import ENDED, CellStore, Settling, ending, task_digest
from .methods import Setup
from .rules import Judged, judge, score


@dataclass(frozen=True)
class Task:
    """What is to be computed: two equal ones have the same answer.

    Attributes
    ----------
    split, variant, method : str
    recipe, parameters : str
        Those of the setup, as JSON.
    neighbors : str
        Numbers of neighbours of marginalised k-NN, as JSON.
    n_parts : int
        Of the training pairs, for thresholds.
    threads : int
    data : str
        A checksum.
    version : str
        Of frobmetric.
    """

    split: str
    variant: str
    method: str
    recipe: str
    parameters: str
    neighbors: str
    n_parts: int
    threads: int
    data: str
    version: str = field(default_factory=lambda: version("frobmetric"))

    @property
    def file_name(self):
        """Other tasks of the same method have other names: none takes the place of another."""
        return f"{self.split}-{self.variant}-{self.method}-{task_digest(self, 5)}.json"


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
        Seconds that each fit was given.
    remark : str
        Why there is no answer, or what is to be known of it.
    rules : dict
        Name of a rule -> the fields of `Judged`.
    n_held_out, n_test : int
        Pairs that thresholds are from, and that are judged.
    same : str
        A digit for each test pair, 1 if it shows one person.
    seconds : float, optional
        Of the fit from all training pairs.
    detail : dict
        What the method tells of it; ours its certificate.
    machine : dict
        Where it ran.
    """

    task: Task
    label: str
    outcome: str
    limit: float
    remark: str = ""
    rules: dict = field(default_factory=dict)
    n_held_out: int = 0
    n_test: int = 0
    same: str = ""
    seconds: float | None = None
    detail: dict = field(default_factory=dict)
    machine: dict = field(default_factory=dict)

    def judged(self, rule):
        """How a rule decides."""
        return Judged(**self.rules[rule])

    def both(self, rule):
        """The share that a rule decides right of held-out training pairs and test pairs together.

        It is what choices are made by on View 1: of the test pairs alone there are too few.
        """
        found = self.judged(rule)
        right = self.n_held_out * found.held_out + self.n_test * found.accuracy
        return right / (self.n_held_out + self.n_test)


class Store(CellStore):
    """A folder of finished cells, one JSON file each."""

    cell_type, task_type = Cell, Task


def compute(method, setup, task, images, split, limit):
    """The cell of a task, whatever comes of it.

    The method learns from all training pairs, by which test pairs are scored; and once more for
    each part of them, from the others, by which that part is scored: thresholds are from there.

    Parameters
    ----------
    method : Method
    setup : Setup
    task : Task
    images : Images
    split : Split
    limit : float
        Seconds for each fit.

    Returns
    -------
    Cell
    """
    known = {"task": task, "label": method.label, "limit": limit, "machine": describe_machine()}
    neighbors = json.loads(task.neighbors)
    try:
        W, fitted = method.map(images, split, setup, limit, task.threads)
        test = score(W, split, split.test, neighbors)
        held_out, same = _held_out(method, setup, task, images, split, limit)
    except ENDED as error:
        outcome, remark = ending(error)
        return Cell(outcome=outcome, remark=remark, **known)
    rules = judge(test, split.test.same, held_out, same)
    return Cell(
        outcome="done",
        remark=fitted.detail.get("remark", ""),
        rules={name: asdict(found) for name, found in rules.items()},
        n_held_out=len(same),
        n_test=len(split.test.same),
        same="".join("01"[int(each)] for each in split.test.same),
        seconds=float(fitted.seconds),
        detail=_plain(fitted.detail),
        **known,
    )


def _held_out(method, setup, task, images, split, limit):
    """Scores of all training pairs, by what is learned from other people, by rule; their kinds."""
    share = 1 - 1 / task.n_parts
    fewer = setup.changed({"n_triplets": max(1, round(share * setup.recipe.n_triplets))})
    found, same = {}, []
    for part in split.parts(task.n_parts):
        W, _ = method.map(images, part, fewer, limit, task.threads)
        for name, scores in score(W, part, part.test, json.loads(task.neighbors)).items():
            found.setdefault(name, []).append(scores)
        same.append(part.test.same)
    return {name: np.concatenate(each) for name, each in found.items()}, np.concatenate(same)


def _plain(detail):
    """What of a detail is kept, with None for infinity and NaN, which JSON does not have."""
    kept = {name: value for name, value in detail.items() if name != "stderr"}
    return json.loads(json.dumps(kept), parse_constant=lambda word: None)


def task_of(method, setup, split, neighbors, n_parts, threads, data):
    """What a method has to do with a setup in a split."""
    return Task(
        split.name,
        split.variant,
        method.name,
        setup.recipe.to_text(),
        json.dumps(dict(setup.parameters), sort_keys=True),
        json.dumps(list(neighbors)),
        n_parts,
        threads,
        data,
    )


def setup_of(cell):
    """What a method was run with."""
    return Setup.from_texts(cell.task.recipe, cell.task.parameters)
