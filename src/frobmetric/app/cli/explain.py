"""The command explain: by which features two rows are near or far."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ...model.linear_map import LinearMap
from ...runtime.tables import text_table
from ..tables.reading import Table
from .declaration import command
from .models import load_model, read_columns, split_names
from .terminal import ExitCode, Report, wrong_usage

#: Largest number of columns whose values are printed.
N_VALUES = 10


@command()
def explain(
    model: Path,
    data: Path,
    *,
    rows: str = "0,1",
    by: Literal["features", "components"] = "features",
    target: str | None = None,
    header: bool = True,
) -> Report:
    """Explain by which features two rows of a table are near or far.

    The squared distance that the model has learned is split exactly: the parts add up to it. Below
    them are the values of both rows, in the columns that matter most.

    Parameters
    ----------
    rows
        Numbers of the two rows, from 0, with a comma.
    by
        What to split the distance over; with a kernel, components only.
    """
    numbers = split_names(rows)
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise wrong_usage("--rows", f"{rows!r} is not two numbers of rows; expected such as 3,17")
    estimator = load_model(model)
    if not isinstance(estimator.map_, LinearMap):
        raise ValueError(
            f"{model} is an {type(estimator).__name__}, which maps vectors and has no distance to "
            "explain; expected a metric or an EmbeddingAdapter"
        )
    table = read_columns(estimator, data, target, header, named=True)
    X, pair = table.X, [int(number) for number in numbers]
    if max(pair) >= len(X):
        raise wrong_usage("--rows", f"{data} has {len(X)} rows, with the numbers 0 to {len(X) - 1}")
    names = table.feature_names if by == "features" else None
    found = estimator.explain(*X[pair], by=by, feature_names=names)
    parts = dict(zip(found.names, found.parts.tolist(), strict=True))
    names = None if table.y is None else [str(table.y[i]) for i in pair]
    values = _values_of(table, pair, parts if by == "features" else {})
    content = {"rows": pair, "squared_distance": found.total, "parts": parts}
    content |= {"names": names, "values": values}
    return Report(ExitCode.CERTIFIED, f"{found}\n\n{_values_text(pair, names, values)}", content)


def _values_of(table: Table, pair: list[int], parts: dict[str, float]) -> dict[str, list[str]]:
    """Return the values of two rows by column, with the largest parts first."""
    X, preparation = table.X[pair], table.preparation
    if preparation is None:
        names = table.feature_names or [f"x{j}" for j in range(X.shape[1])]
        columns = {name: [f"{x:.6g}" for x in X[:, j]] for j, name in enumerate(names)}
        sizes = {name: abs(parts.get(name, 0.0)) for name in columns}
    else:
        described = [dict(preparation.describe(row)) for row in X]
        columns = {name: [row[name] for row in described] for name in described[0]}
        features = {c.label: c.feature_names for c in preparation.columns}
        sizes = {
            name: max(abs(parts.get(feature, 0.0)) for feature in features[name])
            for name in columns
        }
    return {name: columns[name] for name in sorted(columns, key=lambda name: -sizes[name])}


def _values_text(pair: list[int], names: list[str] | None, values: dict[str, list[str]]) -> str:
    """Return the values of two rows as a table, of the first columns."""
    labels = ["" if names is None else f" ({name})" for name in names or pair]
    head = ["", *(f"row {i}{label}" for i, label in zip(pair, labels, strict=True))]
    rows = [[name, *cells] for name, cells in [*values.items()][:N_VALUES]]
    left = len(values) - len(rows)
    return text_table(head, rows) + (f"\n... and {left} more columns" if left else "")
