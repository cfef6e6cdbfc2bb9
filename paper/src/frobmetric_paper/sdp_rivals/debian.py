"""Programs of Debian: unpacked into the cache, without rights on the machine, and with OpenBLAS.

csdp links to libblas.so.3 and liblapack.so.3, which are the slow reference ones unless something
else comes first. OpenBLAS has both names in a folder of its own, which is put first here.
"""

from __future__ import annotations

import mmap
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..rivals.cache import cache_folder
from ..rivals.processes import RivalFailed

SETUP = "python -m frobmetric_paper.sdp_rivals.setup"
OPENBLAS = "libopenblas0-pthread"


@dataclass(frozen=True)
class DebianProgram:
    """A program from a package of Debian, on the PATH or in the cache."""

    name: str
    package: str

    @property
    def needs(self):
        return f"Debian's {self.package} and {OPENBLAS}; {SETUP} {self.name}"

    @property
    def folder(self):
        """Where its packages are unpacked."""
        return cache_folder() / "debian" / self.name

    def path(self):
        """The program, or None."""
        return shutil.which(self.name) or shutil.which(self.name, path=self.folder / "usr" / "bin")

    def command(self, *arguments):
        """The command line, with OpenBLAS before any other BLAS."""
        return [*self._environment(), self.path(), *arguments]

    def linked(self):
        """What `ldd` says of the program: the libraries that it is given, by their names."""
        told = subprocess.run(
            [*self._environment(), "ldd", self.path()], capture_output=True, text=True, check=False
        )
        return dict(re.findall(r"^\s*(\S+) => (not found|\S+)", told.stdout, re.MULTILINE))

    def missing(self):
        """Why it cannot run here; empty if it can."""
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
            raise RivalFailed(f"there is no apt-get; it needs {self.package} and {OPENBLAS}")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as draft:
            _call("apt-get", "download", *_lacking(self.package, OPENBLAS), folder=draft)
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
        """The files that hold its BLAS and LAPACK: those linked, or the program itself."""
        names = [name for name in linked if re.match(r"lib(open)?(blas|lapack)\b", name)]
        return [linked[name] for name in names] or [self.path()]


def _is_openblas(path):
    """Whether OpenBLAS is in the file or is what its links lead to."""
    path = Path(path).resolve()
    if "openblas" in path.as_posix():
        return True
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"OPENBLAS_NUM_THREADS") >= 0


def _lacking(*packages):
    """Those of the packages, and of what they depend on, that are not installed."""
    plan = _call("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
    return re.findall(r"^Inst (\S+)", plan, re.MULTILINE)


def _call(*command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RivalFailed(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout
