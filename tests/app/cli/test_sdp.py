"""The commands for SDPA files: answers and signs, files, messages for mistakes."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from frobmetric.sdp import read_sdpa
from sdpa_examples import MANUAL
from terminals import run, run_json

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


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder with small problems in it."""
    monkeypatch.chdir(tmp_path)
    write({"manual.dat-s": MANUAL, "parts.dat-s": PARTS, "no_x.dat-s": NO_X, "no_z.dat-s": NO_Z})
    return tmp_path


def write(files):
    for name, text in files.items():
        Path(name).write_text(text)


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
    assert answer["ray_error"] == 0
    assert "rounding errors bounded" in answer["proof"] or "exact" in answer["proof"]
    x, (X,), (Z,) = read_csdp("ray", 1, [2])
    assert -x[0] == pytest.approx(-1)  # c.x
    assert not X.any()
    np.testing.assert_allclose(Z, [[1, 0], [0, 0]], atol=1e-9)


def test_no_z_is_primal_infeasible():
    answer = run_json("sdp", "solve", "no_z.dat-s", "-o", "ray.npz")
    assert answer["status"] == "primal_infeasible"
    assert answer["ray_error"] == 0
    assert "rounding errors bounded" in answer["proof"] or "exact" in answer["proof"]
    with np.load("ray.npz", allow_pickle=False) as ray:
        np.testing.assert_allclose(ray["X1"], [[1, 0], [0, 0]], atol=1e-6)
        assert not ray["x"].any()
        assert not ray["Z1"].any()
    assert "primal infeasible: no x" in run("sdp", "solve", "no_z.dat-s").stdout


def test_nearly_infeasible_is_not_solved():
    """X = [[1e-5, 1], [1, 1e5]] is feasible: no proof, and a bound that it meets."""
    with open("narrow.dat-s", "w") as file:
        file.write("2\n1\n2\n1e-5 1\n0 1 1 1 -1\n0 1 2 2 -1\n1 1 1 1 1\n2 1 1 2 0.5\n")
    answer = run_json("sdp", "solve", "narrow.dat-s", code=4)
    assert (answer["status"], answer["proof"]) == ("not_converged", None)
    assert answer["nearly"]["status"] == "dual_infeasible"
    assert 1e3 <= answer["nearly"]["least_trace"] <= 1e5 + 1e-5
    shown = run("sdp", "solve", "narrow.dat-s", code=4).stdout
    assert "nearly   dual infeasible: any feasible X has a trace of at least" in shown
    assert "proof" not in shown


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


def test_help_says_what_is_written():
    text = run("sdp", "solve", "--help").stdout
    for words in ("NAME.npz", "`1 block i j value` of Z", "eta_p  ", "bound  ", "c.x = -1"):
        assert words in text
