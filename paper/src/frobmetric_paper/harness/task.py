"""Tasks, their results as plain data (cells), and a store of cells in JSON files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np

from frobmetric.runtime.environment import replacing

#: Remark of a cell that has not been computed.
NOT_RUN = "not run yet"


@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything that determines a result: equal tasks have equal answers.

    An experiment adds the fields that are its own, and `place`.
    """

    method: str
    threads: int
    data: str  # checksum of the data
    version: str = field(default_factory=lambda: version("frobmetric"))  # version of frobmetric

    @property
    def place(self):
        """Name of the part of the experiment that the task belongs to: a start of file names."""
        raise NotImplementedError

    @property
    def where(self):
        """Part of the experiment, for people."""
        return self.place

    @property
    def question(self):
        """The task whatever the version and the number of threads."""
        return replace(self, version="", threads=0)

    @property
    def file_name(self):
        digest = blake2b(json.dumps(asdict(self)).encode(), digest_size=5).hexdigest()
        return f"{self.place}-{self.method}-{digest}.json"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Result of one task. An experiment adds the fields that are its own."""

    #: Class of `task`; every experiment sets its own.
    task_type: ClassVar[type[Task]] = Task
    #: Fields that results.json does not repeat, or that are too long for it.
    unsaved: ClassVar[tuple[str, ...]] = ("machine",)

    task: Task
    label: str  # name of the method for people
    outcome: str  # one of "done", "limit", "missing", "failed", "skipped"
    limit: float  # seconds that each fit was given
    remark: str = ""  # reason why there is no answer, or a note on the answer
    seconds: float | None = None  # time of the fit that was measured
    detail: dict = field(default_factory=dict)  # report of the method; the certificate of ours
    machine: dict = field(default_factory=dict)  # machine and versions of the run

    @property
    def is_done(self):
        return self.outcome == "done"

    @property
    def is_complete(self):
        """Return whether more time would change nothing."""
        return self.is_done

    @property
    def is_certified(self):
        """Return whether the method proved its answer."""
        return self.is_done and self.detail.get("status") == "optimal"

    @property
    def summary(self):
        """Main number of the answer, for the line that reports its end."""
        return ""

    def settles(self, task, limit):
        """Return whether running this task again with this limit could change nothing."""
        ended = self.outcome in ("done", "limit") and self.limit >= limit
        return self.task == task and (ended or self.is_complete)

    @classmethod
    def from_dict(cls, values):
        return cls(**values | {"task": cls.task_type(**values["task"])})

    def to_dict(self, leave_out=()):
        return {name: value for name, value in asdict(self).items() if name not in leave_out}


def done(cells):
    """Return the cells with an answer."""
    return [cell for cell in cells if cell.is_done]


def grouped(cells, name):
    """Return lists of cells by the value of a field of their tasks."""
    groups = {}
    for cell in cells:
        groups.setdefault(getattr(cell.task, name), []).append(cell)
    return groups


class Results:
    """Results of an experiment as its page and files need them.

    An experiment adds `draw(folder)` and `blocks(folder)`, the placeholders of its template.
    """

    cells: list  # of Cell
    left_out: dict  # name of a part -> reason
    #: Names of the figures of earlier runs that the page still shows.
    kept_figures: Sequence[str] = ()

    @property
    def own_cells(self):
        """Cells of frobmetric, whose answers have to be certified."""
        return [cell for cell in self.cells if cell.task.method.startswith("frob")]

    @property
    def has_answer(self):
        return bool(done(self.cells))

    def rows(self):
        """Return the rows of table.csv as dictionaries."""
        return []

    def to_dict(self):
        """Return the entries of results.json that the experiment makes."""
        return {"cells": [cell.to_dict(cell.unsaved) for cell in self.cells]}


@dataclass(frozen=True)
class Store:
    """Folder of finished cells in JSON files, from which an interrupted run continues.

    A file holds the cells of all tasks that have its name: one, or the parts of a benchmark.
    """

    folder: Path
    cell_type: type[Cell]  # subclass of Cell that the folder holds

    def read(self, file_name):
        """Return the cells in a file; none if there is no such file."""
        path = self.folder / file_name
        if not path.exists():
            return []
        return [*map(self.cell_type.from_dict, json.loads(path.read_text(encoding="utf-8")))]

    def _find(self, file_name):
        """Return the cells in a file; none if it is damaged, so that they are computed again."""
        try:
            return self.read(file_name)
        except (OSError, ValueError, TypeError, KeyError):
            return []

    def find(self, task, limit=0.0):
        """Return the stored cell that settles a task, by default whatever the limit, or None."""
        cells = self._find(task.file_name)
        return next((cell for cell in cells if cell.settles(task, limit)), None)

    def save(self, cell):
        """Write a cell, unless its task should be tried again next time."""
        if cell.outcome in ("done", "limit"):
            self.folder.mkdir(parents=True, exist_ok=True)
            name, question = cell.task.file_name, cell.task.question
            others = [each for each in self._find(name) if each.task.question != question]
            values = [each.to_dict() for each in (*others, cell)]
            with replacing(self.folder / name) as file:
                file.write((json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())

    def has_some(self, place):
        """Return whether there may be cells of a part of the experiment."""
        return any(self.folder.glob(f"{place}-*.json"))


def checksum(*arrays):
    """Return 16 letters that are the same for equal arrays."""
    digest = blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def outcome_of(error):
    """Return outcome and remark of a method that stopped with a `ProgramError`, by name."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    remark = lines[-1] if error.outcome == "failed" else str(error)
    return {"outcome": error.outcome, "remark": remark}


def as_json(detail):
    """Return the report of a method without its output and without infinity and NaN."""
    kept = {name: value for name, value in detail.items() if name != "stderr"}
    return json.loads(json.dumps(kept), parse_constant=lambda word: None)
