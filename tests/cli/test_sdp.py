"""The commands for semidefinite programs: answers and signs, files, words for mistakes."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from frobmetric.sdp import nearest_correlation, nearest_covariance, read_sdpa

for package in ("typer", "rich"):
    pytest.importorskip(package, reason="the command line needs the extra cli")
from typer.testing import CliRunner

from frobmetric.cli.app import app
from sdpa_examples import MANUAL
from terminals import read_until

SOURCE = Path(__file__).resolve().parents[2] / "src"
MANUAL_X, MANUAL_Y = [-1.1, -2.7375, -0.55], [[5.9, -1.375], [-1.375, 1]]
# maximise X_12 + X_34 + 2 d_1 with a unit diagonal and d_1 + d_2 = 3: 1 + 1 + 6, in three parts
PARTS = """\
5
2
4 -2
1 1 1 1 3
0 1 1 2 0.5
0 1 3 4 0.5
0 2 1 1 2
1 1 1 1 1
2 1 2 2 1
3 1 3 3 1
4 1 4 4 1
5 2 1 1 1
5 2 2 2 1
"""
# X_11 = -1 cannot be; and Z_11 = -1 neither, whatever x is
NO_X, NO_Z = "1\n1\n2\n-1\n0 1 1 1 1\n1 1 1 1 1\n", "1\n1\n2\n1\n0 1 1 1 1\n1 1 2 2 1\n"
G = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
LABELLED = ",a,b,c\na,1,1,0\nb,1,1,1\nc,0,1,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with small problems and a matrix in it."""
    monkeypatch.chdir(tmp_path)
    write(
        {
            "manual.dat-s": MANUAL,
            "parts.dat-s": PARTS,
            "no_x.dat-s": NO_X,
            "no_z.dat-s": NO_Z,
            "g.csv": LABELLED,
        }
    )
    return tmp_path


def write(files):
    for name, text in files.items():
        Path(name).write_text(text)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    """The one JSON object, which must be all of stdout, without NaN and infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    stdout = run(*arguments, "--json", code=code).stdout
    answer = json.loads(stdout, parse_constant=refuse)
    assert answer["exit_code"] == code
    return answer


def sdplib(folder, name):
    path = folder / "sdplib" / f"{name}.dat-s.xz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return path


def read_csdp(path, m, sizes):
    """x, X and Z of a text as CSDP writes it, by the letter of its manual."""
    head, *lines = Path(path).read_text().splitlines()
    x = np.array(head.split(), dtype=float)
    found = [[np.zeros((n, n)) for n in sizes] for _ in "ZX"]
    assert len(x) == m
    for line in lines:
        matrix, block, i, j, value = line.split()
        assert int(i) <= int(j)
        A = found[int(matrix) - 1][int(block) - 1]
        A[int(i) - 1, int(j) - 1] = A[int(j) - 1, int(i) - 1] = float(value)
    return x, found[1], found[0]


# sdp solve


def test_the_example_of_the_manual_as_json():
    answer = run_json("sdp", "solve", "manual.dat-s", "--tol", "1e-7")
    assert answer["status"] == answer["ended"] == "optimal"
    assert answer["primal"] == pytest.approx(-41.9, abs=1e-4)
    assert answer["dual"] == pytest.approx(-41.9, abs=1e-4)
    assert -41.9 - 1e-9 <= answer["bound"] <= -41.9 + 1e-3
    assert set(answer["errors"]) == {"eta_p", "eta_d", "eta_g"}
    assert max(answer["errors"].values()) <= answer["tol"] == 1e-7
    assert answer["min_eigenvalue"]["X"] == pytest.approx(0.6405, abs=1e-3)
    assert answer["min_eigenvalue"]["Z"] == pytest.approx(0, abs=1e-4)
    assert answer["ray_error"] is answer["sigma"] is answer["solution"] is None
    assert answer["n_iter"] > 0
    assert 0 < answer["seconds"] < 60


def test_the_example_of_the_manual_in_words():
    result = run("sdp", "solve", "manual.dat-s", "--tol", "1e-8", "-o", "solution")
    assert result.stderr == ""
    for words in (
        r"^status +optimal$",
        r"^primal +-41\.(9|8999)",
        r"^dual +-41\.(9|8999)",
        r"^bound +-41\.\S+: the dual",
        r"^errors +eta_p \S+ \(rows\), eta_d",
        r"^time +\d+\.\d s",
        r"^written +solution$",
    ):
        assert re.search(words, result.stdout, re.MULTILINE), words


def test_the_solution_as_text_is_that_of_csdp():
    run("sdp", "solve", "manual.dat-s", "-o", "solution", "--tol", "1e-8")
    x, (X,), (Z,) = read_csdp("solution", 3, [2])
    np.testing.assert_allclose(x, MANUAL_X, atol=1e-4)
    np.testing.assert_allclose(X, MANUAL_Y, atol=1e-4)
    F = [[[-11, 0], [0, 23]], [[10, 4], [4, 0]], [[0, 0], [0, -8]], [[0, -8], [-8, -2]]]
    np.testing.assert_allclose(Z, np.tensordot(x, F[1:], 1) - F[0], atol=1e-12)


def test_text_and_arrays_hold_the_same():
    run("sdp", "solve", "parts.dat-s", "-o", "solution.txt")
    run("sdp", "solve", "parts.dat-s", "-o", "solution.npz")
    x, X, Z = read_csdp("solution.txt", 5, [4, 2])
    with np.load("solution.npz", allow_pickle=False) as file:
        assert sorted(file) == ["X1", "X2", "Z1", "Z2", "x"]
        assert file["X1"].shape == (4, 4)
        assert file["X2"].shape == (2,)
        np.testing.assert_array_equal(file["x"], x)
        for name, blocks in (("X", X), ("Z", Z)):
            np.testing.assert_array_equal(file[f"{name}1"], blocks[0])
            np.testing.assert_array_equal(np.diag(file[f"{name}2"]), blocks[1])
        np.testing.assert_allclose(file["X2"], [3, 0], atol=1e-4)


def test_a_compressed_file():
    with gzip.open("manual.dat-s.gz", "wt") as file:
        file.write(MANUAL)
    assert run_json("sdp", "solve", "manual.dat-s.gz")["dual"] == pytest.approx(-41.9, abs=1e-3)


def test_sigma_is_the_perturbed_problem():
    """The rows leave one X, so the objective is known: <F0, X> - |X|^2 / (2 sigma)."""
    answer = run_json("sdp", "solve", "manual.dat-s", "--sigma", "10")
    expected = -41.9 - np.sum(np.square(MANUAL_Y)) / 20
    assert answer["sigma"] == 10
    assert answer["dual"] == pytest.approx(expected, rel=1e-6)
    assert answer["primal"] == pytest.approx(expected, rel=1e-5)


def test_no_x_is_dual_infeasible():
    """In words of the format: (D) is the problem of X."""
    answer = run_json("sdp", "solve", "no_x.dat-s", "-o", "ray")
    assert answer["status"] == "dual_infeasible"
    assert answer["primal"] is answer["dual"] is answer["bound"] is None
    assert set(answer["errors"].values()) == {None}
    assert 0 <= answer["ray_error"] <= 1e-7
    x, (X,), (Z,) = read_csdp("ray", 1, [2])
    assert -x[0] == pytest.approx(-1)  # c.x
    assert not X.any()
    np.testing.assert_allclose(Z, [[1, 0], [0, 0]], atol=1e-9)


def test_no_z_is_primal_infeasible():
    answer = run_json("sdp", "solve", "no_z.dat-s", "-o", "ray.npz")
    assert answer["status"] == "primal_infeasible"
    assert 0 <= answer["ray_error"] <= 1e-7
    with np.load("ray.npz", allow_pickle=False) as ray:
        np.testing.assert_allclose(ray["X1"], [[1, 0], [0, 0]], atol=1e-6)
        assert not ray["x"].any()
        assert not ray["Z1"].any()
    assert "primal infeasible: no x" in run("sdp", "solve", "no_z.dat-s").stdout


@pytest.mark.parametrize(
    ("name", "status"), [("infp1", "primal_infeasible"), ("infd1", "dual_infeasible")]
)
def test_infeasible_problems_of_sdplib(data_folder, name, status):
    path = sdplib(data_folder, name)
    assert run_json("sdp", "solve", path, "-o", "ray.npz")["status"] == status
    problem = read_sdpa(path)
    c, F0, F = problem.loss.target, -problem.cost, problem.constraints
    with np.load("ray.npz", allow_pickle=False) as ray:
        if status == "primal_infeasible":
            X = ray["X1"]
            assert np.vdot(F0, X) == pytest.approx(1)
            assert np.abs(F.forward(X)).max() <= 1e-6 * np.linalg.norm(X)
        else:
            X = ray["Z1"]
            assert c @ ray["x"] == pytest.approx(-1)
            np.testing.assert_allclose(F.adjoint(ray["x"]), X, atol=1e-12)
        assert np.linalg.eigvalsh(X)[0] >= -1e-7 * np.linalg.norm(X)


def test_a_problem_of_sdplib(data_folder):
    answer = run_json("sdp", "solve", sdplib(data_folder, "truss1"))
    assert answer["status"] == "optimal"
    assert answer["primal"] == pytest.approx(-8.9999963, rel=1e-5)
    assert answer["dual"] == pytest.approx(-8.9999963, rel=1e-5)


@pytest.mark.parametrize(
    ("option", "ended"), [(("--max-iter", 1), "max_iter"), (("--time-limit", 1e-9), "time_limit")]
)
def test_not_converged_is_4_and_still_written(option, ended):
    answer = run_json("sdp", "solve", "manual.dat-s", "-o", "solution", *option, code=4)
    assert (answer["status"], answer["ended"]) == ("not_converged", ended)
    assert Path("solution").is_file()
    result = run("sdp", "solve", "manual.dat-s", *option, code=4)
    assert "NOT solved to tol 1e-06" in result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"warning: not solved to tol 1e-06: --{ended.replace('_', '-')} was")


# sdp info


def test_info_as_json():
    answer = run_json("sdp", "info", "parts.dat-s")
    assert answer["rows"] == 5
    assert answer["blocks"] == [
        {"count": 1, "size": 4, "is_diagonal": False},
        {"count": 1, "size": 2, "is_diagonal": True},
    ]
    assert answer["split_blocks"] == [
        {"count": 2, "size": 2, "is_diagonal": False},
        {"count": 1, "size": 2, "is_diagonal": True},
    ]
    assert answer["nonzeros"] == {"F": 6, "F0": 5}
    assert answer["density"] == pytest.approx(6 / (5 * 18))
    assert answer["norms"] == pytest.approx({"c": np.sqrt(13), "F0": np.sqrt(5)})
    assert answer["ranges"] == {"F": [1, 1], "F0": [0.5, 2], "c": [1, 3]}
    assert answer["memory_bytes"] > 0


def test_info_in_words():
    text = run("sdp", "info", "parts.dat-s").stdout
    assert re.search(r"^blocks +1 × 4, 1 × 2 diagonal$", text, re.MULTILINE)
    assert re.search(r"^ +which split into 2 × 2, 1 × 2 diagonal$", text, re.MULTILINE)
    assert "split" not in run("sdp", "info", "manual.dat-s").stdout


def test_info_of_numbers_that_are_all_zero():
    write({"zero.dat-s": "1\n1\n2\n0\n1 1 1 1 1\n"})
    answer = run_json("sdp", "info", "zero.dat-s")
    assert answer["ranges"] == {"F": [1, 1], "F0": None, "c": None}
    assert "F0: none, c: none" in run("sdp", "info", "zero.dat-s").stdout


def test_info_of_sdplib(data_folder):
    text = run("sdp", "info", sdplib(data_folder, "truss1")).stdout
    assert re.search(r"^blocks +6 × 2, 1 × 1$", text, re.MULTILINE)


# correlation and covariance


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
    assert answer["distance"] == pytest.approx(
        nearest_correlation(G, weights=[1, 2, 3]).distance, rel=1e-7
    )


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


# Mistakes

BROKEN = {
    "cut.dat-s": MANUAL[:60],
    "half.dat-s": MANUAL[:-6],
    "block.dat-s": MANUAL.replace("1 1 1 2 4", "1 3 1 2 4"),
    "text.dat-s": "hello world\n",
    "empty.dat-s": "",
    "huge.dat-s": "1\n1\n30000000\n1\n1 1 1 1 1\n",
    "asymmetric.csv": LABELLED.replace("b,1,", "b,0.9,"),
    "missing.csv": LABELLED.replace("a,1,1,0", "a,1,1,").replace("c,0,", "c,,"),
    "word.csv": LABELLED.replace("a,1,1,0", "a,1,one,0"),
    "infinite.csv": LABELLED.replace("a,1,1,0", "a,1,inf,0"),
    "wide.csv": "1,2,3\n4,5,6\n",
    "ragged.csv": "1,2\n3\n",
    "order.csv": LABELLED.replace("b,1,1,1\nc,0,1,1", "c,1,1,1\nb,0,1,1"),
    "twice.csv": "a,a\n1,0\n0,1\n",
    "fixed.csv": "row,column\na,d\n",
    "weights.csv": "d,1\na,1\nb,1\n",
    "negative.csv": "1\n-1\n1\n",
    "small.csv": "1,0\n0,1\n",
    "sense.csv": "sense,b,a\n<,1,1\n",
    "head.csv": "=,1,1,0,0\n",
    "name.csv": "sense,b,d\n=,1,1\n",
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("sdp solve no.dat-s", "no.dat-s does not exist; check its name"),
        ("sdp solve cut.dat-s", "cut.dat-s, line 3: the file ends here"),
        ("sdp solve half.dat-s", r"half.dat-s, line 12: 3 numbers are given \(3 1 2\)"),
        ("sdp solve block.dat-s", r"block.dat-s, line 9: .* has block 3; expected one of 1 to 1"),
        ("sdp solve text.dat-s", "text.dat-s, line 1: 'hello' is given as m"),
        ("sdp solve g.csv", "g.csv, line 1: 'a' is given as m"),
        ("sdp info empty.dat-s", "empty.dat-s is empty"),
        ("sdp info huge.dat-s", "huge.dat-s is too large for this machine: .*allocate"),
        ("sdp info .", r"\. is not a file"),
        ("sdp solve manual.dat-s -o no/x", "no/x: the folder .* does not exist"),
        ("correlation no.csv -o x.csv", "no.csv does not exist"),
        ("correlation manual.dat-s -o x.csv", "cannot read manual.dat-s: expected one of .csv"),
        ("correlation g.csv -o x.txt", "cannot write x.txt: expected one of .csv, .tsv, .npy"),
        ("correlation g.csv -o no/x.csv", "the folder .* does not exist"),
        (
            "correlation asymmetric.csv -o x.csv",
            "asymmetric.csv is not symmetric: 1 at row 'a', column 'b' and 0.9 at its mirror",
        ),
        (
            "correlation missing.csv -o x.csv",
            "missing.csv, row 'a', column 'c': the value is missing; .* --elementwise",
        ),
        ("covariance missing.csv -o x.csv", "row 'a', column 'c': the value is missing; fill it"),
        ("correlation word.csv -o x.csv", "word.csv, line 2, number 2: 'one' is text"),
        ("correlation infinite.csv -o x.csv", "row 'a', column 'b': infinite"),
        ("correlation wide.csv -o x.csv", "2 rows and 3 columns; expected a square matrix"),
        ("correlation ragged.csv -o x.csv", "ragged.csv, line 2 has 1 fields; the first has 2"),
        ("correlation order.csv -o x.csv", "column 2 is named 'b' and row 2 'c'"),
        ("correlation twice.csv -o x.csv", "the name 'a' is there twice"),
        ("correlation bad.npy -o x.csv", "bad.npy cannot be read as a npy file"),
        ("correlation words.npy -o x.csv", "it holds <U1; expected real numbers"),
        ("correlation line.npy -o x.csv", r"an array of shape \(3,\); expected \(n, n\)"),
        ("correlation g.csv -o x.csv --fixed fixed.csv", "fixed.csv, line 2: 'd' is no label of g"),
        ("correlation g.csv -o x.csv --fixed wide.csv", "has 3 columns; expected row, column"),
        ("correlation g.csv -o x.csv --weights weights.csv", "weights.csv: 'd' is not in g.csv"),
        ("correlation g.csv -o x.csv --weights negative.csv", r"weights\[1\] = -1"),
        ("correlation g.csv -o x.csv --elementwise small.csv", "small.csv has 2 rows and g.csv 3"),
        ("correlation g.csv -o x.csv --lower 0.9 --upper 0.5", "the bounds cross"),
        ("covariance g.csv -o x.csv --constraints sense.csv", "line 2: the sense '<'; expected ="),
        ("covariance g.csv -o x.csv --constraints head.csv", "line 1: =,1; expected sense,b"),
        ("covariance g.csv -o x.csv --constraints name.csv", "line 1: 'd' is no label of g.csv"),
    ],
)
def test_bad_data_are_3(arguments, message):
    write(BROKEN | {"bad.npy": "text"})
    np.save("words.npy", [["a"]])
    np.save("line.npy", [1.0, 2, 3])
    before = sorted(Path().iterdir())
    result = run(*arguments.split(), code=3)
    assert result.stderr.startswith("error: ")
    assert re.search(message, result.stderr)
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert re.search(message, run_json(*arguments.split(), code=3)["error"])
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("sdp solve", "Missing argument"),
        ("sdp slove manual.dat-s", "No such command 'slove'"),
        ("sdp solve manual.dat-s --tol 0", "--tol.* 0 is not positive"),
        ("sdp solve manual.dat-s --tol nan", "nan is not positive"),
        ("sdp solve manual.dat-s --sigma -1", "--sigma.* -1 is not positive"),
        ("sdp solve manual.dat-s --time-limit 0", "--time-limit.* 0 is not positive"),
        ("sdp solve manual.dat-s --max-iter 0", "--max-iter"),
        ("sdp solve manual.dat-s -o manual.dat-s", "manual.dat-s names a problem"),
        ("sdp solve manual.dat-s -o other.DAT-S.gz", "names a problem"),
        ("correlation g.csv", "Missing option"),
        ("correlation g.csv -o x.csv --lower low", "'low' is no number; expected one, or a file"),
        ("correlation g.csv -o x.csv --min-eigenvalue 1", "must be below 1"),
        ("correlation g.csv -o x.csv --weights g.csv --elementwise g.csv", "not both"),
        ("covariance g.csv -o x.csv --min-eigenvalue -1", "--min-eigenvalue"),
    ],
)
def test_wrong_usage_is_2(arguments, message):
    before = sorted(Path().iterdir())
    result = run(*arguments.split(), code=2)
    assert re.search(message, " ".join(result.stderr.split()))
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("command", ["sdp", "sdp solve", "sdp info", "correlation", "covariance"])
def test_help_names_the_exit_codes(command):
    text = run(*command.split(), "--help").stdout
    for code in ("0  ", "2  ", "3  ", "4  ", "130  "):
        assert re.search(rf"^\s+{code}", text, re.MULTILINE)


def test_help_says_what_is_written():
    text = run("sdp", "solve", "--help").stdout
    for words in ("NAME.npz", "`1 block i j value` of Z", "eta_p  ", "bound  ", "c.x = -1"):
        assert words in text


# Processes


def environment():
    return os.environ | {
        "PYTHONPATH": str(SOURCE),
        "OPENBLAS_NUM_THREADS": "1",
        "TERM": "xterm",
        "COLUMNS": "150",
    }


def test_a_process_of_its_own():
    command = [
        sys.executable,
        "-m",
        "frobmetric",
        "sdp",
        "solve",
        "manual.dat-s",
        "--json",
        "-o",
        "solution",
    ]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["dual"] == pytest.approx(-41.9, abs=1e-3)
    assert Path("solution").is_file()


def test_interrupted_before_the_first_iterate(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("frobmetric.cli.sdp_actions.solve_sdp", interrupt)
    result = run("sdp", "solve", "manual.dat-s", "-o", "solution", code=130)
    assert result.stderr == "error: interrupted; nothing was saved\n"
    assert not Path("solution").exists()


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals and SIGINT are Unix's")
def test_ctrl_c_writes_the_best_answer(rng):
    """A real process on a real terminal; the progress line says when to press Ctrl-C."""
    n = 120
    entries = (f"0 1 {i + 1} {j + 1} {rng.normal()}" for i in range(n) for j in range(i, n))
    diagonal = (f"{i} 1 {i} {i} 1" for i in range(1, n + 1))
    write({"cut.dat-s": "\n".join([f"{n}\n1\n{n}", "1 " * n, *entries, *diagonal])})
    terminal, stderr = os.openpty()
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "frobmetric",
            "sdp",
            "solve",
            "cut.dat-s",
            "-o",
            "solution.npz",
            "--tol",
            "1e-17",
            "--max-iter",
            "100000000",
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(),
        # a test run in the background of a shell would hand on that SIGINT is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(stderr)
    try:
        seen = read_until(terminal, rb"\d+\.\d s  eta_p \S+ eta_d \S+ eta_g \S+  value \S+")
        child.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        answer = json.loads(child.communicate()[0])
    finally:
        child.kill()
        os.close(terminal)
    assert child.returncode == answer["exit_code"] == 130
    assert b"interrupted; the best answer so far is in solution.npz" in seen
    assert (answer["status"], answer["ended"]) == ("not_converged", "interrupted")
    with np.load("solution.npz", allow_pickle=False) as file:
        assert file["x"].shape == (n,)
        assert np.linalg.eigvalsh(file["X1"])[0] >= -1e-6
