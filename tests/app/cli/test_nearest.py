"""The commands for nearest matrices: answers, files, messages for mistakes."""

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pytest

from frobmetric.app.tables.matrices import read_matrix
from frobmetric.sdp import nearest_correlation, nearest_covariance, pairwise_correlation
from terminals import CliRunner, app, run, run_json

G = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
LABELLED = ",a,b,c\na,1,1,0\nb,1,1,1\nc,0,1,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with a matrix in it."""
    monkeypatch.chdir(tmp_path)
    write({"g.csv": LABELLED})
    return tmp_path


def write(files):
    for name, text in files.items():
        Path(name).write_text(text)


def read_labelled(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [row[0] for row in rows], rows


@pytest.mark.parametrize(
    ("text", "head", "side"),
    [
        (LABELLED, ["", "a", "b", "c"], ["", "a", "b", "c"]),
        (LABELLED.replace(",", ";"), ["", "a", "b", "c"], ["", "a", "b", "c"]),
        ("x,a,b,c\na,1,1,0\nb,1,1,1\nc,0,1,1\n", ["x", "a", "b", "c"], ["x", "a", "b", "c"]),
        (",0,1,2\n0,1,1,0\n1,1,1,1\n2,0,1,1\n", ["", "0", "1", "2"], ["", "0", "1", "2"]),
        ("a,b,c\n1,1,0\n1,1,1\n0,1,1\n", ["a", "b", "c"], None),
        ("0,1,2\n1,1,0\n1,1,1\n0,1,1\n", ["0", "1", "2"], None),
        ("a,1,1,0\nb,1,1,1\nc,0,1,1\n", None, ["a", "b", "c"]),
        ("1,1,0\n1,1,1\n0,1,1\n", None, None),
        ("1,,\n1,1,\n0,1,1\n", None, None),
        ("1,1,0\nNA,1,1\n,nan,1\n", None, None),
    ],
)
def test_correlation_keeps_the_labels(text, head, side):
    write({"given.csv": text})
    run("correlation", "given.csv", "-o", "nearest.csv")
    first, left, rows = read_labelled("nearest.csv")
    assert first == head or head is None
    assert left == side or side is None
    numbers = [row[side is not None :] for row in rows[head is not None :]]
    np.testing.assert_array_equal(np.array(numbers, dtype=float), nearest_correlation(G).matrix)


def test_correlation_as_json():
    np.save("g.npy", G)
    answer = run_json("correlation", "g.npy", "-o", "nearest.npy")
    found = nearest_correlation(G)
    np.testing.assert_array_equal(np.load("nearest.npy"), found.matrix)
    assert (answer["n"], answer["status"], answer["n_iter"]) == (3, "optimal", found.n_iter)
    assert answer["distance"] == found.distance
    assert answer["distance_bound"] == found.certificate.distance_bound
    assert answer["min_eigenvalue"]["before"] == pytest.approx(1 - np.sqrt(2))
    assert answer["min_eigenvalue"]["after"] >= -1e-12


def test_correlation_in_words():
    text = run("correlation", "g.csv", "-o", "nearest.tsv").stdout
    assert "nearest.tsv: 3 × 3" in text
    assert re.search(r"^distance +0\.52779", text, re.MULTILINE)
    assert re.search(r"^smallest eigenvalue +-0\.414214 before", text, re.MULTILINE)
    assert re.search(r"^converged after \d+ eigen-decompositions", text, re.MULTILINE)
    assert Path("nearest.tsv").read_text().startswith("\ta\tb\tc\na\t1.0\t0.76")


WEIGHTS = {
    "one a line": "1\n2\n3\n",
    "on one line": "1,2,3\n",
    "below names": "c,a,b\n3,1,2\n",
    "after names": "c,3\na,1\nb,2\n",
    "after names, with a head": "name,weight\nc,3\na,1\nb,2\n",
    "a matrix": "1,0,0\n0,2,0\n0,0,3\n",
    "a matrix with names": ",c,a,b\nc,3,0,0\na,0,1,0\nb,0,0,2\n",
}


@pytest.mark.parametrize("form", WEIGHTS)
def test_weights(form):
    write({"w.csv": WEIGHTS[form]})
    answer = run_json("correlation", "g.csv", "-o", "x.npy", "--weights", "w.csv")
    expected = nearest_correlation(G, weights=[1, 2, 3]).distance
    assert answer["distance"] == pytest.approx(expected, rel=1e-7)


def test_weights_of_two_variables():
    np.save("pair.npy", [[1, 2], [2, 1]])
    np.save("w.npy", [[1.0], [3.0]])
    write({"names.csv": "a,1\nb,3\n", "matrix.csv": "1,0\n0,3\n"})
    for name in ("w.npy", "names.csv", "matrix.csv"):
        answer = run_json("correlation", "pair.npy", "-o", "x.npy", "--weights", name)
        assert answer["distance"] == pytest.approx(np.sqrt(6))


def test_elementwise_weights_and_what_is_missing():
    write({"given.csv": ",a,b,c\na,1,1,\nb,1,1,-1\nc,,-1,1\n", "h.csv": "1,1,0\n1,1,1\n0,1,1\n"})
    answer = run_json("correlation", "given.csv", "-o", "x.csv", "--elementwise", "h.csv")
    assert answer["min_eigenvalue"]["before"] is None
    assert answer["distance"] == pytest.approx(0, abs=1e-3)
    assert (
        "unknown before"
        in run("correlation", "given.csv", "-o", "x.csv", "--elementwise", "h.csv").stdout
    )


@pytest.mark.parametrize("text", ["a,c\n", "row,column\nc,a\n", "0,2\n"])
def test_fixed_entries(text):
    write({"fixed.csv": text})
    run("correlation", "g.csv", "-o", "x.npy", "--fixed", "fixed.csv")
    assert np.load("x.npy")[0, 2] == pytest.approx(0, abs=1e-8)
    assert nearest_correlation(G).matrix[0, 2] > 0.1


def test_bounds_are_numbers_or_files():
    write({"upper.csv": ",c,b,a\nc,,0.7,\nb,0.7,,0.6\na,,0.6,\n"})
    run("correlation", "g.csv", "-o", "x.npy", "--upper", "upper.csv", "--lower", "-0.5")
    X = np.load("x.npy")
    assert X[0, 1] == pytest.approx(0.6, abs=1e-8)
    assert X[1, 2] == pytest.approx(0.7, abs=1e-8)
    run("correlation", "g.csv", "-o", "x.npy", "--upper", "0.5")
    np.testing.assert_allclose(np.load("x.npy")[[0, 1], [1, 2]], 0.5, atol=1e-8)


def test_min_eigenvalue_and_max_iter_reach_the_solver():
    answer = run_json("correlation", "g.csv", "-o", "x.npy", "--min-eigenvalue", "0.1")
    assert answer["min_eigenvalue"]["after"] == pytest.approx(0.1, abs=1e-9)
    result = run("correlation", "g.csv", "-o", "x.npy", "--max-iter", "1", code=4)
    assert "NOT converged (max_iter) after 1 eigen-decomposition," in result.stdout
    assert result.stderr.startswith("warning: ")


def test_covariance():
    write({"rows.csv": "sense,b,c,a\n<=,0.5,1,1\n=,2,1,0\n"})
    answer = run_json("covariance", "g.csv", "-o", "x.csv", "--constraints", "rows.csv")
    found = nearest_covariance(G, [[1, 0, 1], [0, 0, 1]], [0.5, 2], ["<=", "="])
    _, names, rows = read_labelled("x.csv")
    assert names == ["", "a", "b", "c"]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows[1:]], float), found.matrix)
    assert answer["distance"] == found.distance
    assert run_json("covariance", "g.csv", "-o", "x.npy")["distance"] == pytest.approx(
        np.sqrt(2) - 1
    )


def test_covariance_without_labels():
    np.save("g.npy", G)
    write({"rows.csv": "sense,b,first,second,third\n=,2,1,0,0\n"})
    run("covariance", "g.npy", "-o", "x.npy", "--constraints", "rows.csv")
    assert np.load("x.npy")[0, 0] == pytest.approx(2, rel=1e-7)


def test_counts_are_weights_and_entries_may_be_missing():
    data = np.random.default_rng(0).normal(size=(20, 3))
    data[:12, 0], data[10:, 1] = np.nan, np.nan
    matrix, counts = pairwise_correlation(data)
    assert np.isnan(matrix[0, 1])
    lines = [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in matrix]
    Path("pairs.csv").write_text("\n".join(["a,b,c", *lines]))
    np.save("counts.npy", counts)
    run("correlation", "pairs.csv", "-o", "x.csv", "--counts", "counts.npy")
    expected = nearest_correlation(matrix, counts=counts).matrix
    np.testing.assert_allclose(read_matrix(Path("x.csv")).values, expected, atol=1e-7)
    assert read_matrix(Path("x.csv")).names == ["a", "b", "c"]


def table_with_gaps(path):
    """Write rows of a column of names and four of numbers, two without a common row."""
    data = np.random.default_rng(0).normal(size=(30, 4)) + np.arange(30)[:, None] / 9
    data[:18, 0], data[17:, 1] = np.nan, np.nan
    cells = [["" if np.isnan(x) else repr(float(x)) for x in row] for row in data]
    lines = ["id,a,b,c,d", *(",".join([f"N{i}", *row]) for i, row in enumerate(cells))]
    Path(path).write_text("\n".join(lines) + "\n")
    return data


def test_a_table_of_rows_with_gaps():
    data = table_with_gaps("rows.csv")
    arguments = ["correlation", "--from-rows", "rows.csv", "--drop", "id", "-o", "x.csv"]
    answer = run_json(*arguments)
    pairs = pairwise_correlation(data)
    assert answer["counts"] == [int(pairs.counts.min()), int(pairs.counts.max())]
    matrix = read_matrix(Path("x.csv"))
    assert matrix.names == ["a", "b", "c", "d"]
    np.testing.assert_allclose(matrix.values, nearest_correlation(pairs).matrix, atol=1e-9)
    shown = run(*arguments).stdout
    assert "from rows            0 to 30 of them have both columns of an entry" in shown
    line = "correlation --from-rows rows.csv --columns c,a -o y.csv"
    run(*line.split())
    assert read_matrix(Path("y.csv")).names == ["c", "a"]
    line = "correlation --from-rows rows.csv --drop 0 -o z.csv"
    run(*line.split())
    assert read_matrix(Path("z.csv")).names == ["a", "b", "c", "d"]


def test_rows_without_names():
    np.save("rows.npy", np.random.default_rng(0).normal(size=(9, 3)))
    line = "correlation --from-rows rows.npy --drop 1 -o x.csv"
    run(*line.split())
    assert read_matrix(Path("x.csv")).names == ["x0", "x2"]


@pytest.mark.parametrize("command", ["correlation", "covariance"])
def test_a_pipe_and_compressed_files(command):
    Path("g.csv.gz").write_bytes(gzip.compress(LABELLED.encode()))
    run(command, "g.csv", "-o", "plain.csv")
    run(command, "g.csv.gz", "-o", "packed.csv.gz")
    plain = Path("plain.csv").read_bytes()
    assert gzip.decompress(Path("packed.csv.gz").read_bytes()) == plain
    result = CliRunner().invoke(app, [command, "-", "-o", "-"], input=LABELLED.encode())
    assert (result.exit_code, result.stdout) == (0, plain.decode())
    assert "-: 3 × 3" in result.stderr
    binary = io.BytesIO()
    np.save(binary, G)
    result = CliRunner().invoke(app, [command, "-", "-o", "x.npy"], input=binary.getvalue())
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(np.load("x.npy"), read_matrix(Path("plain.csv")).values)
    broken = CliRunner().invoke(app, [command, "-", "-o", "-"], input=b"1,2\n5,1\n")
    assert broken.stderr.startswith("error: stdin is not symmetric")


def test_a_valid_matrix_is_said_to_be_one():
    Path("valid.csv").write_text("a,b\n1,0.5\n0.5,1\n")
    assert run("correlation", "valid.csv", "-o", "x.csv").stdout.splitlines() == [
        "x.csv: 2 × 2",
        "already such a matrix; nothing changed",
    ]
    np.testing.assert_array_equal(read_matrix(Path("x.csv")).values, [[1, 0.5], [0.5, 1]])
