"""`reproduce uci`: the page, its files and figures, going on after Ctrl-C, words for what fails."""

import csv
import json
import re
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frobmetric.app.cli import app
from frobmetric.runtime.environment import MissingExtraError
from frobmetric_paper.baselines import TABLE, MetricBaseline, ProgramMissingError, TimeLimitError
from frobmetric_paper.classification import report
from frobmetric_paper.classification.measure import RULES
from frobmetric_paper.command import COMMANDS
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.labelled import Split
from frobmetric_paper.uci import experiment as uci

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

EXPERIMENT = uci.experiment
DRAW = report.TableResults.draw
FEW = ("--methods", "euclid,svm", "--methods", "frob")


@dataclass(frozen=True, eq=False)
class FakeFit:
    """The identity, or always class 0."""

    seconds: float
    detail: dict
    predictions: dict

    def transform(self, X):
        return X


class Fake:
    """Stands in for `MetricBaseline.fit`: at once; some methods do something else."""

    def __init__(self):
        self.calls, self.instead, self.status = [], {}, "optimal"

    def __call__(self, name, seed, queries):
        self.calls.append((name, seed))
        if name in self.instead:
            raise self.instead[name]
        labels = {part: np.zeros(len(X), dtype=int) for part, X in queries.items()}
        return FakeFit(0.25, {"status": self.status}, labels)


@pytest.fixture
def fake(monkeypatch):
    fake = Fake()

    def fit(self, X, y=None, *, seed=0, queries, **more):
        return fake(self.name, seed, queries)

    monkeypatch.setattr(MetricBaseline, "fit", fit)
    monkeypatch.setattr(uci, "experiment", small_experiment)
    monkeypatch.setattr(report.TableResults, "draw", lambda self, folder: None)
    return fake


@pytest.fixture
def drawing(fake, monkeypatch):
    """Figures are drawn as they are in earnest."""
    monkeypatch.setattr(report.TableResults, "draw", DRAW)


def small_experiment(**more):
    """The table with made-up data; MNIST is not there, and numbers are as if they were all."""
    table = EXPERIMENT(**more)
    columns = tuple(
        replace(
            column,
            n_runs=min(3, column.n_runs),
            load=lambda run, name=column.name: made_up(name, run),
        )
        for column in table.columns
    )
    return replace(table, columns=columns, quick=False)


def made_up(name, seed):
    if name == "mnist":
        raise DatasetNotFoundError("the data file mnist.npz is not there")
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) + 2 * y[:, None]
    return Split(name, X[:30], y[:30], X[30:40], y[30:40], X[40:], y[40:]), None


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder, and no data by accident."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    return tmp_path


def run(*arguments, code=0):
    words = ["reproduce", "uci", "--threads", "1", *map(str, arguments)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def page(name="index.md", folder="uci"):
    return Path(folder, name).read_text(encoding="utf-8")


def table(folder="uci"):
    with open(Path(folder, "table.csv"), newline="") as file:
        return {(row["set"], row["method"]): row for row in csv.DictReader(file)}


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_real_methods():
    result = run("--quick", "--only", "iris", "--methods", "euclid,lda", "--runs", 1)
    assert "2 of 2 results are there" in result.stdout
    found = table()
    assert list(found) == [("iris", "euclid"), ("iris", "lda")]
    assert float(found["iris", "lda"]["error"]) < 15
    assert found["iris", "lda"]["paper_error"] == "3.18"
    for name in ("index.md", "index.html"):
        assert "small version" in page(name)
        assert "Euclidean" in page(name)
        assert "†:" not in page(name)
    assert "3.18" not in page()
    assert "<svg" in page("errors.svg")


def test_the_table_stands_beside_the_papers(drawing):
    run("--only", "iris", "--only", "letters", *FEW)
    markdown = page()
    assert re.search(r"^\| method \| letters \| iris \|$", markdown, re.MULTILINE)
    number, spread = r"(\*\*)?\d+\.\d\d", r" \(\d+\.\d\d\)(\*\*)?"
    row = rf"^\| SVM \| {number}(\*\*)? † / 2\.96 \| {number}{spread} † / 3\.64 \|$"
    assert re.search(row, markdown, re.MULTILINE)
    assert re.search(rf"\| FrobMetric \| {number}.* / 2\.72 \|", markdown)
    assert re.search(r"the paper's FrobMetric.*letters \d+\.\d\d / 2\.72", markdown)
    for words in (
        "Compared with FrobMetric",
        "Each data set",
        "C = 1e4 (3 of 3)",
        "recall@10",
        "in the order of the file",
        "of these FrobMetric",
    ):
        assert words in markdown
    files = ["table.csv", "results.json", "errors.svg", "times.svg"]
    assert re.findall(r"\]\((.*?)\)", markdown) == files
    assert all(Path("uci", file).is_file() for file in files)


def test_differences_are_marked_and_explained(fake, monkeypatch):
    run("--only", "letters", *FEW)
    markdown = page()
    section = markdown.partition("## Differences from the paper")[2].partition("\n## ")[0]
    assert "| SVM on letters |" in section
    assert "The paper does not say which rows its split has" in section
    found = table()
    assert found["letters", "svm"]["is_far"] == "True"
    ours, theirs = (float(found["letters", "svm"][name]) for name in ("error", "paper_error"))
    assert float(found["letters", "svm"]["difference"]) == pytest.approx(ours - theirs)


def test_the_files_hold_everything(fake):
    run("--only", "wine", *FEW, "--runs", 2)
    row = table()["wine", "frob"]
    assert (row["runs"], row["seconds"], row["total_seconds"]) == ("2", "0.25", "3.0")
    assert row["best_rule"] in RULES
    assert 0 <= float(row["best_rule_error"]) <= 100
    assert row["recall_at_10"] == row["recall_at_10_before"] != ""
    assert row["paper_seconds"] == "1.0"
    found = json.loads(page("results.json"), parse_constant=pytest.fail)
    assert len(found["cells"]) == 2 * len(TABLE)
    assert "wrong" not in found["cells"][0]
    done = [cell for cell in found["cells"] if cell["outcome"] == "done"]
    assert {cell["task"]["method"] for cell in done} == {"euclid", "svm", "frob"}
    assert "numpy: " in found["machines"][0]
    (svm,) = (each for each in found["compared"] if each["method"] == "svm")
    assert (svm["set"], svm["with"], svm["n"], svm["over"]) == ("wine", "frob", 2, "runs")
    assert found["sets"][0]["sizes"]["training"] == 30


def test_the_page_says_how_it_was_made(fake):
    run("-o", "my page", "--only", "iris", *FEW, "--limit", "77", "--budget", "88", "--runs", 2)
    html = page("index.html", "my page")
    assert (
        "frobmetric reproduce uci -o 'my page' --only iris --runs 2 "
        "--methods euclid,svm,frob --limit 77 --budget 88 --threads 1"
    ) in html
    for words in ("limit: 77 s for each fit", "budget: 88 s", "threads: 1", "numpy: ", "cores"):
        assert words in html


def test_json_has_every_cell(fake):
    result = run("--only", "iris", *FEW, "--json")
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert found["exit_code"] == 0
    assert len(found["cells"]) == 9
    assert {cell["outcome"] for cell in found["cells"]} == {"done"}
    assert found["page"] == str(Path("uci", "index.html"))
    assert not {"wrong", "tries"} & set(found["cells"][0])


def test_one_line_for_each_cell(fake):
    lines = run("--only", "iris", "--methods", "frob").stderr.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"iris, run 1: FrobMetric   \d+\.\d\d %   1\.50 s", lines[0])


# Going on


def test_a_second_run_computes_nothing(fake):
    run("--only", "iris", *FEW)
    before, fake.calls = page(), []
    result = run("--only", "iris", *FEW)
    assert fake.calls == []
    assert result.stderr == ""
    assert page() == before


def test_ctrl_c_leaves_what_is_finished_and_says_how_to_go_on(fake):
    fake.instead = {"svm": KeyboardInterrupt()}
    result = run("--only", "iris", *FEW, code=130)
    assert "3 of 9 results are there" in result.stdout
    assert "To continue: frobmetric reproduce uci -o uci --only iris" in result.stderr
    assert "not run yet" in page()
    fake.instead, fake.calls = {}, []
    result = run("--only", "iris", *FEW)
    assert {name for name, _ in fake.calls} == {"svm", "frob"}
    assert "9 of 9 results are there" in result.stdout


def test_the_page_keeps_what_other_runs_left(fake):
    run("--only", "iris", "--methods", "euclid")
    run("--only", "wine", "--methods", "lda")
    assert re.search(r"^\| method \| wine \| iris \|$", page(), re.MULTILINE)
    found = table()
    assert {method for _, method in found} == {"euclid", "lda"}
    assert found["iris", "lda"]["remark"] == "not run yet"


# What is missing


def test_a_number_of_the_paper_alone_is_not_taken_for_ours(fake):
    fake.instead = {"lmnn": TimeLimitError(60)}
    run("--only", "letters", "--methods", "lmnn,frob")
    assert "| LMNN | \\> 60 s / 3.82 |" in page()
    assert re.search(r"^\| LMNN \| – / [\d,]+ s \|$", page(), re.MULTILINE)


def cells_of(column, folder="uci"):
    data = json.loads(page("results.json", folder))
    return [cell for cell in data["cells"] if cell["task"]["column"] == column]


def test_a_page_without_its_cells_keeps_what_is_not_chosen(fake, monkeypatch):
    run(*FEW, "--only", "iris", "--only", "wine", "--limit", 20)
    before = table()
    shutil.rmtree("uci/cells")
    fake.calls.clear()
    monkeypatch.setattr(uci, "experiment", without_data("wine"))
    run("--only", "iris", "--methods", "svm,lda", "--limit", 30)
    assert sorted(set(fake.calls)) == [(name, n) for name in ("lda", "svm") for n in range(3)]
    after = table()
    assert {key: after[key] for key in before} == before
    assert after["iris", "lda"]["runs"] == "3"
    assert {cell["limit"] for cell in cells_of("wine")} == {20}
    data = json.loads(page("results.json"))
    assert "--methods lda,svm" in data["command"]
    assert len(data["earlier"]) == 1
    assert all(command in page() for command in (data["command"], *data["earlier"]))


def without_data(missing):
    """The table of a machine that does not have a data set."""

    def make(**more):
        def load(run, column):
            if column.name == missing:
                raise DatasetNotFoundError(f"the data file {missing}.npz is not there")
            return column.load(run)

        table = small_experiment(**more)
        columns = tuple(replace(c, load=partial(load, column=c)) for c in table.columns)
        return replace(table, columns=columns)

    return make


def test_resume_runs_only_what_the_page_lacks(fake):
    fake.instead["svm"] = TimeLimitError(20)
    run(*FEW, "--only", "iris", "--limit", 20)
    shutil.rmtree("uci/cells")
    fake.calls.clear()
    run(*FEW, "--only", "iris", "--limit", 20, "--resume")
    assert fake.calls == []
    assert "> 20 s" in table()["iris", "svm"]["remark"]
    fake.instead.clear()
    run(*FEW, "--only", "iris", "--limit", 30, "--resume")
    assert fake.calls[0] == ("svm", 0)
    assert {name for name, _ in fake.calls} == {"svm"}
    assert {table()["iris", name]["runs"] for name in ("euclid", "svm", "frob")} == {"3"}
    fake.calls.clear()
    shutil.rmtree("uci/cells")
    run(*FEW, "--only", "iris", "--limit", 30)
    assert {name for name, _ in fake.calls} == {"euclid", "svm", "frob"}


def test_the_small_version_is_no_part_of_a_whole_page(fake):
    run(*FEW, "--only", "iris", "--only", "letters")
    shutil.rmtree("uci/cells")
    data = json.loads(page("results.json"))
    Path("uci", "results.json").write_text(json.dumps(data | {"is_small": True}))
    run(*FEW, "--only", "iris")
    assert {column for column, _ in table()} == {"iris"}


def test_missing_data_leave_a_column_out_and_the_others_go_on(fake):
    result = run("--only", "mnist", "--only", "iris", *FEW)
    assert "warning: mnist was left out: the data file mnist.npz" in result.stderr
    assert "Left out: the data file mnist.npz is not there" in page()
    assert "9 of 9 results are there" in result.stdout


def test_the_page_can_be_written_again_from_the_results(fake):
    run("--only", "iris", *FEW)
    before, fake.calls = [page(name) for name in ("index.md", "index.html")], []
    Path("uci", "index.md").unlink()
    assert "written from results.json" in run("--page-only").stdout
    assert [page(name) for name in ("index.md", "index.html")] == before
    assert fake.calls == []
    assert "does not exist" in run("--page-only", "-o", "elsewhere", code=3).stderr


def test_nothing_that_can_be_run_is_an_error(fake):
    result = run("--only", "mnist", code=3)
    assert "mnist.npz is not there" in result.stderr
    assert "Left out" in page("index.html")


def test_a_method_that_is_not_installed_is_said(fake):
    fake.instead = {"svm": ProgramMissingError("svm cannot run here: <there> is none")}
    result = run("--only", "iris", *FEW)
    assert "SVM   not installed   (svm cannot run here" in result.stderr
    assert re.search(r"^\| SVM \| not installed", page(), re.MULTILINE)
    assert "svm cannot run here: &lt;there&gt; is none" in page("index.html")


def test_limits_and_budgets_are_said(fake):
    fake.instead = {"svm": TimeLimitError(600.0)}
    result = run("--only", "iris", *FEW, "--budget", 2)
    assert "iris, run 1: SVM   > 600 s" in result.stderr
    assert "| SVM | \\> 600 s" in page()
    row = table()["iris", "frob"]
    assert (row["runs"], row["outcome"]) == ("2", "skipped")
    assert row["remark"] == "the budget of 2 s was used up by 2 runs"
    assert "| FrobMetric | 2 of 3 |" in page()


def test_ours_without_a_certificate_is_said(fake):
    fake.status = "max_iter"
    run("--only", "iris", "--methods", "euclid")
    run("--only", "iris", *FEW, code=4)


def test_ours_without_an_answer_is_not_certified(fake):
    fake.instead = {"frob": TimeLimitError(600.0)}
    run("--only", "iris", *FEW, code=4)


def test_without_matplotlib_there_is_a_page(drawing, monkeypatch):
    def refuse(*arguments, **more):
        raise MissingExtraError("this needs matplotlib; install it")

    monkeypatch.setattr(report, "panels", refuse)
    result = run("--only", "iris", "--methods", "euclid")
    assert "no figures: this needs matplotlib" in result.stderr
    assert "<img" not in page("index.html")


# Wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "roses"], 2, "'iris'"),
        (["--methods", "lmn"], 2, "Did you mean lmnn?"),
        (["--methods", "euclid,x"], 2, "euclid, pca, lda"),
        (["--limit", "0"], 2, "0 is not positive"),
        (["--budget", "-1"], 2, "-1 is not positive"),
        (["--runs", "0"], 2, "'--runs'"),
        (["--data", "nowhere"], 2, "nowhere"),
        (["-o", "file"], 3, "file is not a folder; give --output another name"),
    ],
)
def test_mistakes_are_named(arguments, code, words, fake):
    Path("file").write_text("")
    assert words in run(*arguments, code=code).stderr
    assert fake.calls == []


def test_the_options_name_the_data_sets():
    assert tuple(COMMANDS["uci"].parts) == tuple(uci.SETS)
