"""The experiments in their small versions; what is finished is kept, and nothing is done twice."""

import json
from dataclasses import replace

import numpy as np
import pytest
from frobmetric_paper.embedders import Embedded, Embedder
from frobmetric_paper.mvu.cells import SPREADS, Store, at_unit_scale, measure
from frobmetric_paper.mvu.experiment import (
    EXPERIMENTS,
    QUICK,
    Points,
    Scale,
    Watch,
    collect,
    conduct,
    faces,
    plan,
    swiss_roll,
    teapots,
    time_against_n,
)
from frobmetric_paper.rivals.processes import RivalFailed, RivalMissing, TimeLimitExceeded

from frobmetric.manifold import neighbor_graph
from frobmetric_paper.data.labelled import DatasetNotFound
from frobmetric_paper.mvu import paper as mvu_paper


class Calls(Watch):
    """Keeps what it is told."""

    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, task, label):
        self.begun.append((task.method, task.n))

    def end(self, cell):
        self.ended.append((cell.task.method, cell.outcome))


class Projection:
    """Takes the first coordinates; may fail instead, or need `seconds`."""

    def __init__(self, error=None, seconds=None):
        self.error, self.seconds = error, seconds or (lambda n: 0.5)

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        if self.error:
            raise self.error
        if self.seconds(len(X)) > limit:
            raise TimeLimitExceeded(limit)
        return Embedded(X[:, :n_components], self.seconds(len(X)))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def small(*methods, sizes=(30,), seed=0):
    """An experiment with these methods, named a, b, ..."""
    rng = np.random.default_rng(seed)
    sets = [Points(rng.normal(size=(n, 3)), np.arange(n), "number") for n in sizes]
    named = tuple(
        Embedder(name, name, method) for name, method in zip("abc", methods, strict=False)
    )
    return replace(swiss_roll(), name="small", embedders=named, points=lambda: sets)


def done(experiment, store, limit=60.0, threads=1):
    """What is run, as (method, number of points), and the result."""
    calls = Calls()
    result = conduct(experiment, store, limit, threads, calls)
    return calls.begun, result


# What is kept, and what is done again


def test_what_is_finished_is_not_done_again(store):
    experiment = small(Projection(), Projection())
    begun, first = done(experiment, store)
    assert begun == [("a", 30), ("b", 30)]
    begun, again = done(experiment, store)
    assert begun == []
    assert again.cells == first.cells
    assert [cell.is_done for cell in again.cells] == [True, True]
    (points,) = experiment.points()
    np.testing.assert_array_equal(again.cells[0].points, points.X[:, :2])


def test_an_interrupted_run_goes_on_where_it_was(store):
    whole = small(Projection(), Projection(), Projection())
    interrupted = small(Projection(), Projection(KeyboardInterrupt()), Projection())
    with pytest.raises(KeyboardInterrupt):
        done(interrupted, store)
    begun, result = done(whole, store)
    assert begun == [("b", 30), ("c", 30)]
    assert all(cell.is_done for cell in result.cells)


def test_cells_are_json_without_nan(store):
    done(small(Projection()), store)
    (file,) = store.folder.iterdir()
    found = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert found["outcome"] == "done"
    assert found["machine"]["frobmetric"] == found["task"]["version"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"task": {}}', '{"task": {"n": 3}, "x": 1}'])
def test_a_damaged_file_is_made_anew(damage, store):
    experiment = small(Projection())
    done(experiment, store)
    (file,) = store.folder.iterdir()
    file.write_text(damage)
    assert done(experiment, store)[0] == [("a", 30)]
    assert json.loads(file.read_text())["outcome"] == "done"


@pytest.mark.parametrize("change", ["points", "n_neighbors", "threads"])
def test_another_task_is_done_anew(change, store):
    experiment, threads = small(Projection()), 1
    done(experiment, store)
    if change == "points":
        experiment = small(Projection(), seed=1)
    elif change == "n_neighbors":
        experiment = replace(experiment, n_neighbors=7)
    else:
        threads = 2
    assert done(experiment, store, threads=threads)[0] == [("a", 30)]


def test_a_limit_is_tried_again_only_with_more_time(store):
    experiment = small(Projection(seconds=lambda n: 5.0))
    _, result = done(experiment, store, limit=2)
    assert (result.cells[0].outcome, result.cells[0].remark) == ("limit", "> 2 s")
    assert done(experiment, store, limit=2)[0] == []
    assert done(experiment, store, limit=1)[0] == []
    begun, result = done(experiment, store, limit=9)
    assert begun == [("a", 30)]
    assert result.cells[0].is_done
    assert done(experiment, store, limit=1)[1].cells == result.cells  # an answer is an answer


@pytest.mark.parametrize(
    ("error", "outcome"), [(RivalMissing("no a"), "missing"), (RivalFailed("1\n2\nwhy"), "failed")]
)
def test_what_cannot_run_is_said_and_tried_next_time(error, outcome, store):
    _, result = done(small(Projection(error), Projection()), store)
    assert [cell.outcome for cell in result.cells] == [outcome, "done"]
    assert result.cells[0].remark == str(error).splitlines()[-1]
    assert done(small(Projection(), Projection()), store)[0] == [("a", 30)]


def test_a_method_over_the_limit_is_not_tried_on_more_points(store):
    slow = Projection(seconds=lambda n: n / 10)
    begun, result = done(small(slow, Projection(), sizes=(30, 50, 60)), store, limit=4)
    assert begun == [("a", 30), ("b", 30), ("a", 50), ("b", 50), ("b", 60)]
    last = result.cells[-2]
    assert (last.task.n, last.outcome, last.remark) == (60, "skipped", "> 4 s at n = 50")


def test_collecting_runs_nothing(store):
    experiment = small(Projection(), Projection(RivalMissing("no b")))
    done(experiment, store)
    found = collect(small(Projection(pytest.fail), Projection(pytest.fail)), store, 60.0, 1)
    assert [cell.outcome for cell in found.cells] == ["done", "skipped"]
    assert found.cells[1].remark == "not run yet"


def test_points_that_cannot_be_had_are_a_reason(store):
    def points():
        raise DatasetNotFound("the file is not there")

    begun, result = done(replace(small(Projection()), points=points), store)
    assert (begun, result.cells, result.reason) == ([], [], "the file is not there")


def test_a_graph_in_parts_is_a_reason(store):
    X = np.vstack([np.eye(12), 90 + np.eye(12)])
    points = Points(X, np.arange(24), "number")
    _, result = done(replace(small(Projection()), points=lambda: [points]), store)
    assert "2 components" in result.reason


# Measures


def test_measures_do_not_depend_on_position_and_unit(rng):
    X = rng.normal(size=(50, 3))
    one, other = measure(X, X[:, :2], 6), measure(X, 1000 * X[:, :2] + 7, 6)
    assert one == pytest.approx(other)
    assert set(one) == {*SPREADS, "area", "mean_b_nx"}
    assert measure(X, X, 6)["area"] == pytest.approx(1)
    assert np.square(at_unit_scale(5 + X)).sum(axis=1).mean() == pytest.approx(1)


def test_points_that_all_coincide_have_no_scale():
    assert not at_unit_scale(np.ones((5, 2))).any()


def test_the_scale_of_a_square():
    X = np.array([[0.0, 0], [0, 2], [2, 0], [2, 2]])
    scale = Scale.of(X, 2)
    assert (scale.n_samples, scale.n_features, scale.n_edges) == (4, 2, 4)
    assert scale.diameter == pytest.approx(np.sqrt(8))
    assert scale.mean_squared_edge == pytest.approx(4)
    assert scale.variance == pytest.approx(8)


# The experiments


def check(result):
    """Every method answered, but for CSDP where it is not installed; ours is certified."""
    assert result.reason == ""
    for cell in result.cells:
        if cell.outcome == "missing":
            assert "csdp" in cell.task.method
            continue
        assert cell.outcome == "done", cell.remark
        assert cell.points.shape == (cell.task.n, 2)
        assert np.isfinite([*cell.measures.values(), cell.seconds]).all()
        if cell.task.method.startswith("ours"):
            assert cell.remark == ""
    return {(cell.task.n, cell.task.method): cell for cell in result.cells if cell.is_done}


def test_the_swiss_roll_in_a_small_version(store):
    _, result = done(swiss_roll(n=50, sigma=1e5), store)
    cells = check(result)
    exact, perturbed = cells[50, "ours_exact"], cells[50, "ours_1e5"]
    assert result.scales[0].variance < perturbed.objective <= exact.objective * (1 + 1e-6)
    if (50, "csdp_well_posed") in cells:
        assert cells[50, "csdp_well_posed"].objective == pytest.approx(exact.objective, rel=1e-4)
        assert cells[50, "csdp_original"].objective <= exact.objective * (1 + 1e-4)


def test_time_against_n_in_a_small_version(store):
    cells = check(done(time_against_n(sizes=(30, 20)), store)[1])
    assert sorted({n for n, _ in cells}) == [20, 30]
    assert {method for _, method in cells} >= {"ours_1e2", "ours_exact"}


@pytest.mark.parametrize(
    ("experiment", "n", "shape"),
    [(lambda f: teapots(4, folder=f), 25, (38, 50)), (lambda f: faces(40, folder=f), 50, (28, 20))],
    ids=["teapots", "faces"],
)
def test_pictures_in_a_small_version(experiment, n, shape, store, data_folder):
    _, result = done(experiment(data_folder), store)
    if result.reason:
        pytest.skip(result.reason)
    cells = check(result)
    assert cells[n, "isomap"].task.n_neighbors == result.experiment.n_neighbors
    (points,) = result.points
    assert points.picture_shape == shape
    assert 0 <= points.X.min() < points.X.max() <= 1


def test_the_settings_are_the_papers():
    found = {name: plan(name) for name in EXPERIMENTS}
    assert {name: e.n_neighbors for name, e in found.items()} == {
        "swiss_roll": 6,
        "teapots": 6,
        "teapots_3": 3,
        "faces": 5,
        "time": 6,
    }
    assert {name: e.sigma for name, e in found.items()} == {
        "swiss_roll": 1e5,
        "teapots": 1e10,
        "teapots_3": 1e10,
        "faces": 1e10,
        "time": 1e2,
    }
    assert len(found["swiss_roll"].points()[0].X) == 500
    assert set(QUICK) == set(EXPERIMENTS) == set(mvu_paper.WORDS)


def test_every_method_of_the_paper_is_there():
    published = {
        name for table in mvu_paper.SPREAD.values() for row in table.values() for name in row
    }
    for name in ("swiss_roll", "teapots"):
        assert published == set(plan(name).paper_names.values()) - {""}


def test_pictures_are_looked_for_in_the_folder(tmp_path, store):
    for name in ("teapots", "faces"):
        result = conduct(plan(name, folder=tmp_path), store, 60.0, 1)
        assert str(tmp_path) in result.reason
        assert "FROBMETRIC_DATA" in result.reason


def test_every_roll_of_the_figure_of_time_is_connected():
    for points in plan("time").points():
        assert neighbor_graph(points.X, 6).components()[0] == 1
