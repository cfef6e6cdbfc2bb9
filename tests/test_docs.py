"""The documentation is true: names and files exist, examples print what is shown."""

import importlib
import io
import re
from contextlib import redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import frobmetric
from frobmetric.core.solution import Certificate

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "paper/README.md"]
PAGES += sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
#: Pages whose examples follow on each other.
TUTORIALS = ["docs/embeddings.md"]
#: Examples that take several seconds: they are run among the long tests.
LONG = {
    "docs/embeddings.md",
    "docs/index.md-0",
    "docs/report.md-0",
    "docs/learning.md-2",
    "docs/learning.md-10",
}
DOTTED = re.compile(r"`(frobmetric(?:_paper)?(?:\.\w+)+)`")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
#: Tolerances of numbers that examples print: points of a percentage, and relative difference of
#: numbers with a decimal point. Whole numbers are equal.
POINTS, RELATIVE = 1.0, 0.01
#: Contents of a certificate that depend on the machine: gaps, intervals, small numbers.
MACHINE_DEPENDENT = re.compile(r"\bgap\b|\[[-\d.e+]+, [-\d.e+]+\]|<=|\de-\d")


def _read(page):
    return (ROOT / page).read_text(encoding="utf-8")


# Names


def _longest_module(parts):
    """Return the module that the first parts name, and the parts that are left."""
    for n in range(len(parts), 0, -1):
        try:
            return importlib.import_module(".".join(parts[:n])), parts[n:]
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(parts[0])


def _resolve(dotted):
    """Return the object of a dotted name, which may end in a field of a dataclass."""
    thing, names = _longest_module(dotted.split("."))
    for name in names:
        if is_dataclass(thing) and name in {field.name for field in fields(thing)}:
            return thing
        thing = getattr(thing, name)
    return thing


def _current(text):
    """Return a page without the first column of its tables of old and new names."""
    tables = re.compile(r"^\| old \| new \|\n(?:\|.*\n)+", re.MULTILINE)
    return tables.sub(lambda table: re.sub(r"^\|[^|]*\|", "|", table[0], flags=re.M), text)


@pytest.mark.parametrize("page", PAGES)
def test_dotted_names_exist(page):
    for dotted in sorted(set(DOTTED.findall(_current(_read(page))))):
        _resolve(dotted)


def test_the_equations_name_enough():
    """A page of which the pattern above finds nothing would pass by itself."""
    names = set(DOTTED.findall(_read("docs/from_paper_to_code.md")))
    assert len(names) > 50
    assert sum(name.startswith("frobmetric_paper") for name in names) > 10
    with pytest.raises(AttributeError):
        _resolve("frobmetric.core.problem.FrobeniusSDP.nothing")


def test_new_names_are_checked_and_old_ones_are_not():
    text = (
        "| old | new |\n|---|---|\n| `frobmetric.gone` | `frobmetric.solve` |\n\n`frobmetric.sdp`"
    )
    assert DOTTED.findall(_current(text)) == ["frobmetric.solve", "frobmetric.sdp"]


# Files, anchors and targets


def _is_file(path):
    """Return whether a path of a page exists in the repository or in one of its packages."""
    library, paper = ROOT / "src", ROOT / "paper" / "src"
    folders = [ROOT, library, library / "frobmetric", paper.parent, paper / "frobmetric_paper"]
    return any((folder / path).exists() for folder in folders)


def _anchors(page):
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", _read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", _read(page)):
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.relative_to(ROOT).as_posix()), link


@pytest.mark.parametrize("page", PAGES)
def test_files_and_targets_exist(page):
    text = _current(_read(page))
    for path in re.findall(r"`((?:\w+/)+(?:[\w.]+\.(?:py|md|json|csv))?)`", text):
        assert _is_file(path) or path.endswith("cells/"), path
    targets = set(re.findall(r"^([a-z-]+):", _read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+(?:-[a-z]+)*)(?=`|  )", text)) <= targets


# Examples


def _block(page, head):
    """Return the lines of the first fenced block below a heading."""
    return re.search(rf"^{head}$.*?^```\w*\n(.*?)^```", _read(page), re.M | re.S)[1].splitlines()


def _tutorial(page):
    """Return all code of a page, whose blocks follow on each other, and all that it prints."""
    kinds = ("python", "text")
    return ["".join(re.findall(rf"^```{k}\n(.*?)^```", _read(page), re.M | re.S)) for k in kinds]


def _examples():
    """Yield the page, code and output of each example, and its name."""
    for page in TUTORIALS:
        yield page, *_tutorial(page), page
    for page in [page for page in PAGES if page not in TUTORIALS]:
        pattern = r"^```python\n(.*?)^```\n+^```text\n(.*?)^```"
        for i, match in enumerate(re.finditer(pattern, _read(page), re.M | re.S)):
            yield page, *match.groups(), f"{page}-{i}"


def _distinct(examples):
    """Return the examples as parameters of a test, those that stand on several pages once."""
    first = {(code, shown): (page, name) for page, code, shown, name in reversed(list(examples))}
    return [
        pytest.param(page, code, shown, id=name, marks=[pytest.mark.slow] * (name in LONG))
        for (code, shown), (page, name) in sorted(first.items(), key=lambda item: item[1])
    ]


EXAMPLES = pytest.mark.parametrize(("page", "code", "shown"), _distinct(_examples()))


def _check_output(printed, shown):
    """Check that two outputs have the same words, and numbers equal up to the tolerances."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    for ours, theirs in zip(NUMBER.finditer(printed), NUMBER.finditer(shown), strict=True):
        a, b = float(ours[0]), float(theirs[0])
        if re.match(r"(?: \.\.\. [\d.]+)? ?%", printed[ours.end() :]):
            assert abs(a - b) <= POINTS, (ours[0], theirs[0])
        elif "." in theirs[0]:
            assert a == pytest.approx(b, rel=RELATIVE), (ours[0], theirs[0])
        else:
            assert a == b, (ours[0], theirs[0])


@EXAMPLES
def test_examples_print_what_is_shown(page, code, shown):
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), {"__name__": "example"})
    _check_output(printed.getvalue(), shown)


@pytest.mark.parametrize(
    ("printed", "shown", "agrees"),
    [
        ("error 3.9%", "error 3.1%", True),
        ("error 4.2%", "error 3.1%", False),
        ("73.1 ... 80.1 %", "73.6 ... 80.0 %", True),
        ("75.1 ... 80.1 %", "73.6 ... 80.0 %", False),
        ("rank 7", "rank 8", False),
        ("area 0.985", "area 0.989", True),
        ("area 0.97", "area 0.99", False),
        ("certified: False", "certified: True", False),
    ],
)
def test_outputs_agree_up_to_the_tolerances(printed, shown, agrees):
    if agrees:
        _check_output(printed, shown)
    else:
        with pytest.raises(AssertionError):
            _check_output(printed, shown)


@EXAMPLES
def test_examples_show_no_number_of_one_machine(page, code, shown):
    """The gap that a solve ends with, and the interval, differ between machines."""
    assert not MACHINE_DEPENDENT.search(shown)
    assert not re.search(r"print\([\w.]*certificate_?\)", code)


def test_the_long_examples_exist():
    assert {name for *_, name in _examples()} >= LONG


def test_a_printed_certificate_would_be_noticed():
    certificate = Certificate(
        primal=248.8, dual=248.7, gap=0.1, relative_gap=4e-4, distance_bound=0.4, min_eigenvalue=0.0
    )
    assert MACHINE_DEPENDENT.search(str(certificate))


def test_the_readme_has_its_example_of_eight_lines():
    code = re.search(r"^```python\n(.*?)^```", _read("README.md"), re.M | re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) == 8


def test_every_python_block_is_an_example_that_runs():
    pages = [page for page in PAGES if page not in TUTORIALS]
    blocks = sum(_read(page).count("```python") for page in pages)
    assert blocks + len(TUTORIALS) == len(list(_examples()))


# The command line


def test_command_lines_have_their_options():
    runner = pytest.importorskip("typer.testing").CliRunner()
    from frobmetric.app.cli import app

    block = "\n".join(_block("README.md", "## Command line"))
    lines = re.findall(r"^frobmetric ((?:sdp |reproduce )?\w+)(.*?)(?:#.*)?$", block, re.MULTILINE)
    assert len(lines) == 21
    for command, rest in lines:
        shown = runner.invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        for option in re.findall(r"(?<=\s)--?\w[\w-]*", rest):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown.output), (command, option)


def test_options_of_the_experiments_exist():
    runner = pytest.importorskip("typer.testing").CliRunner()
    command = pytest.importorskip("frobmetric_paper.command")
    names = ("uci", "action", "lfw", "mvu")
    help_texts = [runner.invoke(command.app, [name, "--help"]).output for name in names]
    rows = re.findall(r"^\| (`-.*?) \|", _read("docs/experiments.md"), re.MULTILINE)
    options = set(re.findall(r"--[\w-]+", " ".join(rows)))
    assert len(options) > 8
    assert {option for option in options if option not in " ".join(help_texts)} == set()


# Numbers that are written in two places


def test_version_is_the_same_everywhere():
    version = frobmetric.__version__
    assert re.search(rf"^version: {re.escape(version)}$", _read("CITATION.cff"), re.MULTILINE)
    assert re.search(rf"^## \[{re.escape(version)}\]", _read("CHANGELOG.md"), re.MULTILINE)
