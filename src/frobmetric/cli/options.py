"""The options of the command line; those of a fit are shared by the commands that fit."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from typing import Annotated

from .._extras import require

typer = require("typer", "cli")

FORMATS = "csv, tsv, parquet, npy or npz"


def exit_codes(done, undone, interrupted):
    """What the help of a command says of its exit codes."""
    return f"""\b
Exit codes:
  0    {done}
  2    wrong usage
  3    bad data
  4    {undone}
  130  interrupted by Ctrl-C; {interrupted}
"""


def positive(value: float | None):
    """The value of an option, if it is positive or not given."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not positive")
    return value


def _number_or_word(value: str | None):
    """What the estimator takes: "8" is the number 8; it judges all else itself."""
    return int(value) if value is not None and value.isdecimal() else value


Data = Annotated[Path, typer.Argument(help=f"Samples: a {FORMATS} file.", show_default=False)]
Model = Annotated[Path, typer.Argument(help="A model that `fit` wrote.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column of the labels: its name, or its number (from 0; -1 is the last). "
        "An npz file with X and y needs none.",
        show_default=False,
    ),
]
Header = Annotated[
    bool, typer.Option("--header/--no-header", help="Whether a csv file begins with names.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of everything that is random.")]
K = Annotated[int, typer.Option("--k", min=1, help="Neighbours that vote in the k-NN error.")]


def _fit_options(
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            show_default=False,
            help="Weight of the triplets against the regulariser; 10000 if not given.",
        ),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            "--cv",
            min=2,
            show_default=False,
            help="Choose C by cross-validation with so many folds.",
        ),
    ] = None,
    n_neighbors: Annotated[
        int, typer.Option("--neighbors", help="Neighbours of its class to draw near.")
    ] = 3,
    n_impostors: Annotated[
        int | None,
        typer.Option(
            "--impostors",
            show_default=False,
            help="Neighbours of other classes to push away; as --neighbors if not given.",
        ),
    ] = None,
    n_components: Annotated[
        str | None,
        typer.Option(
            "--components",
            callback=_number_or_word,
            show_default=False,
            help='Directions to keep: a number, or "rank"; all features if not given.',
        ),
    ] = None,
    loss: Annotated[
        str, typer.Option("--loss", help="hinge, smoothed_hinge or squared_hinge.")
    ] = "hinge",
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            show_default=False,
            help="Metric to stay close to: within, discriminant, covariance or identity; "
            "none if not given. The first three do not mind units of columns.",
        ),
    ] = None,
    pull: Annotated[
        float, typer.Option("--pull", help="Weight of the distances of near pairs themselves.")
    ] = 0.0,
    kernel: Annotated[
        str,
        typer.Option(
            "--kernel",
            help="linear, rbf or polynomial: a metric between what it maps "
            "samples to; the model then holds the samples.",
        ),
    ] = "linear",
    gamma: Annotated[
        float | None,
        typer.Option(
            "--gamma",
            show_default=False,
            help="Of the kernel; by number and variance of the features if not given.",
        ),
    ] = None,
    n_passes: Annotated[
        int, typer.Option("--passes", help="Find the neighbours and solve so many times.")
    ] = 1,
    tol: Annotated[float, typer.Option("--tol", help="Relative gap to reach.")] = 1e-3,
    max_iter: Annotated[
        int, typer.Option("--max-iter", help="Largest number of steps of a solve.")
    ] = 1000,
    solver: Annotated[
        str, typer.Option("--solver", help="Method by name; an unknown name lists them.")
    ] = "auto",
    n_jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            show_default=False,
            help="Most threads to use; as many as there are if not given.",
        ),
    ] = None,
):
    """The parameters of FrobMetric, in words; it checks the values itself."""


_SHARED = inspect.signature(_fit_options, eval_str=True).parameters
#: What the options of a fit are when none is given.
FIT_DEFAULTS = {name: parameter.default for name, parameter in _SHARED.items()}


def with_fit_options(command):
    """Add the options of a fit to a command, which gets them as one dictionary `parameters`."""
    own = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def run(**values):
        parameters = {name: values.pop(name) for name in _SHARED}
        return command(parameters=parameters, **values)

    both = [p for p in (*own.values(), *_SHARED.values()) if p.name != "parameters"]
    run.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in both])
    run.__annotations__ = {p.name: p.annotation for p in both}
    return run
