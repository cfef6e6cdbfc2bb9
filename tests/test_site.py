"""The site builds without a warning and has every public name; the workflows have their form."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import frobmetric

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Rooms whose public names are in the reference; of `solvers` and `backends`, users need a part.
ROOMS = ("metric", "learners", "comparisons", "neighbors", "embeddings", "sdp", "manifold", "core")
ROOMS += ("io", "io.export", "plotting")
#: Public names without a page: `frobmetric.compare` calls that of `metric`.
OTHERS = {"metric.compare"}


def _find(dotted):
    """Return the object of a name below `frobmetric`."""
    found = frobmetric
    for step in dotted.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{step}")
    return found


def _reference():
    """Return the objects that the reference names."""
    text, names = (DOCS / "api.md").read_text(encoding="utf-8"), []
    for package, block in re.findall(r"currentmodule:: frobmetric(\.\w+)?\n(.*?)```", text, re.S):
        names += [f"{package}.{name}".lstrip(".")
                  for name in re.findall(r"^   ([A-Za-z][\w.]*)$", block, re.M)]  # fmt: skip
    return {name: _find(name) for name in names}


def test_the_reference_has_all_public_names():
    listed = set(map(id, _reference().values()))
    for room in ("", *ROOMS):
        home = _find(room) if room else frobmetric
        for name in home.__all__:
            thing = getattr(home, name)
            if callable(thing) and f"{room}.{name}" not in OTHERS:
                assert id(thing) in listed, f"{room}.{name} is not in docs/api.md"


@pytest.mark.parametrize("name", ["tests", "publish"])
def test_workflows_have_their_form(name):
    pytest.importorskip("check_jsonschema", reason="the form of workflows is in check-jsonschema")
    path = DOCS.parent / ".github" / "workflows" / f"{name}.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    done = subprocess.run(
        [*command, "vendor.github-workflows", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="the site needs the extra docs")
    pytest.importorskip("pydata_sphinx_theme", reason="the site needs the extra docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--quiet"]
    command += ["-D", "plot_gallery=0", "-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [*command, str(DOCS), str(tmp_path / "site")],
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    landing = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for target in re.findall(r'<a href="(results/[^"]*)"', landing):
        assert (tmp_path / "site" / target).exists(), target
    assert len(re.findall(r"<strong>[\d.,]+(?: [%×s])?</strong>", landing)) == 5
