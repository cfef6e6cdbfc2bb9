"""What every results file says of the run that made it."""

import platform
import subprocess
import sys
from importlib.metadata import version

from threadpoolctl import threadpool_info

from ..harness.machine import describe_machine


def run_record():
    """Command, commit, machine, threads and versions of this run."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": _commit(),
        "machine": describe_machine()["machine"],
        "threads": {info["prefix"]: info["num_threads"] for info in threadpool_info()},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def as_markdown(record):
    """The record as a short paragraph under a table."""
    versions = ", ".join(f"{name} {v}" for name, v in record["versions"].items())
    return (
        f"`{record['command']}` at commit {record['commit']}; {record['machine']}; threads "
        f"{record['threads']}; Python {record['python']}, {versions}."
    )


def _commit():
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "unknown"
