"""Tests of pages run only where the extra report is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if all(map(find_spec, ("jinja2", "plotly"))) else ["test_*.py"]
