"""Commands that reproduce the paper's figures and tables: `frobmetric reproduce <experiment>`.

An experiment is a sub-package with a function `experiment(**options)`, imported when its command
runs, and an entry in `COMMANDS`.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

from frobmetric._environment import require
from frobmetric.cli import options
from frobmetric.cli.terminal import reports

typer = require("typer", "cli")

CODES = """\b
Exit codes:
  0    done; the page says what could not be obtained
  2    wrong usage
  3    bad data, or nothing could be run
  4    done, but an answer of ours is not certified
  130  interrupted by Ctrl-C; the page has what was finished, and the same
       command continues from there
"""

app = typer.Typer(
    help="Reproduce the paper's figures and tables, beside its own numbers.",
    epilog=CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def reproduce():
    """Hold the commands of all experiments; `app` has what they share."""


def _option(kind, default, *flags, **settings):
    """Return type and default of an option."""
    return Annotated[kind, typer.Option(*flags, **settings)], default


def _seconds(default, flag, text):
    settings = {"metavar": "SECONDS", "callback": options.positive, "help": text}
    return _option(float, default, flag, **settings)


def _optional(kind, flag, text, **settings):
    return _option(kind | None, None, flag, show_default=False, help=text, **settings)


#: Options that commands take, by name: type and default. The type of `only` depends on the command.
OPTIONS = {
    "output": _option(Path, None, "-o", "--output", help="Folder of the page and its files."),
    "methods": _optional(
        list[str],
        "--methods",
        "Run these methods only, with commas or given several times; an unknown name lists all.",
        metavar="NAMES",
    ),
    "runs": _optional(
        int, "--runs", "Number of splits of each data set that is split at random.", min=1
    ),
    "quick": _option(
        bool, False, "--quick", help="Few samples: shows in minutes whether all works."
    ),
    "limit": _seconds(
        600.0, "--limit", "For each fit. A method over it is not tried again on the same data."
    ),
    "budget": _seconds(
        1800.0,
        "--budget",
        "For all fits of a method on a data set; no further run begins after it.",
    ),
    "pictures": _option(
        bool,
        False,
        "--pictures/--no-pictures",
        help="Draw some triplets of faces too. The pictures carry no licence: do not publish a "
        "page with them.",
    ),
    "data": _optional(
        Path,
        "--data",
        "Folder of the data files; FROBMETRIC_DATA if not given.",
        exists=True,
        file_okay=False,
    ),
    "threads": _optional(
        int, "--threads", "Threads of each method; one for each processor if not given.", min=1
    ),
    "page_only": _option(
        bool, False, "--page-only", help="Write the page again from results.json; run nothing."
    ),
    "as_json": (options.Json, False),
}


@dataclass(frozen=True)
class Command:
    """Command of an experiment."""

    parts: tuple[str, ...]  # values of --only
    help: str
    options: tuple[str, ...] = ()  # names of OPTIONS beside those that all commands take
    limit: float = 600.0  # default of --limit


WRITES = """The folder gets index.md and index.html with all numbers beside the paper's, figures and
results.json. Finished results are kept in its folder `cells`: the same command continues where it
was stopped.

\b
Other programs are installed by
  python -m frobmetric_paper.baselines.setup
and left out where they are absent, as are data sets without their file.
"""
COMMANDS = {
    "mvu": Command(
        ("swiss_roll", "teapots", "teapots_3", "faces", "time"),
        f"""Reproduce maximum variance unfolding.

Embeds the swiss roll, the teapots and the Frey faces with Isomap, LLE, ours (perturbed, exact) and
CSDP (two formulations), and measures time against n. {WRITES}""",
        limit=3600.0,
    ),
    "uci": Command(
        ("mnist", "usps", "letters", "yale", "balance", "wine", "iris"),
        f"""Reproduce Table I: metrics for classification.

Learns metrics on seven data sets with FrobMetric and other methods, whose parameters are chosen on
validation parts, and measures them by 3-NN and more. {WRITES}""",
        ("methods", "runs", "budget"),
    ),
    "action": Command(
        ("msr_action3d", "utd_mhad", "words"),
        f"""Reproduce the metrics for action recognition, on other data.

The paper's videos cannot be obtained: MSR Action3D stands in for KTH and UTD-MHAD for Weizmann.
Sequences of skeletons become histograms of words, merged by the information bottleneck, which is
also shown on the words of documents. Methods learn metrics as in `uci`. {WRITES}""",
        ("methods", "runs", "budget"),
    ),
    "lfw": Command(
        ("choice", "folds", "table", "methods"),
        f"""Reproduce face verification: Labeled Faces in the Wild.

Chooses parameters on View 1 and evaluates metrics on ten folds of View 2: FrobMetric over
dimensions and numbers of triplets as in the paper's table, and other methods. {WRITES}""",
        ("pictures",),
    ),
}
#: Options that an experiment is made with; the others choose what of it runs.
PLANNED = ("quick", "runs", "data", "pictures")


def run(name, *, output, limit, threads, page_only, only, **arguments):
    """Run the experiment of this name with the arguments of its command; return its Report."""
    from .harness.command import reproduce

    only = [part.value for part in only or ()]
    planned = {key: arguments.pop(key) for key in PLANNED if key in arguments}
    module = import_module(f".{name}", __package__)
    if "methods" in arguments:
        from .classification import method_names

        arguments["methods"] = method_names(arguments["methods"] or [])
    return reproduce(
        module.experiment(**planned),
        output,
        limit=limit,
        threads=threads or os.cpu_count(),
        page_only=page_only,
        options={
            "only": [] if set(only) == set(COMMANDS[name].parts) else only,
            **planned,
            "methods": ",".join(arguments.get("methods", ())),
        },
        only=only,
        **arguments,
    )


def _add(name, command):
    """Add a command to the app; its signature is made of `OPTIONS`."""
    part = StrEnum(f"{name}_part", [(part, part) for part in command.parts])
    text = "Run this part only; can be given several times. The page keeps what there is of others."
    known = OPTIONS | {"only": _optional(list[part], "--only", text)}
    names = ("output", "only", *command.options, "quick", "limit", "data", "threads")
    defaults = {"output": Path(name), "limit": command.limit}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            each, kind, annotation=known[each][0], default=defaults.get(each, known[each][1])
        )
        for each in (*names, "page_only", "as_json")
    ]

    def call(as_json, **arguments):
        return run(name, **arguments)

    call.__signature__ = inspect.Signature(parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    app.command(name, help=command.help, epilog=CODES)(reports(call))


for _name, _command in COMMANDS.items():
    _add(_name, _command)
