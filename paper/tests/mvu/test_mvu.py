"""The experiments with unfolding in their small versions, their points and measures."""

from dataclasses import replace

import numpy as np
import pytest

from frobmetric.manifold import neighbor_graph
from frobmetric_paper.baselines import Embedded, EmbeddingBaseline, TimeLimitError
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.harness.run import ProgressListener, Runner
from frobmetric_paper.harness.task import Store
from frobmetric_paper.mvu import experiment as mvu
from frobmetric_paper.mvu.experiment import Part, Points, Scale, UnfoldingExperiment, measure, plan
from frobmetric_paper.mvu.report import PAPER
from frobmetric_paper.mvu.spread import EVENNESS, at_unit_scale


class Calls(ProgressListener):
    def __init__(self):
        self.begun = []

    def begin(self, task, label, n_done, n_cells):
        self.begun.append((task.method, task.n))


class Projection:
    """Takes the first coordinates; may fail instead, or need `seconds`."""

    def __init__(self, error=None, seconds=None):
        self.error, self.seconds = error, seconds or (lambda n: 0.5)

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        if self.error:
            raise self.error
        if self.seconds(len(X)) > limit:
            raise TimeLimitError(limit)
        return Embedded(X[:, :n_components], self.seconds(len(X)))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells", mvu.Cell)


def small(*methods, sizes=(30,), seed=0):
    """A part with these methods, named a, b, ..."""
    rng = np.random.default_rng(seed)
    sets = [Points(rng.normal(size=(n, 3)), np.arange(n), "number") for n in sizes]
    named = tuple(
        EmbeddingBaseline(name=name, method=method)
        for name, method in zip("abc", methods, strict=False)
    )
    return Part("small", 6, 1e5, named, lambda: sets, len(sizes))


def done(part, store, limit=60.0):
    """What is run, as (method, number of points), and the result of the part."""
    runner = Runner(store, limit, listener=Calls())
    (result,) = UnfoldingExperiment((part,)).conduct(runner).results
    return runner.listener.begun, result


def by_name(**more):
    return {part.name: part for part in plan(**more)}


# What is run


def test_methods_are_run_on_all_points_and_kept(store):
    part = small(Projection(), Projection())
    begun, first = done(part, store)
    assert begun == [("a", 30), ("b", 30)]
    begun, again = done(part, store)
    assert begun == []
    assert again.cells == first.cells
    (points,) = part.points()
    np.testing.assert_array_equal(again.cells[0].points, points.X[:, :2])
    assert done(replace(part, n_neighbors=7), store)[0] == [("a", 30), ("b", 30)]
    assert done(small(Projection(), seed=1), store)[0] == [("a", 30)]


def test_a_method_over_the_limit_is_not_tried_on_more_points(store):
    slow = Projection(seconds=lambda n: n / 10)
    begun, result = done(small(slow, Projection(), sizes=(30, 50, 60)), store, limit=4)
    assert begun == [("a", 30), ("b", 30), ("a", 50), ("b", 50), ("b", 60)]
    last = result.cells[-2]
    assert (last.task.n, last.outcome, last.remark) == (60, "skipped", "> 4 s at n = 50")


def test_parts_that_are_not_chosen_are_found_only(store):
    first, second = (replace(small(Projection()), name=name) for name in ("one", "two"))
    done(first, store)
    runner = Runner(store, 60.0, listener=Calls())
    whole = UnfoldingExperiment((first, second, replace(first, name="three")))
    results = whole.conduct(runner, only=["two"]).results
    assert [result.part.name for result in results] == ["one", "two"]
    assert all(cell.is_done for result in results for cell in result.cells)
    assert runner.listener.begun == [("a", 30)]


def test_ctrl_c_while_points_are_read(store):
    def points():
        raise KeyboardInterrupt

    runner = Runner(store, 60.0)
    parts = replace(small(Projection()), name="one", points=points), small(Projection())
    one, other = UnfoldingExperiment(parts).conduct(runner).results
    assert runner.interrupted
    assert "interrupted" in one.reason
    assert other.reason == "not run yet"


def test_points_that_cannot_be_had_are_a_reason(store):
    def points():
        raise DatasetNotFoundError("the file is not there")

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
    assert set(one) == {*EVENNESS, "area", "mean_b_nx"}
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


@pytest.mark.slow
def test_the_swiss_roll_in_a_small_version(store):
    part = replace(by_name()["swiss_roll"], points=lambda: mvu.rolls(50))
    _, result = done(part, store)
    cells = check(result)
    exact, perturbed = cells[50, "ours_exact"], cells[50, "ours_1e5"]
    assert result.scales[0].variance < perturbed.objective <= exact.objective * (1 + 1e-6)
    assert 0 < perturbed.measures["perturbation"] < 1
    assert "perturbation" not in exact.measures
    assert perturbed.is_certified
    if (50, "csdp_well_posed") in cells:
        assert cells[50, "csdp_well_posed"].objective == pytest.approx(exact.objective, rel=1e-4)
        assert cells[50, "csdp_original"].objective <= exact.objective * (1 + 1e-4)


@pytest.mark.slow
def test_time_against_n_in_a_small_version(store):
    part = replace(by_name()["time"], points=lambda: mvu.rolls(30, 20))
    cells = check(done(part, store)[1])
    assert sorted({n for n, _ in cells}) == [20, 30]
    assert {method for _, method in cells} >= {"ours_1e2", "ours_exact"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "shape"), [("teapots", 25, (38, 50)), ("faces", 66, (28, 20))]
)
def test_pictures_in_a_small_version(name, n, shape, store, data_folder):
    part = by_name(quick=True, data=data_folder, show_pictures=True)[name]
    _, result = done(part, store)
    if result.reason:
        pytest.skip(result.reason)
    cells = check(result)
    assert cells[n, "isomap"].task.n_neighbors == result.part.n_neighbors
    (points,) = result.points
    assert points.picture_shape == shape
    assert 0 <= points.X.min() < points.X.max() <= 1


def test_the_size_of_the_frobenius_term():
    assert mvu.perturbation([3.0, 1.0], 10.0) == pytest.approx((9 + 1) / (2 * 10 * 4))


def test_the_settings_are_the_papers():
    parts = by_name()
    assert {name: (part.n_neighbors, part.sigma) for name, part in parts.items()} == {
        "swiss_roll": (6, 1e5),
        "teapots": (6, 1e10),
        "teapots_3": (3, 1e10),
        "faces": (5, 1e10),
        "time": (6, 1e2),
    }
    assert len(parts["swiss_roll"].points()[0].X) == 500
    assert set(by_name(quick=True)) == set(parts)
    page = mvu.experiment().template.read_text(encoding="utf-8")
    assert all(f"${name}\n" in page for name in parts)


def test_every_method_of_the_paper_is_there():
    published = {method for _, method in PAPER}
    for name in ("swiss_roll", "teapots"):
        assert published == set(by_name()[name].paper_names.values()) - {""}


def test_pictures_are_looked_for_in_the_folder(tmp_path, store):
    for name in ("teapots", "faces"):
        _, result = done(by_name(data=tmp_path)[name], store)
        assert str(tmp_path) in result.reason
        assert "FROBMETRIC_DATA" in result.reason


def test_every_roll_of_the_figure_of_time_is_connected():
    for points in by_name()["time"].points():
        assert neighbor_graph(points.X, 6).components()[0] == 1
