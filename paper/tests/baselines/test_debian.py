"""Programs of Debian: how they are found and fetched, timed and read."""

import os
import sys

import numpy as np
import pytest

from frobmetric_paper.baselines import (
    SDP,
    ProgramFailedError,
    ProgramMissingError,
    conic,
    debian,
    set_up,
)
from sdpa_examples import MANUAL


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "problem.dat-s"
    path.write_text(MANUAL)
    return path


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a Python program of this name on the PATH, which has OpenBLAS in it as it seems."""

    def write(name, code):
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\n# OPENBLAS_NUM_THREADS\n{code}")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return write


@pytest.mark.parametrize("name", ["csdp", "sdpa"])
def test_absent_ones_say_what_to_do(name, path, tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissingError, match=f"frobmetric reproduce baselines {name}"):
        SDP[name].solve(path)
    assert "no apt-get" in dict(set_up([name]))[name]


def test_unfolding_by_csdp_needs_it_too(tmp_path, monkeypatch):
    monkeypatch.setenv("FROBMETRIC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no apt-get" in dict(set_up(["csdp_original"]))["csdp_original"]


@pytest.mark.parametrize(
    ("linked", "reason"),
    [
        ({"libsdp.so.0": "not found"}, "lacks libsdp.so.0"),
        ({"libblas.so.3": conic.__file__, "libm.so.6": "/"}, "is not OpenBLAS"),
        ({"libm.so.6": "/"}, "is not OpenBLAS"),
        ({"libblas.so.3": "/openblas-pthread/libblas.so.3"}, ""),
    ],
)
def test_only_openblas_will_do(linked, reason, monkeypatch):
    monkeypatch.setattr(debian.DebianProgram, "path", lambda self: conic.__file__)
    monkeypatch.setattr(debian.DebianProgram, "linked", lambda self: linked)
    missing = debian.CSDP.missing()
    assert reason in missing
    assert bool(reason) == bool(missing)


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


# CSDP: the file of the solution has y, then "matrix block i j value" of Z (1) and X (2)

SOLUTION = """1.1 2.7375 0.55
1 1 1 1 3.0
1 1 1 2 4.0
1 1 2 2 5.0
2 1 1 1 6.0
2 1 1 2 7.0
2 1 2 2 8.0
"""
CSDP = f"""
import sys, time
assert open("param.csdp").readline() == "axtol=1e-07\\n"
time.sleep(0.2)
print("Iter:  0 Ap: 0\\nIter: 14 Ap: 1", flush=True)
time.sleep(0.1)
print("Success: SDP solved")
print("Primal objective value: -4.1e+01")
print("Dual objective value: -4.2e+01")
open(sys.argv[2], "w").write({SOLUTION!r})
sys.exit(CODE)
"""


@pytest.mark.parametrize(("code", "status"), [(0, "optimal"), (3, "not_converged")])
def test_csdp_is_timed_and_read(code, status, path, install, in_process):
    install("csdp", CSDP.replace("CODE", str(code)))
    answer = SDP["csdp"].solve(path, tol=1e-7, limit=20, threads=1)
    assert answer.status == status
    np.testing.assert_array_equal(answer.X, [[6, 7], [7, 8]])
    np.testing.assert_array_equal(answer.Z, [[3, 4], [4, 5]])
    np.testing.assert_array_equal(-answer.y, [1.1, 2.7375, 0.55])
    assert 0.09 < answer.seconds < 5  # without the start
    detail = answer.detail
    assert (detail["primal"], detail["dual"], detail["iterations"]) == (-42, -41, 14)
    assert (detail["word"], detail["code"]) == ("Success: SDP solved", code)


def test_csdp_without_a_solution_shows_its_output(path, install, in_process):
    install("csdp", "print('broken file'); raise SystemExit(206)")
    with pytest.raises(ProgramFailedError, match=r"exit code 206 and no solution: broken file"):
        SDP["csdp"].solve(path)


def test_a_solution_cut_short_is_refused(path, install, in_process):
    install("csdp", "import sys; open(sys.argv[2], 'w').write('1 2 3 1 1'); print('Iter: 1')")
    with pytest.raises(ProgramFailedError, match="5 numbers are no solution with 3 multipliers"):
        SDP["csdp"].solve(path)


# SDPA

RESULT = """phase.value  = PHASE
   Iteration = 9
objValPrimal = -4.19e+01
objValDual   = -4.18e+01
xVec =
{-1.1,-2.7375,-0.55}
xMat =
{
{ {3,4 },{4,5 } }
}
yMat =
{
{ {6,7 },{7,8 } }
}
    main loop time = 0.25
        total time = 0.75
   file  read time = 0.50
"""
SDPA = f"""
import sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert options["-numThreads"] == "1"
assert "1e-07 double 0.0 < epsilonStar" in open(options["-p"]).read()
open(options["-o"], "w").write({RESULT!r})
"""


@pytest.mark.parametrize(("phase", "status"), [("pdOPT", "optimal"), ("pdFEAS", "not_converged")])
def test_sdpa_is_read(phase, status, path, install, in_process):
    install("sdpa", SDPA.replace("PHASE", phase))
    answer = SDP["sdpa"].solve(path, tol=1e-7, limit=20, threads=1)
    assert answer.status == status
    np.testing.assert_array_equal(answer.X, [[6, 7], [7, 8]])
    np.testing.assert_array_equal(answer.Z, [[3, 4], [4, 5]])
    np.testing.assert_array_equal(-answer.y, [-1.1, -2.7375, -0.55])
    assert answer.seconds == pytest.approx(0.25)
    detail = answer.detail
    assert (detail["primal"], detail["dual"]) == (-41.9, -41.8)
    assert (detail["iterations"], detail["word"]) == (9, phase)
