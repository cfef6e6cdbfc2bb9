"""Benchmarks: speed and accuracy beside other programs.

    python -m frobmetric_paper.bench NAME [options]
    python -m frobmetric_paper.bench --list

A module of this package lists its benchmarks in `BENCHMARKS`. A benchmark has parts, which are
measured and stored one at a time, and a page of all stored parts, whose text and tables are in
`pages`. To add one is to add a module and its page. `versions` is a script of its own, which
compares two checkouts.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter

from frobmetric.runtime.environment import replacing

from ..harness import page, worker
from ..harness.machine import record_as_markdown

#: Folder of the committed results.
RESULTS = Path(__file__).parents[3] / "results"
#: Folder of the texts of the pages.
PAGES = Path(__file__).with_name("pages")
#: Table of a page: name of its rows, header with alignments, formats of the cells of a row.
TABLE = re.compile(r"^\$(\w+)\n(\|.*\n\|.*)\n\| (.*) \|$", re.MULTILINE)
#: Seconds of a run that is not repeated to get a best of several.
LONG = 120.0


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


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Measurements that share a results file and a page."""

    #: Name of the command and of the files.
    name: str
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

    @property
    def text(self):
        """Text of the page with its placeholders."""
        return (PAGES / f"{self.name}.md").read_text(encoding="utf-8")

    @property
    def title(self):
        """Title of the page."""
        return self.text.partition("\n")[0].removeprefix("# ")


def find_benchmarks():
    """Return all benchmarks by name."""
    names = [info.name for info in iter_modules(__path__) if info.name != "__main__"]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return {each.name: each for module in modules for each in getattr(module, "BENCHMARKS", ())}


# Results files


@dataclass
class Results:
    """Data of the parts, and records of the runs that measured each of them."""

    parts: dict = field(default_factory=dict)
    runs: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    @classmethod
    def read(cls, path):
        """Return the stored results; empty ones if there is no such file."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def write(self, benchmark, folder):
        """Write the results, the page and the figure of a benchmark to a folder."""
        content = json.dumps(vars(self), indent=1, ensure_ascii=False, default=_as_plain)
        plain = Results(**json.loads(content))
        for suffix, text in (("json", content + "\n"), ("md", plain.as_markdown(benchmark))):
            with replacing(folder / f"{benchmark.name}.{suffix}") as file:
                file.write(text.encode())
        if benchmark.draw:
            benchmark.draw(plain.parts, folder / f"{benchmark.name}.png")

    def as_markdown(self, benchmark):
        """Return the page, with the figure, the notes, and how each part was measured."""
        names = (*benchmark.parts, *benchmark.retired)
        ordered = {name: self.parts[name] for name in names if name in self.parts}
        blocks = [fill(benchmark.text, benchmark.page(ordered)).rstrip()]
        records = [record for name in ordered for record in self.runs[name]]
        if any(record.get("is_quick") for record in records):
            blocks.append(page.SMALL)
        if benchmark.draw:
            blocks.append(f"![{benchmark.title}]({benchmark.name}.png)")
        return "\n\n".join([*blocks, *self.notes, *self._records(ordered)]) + "\n"

    def _records(self, names):
        """Return each record once, with the parts that it measured."""
        made = {}
        for name in names:
            for record in self.runs[name]:
                made.setdefault(_describe(record), []).append(name)
        return [
            text if len(some) == len(names) else f"{', '.join(some)}: {text}"
            for text, some in made.items()
        ]


def _describe(record):
    """Return a record of a run as text, with its settings and the load of the machine."""
    text = record_as_markdown(record)
    if "settings" in record:
        settings = (f"{name} {value:g}" for name, value in record["settings"].items())
        text += f" Settings: {', '.join(settings)}."
    if "load" in record:
        text += f" Load at the end: {', '.join(f'{number:.1f}' for number in record['load'])}."
    return text


def _as_plain(value):
    """Return an array or a number of NumPy as a value that JSON can hold."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


class _Cells(Formatter):
    """Formats of the cells of a row; None is an empty text."""

    def format_field(self, value, spec):
        return "" if value is None else format(value, spec)


def fill(text, values):
    r"""Fill a page: `$name` stands for a text, or for the rows of the table that follows it.

    Such a table has a header and one row of formats, which is repeated for each row of the data. A
    name without a value is empty. The first paragraph, the title, always stays.

    Examples
    --------
    >>> text = "# Title\n\n$rows\n| name | x |\n| --- | --: |\n| {name} | {x:.1f} |"
    >>> print(fill(text, {"rows": [{"name": "a", "x": 1}, {"name": "b", "x": None}]}))
    # Title
    <BLANKLINE>
    | name | x |
    | --- | --: |
    | a | 1.0 |
    | b |  |
    <BLANKLINE>
    """
    (title, _, body), values = text.partition("\n\n"), defaultdict(str, values)

    def fill_table(match):
        name, header, cells = match.groups()
        lines = []
        for row in values[name]:
            filled = [page.escape(_Cells().format(cell, **row)) for cell in cells.split(" | ")]
            lines.append(f"| {' | '.join(filled)} |")
        values[name] = "\n".join([header, *lines]) if lines else ""
        return f"${name}"

    return f"{title}\n\n{page.fill(TABLE.sub(fill_table, body), values)}".rstrip() + "\n"


def mark(text, is_best):
    """Return text with a star where it is the best of its kind."""
    return f"{text} *" if is_best else text


# Measuring


def short(number):
    """Return three digits without a power of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


@dataclass(frozen=True)
class Timing:
    """Seconds of each run and the result of the fastest one, or the reason why there is none."""

    runs: tuple[float, ...] = ()
    result: object = None
    reason: str = ""
    limit: float | None = None

    @property
    def seconds(self):
        """The least seconds, or the limit that was exceeded, or None."""
        return min(self.runs) if self.runs else self.limit

    def __str__(self):
        if not self.runs:
            return self.reason
        return f"{short(self.seconds)} s" + (", one run" if len(self.runs) == 1 else "")


def timed(work):
    """Return seconds and result of one call."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def best_of(work, repeat):
    """Return the Timing of several calls; the first may compile, the best one is warm."""
    runs = [timed(work) for _ in range(repeat)]
    return Timing(tuple(seconds for seconds, _ in runs), min(runs, key=lambda run: run[0])[1])


def best_answer(call, repeat):
    """Return the Timing of a baseline, by the `seconds` of its answers; `LONG` ones run once."""
    answers = []
    try:
        while len(answers) < repeat and (not answers or answers[-1].seconds < LONG):
            answers.append(call())
    except worker.TimeLimitError as error:
        if not answers:
            return Timing(reason=str(error), limit=error.limit)
    except (worker.ProgramMissingError, worker.ProgramFailedError) as error:
        return Timing(reason=f"not available: {(str(error).splitlines() or [''])[-1][:300]}")
    fastest = min(answers, key=lambda answer: answer.seconds)
    return Timing(tuple(answer.seconds for answer in answers), fastest)


def in_new_process(target, values, options):
    """Return the detail of a function, "module:name", that a new worker calls."""
    pool = worker.WorkerPool()
    try:
        return worker.Target(target).run({}, values, 3600.0, options.threads, pool)[1]
    finally:
        pool.end()


def peak_memory():
    """Return the most bytes that this process has held at once.

    `getrusage` does not serve: its maximum includes that of the process which started this one.
    """
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])
