"""The commands that use a model: transform of any format, and search."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import NearestNeighbors

from frobmetric import FrobMetric, save
from frobmetric.app.tables.reading import BlockSizes, Table, read_table
from frobmetric.app.tables.writing import write_table
from terminals import CliRunner, app, run, run_json

X, Y = load_wine(return_X_y=True)
NAMES = [f"f{i}" for i in range(13)]
GROWERS = np.array(["barolo", "grignolino", "barbera"])[Y]


@pytest.fixture(scope="module")
def metric():
    return FrobMetric(prior="within").fit(Table(X[:150], Y[:150], NAMES).dataframe(), Y[:150])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, metric):
    monkeypatch.chdir(tmp_path)
    save(metric, "m.safetensors")
    write_table("wine.parquet", Table(X[:150], GROWERS[:150], NAMES), labels_name="grower")
    write_table("new.csv", Table(X[150:], None, NAMES))


def expected_answers(metric, k):
    mapped = metric.transform(Table(X, None, NAMES).dataframe())
    return NearestNeighbors(n_neighbors=k).fit(mapped[:150]).kneighbors(mapped[150:])


def test_search_finds_the_nearest_rows(metric):
    line = "search wine.parquet --model m.safetensors --query new.csv -k 4 -t grower"
    answer = run_json(*line.split())
    distance, row = expected_answers(metric, 4)
    answers = answer["answers"]
    np.testing.assert_array_equal(np.reshape(answers["row"], (28, 4)), row)
    np.testing.assert_allclose(np.reshape(answers["distance"], (28, 4)), distance, rtol=1e-9)
    assert answers["label"] == GROWERS[row.ravel()].tolist()
    assert answers["query"][:5] == [0, 0, 0, 0, 1]
    assert answers["rank"][:5] == [0, 1, 2, 3, 0]
    assert (answer["method"], answer["n_rows"], answer["n_queries"]) == ("exact", 150, 28)


SEARCH = ("search", "wine.parquet", "--model", "m.safetensors", "--query")


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet"])
def test_answers_in_files(metric, suffix):
    run(*SEARCH, "new.csv", "-k", "2", "-o", f"answers{suffix}", "-t", "grower")
    table = read_table(f"answers{suffix}", "grower")
    distance, row = expected_answers(metric, 2)
    assert table.feature_names == ["query", "rank", "row", "distance"]
    np.testing.assert_array_equal(table.X[:, 2], row.ravel())
    np.testing.assert_allclose(table.X[:, 3], distance.ravel(), rtol=1e-9)
    assert list(table.y) == list(GROWERS[row.ravel()])


def test_queries_and_answers_in_a_pipe():
    line = [*SEARCH, "-", "-o", "-", "-k", "1"]
    result = CliRunner().invoke(app, line, input=Path("new.csv").read_bytes())
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "query,rank,row,distance,grower"  # the column that is no feature
    answers = [line.split(",") for line in lines[1:]]
    assert all(name == GROWERS[int(row)] for _, _, row, _, name in answers)
    assert len(lines) == 29
    assert "1 nearest of 150 rows to each of 28 queries, exact" in result.stderr


def test_the_first_answers_are_printed():
    text = run(*SEARCH, "new.csv").stdout
    assert "10 nearest of 150 rows to each of 28 queries" in text
    assert "... and 260 more answers; write all to a file with -o" in text
    assert len(text.splitlines()) == 24
    few = run(*SEARCH, "new.csv", "-k", "500").stdout  # not more than there are
    assert few.startswith("150 nearest of 150 rows")


def test_the_heading_is_the_name_of_the_column():
    for options in ([], ["-t", "grower"]):
        head = run(*SEARCH, "new.csv", "-k", "1", *options).stdout.splitlines()[2]
        assert head.split() == ["query", "rank", "row", "distance", "grower"]
        answers = run_json(*SEARCH, "new.csv", "-k", "1", *options)["answers"]
        assert answers["label"] == [GROWERS[row] for row in answers["row"]]


def test_a_table_of_features_alone_has_no_names():
    write_table("plain.csv", Table(X[:150], None, NAMES))
    line = ("search", "plain.csv", "--model", "m.safetensors", "--query", "new.csv")
    assert "label" not in run_json(*line)["answers"]
    assert run(*line).stdout.splitlines()[2].split() == ["query", "rank", "row", "distance"]


def test_faiss_measures_its_recall():
    pytest.importorskip("faiss")
    answer = run_json(*SEARCH, "new.csv", "--faiss", "-k", "3")
    exact = run_json(*SEARCH, "new.csv", "-k", "3")
    assert answer["method"] == "faiss"
    shared = np.mean(
        [
            row in exact["answers"]["row"][q * 3 : q * 3 + 3]
            for q, row in zip(answer["answers"]["query"], answer["answers"]["row"], strict=True)
        ]
    )
    assert answer["recall"] == pytest.approx(shared)
    assert answer["recall"] > 0.9
    assert "measured on 28 queries" in run(*SEARCH, "new.csv", "--faiss").stdout


@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_transform_in_blocks_is_the_transform(metric, suffix):
    table = Table(np.tile(X, (1000, 1)), None, NAMES)
    assert table.X.nbytes > BlockSizes().numbers  # it is read in two blocks
    write_table(f"all{suffix}", table)
    answer = run_json("transform", "m.safetensors", f"all{suffix}", "-o", f"out{suffix}")
    assert answer["n_rows"] == len(table.X)
    found = read_table(f"out{suffix}").X
    whole = metric.transform(table.dataframe())[:, : found.shape[1]]
    np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-12)


def test_a_missing_input_is_not_blamed_on_the_output():
    line = "transform m.safetensors nothing.csv -o o.csv"
    error = run(*line.split(), code=3).stderr
    assert error.startswith("error: nothing.csv does not exist; expected a table; check its name")
    assert "o.csv" not in error
