"""`reproduce action`: the page, the paper's numbers apart, merged words, going on, what fails."""

import csv
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frobmetric.app.cli import app
from frobmetric.runtime.environment import MissingExtraError
from frobmetric_paper.action import experiment as action
from frobmetric_paper.action.histograms import Merged
from frobmetric_paper.baselines import MetricBaseline
from frobmetric_paper.classification import report
from frobmetric_paper.command import COMMANDS
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.labelled import Split

#: They run experiments from end to end.
pytestmark = pytest.mark.slow

EXPERIMENT = action.experiment
FEW = ("--methods", "euclid,frob")
UTD = ("--only", "utd_mhad")


@dataclass(frozen=True, eq=False)
class FakeFit:
    """The identity."""

    seconds: float = 0.25
    detail: dict = field(default_factory=lambda: {"status": "optimal"})

    def transform(self, X):
        return X


class Fake:
    """Stands in for all that takes time: `MetricBaseline.fit` and `merged_words`."""

    def __init__(self):
        self.fits, self.merges, self.instead = [], [], {}

    def fit(self, name):
        self.fits.append(name)
        if name in self.instead:
            raise self.instead[name]
        return FakeFit()

    def merge(self, n_bins, *, n_documents=None, folder=None):
        self.merges.append((n_bins, n_documents, folder))
        if "words" in self.instead:
            raise self.instead["words"]
        return [Merged("all words", 6224, 1.0, 4.25), Merged("merged somehow", 500, 0.5, 12.5)]


@pytest.fixture
def fake(monkeypatch):
    fake = Fake()

    def fit(self, X, y=None, **more):
        return fake.fit(self.name)

    monkeypatch.setattr(MetricBaseline, "fit", fit)
    monkeypatch.setattr(action, "merged_words", fake.merge)
    monkeypatch.setattr(action, "experiment", small_experiment)
    return fake


def small_experiment(**more):
    """The table with made-up data; the skeletons are not there."""
    table = EXPERIMENT(**more)
    columns = tuple(
        replace(column, n_runs=2, load=lambda run, name=column.name: made_up(name, run))
        for column in table.columns
    )
    return replace(table, columns=columns)


def made_up(name, seed):
    if name == "msr_action3d":
        raise DatasetNotFoundError("the data file msr_action3d.npz is not there")
    y = np.tile([0, 1, 2], 20)
    X = np.random.default_rng(seed).normal(size=(60, 3)) + 2 * y[:, None]
    return Split(name, X[:30], y[:30], X[30:40], y[30:40], X[40:], y[40:]), None


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder, and no data by accident."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    return tmp_path


def run(*arguments, code=0):
    words = ["reproduce", "action", "--threads", "1", *map(str, arguments)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def page(name="index.md"):
    return Path("action", name).read_text(encoding="utf-8")


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_real_methods(data_folder):
    result = run("--quick", *UTD, "--methods", "lda", "--runs", 1, "--data", data_folder)
    assert "1 of 1 results are there" in result.stdout
    with open(Path("action", "table.csv"), newline="") as file:
        found = {row["method"]: row for row in csv.DictReader(file)}
    assert float(found["lda"]["error"]) < 50
    assert found["lda"]["paper_error"] == ""
    assert "small version" in page()
    assert f"--only utd_mhad --quick --runs 1 --data {data_folder}" in page()


def test_the_papers_numbers_stand_apart(fake):
    run(*FEW)
    markdown = page()
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
    assert "<svg" in page("errors.svg")


def test_merged_words_are_on_the_page(fake, tmp_path):
    run(*FEW, "--data", tmp_path)
    assert fake.merges == [((500, 200, 100), None, tmp_path)]
    assert "| merged somehow | 500 | 50.0% | 12.50 |" in page()
    assert ">6,224</td>" in page("index.html")


def test_results_have_cells_and_words(fake):
    found = json.loads(run(*FEW, "--json").stdout, parse_constant=pytest.fail)
    assert found["exit_code"] == 0
    assert {cell["task"]["column"] for cell in found["cells"]} == {"utd_mhad"}
    assert list(found["left_out"]) == ["msr_action3d"]
    stored = json.loads(Path("action", "results.json").read_text())
    assert [each["n_bins"] for each in stored["words"]] == [6224, 500]


def test_a_method_learns_again_with_the_chosen_parameters(fake):
    run(*UTD, "--methods", "euclid")
    assert fake.fits == ["euclid"] * 4  # two runs, each to choose and then from both parts


# Going on, and parts of it


def test_a_second_run_computes_nothing(fake):
    run(*FEW)
    before, fake.fits, fake.merges = page(), [], []
    run(*FEW)
    assert (fake.fits, fake.merges) == ([], [])
    assert page() == before


def test_the_small_version_does_not_show_words_of_the_large(fake):
    run(*FEW)
    run(*FEW, "--quick")
    assert [n_documents for _, n_documents, _ in fake.merges] == [None, 300]


def test_words_alone(fake):
    result = run("--only", "words")
    assert fake.fits == []
    assert "merged somehow" in page()
    assert "words: information bottleneck   2 ways" in result.stderr
    assert "--only words" in page()


def test_other_parts_leave_words_as_they_are(fake):
    run(*UTD, *FEW)
    assert fake.merges == []
    assert "Left out: not run yet" in page()
    run("--only", "words")
    run(*UTD, *FEW)
    assert "merged somehow" in page()
    assert len(fake.merges) == 1


@pytest.mark.parametrize("what", ["frob", "words"])
def test_ctrl_c_leaves_what_is_finished_and_says_how_to_go_on(fake, what):
    fake.instead = {what: KeyboardInterrupt()}
    result = run(*FEW, code=130)
    assert "To continue: frobmetric reproduce action -o action" in result.stderr
    assert "not run yet" in page()
    fake.instead = {}
    assert "4 of 4 results are there" in run(*FEW).stdout
    assert "merged somehow" in page()


# What is missing


def test_missing_data_are_said_and_the_rest_goes_on(fake):
    fake.instead = {"words": DatasetNotFoundError("the data file r8_counts.npz is not there")}
    result = run(*FEW)
    for name in ("msr_action3d", "words"):
        assert f"warning: {name} was left out: the data file" in result.stderr
    assert "Left out: the data file r8\\_counts.npz is not there" in page()
    assert "Left out: the data file msr\\_action3d.npz is not there" in page()


def test_nothing_that_can_be_run_is_an_error(fake):
    fake.instead = {"words": DatasetNotFoundError("the data file r8_counts.npz is not there")}
    run("--only", "msr_action3d", "--only", "words", code=3)
    run("--only", "words", code=3)


def test_without_matplotlib_there_is_a_page(fake, monkeypatch):
    def refuse(*arguments, **more):
        raise MissingExtraError("this needs matplotlib; install it")

    monkeypatch.setattr(report, "panels", refuse)
    assert "no figures: this needs matplotlib" in run(*UTD, *FEW).stderr
    assert "<img" not in page("index.html")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "kth"], 2, "'utd_mhad'"),
        (["--methods", "lmn"], 2, "Did you mean lmnn?"),
        (["--runs", "0"], 2, "'--runs'"),
        (["-o", "file"], 3, "file is not a folder; give --output another name"),
    ],
)
def test_mistakes_are_named(arguments, code, words, fake):
    Path("file").write_text("")
    assert words in run(*arguments, code=code).stderr
    assert fake.fits == []


def test_the_options_name_the_parts():
    assert list(COMMANDS["action"].parts) == EXPERIMENT().parts
