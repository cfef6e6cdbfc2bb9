"""CSDP and SDPA, interior-point methods in C and C++, from the packages of Debian.

They are unpacked into the cache, without rights on the machine, and run with OpenBLAS: csdp links
to libblas.so.3 and liblapack.so.3, which are the slow reference ones unless another folder comes
first. OpenBLAS has both names in a folder of its own, which comes first here.
"""

from __future__ import annotations

import mmap
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frobmetric.sdp.sdpa import Layout

from ..harness.worker import ProgramFailedError, Target
from .base import SETUP, cache_folder
from .sdp import SDPBaseline

OPENBLAS = "libopenblas0-pthread"


@dataclass(frozen=True)
class DebianProgram:
    """A program of a Debian package, on the PATH or in the cache."""

    name: str
    package: str

    @property
    def folder(self):
        """Folder that the packages are unpacked into."""
        return cache_folder() / "debian" / self.name

    def path(self):
        """Return the path of the program; None if there is none."""
        return shutil.which(self.name) or shutil.which(self.name, path=self.folder / "usr" / "bin")

    def command(self, *arguments):
        """Return the command line, with OpenBLAS before any other BLAS."""
        return [*self._environment(), self.path(), *arguments]

    def linked(self):
        """Return the libraries that the program is linked to, by name, as `ldd` shows them."""
        command = [*self._environment(), "ldd", self.path()]
        shown = subprocess.run(command, capture_output=True, text=True, check=False)
        return dict(re.findall(r"^\s*(\S+) => (not found|\S+)", shown.stdout, re.MULTILINE))

    def missing(self):
        """Return the reason why the program cannot run here; empty if it can."""
        if self.path() is None:
            return f"there is no {self.name}; {SETUP} {self.name} fetches it"
        linked = self.linked()
        absent = [library for library, path in linked.items() if path == "not found"]
        if absent:
            return f"it lacks {', '.join(absent)}; {SETUP} {self.name} fetches them"
        slow = [path for path in self._blas(linked) if not _is_openblas(path)]
        if slow:
            return f"{', '.join(slow)} is not OpenBLAS; {SETUP} {self.name} fetches {OPENBLAS}"
        return ""

    def install(self):
        """Unpack what the machine lacks into the cache, unless the program can run."""
        if not self.missing():
            return
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise ProgramFailedError(f"there is no apt-get; it needs {self.package} and {OPENBLAS}")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as draft:
            _call("apt-get", "download", *_not_installed(self.package, OPENBLAS), folder=draft)
            for package in Path(draft).glob("*.deb"):
                _call("dpkg-deb", "-x", package.name, "root", folder=draft)
            shutil.rmtree(self.folder, ignore_errors=True)
            Path(draft, "root").replace(self.folder)

    def _environment(self):
        own = sorted((self.folder / "usr" / "lib").glob("*-linux-*"))
        machine = sorted(Path("/usr/lib").glob("*-linux-*"))
        fast = [path / "openblas-pthread" for path in (*machine, *own)]
        folders = [*filter(Path.is_dir, fast), *own]
        return "env", f"LD_LIBRARY_PATH={':'.join(map(str, folders))}"

    def _blas(self, linked):
        """Return the files of its BLAS and LAPACK: those linked, or the program itself."""
        names = [name for name in linked if re.match(r"lib(open)?(blas|lapack)\b", name)]
        return [linked[name] for name in names] or [self.path()]


def _is_openblas(path):
    """Return whether OpenBLAS is in the file, or in the file that its links lead to."""
    path = Path(path).resolve()
    if "openblas" in path.as_posix():
        return True
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"OPENBLAS_NUM_THREADS") >= 0


def _not_installed(*packages):
    """Return the packages and dependencies that are not installed."""
    plan = _call("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
    return re.findall(r"^Inst (\S+)", plan, re.MULTILINE)


def _call(*command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramFailedError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


CSDP = DebianProgram("csdp", "coinor-csdp")
#: Statuses by CSDP's exit codes; from 3, reduced accuracy, to 10 it gave up. It calls
#: max tr(C X), A(X) = a the primal: the SDPA format's (D).
CSDP_STATUS = dict.fromkeys(range(3, 11), "not_converged")
CSDP_STATUS |= {0: "optimal", 1: "dual_infeasible", 2: "primal_infeasible"}
#: CSDP's defaults but for the three tolerances.
CSDP_PARAMETERS = Path(__file__).with_name("csdp.param")


def solve_by_csdp(task):
    """Run CSDP and return the numbers of its solution file."""
    folder = Path(task["folder"])
    parameters = CSDP_PARAMETERS.read_text().format(tol=float(task["tol"]))
    (folder / "param.csdp").write_text(parameters)
    command = CSDP.command(task["file"], "solution")
    code, seconds, output = time_csdp(command, folder)
    return {"solution": np.fromfile(folder / "solution", sep=" ")}, {
        "status": CSDP_STATUS[code],
        "seconds": seconds,
        "seconds_of": "iterations",
        "word": _last(r"^((?:Success|Partial Success|Failure): .*)$", output),
        "iterations": int(_last(r"^Iter: *(\d+)", output) or 0),
        "primal": float(_last(r"^Dual objective value: (\S+)", output) or "nan"),
        "dual": float(_last(r"^Primal objective value: (\S+)", output) or "nan"),
        "code": code,
    }


def time_csdp(command, folder):
    """Run CSDP and measure its time, which Debian's does not print.

    CSDP first prints when it has read the problem and begins, and opens the solution file, the
    last word of the command, when it has ended: reading and writing are not counted. Return exit
    code, seconds and output.
    """
    printed, solution = folder / "stdout", folder / command[-1]
    with printed.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output)
    began = _wait(process, lambda: printed.stat().st_size > 0)
    ended = _wait(process, solution.exists)
    code = process.wait()
    if not solution.exists():
        raise ProgramFailedError(f"exit code {code} and no solution: {printed.read_text()[-1000:]}")
    return code, ended - began, printed.read_text()


def _wait(process, is_true):
    """Return when a condition became true, to a millisecond or a part in a thousand."""
    began = now = time.perf_counter()
    while process.poll() is None and not is_true():
        time.sleep(max(5e-4, (now - began) / 1000))
        now = time.perf_counter()
    return now


def read_csdp(problem, answer):
    """Return X, y, Z of CSDP's file: y, then `matrix block i j value`, Z being 1 and X 2."""
    numbers, m = answer["solution"], len(problem.loss.target)
    if len(numbers) < m or (len(numbers) - m) % 5:
        given = f"{len(numbers)} numbers"
        raise ProgramFailedError(f"csdp: {given} are no solution with {m} multipliers")
    table = numbers[m:].reshape(-1, 5)
    layout, values = Layout.of(problem.cone), np.zeros((2, problem.cost.size))
    matrix, block, i, j = table[:, :4].astype(np.intp).T - 1
    values[matrix, layout.position(block, i, j)] = table[:, 4]
    values[matrix, layout.position(block, j, i)] = table[:, 4]
    return values[1], -numbers[:m], values[0]


def _last(pattern, text):
    """Return the last match of the pattern's group; empty if there is none."""
    return (re.findall(pattern, text, re.MULTILINE) or [""])[-1]


SDPA = DebianProgram("sdpa", "sdpa")
#: Statuses by SDPA's own words. An unbounded problem has an infeasible dual.
SDPA_STATUS = {
    "pdOPT": "optimal",
    "pINF_dFEAS": "primal_infeasible",
    "dUNBD": "primal_infeasible",
    "pFEAS_dINF": "dual_infeasible",
    "pUNBD": "dual_infeasible",
}
#: SDPA's defaults but for the two tolerances and the digits of its output.
SDPA_PARAMETERS = Path(__file__).with_name("sdpa.param")


def solve_by_sdpa(task):
    """Run SDPA and return the vectors of its output file."""
    parameters, result = Path(task["folder"], "param.sdpa"), Path(task["folder"], "result")
    parameters.write_text(SDPA_PARAMETERS.read_text().format(tol=float(task["tol"])))
    files = "-ds", task["file"], "-o", str(result), "-p", str(parameters)
    subprocess.run(SDPA.command(*files, "-numThreads", str(task["threads"])), check=True)
    head, x, Z, X, tail = _parts(result.read_bytes())
    word = _find(r"phase.value *= *(\S+)", head)
    all_seconds, reading = (
        float(_find(rf"{name} time *= *(\S+)", tail)) for name in ("total", "file +read")
    )
    return {"x": _numbers(x), "Z": _numbers(Z), "X": _numbers(X)}, {
        "status": SDPA_STATUS.get(word, "not_converged"),
        "seconds": all_seconds - reading,
        "seconds_of": "all but reading and writing",
        "word": word,
        "iterations": int(_find(r"Iteration *= *(\d+)", head)),
        "primal": float(_find(r"objValPrimal *= *(\S+)", head)),
        "dual": float(_find(r"objValDual *= *(\S+)", head)),
    }


def _parts(content):
    """Return what comes before xVec, then xVec, xMat and yMat, then the times."""
    parts = []
    for head in (b"\nxVec =", b"\nxMat =", b"\nyMat =", b"main loop time"):
        part, separator, content = content.partition(head)
        if not separator:
            raise ValueError(f"its output file holds no {head.decode().strip()!r}")
        parts.append(part)
    return *parts, content


def _numbers(text):
    """Return the numbers of a vector, or of blocks one after the other."""
    return np.fromstring(text.translate(bytes.maketrans(b"{},", b"   ")), sep=" ")


def _find(pattern, text):
    match = re.search(pattern.encode(), text)
    if match is None:
        raise ValueError(f"its output file holds no {pattern!r}")
    return match[1].decode()


def _baseline(program, read):
    return SDPBaseline(
        name=program.name,
        target=Target(f"{__name__}:solve_by_{program.name}"),
        read=read,
        missing=program.missing,
        install=program.install,
    )


BASELINES = (
    _baseline(CSDP, read_csdp),
    _baseline(SDPA, lambda problem, answer: (answer["X"], -answer["x"], answer["Z"])),
)
