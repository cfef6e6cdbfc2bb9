"""The command export: the learned map for other programs."""

from __future__ import annotations

from .._environment import require
from ..io import load
from ..io.export import FORMATS, export_recall
from ..io.export import export as write_map
from .models import read_columns
from .options import command
from .terminal import ExitCode, Report, errors_about, exit_codes, wrong_usage

typer = require("typer", "cli")
app = typer.Typer()

CODES = exit_codes("done", "not used", "nothing is written")


@command(app, codes=CODES)
def export(
    model,
    *,
    output,
    to="onnx",
    dtype="float32",
    dialect="duckdb",
    name="frobmetric_map",
    recall=None,
    target=None,
    header=True,
):
    """Write the learned map for another program.

    It is one matrix: a row of features times it gives the mapped row.

    Parameters
    ----------
    output : path
        File to write; for sentence-transformers a new folder.
    to : str
        Format: faiss, npy, onnx, safetensors, sentence-transformers, sql or torch.
    dtype : str
        Precision of the weights: float32, float64, float16 or int8 (safetensors alone).
    dialect : str
        Database of sql: duckdb or pgvector.
    name : str
        Name of the function of sql.
    recall : path
        Samples on which to measure how many of the 10 nearest neighbours the precision keeps.
    """
    if to not in FORMATS:
        raise wrong_usage("--to", f"{to!r} is not a format; choose one of {', '.join(FORMATS)}")
    if dtype not in FORMATS[to].dtypes:
        known = ", ".join(FORMATS[to].dtypes)
        raise wrong_usage("--dtype", f"{to} has no {dtype!r}; choose one of {known}")
    options = {"dialect": dialect, "name": name} if to == "sql" else {}
    estimator = load(model)
    facts = {"output": str(output), "to": to, "dtype": dtype, "recall": None}
    if recall is not None:
        table = read_columns(estimator, recall, target, header)
        with errors_about(recall):
            facts["recall"] = export_recall(estimator, table.X, dtype=dtype)
    with errors_about(model):
        write_map(estimator, output, to, dtype=dtype, **options)
    n_components, n_features = estimator.components_.shape
    facts |= {"n_components": n_components, "n_features": n_features}
    text = f"{output}: {to}, {n_features} features to {n_components}, {dtype}"
    if recall is not None:
        text += f"\nrecall of the 10 nearest neighbours: {facts['recall']:.4f}"
    return Report(ExitCode.CERTIFIED, text, facts)
