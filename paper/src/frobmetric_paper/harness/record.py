"""What a result says of the machine and the programs that made it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("frobmetric", "numpy", "scipy", "scikit-learn", "numba")


def describe_machine():
    """The processor, and the versions of what computes on it, as a dictionary of strings."""
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    } | {name: found for name, found in versions.items() if found}


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
