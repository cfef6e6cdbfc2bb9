"""Commands built from commands.json, so that help needs no NumPy and no scikit-learn.

`declaration.py` says what the functions of commands declare, and `docs/commands.py` writes the file
from them. A function is imported when its command is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...runtime.environment import require
from .terminal import Report, reports, say, wrong_usage

if TYPE_CHECKING:
    import typer
    import typer.core

    from .declaration import Command
else:
    typer = require("typer", "cli")

#: Types by their names in commands.json.
TYPES: dict[str, Any] = {"path": Path, "str": str, "int": int, "float": float, "bool": bool}
TYPES |= {"list of path": list[Path], "list of str": list[str], "number or word": str}
#: Defaults that the help does not show; the text of an option says what happens without it.
HIDDEN = (None, False, inspect.Parameter.empty)
#: Headings of the options in the help of a command that has many, and their parameters.
SECTIONS = {
    "Data": "target triplets with_labels header memory train test test_size file metric",
    "Preparation": "columns drop impute categories",
    "Model": "n_neighbors n_impostors neighbors C units n_components loss prior pull kernel gamma "
    "degree coef0 n_directions n_passes targets cv sigma constraints n_landmarks extra_edges "
    "on_disconnected",
    "Solver": "tol max_iter solver n_jobs random_state",
    "Output": "output checkpoint resume keep_dual quality plot plot_file figure markdown as_json "
    "help",
}
#: Number of options from which on the help has headings.
MANY = 20
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def add_command(
    app: typer.Typer, name: str, described: dict[str, Any], load: Callable[[], Command]
) -> None:
    """Add a command to an app by its description in commands.json; `load` imports it on a call."""
    options: list[dict[str, Any]] = described["options"]
    groups = {option["group"] for option in options if "group" in option}
    of_source = [option["name"] for option in options if option.get("group") == "parameters"]

    def run(as_json: bool, context: typer.Context, **values: Any) -> Report:
        is_piped = str(values.get("output")) == "-"
        if as_json and is_piped:
            raise wrong_usage("--json", "the standard output holds the table of -o -")
        for group in groups:
            names = [option["name"] for option in options if option.get("group") == group]
            values[group] = {name: values.pop(name) for name in names}
        if "preparation" in groups:
            from .models import preparing  # here, because it imports NumPy

            values["preparation"] = preparing(**values["preparation"])
        if described.get("given"):
            values["given"] = {name for name in of_source if _is_given(context, name)}
        report = load().run(**values)
        if is_piped:
            say(report.text)
            return replace(report, text="")
        return report

    _set_signature(run, [*map(_parameter, options), *_further_parameters()])
    names = {option: f"--{option.replace('_', '-')}" for option in of_source}
    settings = {"help": described["help"], "epilog": described["codes"], "cls": SectionedCommand}
    app.command(name, **settings)(reports(run, names))


def _set_signature(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> None:
    """Replace the signature of a function by these parameters, from which typer makes options."""
    function.__dict__["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {each.name: each.annotation for each in parameters}


def _further_parameters() -> Iterator[inspect.Parameter]:
    """Yield the parameters of every command: the option --json, and the context of typer."""
    kind = inspect.Parameter.KEYWORD_ONLY
    yield inspect.Parameter("as_json", kind, default=False, annotation=Json)
    yield inspect.Parameter("context", kind, annotation=typer.Context)


def _is_given(context: typer.Context, name: str) -> bool:
    """Return whether the command line names an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameter(option: dict[str, Any]) -> inspect.Parameter:
    """Return an option or argument as a parameter with typer's annotation."""
    name, default = option["name"], option.get("default", inspect.Parameter.empty)
    kind, words = TYPES[option["type"]], option.get("words", [])
    has_number = option["type"] == "number or word"
    about: Any
    if option.get("argument"):
        about = typer.Argument(help=option["help"], show_default=False)
    else:
        callback = positive if option.get("positive") else _number_or_word if has_number else None
        about = typer.Option(
            *option["flags"],
            help=option["help"],
            show_default=not any(default is hidden for hidden in HIDDEN) and default != "inf",
            min=option.get("least"),
            metavar="|".join(["NUMBER"] * has_number + words) or None,
            callback=callback,
        )
    annotated: Any = Annotated
    annotation = annotated[kind | None if default is None else kind, about]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def positive(value: float | None) -> float | None:
    """Return the value of an option if it is positive or not given."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not positive")
    return value


def _number_or_word(value: str | None) -> int | str | None:
    """Convert "8" to the number 8; the estimator checks every other word."""
    return int(value) if value is not None and value.isdecimal() else value


class SectionedCommand(typer.core.TyperCommand):
    """Command whose help groups its options below headings if it has many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        parameters = self.get_params(ctx)
        is_long = len(parameters) >= MANY
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Arguments", "Options", *SECTIONS)
        }
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections[_section(parameter, is_long)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _section(parameter: Any, is_long: bool) -> str:
    """Return the heading of an argument or option in the help."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    titles = (title for title, names in SECTIONS.items() if parameter.name in names.split())
    return next(titles, "Options") if is_long else "Options"
