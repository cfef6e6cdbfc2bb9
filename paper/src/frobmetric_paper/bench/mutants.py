"""Mutants of the certificate code: small changes of it, each of which some test must notice.

The tests are collected once and run for each mutant in a forked process, up to the first failure.
A mutant survives if all tests pass.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import FunctionType

from ..harness.benchmark import Benchmark, Options
from . import reasons
from .mutations import mutants

ROOT = Path(__file__).parents[4]
#: Files, the functions that are mutated (all if None), and the tests that must notice it.
TARGETS = {
    "verify": ("verify.py", None, ["tests/test_verify.py"]),
    "proof": ("core/proof.py", None, ["tests/core/test_proof.py"]),
    "certify": (
        "core/solution.py",
        ("error", "certify", "_exact_certificate", "_above", "_check_point", "_check_dual"),
        ["tests/core/test_solution.py", "tests/core/test_proof.py"],
    ),
}
#: Seconds of processor time, and bytes, that the tests of one mutant may take.
MOST_SECONDS, MOST_MEMORY = 20, 8 << 30


def swap(module, source, path):
    """Put changed functions and constants into a module.

    The functions stay the same objects, with other code, for those who have imported them; `path`
    becomes the file of the module.
    """
    path.write_text(source, encoding="utf-8")
    new = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(source, str(path), "exec"), new)
    for name, value in new.items():
        old = getattr(module, name, None)
        if getattr(value, "__module__", None) != module.__name__:
            if not name.startswith("__"):
                setattr(module, name, value)
        elif isinstance(value, FunctionType):
            old.__code__, old.__kwdefaults__ = value.__code__, value.__kwdefaults__
            old.__defaults__ = value.__defaults__
        elif name == "Certificate":
            old.error = value.error
    module.__file__ = str(path)


class MutantLoop:
    """Plugin of pytest that runs the collected tests for each mutant, in a forked process."""

    def __init__(self, name, source, found):
        self.name, self.source, self.found, self.alive = name, source, found, []

    def pytest_runtestloop(self, session):
        module = import_module(self.name)
        if self._is_noticed(session, module, self.source):
            raise RuntimeError("the tests fail without any mutant")
        for text, source in self.found:
            if self._is_noticed(session, module, source):
                continue
            self.alive.append(text)
            sys.stderr.write(f"  survives: {text}\n")
        return True

    def _is_noticed(self, session, module, source):
        child = os.fork()
        if child == 0:
            os._exit(self._run(session, module, source))
        return os.waitpid(child, 0)[1] != 0

    def _run(self, session, module, source):
        """Return 1 if a test fails, and 0 if none does."""
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            with tempfile.TemporaryDirectory() as folder:
                swap(module, source, Path(folder, "mutant.py"))
                for item, after in zip(session.items, [*session.items[1:], None], strict=True):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                    if session.testsfailed:
                        return 1
        except BaseException:  # a mutant may end in any way
            return 1
        return 0


def survivors(path, functions, tests, share, only=None):
    """Return the number of mutants in a share of all, and descriptions of those that survive.

    With `only`, descriptions of mutants, the others count as noticed.
    """
    import hypothesis
    import pytest

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    options = {"database": None, "derandomize": True, "phases": phases}
    hypothesis.settings.register_profile("mutants", **options)
    hypothesis.settings.load_profile("mutants")
    os.chdir(ROOT)
    source = (ROOT / "src" / "frobmetric" / path).read_text(encoding="utf-8")
    found = list(mutants(source, functions, share))
    tried = [each for each in found if only is None or each[0] in only]
    loop = MutantLoop(f"frobmetric.{path.removesuffix('.py').replace('/', '.')}", source, tried)
    plain = (
        "--assert=plain -qq -s -p no:cacheprovider -p no:xdist -o addopts=--import-mode=importlib"
    )
    code = pytest.main([*plain.split(), "-m", "not slow", *tests], plugins=[loop])
    if code != 0:
        raise RuntimeError(f"{tests} could not be run: pytest ended with {code}")
    return len(found), loop.alive


def measure(name, options):
    """Return the number of mutants of a file, and those that survive.

    --resume tries those again that survived before, after a test was added.
    """
    path, functions, tests = TARGETS[name]
    only = options.stored and options.stored["survivors"]
    n_shares, n_processes = options.choose((4, 4), (60, 1))
    shares = [slice(first, None, n_shares) for first in range(n_processes)]
    with get_context("fork").Pool(n_processes) as pool:
        found = pool.starmap(survivors, [(path, functions, tests, each, only) for each in shares])
    alive = [text for _, some in found for text in some]
    return {"file": path, "mutants": sum(n for n, _ in found), "survivors": sorted(alive)}


def page(data):
    """Return the rows of the page: the files, and the mutants that survive with the reason."""
    rows = [row | {"alive": len(row["survivors"])} for row in data.values()]
    for row in rows:
        row["percent"] = 100 * row["alive"] / row["mutants"]
    known = reasons("mutants")
    total, alive = (sum(row[key] for row in rows) for key in ("mutants", "alive"))
    survivors = [
        {"file": row["file"], "mutant": text, "reason": known.get(text, "not explained")}
        for row in rows
        for text in row["survivors"]
    ]
    share = f"{alive} of {total} mutants survive ({100 * alive / max(1, total):.1f} %)"
    return {"share": share, "files": rows, "survivors": survivors}


BENCHMARK = Benchmark(
    parts={name: partial(measure, name) for name in TARGETS}, page=page, options=Options(repeat=1)
)
