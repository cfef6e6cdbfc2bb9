"""A learned map as a function of a database, so that vectors are mapped where they are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import as_numbers
from .databases import check_identifier

#: Statements by dialect: a function of one vector, and a search with it as a comment.
STATEMENTS = {
    "duckdb": (
        "-- search: SELECT id FROM items\n"
        "--   ORDER BY list_distance({name}(embedding), {name}($query)) LIMIT 10;\n"
        "CREATE OR REPLACE MACRO {name}(x) AS list_transform(\n"
        "  [\n{rows}\n  ]::{kind}[][],\n"
        "  lambda w: list_dot_product(w, x::{kind}[]));\n"
    ),
    "pgvector": (
        "-- search: SELECT id FROM items\n"
        "--   ORDER BY {name}(embedding) <-> {name}(%(query)s::vector) LIMIT 10;\n"
        "-- index: CREATE INDEX ON items USING hnsw\n"
        "--   (({name}(embedding)::vector({n_components})) vector_l2_ops);\n"
        "CREATE OR REPLACE FUNCTION {name}(x vector) RETURNS vector\n"
        "LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$\n"
        "  SELECT array_agg(-(w.weights <#> x) ORDER BY w.number)::vector\n"
        "  FROM (VALUES\n{rows}\n  ) AS w(number, weights)\n$$;\n"
    ),
}


def map_function(dialect: str, components: ArrayLike, *, name: str = "frobmetric_map") -> str:
    """Return SQL that defines a function which maps a vector by `components`.

    Parameters
    ----------
    dialect : {"duckdb", "pgvector"}
        Database. pgvector has single precision; in DuckDB it is that of `components`.
    components : array-like of shape (n_components, n_features)
        Matrix of the map, as `components_` of an estimator.
    name : str, default="frobmetric_map"
        Name of the function.

    Returns
    -------
    str
        Statement, below comments that show how to search with the function.

    Examples
    --------
    >>> from frobmetric.export import map_function
    >>> print(map_function("duckdb", [[1.0, 2.0]]).partition("CREATE")[2])
     OR REPLACE MACRO frobmetric_map(x) AS list_transform(
      [
        [1.0, 2.0]
      ]::DOUBLE[][],
      lambda w: list_dot_product(w, x::DOUBLE[]));
    <BLANKLINE>
    """
    if not isinstance(dialect, str) or dialect not in STATEMENTS:
        known = sorted(STATEMENTS)
        raise ValueError(f"dialect={dialect!r:.80} is not known; choose one of {known}")
    check_identifier(name, "name")
    weights = as_numbers(components, name="components")
    if weights.ndim != 2:
        raise ValueError(
            f"components has shape {weights.shape}; expected a matrix; give components_ of a "
            "fitted estimator"
        )
    rows = rows_of(weights)
    if dialect == "pgvector":
        rows = [f"({number}, '{row}'::vector)" for number, row in enumerate(rows)]
    return STATEMENTS[dialect].format(
        name=name,
        n_components=len(weights),
        rows=",\n".join(f"    {row}" for row in rows),
        kind="FLOAT" if weights.dtype == np.float32 else "DOUBLE",
    )


def rows_of(weights: np.ndarray) -> list[str]:
    """Return the rows of a matrix as texts that SQL reads."""
    return [f"[{', '.join(number_text(value) for value in row)}]" for row in weights]


def number_text(value: np.floating) -> str:
    """Return the shortest text that is read back as the same number."""
    return np.format_float_scientific(value, trim="0") if abs(value) < 1e-4 else repr(value.item())
