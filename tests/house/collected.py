"""Test cases that pytest collects, and branches that they cover."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from house import trees


def collected(tree: Path) -> dict[str, Any]:
    """Return the number of test cases by folder, and by file."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = _run([*command, "-n0"], tree)
    lines = [line for line in done.stdout.splitlines() if "::" in line]
    if done.returncode not in (0, 5) or not lines:
        raise SystemExit(f"pytest collected nothing in {tree}:\n{done.stdout[-2000:]}{done.stderr}")
    cases = [line.partition("::")[0] for line in lines if "test_house.py" not in line]
    cases = [case for case in cases if not case.startswith("tests/house/")]
    files = Counter(cases)
    folders = Counter("/".join(case.split("/")[: _depth(case)]) for case in cases)
    parts = Counter(_part(case) for case in cases)
    return {
        "cases": len(cases),
        "files of tests": len(files),
        "parts": dict(sorted(parts.items())),
        "folders": dict(sorted(folders.items())),
        "files": dict(sorted(files.items())),
    }


def _depth(case: str) -> int:
    return min(len(case.split("/")) - 1, 3 if case.startswith(("src/", "paper/")) else 2)


def _part(case: str) -> str:
    parts = case.split("/")
    return "/".join(parts[:2]) if parts[0] == "paper" else parts[0]


def _run(command: list[str], tree: Path) -> subprocess.CompletedProcess[str]:
    variables = trees.environment(tree, one_thread=False)
    variables["PYTHONPATH"] = f"{tree / 'src'}:{tree / 'paper' / 'src'}"
    return subprocess.run(
        command, cwd=tree, env=variables, capture_output=True, text=True, check=False
    )


# Branches


def coverage(tree: Path, arguments: list[str]) -> dict[str, Any]:
    """Run the tests with coverage.py; return lines and branches covered, by room."""
    if importlib.util.find_spec("coverage") is None:
        raise SystemExit(
            "coverage.py is not installed; install it in this environment, or in a folder of its "
            "own with `pip install --target FOLDER coverage` and add that to PYTHONPATH"
        )
    with tempfile.TemporaryDirectory() as folder:
        data_file, output = f"{folder}/data", Path(folder) / "coverage.json"
        base = [sys.executable, "-m", "coverage"]
        options = ["--branch", f"--data-file={data_file}", f"--source={tree / 'src'}"]
        tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", *arguments]
        done = _run([*base, "run", *options, *tests], tree)
        json_command = [*base, "json", f"--data-file={data_file}", "-o", f"{output}"]
        _run(json_command, tree)
        if not output.exists():
            raise SystemExit(f"coverage.py wrote nothing:\n{done.stdout[-2000:]}{done.stderr}")
        found = json.loads(output.read_text(encoding="utf-8"))
    last = re.sub(r"\s+", " ", done.stdout.strip().splitlines()[-1]) if done.stdout else ""
    return {"tests": last, "rooms": _by_room(found["files"], tree)}


def _by_room(files: dict[str, Any], tree: Path) -> dict[str, dict[str, float]]:
    sums: dict[str, Counter[str]] = {}
    for path, measured in files.items():
        parts = path.partition("frobmetric/")[2].split("/")
        summary = measured["summary"]
        for room in (parts[0] if len(parts) > 1 else "(top)", "all"):
            sums.setdefault(room, Counter()).update(
                {
                    "branches": summary.get("num_branches", 0),
                    "covered branches": summary.get("covered_branches", 0),
                    "lines": summary["num_statements"],
                    "covered lines": summary["covered_lines"],
                }
            )
    return {room: dict(counts) for room, counts in sorted(sums.items())}
