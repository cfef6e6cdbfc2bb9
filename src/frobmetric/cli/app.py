"""The command line: fit, transform, evaluate, certify, demo; the others are added below."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

from .._extras import require
from . import options
from . import sdp as sdp_cli
from . import unfold as unfold_cli
from .terminal import EXIT_CODES, ExitCode, Report, reports

typer = require("typer", "cli")

app = typer.Typer(
    help="Learn a distance, unfold a manifold or solve a semidefinite program, with a proof of "
    "how good the answer is.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is shorter, and wraps less
    pretty_exceptions_enable=False,
)


def main():
    """Run the command that the arguments of the process name."""
    app(prog_name="frobmetric")


def _print_version(wanted: bool):
    if wanted:
        from .. import __version__

        typer.echo(f"frobmetric {__version__}")
        raise typer.Exit


@app.callback()
def frobmetric(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
):
    pass


@app.command(epilog=EXIT_CODES)
@reports
@options.with_fit_options
def fit(
    data: options.Data,
    parameters,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model.")] = Path(
        "model.safetensors"
    ),
    target: options.Target = None,
    triplets: Annotated[
        Path | None,
        typer.Option(
            help="File of rows anchor, near, far (numbers of rows of the data, from 0) to learn "
            "from instead of labels; --target then only says which column is no feature.",
            show_default=False,
        ),
    ] = None,
    with_labels: Annotated[
        bool, typer.Option("--with-labels", help="Learn from the labels beside --triplets.")
    ] = False,
    keep_dual: Annotated[
        bool, typer.Option(help="Keep what `certify` needs to prove the model again.")
    ] = True,
    header: options.Header = True,
    seed: options.Seed = 0,
    as_json: options.Json = False,
):
    """Learn a metric from a table, and save it with its certificate."""
    from ..io.tables import read_table, read_triplets
    from . import fit as actions

    if triplets is not None and parameters["cv"]:
        raise typer.BadParameter("it needs labels, not --triplets", param_hint="--cv")
    actions.check_model_path(output)
    table = read_table(data, target, header=header)
    if triplets is None and table.y is None:
        raise typer.BadParameter("labels are needed, or --triplets", param_hint="--target")
    if with_labels and (triplets is None or table.y is None):
        raise typer.BadParameter("it needs --triplets and labels", param_hint="--with-labels")
    answers = {"y": table.y} if triplets is None or with_labels else {}
    if triplets is not None:
        answers["triplets"] = read_triplets(triplets)
    estimator = actions.make_estimator(parameters, keep_dual)
    return actions.fit_and_save(estimator, table, answers, output)


@app.command(epilog=EXIT_CODES)
@reports
def transform(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        Path, typer.Option("-o", "--output", help=f"A {options.FORMATS} file.", show_default=False)
    ],
    target: options.Target = None,
    header: options.Header = True,
    as_json: options.Json = False,
):
    """Map samples to where the metric is Euclidean.

    The column of --target is copied, so that the labels stay with their rows.
    """
    from ..io.tables import check_suffix, write_table
    from .fit import load_model, read_for

    check_suffix(output)
    estimator = load_model(model)
    table = read_for(estimator, data, target, header)
    mapped = replace(
        table,
        X=estimator.transform(table.frame()),
        feature_names=list(estimator.get_feature_names_out()),
    )
    is_name = target is not None and not target.lstrip("-").isdecimal()
    write_table(output, mapped, labels_name=target if is_name else "label")
    n_rows, n_columns = mapped.X.shape
    return Report(
        ExitCode.CERTIFIED,
        f"{output}: {n_rows} rows, {n_columns} columns",
        {"output": str(output), "n_rows": n_rows, "n_columns": n_columns},
    )


@app.command(epilog=EXIT_CODES)
@reports
@options.with_fit_options
def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] DATA",
            help="Labelled data, of which 30 % are held out to test a metric learned from the "
            "rest; or a model and data to test it on, with --train.",
            show_default=False,
        ),
    ],
    parameters,
    target: options.Target = None,
    train: Annotated[
        Path | None,
        typer.Option(help="With a model: the data to take neighbours from.", show_default=False),
    ] = None,
    k: options.K = 3,
    header: options.Header = True,
    seed: options.Seed = 0,
    as_json: options.Json = False,
):
    """Compare k-NN errors before and after, on held-out data."""
    *model, data = files
    if len(model) > 1 or data.suffix == ".safetensors" or bool(model) != (train is not None):
        raise typer.BadParameter(
            "expected `evaluate DATA` or `evaluate MODEL TEST_DATA --train TRAIN_DATA`"
        )
    from . import fit as actions

    if model and parameters != options.FIT_DEFAULTS:
        raise typer.BadParameter("options of a fit have no effect on a given model; leave them out")
    if model:
        parts = actions.given_parts(model[0], train, data, target, header)
    else:
        parts = actions.held_out_parts(data, target, header, parameters, seed)
    return actions.judge(*parts, k)


@app.command(epilog=EXIT_CODES)
@reports
def certify(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    tol: Annotated[
        float | None,
        typer.Option(
            min=0, help="Relative gap to demand; the model's own if not given.", show_default=False
        ),
    ] = None,
    header: options.Header = True,
    as_json: options.Json = False,
):
    """Prove a model again from the data it was learned from.

    Recomputes the certificate from the dual variables in the model, and compares it with the one
    that the file claims.
    """
    from .fit import prove_again

    return prove_again(model, data, target, header, tol)


@app.command(epilog=EXIT_CODES)
@reports
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the model and the figure.")
    ] = Path("frobmetric-demo"),
    seed: options.Seed = 0,
    as_json: options.Json = False,
):
    """Learn a metric on scikit-learn's digits, and show what it does."""
    from sklearn.datasets import load_digits

    from ..io.tables import Table
    from ..metric import FrobMetric
    from . import fit as actions
    from .evaluation import compare_by_folds

    table = Table(*load_digits(return_X_y=True))
    output.mkdir(parents=True, exist_ok=True)
    estimator = FrobMetric(keep_dual=True)
    fitted = actions.fit_and_save(estimator, table, {"y": table.y}, output / "model.safetensors")
    if fitted.code == ExitCode.INTERRUPTED:
        return fitted
    compared = compare_by_folds(estimator, table, seed=seed)
    figure = actions.draw(estimator, table, output / "metric.png")
    names = "model.safetensors" + (f" and {figure.name} are" if figure else " is")
    return Report(
        fitted.code,
        f"{fitted.text}\n\nEach digit judged by a metric that was learned without it (5 folds):\n"
        f"{compared}\n\n{names} in {output.resolve()}",
        compared.to_dict()
        | fitted.data
        | {"figure": figure and str(figure), "folder": str(output)},
    )


app.command(epilog=unfold_cli.CODES)(unfold_cli.unfold)
for command in entry_points(group="frobmetric.commands"):
    app.add_typer(command.load(), name=command.name)
app.add_typer(sdp_cli.app, name="sdp")
app.command(epilog=sdp_cli.NEAREST_CODES)(sdp_cli.correlation)
app.command(epilog=sdp_cli.NEAREST_CODES)(sdp_cli.covariance)
