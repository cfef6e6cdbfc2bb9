"""`reproduce action`: the page, the paper's numbers apart, merged words, going on, what fails."""

import json
from pathlib import Path

import pytest

from frobmetric_paper.data import DatasetNotFoundError
from reproductions import Action

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

FEW = ("--methods", "euclid,frob")
UTD = ("--only", "utd_mhad")


@pytest.fixture
def made(monkeypatch, tmp_path):
    return Action(monkeypatch, tmp_path)


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_real_methods(monkeypatch, tmp_path, data_folder):
    made = Action(monkeypatch, tmp_path, is_real=True)
    result = made.run("--quick", *UTD, "--methods", "lda", "--runs", 1, "--data", data_folder)
    assert "1 of 1 results are there" in result.stdout
    found = made.table("method")
    assert float(found["lda",]["error"]) < 50
    assert found["lda",]["paper_error"] == ""
    assert "small version" in made.page()
    assert f"--only utd_mhad --quick --runs 1 --data {data_folder}" in made.page()


def test_the_papers_numbers_stand_apart(made):
    made.draws().run(*FEW)
    markdown = made.page()
    ours, _, paper = markdown.partition("## The paper's numbers, of other data")
    assert "| Euclidean | 10.55 (2.46) | 1.14 (0.19) | – | – |" in paper
    assert "| FrobMetric | 7.03 (1.46) | 0.59 (0.20) | 290 s | 169 s |" in paper
    assert "| samples | 2,387 | 5,594 |" in paper
    for words in ("†", "Differences from the paper", "… the paper's", "10.55"):
        assert words not in ours
    for words in (
        "MSR Action3D for KTH, UTD-MHAD for Weizmann",
        "Compared with FrobMetric",
        "Replaces Weizmann",
    ):
        assert words in ours
    assert markdown.index("## Time") < markdown.index("## The paper's") < markdown.index("## How")
    assert "<svg" in made.page("errors.svg")


def test_merged_words_are_on_the_page(made, tmp_path):
    made.run(*FEW, "--data", tmp_path)
    assert made.merges == [((500, 200, 100), None, tmp_path)]
    assert "| merged somehow | 500 | 50.0% | 12.50 |" in made.page()
    assert ">6,224</td>" in made.page("index.html")


def test_results_have_cells_and_words(made):
    found = json.loads(made.run(*FEW, "--json").stdout, parse_constant=pytest.fail)
    assert found["exit_code"] == 0
    assert {cell["task"]["column"] for cell in found["cells"]} == {"utd_mhad"}
    assert list(found["left_out"]) == ["msr_action3d"]
    stored = json.loads(Path("action", "results.json").read_text())
    assert [each["n_bins"] for each in stored["words"]] == [6224, 500]


def test_a_method_learns_again_with_the_chosen_parameters(made):
    made.run(*UTD, "--methods", "euclid")
    # two runs, each to choose and then from both parts
    assert [name for name, _ in made.calls] == ["euclid"] * 4


# Going on, and parts of it


def test_the_small_version_does_not_show_words_of_the_large(made):
    made.run(*FEW)
    made.run(*FEW, "--quick")
    assert [n_documents for _, n_documents, _ in made.merges] == [None, 300]


def test_words_alone(made):
    result = made.run("--only", "words")
    assert made.calls == []
    assert "merged somehow" in made.page()
    assert "words: information bottleneck   2 ways" in result.stderr
    assert "--only words" in made.page()


def test_other_parts_leave_words_as_they_are(made):
    made.run(*UTD, *FEW)
    assert made.merges == []
    assert "Left out: not run yet" in made.page()
    made.run("--only", "words")
    made.run(*UTD, *FEW)
    assert "merged somehow" in made.page()
    assert len(made.merges) == 1


@pytest.mark.parametrize("what", ["frob", "words"])
def test_ctrl_c_leaves_what_is_finished_and_says_how_to_go_on(made, what):
    made.instead = {what: KeyboardInterrupt()}
    result = made.run(*FEW, code=130)
    assert "To continue: frobmetric reproduce action -o action" in result.stderr
    assert "not run yet" in made.page()
    made.instead = {}
    assert "4 of 4 results are there" in made.run(*FEW).stdout
    assert "merged somehow" in made.page()


# What is missing


def test_missing_data_are_said_and_the_rest_goes_on(made):
    made.instead = {"words": DatasetNotFoundError("the data file r8_counts.npz is not there")}
    result = made.run(*FEW)
    for name in ("msr_action3d", "words"):
        assert f"warning: {name} was left out: the data file" in result.stderr
    assert "Left out: the data file r8\\_counts.npz is not there" in made.page()
    assert "Left out: the data file msr\\_action3d.npz is not there" in made.page()


def test_nothing_that_can_be_run_is_an_error(made):
    made.instead = {"words": DatasetNotFoundError("the data file r8_counts.npz is not there")}
    made.run("--only", "msr_action3d", "--only", "words", code=3)
    made.run("--only", "words", code=3)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "kth"], 2, "'utd_mhad'"),
        (["--methods", "lmn"], 2, "Did you mean lmnn?"),
        (["--runs", "0"], 2, "'--runs'"),
    ],
)
def test_mistakes_are_named(arguments, code, words, made):
    assert words in made.run(*arguments, code=code).stderr
    assert made.calls == []
