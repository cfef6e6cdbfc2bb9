"""`reproduce uci`: the page, its files and figures, going on after Ctrl-C, words for what fails."""

import json
import re
import shutil
from pathlib import Path

import pytest

from frobmetric_paper.baselines import TABLE, TimeLimitError
from frobmetric_paper.classification.measure import RULES
from reproductions import Uci

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

FEW = ("--methods", "euclid,svm", "--methods", "frob")


@pytest.fixture
def made(monkeypatch, tmp_path):
    return Uci(monkeypatch, tmp_path)


def table(made):
    return made.table("set", "method")


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_real_methods(monkeypatch, tmp_path):
    made = Uci(monkeypatch, tmp_path, is_real=True)
    result = made.run("--quick", "--only", "iris", "--methods", "euclid,lda", "--runs", 1)
    assert "2 of 2 results are there" in result.stdout
    found = table(made)
    assert list(found) == [("iris", "euclid"), ("iris", "lda")]
    assert float(found["iris", "lda"]["error"]) < 15
    assert found["iris", "lda"]["paper_error"] == "3.18"
    for name in ("index.md", "index.html"):
        assert "small version" in made.page(name)
        assert "Euclidean" in made.page(name)
        assert "†:" not in made.page(name)
    assert "3.18" not in made.page()
    assert "<svg" in made.page("errors.svg")


def test_the_table_stands_beside_the_papers(made):
    made.draws().run("--only", "iris", "--only", "letters", *FEW)
    markdown = made.page()
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


def test_differences_are_marked_and_explained(made, monkeypatch):
    made.run("--only", "letters", *FEW)
    markdown = made.page()
    section = markdown.partition("## Differences from the paper")[2].partition("\n## ")[0]
    assert "| SVM on letters |" in section
    assert "The paper does not say which rows its split has" in section
    found = table(made)
    assert found["letters", "svm"]["is_far"] == "True"
    ours, theirs = (float(found["letters", "svm"][name]) for name in ("error", "paper_error"))
    assert float(found["letters", "svm"]["difference"]) == pytest.approx(ours - theirs)


def test_the_files_hold_everything(made):
    made.run("--only", "wine", *FEW, "--runs", 2)
    row = table(made)["wine", "frob"]
    assert (row["runs"], row["seconds"], row["total_seconds"]) == ("2", "0.25", "3.0")
    assert row["best_rule"] in RULES
    assert 0 <= float(row["best_rule_error"]) <= 100
    assert row["recall_at_10"] == row["recall_at_10_before"] != ""
    assert row["paper_seconds"] == "1.0"
    found = json.loads(made.page("results.json"), parse_constant=pytest.fail)
    assert len(found["cells"]) == 2 * len(TABLE)
    assert "wrong" not in found["cells"][0]
    done = [cell for cell in found["cells"] if cell["outcome"] == "done"]
    assert {cell["task"]["method"] for cell in done} == {"euclid", "svm", "frob"}
    assert "numpy: " in found["machines"][0]
    (svm,) = (each for each in found["compared"] if each["method"] == "svm")
    assert (svm["set"], svm["with"], svm["n"], svm["over"]) == ("wine", "frob", 2, "runs")
    assert found["sets"][0]["sizes"]["training"] == 30


def test_one_line_for_each_cell(made):
    lines = made.run("--only", "iris", "--methods", "frob").stderr.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"iris, run 1: FrobMetric   \d+\.\d\d %   1\.50 s", lines[0])


# Going on


def test_the_page_keeps_what_other_runs_left(made):
    made.run("--only", "iris", "--methods", "euclid")
    made.run("--only", "wine", "--methods", "lda")
    assert re.search(r"^\| method \| wine \| iris \|$", made.page(), re.MULTILINE)
    found = table(made)
    assert {method for _, method in found} == {"euclid", "lda"}
    assert found["iris", "lda"]["remark"] == "not run yet"


# What is missing


def test_a_number_of_the_paper_alone_is_not_taken_for_ours(made):
    made.instead = {"lmnn": TimeLimitError(60)}
    made.run("--only", "letters", "--methods", "lmnn,frob")
    assert "| LMNN | \\> 60 s / 3.82 |" in made.page()
    assert re.search(r"^\| LMNN \| – / [\d,]+ s \|$", made.page(), re.MULTILINE)


def test_a_page_without_its_cells_keeps_what_is_not_chosen(made, monkeypatch):
    made.run(*FEW, "--only", "iris", "--only", "wine", "--limit", 20)
    before = table(made)
    shutil.rmtree("uci/cells")
    made.calls.clear()
    made.missing = ("mnist", "wine")
    made.run("--only", "iris", "--methods", "svm,lda", "--limit", 30)
    assert sorted(set(made.calls)) == [(name, n) for name in ("lda", "svm") for n in range(3)]
    after = table(made)
    assert {key: after[key] for key in before} == before
    assert after["iris", "lda"]["runs"] == "3"
    assert {c["limit"] for c in made.results()["cells"] if c["task"]["column"] == "wine"} == {20}
    data = made.results()
    assert "--methods lda,svm" in data["command"]
    assert len(data["earlier"]) == 1
    assert all(command in made.page() for command in (data["command"], *data["earlier"]))


def test_resume_runs_only_what_the_page_lacks(made):
    made.instead["svm"] = TimeLimitError(20)
    made.run(*FEW, "--only", "iris", "--limit", 20)
    shutil.rmtree("uci/cells")
    made.calls.clear()
    made.run(*FEW, "--only", "iris", "--limit", 20, "--resume")
    assert made.calls == []
    assert "> 20 s" in table(made)["iris", "svm"]["remark"]
    made.instead.clear()
    made.run(*FEW, "--only", "iris", "--limit", 30, "--resume")
    assert made.calls[0] == ("svm", 0)
    assert {name for name, _ in made.calls} == {"svm"}
    assert {table(made)["iris", name]["runs"] for name in ("euclid", "svm", "frob")} == {"3"}
    made.calls.clear()
    shutil.rmtree("uci/cells")
    made.run(*FEW, "--only", "iris", "--limit", 30)
    assert {name for name, _ in made.calls} == {"euclid", "svm", "frob"}


def test_the_small_version_is_no_part_of_a_whole_page(made):
    made.run(*FEW, "--only", "iris", "--only", "letters")
    shutil.rmtree("uci/cells")
    data = made.results()
    Path("uci", "results.json").write_text(json.dumps(data | {"is_small": True}))
    made.run(*FEW, "--only", "iris")
    assert {column for column, _ in table(made)} == {"iris"}


def test_missing_data_leave_a_column_out_and_the_others_go_on(made):
    result = made.run("--only", "mnist", "--only", "iris", *FEW)
    assert "warning: mnist was left out: the data file mnist.npz" in result.stderr
    assert "Left out: the data file mnist.npz is not there" in made.page()
    assert "9 of 9 results are there" in result.stdout


def test_limits_and_budgets_are_said(made):
    made.instead = {"svm": TimeLimitError(600.0)}
    result = made.run("--only", "iris", *FEW, "--budget", 2)
    assert "iris, run 1: SVM   > 600 s" in result.stderr
    assert "| SVM | \\> 600 s" in made.page()
    row = table(made)["iris", "frob"]
    assert (row["runs"], row["outcome"]) == ("2", "skipped")
    assert row["remark"] == "the budget of 2 s was used up by 2 runs"
    assert "| FrobMetric | 2 of 3 |" in made.page()


def test_ours_without_a_certificate_is_said(made):
    made.status = "max_iter"
    made.run("--only", "iris", "--methods", "euclid")
    made.run("--only", "iris", *FEW, code=4)


# Wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "roses"], 2, "'iris'"),
        (["--methods", "lmn"], 2, "Did you mean lmnn?"),
        (["--methods", "euclid,x"], 2, "euclid, pca, lda"),
        (["--budget", "-1"], 2, "-1 is not positive"),
        (["--runs", "0"], 2, "'--runs'"),
    ],
)
def test_mistakes_are_named(arguments, code, words, made):
    assert words in made.run(*arguments, code=code).stderr
    assert made.calls == []
