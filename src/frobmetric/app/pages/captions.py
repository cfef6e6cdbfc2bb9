"""Captions of samples: their names, and the values of the columns that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks.text import shown
from .importance import Importance

#: Number of columns whose values a card shows.
N_COLUMNS = 4
#: Longest text of a name or of a value.
LONGEST = 40


@dataclass(frozen=True)
class Column:
    """A column as users know it: a feature, or the features that are categories of one column.

    Attributes
    ----------
    label : str
    places : tuple of int
        Numbers of its features.
    categories : tuple of str or None
        What the features stand for; None for one number.
    """

    label: str
    places: tuple[int, ...]
    categories: tuple[str, ...] | None = None

    def texts(self, X: np.ndarray) -> list[str]:
        """Return the values of samples as texts."""
        if self.categories is None:
            return [number_text(value) for value in X[:, self.places[0]].tolist()]
        marks = X[:, self.places] > 0.5
        known = [shorten(name) for name in self.categories]
        first = np.where(marks.any(axis=1), marks.argmax(axis=1), len(known))
        return [[*known, "–"][k] for k in first.tolist()]


def number_text(value: float) -> str:
    """Return a number with four digits, whole ones and large ones without a point.

    Examples
    --------
    >>> from frobmetric.app.pages.captions import number_text
    >>> [number_text(x) for x in (3.0, 0.12345, 12345.6, 1e300)]
    ['3', '0.1235', '12346', '1e+300']
    """
    if abs(value) < 1e15 and (value == round(value) or abs(value) >= 1e4):
        return f"{value:.0f}"
    return f"{value:.4g}"


def shorten(name: Any) -> str:
    """Return a name as one short text."""
    text = shown(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def columns_of(model: Any, feature_names: Sequence[str]) -> list[Column]:
    """Return the columns of the table that a model was learned from, before its preparation."""
    preparation = getattr(model, "preparation_", None)
    if preparation is None or preparation.n_features != len(feature_names):
        return [Column(name, (j,)) for j, name in enumerate(feature_names)]
    columns, place = [], 0
    for column in preparation.columns:
        width = 1 if column.categories is None else len(column.categories)
        places = tuple(range(place, place + width))
        columns.append(Column(shown(column.label), places, column.categories))
        place += width
    return columns


def largest(columns: Sequence[Column], importance: Importance | None) -> list[int]:
    """Return the numbers of the columns with the largest shares; the first ones without shares."""
    if importance is None:
        return list(range(min(N_COLUMNS, len(columns))))
    shares = [abs(float(importance.after[list(column.places)].sum())) for column in columns]
    return np.argsort(-np.array(shares), kind="stable")[:N_COLUMNS].tolist()


def names_of(names: Any, n_samples: int) -> list[str] | None:
    """Return the names of all samples as texts; None if there are none."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object).ravel().tolist()
    if len(names) != n_samples:
        raise ValueError(
            f"names has {len(names)} names for {n_samples} samples; expected one for each sample, "
            "those of X_test after those of X"
        )
    return [shorten(name) for name in names]
