"""The command export: the learned map for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ...export.formats import FORMATS, Features, export_recall, nonzero_rows
from ...export.formats import export as write_map
from ...export.functions import DIALECTS
from ...metric.base import MapEstimator
from ...model.shell import map_of
from .declaration import command
from .models import load_model, read_columns
from .terminal import ExitCode, Report, errors_about, exit_codes, wrong_usage

CODES = exit_codes("done", "not used", "nothing is written")
#: Names of columns that are printed at most.
PRINTED = 12


@command(codes=CODES)
def export(
    model: Path,
    *,
    output: Path,
    to: Literal[
        "faiss", "npy", "onnx", "safetensors", "sentence-transformers", "sql", "torch"
    ] = "onnx",
    dtype: Literal["float32", "float64", "float16", "int8"] = "float32",
    dialect: Literal["duckdb", "pgvector"] = "duckdb",
    name: str = "frobmetric_map",
    recall: Path | None = None,
    target: str | None = None,
    header: bool = True,
) -> Report:
    """Write the learned map for another program.

    It is one matrix: a row of features times it gives the mapped row. To onnx and sql, a model of a
    table takes the columns as they are in the table, and fills gaps and encodes texts as transform
    does; the other formats expect prepared features, and say which.

    Parameters
    ----------
    output
        File to write; for sentence-transformers a new folder.
    to
        Format.
    dtype
        Precision of the weights; safetensors alone has int8.
    dialect
        Database of --to sql.
    name
        Name of the function of --to sql.
    recall
        Samples on which to measure how many of the 10 nearest neighbours the precision keeps.
    """
    if to not in FORMATS:
        hint = f"; it is a database: --to sql --dialect {to}" if to in DIALECTS else ""
        known = f"{to!r} is not a format; choose one of {', '.join(FORMATS)}"
        raise wrong_usage("--to", known + hint)
    if dtype not in FORMATS[to].dtypes:
        known = ", ".join(FORMATS[to].dtypes)
        raise wrong_usage("--dtype", f"{to} has no {dtype!r}; choose one of {known}")
    options = {"dialect": dialect, "name": name} if to == "sql" else {}
    estimator = load_model(model)
    # adapters and bridges map into a space that has its dimensions also where they are 0
    is_metric = isinstance(estimator, MapEstimator)
    facts: dict[str, Any] = {"output": str(output), "to": to, "dtype": dtype, "recall": None}
    if recall is not None:
        table = read_columns(estimator, recall, target, header)
        with errors_about(recall):
            facts["recall"] = export_recall(estimator, table.X, dtype=dtype)
    with errors_about(model):
        write_map(estimator, output, to, dtype=dtype, drop_zero_rows=is_metric, **options)
    learned = map_of(estimator)
    features, (n_components, n_features) = Features.of(learned), learned.components.shape
    rank = len(nonzero_rows(learned.components)) if is_metric else n_components
    facts |= {"n_components": rank, "n_features": n_features, "feature_names": features.names}
    text = f"{output}: {to}, {n_features} features to {rank}, {dtype}"
    if rank < n_components:
        text += f"; the metric has rank {rank}, all other components are 0 and left out"
    text += _expected(features, to, output)
    if recall is not None:
        text += f"\nrecall of the 10 nearest neighbours: {facts['recall']:.4f}"
    return Report(ExitCode.CERTIFIED, text, facts)


def _expected(features: Features, to: str, output: Path) -> str:
    """Return a line on the input of the written map; "" for features without names."""
    if features.names is None:
        return ""
    if features.preparation is not None and FORMATS[to].prepares:
        columns = [column.label for column in features.preparation.columns]
        return (
            f"\ntakes the {len(columns)} columns {_some(columns)} as they are in the table; fills "
            "gaps and encodes texts as transform does"
        )
    described = FORMATS[to].described
    place = f"{output}{described}" if described else f"{output}, in its header,"
    prepared = "" if features.preparation is None else "prepared "
    line = f"\nexpects {len(features.names)} {prepared}features in this order: "
    line += _some(features.names)
    if prepared:
        return f"{line}; gaps and texts must be filled first, as {place} says"
    return f"{line}; {place} says so too"


def _some(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > PRINTED else ""
    return ", ".join(names[:PRINTED]) + more
