"""Columns and cells of tables, whatever the file: which are wanted, what is wrong with one."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

import numpy as np

#: How files spell that a number is missing, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")


@dataclass(frozen=True)
class Choice:
    """Which columns of a table are wanted.

    `target` is the name or number of the labels' column; `features` are the names of the others,
    all of them if None; without `header` a csv file has no line of names.
    """

    target: str | None = None
    features: tuple[str, ...] | None = None
    header: bool = True

    def columns(self, path, names, width):
        """The numbers of the feature columns, and of the target's or None."""
        target = None if self.target is None else find_column(path, names, width, self.target)
        if self.features is not None and names is not None:
            return [_named(path, names, name) for name in self.features], target
        columns = [j for j in range(width) if j != target]
        if not columns:
            raise ValueError(f"{path} has no column but the target; features are needed too")
        return columns, target


def find_column(path, names, width, wanted):
    """The number of a column given by its name or its number; -1 is the last."""
    if names is not None and wanted in names:
        return names.index(wanted)
    try:
        number = int(wanted)
    except ValueError:
        if names is None:
            raise ValueError(
                f"{path} has no column names, so {wanted!r} cannot be found; give a column number "
                f"from 0 to {width - 1}"
            ) from None
        return _named(path, names, wanted)
    if not -width <= number < width:
        raise ValueError(f"{path} has no column {number}; its {width} columns are 0 to {width - 1}")
    return number % width


def parse_cells(cells, place):
    """The numbers that texts say; `place(i)` names the i-th cell in an error."""
    try:
        if "_" in "".join(cells):
            raise ValueError  # float() reads 1_2 as 12
        return [float(cell) for cell in cells]
    except ValueError:
        bad = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        raise ValueError(bad_cell(place(bad), cells[bad])) from None


def bad_cell(place, text):
    """What to say of a cell that is not a number."""
    text = text.strip()
    if text.lower() in MISSING:
        shown = f" ({text!r})" if text else ""
        return f"{place}: the value is missing{shown}; fill it in or remove the row"
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{place}: the value is infinite; expected a finite number"
    if _is_number(text.replace(",", ".", 1)):
        return f"{place}: {text!r} has a decimal comma; expected a decimal point"
    return (
        f"{place}: {text!r} is text; expected a number. Encode the column as numbers or remove "
        "it; if it holds the labels, name it as the target (--target)"
    )


def check_finite(X, place):
    """Raise ValueError at the first NaN or infinity; `place(i, j)` names it."""
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0].tolist()
        raise ValueError(bad_cell(place(i, j), str(float(X[i, j]))))


def check_not_empty(path, n_rows):
    if n_rows == 0:
        raise ValueError(f"{path} has no rows of data; expected at least one")


def check_unique(path, names):
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count == 0:
        raise ValueError(f"{path} has no columns")
    if count > 1:
        raise ValueError(
            f"{path}: {count} columns are named {name!r}; names must differ (if the file has no "
            "line of names, say so: --no-header)"
        )


def as_labels(texts):
    """Integers or numbers if all texts are that: then 1 in one file is 1 in another."""
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except (ValueError, OverflowError):
            continue
    return np.array(texts)


def _named(path, names, wanted):
    if wanted in names:
        return names.index(wanted)
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), lower, n=1, cutoff=0.5)
    nearest = f"; did you mean {lower[close[0]]!r}?" if close else "."
    some = ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
    raise ValueError(f"{path} has no column {wanted!r}{nearest} Its columns are: {some}")


def _is_number(text):
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
