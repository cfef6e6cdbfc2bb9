"""The site builds and has every public name, each with an example; workflows have their form."""

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import frobmetric

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Rooms whose public names are in the reference; of `solvers` and `backends`, users need a part.
ROOMS = ("metric", "learners", "comparisons", "neighbors", "embeddings", "sdp", "manifold", "core")
ROOMS += ("model", "learning", "evaluation", "io", "export", "plotting")
#: Further packages whose public names have examples.
MORE_ROOMS = ("exceptions", "solvers", "backends", "verify")
MORE_ROOMS += ("learning.constraints", "app.pages", "app.teaching")
#: Public names without a page.
OTHERS: set[str] = set()


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
    pages = sorted((DOCS / "api").glob("*.md"))
    text, names = "".join(page.read_text(encoding="utf-8") for page in pages), []
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
                assert id(thing) in listed, f"{room}.{name} is on no page of docs/api"


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
    assert len(distinct) >= 180
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


#: Contexts of expressions that need no declaration in the workflow.
CONTEXTS = ("github.", "runner.", "env.", "secrets.")


def _mistakes(text):
    """Return what is wrong in a workflow, beyond its form: expressions, shell, names."""
    yaml = pytest.importorskip("ruamel.yaml", reason="workflows are read by ruamel.yaml")
    jobs = yaml.YAML(typ="safe").load(text)["jobs"]
    targets = re.findall(r"^([\w-]+):", (DOCS.parent / "Makefile").read_text("utf-8"), re.M)
    mistakes = []
    if text.count("${{") != len(re.findall(r"\$\{\{[^{}]*\}\}", text)):
        mistakes.append("an expression is not closed")
    for name, job in jobs.items():
        needs = job.get("needs", [])
        unknown = {needs} - set(jobs) if isinstance(needs, str) else set(needs) - set(jobs)
        mistakes += [f"{name} needs {each}, which is no job" for each in unknown]
        known = {f"matrix.{key}" for key in job.get("strategy", {}).get("matrix", {})}
        for expression in re.findall(r"\$\{\{\s*(.*?)\s*\}\}", repr(job)):
            if expression not in known and not expression.startswith(CONTEXTS):
                mistakes.append(f"{name}: {expression} is not declared")
        for step in job["steps"]:
            if "uses" in step and "@" not in step["uses"]:
                mistakes.append(f"{name}: {step['uses']} has no version")
            mistakes += _mistakes_of_shell(name, step.get("run", ""), targets)
    return mistakes


def _mistakes_of_shell(name, command, targets):
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-n"],
        input=command,
        capture_output=True,
        text=True,
        check=False,
    )
    mistakes = [f"{name}: {done.stderr}"] if done.returncode else []
    made = re.findall(r"^make ([\w-]+)", command, re.M)
    return mistakes + [f"make has no target {each}" for each in made if each not in targets]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("name", ["tests", "publish"])
def test_workflows_name_what_there_is(name):
    path = DOCS.parent / ".github" / "workflows" / f"{name}.yml"
    assert _mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("${{ matrix.python }}", "${{ matrix.pyton }}", "quick: matrix.pyton is not declared"),
        ("${{ matrix.python }}", "${{ matrix.python", "an expression is not closed"),
        ("make test-slow", "make test-slwo", "make has no target test-slwo"),
        ("make dist", "if true; make dist", "whole: "),
        ("actions/checkout@v4", "actions/checkout", "quick: actions/checkout has no version"),
        ("  whole:", "  whole:\n    needs: quik", "whole needs quik, which is no job"),
    ],
)
def test_mistakes_in_workflows_are_found(old, new, mistake):
    text = (DOCS.parent / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert old in text
    assert any(each.startswith(mistake) for each in _mistakes(text.replace(old, new, 1)))


class _Links(HTMLParser):
    """The names and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links = {"", "top"}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def _broken(site):
    """Return the internal links of all pages that lead nowhere, with their page."""
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)  # of the theme
    pages = {path.resolve(): _Links(path) for path in found}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = target.exists() and (
                not parts.fragment
                or target not in pages
                or unquote(parts.fragment) in pages[target].names
            )
            if not is_there:
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there"></a><a href="https://x.org/no"></a>')
    (tmp_path / "b.html").write_text(
        '<p id="there"></p><a href="a.html#gone"></a><img src="c.png">'
    )
    assert sorted(_broken(tmp_path)) == ["b.html: a.html#gone", "b.html: c.png"]


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
    site = tmp_path / "site"
    assert _broken(site) == []
    landing = (site / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r'<a href="results/[^"]*"', landing)) >= 5
    assert (site / "live_report.html").stat().st_size > 4_000_000
    metric = (site / "generated" / "frobmetric.FrobMetric.html").read_text(encoding="utf-8")
    for method in ("fit", "certify", "explain", "transform", "pair_distance"):
        assert f'id="frobmetric.FrobMetric.{method}"' in metric, method
    assert "set_fit_request" not in metric
    assert "viewcode-link" in metric
    path = (site / "generated" / "frobmetric.frob_path.html").read_text(encoding="utf-8")
    assert "Examples in the gallery" in path
    assert len(re.findall(r"<strong>[\d.,]+(?: [%×s])?</strong>", landing)) == 5
