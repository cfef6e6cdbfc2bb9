"""Preparation of the columns of a table for learning, kept in the file of the model.

Columns are chosen, missing numbers are filled in, and texts become one feature for each category.
Units of the features are no part of it: those belong to the metric (`units`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..core.warning import warn_user
from ..runtime.progress import advance

#: How missing numbers are filled in, and how texts are encoded.
FILLS: dict[str, Any] = {"median": np.median, "mean": np.mean}
ENCODINGS = ("one-hot",)
#: Largest number of categories of a column; more are names or numbers of rows.
MOST_CATEGORIES = 100


@dataclass(frozen=True)
class PreparedColumn:
    """A column: its name or number, what replaces missing cells, and its categories if it has any.

    The number is that among the columns without the labels, and the name None where files have no
    names. `categories` is None for a column of numbers.
    """

    name: str | None
    number: int
    fill: float | str | None = None
    categories: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        is_number = self.categories is None and not isinstance(self.fill, str)
        is_filled = self.fill is None or (
            self.categories is not None and self.fill in self.categories
        )
        if self.number < 0 or not (is_number or (self.categories and is_filled)):
            raise ValueError(f"column {self.label!r:.40} is neither of numbers nor of categories")

    @property
    def label(self) -> str:
        return f"x{self.number}" if self.name is None else self.name

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that the column becomes."""
        values = self.categories
        return [self.label] if values is None else [f"{self.label}={value}" for value in values]


@dataclass(frozen=True)
class TablePreparation:
    """The columns that a model was learned from, in order, and what is done to them.

    Parameters
    ----------
    columns : tuple of PreparedColumn
    """

    columns: tuple[PreparedColumn, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a preparation has no columns")

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the prepared features; None if they are columns without names."""
        names = [name for column in self.columns for name in column.feature_names]
        is_plain = all(column.name is None and column.categories is None for column in self.columns)
        return None if is_plain else names

    @property
    def n_features(self) -> int:
        return sum(1 if c.categories is None else len(c.categories) for c in self.columns)

    def apply(self, block: Any, columns: list[int]) -> np.ndarray:
        """Return the features of a block of rows, whose columns without labels are given."""
        places = [_place(block, columns, column) for column in self.columns]
        parts = []
        for j, column in zip(places, self.columns, strict=True):
            parts.append((_encode if column.categories else _fill)(block, j, column))
            advance(1, "columns")
        return np.column_stack(parts)

    def describe(self, row: Any) -> list[tuple[str, str]]:
        """Return names and values of the columns, as texts, from the features of one row."""
        values, described = iter(row.tolist()), []
        for column in self.columns:
            if column.categories is None:
                text = f"{next(values):.6g}"
            else:
                marks = [next(values) for _ in column.categories]
                known = [v for v, mark in zip(column.categories, marks, strict=True) if mark]
                text = known[0] if known else "–"
            described.append((column.label, text))
        return described

    def to_fields(self) -> list[dict[str, Any]]:
        """Return plain values for readers of exported files."""
        return [asdict(column) for column in self.columns]


@dataclass(frozen=True)
class Preparing:
    """Recipe by which a `TablePreparation` is learned from a table.

    `columns` are the only ones to take, `drop` those to leave out, both by name or number; `impute`
    tells how missing numbers are filled in, `categories` how texts are encoded; None refuses them.
    """

    columns: list[str] | None = None
    drop: list[str] | None = None
    impute: str | None = None
    categories: str | None = None

    def learn(self, block: Any, columns: list[int]) -> TablePreparation | None:
        """Return the preparation of the table whose columns without labels are given."""
        if self == Preparing():
            return None
        chosen = columns if self.columns is None else [block.find(name) for name in self.columns]
        dropped = [block.find(name) for name in self.drop or ()]
        for j in (*chosen, *dropped):
            if j not in columns:
                raise ValueError(
                    f"{block.path}: column {_name(block, j)!r} holds the labels (--target), and is "
                    "no feature; leave it out of --columns and --drop"
                )
        kept = [j for j in dict.fromkeys(chosen) if j not in dropped]
        if not kept:
            raise ValueError(f"{block.path} has no column left; --drop fewer of them")
        return TablePreparation(tuple(self._learn_column(block, columns, j) for j in kept))

    def _learn_column(self, block: Any, columns: list[int], j: int) -> PreparedColumn:
        name, number = block.names and block.names[j], columns.index(j)
        if self.categories is not None and block.is_text(j):
            counts = Counter(text for text in block.texts(j) if text is not None)
            if len(counts) > MOST_CATEGORIES:
                raise ValueError(
                    f"{block.path}: column {_name(block, j)!r} has {len(counts)} different texts; "
                    f"expected at most {MOST_CATEGORIES} categories; leave it out (--drop "
                    f"{_name(block, j)})"
                )
            fill = counts.most_common(1)[0][0] if self.impute else None
            return PreparedColumn(name, number, fill, tuple(sorted(counts)))
        if self.impute is None:
            return PreparedColumn(name, number)
        values = block.numbers(j, missing=True)
        known = values[~np.isnan(values)]
        if not len(known):
            raise ValueError(
                f"{block.path}: column {_name(block, j)!r} has no number at all; leave it out "
                f"(--drop {_name(block, j)})"
            )
        return PreparedColumn(name, number, float(FILLS[self.impute](known)))


@dataclass(frozen=True)
class PreparingWithGaps(Preparing):
    """Recipe that keeps missing numbers as NaN."""

    def learn(self, block: Any, columns: list[int]) -> TablePreparation:
        """Return the preparation of the table whose columns without labels are given."""
        named = self.columns or [_name(block, j) for j in columns]
        learned = Preparing(named, self.drop).learn(block, columns)
        assert learned is not None  # columns are given
        for j in (columns[column.number] for column in learned.columns):
            if block.is_text(j):
                name = _name(block, j)
                raise ValueError(
                    f"{block.path}: column {name!r} holds texts; expected numbers; leave it out "
                    f"(--drop {name})"
                )
        return TablePreparation(tuple(replace(c, fill=float("nan")) for c in learned.columns))


def _name(block: Any, j: int) -> str:
    return str(j) if block.names is None else block.names[j]


def _place(block: Any, columns: list[int], column: PreparedColumn) -> int:
    """Return the number of a column of the model in a block."""
    if column.name is None:
        if column.number < len(columns):
            return columns[column.number]
        raise ValueError(
            f"{block.path} has {len(columns)} columns of features; the model needs column "
            f"{column.number} (from 0, without labels)"
        )
    if block.names is None:
        raise ValueError(
            f"{block.path} has no column names, and the model was learned from columns by name, "
            f"such as {column.name!r}; give a file with names"
        )
    if column.name not in block.names:
        block.find(column.name if not column.name.isdecimal() else f" {column.name}")
    return block.names.index(column.name)


def _fill(block: Any, j: int, column: PreparedColumn) -> np.ndarray:
    """Return a column of numbers without gaps."""
    if column.fill is None:
        return block.numbers(j)
    values = block.numbers(j, missing=True)
    return np.where(np.isnan(values), values.dtype.type(column.fill), values)


def _encode(block: Any, j: int, column: PreparedColumn) -> np.ndarray:
    """Return one column of zeros and ones for each category; an unknown one has only zeros."""
    texts, categories = block.texts(j), column.categories or ()
    if None in texts and column.fill is None:
        place = block.place(j, texts.index(None))
        raise ValueError(f"{place}: the value is missing; fill it in or remove the row")
    texts = [column.fill if text is None else text for text in texts]
    unknown = Counter(text for text in texts if text not in categories)
    if unknown:
        _tell_unknown(block, column, unknown, len(texts))
    return np.array([[text == value for value in categories] for text in texts], float)


def _tell_unknown(block: Any, column: PreparedColumn, unknown: Counter[str], n_rows: int) -> None:
    some = ", ".join(repr(text) for text, _ in unknown.most_common(3))
    about = f"{block.path}: column {column.label!r} holds {some}"
    if unknown.total() == n_rows:
        known = ", ".join(map(repr, (column.categories or ())[:5]))
        raise ValueError(
            f"{about}, and none of the categories that the model knows: {known}; expected a column "
            "of the same kind as in the data of the fit"
        )
    warn_user(
        f"{about} in {unknown.total()} of {n_rows} rows, which the data of the fit did not hold; "
        "they count as none of the categories"
    )
