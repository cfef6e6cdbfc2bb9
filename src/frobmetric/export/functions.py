"""Functions of databases that prepare the columns of a table and map them, as a model does.

A gap is NULL, NaN, or a text that tables use for a gap. One that the model cannot fill in makes the
statement fail, or its result NULL, by the rules of the database. Names and categories come from
files of anyone: they are quoted, so that none of them can end a text, a name or a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ..io.preparation import TablePreparation
from ..io.text import MISSING, SPACES
from .databases import check_identifier
from .sql import number_text, rows_of

#: Largest number of arguments of a function of PostgreSQL, and of bytes of a name.
MOST_ARGUMENTS, LONGEST_NAME = 100, 63


def table_function(
    dialect: str, weights: np.ndarray, preparation: TablePreparation, *, name: str
) -> str:
    """Return SQL that defines a function of the columns of a table, which prepares and maps them.

    Parameters
    ----------
    dialect : {"duckdb", "pgvector"}
    weights : ndarray of shape (n_components, n_features)
    preparation : TablePreparation
        Its columns are the arguments, in order.
    name : str
        Name of the function.

    Returns
    -------
    str
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r:.80} is not known; choose one of {sorted(DIALECTS)}")
    check_identifier(name, "name")
    for column in preparation.columns:
        for text in (column.label, *(column.categories or ())):
            if "\0" in text:
                raise ValueError(f"{text!r:.60} has a NUL character, which SQL cannot hold")
    labels = [quoted_name(column.label) for column in preparation.columns]
    usage = comment(f"use: SELECT {name}({', '.join(labels)}) FROM ...")
    return usage + DIALECTS[dialect](name, weights, preparation.columns)


def quoted_name(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def comment(text: str) -> str:
    """Return comments of SQL; a name may hold ends of lines, of any kind."""
    return "".join(f"-- {line}\n" for line in re.split(r"[\r\n\v\f\x85\u2028\u2029]", text))


def _plain_text(text):
    return "'" + text.replace("'", "''") + "'"


def _escaped_text(text):
    r"""Return a text of PostgreSQL, where a backslash may be a mark or not, by its settings."""
    quoted = _plain_text(text)
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def _trimming(spelling, quote):
    """Return the pattern of the spaces around a text; `spelling` writes one character of it."""
    spaces = "".join(f"{spelling(first)}-{spelling(last)}" for first, last in SPACES)
    return quote(f"^[{spaces}]+|[{spaces}]+$")


def _duckdb_features(column, argument):
    """Return a list of the features of one column."""
    if column.categories is None:
        number = f"{argument}::DOUBLE"
        if column.fill is None:
            return f"[{number}]"
        fill = number_text(np.float64(column.fill))
        return f"[CASE WHEN {number} IS NULL OR isnan({number}) THEN {fill} ELSE {number} END]"
    trimming = _trimming(lambda code: rf"\x{{{code:x}}}", _plain_text)
    trimmed = f"regexp_replace(coalesce({argument}::VARCHAR, ''), {trimming}, '', 'g')"
    missing = ", ".join(map(_plain_text, MISSING))
    fill = "NULL" if column.fill is None else _plain_text(column.fill)
    known = ", ".join(map(_plain_text, column.categories))
    # each list of one value gives the value a name, so that it is computed once
    return (
        f"list_transform([{trimmed}], lambda t: list_transform([{known}], lambda c:\n"
        f"      (c = CASE WHEN lower(t) IN ({missing}) THEN {fill} ELSE t END)::DOUBLE))[1]"
    )


def _duckdb_function(name, weights, columns):
    """Return a macro of the columns; names that DuckDB takes for one are replaced by numbers."""
    labels = [column.label for column in columns]
    if len({label.lower() for label in labels}) < len(labels):
        labels = [f"x{number}" for number in range(len(columns))]
    arguments = [quoted_name(label) for label in labels]
    parts = [_duckdb_features(*pair) for pair in zip(columns, arguments, strict=True)]
    kind = "FLOAT" if weights.dtype == np.float32 else "DOUBLE"
    rows = ",\n".join(f"    {row}" for row in rows_of(weights))
    features = ",\n    ".join(parts)
    return (
        f"CREATE OR REPLACE MACRO {name}({', '.join(arguments)}) AS list_transform([flatten([\n"
        f"    {features}\n  ])], lambda x: list_transform(\n  [\n{rows}\n  ]::{kind}[][],\n"
        f"  lambda w: list_dot_product(w, x::{kind}[])))[1];\n"
    )


def _postgres_features(column, argument):
    """Return an array of the features of one column."""
    if column.categories is None:
        if column.fill is None:
            return f"ARRAY[{argument}]"
        fill = number_text(np.float64(column.fill))
        return f"ARRAY[coalesce(nullif({argument}, 'NaN'), {fill})]"
    trimming = _trimming(lambda code: rf"\u{code:04x}", _escaped_text)
    missing = ", ".join(map(_plain_text, MISSING))
    fill = "NULL" if column.fill is None else _escaped_text(column.fill)
    known = ", ".join(map(_escaped_text, column.categories))
    return (
        "(SELECT array_agg((v.c = CASE WHEN lower(t.t) IN "
        f"({missing}) THEN {fill} ELSE t.t END)::int::float8 ORDER BY v.n)\n"
        f"      FROM unnest(ARRAY[{known}]) WITH ORDINALITY AS v(c, n),\n"
        f"      (SELECT regexp_replace(coalesce({argument}, ''), {trimming}, '', 'g') AS t) AS t)"
    )


def _postgres_function(name, weights, columns):
    """Return a function of the columns, whose names it shows where PostgreSQL can hold them."""
    if len(columns) > MOST_ARGUMENTS:
        raise ValueError(
            f"the model has {len(columns)} columns; a function of PostgreSQL has at most "
            f"{MOST_ARGUMENTS} arguments; choose dialect='duckdb', or another format"
        )
    labels = [column.label for column in columns]
    is_short = all(len(label.encode()) <= LONGEST_NAME for label in labels)
    kinds = ["double precision" if c.categories is None else "text" for c in columns]
    given = [f"{quoted_name(n)} {k}" if is_short else k for n, k in zip(labels, kinds, strict=True)]
    parts = [_postgres_features(column, f"${j + 1}") for j, column in enumerate(columns)]
    pairs = [f"    ({number}, '{row}'::vector)" for number, row in enumerate(rows_of(weights))]
    features, rows = " ||\n    ".join(parts), ",\n".join(pairs)
    body = (
        "\n  SELECT array_agg(-(w.weights <#> f.x) ORDER BY w.number)::vector\n"
        f"  FROM (SELECT ({features})::vector AS x) AS f,\n"
        f"  (VALUES\n{rows}\n  ) AS w(number, weights)\n"
    )
    mark = "$map$"
    while mark in body:  # a category may hold it
        mark = f"$map{len(mark)}$"
    return (
        f"CREATE OR REPLACE FUNCTION {name}({', '.join(given)}) RETURNS vector\n"
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE AS {mark}{body}{mark};\n"
    )


#: Writers of the function of a database, by its name.
DIALECTS: dict[str, Callable[..., str]] = {
    "duckdb": _duckdb_function,
    "pgvector": _postgres_function,
}
