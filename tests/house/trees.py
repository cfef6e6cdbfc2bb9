"""Run Python in a checkout of the library: its sources come first on the path."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Folder of this tool, and the folder that it is imported from.
HOUSE = Path(__file__).resolve().parent
TESTS = HOUSE.parent
#: The checkout that this tool belongs to.
ROOT = TESTS.parent
#: Results of commit 7f917b6, the last one before the redesign.
BEFORE = HOUSE / "before"
#: Compiled files go here, so that a checkout that is only read stays as it is.
CACHE = Path(os.environ.get("HOUSE_CACHE", Path(tempfile.gettempdir()) / f"house-{os.getuid()}"))
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB", "BLIS")
}


def environment(tree: Path, one_thread: bool = True) -> dict[str, str]:
    """Return the variables of a process that imports the library of `tree`."""
    key = f"{tree.resolve()}".replace("/", "_")
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([f"{tree / 'src'}", f"{tree / 'paper' / 'src'}", f"{TESTS}"]),
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": f"{CACHE / key}",
        "NUMBA_CACHE_DIR": f"{CACHE / key / 'numba'}",
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{CACHE / key / 'hypothesis'}",
        "SCIPY_ARRAY_API": "1",
    }
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # the prefix hides what is compiled elsewhere
    return variables | (ONE_THREAD if one_thread else {})


def run_module(
    tree: Path, module: str, arguments: Sequence[str] = (), *, one_thread: bool = True
) -> str:
    """Run a module of this tool on a tree; return what it prints, errors go to the terminal."""
    command = [sys.executable, "-m", module, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(tree, one_thread),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{module} ended with code {done.returncode} in {tree}")
    return done.stdout


def require_library_of(tree: Path) -> None:
    """Raise unless the library that was imported is the one of `tree`."""
    import frobmetric

    found = Path(frobmetric.__file__).resolve()
    if (tree / "src").resolve() not in found.parents:
        raise SystemExit(f"imported {found}, expected the library of {tree}")


def commit_of(tree: Path) -> str:
    """Return the commit of a checkout, with a plus if files differ from it."""
    git = ["git", "-C", f"{tree}"]
    done = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    status = [*git, "status", "--porcelain", "--untracked-files=no"]
    changed = subprocess.run(status, capture_output=True, text=True).stdout.strip()
    return (done.stdout.strip() or "unknown") + ("+" if changed else "")


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one line for each entry of the upper two levels, so that differences are readable."""
    lines = []
    for key, value in data.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f" {_compact(name)}:{_compact(v)}" for name, v in value.items())
            lines.append(f"{_compact(key)}:{{\n{inner}}}")
        else:
            lines.append(f"{_compact(key)}:{_compact(value)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "{" + ",\n".join(lines) + "}\n"
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if _is_packed(path) else text.encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return what `write_json` wrote."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if _is_packed(path) else content)


def _is_packed(path: Path) -> bool:
    return path.suffix == ".gz"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
