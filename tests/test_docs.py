"""The documentation is true: names and files exist, examples print what is shown."""

import importlib
import io
import re
from contextlib import redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import frobmetric

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/from_paper_to_code.md",
    "docs/learning.md",
    "docs/comparisons.md",
    "docs/experiments.md",
    "docs/default_c.md",
    "docs/sdp.md",
    "docs/unfolding.md",
    "docs/glossary.md",
]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def _read(page):
    return (ROOT / page).read_text(encoding="utf-8")


# Names


def _longest_module(parts):
    """The module that the first parts name, and the parts that are left."""
    for n in range(len(parts), 0, -1):
        try:
            return importlib.import_module(".".join(parts[:n])), parts[n:]
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(parts[0])


def _resolve(dotted):
    """The object of a dotted name, which may end in a field of a dataclass."""
    found, names = _longest_module(dotted.split("."))
    for name in names:
        if is_dataclass(found) and name in {field.name for field in fields(found)}:
            return found
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_dotted_names_exist(page):
    for dotted in sorted(set(re.findall(r"`(frobmetric(?:\.\w+)+)`", _read(page)))):
        _resolve(dotted)


def test_the_equations_name_enough():
    """A page of which the pattern above finds nothing would pass by itself."""
    names = set(re.findall(r"`(frobmetric(?:\.\w+)+)`", _read("docs/from_paper_to_code.md")))
    assert len(names) > 30
    with pytest.raises(AttributeError):
        _resolve("frobmetric.core.problem.FrobeniusSDP.nothing")


@pytest.mark.parametrize("page", PAGES)
def test_files_and_targets_exist(page):
    text = _read(page)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("http:", "https:", "#")):
            assert ((ROOT / page).parent / link.partition("#")[0]).exists(), link
    for path in re.findall(r"`((?:tests|benchmarks|docs)/[\w./]*)`", text):
        assert (ROOT / path).exists(), path
    targets = set(re.findall(r"^([a-z-]+):", _read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+(?:-[a-z]+)*)(?=`|  )", text)) <= targets


# Examples


def _block(page, head):
    """Return the lines of the first fenced block below a heading."""
    return re.search(rf"^{head}$.*?^```\w*\n(.*?)^```", _read(page), re.M | re.S)[1].splitlines()


def _examples():
    for page in PAGES:
        pattern = r"^```python\n(.*?)^```\n+^```text\n(.*?)^```"
        for i, found in enumerate(re.finditer(pattern, _read(page), re.M | re.S)):
            yield pytest.param(page, *found.groups(), id=f"{page}-{i}")


@pytest.mark.parametrize(("page", "code", "shown"), list(_examples()))
def test_examples_print_what_is_shown(page, code, shown):
    """The same words; errors within a point (five elsewhere), large numbers within a per cent."""
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), {"__name__": "example"})
    printed = printed.getvalue()
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    points = 1.0 if page == "README.md" else 5.0
    for ours, theirs in zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True):
        a, b = float(ours[0]), float(theirs[0])
        if printed[ours.end() : ours.end() + 1] == "%":
            assert abs(a - b) <= points
        elif abs(b) > 1:
            assert a == pytest.approx(b, rel=0.01)


def test_the_readme_has_its_example_of_eight_lines():
    code = re.search(r"^```python\n(.*?)^```", _read("README.md"), re.M | re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) == 8


def test_every_python_block_is_an_example_that_runs():
    blocks = sum(_read(page).count("```python") for page in PAGES)
    assert blocks == len(list(_examples()))


def test_command_lines_have_their_options():
    runner = pytest.importorskip("typer.testing").CliRunner()
    from frobmetric.cli import app

    block = "\n".join(_block("README.md", "## Command line"))
    lines = re.findall(r"^frobmetric ((?:sdp |reproduce )?\w+)(.*?)(?:#.*)?$", block, re.MULTILINE)
    assert len(lines) == 14
    for command, rest in lines:
        shown = runner.invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        for option in re.findall(r"(?<=\s)--?\w[\w-]*", rest):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown.output), (command, option)


# Numbers that are written in two places


def test_default_c_shows_the_measured_table():
    pages = ("benchmarks/results/default_c.md", "docs/default_c.md")
    measured, shown = ([s for s in _read(page).splitlines() if s.startswith("|")] for page in pages)
    assert shown == measured


def test_the_default_is_the_default():
    assert frobmetric.FrobMetric().C == 1e4


def test_version_is_the_same_everywhere():
    version = frobmetric.__version__
    assert re.search(rf"^version: {re.escape(version)}$", _read("CITATION.cff"), re.MULTILINE)
    assert re.search(rf"^## \[{re.escape(version)}\]", _read("CHANGELOG.md"), re.MULTILINE)
