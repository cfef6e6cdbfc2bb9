"""Benchmarks: speed and accuracy beside other programs.

    python -m frobmetric_paper.bench NAME [options]
    python -m frobmetric_paper.bench --list

A module of this package lists its benchmarks in `BENCHMARKS`. A benchmark has parts, which are
measured and stored one at a time, and a page of all stored parts, whose text is in `pages`. To add
one is to add a module and the text of its page. `versions` is a script of its own, which compares
two checkouts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from frobmetric._environment import replacing

from ..harness import page
from ..harness.machine import record_as_markdown
from ..harness.worker import ProgramFailedError, ProgramMissingError, TimeLimitError

#: Folder of the committed results.
RESULTS = Path(__file__).parents[3] / "results"
#: Folder of the texts of the pages.
PAGES = Path(__file__).with_name("pages")
#: Seconds of a run that is not repeated to get a best of several.
LONG = 120.0


@dataclass(frozen=True)
class Options:
    """Settings of a measurement.

    Attributes
    ----------
    folder : Path, optional
        Folder of the data sets.
    repeat : int
        Number of runs of which the best counts, or of splits and seeds.
    threads : int
        Threads of numerical libraries.
    limit : float
        Seconds for one run of another program.
    is_quick : bool
        Whether to measure a small version, which shows that everything works.
    stored : object
        Earlier data of the part, to be completed; None if it begins anew.
    store : callable
        Stores the data of a part that is not finished.
    """

    folder: Path | None = None
    repeat: int = 3
    threads: int = 1
    limit: float = 420.0
    is_quick: bool = False
    stored: object = field(default=None, compare=False)
    store: Callable[[object], None] = field(default=lambda data: None, compare=False)

    def choose(self, full, quick):
        """Return the value for this size of the measurement."""
        return quick if self.is_quick else full


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Measurements that share a results file and a page.

    Attributes
    ----------
    name : str
        Name of the command and of the files.
    parts : mapping of str to callable
        Options -> plain data, by the name of the part.
    page : callable
        Data by part, any of which may be absent -> what fills the placeholders of the page.
    draw : callable, optional
        (data by part, path) -> None: writes the figure of the page.
    options : Options
        Default settings.
    """

    name: str
    parts: Mapping[str, Callable[[Options], object]]
    page: Callable[[dict], dict[str, str]]
    draw: Callable[[dict, Path], None] | None = None
    options: Options = Options()

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
        ordered = {name: self.parts[name] for name in benchmark.parts if name in self.parts}
        blocks = [page.fill(benchmark.text, benchmark.page(ordered)).rstrip()]
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


def table(rows, header, cells, texts=()):
    """Return a table in Markdown; empty if there are no rows.

    Parameters
    ----------
    rows : iterable of dict
    header : str
        Names of the columns, with " | " between them.
    cells : str
        Formats of the entries of a row, one for each column, with " | " between them.
    texts : tuple of str
        Columns of text; the first one is text, all others hold numbers.
    """
    formats = cells.split(" | ")
    filled = [[each.format(**row) for each in formats] for row in rows]
    return page.table(header.split(" | "), filled, texts=texts) if filled else ""


def show(form, value):
    """Return a number in some format; empty if there is none."""
    return "" if value is None else format(value, form)


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
    """Return the Timing of a baseline by its own clock; a `LONG` run is not repeated.

    Parameters
    ----------
    call : callable
        () -> answer with `seconds`; its errors of workers become the reason.
    repeat : int
    """
    answers = []
    try:
        while len(answers) < repeat and (not answers or answers[-1].seconds < LONG):
            answers.append(call())
    except TimeLimitError as error:
        if not answers:
            return Timing(reason=str(error), limit=error.limit)
    except (ProgramMissingError, ProgramFailedError) as error:
        return Timing(reason=f"not available: {(str(error).splitlines() or [''])[-1][:300]}")
    fastest = min(answers, key=lambda answer: answer.seconds)
    return Timing(tuple(answer.seconds for answer in answers), fastest)


def peak_memory():
    """Return the most bytes that this process has held at once.

    `getrusage` does not serve: its maximum includes that of the process which started this one.
    """
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])
