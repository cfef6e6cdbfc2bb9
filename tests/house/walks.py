"""Walks: the functions that run in one call, the files they are in, and who calls whom."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import frobmetric
from house import data
from house.library import find
from house.trees import require_library_of

LIBRARY = Path(frobmetric.__file__).parent
#: Flag of code of functions; bodies of modules and classes lack it.
OPTIMIZED = 1


class Tracer:
    """Profiler that records first calls of functions of the library, and calls between files."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], None] = {}
        self.functions: set[tuple[str, str]] = set()
        self.between: set[tuple[str, str]] = set()
        self.prefix = f"{LIBRARY}/"

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record the call of a function."""
        file = self._file_of(frame)
        if event != "call" or file is None:
            return
        code = frame.f_code
        self.calls[file, code.co_qualname] = None
        self.functions.add((file, code.co_name))
        caller = None if frame.f_back is None else self._file_of(frame.f_back)
        if caller not in (None, file) and not code.co_name.startswith("<"):
            self.between.add((caller, file))

    def _file_of(self, frame: FrameType) -> str | None:
        """Return the file of a function of the library; None for bodies of modules and classes."""
        code = frame.f_code
        is_own = code.co_filename.startswith(self.prefix) and code.co_flags & OPTIMIZED
        return code.co_filename.removeprefix(self.prefix) if is_own else None


def walk(function: Callable[[], Any]) -> dict[str, Any]:
    """Return what runs in a call; modules are imported by an earlier one."""
    tracer = Tracer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function()
        sys.setprofile(tracer)
        try:
            function()
        finally:
            sys.setprofile(None)
    files = Counter(file for file, _ in tracer.calls)
    sizes = {file: len((LIBRARY / file).read_text().splitlines()) for file in files}
    both = {pair for pair in tracer.between if pair[::-1] in tracer.between and pair[0] < pair[1]}
    rooms = Counter(file.partition("/")[0] if "/" in file else "(top)" for file in files)
    longest = max(sizes, key=lambda file: sizes[file])
    return {
        "files": len(files),
        "lines": sum(sizes.values()),
        "functions": len(tracer.functions),
        "both ways": [f"{a} <-> {b}" for a, b in sorted(both)],
        "longest file": f"{longest} ({sizes[longest]})",
        "files by room": dict(rooms.most_common()),
        "calls": [f"{file}:{name}" for file, name in tracer.calls],
    }


# The walks


def walks() -> dict[str, Callable[[], Any]]:
    """Return the walks by their letters."""
    iris, planted = data.iris(), data.planted()
    rows, labels = iris.pairs()
    triplets = iris.triplets()

    def fit(name: str, *given: Any, **options: Any) -> Callable[[], Any]:
        return lambda: find(name)(**options).fit(*given)

    model = find("FrobMetric")().fit(iris.X, iris.y)
    return {
        "a FrobMetric().fit": fit("FrobMetric", iris.X, iris.y),
        "b FrobMetricCV().fit": fit("FrobMetricCV", iris.X, iris.y),
        "c TripletFrobMetric.fit": fit("TripletFrobMetric", triplets, preprocessor=iris.X),
        "c' PairFrobMetric.fit": fit("PairFrobMetric", rows, labels, preprocessor=iris.X),
        "d EmbeddingAdapter.fit": fit("EmbeddingAdapter", planted.X, planted.y),
        "e report": partial(_report, model, iris),
        "f LMNN().fit": fit("LMNN", iris.X, iris.y, random_state=0),
        "g fit in shards": _in_shards,
        "h solve_sdp(file)": _solve_file,
        "i MaximumVarianceUnfolding().fit": fit("MaximumVarianceUnfolding", data.roll()[0]),
        "j save": partial(_save, model),
        "k load": partial(_load, model),
    }


def _report(model: Any, samples: data.Samples) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = find("report")(model, samples.X, samples.y)
        (Path(folder) / "report.html").write_text(page.to_html(), encoding="utf-8")


def _in_shards() -> None:
    digits = data.digits()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", digits.X)
        memory = 16 * 8 * 64 * 110
        rows = find("RowFile")(Path(folder) / "X.npy", memory=memory, folder=Path(folder))
        find("FrobMetric")().fit(rows, digits.y)


def _solve_file() -> None:
    rng, n = np.random.default_rng(11), 12
    with tempfile.TemporaryDirectory() as folder:
        A = [np.eye(n), *(np.diag(rng.random(n)) for _ in range(4))]
        problem = find("make_sdp")(
            -np.ones((n, n)), A, [1.0, 0.5, 0.5, 0.5, 0.5], ["=", *4 * ["<="]]
        )
        find("write_sdpa")(problem, Path(folder) / "problem.dat-s")
        find("solve_sdp")(find("read_sdpa")(Path(folder) / "problem.dat-s"))


def _save(model: Any) -> Path:
    path = Path(tempfile.gettempdir()) / "house-model.safetensors"
    find("save")(model, path)
    return path


def _load(model: Any) -> None:
    path = Path(tempfile.gettempdir()) / "house-model.safetensors"
    if not path.exists():
        _save(model)
    find("load")(path)


# Modules that are imported

_COUNT = "; import sys; print(sum(m.partition('.')[0] == 'frobmetric' for m in sys.modules))"


def imports() -> dict[str, int]:
    """Return the number of modules of the library that are loaded by what a user imports."""
    _save(find("FrobMetric")().fit(data.iris().X, data.iris().y))
    path = Path(tempfile.gettempdir()) / "house-model.safetensors"
    codes = {
        "frobmetric": "import frobmetric",
        "frobmetric.FrobMetric": "from frobmetric import FrobMetric",
        "io.load": "from frobmetric.io import load",
        "io.load_map": "from frobmetric.io import load_map",
        "load(FrobMetric)": f"from frobmetric.io import load; load({f'{path}'!r})",
        "load_map(FrobMetric)": f"from frobmetric.io import load_map; load_map({f'{path}'!r})",
        "frobmetric.core": "import frobmetric.core",
        "command line": "import frobmetric.__main__",
    }
    counts = {name: _n_modules(code) for name, code in codes.items()}
    path.unlink()
    return {name: count for name, count in counts.items() if count}


def _n_modules(code: str) -> int:
    command = [sys.executable, "-W", "ignore", "-c", code + _COUNT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else 0


def main() -> None:
    """Print the walks of the library on the path, as JSON."""
    require_library_of(Path(sys.argv[1]))
    found: dict[str, Any] = {}
    for name, function in walks().items():
        try:
            found[name] = walk(function)
        except Exception as error:  # a walk that is no longer possible must not hide the others
            found[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
    json.dump({"modules loaded": imports(), "walks": found}, sys.stdout)


if __name__ == "__main__":
    main()
