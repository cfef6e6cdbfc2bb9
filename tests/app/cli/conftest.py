"""Tests of the command line run only where the extra cli is installed."""

from importlib.util import find_spec

PACKAGES = ("typer", "rich", "safetensors", "pyarrow")

collect_ignore_glob = [] if all(map(find_spec, PACKAGES)) else ["test_*.py"]
