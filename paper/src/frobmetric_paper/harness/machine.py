"""Record of the machine, the programs and the commit that made a result."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

PACKAGES = ("frobmetric", "numpy", "scipy", "scikit-learn", "numba")


def describe_machine():
    """Return the processor and the versions of what computes on it, as strings by name."""
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    } | {name: text for name, text in versions.items() if text}


def run_record():
    """Return command, commit, machine, threads and versions of this process."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": _commit(),
        "machine": describe_machine()["machine"],
        "threads": {info["prefix"]: info["num_threads"] for info in threadpool_info()},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def record_as_markdown(record):
    """Return a `run_record` as a short paragraph under a table."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return (
        f"`{record['command']}` at commit {record['commit']}; {record['machine']}; threads "
        f"{record['threads']}; Python {record['python']}, {versions}."
    )


def _commit():
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "unknown"


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
