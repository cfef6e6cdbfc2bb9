"""What holds for every experiment: going on, Ctrl-C, what is missing, the page and its files."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from frobmetric.runtime.environment import MissingExtraError, require
from frobmetric_paper.baselines import ProgramMissingError, TimeLimitError
from frobmetric_paper.command import COMMANDS
from frobmetric_paper.harness import page
from reproductions import REPRODUCTIONS

#: Experiments that take seconds even with methods that answer at once.
SLOW = ("uci", "action", "lfw")


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in REPRODUCTIONS]
)
def made(request, monkeypatch, tmp_path):
    """An experiment on made-up data."""
    return REPRODUCTIONS[request.param](monkeypatch, tmp_path)


def n_done(made):
    return sum(cell["outcome"] == "done" for cell in made.results()["cells"])


def test_a_second_run_computes_nothing(made):
    made.run(*made.few)
    before = made.pages()
    made.calls.clear()
    assert made.run(*made.few).stderr == ""
    assert made.calls == []
    assert made.pages() == before


def test_ctrl_c_leaves_what_is_finished_and_says_how_to_go_on(made):
    made.run(*made.few)
    whole, n_all = list(made.calls), n_done(made)
    made.calls.clear()
    made.instead = {made.ours: KeyboardInterrupt()}
    result = made.run(*made.few, "-o", "other", code=130)
    assert f"To continue: frobmetric reproduce {made.name} -o other" in result.stderr
    assert any(words in made.page(folder="other") for words in ("not run yet", "Nothing is chosen"))
    first, made.instead = made.calls[:-1], {}
    made.calls.clear()
    made.run(*made.few, "-o", "other")
    assert not set(first) & set(made.calls) or made.name in ("uci", "action")
    assert len(first) + len(made.calls) >= len(whole)
    cells = made.results("other")["cells"]
    assert sum(cell["outcome"] == "done" for cell in cells) == n_all


def test_the_page_can_be_written_again_from_the_results(made):
    made.run(*made.few)
    before = made.pages()
    made.calls.clear()
    Path(made.name, "index.md").unlink()
    assert "written from results.json" in made.run("--page-only").stdout
    assert made.pages() == before
    assert made.calls == []
    assert "does not exist" in made.run("--page-only", "-o", "elsewhere", code=3).stderr


def test_nothing_that_can_be_run_is_an_error(made):
    assert "was left out" in made.run(*made.absent, code=3).stderr
    assert all("Left out" in text for text in made.pages())


def test_a_method_that_is_not_installed_is_said(made):
    made.instead = {made.method: ProgramMissingError("it cannot run here: <there> is none")}
    result = made.run(*made.few, code=3 if made.method == made.ours else 0)
    assert f"{made.label}   not installed   (it cannot run here" in result.stderr
    assert "not installed" in made.page()
    assert "it cannot run here: &lt;there&gt; is none" in made.page("index.html")


def test_ours_without_an_answer_is_not_certified(made):
    made.instead = {made.ours: TimeLimitError(600.0)}
    made.run(*made.few, code=3 if made.name == "lfw" else 4)


def test_without_matplotlib_there_is_a_page(made, monkeypatch):
    def refuse(name, extra):
        if name.startswith("matplotlib"):
            raise MissingExtraError("this needs matplotlib; install it")
        return require(name, extra)

    monkeypatch.setattr(page, "require", refuse)
    assert "no figures: this needs matplotlib" in made.draws().run(*made.few).stderr
    assert "<img" not in made.page("index.html")
    assert not re.search(r"\]\(.*\.(svg|png)\)", made.page())


def test_json_has_every_cell(made):
    found = json.loads(made.run(*made.few, "--json").stdout, parse_constant=pytest.fail)
    assert found["exit_code"] == 0
    assert {cell["outcome"] for cell in found["cells"]} <= {"done", "skipped"}
    assert sum(cell["outcome"] == "done" for cell in found["cells"]) == n_done(made) > 0
    assert found["page"] == str(Path(made.name, "index.html"))
    long = {"wrong", "tries", "embedding", "scores", "machine", "detail"}
    assert not long & set(found["cells"][0])


def test_the_page_says_how_it_was_made(made):
    made.run("-o", "my page", *made.few, "--limit", "77")
    html = made.page("index.html", "my page")
    assert f"frobmetric reproduce {made.name} -o 'my page' --only {made.few[1]}" in html
    for words in ("--limit 77", "--threads 1", "limit: 77 s for each fit", "threads: 1"):
        assert words in html
    assert all(words in html for words in ("numpy: ", "scikit-learn: ", "cores"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "roses"], 2, "'--only'"),
        (["--limit", "0"], 2, "0 is not positive"),
        (["--threads", "0"], 2, "'--threads'"),
        (["--data", "nowhere"], 2, "nowhere"),
        (["-o", "file"], 3, "file is not a folder; give --output another name"),
        (["-o", "file/below"], 3, "file/below is not a folder"),
    ],
)
@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_mistakes_are_named(name, arguments, code, words, monkeypatch, tmp_path):
    made = REPRODUCTIONS[name](monkeypatch, tmp_path)
    Path("file").write_text("")
    assert words in made.run(*arguments, code=code).stderr
    assert made.calls == []


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_the_options_name_the_parts(name):
    module = import_module(f"frobmetric_paper.{name}.experiment")
    plan = module.experiment()
    parts = module.PARTS if name == "lfw" else plan.parts
    assert COMMANDS[name].parts == [getattr(part, "name", part) for part in parts]
