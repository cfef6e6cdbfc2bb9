"""The demo: its numbers agree with each other and with its files, and its gain is real."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from frobmetric import knn_error
from frobmetric.app.cli.demo import N_TRAIN, SHAPE, make_numbers
from frobmetric.app.tables.reading import read_table
from frobmetric.io import load
from terminals import run, run_json

MODELS = ["cancer.safetensors", "numbers.safetensors", "wine.safetensors"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Folder of a demo, and its answer as JSON."""
    pytest.importorskip("matplotlib", reason="the demo draws figures")
    folder = tmp_path_factory.mktemp("demo") / "shown"
    return folder, run_json("demo", "-o", folder)


def test_numbers_have_the_digit_of_their_class_in_the_middle():
    task, (X, y) = make_numbers(0), load_digits(return_X_y=True)
    assert (len(task.X), len(task.X_test)) == (N_TRAIN, len(X) - N_TRAIN)
    digits = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
    parts = []
    for pictures, labels in ((task.X, task.y), (task.X_test, task.y_test)):
        three = pictures.reshape(-1, *SHAPE).reshape(-1, 8, 3, 8).swapaxes(1, 2)
        three = np.ascontiguousarray(three).reshape(-1, 3, 64)
        assert [digits[middle.tobytes()] for middle in three[:, 1]] == labels.tolist()
        parts.append({side.tobytes() for side in three.reshape(-1, 64)})
    assert not parts[0] & parts[1]


def test_numbers_depend_on_the_seed():
    first, again, other = (make_numbers(seed).X for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.slow
def test_the_learned_distance_helps_where_euclid_fails(shown):
    _, answer = shown
    numbers = answer["tasks"]["numbers"]
    assert numbers["verdict"] == "helped"
    euclid = min(numbers["rows"][key]["error"] for key in ("raw", "scaled"))
    assert numbers["rows"]["model"]["error"] < 0.25 * euclid
    for task in answer["tasks"].values():  # no harm on any
        assert task["verdict"] != "hurt"
        assert task["rows"]["model"]["error"] < task["rows"]["raw"]["error"]


@pytest.mark.slow
def test_everything_is_certified(shown):
    _, answer = shown
    assert answer["certified"] is True
    assert all(task["certified"] for task in answer["tasks"].values())


@pytest.mark.slow
def test_the_files_are_what_was_measured(shown):
    folder, answer = shown
    files = sorted(path.name for path in folder.iterdir())
    assert files == sorted([*MODELS, "map.png", "neighbors.png", "wine.csv"])
    for name in ("map.png", "neighbors.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    task, model = make_numbers(0), load(folder / "numbers.safetensors")
    parts = (model.transform(task.X), task.y, model.transform(task.X_test), task.y_test)
    rows = answer["tasks"]["numbers"]["rows"]
    assert rows["model"]["error"] == pytest.approx(knn_error(*parts))
    euclid = knn_error(task.X, task.y, task.X_test, task.y_test)
    assert rows["raw"]["error"] == pytest.approx(euclid)
    np.testing.assert_allclose(read_table(folder / "wine.csv", "grower").X, load_wine().data)


@pytest.mark.slow
def test_the_saved_model_can_be_proved_again(shown):
    folder, _ = shown
    arguments = ("certify", folder / "wine.safetensors", folder / "wine.csv", "-t", "grower")
    assert "and the claim holds" in run(*arguments).stdout


@pytest.mark.slow
@pytest.mark.slow
def test_the_text_shows_the_same_numbers(shown, tmp_path, monkeypatch):
    """It also fits 80 columns, and works without matplotlib."""
    _, answer = shown
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert "no figure: this needs matplotlib; install it with: pip install" in result.stderr
    assert sorted(path.name for path in Path("frobmetric-demo").glob("*.safetensors")) == MODELS
    assert not list(Path("frobmetric-demo").glob("*.png"))
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "Every distance is proven optimal" in result.stdout
    for name, task in answer["tasks"].items():
        line = re.search(rf"^{name} +(\d.*)$", result.stdout, re.MULTILINE)[1]
        percents = [float(text) for text in re.findall(r"([\d.]+) %", line)]
        errors = [100 * task["rows"][key]["error"] for key in ("raw", "scaled", "model")]
        np.testing.assert_allclose(percents, errors, atol=0.05)


@pytest.mark.slow
def test_the_readme_shows_the_same_numbers(shown):
    _, answer = shown
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\| ([\d.]+) % \| ([\d.]+) % \| \*\*([\d.]+) %\*\* \|$", readme, re.M)
    assert len(rows) == len(answer["tasks"])
    for row, task in zip(rows, answer["tasks"].values(), strict=True):
        errors = [100 * task["rows"][key]["error"] for key in ("raw", "scaled", "model")]
        np.testing.assert_allclose([float(text) for text in row], errors, atol=1.0)


def test_the_picture_of_the_readme_is_small():
    picture = Path(__file__).parents[3] / "docs" / "images" / "neighbors.png"
    assert 10_000 < picture.stat().st_size < 150_000
