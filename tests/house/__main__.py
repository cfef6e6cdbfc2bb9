"""Command line of the tool: ``python tests/house COMMAND``."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from house import collected, figures, report, speed, trees
from house.comparison import differences

#: Commands that measure one tree and print what they find.
MEASURES = {
    "names": "public names, by module",
    "walks": "functions and files that run in a call",
    "figures": "lines, types, functions, docstrings, patches",
    "tests": "test cases that pytest collects, by folder",
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="python tests/house", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    answers = commands.add_parser("answers", help="answers of every estimator, as bits")
    answers.add_argument("--only", default="", help="cases whose name contains this text")
    answers.add_argument("--values", type=int, default=6, help="largest array that is kept whole")
    answers.add_argument("--compare", nargs="+", type=Path, metavar="JSON", help="one or two files")
    _add_common(answers)
    for name, text in MEASURES.items():
        measure = commands.add_parser(name, help=text)
        _add_common(measure)
    cover = commands.add_parser("coverage", help="branches that the tests cover, by room")
    cover.add_argument("tests", nargs="*", help="arguments of pytest; put -- before options")
    _add_common(cover)
    fast = commands.add_parser("speed", help="two checkouts, measured in turn in one run")
    fast.add_argument("old", type=Path, metavar="OLD_TREE")
    fast.add_argument("new", type=Path, metavar="NEW_TREE")
    fast.add_argument("--pairs", type=int, default=15, help="measurements of each tree")
    fast.add_argument("--only", nargs="+", choices=speed.PARTS, default=list(speed.PARTS))
    fast.add_argument("--threads", type=int, default=1, help="threads of each process")
    fast.add_argument("--resume", type=Path, help="file of JSON lines to keep and continue")
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tree", type=Path, default=trees.ROOT, help="checkout to measure")
    parser.add_argument("-o", "--output", type=Path, help="JSON file to write")


def answers(given: argparse.Namespace) -> int:
    """Print or write the answers of a tree, or compare answers with earlier ones."""
    if given.compare and len(given.compare) == 2:
        return _compare(*map(trees.read_json, given.compare))
    options = [f"{given.tree.resolve()}", "--only", given.only, "--values", f"{given.values}"]
    found = json.loads(trees.run_module(given.tree, "house.answers", options))
    found = {"commit": trees.commit_of(given.tree), **found}
    if given.output:
        trees.write_json(given.output, found)
    if given.compare:
        before = trees.read_json(given.compare[0])
        if given.only:
            cases = before["cases"].items()
            before["cases"] = {name: case for name, case in cases if given.only in name}
        return _compare(before, found)
    if not given.output:
        _say(json.dumps(found, indent=1))
    return 0


def measure(given: argparse.Namespace) -> int:
    """Print or write a measurement of a tree."""
    more = [given.tests] if given.command == "coverage" else []
    found = {"commit": trees.commit_of(given.tree), **MEASURED[given.command](given.tree, *more)}
    if given.output:
        trees.write_json(given.output, found)
    _say(report.text_of(given.command, found))
    return 0


def compare_speed(given: argparse.Namespace) -> int:
    """Print the table of the times of two trees."""
    old, new = given.old.resolve(), given.new.resolve()
    plan = speed.Plan(old, new, tuple(given.only), given.pairs, given.threads)
    _say(speed.table(speed.run(plan, given.resume)))
    return 0


def _in_process(module: str, tree: Path) -> dict[str, Any]:
    """Return what a module of this tool prints about the library of a tree."""
    return json.loads(trees.run_module(tree, module, [f"{tree.resolve()}"]))


MEASURED = {
    "names": partial(_in_process, "house.names"),
    "walks": partial(_in_process, "house.walks"),
    "figures": figures.figures,
    "tests": collected.collected,
    "coverage": collected.coverage,
}
COMMANDS = {"answers": answers, "speed": compare_speed} | dict.fromkeys(MEASURED, measure)


def _compare(before: dict, after: dict) -> int:
    if before["made with"] != after["made with"]:
        _say(f"made with {before['made with']}\nand with  {after['made with']}: bits may differ")
    worse, more = differences(before, after)
    _say("\n".join([*(f"new: {line}" for line in more), *worse]))
    _say(f"{len(worse)} differences, {len(more)} new, in {len(before['cases'])} cases")
    return 1 if worse else 0


def _say(text: str) -> None:
    if text:
        print(text)  # noqa: T201


def main() -> int:
    """Run a command; return the exit code."""
    given = make_parser().parse_args()
    if hasattr(given, "tree"):
        given.tree = given.tree.resolve()
    return COMMANDS[given.command](given)


if __name__ == "__main__":
    sys.exit(main())
