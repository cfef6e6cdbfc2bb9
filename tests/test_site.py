"""The site builds and has every public name, each with an example; workflows have their form."""

import doctest
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
#: Further packages whose public names have examples.
MORE_ROOMS = ("constraints", "exceptions", "pages", "solvers", "teaching", "backends", "verify")
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


def _has_example(name, thing, home):
    """Return whether an example is executed for a name.

    Classes of other libraries and aliases of types have theirs in the docstring of their package.
    """
    is_ours = thing.__module__.startswith("frobmetric")
    examples = doctest.DocTestParser().get_examples((thing if is_ours else home).__doc__ or "")
    return any(
        not example.options.get(doctest.SKIP)
        and (is_ours or re.search(rf"\b{name}\b", example.source))
        for example in examples
    )


def test_every_public_name_has_an_example():
    named = [(name, thing, frobmetric) for name, thing in _reference().items()]
    for room in ("", *ROOMS, *MORE_ROOMS):
        home = _find(room) if room else frobmetric
        named += [(name, getattr(home, name), home) for name in getattr(home, "__all__", ())]
    distinct = {id(thing): (name, thing, home) for name, thing, home in named if callable(thing)}
    assert len(distinct) >= 200
    missing = [each[0] for each in distinct.values() if not _has_example(*each)]
    assert not missing, f"no example in the docstrings of {missing}"


def test_a_name_without_an_example_is_found():
    def bare():
        """Return nothing."""

    def skipped():
        """Return nothing.

        >>> skipped()  # doctest: +SKIP
        """

    bare.__module__ = skipped.__module__ = "frobmetric"
    home = _find("exceptions")
    assert not _has_example("bare", bare, home)
    assert not _has_example("skipped", skipped, home)
    assert not _has_example("OSError", OSError, home)
    assert _has_example("ConvergenceWarning", home.ConvergenceWarning, home)


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
