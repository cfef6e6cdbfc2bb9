"""Rivals written in Python: the command that runs them, and what they need."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

#: The script that such rivals run in.
CHILD = Path(__file__).with_name("child.py")


def command(kind, target, *packages, python=sys.executable):
    """Task -> command line; `packages` are imported before the clock starts."""
    return lambda task: [
        str(python),
        "-P",
        str(CHILD),
        kind,
        target,
        ",".join(packages),
        str(task.folder),
    ]


def missing_modules(*names):
    """() -> which of these modules are not installed, as a sentence; empty if all are."""

    def missing():
        absent = [name for name in names if find_spec(name) is None]
        if not absent:
            return ""
        return f"{', '.join(absent)} not installed; pip install {' '.join(absent)}"

    return missing
