"""Every program solves SDPA files in our form, names infeasibility alike, and ends at its limit."""

import lzma
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from frobmetric_paper.rivals.setup import set_up
from frobmetric_paper.sdp_rivals import (
    SDP_RIVALS,
    ProgramFailedError,
    ProgramMissingError,
    SDPAnswer,
    SDPRival,
    TimeLimitError,
    csdp,
    debian,
    setup,
)
from frobmetric_paper.sdp_rivals.csdp import CLOCK
from frobmetric_paper.sdp_rivals.triangles import triangles

from frobmetric.core import PSD, Nonnegative, Product
from frobmetric.sdp.sdpa import read_sdpa
from sdpa_examples import MANUAL

#: x >= 1 and -x >= 1 at once; I shows that.
PRIMAL_INFEASIBLE = "1\n1\n2\n1.0\n0 1 1 1 1.0\n0 1 2 2 1.0\n1 1 1 1 1.0\n1 1 2 2 -1.0\n"
#: tr(Y) = -1 with Y >= 0.
DUAL_INFEASIBLE = "1\n1\n2\n-1.0\n0 1 1 1 1.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n"
#: How far a ray may be from one. SDPA leaves its last iterate, 1e5 or more away from the origin.
RAY = {"clarabel": 1e-5, "csdp": 1e-5, "scs": 1e-5, "sdpa": 1e-4}


def available(name):
    rival = SDP_RIVALS[name]
    if not rival.is_available():
        pytest.skip(f"{name}: {rival.missing()}")
    return rival


@pytest.fixture
def write(tmp_path):
    """Text -> the path of a file with it."""

    def write_text(text):
        path = tmp_path / "problem.dat-s"
        path.write_text(text)
        return path

    return write_text


def block_text(rng, sizes=(3, -2, 2), m=4):
    """A file with these blocks, and I strictly feasible for both of its problems."""
    lines, c = [], np.zeros(m)
    for block, size in enumerate(sizes, 1):
        n = abs(size)
        pairs = [(i, j) for i in range(n) for j in range(i, n) if size > 0 or i == j]
        for i, j in pairs:
            values = rng.normal(size=m)
            c += values * (i == j)  # <F_i, I>
            place = f"{block} {i + 1} {j + 1}"
            lines += [f"{row} {place} {value}" for row, value in enumerate(values, 1)]
            lines.append(f"0 {place} {values.sum() - (i == j)}")  # F0: x = 1 and Z = I
    head = [m, len(sizes), " ".join(map(str, sizes)), " ".join(map(str, c))]
    return "\n".join(map(str, [*head, *lines])) + "\n"


def assert_optimal(answer, problem, tol=1e-5):
    """X, y and Z belong together."""
    A, b, C = problem.constraints, problem.loss.target, problem.cost
    assert answer.status == "optimal"
    assert answer.X.shape == answer.Z.shape == problem.cone.shape
    np.testing.assert_allclose(A.forward(answer.X), b, atol=tol * (1 + np.linalg.norm(b)))
    np.testing.assert_allclose(
        C - A.adjoint(answer.y), answer.Z, atol=tol * (1 + np.linalg.norm(C))
    )
    for M in (answer.X, answer.Z):
        assert problem.cone.min_eigenvalue(M) > -tol
    assert np.vdot(C, answer.X) == pytest.approx(b @ answer.y, rel=tol, abs=tol)
    assert answer.detail["primal"] == pytest.approx(-b @ answer.y, rel=1e-4)
    assert answer.detail["dual"] == pytest.approx(-np.vdot(C, answer.X), rel=1e-4)


@pytest.mark.parametrize("name", SDP_RIVALS)
def test_interface(name):
    rival = SDP_RIVALS[name]
    assert rival.name == name
    assert rival.needs
    assert rival.is_available() == (not rival.missing())


@pytest.mark.parametrize("name", SDP_RIVALS)
def test_the_manuals_example(name, write):
    path = write(MANUAL)
    answer = available(name).solve(path, tol=1e-7, limit=20, threads=1)
    assert_optimal(answer, read_sdpa(path))
    assert answer.detail["primal"] == pytest.approx(-41.9, rel=1e-5)
    np.testing.assert_allclose(-answer.y, [-1.1, -2.7375, -0.55], atol=1e-3)
    assert answer.seconds >= 0
    assert {"seconds_of", "word", "iterations", "threads"} <= set(answer.detail)


@pytest.mark.parametrize("name", SDP_RIVALS)
def test_diagonal_blocks(name, rng, tmp_path):
    path = tmp_path / "blocks.dat-s.xz"
    path.write_bytes(lzma.compress(block_text(rng).encode()))
    problem = read_sdpa(path)
    assert problem.cone == Product((PSD(3), Nonnegative(2), PSD(2)))
    assert_optimal(available(name).solve(path, tol=1e-7, limit=20, threads=1), problem)


@pytest.mark.parametrize("name", SDP_RIVALS)
def test_primal_infeasible(name, write):
    path = write(PRIMAL_INFEASIBLE)
    answer, problem = available(name).solve(path, limit=20, threads=1), read_sdpa(path)
    assert answer.status == "primal_infeasible"
    assert answer.y is answer.Z is None
    assert np.vdot(problem.cost, answer.X) == pytest.approx(-1)
    assert np.linalg.norm(problem.constraints.forward(answer.X)) < RAY[name]
    assert problem.cone.min_eigenvalue(answer.X) > -RAY[name]


@pytest.mark.parametrize("name", SDP_RIVALS)
def test_dual_infeasible(name, write):
    path = write(DUAL_INFEASIBLE)
    answer, problem = available(name).solve(path, limit=20, threads=1), read_sdpa(path)
    assert answer.status == "dual_infeasible"
    assert answer.X is None
    assert problem.loss.target @ answer.y == pytest.approx(1)
    assert np.linalg.norm(problem.constraints.adjoint(answer.y) + answer.Z) < RAY[name]
    assert problem.cone.min_eigenvalue(answer.Z) > -RAY[name]


@pytest.mark.parametrize("name", SDP_RIVALS)
@pytest.mark.parametrize(
    ("file", "status"), [("infp1", "primal_infeasible"), ("infd1", "dual_infeasible")]
)
def test_sdplibs_infeasible_ones(name, file, status, data_folder):
    path = data_folder / "sdplib" / f"{file}.dat-s.xz"
    answer = available(name).solve(path, limit=20, threads=1)
    # Clarabel stops a step short of infp1's ray: AlmostPrimalInfeasible
    assert answer.status in {status, "not_converged" if name == "clarabel" else status}


def test_a_limit_of_their_own_leaves_an_answer(write):
    answer = SDP_RIVALS["scs"].solve(write(MANUAL), tol=1e-300, limit=0.2, threads=1)
    assert answer.status == "not_converged"
    assert "time_limit" in answer.detail["word"]
    assert answer.X.shape == (2, 2)


def test_the_time_limit_ends_the_process(write, tmp_path):
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    command = [sys.executable, "-c", code, str(tmp_path / "pid")]
    sleeper = SDPRival("sleeper", "patience", lambda task: command, read=None, grace=1)
    with pytest.raises(TimeLimitError) as caught:
        sleeper.solve(write(MANUAL), limit=0.5)
    assert str(caught.value) == "> 0.5 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_no_answer_is_told(write):
    silent = [sys.executable, "-c", ""]
    with pytest.raises(ProgramFailedError, match="no answer"):
        replace(SDP_RIVALS["scs"], command=lambda task: silent).solve(write(MANUAL))


def test_nan_is_no_answer(write):
    nan = np.full(4, np.nan)
    rival = SDPRival(
        "nan",
        "",
        lambda task: [sys.executable, "-c", ""],
        lambda task: SDPAnswer("not_converged", nan, np.ones(3), None, 0.0),
    )
    answer = rival.solve(write(MANUAL))
    assert answer.X is answer.Z is None
    np.testing.assert_array_equal(answer.y, np.ones(3))


@pytest.mark.parametrize("half", [np.triu_indices, np.tril_indices])
def test_triangles(half, rng):
    vectors = triangles(Product((PSD(3), Nonnegative(2), PSD(2))), half)
    assert (vectors.n_linear, vectors.orders) == (2, (3, 2))
    np.testing.assert_allclose((vectors.T @ vectors.T.T).toarray(), np.eye(2 + 6 + 3), atol=1e-15)
    G, d, H = rng.normal(size=(3, 3)), rng.normal(size=2), rng.normal(size=(2, 2))
    G, H = G + G.T, H + H.T
    flat = np.concatenate([G.ravel(), d, H.ravel()])
    np.testing.assert_allclose(vectors.T.T @ (vectors.T @ flat), flat)
    expected = [np.where(np.eye(len(M)), M, np.sqrt(2) * M)[half(len(M))] for M in (G, H)]
    np.testing.assert_allclose(vectors.T @ flat, np.concatenate([d, *expected]))


# Programs of Debian


@pytest.mark.parametrize("name", ["csdp", "sdpa"])
def test_absent_ones_say_what_to_do(name, write, tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissingError, match=rf"sdp_rivals\.setup {name}"):
        SDP_RIVALS[name].solve(write(MANUAL))
    assert "no apt-get" in set_up(name, SDP_RIVALS)


@pytest.mark.parametrize(
    ("linked", "reason"),
    [
        ({"libsdp.so.0": "not found"}, "lacks libsdp.so.0"),
        ({"libblas.so.3": csdp.__file__, "libm.so.6": "/"}, "is not OpenBLAS"),
        ({"libm.so.6": "/"}, "is not OpenBLAS"),
        ({"libblas.so.3": "/openblas-pthread/libblas.so.3"}, ""),
    ],
)
def test_only_openblas_will_do(linked, reason, monkeypatch):
    monkeypatch.setattr(debian.DebianProgram, "path", lambda self: csdp.__file__)
    monkeypatch.setattr(debian.DebianProgram, "linked", lambda self: linked)
    found = csdp.PROGRAM.missing()
    assert reason in found
    assert bool(reason) == bool(found)


def test_packages_are_unpacked_into_the_cache(tmp_path, monkeypatch):
    """With an apt-get and a dpkg-deb that only write."""
    scripts = {
        "apt-get": 'test "$1" = install && echo "Inst lib (1.0)" || touch lib.deb',
        "dpkg-deb": 'mkdir -p root/usr/bin && cd root/usr/bin && echo "# OPENBLAS_NUM_THREADS" >'
        " nobody && chmod +x nobody",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path / "cache"))
    program = debian.DebianProgram("nobody", "nobody-bin")
    assert "there is no nobody" in program.missing()
    program.install()
    assert program.missing() == ""
    assert [path.name for path in (tmp_path / "cache" / "debian").iterdir()] == ["nobody"]


def test_setup_knows_them(capsys):
    assert setup.main(["scs"], SDP_RIVALS) == 0
    assert capsys.readouterr().out == "scs: ready\n"
    assert "nobody" in setup.main(["nobody"], SDP_RIVALS)


def test_the_clock_tells_why_there_is_no_solution(tmp_path):
    code = "print('broken file'); raise SystemExit(206)"
    command = [sys.executable, CLOCK, tmp_path, sys.executable, "-c", code, "solution"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "206" in done.stderr
    assert "broken file" in done.stderr
