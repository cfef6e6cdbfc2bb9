"""Benchmarks: speed and accuracy beside other programs.

    python -m frobmetric_paper.bench NAME [options]
    python -m frobmetric_paper.bench --list

A benchmark is a module with a `BENCHMARK`, and the text of its page, of the same name, in `pages`;
the other modules serve them. `versions` is a script of its own, which compares two checkouts.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

#: Folder of the committed results.
RESULTS = Path(__file__).parents[3] / "results"
#: Folder of the texts of the pages.
PAGES = Path(__file__).with_name("pages")


def names():
    """Return the names of all benchmarks."""
    return sorted(path.stem for path in PAGES.glob("*.md"))


def find(name):
    """Return the benchmark of a name."""
    benchmark = import_module(f".{name}", __name__).BENCHMARK
    return replace(benchmark, template=PAGES / f"{name}.md")


def summary(name):
    """Return the first sentence about a benchmark, without importing it."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return " ".join(ast.get_docstring(ast.parse(source)).split("\n\n")[0].split())


def reasons(name):
    """Return the known reasons of what a benchmark finds, by the name of the finding."""
    text = Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)[name]
