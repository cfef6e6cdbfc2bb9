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

from frobmetric._extras import require
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


def _positive_seconds(flag, text):
    return Annotated[
        float, typer.Option(flag, metavar="SECONDS", callback=options.positive, help=text)
    ]


#: Options that commands take, by name: type and default. `only` has a type of its own in each.
OPTIONS = {
    "output": (
        Annotated[
            Path, typer.Option("-o", "--output", help="Folder of the page, figures and results.")
        ],
        None,
    ),
    "methods": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--methods",
                metavar="NAMES",
                show_default=False,
                help="Run these methods only, with commas or given several times; an unknown "
                "name lists all.",
            ),
        ],
        None,
    ),
    "runs": (
        Annotated[
            int | None,
            typer.Option(
                "--runs",
                min=1,
                show_default=False,
                help="Number of splits of each data set that is split at random.",
            ),
        ],
        None,
    ),
    "quick": (
        Annotated[
            bool, typer.Option("--quick", help="Few samples: shows in minutes that all works.")
        ],
        False,
    ),
    "limit": (
        _positive_seconds(
            "--limit", "For each fit. A method over it is not tried again on the same data."
        ),
        600.0,
    ),
    "budget": (
        _positive_seconds(
            "--budget", "For all fits of a method on a data set; no further run begins after it."
        ),
        1800.0,
    ),
    "pictures": (
        Annotated[
            bool,
            typer.Option(
                "--pictures/--no-pictures",
                help="Draw some triplets of faces too. The pictures carry no licence: do not "
                "publish a page with them.",
            ),
        ],
        False,
    ),
    "data": (
        Annotated[
            Path | None,
            typer.Option(
                "--data",
                exists=True,
                file_okay=False,
                show_default=False,
                help="Folder of the data files; FROBMETRIC_DATA if not given.",
            ),
        ],
        None,
    ),
    "threads": (
        Annotated[
            int | None,
            typer.Option(
                "--threads",
                min=1,
                show_default=False,
                help="Threads of each method; as many as there are processors if not given.",
            ),
        ],
        None,
    ),
    "page_only": (
        Annotated[
            bool,
            typer.Option(
                "--page-only", help="Write the page again from results.json; run nothing."
            ),
        ],
        False,
    ),
    "as_json": (options.Json, False),
}


@dataclass(frozen=True)
class Command:
    """Command of an experiment.

    Attributes
    ----------
    parts : tuple of str
        Values of ``--only``.
    help : str
    options : tuple of str
        Names of `OPTIONS` beside those that all commands take.
    limit : float
        Default of ``--limit``.
    """

    parts: tuple[str, ...]
    help: str
    options: tuple[str, ...] = ()
    limit: float = 600.0


FINISHED = """Finished results are kept in its folder `cells`: the same command continues where it
was stopped."""
INSTALLED = """\b
Other programs are installed by
  python -m frobmetric_paper.baselines.setup
and left out where they are absent, as are data sets without their file.
"""
COMMANDS = {
    "mvu": Command(
        ("swiss_roll", "teapots", "teapots_3", "faces", "time"),
        f"""Reproduce maximum variance unfolding.

Embeds the swiss roll, the teapots and the Frey faces with Isomap, LLE, ours (perturbed, exact) and
CSDP (two formulations), and measures time against n. The folder gets index.md and index.html with
all numbers beside the paper's, and figures. {FINISHED}

\b
CSDP is installed by
  python -m frobmetric_paper.baselines.setup csdp
and left out where it is absent, as are data sets without their file.
""",
        limit=3600.0,
    ),
    "uci": Command(
        ("mnist", "usps", "letters", "yale", "balance", "wine", "iris"),
        f"""Reproduce Table I: metrics for classification.

Learns metrics on seven data sets with FrobMetric and other methods, whose parameters are chosen on
validation parts, and measures them by 3-NN and more. The folder gets index.md and index.html with
all numbers beside the paper's, table.csv, results.json and figures. {FINISHED}

{INSTALLED}""",
        ("methods", "runs", "budget"),
    ),
    "action": Command(
        ("msr_action3d", "utd_mhad", "words"),
        f"""Reproduce the metrics for action recognition, on other data.

The paper's videos cannot be obtained: MSR Action3D stands in for KTH and UTD-MHAD for Weizmann.
Sequences of skeletons become histograms of words, merged by the information bottleneck, which is
also shown on the words of documents. Methods learn metrics as in `uci`; the folder gets index.md
and index.html, table.csv, results.json and figures. {FINISHED}

{INSTALLED}""",
        ("methods", "runs", "budget"),
    ),
    "lfw": Command(
        ("choice", "folds", "table", "methods"),
        f"""Reproduce face verification: Labeled Faces in the Wild.

Chooses parameters on View 1 and evaluates metrics on ten folds of View 2: FrobMetric over
dimensions and numbers of triplets as in the paper's table, and other methods beside it. The folder
gets index.md and index.html with all numbers beside the paper's, table.csv, results.json and
figures. {FINISHED}

{INSTALLED}""",
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
    parts = StrEnum(f"{name}_part", [(part, part) for part in command.parts])
    only = typer.Option(
        "--only",
        show_default=False,
        help="Run this part only; can be given several times. The page keeps what the folder has "
        "of others.",
    )
    names = ("output", "only", *command.options, "quick", "limit", "data", "threads")
    known = OPTIONS | {"only": (Annotated[list[parts] | None, only], None)}
    defaults = {"output": Path(name), "limit": command.limit}

    def call(as_json, **arguments):
        return run(name, **arguments)

    call.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                each,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=known[each][0],
                default=defaults.get(each, known[each][1]),
            )
            for each in (*names, "page_only", "as_json")
        ]
    )
    call.__annotations__ = {key: known[key][0] for key in call.__signature__.parameters}
    app.command(name, help=command.help, epilog=CODES)(reports(call))


for _name, _command in COMMANDS.items():
    _add(_name, _command)
