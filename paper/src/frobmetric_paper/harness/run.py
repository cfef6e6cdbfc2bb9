"""Running tasks: what is stored is found, the rest computed; limits, progress and Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from .machine import describe_machine
from .task import NOT_RUN, Results, Store, outcome_of
from .worker import ProgramError


class ProgressListener:
    """Progress listener that ignores every event."""

    def begin(self, task, label, n_done, n_cells):
        """React to the start of a task, after `n_done` of `n_cells`."""

    def end(self, cell):
        """React to the end of a task."""


@dataclass
class Runner:
    """Run tasks, each at most once; Ctrl-C ends the work and keeps what is finished."""

    store: Store
    limit: float  # seconds for each fit
    threads: int = 1  # threads of each method
    listener: ProgressListener = field(default_factory=ProgressListener)
    n_cells: int = 0  # number of cells that are wanted, for the listener
    interrupted: bool = False  # whether Ctrl-C was pressed: nothing is computed from then on
    previous: Results | None = None  # results of the page that is written again
    resumes: bool = False  # whether results of that page count as stored
    _met: set = field(default_factory=set, repr=False)

    def cell(self, task, label, measure, *, is_wanted=True, reason=""):
        """Return the cell of a task: the stored one, or a new one if that is wanted.

        `label` is the name of the method for people; `measure` returns the fields of the cell that
        are its own, or raises a ProgramError; `reason` says why not to compute the task, if so.
        A cell that is not wanted stays as it is, whatever its limit and version were.
        """
        cell = self._find(task)
        if cell is None and is_wanted and not reason and not self.interrupted:
            try:
                cell = self._compute(task, label, measure)
            except KeyboardInterrupt:
                self.interrupted = True
        if is_wanted:
            self._met.add(task)
        elif cell is None:
            cell = self.store.find(task) or self._page.get(task.question)
        return cell or self.skipped(task, label, reason or NOT_RUN)

    def _find(self, task):
        """Return the cell that settles a task, or None."""
        cell = self.store.find(task, self.limit)
        known = self._page.get(task.question) if self.resumes else None
        return known if cell is None and known and known.settles(task, self.limit) else cell

    @cached_property
    def _page(self):
        """Cells of the previous page by the question of their task."""
        cells = self.previous.cells if self.previous else []
        return {cell.task.question: cell for cell in cells}

    def read(self, place, load):
        """Return what `load` reads for a part of the experiment, and why not if it cannot.

        After Ctrl-C only parts that have stored cells are read.
        """
        if self.interrupted and not self.store.has_some(place):
            return None, NOT_RUN
        try:
            return load(), ""
        except (OSError, ValueError) as error:
            return None, str(error)
        except KeyboardInterrupt:
            self.interrupted = True
            return None, "interrupted while its data were read"

    def skipped(self, task, label, remark, outcome="skipped"):
        """Return the cell of a task that is not computed."""
        known = {"task": task, "label": label, "limit": self.limit}
        return self.store.cell_type(**known, outcome=outcome, remark=remark)

    def _compute(self, task, label, measure):
        self.listener.begin(task, label, len(self._met), self.n_cells)
        fields = {"outcome": "done", "machine": describe_machine()}
        try:
            fields |= measure()
        except ProgramError as error:
            fields |= outcome_of(error)
        cell = self.store.cell_type(task=task, label=label, limit=self.limit, **fields)
        self.store.save(cell)
        self.listener.end(cell)
        return cell


def named(names, value):
    """Return a value of a search as {name: value}; `names` are several if the value is a tuple."""
    names = names.split()
    return dict(zip(names, (value,) if len(names) == 1 else value, strict=True))


def first_parameters(search):
    """Return the parameters that a search begins with."""
    pairs = [named(names, values[0]) for names, values in search.items()]
    return {name: value for pair in pairs for name, value in pair.items()}


def first_values(search):
    """Return a search with nothing to choose, for a quick check that everything works."""
    return {names: values[:1] for names, values in search.items()}


def n_tries(search):
    """Return the largest number of settings that `coordinate_search` tries."""
    return 1 + sum(len(values) - 1 for values in search.values())


def coordinate_search(search, evaluate):
    """Try the values of one parameter after the other, the others being the best so far.

    `search` maps a name, or several with spaces between them, to values, and begins with the first
    ones; `evaluate` maps a dict of parameters to (loss or None without an answer, whether the
    search goes on). Return the parameters with the smallest loss, the earliest ones in a tie; None
    without an answer.
    """
    first, best, least, tried = first_parameters(search), None, inf, []
    steps = [[named(names, value) for value in values] for names, values in search.items()]
    for changes in ([{}], *steps):
        start = first if best is None else best
        for parameters in (start | change for change in changes):
            if parameters in tried:
                continue
            tried.append(parameters)
            loss, goes_on = evaluate(parameters)
            if loss is not None and loss < least:
                best, least = parameters, loss
            if not goes_on:
                return best
    return best
