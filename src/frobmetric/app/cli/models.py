"""Models and the tables that belong to them, read by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ...io import load
from ...io.preparation import ENCODINGS, FILLS, Preparing
from ...io.text import format_of
from ...model.linear_map import Features, LinearMap
from ..tables.reading import READERS, LabelledTable, Table, read_table
from .progress import live_progress
from .terminal import wrong_usage

#: Bytes of a file from which on its reading has a progress line.
LARGE = 1 << 23


def load_model(path: Path) -> Any:
    """Load a model whose `transform` returns arrays."""
    if format_of(path) in READERS and os.path.isfile(path):
        raise ValueError(
            f"{path} is a table; expected a model that `frobmetric fit` wrote; if the model stands "
            "in the place of the table, swap the two"
        )
    model = load(path)
    if isinstance(model, LinearMap):
        raise ValueError(
            f"{path} holds a map without its estimator; expected a model; save the estimator, or "
            "use it in Python: frobmetric.io.load_map(path).transform(X)"
        )
    return model.set_output(transform="default")


def labels_name(target: str | None) -> str:
    """Return the name of the column of labels in an output file."""
    return "label" if target is None or target.lstrip("-").isdecimal() else target


def split_names(text: str) -> list[str]:
    """Return the names in a text with commas."""
    return [name.strip() for name in text.split(",")]


def chosen_names(text: str | None) -> list[str] | None:
    """Return the names that an option lists; None without the option."""
    return None if text is None else split_names(text)


def preparing(
    columns: str | None,
    drop: str | None,
    impute: Literal["median", "mean"] | None,
    categories: Literal["one-hot"] | None,
) -> Preparing:
    """Return the recipe of a preparation of columns from the options of a command."""
    for option, value, known in (
        ("--impute", impute, list(FILLS)),
        ("--categories", categories, ENCODINGS),
    ):
        if value is not None and value not in known:
            raise wrong_usage(option, f"{value!r} is not known; expected {' or '.join(known)}")
    return Preparing(chosen_names(columns), chosen_names(drop), impute, categories)


def read_visibly(
    path: Path,
    target: str | None,
    *,
    large: int = LARGE,
    progress: Callable[[str, Callable[[Any], str]], AbstractContextManager[Any]] = live_progress,
    **options: Any,
) -> Table:
    """Read a table as `read_table` does, with a progress line if it is large."""
    is_large = os.path.isfile(path) and os.path.getsize(path) > large
    with progress(f"reading {path.name}", str) if is_large else nullcontext():
        return read_table(path, target, **options)


def reading_options(estimator: Any) -> dict[str, Any]:
    """Return the options of `read_table` for the columns that a model was learned from."""
    features: Features = estimator.map_.features
    if features.preparation is not None:
        return {"preparation": features.preparation}
    return {"features": features.names}


def read_features(
    estimator: Any, path: Path, target: str | None, header: bool, *, named: bool = False
) -> Table:
    """Read the columns that a model was learned from, with names if it was learned with names."""
    return of_model(estimator, read_columns(estimator, path, target, header, named=named))


def read_columns(
    estimator: Any, path: Path, target: str | None, header: bool, *, named: bool = False
) -> Table:
    """Read the columns that a model was learned from, with the names in the file.

    With `named` and without a target, the first other column names the rows.
    """
    options = reading_options(estimator) | {"named": named}
    table = read_visibly(path, target, header=header, **options)
    check_columns(estimator, table, path)
    return table


def require_labels(table: Table, path: Path, alternative: str = "") -> LabelledTable:
    """Return a table if it has labels; raise an error of usage if not."""
    if table.y is None:
        raise wrong_usage("--target", f"the labels of {path} are needed{alternative}")
    return LabelledTable(**{**vars(table), "y": table.y})


def check_columns(estimator: Any, table: Table, path: Path) -> None:
    """Raise ValueError unless a table has as many features as a model was learned from."""
    n_features = table.X.shape[1]
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"{path} has {n_features} columns of features; the model was learned from "
            f"{estimator.n_features_in_}. If one column holds labels, name it with --target"
        )


def of_model(estimator: Any, table: Table) -> Table:
    """Return a table with names if the model was learned with names."""
    is_named = estimator.map_.features.names is not None
    return table if is_named else replace(table, feature_names=None)
