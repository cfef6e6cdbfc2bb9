"""The commands for nearest matrices: correlation and covariance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite, sqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ...core import PSD
from ...core.solution import Step
from ...io.preparation import PreparingWithGaps
from ...io.text import as_number, format_of
from ...sdp import nearest_correlation, nearest_covariance, pairwise_correlation
from ...sdp.construct import SENSES
from ...sdp.nearest import NearestMatrix
from ..tables.matrices import (
    SUFFIXES,
    LabelledMatrix,
    as_numbers,
    read_array,
    read_cells,
    read_matrix,
    write_matrix,
)
from ..tables.reading import STANDARD, check_output
from .declaration import NearestLimits, command
from .models import chosen_names, read_visibly
from .progress import live_progress
from .terminal import ExitCode, Report, exit_codes, wrong_usage

CODES = exit_codes(
    "done; the matrix is the nearest one to --tol", "not converged", "nothing is written"
)


@command(nearest_correlation, codes=CODES)
def correlation(
    file: Path,
    parameters: NearestLimits,
    *,
    output: Path,
    from_rows: bool = False,
    columns: str | None = None,
    drop: str | None = None,
    header: bool = True,
    weights: Path | None = None,
    elementwise: Path | None = None,
    counts: Path | None = None,
    fixed: Path | None = None,
    lower: str | None = None,
    upper: str | None = None,
) -> Report:
    """Find the nearest correlation matrix.

    Its diagonal is 1, and no eigenvalue is below --min-eigenvalue. With --from-rows the file is a
    table of samples, which may have gaps: the correlation of two columns is that of the rows in
    which both have a number, and counts by the number of these rows.

    Parameters
    ----------
    from_rows
        The file has the rows of a table (csv, tsv, csv.gz, tsv.gz, parquet, npy or npz), and not a
        matrix.
    columns
        With --from-rows: only these columns, names or numbers from 0, with commas.
    drop
        With --from-rows: columns to leave out, names or numbers from 0, with commas.
    header
        With --from-rows: whether a csv file begins with a line of names.
    weights
        File of n positive weights, one on each line, after labels or not; or of a positive
        definite matrix W. Minimises |W^(1/2) (X - G) W^(1/2)|.
    elementwise
        File of a matrix H >= 0: minimises |H o (X - G)|, entry by entry. Where H is 0 the data may
        be missing. Slower.
    counts
        File of a matrix of the numbers of rows behind the entries, as pairwise data have them:
        these are the weights, and entries of the data may be missing.
    fixed
        csv file of entries to keep: two labels, or numbers from 0, on each line, below a line
        `row,column` or not.
    lower, upper
        Bound on the entries off the diagonal: a number, or a file of a matrix, empty where there
        is no bound.
    """
    if parameters["min_eigenvalue"] >= 1:
        raise wrong_usage("--min-eigenvalue", "it must be below 1")
    if sum(path is not None for path in (weights, elementwise, counts)) > 1:
        raise wrong_usage("--elementwise", "give it, --weights or --counts, not several")
    if from_rows and counts is not None:
        raise wrong_usage("--counts", "they are those of the rows with --from-rows; leave it out")
    of_tables = {"--columns": columns, "--drop": drop, "--no-header": not header}
    for option in [] if from_rows else filter(of_tables.get, of_tables):
        raise wrong_usage(option, "it is for tables: --from-rows")
    _check_output(output)
    if from_rows:
        recipe = PreparingWithGaps(chosen_names(columns), chosen_names(drop))
        matrix, behind = _from_rows(file, header, recipe)
    else:
        matrix, behind = read_matrix(file), None
    H, N = (
        None if path is None else read_matrix(path).in_order_of(matrix).require_known().values
        for path in (elementwise, counts)
    )
    N = behind if H is None and weights is None and N is None else N
    is_free = None if H is None else H == 0
    is_free = is_free if N is None else np.isnan(matrix.values)
    hint = ", or give it the weight 0 by --elementwise, or the rows behind each entry by --counts"
    matrix.require_symmetric(hint, is_free)
    given = {
        "weights": weights and _read_weights(weights, matrix),
        "elementwise": H,
        "counts": N,
        "fixed": fixed and _read_pairs(fixed, matrix),
        "bounds": (_bound("--lower", lower, matrix), _bound("--upper", upper, matrix)),
    }
    report = _find_nearest(nearest_correlation, matrix, output, given | parameters)
    return report if behind is None else _with_counts(report, behind)


@command(nearest_covariance, codes=CODES)
def covariance(
    file: Path, parameters: NearestLimits, *, output: Path, constraints: Path | None = None
) -> Report:
    r"""Find the nearest covariance matrix, with given variances.

    \b
    A file of --constraints has one line for each portfolio a whose variance
    a.T X a is given. Where the data have labels, the columns have their names,
    and those left out are 0:
      sense,b,steel,oil
      =,0.04,1,0
      <=,0.01,0.5,0.5
    Where they have none, there is a column for each variable, in order.

    Parameters
    ----------
    constraints
        csv file of rows a.T X a = b: see above.
    """
    _check_output(output)
    matrix = read_matrix(file).require_symmetric()
    rows = {} if constraints is None else _read_portfolios(constraints, matrix)
    return _find_nearest(nearest_covariance, matrix, output, rows | parameters)


def _with_counts(report: Report, counts: np.ndarray) -> Report:
    """Return the report with the numbers of rows behind the entries."""
    least, most = int(counts.min()), int(counts.max())
    text = f"from rows            {least} to {most} of them have both columns of an entry"
    data = report.data | {"counts": [least, most]}
    return replace(report, text=f"{report.text}\n{text}", data=data)


def _check_output(path: Path) -> None:
    if str(path) != STANDARD:
        check_output(path, SUFFIXES)


def _from_rows(
    path: Path, header: bool, recipe: PreparingWithGaps
) -> tuple[LabelledMatrix, np.ndarray]:
    """Return the correlations of the columns of a table, with gaps or not, and their counts."""
    table = read_visibly(path, None, header=header, preparation=recipe)
    values, counts = pairwise_correlation(table.X)
    assert table.preparation is not None  # what the recipe learned
    names = [column.label for column in table.preparation.columns]
    shown = Path("stdin") if str(path) == STANDARD else path
    return LabelledMatrix(values, shown, names, "", True), counts


def _find_nearest(
    find: Callable[..., NearestMatrix],
    matrix: LabelledMatrix,
    output: Path,
    arguments: dict[str, Any],
) -> Report:
    def describe(step: Step) -> str:  # the dual is a lower bound on half the squared distance
        return f"distance at least {sqrt(2 * max(0.0, step.dual)):.6g}"

    began, G = perf_counter(), matrix.values
    with live_progress("solving", describe) as callback:
        nearest = find(G, **arguments, callback=callback)
    seconds, cone, bound = perf_counter() - began, PSD(len(G)), nearest.certificate.distance_bound
    write_matrix(output, nearest.matrix, matrix)
    data = {
        "output": str(output),
        "n": len(G),
        "status": nearest.status,
        "distance": nearest.distance,
        "distance_bound": bound if isfinite(bound) else None,
        "violation": nearest.certificate.violation,
        "is_unchanged": nearest.is_unchanged,
        "min_eigenvalue": {
            "before": None if np.isnan(G).any() else cone.min_eigenvalue((G + G.T) / 2),
            "after": cone.min_eigenvalue(nearest.matrix),
        },
        "n_iter": nearest.n_iter,
        "seconds": seconds,
    }
    return Report(ExitCode.of(nearest.status == "optimal"), "\n".join(_lines(data)), data)


def _lines(data: dict[str, Any]) -> Iterator[str]:
    ends, bound = data["min_eigenvalue"], data["distance_bound"]
    before = "unknown" if ends["before"] is None else f"{ends['before']:.6g}"
    yield f"{data['output']}: {data['n']} × {data['n']}"
    if data["is_unchanged"]:
        yield "already such a matrix; nothing changed"
        return
    yield f"distance             {data['distance']:.10g}"
    if bound is not None:
        yield f"from the nearest     {bound:.1e} at most"
    elif data["violation"]:
        yield f"constraints          broken by {data['violation']:.1e} at most"
    yield f"smallest eigenvalue  {before} before, {ends['after']:.6g} after"
    verdict = "converged" if data["status"] == "optimal" else f"NOT converged ({data['status']})"
    plural = "s" * (data["n_iter"] != 1)
    yield f"{verdict} after {data['n_iter']} eigen-decomposition{plural}, {data['seconds']:.1f} s"


def _read_weights(path: Path, matrix: LabelledMatrix) -> np.ndarray:
    """Read a matrix of weights, or a vector: one line below names, or one weight on each line."""
    n = len(matrix.values)
    if path.suffix.lower() == ".npy":
        values = read_array(path)
        return values.ravel() if values.size == n else values
    records = read_cells(path)
    head, names = records[0][1], None
    is_labelled_vector = len(head) == 2 and as_number(records[-1][1][0]) is None
    if min(len(records), len(head)) >= n and not is_labelled_vector:
        return read_matrix(path).in_order_of(matrix).require_known().values
    has_header = len(records) > 1 and as_number(head[-1]) is None
    body = records[has_header:]
    if len(body) == 1:
        weights, names = as_numbers(path, *body[0]), head if has_header else None
    elif len(head) <= 2:
        weights = [as_numbers(path, line, row[-1:])[0] for line, row in body]
        names = [row[0] for _, row in body] if len(head) == 2 else None
    else:
        given = f"{len(body)} rows and {len(head)} columns"
        raise ValueError(f"{path} has {given}; expected {n} weights, or a matrix")
    order = names and matrix.names and matrix.order_of(names, path)
    return np.array(weights)[order or slice(None)]


def _read_pairs(path: Path, matrix: LabelledMatrix) -> np.ndarray:
    """Read two different variables on each line, by label or number."""
    records = read_cells(path)
    if len(records[0][1]) != 2:
        raise ValueError(f"{path} has {len(records[0][1])} columns; expected row, column")
    has_header = [word.lower() for word in records[0][1]] == ["row", "column"]
    pairs = []
    for line, row in records[has_header:]:
        pairs.append([matrix.index(word) for word in row])
        if None in pairs[-1]:
            word, n = row[pairs[-1].index(None)], len(matrix.values)
            reason = f"{word!r} is not a label of {matrix.path}, nor a number below {n}"
            raise ValueError(f"{path}, line {line}: {reason}")
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _bound(option: str, given: str | None, matrix: LabelledMatrix) -> float | np.ndarray | None:
    """Return None, a number, or the matrix of a file."""
    if given is None:
        return None
    value, path = as_number(given), Path(given)
    if value is None and format_of(path) not in SUFFIXES:
        expected = f"expected one, or a file that ends in {', '.join(SUFFIXES)}"
        raise wrong_usage(option, f"{given!r} is not a number; {expected}")
    return read_matrix(path).in_order_of(matrix).values if value is None else value


def _read_portfolios(path: Path, matrix: LabelledMatrix) -> dict[str, Any]:
    """Read rows sense, b, a as arguments of `nearest_covariance`."""
    (_, head), *records = read_cells(path)
    if [word.lower() for word in head[:2]] != ["sense", "b"]:
        raise ValueError(f"{path}, line 1: {','.join(head[:2])}; expected sense,b and the columns")
    n, names = len(matrix.values), head[2:]
    if matrix.names is None and len(names) != n:
        reason = f"{matrix.path} has no labels, so {n} are expected"
        raise ValueError(f"{path} has {len(names)} columns after sense and b; {reason}")
    known = names if matrix.names is None else matrix.names
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{path}, line 1: {unknown[0]!r} is not a label of {matrix.path}")
    variables = range(n) if matrix.names is None else [known.index(name) for name in names]
    A, b = np.zeros((len(records), n)), []
    for a, (line, row) in zip(A, records, strict=True):
        if row[0] not in SENSES:
            raise ValueError(f"{path}, line {line}: the sense {row[0]!r}; expected =, <= or >=")
        values = as_numbers(path, line, row[1:])
        if not np.isfinite(values).all():
            raise ValueError(f"{path}, line {line}: a number is missing; expected all of them")
        b.append(values[0])
        a[variables] = values[1:]
    return {"A": list(A), "b": b, "senses": [row[0] for _, row in records]}
