"""`reproduce mvu`: the page and its figures, going on after Ctrl-C, words for what is missing."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frobmetric.app.cli import app
from frobmetric.runtime.environment import MissingExtraError
from frobmetric_paper.baselines import (
    Embedded,
    EmbeddingBaseline,
    ProgramMissingError,
    TimeLimitError,
)
from frobmetric_paper.command import COMMANDS
from frobmetric_paper.mvu import experiment as mvu
from frobmetric_paper.mvu import report

DRAW = report.UnfoldingResults.draw
FIGURES = ("data", "embeddings", "quality", "spread")


class Fake:
    """Stands in for `EmbeddingBaseline.embed`: a projection; some methods do something else."""

    def __init__(self):
        self.calls, self.instead = [], {}

    def __call__(self, X, n_neighbors, n_components, limit, threads, name):
        self.calls.append((name, len(X)))
        if name in self.instead:
            raise self.instead[name]
        if name in ("isomap", "lle"):
            return Embedded(X[:, :2], 0.25)
        spectrum = np.square(X - X.mean(axis=0)).sum(axis=0)[:3]
        broken = 2e-5 if name == "csdp_original" else 0.0
        proof = {"primal": 1.0, "dual": 1.0, "relative_gap": 3e-7, "violation": broken}
        slowness = 8.0 if name.startswith("csdp") else 2.0
        return Embedded(X[:, :2], slowness, float(spectrum.sum()), proof, spectrum.tolist())


@pytest.fixture
def fake(monkeypatch):
    fake = Fake()

    def embed(self, *arguments):
        return fake(*arguments, name=self.name)

    monkeypatch.setattr(EmbeddingBaseline, "embed", embed)
    monkeypatch.setattr(report.UnfoldingResults, "draw", lambda self, folder: None)
    return fake


@pytest.fixture
def drawing(fake, monkeypatch):
    """Figures are drawn as they are in earnest."""
    monkeypatch.setattr(report.UnfoldingResults, "draw", DRAW)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An own current folder, and no data by accident."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FROBMETRIC_DATA", raising=False)
    rolls = mvu.rolls
    smaller = {80: 40, 30: 20, 60: 30}
    monkeypatch.setattr(mvu, "rolls", lambda *sizes: rolls(*(smaller[n] for n in sizes)))
    return tmp_path


@pytest.fixture
def teapot_folder(tmp_path):
    """Made-up pictures that turn."""
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)[:, None]
    values = 300 + 200 * np.cos(angle + np.linspace(0, 9, 1900))
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "teapots_100_38x50.npz", X_rgbsum=values.astype(np.uint16))
    return folder


def run(*arguments, code=0):
    words = ["reproduce", "mvu", "--quick", "--threads", "1", *map(str, arguments)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result


def pages(folder="mvu"):
    return [Path(folder, name).read_text(encoding="utf-8") for name in ("index.md", "index.html")]


def images(html):
    return re.findall(r'<img src="(.*?)"', html)


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_the_real_methods():
    """CSDP may be missing; ours is certified, or the exit code would be 4."""
    result = run("--only", "swiss_roll", "--only", "time", "--limit", "120")
    assert "of 14 results are there" in result.stdout
    for page in pages():
        for words in ("small version", "our reconstruction", "ours (exact)", "CSDP (original)"):
            assert words in page
    assert re.search(r"\| ours \(exact\) \| [\d.]+ s \|", pages()[0])


def test_a_figure_is_drawn_and_shown(drawing):
    run("--only", "time")
    assert images(pages()[1]) == ["time_seconds.svg"]
    assert "<svg" in Path("mvu", "time_seconds.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_all_figures_are_drawn_and_shown(drawing, teapot_folder):
    run("--data", teapot_folder)
    files = [f"swiss_roll_{name}.png" for name in FIGURES]
    files += [
        f"{name}_{kind}.png"
        for name in ("teapots", "teapots_3")
        for kind in ("embeddings", "quality")
    ]
    files += ["time_seconds.svg"]
    markdown, html = pages()
    assert images(html) == files
    assert re.findall(r"\]\((.*?)\)", markdown) == ["results.json", *files]
    assert all(Path("mvu", file).read_bytes().startswith(b"\x89PNG") for file in files[:-1])


@pytest.mark.slow
def test_pictures_are_drawn_only_if_asked(drawing, teapot_folder):
    """They carry no licence: the page of a repository must not show them."""
    sizes = []
    for options in ((), ("--pictures",)):
        run("--only", "teapots", "--data", teapot_folder, *options)
        sizes.append(Path("mvu", "teapots_embeddings.png").stat().st_size)
    assert sizes[0] < sizes[1]
    assert "--pictures" in pages()[0]
    for with_pictures in (False, True):
        (_, teapots, *_) = mvu.plan(data=teapot_folder, show_pictures=with_pictures)
        assert (teapots.points()[0].picture_shape is not None) == with_pictures


def test_the_page_has_the_papers_numbers_and_the_scale(fake):
    run("--only", "swiss_roll")
    markdown, html = pages()
    for page in (markdown, html):
        for method in ("FrobMetric", "MVU", "Isomap", "LLE"):
            row = report.PAPER["swiss_roll", method]
            assert all(f" / {float(row[name]):g}" in page for name in report.EVENNESS)
        for words in (
            "σ = 1e5",
            "diameter",
            "mean squared distance of neighbours",
            "total variance",
            "without which σ means nothing",
        ):
            assert words in page
    assert "| CSDP (original) | 8.00 s |" in markdown
    assert "| 3e-7 (distances off by 2e-5) |" in markdown


def test_the_page_says_how_it_was_made(fake, teapot_folder):
    run("-o", "my page", "--only", "teapots", "--limit", "77", "--data", teapot_folder)
    html = pages("my page")[1]
    assert "frobmetric reproduce mvu -o 'my page' --only teapots --quick" in html
    assert "--limit 77 --threads 1" in html
    for words in ("limit: 77 s", "threads: 1", "numpy: ", "scikit-learn: ", "cores"):
        assert words in html


def test_the_figure_of_time_has_a_table(fake):
    fake.instead = {"csdp_original": TimeLimitError(5.0)}
    run("--only", "time")
    markdown = pages()[0]
    assert "| 20 | **2.00 s** | **2.00 s** | \\> 5 s | 8.00 s |" in markdown
    assert "| 30 | **2.00 s** | **2.00 s** | – | 8.00 s |" in markdown
    assert "\\> 3600 s at n = 20" in markdown
    assert "about 15 times faster" in markdown


def test_json_has_every_cell(fake):
    result = run("--only", "time", "--json")
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert found["exit_code"] == 0
    assert len(found["cells"]) == 8
    assert {cell["outcome"] for cell in found["cells"]} == {"done"}
    assert found["page"] == str(Path("mvu", "index.html"))
    assert "embedding" not in found["cells"][0]


# Going on


def test_a_second_run_computes_nothing(fake):
    run("--only", "swiss_roll")
    before, fake.calls = pages(), []
    result = run("--only", "swiss_roll")
    assert fake.calls == []
    assert result.stderr == ""
    assert pages() == before


def test_ctrl_c_leaves_what_is_finished_and_says_how_to_go_on(fake):
    fake.instead = {"ours_1e5": KeyboardInterrupt()}
    result = run("--only", "swiss_roll", code=130)
    assert "2 of 6 results are there" in result.stdout
    assert "To continue: frobmetric reproduce mvu -o mvu --only swiss_roll --quick" in result.stderr
    assert "| Isomap | **0.250 s** |" in pages()[0]
    assert "not run yet" in pages()[0]
    fake.instead, fake.calls = {}, []
    run("--only", "swiss_roll")
    assert [name for name, _ in fake.calls] == [
        "ours_1e5",
        "ours_exact",
        "csdp_original",
        "csdp_well_posed",
    ]


def test_the_page_keeps_what_other_runs_left(fake):
    run("--only", "time")
    run("--only", "swiss_roll")
    titles = re.findall(r"^## (.*)$", pages()[0], re.MULTILINE)
    parts = ["Swiss roll", "Time against n"]
    assert titles == ["Findings", *parts, "How it was measured", "How this was made"]


# What is missing


def test_missing_data_leave_an_experiment_out_and_the_others_go_on(fake):
    result = run("--only", "teapots", "--only", "time")
    assert "warning: teapots was left out: the data file teapots_100_38x50.npz" in result.stderr
    assert "Left out: the data file teapots\\_100\\_38x50.npz" in pages()[0]
    assert len(fake.calls) == 8


def test_nothing_that_can_be_run_is_an_error():
    result = run("--only", "faces", code=3)
    assert "frey_faces.npz is needed, and no data folder was given" in result.stderr
    assert "Left out" in pages()[1]


def test_csdp_that_is_not_installed_is_said(fake):
    fake.instead = {"csdp_original": ProgramMissingError("csdp cannot run here: <there> is none")}
    result = run("--only", "swiss_roll")
    assert "CSDP (original)   not installed   (csdp cannot run" in result.stderr
    assert "csdp cannot run here: &lt;there&gt; is none" in pages()[1]


@pytest.mark.parametrize("name", ["ours_exact", "ours_1e5"])
def test_ours_without_an_answer_is_not_certified(name, fake):
    fake.instead = {name: TimeLimitError(5.0)}
    run("--only", "swiss_roll", code=4)


def test_without_matplotlib_there_is_a_page(drawing, monkeypatch):
    def refuse(*arguments, **more):
        raise MissingExtraError("this needs matplotlib; install it")

    monkeypatch.setattr(report, "panels", refuse)
    result = run("--only", "time")
    assert "no figures: this needs matplotlib" in result.stderr
    assert images(pages()[1]) == []


def test_a_page_without_its_cells_keeps_other_parts_and_their_figures(drawing):
    run("--only", "swiss_roll")
    figures = {file: Path("mvu", file).read_bytes() for file in images(pages()[1])}
    assert len(figures) == len(FIGURES)
    shutil.rmtree("mvu/cells")
    run("--only", "time", "--limit", 77)
    assert images(pages()[1]) == [*figures, "time_seconds.svg"]
    assert all(Path("mvu", file).read_bytes() == figures[file] for file in figures)
    assert "--only swiss_roll" in pages()[0]
    assert "--only time --quick --limit 77" in pages()[0]
    run("--only", "swiss_roll")
    assert images(pages()[1]) == [*figures, "time_seconds.svg"]


# Wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--only", "roll"], 2, "swiss_roll"),
        (["--limit", "0"], 2, "0 is not positive"),
        (["--threads", "0"], 2, "'--threads'"),
        (["--data", "nowhere"], 2, "nowhere"),
        (["-o", "file"], 3, "file is not a folder; give --output another name"),
        (["-o", "file/below"], 3, "file/below is not a folder"),
    ],
)
def test_mistakes_are_named(arguments, code, words, fake):
    Path("file").write_text("")
    assert words in run(*arguments, code=code).stderr
    assert fake.calls == []


def test_the_options_name_the_experiments():
    assert tuple(COMMANDS["mvu"].parts) == tuple(part.name for part in mvu.plan())


def test_the_page_can_be_written_again_from_the_results(fake):
    run("--only", "swiss_roll")
    before, fake.calls = pages(), []
    run("--page-only")
    assert pages() == before
    assert fake.calls == []
