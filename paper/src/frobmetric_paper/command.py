"""Commands that reproduce the paper's figures and tables: `frobmetric reproduce <experiment>`.

An experiment is a sub-package with a function `experiment(**options)` in its file experiment.py,
which is imported when its command runs, and an entry in commands.toml, which has the texts of all
commands.
"""

from __future__ import annotations

import inspect
import os
import sys
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

from frobmetric.app.cli import options
from frobmetric.app.cli.terminal import ExitCode, Report, reports, say
from frobmetric.runtime.environment import require

typer = require("typer", "cli")

TEXTS = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))

app = typer.Typer(
    help="Reproduce the paper's figures and tables, beside its own numbers.",
    epilog=TEXTS["codes"],
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Command:
    """Command of an experiment."""

    parts: list[str]  # values of --only
    help: str
    options: tuple[str, ...] = ()  # names of OPTIONS beside those that all commands take
    limit: float = 600.0  # default of --limit


COMMANDS = {name: Command(**values) for name, values in TEXTS["commands"].items()}
#: Options that an experiment is made with; the others choose what of it runs.
PLANNED = ("quick", "runs", "data", "pictures")


def _option(name, kind, default=None, *flags, **settings):
    """Return type and default of an option."""
    flags = flags or (f"--{name.replace('_', '-')}",)
    settings = {"help": TEXTS["options"][name]} | settings
    return Annotated[kind, typer.Option(*flags, **settings)], default


def _options(name, command):
    """Return the options of a command in their order: name -> (type, default)."""
    part = StrEnum(f"{name}_part", [(part, part) for part in command.parts])
    seconds = {"metavar": "SECONDS", "callback": options.positive}
    hidden = {"show_default": False}
    folder = {"exists": True, "file_okay": False}
    known = {
        "output": _option("output", Path, Path(name), "-o", "--output"),
        "only": _option("only", list[part] | None, **hidden),
        "methods": _option("methods", list[str] | None, metavar="NAMES", **hidden),
        "runs": _option("runs", int | None, min=1, **hidden),
        "budget": _option("budget", float, 1800.0, **seconds),
        "pictures": _option("pictures", bool, False, "--pictures/--no-pictures"),
        "quick": _option("quick", bool, False, "--quick"),
        "resume": _option("resume", bool, False, "--resume"),
        "limit": _option("limit", float, command.limit, **seconds),
        "data": _option("data", Path | None, **folder, **hidden),
        "threads": _option("threads", int | None, min=1, **hidden),
        "page_only": _option("page_only", bool, False, "--page-only"),
        "as_json": (options.Json, False),
    }
    special = {"methods", "runs", "budget", "resume", "pictures"} - set(command.options)
    return {option: known[option] for option in known if option not in special}


def run(name, *, output, limit, threads, page_only, only, **arguments):
    """Run the experiment of this name with the arguments of its command; return its Report."""
    from .harness.command import reproduce

    only = [part.value for part in only or ()]
    planned = {key: arguments.pop(key) for key in PLANNED if key in arguments}
    module = import_module(f".{name}.experiment", __package__)
    if "methods" in arguments:
        from .classification.experiment import method_names

        arguments["methods"] = method_names(arguments["methods"] or [])
    given = {"only": [] if set(only) == set(COMMANDS[name].parts) else only, **planned}
    return reproduce(
        module.experiment(**planned),
        output,
        limit=limit,
        threads=threads or os.cpu_count(),
        page_only=page_only,
        options=given | {"methods": ",".join(arguments.get("methods", ()))},
        only=only,
        **arguments,
    )


def _add(name, command):
    """Add a command to the app; its signature is made of `_options`."""
    parameters = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for option, (kind, default) in _options(name, command).items()
    ]

    def call(as_json, **arguments):
        return run(name, **arguments)

    call.__signature__ = inspect.Signature(parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    text = f"{command.help} {TEXTS['writes']}"
    app.command(name, help=text, epilog=TEXTS["codes"])(reports(call))


for _name, _command in COMMANDS.items():
    _add(_name, _command)


@app.command("baselines", help=TEXTS["baselines"])
@reports
def baselines(
    names: Annotated[list[str] | None, typer.Argument()] = None, as_json: options.Json = False
):
    """Install what the baselines of these names need, or all."""
    from .baselines import set_up

    ready = {}
    for name, reason in set_up(names or ()):
        say(f"{name}: {reason or 'ready'}")
        ready[name] = not reason
    text = f"{sum(ready.values())} of {len(ready)} are ready"
    return Report(ExitCode.CERTIFIED, text, {"ready": ready})


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command("bench", help=TEXTS["bench"], add_help_option=False, context_settings=PASSED_ON)
def bench(context: typer.Context):
    """Run a benchmark, as `python -m frobmetric_paper.bench` does."""
    from .bench.__main__ import main

    sys.exit(main(context.args))
