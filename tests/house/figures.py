"""Figures of the sources: lines, questions to objects, types, functions, docstrings, patches."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from house.patches import replaced_names
from house.sources import Source, docstring, n_function_lines, sources

#: Words with which a docstring does not begin, as they stand for its head noun.
PRONOUNS = re.compile(
    r"(That|Those|This|These|It|They|Them|What|Which|Who|Whose|Whom|Such|One|Ones|Others?|Same|"
    r"So many|So much|How much|How many)\b"
)
#: The same in the middle of a first line.
PRONOUNS_WITHIN = re.compile(r"\b(that|those) of\b|\bso many\b|\bso much\b", re.IGNORECASE)
QUESTIONS = ("getattr", "hasattr", "vars")


def figures(tree: Path) -> dict[str, Any]:
    """Return all figures of a checkout that follow from its files."""
    library = sources(tree, "src")
    return {
        "lines": lines(tree),
        "questions": questions(library),
        "parameters": parameters(library),
        "functions": functions(library),
        "docstrings": docstrings(library),
        "ignored": ignored(library),
        "replaced by tests": replaced(tree),
        "mutants": mutants(tree),
    }


# Lines


def lines(tree: Path) -> dict[str, dict[str, int]]:
    """Return files, lines and code lines of each part; attack suite and this tool apart."""
    parts: dict[str, list[Source]] = {name: [] for name in ("src", "tests", "paper")}
    parts |= {name: [] for name in ("paper attack", "tests/attack", "tests/house", "generated")}
    for source in sources(tree, "src", "tests", "paper"):
        parts[_part(source)].append(source)
    parts["tests with attack"] = parts["tests"] + parts["tests/attack"]
    return {name: _sizes(found) for name, found in parts.items()}


def _part(source: Source) -> str:
    folders = source.path.split("/")
    if source.is_generated:
        return "generated"
    if folders[0] == "paper":
        return "paper attack" if "attack" in folders else "paper"
    if folders[:2] in (["tests", "attack"], ["tests", "house"]):
        return "/".join(folders[:2])
    return "tests/house" if folders[-1] == "test_house.py" else folders[0]


def _sizes(found: list[Source]) -> dict[str, int]:
    n_lines = [source.n_lines for source in found]
    return {
        "files": len(found),
        "lines": sum(n_lines),
        "code lines": sum(source.n_code_lines() for source in found),
        "median file": int(median(n_lines or [0])),
        "p90 file": _p90(n_lines),
        "longest file": max(n_lines, default=0),
    }


def _p90(numbers: Iterable[int]) -> int:
    numbers = list(numbers)
    return round(quantiles(numbers, n=10, method="inclusive")[8]) if len(numbers) > 1 else 0


# Questions to an object what it is


def questions(library: list[Source]) -> dict[str, Any]:
    """Count calls of getattr, hasattr and vars, and handlers of AttributeError, by room."""
    kinds, rooms = Counter(), Counter()
    for source in library:
        for node in ast.walk(source.tree):
            kind = _question(node)
            if kind:
                kinds[kind] += 1
                rooms[room_of(source)] += 1
    return {
        "all": sum(kinds.values()),
        **dict(kinds.most_common()),
        "rooms": dict(rooms.most_common()),
    }


def _question(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id if node.func.id in QUESTIONS else ""
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        names = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)}
        return "except AttributeError" if "AttributeError" in names else ""
    return ""


def room_of(source: Source) -> str:
    """Return the room of a file of the library: its folder, or its name at the top."""
    parts = source.path.split("/")[2:]
    return parts[0] if len(parts) > 1 else f"({'top' if parts else ''})"


# Types


def parameters(library: list[Source]) -> dict[str, Any]:
    """Count parameters of all functions: without a type, and of type Any; self and cls apart."""
    kinds, missing, total = Counter(), Counter(), Counter()
    returns = Counter()
    for source in library:
        for node in source.functions():
            returns["typed" if node.returns is not None else "none"] += 1
            for argument in _arguments(node):
                kind = _kind(argument)
                kinds[kind] += 1
                total[room_of(source)] += 1
                missing[room_of(source)] += kind == "none"
    n = sum(kinds.values())
    shares = {name: round(100 * kinds[name] / n, 1) for name in ("typed", "Any", "none")}
    by_room = {name: round(100 - 100 * missing[name] / total[name]) for name in sorted(total)}
    return {
        "all": n,
        **dict(kinds),
        "percent": shares,
        "functions without a return type": returns["none"],
        "percent with a type, by room": by_room,
    }


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [each for each in named + starred if each.arg not in ("self", "cls")]


def _kind(argument: ast.arg) -> str:
    if argument.annotation is None:
        return "none"
    return "Any" if ast.unparse(argument.annotation) in ("Any", "'Any'", "typing.Any") else "typed"


def ignored(library: list[Source]) -> dict[str, int]:
    """Count what is hidden from the checkers of types and style."""
    texts = "\n".join(source.text for source in library)
    return {"type: ignore": texts.count("# type: ignore"), "noqa": texts.count("# noqa")}


# Functions and docstrings


def functions(library: list[Source]) -> dict[str, Any]:
    """Return lengths of functions, without docstrings."""
    found = [
        (n_function_lines(node), f"{source.path}:{node.name}")
        for source in library
        for node in source.functions()
    ]
    numbers = [length for length, _ in found]
    longest = sorted(found, reverse=True)[:5]
    return {
        "number": len(found),
        "median": median(numbers or [0]),
        "p90": _p90(numbers),
        "longest": max(numbers, default=0),
        "above 40 lines": sum(length > 40 for length in numbers),
        "longest ones": {name: length for length, name in longest},
    }


def docstrings(library: list[Source]) -> dict[str, Any]:
    """Count docstrings, those that begin with a pronoun, and public functions that have none."""
    texts = [each.value.strip() for source in library for each in source.docstrings]
    firsts = [text.splitlines()[0] for text in texts if text]
    starts = Counter(found[1] for line in firsts if (found := PRONOUNS.match(line)))
    public = [
        docstring(node) is not None
        for source in library
        for node in source.functions()
        if not node.name.startswith("_")
    ]
    return {
        "number": len(texts),
        "begin with a pronoun": sum(starts.values()),
        "pronouns": dict(starts.most_common()),
        "that of, so many in the first line": sum(bool(PRONOUNS_WITHIN.search(x)) for x in firsts),
        "that of, so many anywhere": sum(len(PRONOUNS_WITHIN.findall(x)) for x in texts),
        "percent of public functions": round(100 * sum(public) / max(1, len(public)), 1),
    }


# Tests


def replaced(tree: Path) -> dict[str, Any]:
    """Return the distinct names of the library that tests replace, and the number of places."""
    found: dict[str, Counter[str]] = {"tests": Counter(), "paper": Counter()}
    for folder, places in (("tests", ["tests"]), ("paper", ["paper/tests"])):
        for source in sources(tree, *places):
            if _part(source) != "tests/house":
                found[folder].update(replaced_names(source))
    of_library = {
        folder: [name for name in names if not name.startswith("frobmetric_paper")]
        for folder, names in found.items()
    }
    return {
        "names": len(of_library["tests"]),
        "names, by tests of the paper": len(of_library["paper"]),
        "names of the paper": len(found["paper"]) - len(of_library["paper"]),
        "places": sum(found["tests"].values()),
        "list": sorted(of_library["tests"]),
    }


def mutants(tree: Path) -> dict[str, Any]:
    """Return the stored numbers of mutants of the certificate code, and of those that survive."""
    paths = sorted(tree.rglob("results/mutants.json"))
    return _summary(json.loads(paths[0].read_text(encoding="utf-8"))) if paths else {}


def _summary(stored: Any) -> dict[str, Any]:
    return {"stored": stored} if len(json.dumps(stored)) < 2000 else _numbers(stored)


def _numbers(stored: Any) -> dict[str, Any]:
    if isinstance(stored, dict):
        parts = {key: _numbers(value) for key, value in stored.items()}
        return {key: part for key, part in parts.items() if part not in ({}, None)}
    if isinstance(stored, list):
        return {"length": len(stored)}
    return stored if isinstance(stored, int | float) else None
