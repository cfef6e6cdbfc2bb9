"""Tables of samples: csv, tsv, parquet, npy and npz files, read into arrays and written.

Text and parquet files are read as arrow tables, column by column. Only when a column cannot be
converted is its first bad cell searched, so that the error can give line and column.
"""

from __future__ import annotations

import csv
import difflib
import io
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .._checks import first_true
from .._environment import replacing, require, target_file

#: Spellings of a missing number, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
#: Prefix of the columns in which pandas saves row labels.
PANDAS_INDEX = "__index_level_"
#: Bytes that are parsed at once; no line of a csv file may be longer.
BLOCK = 1 << 26


@dataclass(frozen=True)
class Table:
    """Samples X, labels y and names of the features, both None where the file has none."""

    X: np.ndarray
    y: np.ndarray | None = None
    feature_names: list[str] | None = None

    def dataframe(self):
        """Return X for an estimator, with its column names if there are any."""
        if self.feature_names is None:
            return self.X
        # scikit-learn takes names from data frames only; pandas is no dependency, pyarrow is
        return require("pyarrow", "cli").table(list(self.X.T), names=self.feature_names)

    def take(self, rows):
        """Return a table of these rows, in this order."""
        return Table(self.X[rows], None if self.y is None else self.y[rows], self.feature_names)


def read_table(path, target=None, *, features=None, header=True):
    """Read samples from a csv, tsv, parquet, npy or npz file as a `Table`.

    `target` is the name or number (from 0, -1 is the last) of the column of labels; in an npz file
    also the name of an array, and not needed for X and y. `features` are the names of the feature
    columns, in this order, all but the target if None; files without names give all their columns.
    `header` tells whether the first line of a csv file holds the column names. The message of an
    error names the file, the line and the column of the first mistake.
    """
    path = Path(path)
    check_input(path, READERS)
    features = None if features is None else list(features)
    return READERS[path.suffix.lower()](path, target, features, header)


def read_triplets(path):
    """Read rows (anchor, near, far) of row numbers; a csv file may have a header or not."""
    path = Path(path)
    is_text = path.suffix.lower() in DELIMITERS and path.is_file()
    X = read_table(path, header=is_text and any(map(str.isalpha, _first_line(path)))).X
    if X.shape[1] != 3:
        raise ValueError(f"{path} has {X.shape[1]} columns; expected anchor, near, far")
    triplets = X.astype(np.intp)
    if (triplets != X).any():
        i, j = first_true(triplets != X)
        place = f"{path}, triplet {i} (the first is 0)"
        raise ValueError(f"{place}: {X[i, j]} is not a row number; expected whole numbers from 0")
    return triplets


def write_table(path, table, *, labels_name="label"):
    """Write samples to a csv, tsv, parquet, npy or npz file; an npy file holds no labels."""
    path = Path(path)
    check_output(path)
    names = [*(table.feature_names or (f"x{j}" for j in range(table.X.shape[1])))]
    columns = [*table.X.T]
    if table.y is not None:
        names, columns = [*names, labels_name], [*columns, table.y]
    with replacing(path) as file:
        match path.suffix.lower():
            case ".npy":
                np.save(file, table.X, allow_pickle=False)
            case ".npz":
                np.savez(file, X=table.X, **({} if table.y is None else {"y": table.y}))
            case ".parquet":
                arrow, parquet = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
                parquet.write_table(arrow.table(columns, names=names), file)
            case suffix:
                rows = zip(*(column.tolist() for column in columns), strict=True)
                write_csv(file, [names, *rows], DELIMITERS[suffix])


def check_input(path, suffixes=()):
    """Raise an error unless the path is a file with data, of one of these formats if given."""
    _check_suffix("read", path, suffixes)
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {problem}; check its name (in {path.parent.resolve()})")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; expected rows of numbers")


def check_output(path, suffixes=None):
    """Raise an error unless a file of one of these formats, or a table, can be written there."""
    _check_suffix("write", path, READERS if suffixes is None else suffixes)
    target_file(path)


def _check_suffix(verb, path, known):
    if known and path.suffix.lower() not in known:
        given = f"of format {path.suffix!r}" if path.suffix else "without a suffix"
        known = ", ".join(known)
        raise ValueError(f"cannot {verb} {path}: a file {given}; expected one of {known}")


def csv_records(path):
    """Yield (line number, cells) for each record of a text file; blank lines are skipped."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, delimiter=_delimiter(path))
            yield from ((rows.line_num, row) for row in rows if row)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}); save it as csv in UTF-8") from error
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as csv: {error}") from error


def write_csv(file, rows, delimiter=","):
    """Write rows of texts and numbers to a binary file; numbers are read back exactly."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    text.detach()  # closing it would close the file


def load_arrays(path):
    """Load the arrays of an npz file, or an npy file as X; Python objects are refused."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"X": loaded}
        with loaded:
            return dict(loaded)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        expected = "a NumPy file of numbers or text"
        raise ValueError(f"{path} cannot be read as {expected} ({error})") from error


def _read_csv(path, target, features, header):
    arrow, reader = require("pyarrow", "cli"), require("pyarrow.csv", "cli")
    _, head = next(csv_records(path), (0, None))
    if head is None:
        raise ValueError(f"{path} has only blank lines; expected column names and rows of numbers")
    names = [name.strip() for name in head] if header else None
    _check_header(path, names or [])
    keys = [str(j) for j in range(len(head))]
    try:
        table = reader.read_csv(
            path,
            reader.ReadOptions(column_names=keys, block_size=BLOCK),
            reader.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
            reader.ConvertOptions(column_types=dict.fromkeys(keys, arrow.string())),
        )
    except arrow.ArrowInvalid as error:
        check_widths(path, csv_records(path))
        raise ValueError(f"{path} cannot be read as csv: {error}") from error

    def place(column, i):
        lines = (line for line, _ in csv_records(path))
        line = next(line for k, line in enumerate(lines) if k == i + header)
        return f"{path}, line {line}, column {column!r}"

    return _from_arrow(path, table.slice(header), names, target, features, place)


def _read_parquet(path, target, features, header):
    try:
        table = require("pyarrow.parquet", "cli").read_table(path)
    except (ValueError, OSError) as error:  # pyarrow's errors are subclasses of these
        raise ValueError(f"{path} cannot be read as parquet: {error}") from error
    table = table.select([name for name in table.column_names if PANDAS_INDEX not in name])
    _check_unique(path, table.column_names)

    def place(column, i):
        return f"{path}, row {i} (the first is 0), column {column!r}"

    return _from_arrow(path, table, table.column_names, target, features, place)


def _read_numpy(path, target, features, header):
    """Read the arrays X and y, or one array; the target is a column or the name of an array."""
    arrays, y = load_arrays(path), None
    if target in arrays or (target is None and "X" in arrays):
        y, target = arrays.pop(target or "y", None), None
    if "X" not in arrays and len(arrays) != 1:
        raise ValueError(f"{path} holds the arrays {sorted(arrays)}; expected X and y, or one")
    X = arrays.get("X", next(iter(arrays.values())))
    if X.ndim != 2:
        raise ValueError(f"{path} holds an array of shape {X.shape}; expected (rows, columns)")
    columns, label = _choose_columns(path, None, X.shape, target, None)
    y = y if label is None else X[:, label]
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"{path}: y has shape {y.shape}; X has {len(X)} rows, so ({len(X)},)")
    X = _array_numbers(X[:, columns], lambda i, j: f"{path}, row {i}, column {columns[j]} (from 0)")
    return Table(X, y)


def _array_numbers(X, place):
    if X.dtype.kind in "US":
        cells = X.astype(str).ravel().tolist()
        X = _parse_cells(cells, lambda k: place(*divmod(k, X.shape[1]))).reshape(X.shape)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"the array holds {X.dtype}; expected numbers")
    # single precision is kept, so that a model of such data has the same precision
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if not np.isfinite(X).all():
        i, j = first_true(~np.isfinite(X))
        raise ValueError(_bad_cell(place(i, j), str(float(X[i, j]))))
    return X


def _from_arrow(path, table, names, target, features, place):
    """Return the chosen columns of an arrow table; `place(column, i)` names a cell in an error."""
    columns, label = _choose_columns(path, names, table.shape, target, features)
    shown = names or range(table.num_columns)
    X = np.column_stack([_arrow_numbers(table[j], partial(place, shown[j])) for j in columns])
    y = None if label is None else _arrow_labels(table[label], partial(place, shown[label]))
    return Table(X, y, names and [names[j] for j in columns])


def _arrow_numbers(column, place):
    arrow, compute = require("pyarrow", "cli"), require("pyarrow.compute", "cli")
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        raise ValueError(_bad_cell(place(column.is_null().to_pylist().index(True)), ""))
    is_text = arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type)
    try:
        trimmed = compute.utf8_trim_whitespace(column) if is_text else column
        values = trimmed.cast(arrow.float64(), safe=False).to_numpy()
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        if not is_text:
            raise ValueError(f"{place(0)} holds {column.type}; expected numbers") from error
        values = _parse_cells(column.to_pylist(), place)
    return _array_numbers(values[:, None], lambda i, _: place(i))[:, 0]


def _arrow_labels(column, place):
    labels = column.to_pylist()
    labels = [label.strip() if isinstance(label, str) else label for label in labels]
    for missing in (None, ""):
        if missing in labels:
            raise ValueError(f"{place(labels.index(missing))}: the label is missing")
    for kind in (int, float) if isinstance(labels[0], str) else ():
        try:  # as numbers if all of them are, so that 1 in one file is 1 in another
            return np.array([kind(label) for label in labels])
        except (ValueError, OverflowError):
            continue
    return np.array(labels)


def as_number(text):
    """Convert a text to a number, NaN for a missing one; None if it is no number."""
    if text.strip().lower() in MISSING:
        return np.nan
    try:
        return None if "_" in text else float(text)  # float() reads 1_2 as 12
    except ValueError:
        return None


def _parse_cells(cells, place):
    """Convert texts to finite numbers; `place(i)` names the i-th cell in an error."""
    numbers = [as_number(cell) for cell in cells]
    for i, number in enumerate(numbers):
        if number is None or not np.isfinite(number):
            raise ValueError(_bad_cell(place(i), cells[i]))
    return np.array(numbers)


def _bad_cell(place, text):
    """Return the error message for a cell that is not a finite number."""
    text = text.strip()
    if text.lower() in MISSING:
        shown = f" ({text!r})" if text else ""
        return f"{place}: the value is missing{shown}; fill it in or remove the row"
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{place}: the value is infinite; expected a finite number"
    if as_number(text.replace(",", ".", 1)) is not None:
        return f"{place}: {text!r} has a decimal comma; expected a decimal point"
    advice = "Encode the column as numbers or remove it; if it holds the labels, name it (--target)"
    return f"{place}: {text!r} is text; expected a number. {advice}"


def _choose_columns(path, names, shape, target, features):
    """Return the numbers of the feature columns, and of the target column or None."""
    n_rows, width = shape
    label = None if target is None else _find_column(path, names, width, target)
    if features is not None and names is not None:
        columns = [_find_column(path, names, 0, name) for name in features]
    else:
        columns = [j for j in range(width) if j != label]
    if not columns:
        raise ValueError(f"{path} has no column but the target; features are needed too")
    if n_rows == 0:
        raise ValueError(f"{path} has no rows of data; expected at least one")
    return columns, label


def _find_column(path, names, width, wanted):
    """Return the number of a column given by its name or its number; -1 is the last."""
    if names is not None and wanted in names:
        return names.index(wanted)
    if wanted.lstrip("-").isdecimal() and width:
        if not -width <= int(wanted) < width:
            raise ValueError(f"{path} has no column {wanted}; its columns are 0 to {width - 1}")
        return int(wanted) % width
    if names is None:
        hint = f"give a column number from 0 to {width - 1}"
        raise ValueError(f"{path} has no column names, so {wanted!r} cannot be found; {hint}")
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), lower, n=1, cutoff=0.5)
    hint = f"; did you mean {lower[close[0]]!r}?" if close else "."
    some = ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
    raise ValueError(f"{path} has no column {wanted!r}{hint} Its columns are: {some}")


def _check_header(path, names):
    _check_unique(path, names)
    if "" in names:
        raise ValueError(
            f"{path}: column {names.index('')} has no name in line 1; name it, or remove it if it "
            "holds row labels (pandas: to_csv(index=False))"
        )
    for name in names:  # 5.1 is data; 5 can be a name
        if not name.isdecimal() and np.isfinite(np.float64(as_number(name))):
            raise ValueError(
                f"{path}: line 1 has the number {name} where a column name is expected; add a line "
                "of names, or say that there is none (--no-header)"
            )


def _check_unique(path, names):
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(
                f"{path}: {count} columns are named {name!r}; names must differ (if the file has "
                "no line of names, say so: --no-header)"
            )


def check_widths(path, records):
    """Raise ValueError unless all (line number, cells) have as many cells as the first."""
    width = None
    for line, row in records:
        width = width or len(row)
        if len(row) != width:
            raise ValueError(f"{path}, line {line} has {len(row)} fields; the first has {width}")


def _first_line(path):
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.readline()


def _delimiter(path):
    return max(",;\t", key=_first_line(path).count)


READERS = dict.fromkeys(DELIMITERS, _read_csv) | {".parquet": _read_parquet}
READERS |= dict.fromkeys((".npy", ".npz"), _read_numpy)
