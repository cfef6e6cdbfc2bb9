"""A table of methods on data sets: what a column of it is, and the work that fills it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..data.labelled import Split
from .cells import Cell, Store, compute, task_of
from .choice import most_fits
from .runs import Run


@dataclass(frozen=True, eq=False)
class Parts:
    """One run of a data set.

    Attributes
    ----------
    reduced : Split
        Training, validation and test part, after the paper's PCA.
    full : Split, optional
        The same rows before it; None where there is no PCA.
    """

    reduced: Split
    full: Split | None = None


@dataclass(frozen=True)
class Column:
    """A data set.

    Attributes
    ----------
    name : str
        The word of ``--only``.
    label : str
        For people.
    note : str
        How the data differ from the paper's, and how they are split.
    n_runs : int
    load : callable
        Number of the run, from 0 -> Parts. Raises DatasetNotFoundError where a file is absent.
    refits : bool
        Learn once more from the training and the validation part together, with the parameters
        chosen on the validation part.
    """

    name: str
    label: str
    note: str
    n_runs: int
    load: Callable[[int], Parts]
    refits: bool = False


@dataclass(frozen=True)
class Result:
    """What came of a column: cells in the order of methods, then runs; or why nothing."""

    column: Column
    cells: list[Cell] = field(default_factory=list)
    sizes: dict = field(default_factory=dict)
    reason: str = ""

    def of(self, method):
        """The cells of a method, by its name, in the order of runs."""
        return [cell for cell in self.cells if cell.task.method == method]


@dataclass(frozen=True)
class Forecast:
    """What is left to do.

    Attributes
    ----------
    done, all : int
        Numbers of cells.
    here, whole : float
        Seconds for what is left of the method on this data set, and of everything.
    is_known : bool
        Whether `here` is guessed from finished runs; else it is the most that limits allow.
        `whole` is always the most, as far as runs are not finished.
    """

    done: int
    all: int
    here: float
    whole: float
    is_known: bool


class Watch:
    """Is told what happens; this one does nothing."""

    def begin(self, task, label, forecast):
        """A method begins a run."""

    def end(self, cell):
        """It has ended."""


def everything(column, method):
    """That all is to be done."""
    return True


def conduct(columns, methods, store, limit, budget, threads, watch=None, chosen=everything):
    """Do what of a table is not done yet: column by column, method by method, run by run.

    Ctrl-C ends the work; what is finished is then given back as usual, the rest as "not run yet".

    Parameters
    ----------
    columns : list of Column
        In the order of work.
    methods : list of MetricBaseline
        In the order of work.
    store : Store
        Where finished cells are kept, at once.
    limit : float
        Seconds for each fit. A method whose first run on a data set gives no answer within it is
        not tried in further runs.
    budget : float
        Seconds for all fits of a method on a data set: when they took more, no further run begins;
        nor does a further fit of a search that took more by itself.
    threads : int
        Of each method.
    watch : Watch, optional
    chosen : callable
        (name of a column, name of a method) -> whether it is to be done; of the others what is
        finished is found only.

    Returns
    -------
    results : list of Result
        With a reason and nothing else where the data cannot be had. A column of which nothing was
        chosen and nothing is finished is left out.
    interrupted : bool
    """
    work = _Work(columns, methods, store, limit, budget, threads, watch or Watch(), chosen)
    results = [work.result(column) for column in columns if work.is_needed(column)]
    return results, work.interrupted


@dataclass
class _Work:
    """What `conduct` was given, and how far it is."""

    columns: list
    methods: list
    store: Store
    limit: float
    budget: float
    threads: int
    watch: Watch
    chosen: Callable
    interrupted: bool = False
    done: int = 0

    def is_needed(self, column):
        return self._wanted(column) or self.store.has_some(column.name)

    def _wanted(self, column):
        return [method for method in self.methods if self.chosen(column.name, method.name)]

    def result(self, column):
        if self.interrupted and not self.store.has_some(column.name):
            return Result(column, reason="not run yet")
        try:
            runs = [Run.of(column.load(number)) for number in range(column.n_runs)]
        except (OSError, ValueError) as error:
            return Result(column, reason=str(error))
        except KeyboardInterrupt:
            self.interrupted = True
            return Result(column, reason="interrupted while it was read")
        cells = []
        for method in self.methods:
            row = _Row(self, column, method, self.chosen(column.name, method.name))
            cells += [row.cell(number, run) for number, run in enumerate(runs)]
        return Result(column, cells, runs[0].sizes)

    def forecast(self, row, spent):
        here, is_known = row.left(spent)
        whole = here + sum(
            _Row(self, column, method, True).left([])[0] for column, method in self._later(row)
        )
        n_cells = sum(column.n_runs * len(self._wanted(column)) for column in self.columns)
        return Forecast(self.done, n_cells, here, whole, is_known)

    def _later(self, row):
        """The pairs that come after that of this row."""
        pairs = [(column, method) for column in self.columns for method in self._wanted(column)]
        return pairs[pairs.index((row.column, row.method)) + 1 :]


@dataclass
class _Row:
    """A method on a data set: run after run, as long as there is time."""

    work: _Work
    column: Column
    method: object
    is_chosen: bool
    cells: list = field(default_factory=list)

    def cell(self, number, run):
        work = self.work
        task = task_of(self.method, self.column, number, run, work.threads)
        cell = work.store.find(task, work.limit) or self._do(task, run)
        self.cells.append(cell)
        work.done += self.is_chosen
        return cell

    def _do(self, task, run):
        why = self._why_not()
        if why:
            label = self.method.label or self.method.name
            return Cell(task, label, "skipped", self.work.limit, why)
        try:
            self.work.watch.begin(
                task, self.method.label or self.method.name, self.work.forecast(self, self.cells)
            )
            cell = compute(self.method, task, run, self.work.limit, self.work.budget)
            self.work.store.keep(cell)
        except KeyboardInterrupt:
            self.work.interrupted = True
            return self._do(task, run)
        self.work.watch.end(cell)
        return cell

    def _why_not(self):
        """Why a further run is not begun; empty if it is."""
        work = self.work
        if work.interrupted or not self.is_chosen:
            return "not run yet"
        first = self.cells[0] if self.cells else None
        if first and first.outcome in ("limit", "missing"):
            return f"{first.remark} in the first run"
        spent = sum(cell.total_seconds for cell in self.cells)
        if spent > work.budget:
            n_done = sum(cell.is_done for cell in self.cells)
            return f"the budget of {work.budget:g} s was used up by {n_done} runs"
        return ""

    def left(self, cells):
        """Seconds for the runs that are left, and whether finished ones tell."""
        n_left = self.column.n_runs - len(cells)
        n_fits = most_fits(self.method) + self.column.refits
        spent = sum(cell.total_seconds for cell in cells)
        times = [cell.total_seconds for cell in cells if cell.is_done]
        one = sum(times) / len(times) if times else n_fits * self.work.limit
        # the run in which the budget is used up is brought to its end
        return min(n_left * one, max(0.0, self.work.budget - spent) + one), bool(times)
