"""Commands from functions: names, defaults and help come from signatures and docstrings.

A command is a function whose positional parameters become arguments and whose keyword-only ones
become options. It can take over the parameters of an estimator or of another function, and gets
their values as the dictionary `parameters`, and if it has a parameter `given`, the names of those
that the command line names. One with a parameter `preparation` has the options that tell what
becomes of the columns of a table, and gets them as `Preparing`. Types and help are read from the
numpydoc sections "Parameters", so that each is written once: an option has the name of its
parameter, with dashes, and the first sentence of its description, which therefore names nothing of
Python.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from functools import wraps
from math import inf
from pathlib import Path
from typing import Annotated

from ...runtime.environment import require
from .terminal import EXIT_CODES, reports, say, wrong_usage

typer = require("typer", "cli")

#: Further spellings of options.
FLAGS = {"output": "-o", "target": "-t", "n_components": "-d", "n_neighbors": "-k"}
FLAGS |= {"random_state": "--seed", "keep_dual": "--keep-proof", "n_results": "-k"}
#: Least values of numbers; estimators check the others themselves.
LEAST = {"max_iter": 1, "n_votes": 1, "cv": 0, "folds": 2, "seed": 0, "random_state": 0}
LEAST |= {"min_eigenvalue": 0, "n_results": 1}
#: Numbers that must be positive.
POSITIVE = ("tol", "sigma", "time_limit", "budget")
#: Parameters of estimators that are no options of any command.
NOT_OPTIONS = ("verbose",)
#: Parameters that several commands have.
COMMON = """
Parameters
----------
data : path
    Samples: a csv, tsv, csv.gz, tsv.gz, parquet, npy or npz file; - is the standard input.
model : path
    A model that `fit` wrote.
n_results : int
    Number of neighbours of each query.
target : str
    Column of the labels: its name, or its number (from 0; -1 is the last). An npz file with X and y
    needs none.
file : path
    A symmetric matrix: a csv, tsv, csv.gz, tsv.gz or npy file; - is the standard input. A csv file
    may have labels in its first line, its first column, or both; one triangle is enough.
output : path
    The result, in the same formats; csv keeps labels; - is the standard output, in csv.
problem : path
    An SDPA sparse file: .dat-s, .dat-s.gz or .dat-s.xz.
columns : str
    Only these columns are features: names, or numbers from 0, with commas.
drop : str
    Columns that are no features, such as the number of a row: names or numbers, with commas.
impute : {"median", "mean"}
    Fill in missing numbers by the median or the mean of their column, and missing categories by the
    most frequent one; without it a missing value is an error.
categories : {"one-hot"}
    How to use columns of texts: one-hot makes a feature of zeros and ones for each category.
    Without it a text is an error.
header : bool
    Whether a csv file begins with a line of names.
seed : int
    Seed of the random split.
n_votes : int
    Number of neighbours that vote in the k-NN error.
"""
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


def command(app, source=None, *, names=None, without=(), defaults=None, codes=EXIT_CODES):
    """Add a function to an app as a command.

    The parameters of a `source`, an estimator or a function, become options too: those in `names`,
    or all that a command line can express, but those in `without`. `defaults` are defaults that
    differ from those of the source; `codes` is the help on the exit codes.
    """

    def register(function):
        own = [p for p in _own_parameters(function) if p.name != "parameters"]
        skipped = {*NOT_OPTIONS, *without, *(p.name for p in own)}
        taken = [] if source is None else _parameters(source, defaults, is_brief=True)
        taken = [p for p in taken if p.name in (names or {p.name}) and p.name not in skipped]

        @wraps(function)
        def run(as_json, context, **values):
            is_piped = str(values.get("output")) == "-"
            if as_json and is_piped:
                raise wrong_usage("--json", "the standard output holds the table of -o -")
            if source is not None:
                values["parameters"] = {p.name: values.pop(p.name) for p in taken}
            if "preparation" in inspect.signature(function).parameters:
                values["preparation"] = _preparing(values)
            if "given" in inspect.signature(function).parameters:
                values["given"] = {p.name for p in taken if _is_given(context, p.name)}
            report = function(**values)
            if is_piped:
                say(report.text)
                return replace(report, text="")
            return report

        json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False)
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY)
        context = context.replace(annotation=typer.Context)
        every = [*own, *taken, json.replace(annotation=Json), context]
        run.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in every])
        run.__annotations__ = {p.name: p.annotation for p in every}
        text = inspect.getdoc(function).partition("\nParameters\n---")[0]
        text = text.replace("\\b", "\b")  # typer's mark of lines that are not to be wrapped
        options = {p.name: f"--{p.name.replace('_', '-')}" for p in taken}
        app.command(help=text, epilog=codes, cls=SectionedCommand)(reports(run, options))
        return function

    return register


class SectionedCommand(typer.core.TyperCommand):  # type: ignore[name-defined]
    """A command whose options stand below headings in its help, if it has many."""

    def format_options(self, ctx, formatter):
        parameters = self.get_params(ctx)
        is_long = len(parameters) >= MANY
        sections = {title: [] for title in ("Arguments", "Options", *SECTIONS)}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections[_section(parameter, is_long)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _section(parameter, is_long):
    """Return the heading of an argument or option in the help."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    titles = (title for title, names in SECTIONS.items() if parameter.name in names.split())
    return next(titles, "Options") if is_long else "Options"


def _own_parameters(function):
    """Return the parameters of a command; `preparation` stands for several options."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "preparation":
            yield from _parameters(_preparation_options)
        else:
            yield from _parameters(function, only=parameter.name)


def _preparation_options(*, columns=None, drop=None, impute=None, categories=None):
    """Do nothing: the signature lists the options that replace a parameter `preparation`."""


def _preparing(values):
    """Take the options of a preparation out of the values, and return what they ask for."""
    from .models import preparing  # here, because help is read without NumPy

    names = inspect.signature(_preparation_options).parameters
    return preparing(**{name: values.pop(name) for name in names})


def _is_given(context, name):
    """Return whether the command line names an option."""
    return context.get_parameter_source(name).name == "COMMANDLINE"


def parse_parameters(docstring):
    """Read the section "Parameters" of a numpydoc docstring: type and description by name."""
    text = "\n" + inspect.cleandoc(docstring or "")
    section = text.partition("\nParameters\n----------\n")[2]
    section = re.split(r"\n.*\n---", section)[0]  # up to the title of the next section
    entries = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, description = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        entries |= dict.fromkeys(names.split(", "), (kind, " ".join(description.split())))
    return entries


def positive(value: float | None):
    """Return the value of an option if it is positive or not given."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not positive")
    return value


def _parameters(source, defaults=None, is_brief=False, only=None):
    """Return the parameters that a command line can express, with typer's annotations."""
    documented = parse_parameters(COMMON) | parse_parameters(source.__doc__)
    for parameter in inspect.signature(source).parameters.values():
        if only not in (None, parameter.name):
            continue
        kind, text = documented.get(parameter.name, ("", ""))
        default = (defaults or {}).get(parameter.name, parameter.default)
        annotation = _annotation(parameter.replace(default=default), kind, text, is_brief)
        if annotation is not None:
            yield parameter.replace(default=default, annotation=annotation)


def _annotation(parameter, kind, text, is_brief):
    """Return the type of an option or argument with its help; None if it cannot be typed."""
    name, default = parameter.name, parameter.default
    kind = re.split(r", (?:default|optional)", kind)[0]
    if name == "parameters":
        return object
    value_type, more = _value_type(kind)
    if value_type is None:
        return None
    if is_brief:
        text = re.split(r"(?<=\.)\s+(?=[A-Z])", text)[0]
    if parameter.kind != parameter.KEYWORD_ONLY and not is_brief:
        return Annotated[value_type, typer.Argument(help=text, show_default=False)]
    flag = f"--{name.replace('_', '-')}"
    flags = [f"{flag}/--no-{flag[2:]}" if default is True else flag]
    flags += [FLAGS[name]] if name in FLAGS else []
    is_shown = not any(default is hidden for hidden in (None, False, inf, parameter.empty))
    more |= {"help": text, "show_default": is_shown, "min": LEAST.get(name)}
    more |= {"callback": positive} if name in POSITIVE else {}
    value_type = value_type | None if default is None else value_type
    return Annotated[value_type, typer.Option(*flags, **more)]


def _value_type(kind):
    """Return the type that a documented type means to typer, and options for mixed types."""
    words = re.findall(r"""["']([\w-]+)["']""", kind)
    simple = {"bool": bool, "path": Path, "list of path": list[Path], "str": str}
    simple["list of str"] = list[str]
    if kind in simple:
        return simple[kind], {}
    number = next((t for t in (int, float) if re.search(rf"\b{t.__name__}\b", kind)), None)
    if number and not words:
        return number, {}
    if not words and not re.search(r"\bstr\b", kind):
        return None, {}
    metavar = "|".join([*(["NUMBER"] if number else []), *words])
    more = {"metavar": metavar} if words else {}
    return str, more | ({"callback": _number_or_word} if number else {})


def _number_or_word(value: str | None):
    """Convert "8" to the number 8; the estimator checks every other word."""
    return int(value) if value is not None and value.isdecimal() else value
