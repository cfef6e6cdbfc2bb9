"""Reading csv, parquet, npy and npz; an error says which row and which column.

Each reader takes a path and a `Choice` of columns, and returns X, y (or None) and the names of
the features (or None).
"""

from __future__ import annotations

import csv
import zipfile
from array import array
from functools import partial
from itertools import chain

import numpy as np

from .._extras import require
from .columns import (
    Choice,
    as_labels,
    bad_cell,
    check_finite,
    check_not_empty,
    check_unique,
    parse_cells,
)

#: What pandas calls the row labels that it adds to a parquet file.
PANDAS_INDEX = "__index_level_"


def read_csv(path, choice):
    """A text file with a line of names; comma, semicolon or tab between the columns."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            rows = csv.reader(file, delimiter=max(",;\t", key=first.count))
            return _parse_csv(path, ((rows.line_num, row) for row in rows if row), choice)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}); save it as csv in UTF-8") from error
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as csv: {error}") from error


def read_parquet(path, choice):
    parquet = require("pyarrow.parquet", "cli")
    try:
        table = parquet.read_table(path)
    except (ValueError, OSError) as error:  # pyarrow's own errors are kinds of these
        raise ValueError(f"{path} cannot be read as parquet: {error}") from error
    names = [name for name in table.column_names if not name.startswith(PANDAS_INDEX)]
    check_unique(path, names)
    check_not_empty(path, table.num_rows)
    columns, target = choice.columns(path, names, len(names))
    kept = [names[j] for j in columns]
    X = np.column_stack([_arrow_numbers(path, table[name], name) for name in kept])
    y = None if target is None else _arrow_labels(path, table[names[target]], names[target])
    return X, y, kept


def read_npy(path, choice):
    return _from_arrays(path, _load_numpy(path), None, choice)


def read_npz(path, choice):
    """The arrays X and y, or one array; the target is a column of X or the name of an array."""
    with _load_numpy(path) as file:
        arrays = {name: file[name] for name in file.files}
    y = None
    if choice.target in arrays or (choice.target is None and "X" in arrays):
        y = arrays.pop(choice.target or "y", None)
        choice = Choice(None, choice.features)
    if "X" not in arrays and len(arrays) != 1:
        raise ValueError(f"{path} holds the arrays {sorted(arrays)}; expected X and y, or one")
    X = arrays["X"] if "X" in arrays else next(iter(arrays.values()))
    return _from_arrays(path, X, y, choice)


READERS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
}


def _parse_csv(path, records, choice):
    """`records` are pairs of a line number and the cells of that line."""
    head = next(records, None)
    if head is None:
        raise ValueError(f"{path} has only blank lines; expected column names and rows of numbers")
    width, names = len(head[1]), None
    if choice.header:
        names = [name.strip() for name in head[1]]
        _check_header(path, names)
    else:
        records = chain([head], records)
    columns, target = choice.columns(path, names, width)
    kept = [names[j] for j in columns] if names else None
    numbers, lines, labels = array("d"), array("q"), []
    for line, row in records:
        if len(row) != width:
            raise ValueError(f"{path}, line {line} has {len(row)} fields; the first has {width}")
        cells = [row[j] for j in columns]
        numbers.extend(parse_cells(cells, partial(_place, path, line, kept or columns)))
        lines.append(line)
        labels.append(None if target is None else row[target].strip())
    check_not_empty(path, len(lines))
    X = np.array(numbers).reshape(len(lines), -1)
    check_finite(X, lambda i, j: _place(path, lines[i], kept or columns, j))
    if target is None:
        return X, None, kept
    if "" in labels:
        raise ValueError(f"{path}, line {lines[labels.index('')]}: the label is missing")
    return X, as_labels(labels), kept


def _check_header(path, names):
    check_unique(path, names)
    unnamed = [j for j, name in enumerate(names) if not name]
    if unnamed:
        raise ValueError(
            f"{path}: column {unnamed[0]} has no name in line 1; name it, or remove it if it "
            "holds row labels (pandas: to_csv(index=False))"
        )
    numeric = [name for name in names if _is_fraction(name)]
    if numeric:
        raise ValueError(
            f"{path}: line 1 has the number {numeric[0]} where a column name is expected; add a "
            "line of names, or say that there is none (--no-header)"
        )


def _is_fraction(text):
    """Numbers like 5.1 are data; whole numbers can be names."""
    try:
        float(text)
    except ValueError:
        return False
    return not text.isdecimal()


def _place(path, line, names, j):
    return f"{path}, line {line}, column {names[j]!r}"


def _arrow_numbers(path, column, name):
    import pyarrow as pa

    def place(i, _=0):
        return f"{path}, row {i} (the first is 0), column {name!r}"

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if column.null_count:
        raise ValueError(bad_cell(place(column.is_null().to_pylist().index(True)), ""))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = np.array(parse_cells(column.to_pylist(), place))
    elif any(is_kind(kind) for is_kind in _arrow_number_kinds(pa.types)):
        values = column.cast(pa.float64(), safe=False).to_numpy()
    else:
        raise ValueError(f"{path}: column {name!r} holds {kind}; expected numbers")
    check_finite(values[:, None], place)
    return values


def _arrow_number_kinds(types):
    return types.is_integer, types.is_floating, types.is_boolean, types.is_decimal


def _arrow_labels(path, column, name):
    labels = column.to_pylist()
    if column.null_count:
        row = labels.index(None)
        raise ValueError(f"{path}, row {row} (the first is 0): the label {name!r} is missing")
    return as_labels(labels) if isinstance(labels[0], str) else np.array(labels)


def _load_numpy(path):
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} cannot be read as a NumPy file of numbers or text ({error})"
        ) from error


def _from_arrays(path, X, y, choice):
    if X.ndim != 2:
        raise ValueError(f"{path} holds an array of shape {X.shape}; expected (rows, columns)")
    check_not_empty(path, len(X))
    columns, target = choice.columns(path, None, X.shape[1])
    if target is not None:
        y = X[:, target]
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"{path}: y has shape {y.shape}; X has {len(X)} rows, so ({len(X)},)")
    X = _array_numbers(X[:, columns], lambda i, j: f"{path}, row {i}, column {columns[j]} (from 0)")
    return X, y, None


def _array_numbers(X, place):
    if X.dtype.kind in "US":
        text = X.astype(str)
        rows = [parse_cells(row, partial(place, i)) for i, row in enumerate(text.tolist())]
        X = np.array(rows)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"the array holds {X.dtype}; expected numbers")
    # single precision stays: a model of such data is of that precision too
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    check_finite(X, place)
    return X
