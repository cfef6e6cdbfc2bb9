"""`reproduce lfw`: the page, its files and figures, going on after Ctrl-C, words for what fails."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from drawn_faces import write_faces
from frobmetric.app.cli import app
from frobmetric.runtime.environment import MissingExtraError
from frobmetric_paper.baselines import ProgramMissingError, TimeLimitError
from frobmetric_paper.command import COMMANDS
from frobmetric_paper.harness.run import Runner
from frobmetric_paper.harness.task import Store, done
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.lfw import report
from frobmetric_paper.lfw.experiment import Cell
from frobmetric_paper.lfw.faces import MAIN, Recipe
from frobmetric_paper.lfw.methods import METHODS
from frobmetric_paper.lfw.report import mean_curve, rule_mean, rule_name

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

FIGURES = ("roc.svg", "triplets.png")
SMALL = lfw.FaceExperiment(
    Recipe(n_dimensions=12, n_neighbors=3, n_triplets=400, C=10.0, prior=None),
    tuple(
        replace(METHODS[name], search={"C": (10.0, 1.0)} if name == "frob" else {})
        for name in ("euclid", "whitened", "frob")
    ),
    folds=(0, 1),
    dimensions=(6, 12),
    n_triplets=(400,),
    neighbors=(5, 10),
    n_parts=2,
    quick=True,
)


def small(quick, **more):
    return replace(SMALL, **more)


@pytest.fixture(autouse=True)
def faces(tmp_path, monkeypatch):
    """An own current folder with drawn faces, and a plan of their size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    monkeypatch.setattr(lfw, "experiment", small)
    return write_faces(tmp_path / "data", monkeypatch)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """What a whole run leaves in its folder `cells`."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lfw, "experiment", small)
        data = write_faces(folder / "data", patch)
        run("-o", folder / "lfw", "--data", data)
    return folder / "lfw" / "cells"


@pytest.fixture
def finished(cells, faces):
    """A folder in which all is computed and no page is written."""
    shutil.copytree(cells, "lfw/cells")


@pytest.fixture
def calls(monkeypatch):
    """Tasks that are computed; some do something else instead."""

    class Calls(list):
        instead = None

    calls, measure = Calls(), lfw.measure

    def watched(method, setup, task, *more):
        calls.append(task)
        instead = calls.instead.get((task.method, task.split))
        if instead is KeyboardInterrupt:
            raise KeyboardInterrupt
        if instead:
            method = replace(method, learn=_raise(instead))
        return measure(method, setup, task, *more)

    calls.instead = {}
    monkeypatch.setattr(lfw, "measure", watched)
    return calls


def _raise(error):
    def learn(*arguments):
        raise error

    return learn


def run(*arguments, code=0):
    words = ["reproduce", "lfw", "--quick", "--threads", "1", *map(str, arguments)]
    if "--data" not in words:
        words += ["--data", "data"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def pages(folder="lfw"):
    return [Path(folder, name).read_text(encoding="utf-8") for name in ("index.md", "index.html")]


def collected():
    """What the folder has, as the page shows it."""
    runner = Runner(Store(Path("lfw/cells"), Cell), 600.0, interrupted=True)
    return replace(SMALL, data="data").conduct(runner)


# The whole of it


def test_the_page_has_the_numbers_of_the_results(finished):
    result = run("--pictures")
    assert re.search(r"(\d+) of \1 results are there", result.stdout)
    results = collected()
    text, html = pages()
    for variant in SMALL.variants:
        choice, cells = results.choice("frob", variant), results.folds("frob", variant)
        assert len(done(cells)) == 2
        for rule in choice.rules:
            mean = rule_mean(cells, rule)
            row = rf"\| {rule_name(rule)} \| 2 \| {mean.mean:.2f} ± {mean.error:.2f} \|"
            assert re.search(row, text), rule
        for cell in choice.tries:
            assert f"{100 * cell.share_right(choice.rule):.2f}" in text
    for place in SMALL.places:
        mean = rule_mean(results.place(*place), results.choice("frob", MAIN).rule)
        assert f"{mean.mean:.2f} ({mean.std:.2f})" in text
    for words in ("small version", "unrestricted", "84.34 (1.23)", "LMNN + LDML", *FIGURES):
        assert words in text.replace("\\", "")
        assert words in html
    assert all(Path("lfw", name).stat().st_size > 1000 for name in FIGURES)


def test_the_page_can_be_written_again_from_the_results(finished, calls):
    run()
    before = pages()
    run("--page-only")
    assert pages() == before
    assert calls == []


def test_files_for_programs(finished):
    run()
    rows = list(csv.DictReader(Path("lfw/table.csv").read_text().splitlines()))
    everything = json.loads(Path("lfw/results.json").read_text())
    assert len(rows) == len(everything["rows"]) == 3 * (1 + len(SMALL.methods)) + 3 * 2
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


def test_the_paper_stands_beside_ours(monkeypatch, finished):
    monkeypatch.setitem(report.PAPER_ACCURACY, (400, 6), (55.55, 6.66))
    monkeypatch.setitem(report.PAPER_SECONDS, (400, 6), 7777)
    run()
    assert "55.55" not in pages()[0]  # the small version cannot be compared
    experiment = replace(SMALL, data="data", quick=False)
    results = experiment.load(json.loads(Path("lfw/results.json").read_text()))
    blocks = results.blocks(Path("lfw"))
    assert re.search(r"\| 400 \| \d+\.\d\d \(\d+\.\d\d\) / 55.55 \|", blocks["accuracies"])
    assert re.search(r"\| 400 \| [^|]* s / 7,777 s \|", blocks["times"])
    assert "The paper's best is 84.34 %" in blocks["findings"]
    assert "below the paper's in" in blocks["findings"]


def test_as_json(finished):
    data = json.loads(run("--json").stdout)
    assert data["exit_code"] == 0
    assert {cell["outcome"] for cell in data["cells"]} == {"done"}
    assert "scores" not in json.dumps(data)


# What is done, and done again


def test_the_same_command_computes_nothing_twice(calls):
    run()
    assert len(calls) == len(set(calls)) == SMALL.n_cells(lfw.PARTS)
    before = pages()
    calls.clear()
    run()
    assert calls == []
    assert pages() == before


def test_parts(calls):
    run("--only", "choice")
    assert {task.split for task in calls} == {"view1"}
    assert "Not run yet" in pages()[0]
    assert not Path("lfw/roc.svg").exists()
    run("--only", "folds")
    assert {task.method for task in calls if task.split != "view1"} == {"frob"}
    calls.clear()
    run("--only", "methods")
    assert {task.method for task in calls} == {"euclid", "whitened"}
    assert Path("lfw/roc.svg").exists()
    calls.clear()
    run()
    assert {(task.method, task.variant) for task in calls} == {("frob", MAIN)}


def test_ctrl_c_keeps_what_is_finished(calls, finished):
    for file in Path("lfw/cells").glob("fold*"):
        file.unlink()
    calls.instead["frob", "fold1"] = KeyboardInterrupt
    result = run(code=130)
    assert "To continue: frobmetric reproduce lfw" in result.stderr
    assert "| 1 of 2 |" in pages()[0]
    finished = {task for task in calls if (task.method, task.split) != ("frob", "fold1")}
    calls.clear()
    calls.instead.clear()
    run()
    assert not finished & set(calls)
    assert "| 1 of 2 |" not in pages()[0]


def test_ctrl_c_before_the_choice_is_made(calls):
    calls.instead["frob", "view1"] = KeyboardInterrupt
    run(code=130)
    assert "Nothing is chosen yet" in pages()[0]
    assert len(calls) == 1


# What cannot be had


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ProgramMissingError("whitened cannot run here: it is not there"), "not installed"),
        (TimeLimitError(7.0), "&gt; 7 s"),
    ],
)
def test_a_method_without_an_answer_says_so(calls, finished, error, words):
    for file in Path("lfw/cells").glob("*-whitened-*"):
        file.unlink()
    for split in ("view1", "fold0", "fold1"):
        calls.instead["whitened", split] = error
    run()
    assert words in pages()[1]
    assert [task.split for task in calls if task.method == "whitened"] == ["view1"]


def test_a_method_over_the_limit_in_a_fold_is_not_tried_again(calls, finished):
    for file in Path("lfw/cells").glob("fold*-whitened-*"):
        file.unlink()
    calls.instead["whitened", "fold0"] = TimeLimitError(7.0)
    run()
    assert [task.split for task in calls if task.method == "whitened"] == ["fold0"]
    assert "\\> 7 s" in pages()[0]


def test_an_answer_that_is_not_certified(monkeypatch, finished):
    monkeypatch.setattr(Cell, "is_certified", False)
    run("--only", "folds", code=4)


def test_no_data(tmp_path):
    (tmp_path / "empty").mkdir()
    result = run("--data", "empty", code=3)
    assert "lfw_meta.npz is not in empty" in result.stderr
    assert "Left out" in pages()[0]


@pytest.mark.parametrize(
    "words", [("--only", "table4"), ("--limit", "0"), ("--threads", "0"), ("--data", "nowhere")]
)
def test_wrong_options(words):
    run(*words, code=2)


def test_a_file_instead_of_a_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    assert "give --output another name" in run("-o", "taken", code=3).stderr


def test_the_parts_have_names():
    assert tuple(COMMANDS["lfw"].parts) == lfw.PARTS


# Pictures


def test_pictures_are_drawn_on_request(finished):
    run("--pictures")
    assert Path("lfw/triplets.png").exists()
    assert "--pictures" in json.loads(Path("lfw/results.json").read_text())["command"]
    run()
    assert not Path("lfw/triplets.png").exists()
    assert "--pictures was not given" in pages()[1]


def test_pictures_that_are_not_there(faces, finished):
    (faces / "lfw_funneled_62x47.npz").unlink()
    run("--only", "folds", "--pictures")
    assert "lfw_funneled_62x47.npz is not in data" in pages()[1]
    assert not Path("lfw/triplets.png").exists()


def test_no_matplotlib(monkeypatch, finished):
    def absent(*arguments, **more):
        raise MissingExtraError("matplotlib is not installed")

    monkeypatch.setattr(report, "panels", absent)
    result = run("--only", "folds")
    assert "no figures: matplotlib is not installed" in result.stderr
    assert "roc.svg" not in pages()[0]
