"""Experiments that fill a table of methods × data sets × runs: `uci` and `action`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from frobmetric.checks.parameters import InvalidParameterError

from ..baselines import METRIC, TABLE
from ..harness.formatting import plural
from ..harness.page import read_rows
from ..harness.run import first_values
from ..harness.task import grouped
from .measure import Cell, Run, make_task, measure_run
from .report import FIGURES, TableResults


@dataclass(frozen=True)
class Column:
    """Data set of a table."""

    name: str  # name for ``--only``
    label: str  # name for people
    n_runs: int
    load: Callable  # number of the run, from 0 -> (Split after PCA, Split before it or None)
    # whether methods learn once more from the training and the validation part together, with
    # the parameters chosen on the validation part
    refits: bool = False


@dataclass(frozen=True)
class ColumnResult:
    """Result of a column: cells in the order of methods, then runs; or a reason without any."""

    column: Column
    cells: list[Cell] = field(default_factory=list)
    sizes: dict = field(default_factory=dict)
    reason: str = ""

    def of(self, method):
        """Return the cells of a method, by its name, in the order of runs."""
        return [cell for cell in self.cells if cell.task.method == method]


@dataclass(frozen=True)
class Published:
    """Entry of a table of the paper."""

    error: float | None = None  # in percent
    std: float | None = None  # in percent; None for a single run
    seconds: float | None = None
    is_bound: bool = False  # whether it took less than these seconds


def published(folder):
    """Return the paper's table as row -> column -> Published.

    The folder has it in two files, both with a row for each method: errors.csv with a mean in
    percent, and the standard deviation in brackets, and seconds.csv.
    """
    seconds = {row["method"]: row for row in read_rows(folder / "seconds.csv")}
    table = {}
    for errors in read_rows(folder / "errors.csv"):
        row = errors.pop("method")
        table[row] = {}
        for column, text in errors.items():
            time = seconds.get(row, {}).get(column, "")
            numbers = [float(number) for number in re.findall(r"[\d.]+", text)]
            if text or time:
                limit = float(time.lstrip("< ")) if time else None
                table[row][column] = Published(
                    *(*numbers, None, None)[:2], limit, time.startswith("<")
                )
    return table


@dataclass(frozen=True)
class TableExperiment:
    """Table of methods and data sets."""

    cell_type: ClassVar = Cell
    figures: ClassVar = tuple(FIGURES)
    merges: ClassVar = True
    results_type: ClassVar = TableResults

    name: str  # name of the command
    template: Path  # its page.md
    columns: tuple[Column, ...]  # in the order of the page
    work: tuple[str, ...]  # names of the columns in the order of work, the cheap ones first
    # row -> column -> Published. A row is a method's `paper_name`, or `name` where that is empty
    paper: Mapping[str, Mapping[str, Published]] = field(default_factory=dict)
    # known causes of differences from the paper: (method, column), method or column -> text
    explanations: Mapping = field(default_factory=dict)
    quick: bool = False  # whether this is the small version

    @property
    def parts(self):
        """Names for ``--only``."""
        return [column.name for column in self.columns]

    @property
    def methods(self):
        """Methods of the table, in its order; the small version has nothing to choose."""
        methods = [METRIC[name] for name in TABLE]
        if not self.quick:
            return methods
        return [replace(method, search=first_values(method.search)) for method in methods]

    def published(self, method, column):
        """Return the paper's entry for a method on a data set, or None."""
        return self.paper.get(method.paper_name or method.name, {}).get(column)

    def explain(self, method, column):
        """Return the known causes of a difference, the most specific first."""
        keys = ((method, column), method, column)
        return " ".join(self.explanations[key] for key in keys if key in self.explanations)

    def conduct(self, runner, *, only=(), methods=(), budget):
        """Run what is chosen: column by column, method by method, run by run.

        `only` has names of columns and `methods` names of methods, all if empty; of others only
        what is stored is shown. A method whose first run gives no answer in time is not tried in
        further runs. `budget` is in seconds for all fits of a method on a data set: no further run
        begins after them, nor a further fit of a search that took more by itself. A column that is
        neither chosen nor stored is that of the previous page, if there is one.
        """
        chosen = [column for column in self.columns if column.name in (only or self.parts)]
        wanted = [name for name in TABLE if name in (methods or TABLE)]
        runner.n_cells = len(wanted) * sum(column.n_runs for column in chosen)
        results = {each.column.name: each for each in _columns(runner.previous)}
        for column in sorted(self.columns, key=lambda column: self.work.index(column.name)):
            names = wanted if column in chosen else []
            if names or runner.store.has_some(column.name):
                filled = self._fill(runner, column, names, budget)
                known = column.name in results and filled.reason
                results |= {} if known else {column.name: filled}
        shown = self._show(results, {column.name for column in chosen}, set(wanted))
        return replace(shown, stored_differences=_differences(runner.previous))

    def _fill(self, runner, column, wanted, budget):
        def load():
            return [Run.from_splits(*column.load(number)) for number in range(column.n_runs)]

        runs, reason = runner.read(column.name, load)
        if reason:
            return ColumnResult(column, reason=reason)
        cells = []
        for method in self.methods:
            cells += _row(runner, column, method, runs, method.name in wanted, budget)
        return ColumnResult(column, cells, runs[0].sizes)

    def _show(self, results, chosen, wanted):
        """Return what the page shows: what was chosen, and what is stored from before."""
        tasks = [cell.task for each in results.values() for cell in each.cells if cell.is_done]
        columns = chosen | {task.column for task in tasks}
        methods = wanted | {task.method for task in tasks}
        shown = [results[name] for name in self.parts if name in results and name in columns]
        rows = [each for each in self.methods if each.name in methods]
        return self.results_type(self, shown, rows)

    def load(self, data):
        """Return the results that results.json holds."""
        self = replace(self, quick=data["is_small"])
        columns = {column.name: column for column in self.columns}
        cells = grouped(map(Cell.from_dict, data["cells"]), "column")
        results = []
        for each in data["sets"]:
            column = replace(columns[each["name"]], n_runs=each["runs"])
            known = each["sizes"], each["left_out"]
            results.append(ColumnResult(column, cells.get(column.name, []), *known))
        names = {row["method"] for row in data["rows"]}
        methods = [method for method in self.methods if method.name in names]
        return self.results_type(self, results, methods, data["compared"])


def _columns(results):
    """Return the columns of results that may be absent."""
    return results.columns if results else []


def _differences(results):
    """Return the stored differences of results that may be absent."""
    return results.stored_differences if results else ()


def method_names(words):
    """Return names of methods from the words of ``--methods``, in the order of the table."""
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    for name in names:
        if name not in TABLE:
            nearest = difflib.get_close_matches(name, TABLE, n=1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            known = ", ".join(TABLE)
            raise InvalidParameterError(f"--methods {name} is not one of {known}.{hint}")
    return [name for name in TABLE if name in names]


def _row(runner, column, method, runs, is_wanted, budget):
    """Return the cells of a method on a data set, run after run as long as there is time."""
    cells = []
    for number, run in enumerate(runs):
        task = make_task(method, column, number, run, runner.threads)
        work = partial(measure_run, method, task, run, runner.limit, budget)
        reason = _reason_to_stop(cells, budget) if is_wanted else ""
        cells.append(runner.cell(task, method.label, work, is_wanted=is_wanted, reason=reason))
    return cells


def _reason_to_stop(cells, budget):
    if cells and cells[0].outcome in ("limit", "missing"):
        return f"{cells[0].remark} in the first run"
    if sum(cell.total_seconds for cell in cells) > budget:
        n_done = sum(cell.is_done for cell in cells)
        return f"the budget of {budget:g} s was used up by {plural(n_done, 'run')}"
    return ""
