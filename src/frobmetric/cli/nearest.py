"""What `correlation` and `covariance` do, once their arguments are read."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from .._atomic import target_file
from .._checks import ASYMMETRY
from .._extras import require
from ..core import PSD
from ..io.matrices import (
    SUFFIXES,
    check_matrix_suffix,
    name_order,
    number,
    numbers,
    read_array,
    read_cells,
    read_matrix,
    write_matrix,
)
from ..sdp import nearest_correlation, nearest_covariance
from ..sdp.construct import SENSES
from .progress import NearestProgress
from .terminal import ExitCode, Report, live_line

typer = require("typer", "cli")


def nearest_correlation_file(path, output, files, bounds, limits):
    """The nearest correlation matrix of a file, in another file."""
    _check_output(output)
    matrix = read_matrix(path)
    H = None
    if files["elementwise"] is not None:
        H = _known(read_matrix(files["elementwise"]).like(matrix)).values
    is_free = None if H is None else H == 0
    check_symmetric(matrix, is_free, ", or give it the weight 0 by --elementwise")
    options = {
        "weights": files["weights"] and _weights(files["weights"], matrix),
        "elementwise": H,
        "fixed": files["fixed"] and _pairs(files["fixed"], matrix),
        "bounds": tuple(
            _bound(given, matrix, hint)
            for given, hint in zip(bounds, ("--lower", "--upper"), strict=True)
        ),
    }
    return _nearest(nearest_correlation, matrix, output, options | limits)


def nearest_covariance_file(path, output, constraints, limits):
    """The nearest covariance matrix of a file, in another file."""
    _check_output(output)
    matrix = read_matrix(path)
    check_symmetric(matrix)
    rows = {} if constraints is None else _portfolios(constraints, matrix)
    return _nearest(nearest_covariance, matrix, output, rows | limits)


def _nearest(find, matrix, output, options):
    began = perf_counter()
    with live_line("solving") as show:
        found = find(matrix.values, **options, callback=show and NearestProgress(show))
    seconds = perf_counter() - began
    write_matrix(output, found.matrix, matrix)
    return _report(matrix, found, output, seconds)


def _report(matrix, found, output, seconds):
    is_known = not np.isnan(matrix.values).any()
    cone = PSD(len(matrix.values))
    before = cone.min_eigenvalue((matrix.values + matrix.values.T) / 2) if is_known else None
    after = cone.min_eigenvalue(found.matrix)
    bound = found.certificate.distance_bound
    data = {
        "output": str(output),
        "n": len(matrix.values),
        "status": found.status,
        "distance": found.distance,
        "distance_bound": bound if np.isfinite(bound) else None,
        "violation": found.certificate.violation,
        "min_eigenvalue": {"before": before, "after": after},
        "n_iter": found.n_iter,
        "seconds": seconds,
    }
    is_solved = found.status == "optimal"
    code = ExitCode.CERTIFIED if is_solved else ExitCode.NOT_CERTIFIED
    return Report(code, "\n".join(_lines(data)), data)


def _lines(data):
    ends, bound = data["min_eigenvalue"], data["distance_bound"]
    before = "unknown" if ends["before"] is None else f"{ends['before']:.6g}"
    yield f"{data['output']}: {data['n']} × {data['n']}"
    yield f"distance             {data['distance']:.10g}"
    if bound is not None:
        yield f"from the nearest     {bound:.1e} at most"
    elif data["violation"]:
        yield f"constraints          broken by {data['violation']:.1e} at most"
    yield f"smallest eigenvalue  {before} before, {ends['after']:.6g} after"
    how = "converged" if data["status"] == "optimal" else f"NOT converged ({data['status']})"
    plural = "s" * (data["n_iter"] != 1)
    yield f"{how} after {data['n_iter']} eigen-decomposition{plural}, {data['seconds']:.1f} s"


def _check_output(output):
    check_matrix_suffix(output, "write")
    target_file(output)


def _known(matrix, hint="", is_free=None):
    """The matrix, if no entry is missing that is not free."""
    missing = np.isnan(matrix.values)
    missing = np.argwhere(missing if is_free is None else missing & ~is_free)
    if len(missing):
        raise ValueError(
            f"{matrix.path}, {matrix.place(*missing[0])}: the value is missing; fill it in{hint}"
        )
    return matrix


def check_symmetric(matrix, is_free=None, hint=""):
    """Symmetric, and no entry is missing that counts."""
    G = _known(matrix, hint, is_free).values
    apart = np.nan_to_num(np.abs(G - G.T))
    if apart.max() > ASYMMETRY * np.nanmax(np.abs(G), initial=0.0):
        i, j = np.unravel_index(int(apart.argmax()), G.shape)
        raise ValueError(
            f"{matrix.path} is not symmetric: {G[i, j]:.10g} at {matrix.place(i, j)} and "
            f"{G[j, i]:.10g} at its mirror; correct one, or average the matrix and its transpose"
        )


def _weights(path, matrix):
    """A vector, or a matrix."""
    n = len(matrix.values)
    if path.suffix.lower() == ".npy":
        values = read_array(path)
        return values.ravel() if values.size == n else values
    cells = read_cells(path)
    width = len(cells[0][1])
    is_labelled_vector = width == 2 and number(cells[-1][1][0]) is None
    if min(len(cells), width) >= n and not is_labelled_vector:
        return _known(read_matrix(path).like(matrix)).values
    return _vector(path, cells, matrix)


def _vector(path, cells, matrix):
    """Numbers on one line, below names or not; or one a line, after names or not."""
    head, names = cells[0][1], None
    is_headed = len(cells) > 1 and number(head[-1]) is None
    body = cells[is_headed:]
    if len(body) == 1:
        values, names = numbers(path, *body[0]), head if is_headed else None
    elif len(head) <= 2:
        values = [numbers(path, line, row[-1:])[0] for line, row in body]
        names = [row[0] for _, row in body] if len(head) == 2 else None
    else:
        raise ValueError(
            f"{path} has {len(body)} rows and {len(head)} columns; expected {len(matrix.values)} "
            "weights, or a matrix"
        )
    order = names and matrix.names and name_order(path, names, matrix)
    return np.array(values)[order or slice(None)]


def _pairs(path, matrix):
    """Two different variables a line, by label or number."""
    pairs = []
    cells = read_cells(path)
    if len(cells[0][1]) != 2:
        raise ValueError(f"{path} has {len(cells[0][1])} columns; expected row, column")
    for line, row in cells[[word.lower() for word in cells[0][1]] == ["row", "column"] :]:
        pair = [matrix.index(word) for word in row]
        if None in pair:
            word = row[pair.index(None)]
            raise ValueError(
                f"{path}, line {line}: {word!r} is no label of {matrix.path}, and no number "
                f"below {len(matrix.values)}"
            )
        pairs.append(pair)
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _bound(given, matrix, hint):
    """None, a number, or the matrix of a file."""
    if given is None:
        return None
    value, path = number(given), Path(given)
    if value is None and path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(
            f"{given!r} is no number; expected one, or a file that ends in {', '.join(SUFFIXES)}",
            param_hint=hint,
        )
    return read_matrix(path).like(matrix).values if value is None else value


def _portfolios(path, matrix):
    """Rows sense, b, a as arguments of `nearest_covariance`."""
    (_, head), *cells = read_cells(path)
    if [word.lower() for word in head[:2]] != ["sense", "b"]:
        raise ValueError(f"{path}, line 1: {','.join(head[:2])}; expected sense,b and the columns")
    places = _places(path, head[2:], matrix)
    A, b, senses = [], [], []
    for line, row in cells:
        if row[0] not in SENSES:
            raise ValueError(f"{path}, line {line}: the sense {row[0]!r}; expected =, <= or >=")
        senses.append(row[0])
        values = numbers(path, line, row[1:])
        if not np.isfinite(values).all():
            raise ValueError(f"{path}, line {line}: a number is missing; expected all of them")
        b.append(values[0])
        A.append(np.zeros(len(matrix.values)))
        A[-1][places] = values[1:]
    return {"A": A, "b": b, "senses": senses}


def _places(path, names, matrix):
    """The variable that each column is."""
    if matrix.names is None:
        if len(names) != len(matrix.values):
            raise ValueError(
                f"{path} has {len(names)} columns after sense and b; {matrix.path} has no labels, "
                f"so {len(matrix.values)} are expected"
            )
        return list(range(len(names)))
    strange = [name for name in names if name not in matrix.names]
    if strange:
        raise ValueError(f"{path}, line 1: {strange[0]!r} is no label of {matrix.path}")
    return [matrix.names.index(name) for name in names]
