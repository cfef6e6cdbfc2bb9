"""Benchmarks: tasks that measure speed, scale or accuracy, and the page of their results.

A benchmark has parts. A part is one task: its cell holds what was measured as plain data, and the
records of the runs that measured it. All cells of a benchmark are in one file of the store,
NAME.json, with the page NAME.md and its figure NAME.png beside it.
"""

from __future__ import annotations

import json
import os
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from . import task
from .machine import record_as_markdown, run_record
from .page import SMALL, fill_tables, write_files
from .timing import timed
from .worker import ProgramFailedError


@dataclass(frozen=True)
class Options:
    """Settings of a measurement."""

    #: Folder of the data sets.
    folder: Path | None = None
    #: Number of runs of which the best counts, or of splits and seeds.
    repeat: int = 3
    #: Threads of numerical libraries.
    threads: int = 1
    #: Seconds for one run of another program.
    limit: float = 420.0
    #: Whether to measure a small version, which shows that everything works.
    is_quick: bool = False
    #: Earlier data of the part, to be completed; None if it begins anew.
    stored: object = field(default=None, compare=False)
    #: Stores the data of a part that is not finished.
    store: Callable[[object], None] = field(default=lambda data: None, compare=False)

    def path(self, *names):
        """Return the path of a file of the data sets."""
        return Path(self.folder or "data", *names)

    def choose(self, full, quick):
        """Return the value for this size of the measurement."""
        return quick if self.is_quick else full

    def runs(self, n, measure):
        """Return the data of n runs, `measure(seed)`; stored ones are not measured again."""
        found = list(self.stored or [])
        for seed in range(len(found), n):
            found.append(measure(seed))
            self.store(found)
        return found


@dataclass(frozen=True, kw_only=True)
class Task(task.Task):
    """Part of a benchmark; `method` is its name. It reads its data itself."""

    data: str = ""
    benchmark: str

    @property
    def place(self):
        return self.benchmark

    @property
    def file_name(self):
        return f"{self.benchmark}.json"


@dataclass(frozen=True, kw_only=True)
class Cell(task.Cell):
    """Result of a part."""

    task_type: ClassVar = Task

    data: object = None  # what was measured, as plain data
    runs: list = field(default_factory=list)  # records of the runs that measured it

    @property
    def summary(self):
        return f"took {self.seconds:.1f} s"

    def settles(self, task, limit):
        """Return False: what is asked for is measured again."""
        return False


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Measurements that share a file of results and a page."""

    #: Options -> plain data, by the name of the part.
    parts: Mapping[str, Callable[[Options], object]]
    #: Data by part, any of which may be absent -> texts and rows of tables of the page, by name.
    page: Callable[[dict], dict]
    #: (data by part, path) -> None: writes the figure of the page.
    draw: Callable[[dict, Path], None] | None = None
    #: Default settings.
    options: Options = Options()
    #: Parts of stored results that are shown on the page and no longer measured.
    retired: tuple[str, ...] = ()
    #: Text of the page, with placeholders; its name is that of the benchmark.
    template: Path = Path()

    @property
    def name(self):
        """Name of the command and of the files."""
        return self.template.stem

    @property
    def text(self):
        """Text of the page with its placeholders."""
        return self.template.read_text(encoding="utf-8")

    def cells(self, folder):
        """Return the stored cells by part, in the order of the page."""
        stored = task.Store(folder, Cell).read(f"{self.name}.json")
        found = {cell.task.method: cell for cell in stored}
        return {part: found[part] for part in (*self.parts, *self.retired) if part in found}

    def conduct(self, runner, options, command, *, only=(), resumes=False):
        """Measure some parts, all if `only` is empty; return the cells of those.

        The page is written after each part. A part that fails does not end the others, which may
        take hours, and keeps its stored data. With `resumes` the stored data are completed.
        """
        folder, cells = runner.store.folder, []
        runner.n_cells = len(only or self.parts)
        self.cells(folder)  # results that cannot be read are an error before anything is measured
        for part in only or self.parts:
            job = Task(benchmark=self.name, method=part, threads=options.threads)
            before = self.cells(folder).get(part) if resumes else None
            measure = partial(self._measure, runner, job, options, command, before)
            cells.append(runner.cell(job, part, measure))
            self.write_page(folder)
        return cells

    def _measure(self, runner, job, options, command, before):
        """Return the fields of the cell of a part."""
        settings = {name: getattr(options, name) for name in ("repeat", "threads", "limit")}
        record = {"command": command, "settings": settings, "is_quick": options.is_quick}
        record = run_record() | record

        def fields(data):
            runs = [*(before.runs if before else ()), record | {"load": os.getloadavg()}]
            return {"data": _as_plain(data), "runs": runs}

        def store(data):
            known = {"task": job, "label": job.method, "outcome": "done", "limit": runner.limit}
            runner.store.save(Cell(**known, **fields(data)))

        options = replace(options, stored=before and before.data, store=store)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # pages show the gaps
                seconds, data = timed(partial(self.parts[job.method], options))
        except Exception as error:
            traceback.print_exc()
            raise ProgramFailedError(f"{type(error).__name__}: {error}") from error
        return fields(data) | {"seconds": seconds}

    def write_page(self, folder):
        """Write the page and the figure of the stored results; return the path of the page."""
        cells = self.cells(folder)
        write_files(folder, {f"{self.name}.md": self.as_markdown(cells)})
        if self.draw:
            self.draw({part: cell.data for part, cell in cells.items()}, folder / self.figure)
        return folder / f"{self.name}.md"

    @property
    def figure(self):
        """File name of the figure."""
        return f"{self.name}.png"

    def as_markdown(self, cells):
        """Return the page of some cells by part, with remarks, and how each part was measured."""
        data = {part: cell.data for part, cell in cells.items()}
        blocks = [fill_tables(self.text, self.page(data)).rstrip()]
        if any(record.get("is_quick") for cell in cells.values() for record in cell.runs):
            blocks.append(SMALL)
        if self.draw:
            title = self.text.partition("\n")[0].removeprefix("# ")
            blocks.append(f"![{title}]({self.figure})")
        blocks += dict.fromkeys(cell.remark for cell in cells.values() if cell.remark)
        made = {}
        for part, cell in cells.items():
            for record in cell.runs:
                made.setdefault(_describe(record), []).append(part)
        blocks += [
            text if len(some) == len(cells) else f"{', '.join(some)}: {text}"
            for text, some in made.items()
        ]
        return "\n\n".join(blocks) + "\n"


def _describe(record):
    """Return a record of a run as text, with its settings and the load of the machine."""
    text = record_as_markdown(record)
    if "settings" in record:
        settings = (f"{name} {value:g}" for name, value in record["settings"].items())
        text += f" Settings: {', '.join(settings)}."
    if "load" in record:
        text += f" Load at the end: {', '.join(f'{number:.1f}' for number in record['load'])}."
    return text


def _as_plain(data):
    """Return data as JSON holds them: arrays and numbers of NumPy become lists and numbers."""

    def convert(value):
        return value.tolist() if hasattr(value, "tolist") else str(value)

    return json.loads(json.dumps(data, default=convert))
