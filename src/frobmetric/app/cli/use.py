"""The commands that use a learned metric: transform and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...export.formats import nonzero_rows
from ...io.text import DELIMITERS, GZIPPED
from ...metric.base import MapEstimator
from ...runtime.environment import require
from ...runtime.progress import working
from ...runtime.tables import text_table
from ...search.exact import nearest, pair_values
from ..tables.reading import STANDARD, Table, check_output, reading_blocks
from ..tables.writing import write_table, writing_blocks
from .declaration import Count, command
from .models import check_columns, labels_name, load_model, of_model, read_features, reading_options
from .progress import live_progress, live_share
from .terminal import ExitCode, Report, exit_codes

CODES = exit_codes("done", "not used", "nothing is written")
#: Formats of the answers of a search: tables whose columns may be of different kinds.
ANSWERS = (*DELIMITERS, *GZIPPED, ".parquet")
#: Number of answers that are printed, and of queries on which the recall of faiss is measured.
PRINTED, MEASURED = 20, 200
#: Neighbours of each node in the graph of faiss, and nodes that a search looks at, at least.
LINKS, LOOKED_AT = 32, 64


@command(codes=CODES)
def transform(
    model: Path, data: Path, *, output: Path, target: str | None = None, header: bool = True
) -> Report:
    """Apply a learned metric: map samples so that it is the Euclidean distance.

    The output has a column for each direction of the metric, as many as its rank. The column of
    --target is copied, so that the labels stay with their rows. The file is read and written block
    by block, and may be larger than memory; npz files may not.

    Parameters
    ----------
    output
        The mapped samples: a csv, tsv, csv.gz, tsv.gz, parquet, npy or npz file; - is the standard
        output, in csv.
    """
    check_output(output)
    estimator = load_model(model)
    (directions, names), n_rows = _directions(estimator), 0
    with (
        reading_blocks(data, target, header=header, **reading_options(estimator)) as blocks,
        writing_blocks(output, labels_name=labels_name(target)) as write,
        live_share("rows mapped") as show,
    ):
        for table, share in blocks:
            check_columns(estimator, table, data)
            X = estimator.transform(of_model(estimator, table).dataframe())[:, directions]
            write(Table(X, table.y, names))
            n_rows += len(X)
            show(share, f"{n_rows:,} rows")
    facts = {"output": str(output), "n_rows": n_rows, "n_columns": len(names)}
    text = f"{output}: {n_rows} rows, {len(names)} columns"
    return Report(ExitCode.CERTIFIED, text, facts)


def _directions(estimator: Any) -> tuple[Any, list[str]]:
    """Return the columns of a mapped row that may differ from 0, and their names."""
    if not isinstance(estimator, MapEstimator):
        return slice(None), list(estimator.get_feature_names_out())
    rows = nonzero_rows(estimator.components_)
    return rows, [f"metric{j}" for j in range(len(rows))]


@command(codes=CODES)
def search(
    data: Path,
    *,
    model: Path,
    query: Path,
    n_results: Count = 10,
    output: Path | None = None,
    target: str | None = None,
    faiss: bool = False,
    header: bool = True,
) -> Report:
    """Find the nearest rows of a table to each query, by a learned metric.

    An answer is a row of a table: number of the query, rank, number of the row (both from 0),
    distance, and the name of the row: its cell in the column of --target, or in the first column
    that the model does not use.

    Parameters
    ----------
    data
        The table to search in: a csv, tsv, csv.gz, tsv.gz, parquet, npy or npz file.
    query
        The queries, a file with the same columns of features; - is the standard input.
    output
        The answers: a csv, tsv, csv.gz, tsv.gz or parquet file; - is the standard output, in csv.
        Without it the first ones are printed, and all with --json.
    target
        Column of the data that is no feature and is copied to the answers: its name or number; by
        default the first one that the model does not use, if there is one.
    faiss
        Search a graph of faiss: faster among very many rows, and not exact; its recall is measured.
    """
    if output is not None and str(output) != STANDARD:
        check_output(output, ANSWERS)
    estimator = load_model(model)
    table = read_features(estimator, data, target, header, named=True)
    queries = read_features(estimator, query, None, header)
    points, asked = (estimator.transform(each.dataframe()) for each in (table, queries))
    k = min(n_results, len(points))
    with live_progress("searching", str):
        rows, facts = (_search_graph if faiss else _search_all)(asked, points, k)
    answers = _answers(asked, points, rows, table.y)
    name = table.labels_name or labels_name(target)
    names = [name if key == "label" and name not in answers else key for key in answers]
    if output is not None:
        write_table(output, Table(np.column_stack([*answers.values()]), None, names))
    facts |= {"n_queries": len(asked), "n_rows": len(points), "n_results": k}
    lists = {name: column.tolist() for name, column in answers.items()}
    text = _search_text(facts, lists, names, output)
    return Report(ExitCode.CERTIFIED, text, facts | {"answers": lists})


def _search_all(
    queries: np.ndarray, points: np.ndarray, k: int
) -> tuple[np.ndarray, dict[str, Any]]:
    with working("searching", len(queries) * len(points), "distances"):
        return nearest(queries, points, k), {"method": "exact"}


def _search_graph(
    queries: np.ndarray, points: np.ndarray, k: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Search by faiss, and measure which share of the neighbours it finds."""
    library = require("faiss", "ann")
    index = library.IndexHNSWFlat(points.shape[1], LINKS)
    index.hnsw.efSearch = max(LOOKED_AT, 4 * k)
    index.add(np.ascontiguousarray(points, dtype=np.float32))
    _, rows = index.search(np.ascontiguousarray(queries, dtype=np.float32), k)
    some = np.linspace(0, len(queries) - 1, min(MEASURED, len(queries))).astype(int)
    exact = nearest(queries[some], points, k)
    found = [np.isin(e, r).mean() for e, r in zip(exact, rows[some], strict=True)]
    return rows, {"method": "faiss", "recall": float(np.mean(found)), "n_measured": len(some)}


def _answers(
    queries: np.ndarray, points: np.ndarray, rows: np.ndarray, labels: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the columns of the answers, in the order of queries and ranks."""
    query, rank = (place.ravel() for place in np.indices(rows.shape))
    row = rows.ravel()
    is_there = row >= 0
    query, rank, row = query[is_there], rank[is_there], row[is_there]
    distance = np.sqrt(pair_values(queries, points, np.column_stack([query, row])))
    columns = {"query": query, "rank": rank, "row": row, "distance": distance}
    columns |= {} if labels is None else {"label": labels[row]}
    return {name: column.astype(object) for name, column in columns.items()}


def _search_text(
    facts: dict[str, Any], lists: dict[str, list[Any]], names: list[str], output: Path | None
) -> str:
    text = (
        f"{facts['n_results']} nearest of {facts['n_rows']:,} rows to each of "
        f"{facts['n_queries']:,} queries, {facts['method']}"
    )
    if "recall" in facts:
        text += (
            f": it finds {facts['recall']:.1%} of them, measured on {facts['n_measured']} queries"
        )
    if output is not None:
        return f"{output}: {text}"
    rows = list(zip(*(column[:PRINTED] for column in lists.values()), strict=True))
    cells = [
        [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows
    ]
    more = len(lists["query"]) - len(rows)
    end = f"\n... and {more:,} more answers; write all to a file with -o" if more else ""
    return f"{text}\n\n{text_table(names, cells)}{end}"
