"""`reproduce mvu`: the page and its figures, going on after Ctrl-C, words for what is missing."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from frobmetric_paper.baselines import TimeLimitError
from frobmetric_paper.mvu import experiment as mvu
from frobmetric_paper.mvu import report
from reproductions import Unfolding

FIGURES = ("data", "embeddings", "quality", "spread")


@pytest.fixture
def made(monkeypatch, tmp_path):
    return Unfolding(monkeypatch, tmp_path)


@pytest.fixture
def teapot_folder(tmp_path):
    """Made-up pictures that turn."""
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)[:, None]
    values = 300 + 200 * np.cos(angle + np.linspace(0, 9, 1900))
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "teapots_100_38x50.npz", X_rgbsum=values.astype(np.uint16))
    return folder


def images(html):
    return re.findall(r'<img src="(.*?)"', html)


# The whole of it


@pytest.mark.slow
def test_the_small_version_with_the_real_methods(monkeypatch, tmp_path):
    """CSDP may be missing; ours is certified, or the exit code would be 4."""
    made = Unfolding(monkeypatch, tmp_path, is_real=True)
    result = made.run("--only", "swiss_roll", "--only", "time", "--limit", "120")
    assert "of 14 results are there" in result.stdout
    for page in made.pages():
        for words in ("small version", "our reconstruction", "ours (exact)", "CSDP (original)"):
            assert words in page
    assert re.search(r"\| ours \(exact\) \| [\d.]+ s \|", made.pages()[0])


def test_a_figure_is_drawn_and_shown(made):
    made.draws().run("--only", "time")
    assert images(made.pages()[1]) == ["time_seconds.svg"]
    assert "<svg" in Path("mvu", "time_seconds.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_all_figures_are_drawn_and_shown(made, teapot_folder):
    made.draws().run("--data", teapot_folder)
    files = [f"swiss_roll_{name}.png" for name in FIGURES]
    files += [
        f"{name}_{kind}.png"
        for name in ("teapots", "teapots_3")
        for kind in ("embeddings", "quality")
    ]
    files += ["time_seconds.svg"]
    markdown, html = made.pages()
    assert images(html) == files
    assert re.findall(r"\]\((.*?)\)", markdown) == ["results.json", *files]
    assert all(Path("mvu", file).read_bytes().startswith(b"\x89PNG") for file in files[:-1])


@pytest.mark.slow
def test_pictures_are_drawn_only_if_asked(made, teapot_folder):
    made.draws()
    """They carry no licence: the page of a repository must not show them."""
    sizes = []
    for options in ((), ("--pictures",)):
        made.run("--only", "teapots", "--data", teapot_folder, *options)
        sizes.append(Path("mvu", "teapots_embeddings.png").stat().st_size)
    assert sizes[0] < sizes[1]
    assert "--pictures" in made.pages()[0]
    for with_pictures in (False, True):
        (_, teapots, *_) = mvu.plan(data=teapot_folder, show_pictures=with_pictures)
        assert (teapots.points()[0].picture_shape is not None) == with_pictures


def test_the_page_has_the_papers_numbers_and_the_scale(made):
    made.run("--only", "swiss_roll")
    markdown, html = made.pages()
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


def test_the_figure_of_time_has_a_table(made):
    made.instead = {"csdp_original": TimeLimitError(5.0)}
    made.run("--only", "time")
    markdown = made.pages()[0]
    assert "| 20 | **2.00 s** | **2.00 s** | \\> 5 s | 8.00 s |" in markdown
    assert "| 30 | **2.00 s** | **2.00 s** | – | 8.00 s |" in markdown
    assert "\\> 3600 s at n = 20" in markdown
    assert "about 15 times faster" in markdown


# Going on


def test_the_page_keeps_what_other_runs_left(made):
    made.run("--only", "time")
    made.run("--only", "swiss_roll")
    titles = re.findall(r"^## (.*)$", made.pages()[0], re.MULTILINE)
    parts = ["Swiss roll", "Time against n"]
    assert titles == ["Findings", *parts, "How it was measured", "How this was made"]


# What is missing


def test_missing_data_leave_an_experiment_out_and_the_others_go_on(made):
    result = made.run("--only", "teapots", "--only", "time")
    assert "warning: teapots was left out: the data file teapots_100_38x50.npz" in result.stderr
    assert "Left out: the data file teapots\\_100\\_38x50.npz" in made.pages()[0]
    assert len(made.calls) == 8


@pytest.mark.parametrize("name", ["ours_exact", "ours_1e5"])
def test_ours_without_an_answer_is_not_certified(name, made):
    made.instead = {name: TimeLimitError(5.0)}
    made.run("--only", "swiss_roll", code=4)


def test_a_page_without_its_cells_keeps_other_parts_and_their_figures(made):
    made.draws().run("--only", "swiss_roll")
    figures = {file: Path("mvu", file).read_bytes() for file in images(made.pages()[1])}
    assert len(figures) == len(FIGURES)
    shutil.rmtree("mvu/cells")
    made.run("--only", "time", "--limit", 77)
    assert images(made.pages()[1]) == [*figures, "time_seconds.svg"]
    assert all(Path("mvu", file).read_bytes() == figures[file] for file in figures)
    assert "--only swiss_roll" in made.pages()[0]
    assert "--only time --quick --limit 77" in made.pages()[0]
    made.run("--only", "swiss_roll")
    assert images(made.pages()[1]) == [*figures, "time_seconds.svg"]


# Wrong usage
