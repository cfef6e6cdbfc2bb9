"""Every program solves SDPA files in our form, names infeasibility alike, and ends at its limit."""

import lzma

import numpy as np
import pytest

from frobmetric.core import PSD, Nonnegative, Product
from frobmetric.sdp.sdpa import read_sdpa
from frobmetric_paper.baselines import SDP, ProgramFailedError, SDPBaseline, TimeLimitError
from frobmetric_paper.harness.worker import Target
from sdpa_examples import MANUAL

#: x >= 1 and -x >= 1 at once; I shows that.
PRIMAL_INFEASIBLE = "1\n1\n2\n1.0\n0 1 1 1 1.0\n0 1 2 2 1.0\n1 1 1 1 1.0\n1 1 2 2 -1.0\n"
#: tr(Y) = -1 with Y >= 0.
DUAL_INFEASIBLE = "1\n1\n2\n-1.0\n0 1 1 1 1.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n"
#: How far a ray may be from one. SDPA leaves its last iterate, 1e5 or more away from the origin.
RAY = {"clarabel": 1e-5, "csdp": 1e-5, "scs": 1e-5, "sdpa": 1e-4}


@pytest.fixture(params=SDP)
def program(request, available):
    """Each program in turn; skipped if it is not installed."""
    return available(SDP[request.param])


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


def test_the_manuals_example(program, write, in_process):
    path = write(MANUAL)
    answer = program.solve(path, tol=1e-7, limit=20, threads=1)
    assert_optimal(answer, read_sdpa(path))
    assert answer.detail["primal"] == pytest.approx(-41.9, rel=1e-5)
    np.testing.assert_allclose(-answer.y, [-1.1, -2.7375, -0.55], atol=1e-3)
    assert answer.seconds >= 0
    assert {"seconds_of", "word", "iterations", "threads"} <= set(answer.detail)


def test_diagonal_blocks(program, rng, tmp_path, in_process):
    path = tmp_path / "blocks.dat-s.xz"
    path.write_bytes(lzma.compress(block_text(rng).encode()))
    problem = read_sdpa(path)
    assert problem.cone == Product((PSD(3), Nonnegative(2), PSD(2)))
    assert_optimal(program.solve(path, tol=1e-7, limit=20, threads=1), problem)


def test_primal_infeasible(program, write, in_process):
    path = write(PRIMAL_INFEASIBLE)
    answer, problem = program.solve(path, limit=20, threads=1), read_sdpa(path)
    assert answer.status == "primal_infeasible"
    assert answer.y is answer.Z is None
    assert np.vdot(problem.cost, answer.X) == pytest.approx(-1)
    assert np.linalg.norm(problem.constraints.forward(answer.X)) < RAY[program.name]
    assert problem.cone.min_eigenvalue(answer.X) > -RAY[program.name]


def test_dual_infeasible(program, write, in_process):
    path = write(DUAL_INFEASIBLE)
    answer, problem = program.solve(path, limit=20, threads=1), read_sdpa(path)
    assert answer.status == "dual_infeasible"
    assert answer.X is None
    assert problem.loss.target @ answer.y == pytest.approx(1)
    assert np.linalg.norm(problem.constraints.adjoint(answer.y) + answer.Z) < RAY[program.name]
    assert problem.cone.min_eigenvalue(answer.Z) > -RAY[program.name]


@pytest.mark.parametrize(
    ("file", "status"), [("infp1", "primal_infeasible"), ("infd1", "dual_infeasible")]
)
def test_sdplibs_infeasible_ones(program, file, status, data_folder, in_process):
    path = data_folder / "sdplib" / f"{file}.dat-s.xz"
    answer = program.solve(path, limit=20, threads=1)
    # Clarabel stops a step short of infp1's ray: AlmostPrimalInfeasible
    assert answer.status in {status, "not_converged" if program.name == "clarabel" else status}


@pytest.mark.slow
def test_a_worker_solves(program, write):
    path = write(MANUAL)
    assert_optimal(program.solve(path, tol=1e-7, limit=20, threads=1), read_sdpa(path))


def test_a_limit_of_their_own_leaves_an_answer(write, in_process):
    answer = SDP["scs"].solve(write(MANUAL), tol=1e-300, limit=0.2, threads=1)
    assert answer.status == "not_converged"
    assert "time_limit" in answer.detail["word"]
    assert answer.X.shape == (2, 2)


class Fake(Target):
    """A target that answers at once, or raises."""

    def run(self, arrays, values, limit, threads=None):
        if self.name == "sleep":
            raise TimeLimitError(limit)
        if self.name == "fail":
            raise ProgramFailedError("sdp:fail ended: it said why")
        assert values["file"].endswith("problem.dat-s")
        return {}, {"status": "not_converged", "seconds": 0.0}


def fake(name, read=None):
    return SDPBaseline(name=name, target=Fake(name), read=read, grace=1.0)


def test_the_limit_is_shown_without_the_grace(write):
    with pytest.raises(TimeLimitError) as caught:
        fake("sleep").solve(write(MANUAL), limit=0.5)
    assert str(caught.value) == "> 0.5 s"


def test_no_answer_is_an_error(write):
    with pytest.raises(ProgramFailedError, match="it said why"):
        fake("fail").solve(write(MANUAL))


def test_nan_is_no_answer(write):
    values = np.full(4, np.nan), np.ones(3), None
    answer = fake("nan", lambda problem, answer: values).solve(write(MANUAL))
    assert answer.X is answer.Z is None
    np.testing.assert_array_equal(answer.y, np.ones(3))
