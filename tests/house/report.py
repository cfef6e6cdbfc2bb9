"""What a measurement found, as text for a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def text_of(command: str, found: dict[str, Any]) -> str:
    """Return a measurement as text."""
    return TEXTS.get(command, _plain)(found)


def _plain(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False)


def _names(found: dict[str, Any]) -> str:
    lines = [f"{value:6}  {name}" for name, value in found["counts"].items()]
    lines += [f"{name} stands for two things: {homes}" for name, homes in _two(found)]
    return "\n".join(lines)


def _two(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, ", ".join(homes)) for name, homes in found["in two modules"].items()]


def _walks(found: dict[str, Any]) -> str:
    lines = [
        f"{count:6}  modules loaded by {what}" for what, count in found["modules loaded"].items()
    ]
    lines.append("\n files    lines functions  both ways  longest file")
    for name, walk in found["walks"].items():
        if "error" in walk:
            lines.append(f"{name}: {walk['error']}")
            continue
        numbers = f"{walk['files']:6} {walk['lines']:8} {walk['functions']:9}"
        lines.append(f"{numbers} {len(walk['both ways']):10}  {walk['longest file']:40} {name}")
        lines += [f"{'':40}{pair}" for pair in walk["both ways"]]
    return "\n".join(lines)


def _tests(found: dict[str, Any]) -> str:
    lines = [f"{found['cases']:6}  cases in {found['files of tests']} files"]
    lines += [f"{count:6}  {name}" for name, count in found["parts"].items()]
    return "\n".join([*lines, *(f"{n:10}  {name}" for name, n in found["folders"].items())])


def _coverage(found: dict[str, Any]) -> str:
    lines = [found["tests"]]
    for room, counts in found["rooms"].items():
        share = 100 * counts["covered branches"] / max(1, counts["branches"])
        lines.append(f"{share:6.1f} %  of {counts['branches']:5} branches  {room}")
    return "\n".join(lines)


def _figures(found: dict[str, Any]) -> str:
    short = {name: dict(part) if isinstance(part, dict) else part for name, part in found.items()}
    short["replaced by tests"].pop("list")
    return _plain(short)


TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {"names": _names, "walks": _walks}
TEXTS |= {"tests": _tests, "coverage": _coverage, "figures": _figures}
