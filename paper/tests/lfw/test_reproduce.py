"""`reproduce lfw`: the page, its files and figures, going on after Ctrl-C, words for what fails."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from frobmetric_paper.baselines import ProgramMissingError, TimeLimitError
from frobmetric_paper.harness.run import Runner
from frobmetric_paper.harness.task import Store, done
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.lfw import report
from frobmetric_paper.lfw.experiment import Cell
from frobmetric_paper.lfw.faces import MAIN
from frobmetric_paper.lfw.report import mean_curve, rule_mean, rule_name
from reproductions import SMALL_FACES, Faces

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

FIGURES = ("roc.svg", "triplets.png")


@pytest.fixture(autouse=True)
def made(tmp_path, monkeypatch):
    return Faces(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """What a whole run leaves in its folder `cells`."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        Faces(patch, folder).run("-o", folder / "lfw")
    return folder / "lfw" / "cells"


@pytest.fixture
def finished(cells, made):
    """A folder in which all is computed and no page is written."""
    shutil.copytree(cells, "lfw/cells")


def collected():
    """What the folder has, as the page shows it."""
    runner = Runner(Store(Path("lfw/cells"), Cell), 600.0, interrupted=True)
    return replace(SMALL_FACES, data="data").conduct(runner)


# The whole of it


def test_the_page_has_the_numbers_of_the_results(made, finished):
    result = made.run("--pictures")
    assert re.search(r"(\d+) of \1 results are there", result.stdout)
    results = collected()
    text, html = made.pages()
    for variant in SMALL_FACES.variants:
        choice, cells = results.choice("frob", variant), results.folds("frob", variant)
        assert len(done(cells)) == 2
        for rule in choice.rules:
            mean = rule_mean(cells, rule)
            row = rf"\| {rule_name(rule)} \| 2 \| {mean.mean:.2f} ± {mean.error:.2f} \|"
            assert re.search(row, text), rule
        for cell in choice.tries:
            assert f"{100 * cell.share_right(choice.rule):.2f}" in text
    for place in SMALL_FACES.places:
        mean = rule_mean(results.place(*place), results.choice("frob", MAIN).rule)
        assert f"{mean.mean:.2f} ({mean.std:.2f})" in text
    for words in ("small version", "unrestricted", "84.34 (1.23)", "LMNN + LDML", *FIGURES):
        assert words in text.replace("\\", "")
        assert words in html
    assert all(Path("lfw", name).stat().st_size > 1000 for name in FIGURES)


def test_files_for_programs(made, finished):
    made.run()
    rows = list(csv.DictReader(Path("lfw/table.csv").read_text().splitlines()))
    everything = json.loads(Path("lfw/results.json").read_text())
    assert len(rows) == len(everything["rows"]) == 3 * (1 + len(SMALL_FACES.methods)) + 3 * 2
    results = collected()
    first = next(row for row in rows if row["part"] == "table")
    cells = results.place(int(first["n_triplets"]), int(first["dimensions"]))
    assert float(first["accuracy"]) == rule_mean(cells, first["rule"]).mean
    assert float(first["relative_gap"]) <= 1e-3
    assert "scores" not in json.dumps(everything)
    line = next(each for each in everything["curves"] if each["method"] == "frob")
    expected = mean_curve(results.folds("frob", line["variant"]), line["rule"])
    assert line["true_positive_rate"] == pytest.approx(expected, abs=1e-5)
    chosen = next(each for each in everything["choices"] if each["method"] == "frob")
    assert chosen["rule"] in chosen["accuracy"]


def test_the_paper_stands_beside_ours(made, monkeypatch, finished):
    monkeypatch.setitem(report.PAPER_ACCURACY, (400, 6), (55.55, 6.66))
    monkeypatch.setitem(report.PAPER_SECONDS, (400, 6), 7777)
    made.run()
    assert "55.55" not in made.pages()[0]  # the small version cannot be compared
    experiment = replace(SMALL_FACES, data="data", quick=False)
    results = experiment.load(json.loads(Path("lfw/results.json").read_text()))
    blocks = results.blocks(Path("lfw"))
    assert re.search(r"\| 400 \| \d+\.\d\d \(\d+\.\d\d\) / 55.55 \|", blocks["accuracies"])
    assert re.search(r"\| 400 \| [^|]* s / 7,777 s \|", blocks["times"])
    assert "The paper's best is 84.34 %" in blocks["findings"]
    assert "below the paper's in" in blocks["findings"]


# What is done, and done again


def test_the_same_command_computes_nothing_twice(made):
    made.run()
    assert len(made.tasks) == len(set(made.tasks)) == SMALL_FACES.n_cells(lfw.PARTS)
    before = made.pages()
    made.calls.clear()
    made.run()
    assert made.calls == []
    assert made.pages() == before


def test_parts(made):
    made.run("--only", "choice")
    assert {task.split for task in made.tasks} == {"view1"}
    assert "Not run yet" in made.pages()[0]
    assert not Path("lfw/roc.svg").exists()
    made.run("--only", "folds")
    assert {task.method for task in made.tasks if task.split != "view1"} == {"frob"}
    made.calls.clear()
    made.run("--only", "methods")
    assert {task.method for task in made.tasks} == {"euclid", "whitened"}
    assert Path("lfw/roc.svg").exists()
    made.calls.clear()
    made.run()
    assert {(task.method, task.variant) for task in made.tasks} == {("frob", MAIN)}


def test_ctrl_c_keeps_what_is_finished(made, finished):
    for file in Path("lfw/cells").glob("fold*"):
        file.unlink()
    made.instead["frob", "fold1"] = KeyboardInterrupt
    result = made.run(code=130)
    assert "To continue: frobmetric reproduce lfw" in result.stderr
    assert "| 1 of 2 |" in made.pages()[0]
    finished = {task for task in made.tasks if (task.method, task.split) != ("frob", "fold1")}
    made.calls.clear()
    made.instead.clear()
    made.run()
    assert not finished & set(made.tasks)
    assert "| 1 of 2 |" not in made.pages()[0]


def test_ctrl_c_before_the_choice_is_made(made):
    made.instead["frob", "view1"] = KeyboardInterrupt
    made.run(code=130)
    assert "Nothing is chosen yet" in made.pages()[0]
    assert len(made.calls) == 1


# What cannot be had


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ProgramMissingError("whitened cannot run here: it is not there"), "not installed"),
        (TimeLimitError(7.0), "&gt; 7 s"),
    ],
)
def test_a_method_without_an_answer_says_so(made, finished, error, words):
    for file in Path("lfw/cells").glob("*-whitened-*"):
        file.unlink()
    for split in ("view1", "fold0", "fold1"):
        made.instead["whitened", split] = error
    made.run()
    assert words in made.pages()[1]
    assert [task.split for task in made.tasks if task.method == "whitened"] == ["view1"]


def test_a_method_over_the_limit_in_a_fold_is_not_tried_again(made, finished):
    for file in Path("lfw/cells").glob("fold*-whitened-*"):
        file.unlink()
    made.instead["whitened", "fold0"] = TimeLimitError(7.0)
    made.run()
    assert [task.split for task in made.tasks if task.method == "whitened"] == ["fold0"]
    assert "\\> 7 s" in made.pages()[0]


def test_an_answer_that_is_not_certified(made, monkeypatch, finished):
    monkeypatch.setattr(Cell, "is_certified", False)
    made.run("--only", "folds", code=4)


def test_no_data(made):
    result = made.run("--data", "empty", code=3)
    assert "lfw_meta.npz is not in empty" in result.stderr
    assert "Left out" in made.pages()[0]


# Pictures


def test_pictures_are_drawn_on_request(made, finished):
    made.run("--pictures")
    assert Path("lfw/triplets.png").exists()
    assert "--pictures" in json.loads(Path("lfw/results.json").read_text())["command"]
    made.run()
    assert not Path("lfw/triplets.png").exists()
    assert "--pictures was not given" in made.pages()[1]


def test_pictures_that_are_not_there(made, finished):
    (made.data / "lfw_funneled_62x47.npz").unlink()
    made.run("--only", "folds", "--pictures")
    assert "lfw_funneled_62x47.npz is not in data" in made.pages()[1]
    assert not Path("lfw/triplets.png").exists()
