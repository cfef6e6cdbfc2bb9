"""Exported maps of tables with gaps and texts: a raw row gives what `transform` gives."""

import errno
import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import FrobMetric
from frobmetric.app.tables.reading import Table, read_table
from frobmetric.export.formats import FEATURES, export
from frobmetric.export.functions import table_function
from frobmetric.io.preparation import PreparedColumn, Preparing, TablePreparation
from frobmetric.io.text import SPACES, write_csv

IRIS, LABELS = load_iris(return_X_y=True)
#: Names and categories that would end a text, a name, a comment or a body.
HOSTILE = ("it's", 'a"b', "x\ny", "$map$", "mapped", "a\\'; DROP TABLE t; --", "fill", "{n}", "İk")
CITIES = ("Bonn", "it's", 'a"b', "$map$", "a\\'b", "Köln (1.5)", "bonn", "--\nx")
#: Cells that tables hold for a text, a gap, or a text that no fit has seen.
TEXTS = (*CITIES, " Bonn\u3000", "", "NA", "Null", " n/A ", "?", "Ulm", "-", "Bonn!", "\tit's\r")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The raw cells of a hostile table, its prepared features, and a model of them."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("tables") / "hostile.csv"
    names = [*HOSTILE, "city"]
    rows = []
    for i in range(120):
        numbers = [f"{x:.3f}" for x in rng.normal(size=len(HOSTILE)) * 100]
        if i % 7 == 0:
            numbers[i % len(HOSTILE)] = ""
        rows.append([*numbers, CITIES[i % len(CITIES)], "ab"[numbers[-1].startswith("-")]])
    with open(path, "wb") as file:
        write_csv(file, [[*names, "label"], *rows])
    read = read_table(path, "label", preparation=Preparing(None, None, "median", "one-hot"))
    model = FrobMetric().fit(read.dataframe(), read.y)
    model.preparation_ = read.preparation
    new = [[*row[:-2], text] for row, text in zip(rows, TEXTS, strict=False)]
    new_path = path.with_name("new.csv")
    with open(new_path, "wb") as file:
        write_csv(file, [names, *new])
    return model, names, new, new_path


@pytest.fixture(scope="module")
def expected(table):
    model, _, _, path = table
    with pytest.warns(UserWarning, match="which the data of the fit did not hold"):
        read = read_table(path, preparation=model.preparation_)
    return model.transform(read.dataframe())


def numbers_of(rows):
    return [[float(cell) if cell else None for cell in row[:-1]] for row in rows]


def check(mapped, expected, tolerance=2e-6):
    scale = np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.abs((np.asarray(mapped, dtype=float) - expected) / scale).max() <= tolerance


def test_spaces_are_those_of_python():
    known = {chr(code) for first, last in SPACES for code in range(first, last + 1)}
    assert known == {c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_onnx(table, expected, dtype, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model, names, rows, _ = table
    export(model, tmp_path / "map.onnx", "onnx", dtype=dtype)
    session = runtime.InferenceSession(tmp_path / "map.onnx")
    assert [given.name for given in session.get_inputs()] == names
    kind = np.float64 if dtype == "float64" else np.float32
    numbers = np.array(numbers_of(rows), dtype=kind)  # None becomes NaN
    given = {name: numbers[:, j : j + 1] for j, name in enumerate(HOSTILE)}
    given["city"] = np.array([[row[-1]] for row in rows], dtype=object)
    (output,) = session.get_outputs()
    assert output.name == "mapped_1"  # a column has the name "mapped"
    mapped = session.run([output.name], given)[0]
    check(mapped, expected, {"float16": 2e-3, "float64": 1e-12}.get(dtype, 2e-6))
    properties = session.get_modelmeta().custom_metadata_map
    assert json.loads(properties["feature_names"]) == list(model.feature_names_in_)
    assert json.loads(properties["preparation"])[-1]["categories"] == sorted(CITIES)


def test_onnx_without_texts_needs_no_regular_expressions(table, tmp_path):
    onnx = pytest.importorskip("onnx")
    columns = (PreparedColumn("a", 0, 1.5), PreparedColumn("b", 1, None))
    metric = FrobMetric().fit(Table(IRIS[:, 2:], None, ["a", "b"]).dataframe(), LABELS)
    metric.preparation_ = TablePreparation(columns)
    export(metric, tmp_path / "map.onnx", "onnx")
    graph = onnx.load(tmp_path / "map.onnx")
    assert graph.opset_import[0].version == 13
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(tmp_path / "map.onnx")
    a, b = np.array([[np.nan], [2]]), np.array([[1.0], [np.nan]])
    mapped = session.run(None, {"a": a.astype("f4"), "b": b.astype("f4")})[0]
    np.testing.assert_allclose(
        mapped[0], metric.map_.transform(np.array([[1.5, 1.0]]))[0], rtol=1e-5
    )
    assert np.isnan(mapped[1]).all()  # a gap that the model does not fill in is not quiet


def test_duckdb(table, expected, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    model, names, rows, _ = table
    export(model, tmp_path / "map.sql", "sql", dtype="float64")
    database = duckdb.connect()
    database.execute((tmp_path / "map.sql").read_text())
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    kinds = ["DOUBLE"] * len(HOSTILE) + ["VARCHAR"]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
    database.execute(f"CREATE TABLE items (id INTEGER, {columns})")
    marks = ", ".join("?" * (len(names) + 1))
    values = [
        [i, *a, row[-1]] for i, (a, row) in enumerate(zip(numbers_of(rows), rows, strict=True))
    ]
    values.append([len(rows), *values[0][1:-1], None])  # NULL is a gap, as NaN is
    values.append([len(rows) + 1, float("nan"), *values[0][2:]])
    database.executemany(f"INSERT INTO items VALUES ({marks})", values)
    query = f"SELECT frobmetric_map({', '.join(quoted)}) FROM items ORDER BY id"
    mapped = [row[0] for row in database.execute(query).fetchall()]
    check(mapped[: len(rows)], expected, 1e-12)
    check([mapped[-2]], expected[[TEXTS.index("")]] + difference(model, rows, expected), 1e-9)
    assert np.isfinite(mapped[-1]).all()


def difference(model, rows, expected):
    """Return what the numbers of the first row add to the row whose city is missing."""
    prepared = np.array(numbers_of(rows), dtype=float)
    fills = np.array([column.fill for column in model.preparation_.columns[:-1]])
    prepared = np.where(np.isnan(prepared), fills, prepared)
    shift = prepared[0] - prepared[TEXTS.index("")]
    return shift @ model.components_.T[: len(fills)]


def test_names_that_duckdb_takes_for_one(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    columns = (PreparedColumn("a", 0, 1.0), PreparedColumn("A", 1, 2.0))
    text = table_function("duckdb", np.eye(2), TablePreparation(columns), name="f")
    database = duckdb.connect()
    database.execute(text)
    assert database.execute("SELECT f(NULL, 5)").fetchone()[0] == [1.0, 5.0]


def test_a_gap_that_cannot_be_filled_is_no_number_in_duckdb():
    duckdb = pytest.importorskip("duckdb")
    columns = (PreparedColumn("a", 0, 1.0), PreparedColumn("c", 1, None, ("u", "v")))
    database = duckdb.connect()
    database.execute(table_function("duckdb", np.eye(3), TablePreparation(columns), name="f"))
    assert database.execute("SELECT f(2, ' v')").fetchone()[0] == [2.0, 0.0, 1.0]
    with pytest.raises(duckdb.Error, match="NULL"):
        database.execute("SELECT f(2, NULL)").fetchone()


def test_pgvector(table, expected, tmp_path):
    pgserver, psycopg = pytest.importorskip("pgserver"), pytest.importorskip("psycopg")
    model, names, rows, _ = table
    export(model, tmp_path / "map.sql", "sql", dialect="pgvector", name="my_map")
    server = pgserver.get_server(tmp_path / "data")
    try:
        with psycopg.connect(server.get_uri()) as client:
            client.execute("CREATE EXTENSION vector")
            client.execute((tmp_path / "map.sql").read_text())
            query = f"SELECT my_map({', '.join(['%s'] * len(names))})::text"
            given = [[*a, row[-1]] for a, row in zip(numbers_of(rows), rows, strict=True)]
            mapped = [json.loads(client.execute(query, row).fetchone()[0]) for row in given]
            client.execute("SET standard_conforming_strings = off")
            client.execute((tmp_path / "map.sql").read_text())
            again = json.loads(client.execute(query, given[4]).fetchone()[0])
    finally:
        server.cleanup()
    check(mapped, expected, 1e-5)  # pgvector prints its single precision with few digits
    check([again], expected[4:5], 1e-5)


def test_pgvector_has_few_arguments():
    columns = tuple(PreparedColumn(f"c{j}", j, 0.0) for j in range(101))
    with pytest.raises(ValueError, match="has at most 100 arguments; choose dialect='duckdb'"):
        table_function("pgvector", np.eye(101), TablePreparation(columns), name="f")


def test_a_name_that_sql_cannot_hold():
    columns = TablePreparation((PreparedColumn("a\0b", 0, 0.0),))
    with pytest.raises(ValueError, match="NUL character, which SQL cannot hold"):
        table_function("duckdb", np.eye(1), columns, name="f")


def test_arrays_say_what_they_expect(table, tmp_path):
    model = table[0]
    expected = {
        "feature_names": list(model.feature_names_in_),
        "preparation": json.loads(json.dumps(model.preparation_.to_fields())),
    }
    export(model, tmp_path / "map.npy", "npy")
    assert json.loads((tmp_path / "map.npy.json").read_text()) == expected
    pytest.importorskip("safetensors")
    from safetensors import safe_open

    export(model, tmp_path / "map.safetensors", "safetensors")
    with safe_open(tmp_path / "map.safetensors", "numpy") as file:
        assert json.loads(file.metadata()["features"]) == expected
    export(model, tmp_path / "dense", "sentence-transformers")
    assert json.loads((tmp_path / "dense" / FEATURES).read_text()) == expected
    pytest.importorskip("faiss")
    export(model, tmp_path / "map.faiss", "faiss")
    assert json.loads((tmp_path / "map.faiss.json").read_text()) == expected


def test_a_description_is_replaced_with_its_map_only(table, tmp_path, monkeypatch):
    files = [tmp_path / name for name in ("map.npy", "map.npy.json")]
    export(FrobMetric().fit(Table(IRIS, None, list("abcd")).dataframe(), LABELS), files[0], "npy")
    before = [file.read_bytes() for file in files]

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        export(table[0], files[0], "npy")
    assert [file.read_bytes() for file in files] == before
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="this needs torch"):
        export(table[0], tmp_path / "map.pt", "torch")
    assert sorted(tmp_path.iterdir()) == files


def test_names_without_preparation(tmp_path):
    X = IRIS[:, 2:]
    model = FrobMetric().fit(Table(X, None, ["a", "b\nDROP"]).dataframe(), LABELS)
    export(model, tmp_path / "map.sql", "sql")
    first, second = (tmp_path / "map.sql").read_text().splitlines()[:2]
    assert (first, second) == ("-- features of a vector: a, b", "-- DROP")
    export(model, tmp_path / "map.npy", "npy")
    content = json.loads((tmp_path / "map.npy.json").read_text())
    assert content == {"feature_names": ["a", "b\nDROP"], "preparation": None}
    export(FrobMetric().fit(X, LABELS), tmp_path / "other.npy", "npy")
    assert not (tmp_path / "other.npy.json").exists()


def test_zero_rows_can_be_left_out(tmp_path):
    learned = FrobMetric().fit(IRIS[:, 1:], LABELS).map_
    components = learned.components * [[1], [0], [1]]
    learned = replace(learned, components=components, rank=2)
    export(learned, tmp_path / "map.npy", "npy", drop_zero_rows=True)
    np.testing.assert_array_equal(
        np.load(tmp_path / "map.npy"), components[[0, 2]].astype(np.float32)
    )


def test_parameters_changed_after_a_fit_change_no_export(tmp_path):
    model = FrobMetric().fit(IRIS, LABELS)
    export(model.map_, tmp_path / "map.npy", "npy")
    export(model.set_params(kernel="rbf", n_components=1), tmp_path / "other.npy", "npy")
    np.testing.assert_array_equal(*(np.load(tmp_path / f"{n}.npy") for n in ("map", "other")))
    with pytest.raises(ValueError, match="the model has kernel='rbf', and maps by its training"):
        export(model.fit(IRIS, LABELS).set_params(kernel="linear"), tmp_path / "map.npy", "npy")
