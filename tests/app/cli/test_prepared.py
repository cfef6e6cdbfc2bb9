"""Tables with gaps and texts on the command line: fit once, and use the model on new files."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from frobmetric import load
from frobmetric.app.tables.reading import read_table
from terminals import CliRunner, app, check_mistake, run, run_json

X, Y = load_iris(return_X_y=True)
COLORS = np.array(["red", "blue", "green"])[(Y + np.arange(150) % 2) % 3]
OPTIONS = "--drop id --impute median --categories one-hot --cv 0"


def write(path, rows, header="id,a,b,color,c,species"):
    Path(path).write_text("\n".join([header, *rows]) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [
        f"{i},{x[0] if i % 20 else ''},{x[1]},{color},{x[2]},{'xyz'[label]}"
        for i, (x, color, label) in enumerate(zip(X, COLORS, Y, strict=True))
    ]
    write("dirty.csv", cells)
    order = "c,color,b,a,species"
    write(
        "odd.csv",
        [",".join(row.split(",")[j] for j in (4, 3, 2, 1, 5)) for row in cells[1::2]],
        order,
    )
    # other columns, in another order, without labels
    write(
        "new.csv",
        [f"{x[2]},{color},{x[1]}," for x, color in zip(X, COLORS, strict=True)],
        "c,color,b,a",
    )


@pytest.fixture
def model():
    command = f"fit dirty.csv -t species -o m.safetensors --keep-proof {OPTIONS}"
    assert "--drop id --impute median --categories one-hot" in run(*command.split()).stdout
    return load("m.safetensors")


def test_every_command_prepares_the_table_again(model):
    names = ["a", "b", "color=blue", "color=green", "color=red", "c"]
    assert list(model.feature_names_in_) == names
    table = read_table("dirty.csv", "species", preparation=model.preparation_)
    run("transform", "m.safetensors", "dirty.csv", "-t", "species", "-o", "out.csv")
    out = read_table("out.csv", "species")
    mapped = model.transform(table.dataframe())
    np.testing.assert_allclose(out.X, mapped[:, : out.X.shape[1]], rtol=1e-12)
    assert not mapped[:, out.X.shape[1] :].any()
    assert list(out.y) == list(table.y)
    assert (
        "(of the table that the model prepares)"
        in run("certify", "m.safetensors", "dirty.csv", "-t", "species").stdout
    )
    parts = run_json("explain", "m.safetensors", "new.csv", "--rows", "0,60")["parts"]
    assert sorted(parts) == sorted(names)
    answer = ("evaluate", "m.safetensors", "dirty.csv", "--train", "dirty.csv", "-t", "species")
    assert "tested on itself" in run(*answer).stderr
    shown = run("export", "m.safetensors", "-o", "m.npy", "--to", "npy", "--recall", "new.csv")
    assert "recall of the 10 nearest neighbours" in shown.stdout


def columns_of_new_table():
    """Return the raw cells of the new table: numbers with NaN in the gaps, and texts."""
    numbers = {
        name: np.array([np.nan if name == "a" else x[j] for x in X], dtype=np.float32)[:, None]
        for name, j in (("a", 0), ("b", 1), ("c", 2))
    }
    return numbers | {"color": COLORS.astype(object)[:, None]}


def test_a_raw_row_gives_in_onnx_and_duckdb_what_transform_gives(model):
    runtime, duckdb = pytest.importorskip("onnxruntime"), pytest.importorskip("duckdb")
    run("transform", "m.safetensors", "new.csv", "-o", "out.npy")
    mapped = np.load("out.npy")
    shown = run("export", "m.safetensors", "--to", "onnx", "-o", "map.onnx").stdout
    assert "takes the 4 columns a, b, color, c as they are in the table; fills gaps" in shown
    graph = runtime.InferenceSession("map.onnx")
    np.testing.assert_allclose(
        graph.run(["mapped"], columns_of_new_table())[0], mapped, rtol=1e-4, atol=1e-4
    )
    line = "export m.safetensors --to sql --dtype float64 -o map.sql"
    run(*line.split())
    database = duckdb.connect()
    database.execute(Path("map.sql").read_text())
    query = "SELECT frobmetric_map(a, b, color, c) FROM read_csv('new.csv')"
    rows = [row[0] for row in database.execute(query).fetchall()]
    np.testing.assert_allclose(rows, mapped, rtol=1e-9, atol=1e-9)


def test_an_array_says_which_features_it_expects(model):
    shown = run("export", "m.safetensors", "--to", "npy", "-o", "map.npy").stdout
    order = "a, b, color=blue, color=green, color=red, c"
    assert f"expects 6 prepared features in this order: {order}; gaps and texts must" in " ".join(
        shown.split()
    )
    assert "map.npy.json says" in " ".join(shown.split())
    content = json.loads(Path("map.npy.json").read_text())
    assert content["feature_names"] == order.split(", ")
    facts = run_json("export", "m.safetensors", "--to", "safetensors", "-o", "map.safetensors")
    assert facts["feature_names"] == order.split(", ")


def test_components_that_are_zero_are_left_out(model):
    rank = int(model.components_.any(axis=1).sum())
    assert rank < len(model.components_)  # the marks of a category add up to one
    run("transform", "m.safetensors", "dirty.csv", "-t", "species", "-o", "out.csv")
    names = [f"metric{j}" for j in range(rank)]
    assert read_table("out.csv", "species").feature_names == names
    shown = run("export", "m.safetensors", "--to", "npy", "-o", "map.npy").stdout
    assert f"the metric has rank {rank}, all other" in " ".join(shown.split())
    assert np.load("map.npy").shape == (rank, 6)


def test_an_explanation_shows_names_and_values(model):
    text = run("explain", "m.safetensors", "dirty.csv", "--rows", "1,60").stdout
    head, *rows = text.split("\n\n")[-1].splitlines()
    assert head.split("  ")[-1].strip() == "row 60 (60)"  # of the column id
    cells = {row.split()[0]: row.split()[1:] for row in rows}
    assert cells["color"] == [COLORS[1], COLORS[60]]
    assert cells["c"] == [f"{X[1, 2]:g}", f"{X[60, 2]:g}"]
    answer = run_json("explain", "m.safetensors", "dirty.csv", "-t", "species", "--rows", "1,60")
    assert answer["names"] == ["x", "y"]
    assert answer["values"]["color"] == [COLORS[1], COLORS[60]]
    largest = max(answer["parts"], key=lambda name: abs(answer["parts"][name]))
    assert next(iter(answer["values"])) == largest.partition("=")[0]


def test_a_pipe(model):
    content = Path("new.csv").read_bytes()
    line = ["transform", "m.safetensors", "-", "-o", "-"]
    result = CliRunner().invoke(app, line, input=content)
    assert result.exit_code == 0, result.output
    rank = int(model.components_.any(axis=1).sum())
    assert result.stderr == f"-: 150 rows, {rank} columns\n"
    Path("out.csv").write_text(result.stdout)
    table = read_table("new.csv", preparation=model.preparation_)
    mapped = model.transform(table.dataframe())[:, :rank]
    np.testing.assert_allclose(read_table("out.csv").X, mapped)


def test_data_of_a_fit_from_a_pipe():
    line = f"fit - -t species -o m.safetensors {OPTIONS}".split()
    result = CliRunner().invoke(app, line, input=Path("dirty.csv").read_bytes())
    assert result.exit_code == 0, result.output
    assert load("m.safetensors").n_features_in_ == 6


def test_options_of_an_evaluation():
    command = f"evaluate dirty.csv -t species --folds 2 {OPTIONS}"
    assert "each of 150 samples tested" in run(*command.split()).stdout


def test_unfold_prepares_a_table():
    options = "--drop id --impute median --categories one-hot -k 8"
    answer = run_json(*f"unfold dirty.csv -t species -o out.csv {options}".split())
    assert answer["n_samples"] == 150
    assert read_table("out.csv", "species").X.shape == (150, 2)


def test_compare_prepares_the_test_as_the_data():
    options = "--learner Covariance --drop id --impute median --categories one-hot"
    answer = run_json(*f"compare dirty.csv -t species --test odd.csv {options}".split())
    assert [column["name"] for column in answer["columns"]] == ["a", "b", "color", "c"]
    assert (answer["n_train"], answer["n_test"]) == (150, 75)


def test_new_tables_that_do_not_fit(model):
    write("other.csv", ["1,2,3"], "a,b,c")
    check_mistake("transform m.safetensors other.csv -o x.csv", "has no column 'color'", 3)
    assert not Path("x.csv").exists()


def test_a_model_is_a_file():
    line = f"fit dirty.csv -t species {OPTIONS} -o -"
    assert "the standard output takes tables only" in run(*line.split(), code=3).stderr
