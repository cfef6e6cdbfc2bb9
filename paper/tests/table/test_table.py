"""The machinery of tables: the choice of parameters, cells that are kept, limits and budgets."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from frobmetric_paper.rivals.processes import RivalFailed, RivalMissing, TimeLimitExceeded
from frobmetric_paper.table import measures as table_measures
from frobmetric_paper.table.cells import Cell, Store, Task, compute, task_of
from frobmetric_paper.table.choice import choose, first_values, most_fits
from frobmetric_paper.table.measures import MAIN, measure_map
from frobmetric_paper.table.runs import Run
from frobmetric_paper.table.spec import Published, TableSpec
from frobmetric_paper.table.summary import binomial_std, compare, is_far, summarise
from frobmetric_paper.table.table import Column, Parts, Watch, conduct

from frobmetric_paper.data.labelled import DatasetNotFound, Split


@dataclass(frozen=True, eq=False)
class FakeFit:
    """A map that multiplies, or the majority of the training labels."""

    L: np.ndarray
    answer: int = 0
    seconds: float = 0.5
    detail: dict = field(default_factory=lambda: {"gap": float("inf"), "told": "much"})

    def transform(self, X):
        return X @ self.L

    def predict(self, X):
        return np.full(len(X), self.answer)


@dataclass(frozen=True, eq=False)
class FakeRival:
    """Has the interface of `Rival`; weighs the second feature by `weight`, if that is searched."""

    name: str = "a"
    label: str = "A"
    paper_name: str = ""
    learns_from: str = "labels"
    answers: str = "map"
    features: str = "reduced"
    search: dict = field(default_factory=dict)
    seconds: float = 0.5
    instead: dict = field(default_factory=dict)  # number of the fit -> error
    fits: list = field(default_factory=list)

    def fit(self, X, y=None, *, triplets=None, parameters=None, limit=600.0, seed=0, threads=None):
        self.fits.append(
            {
                "X": X,
                "y": y,
                "triplets": triplets,
                "parameters": parameters,
                "seed": seed,
                "threads": threads,
            }
        )
        error = self.instead.get(len(self.fits) - 1)
        if error:
            raise error
        if self.seconds > limit:
            raise TimeLimitExceeded(limit)
        weight = (parameters or {}).get("weight", 1.0)
        L = np.diag([1.0, weight] + [1.0] * (X.shape[1] - 2))
        return FakeFit(L, answer=np.bincount(y).argmax(), seconds=self.seconds)


class Calls(Watch):
    """Keeps what it is told."""

    def __init__(self):
        self.begun, self.forecasts, self.ended = [], [], []

    def begin(self, task, label, forecast):
        self.begun.append((task.column, task.method, task.run))
        self.forecasts.append(forecast)

    def end(self, cell):
        self.ended.append(cell.outcome)


def make_split(seed=0, n=40, noise=30.0, d=2):
    """Two classes that the first feature tells apart; the second is loud noise."""
    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], n // 2)
    X = rng.normal(size=(n, d))
    X[:, 0] += 4 * y
    X[:, 1] *= noise
    a, b = n // 2, 3 * n // 4
    return Split("made-up", X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:])


def make_column(name="one", n_runs=2, refits=False, seed=0):
    return Column(
        name, name.title(), "made up", n_runs, lambda run: Parts(make_split(seed + run)), refits
    )


@pytest.fixture
def run():
    return Run.of(Parts(make_split()))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def done(columns, methods, store, limit=60.0, budget=1000.0, **more):
    """What is run, the results and whether that was interrupted."""
    calls = Calls()
    found = conduct(columns, methods, store, limit, budget, 1, calls, **more)
    return calls.begun, *found


def compute_one(rival, run, refits=False, limit=60.0):
    task = task_of(rival, make_column(refits=refits), 0, run, 1)
    return compute(rival, task, run, limit)


# The choice of parameters


WEIGHTS = (1.0, 3.0, 0.01, 0.001)


def test_the_smallest_validation_error_is_chosen_and_the_earlier_in_a_tie(run):
    rival = FakeRival(search={"weight": WEIGHTS})
    choice = choose(rival, run.reduced, None, 60.0, 7, 1)
    errors = [attempt.validation_error for attempt in choice.tries]
    assert [attempt.parameters["weight"] for attempt in choice.tries] == list(WEIGHTS)
    assert errors[2] == errors[3] == min(errors) < errors[0]
    assert choice.best.parameters == {"weight": 0.01}
    assert choice.fitted.L[1, 1] == 0.01
    assert {fit["seed"] for fit in rival.fits} == {7}


def test_parameters_are_chosen_one_after_the_other_and_no_fit_is_repeated(run):
    rival = FakeRival(search={"other": (1, 2), "weight": WEIGHTS})
    choice = choose(rival, run.reduced, None, 60.0, 0, 1)
    tried = [(p["other"], p["weight"]) for p in (each.parameters for each in choice.tries)]
    assert tried == [(1, 1.0), (2, 1.0), (1, 3.0), (1, 0.01), (1, 0.001)]
    assert len(tried) == most_fits(rival) == len(rival.fits)


def test_later_fits_may_fail_or_be_over_the_limit(run):
    instead = {0: RivalFailed("no\nmatrix"), 2: TimeLimitExceeded(60.0)}
    cell = compute_one(FakeRival(search={"weight": WEIGHTS}, instead=instead), run)
    assert [each["outcome"] for each in cell.tries] == ["failed", "done", "limit", "done"]
    assert cell.tries[0]["remark"] == "matrix"
    assert (cell.outcome, cell.parameters) == ("done", {"weight": 0.001})
    assert cell.remark == "over the limit: {'weight': 0.01}"
    assert cell.total_seconds == pytest.approx(61.0)


def test_a_first_fit_over_the_limit_ends_the_search(run):
    cell = compute_one(
        FakeRival(search={"weight": WEIGHTS}, instead={0: TimeLimitExceeded(5.0)}), run
    )
    assert [each["outcome"] for each in cell.tries] == ["limit"]
    assert (cell.outcome, cell.remark) == ("limit", "> 5 s")


@pytest.mark.parametrize(
    ("error", "outcome", "remark"),
    [
        (TimeLimitExceeded(5.0), "limit", "> 5 s"),
        (RivalFailed("x\ny"), "failed", "y"),
        (RivalMissing("get it"), "missing", "get it"),
    ],
)
def test_no_answer_at_all_is_an_outcome(error, outcome, remark, run):
    cell = compute_one(FakeRival(instead={0: error}), run, limit=5.0)
    assert (cell.outcome, cell.remark, cell.test_error) == (outcome, remark, None)


def test_a_search_ends_at_its_budget(run):
    rival = FakeRival(search={"weight": WEIGHTS})
    whole = choose(rival, run.reduced, None, 60.0, 0, 1)
    one = whole.tries[0].seconds
    part = choose(rival, run.reduced, None, 60.0, 0, 1, budget=1.5 * one)
    assert len(part.tries) == 2 < len(whole.tries)
    assert part.best is not None
    assert "ended after 2 fits" in part.why_ended
    assert whole.why_ended == ""


def test_several_names_are_chosen_together(run):
    pairs = ((1.0, 7), (0.001, 8), (0.001, 9))
    cell = compute_one(FakeRival(search={"weight other": pairs}), run)
    assert [attempt["parameters"] for attempt in cell.tries] == [
        {"weight": weight, "other": other} for weight, other in pairs
    ]
    assert cell.parameters == {"weight": 0.001, "other": 8}


def test_a_search_of_first_values_is_one_fit():
    rival = FakeRival(search=first_values({"C": (1, 2, 3), "k": (4, 5)}))
    assert rival.search == {"C": (1,), "k": (4,)}
    assert most_fits(rival) == 1


# What methods get


def test_every_method_gets_data_of_unit_scale(run):
    X = run.reduced.X_train
    assert np.square(X - X.mean(axis=0)).sum(axis=1).mean() == pytest.approx(1)
    raw = make_split()
    ratio = raw.X_test / run.reduced.X_test
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_only_those_of_all_features_get_them():
    parts = Parts(make_split(), make_split(d=5))
    run, widths = Run.of(parts), {}
    for features in ("all", "reduced"):
        rival = FakeRival(features=features)
        compute_one(rival, run)
        widths[features] = rival.fits[0]["X"].shape[1]
    assert widths == {"all": 5, "reduced": 2}
    assert run.sizes["dimension"] == 5
    assert run.sizes["dimension after PCA"] == 2
    assert Run.of(Parts(make_split())).split("all").X_train.shape[1] == 2


def test_triplets_are_mined_once_for_all_that_learn_from_them(store):
    methods = [
        FakeRival("a", learns_from="triplets", search={"weight": (1.0, 0.1)}),
        FakeRival("b", learns_from="triplets"),
        FakeRival("c"),
    ]
    done([make_column(n_runs=1)], methods, store)
    first, second, third = (method.fits for method in methods)
    assert first[0]["triplets"].n_triplets == 20 * 9
    assert first[0]["triplets"] is first[1]["triplets"] is second[0]["triplets"]
    assert third[0]["triplets"] is None


def test_learning_again_uses_the_validation_part(run):
    rival = FakeRival(search={"weight": WEIGHTS}, learns_from="triplets")
    once, again = compute_one(rival, run), compute_one(rival, run, refits=True)
    assert len(rival.fits[-1]["X"]) == 30
    assert rival.fits[-1]["parameters"] == {"weight": 0.01}
    assert rival.fits[-1]["triplets"].n_triplets == 30 * 9
    assert again.validation_error == once.validation_error
    assert again.rules[MAIN]["validation"] == once.validation_error
    assert again.total_seconds == once.total_seconds + 0.5


def test_learning_again_over_the_limit_is_said(run):
    cell = compute_one(FakeRival(instead={1: TimeLimitExceeded(60.0)}), run, refits=True)
    assert cell.outcome == "limit"
    assert cell.remark == "> 60 s when it learned from the validation part too"
    assert cell.total_seconds == pytest.approx(60.5)


# Measures


def test_a_cell_has_every_measure(run):
    cell = compute_one(FakeRival(search={"weight": (0.001,)}), run)
    assert cell.test_error == cell.rules[MAIN]["test"] == cell.best_rule_error
    assert cell.test_error == cell.wrong.count("1") / len(cell.wrong)
    assert len(cell.wrong) == 10
    assert cell.measures["ari"] == pytest.approx(1.0)
    assert cell.before["ari"] < 0.5
    assert cell.detail == {"gap": None}
    assert cell.machine["frobmetric"] == cell.task.version


def test_a_classifier_is_judged_by_its_prediction(run):
    cell = compute_one(FakeRival(answers="classes"), run)
    y = run.reduced.y_test
    assert cell.test_error == np.mean(y != 0)
    assert cell.wrong == "".join(str(int(each != 0)) for each in y)
    assert (cell.rules, cell.best_rule, cell.measures, cell.before) == ({}, "", {}, {})
    assert cell.best_rule_error is None


def test_the_best_rule_is_chosen_on_the_validation_part(run, monkeypatch):
    def last_feature(Z_train, y_train, Z):
        return (Z[:, 0] > Z_train[:, 0].mean()).astype(int)

    monkeypatch.setattr(
        table_measures, "RULES", {MAIN: table_measures.RULES[MAIN], "threshold": last_feature}
    )
    cell = compute_one(FakeRival(), run)
    assert set(cell.rules) == {MAIN, "threshold"}
    assert cell.best_rule == "threshold"
    assert cell.best_rule_error == cell.rules["threshold"]["test"] < cell.test_error


def test_recall_and_clusters_of_known_points():
    Z_train, y_train = np.zeros((12, 1)), np.array([0] * 12)
    found = measure_map(Z_train, y_train, np.array([[0.0], [0.1], [9.0]]), np.array([0, 0, 1]))
    assert found["recall_at_10"] == pytest.approx(2 / 3)
    assert found["ari"] == pytest.approx(1.0)
    few = measure_map(Z_train[:4], y_train[:4], np.zeros((3, 1)), np.array([0, 1, 1]))
    assert few["recall_at_10"] == pytest.approx(1 / 3)


# What is kept, and what is done again


def test_the_order_is_columns_then_methods_then_runs(store):
    begun, results, interrupted = done(
        [make_column("one"), make_column("two", n_runs=1)], [FakeRival("a"), FakeRival("b")], store
    )
    assert begun == [
        ("one", "a", 0),
        ("one", "a", 1),
        ("one", "b", 0),
        ("one", "b", 1),
        ("two", "a", 0),
        ("two", "b", 0),
    ]
    assert not interrupted
    assert [len(result.cells) for result in results] == [4, 2]
    assert [cell.task.run for cell in results[0].of("b")] == [0, 1]


def test_what_is_finished_is_not_done_again(store):
    work = [make_column()], [FakeRival(search={"weight": WEIGHTS})], store
    _, first, _ = done(*work)
    begun, again, _ = done(*work)
    assert begun == []
    assert again[0].cells == first[0].cells
    for file in store.folder.iterdir():
        json.loads(file.read_text(), parse_constant=pytest.fail)


def test_an_interrupted_run_gives_what_is_finished_and_goes_on(store):
    columns = [make_column("one"), make_column("two")]
    fails = FakeRival("b", instead={1: KeyboardInterrupt()})
    begun, results, interrupted = done(columns, [FakeRival("a"), fails], store)
    assert interrupted
    assert begun[-1] == ("one", "b", 1)
    assert [cell.outcome for cell in results[0].cells] == ["done", "done", "done", "skipped"]
    assert results[0].cells[-1].remark == "not run yet"
    begun, results, interrupted = done(columns, [FakeRival("a"), FakeRival("b")], store)
    assert begun[:2] == [("one", "b", 1), ("two", "a", 0)]
    assert not interrupted
    assert all(cell.is_done for result in results for cell in result.cells)


def test_ctrl_c_while_data_are_read(store):
    def load(run):
        raise KeyboardInterrupt

    column = replace(make_column("one"), load=load)
    begun, results, interrupted = done([column, make_column("two")], [FakeRival()], store)
    assert (begun, interrupted) == ([], True)
    assert "interrupted" in results[0].reason
    assert results[1].reason == "not run yet"


@pytest.mark.parametrize("change", ["data", "search", "refits"])
def test_another_task_is_done_anew(change, store):
    column, rival = make_column(n_runs=1), FakeRival()
    done([column], [rival], store)
    if change == "data":
        column = make_column(n_runs=1, seed=5)
    elif change == "search":
        rival = FakeRival(search={"weight": (1.0,)})
    else:
        column = replace(column, refits=True)
    assert len(done([column], [rival], store)[0]) == 1


def test_a_search_that_was_cut_short_is_done_anew_with_more_time(store):
    def rival():
        return FakeRival(search={"weight": WEIGHTS}, instead={2: TimeLimitExceeded(5.0)})

    column = make_column(n_runs=1)
    done([column], [rival()], store, limit=5.0)
    assert done([column], [rival()], store, limit=5.0)[0] == []
    whole = FakeRival(search={"weight": WEIGHTS})
    _, results, _ = done([column], [whole], store, limit=50.0)
    assert len(whole.fits) == 4
    assert results[0].cells[0].remark == ""


def test_a_method_over_the_limit_in_its_first_run_is_not_tried_again(store):
    methods = [FakeRival("a", seconds=9.0), FakeRival("b")]
    begun, results, _ = done([make_column(n_runs=3)], methods, store, limit=5.0)
    assert begun == [("one", "a", 0), ("one", "b", 0), ("one", "b", 1), ("one", "b", 2)]
    assert [cell.outcome for cell in results[0].of("a")] == ["limit", "skipped", "skipped"]
    assert results[0].of("a")[1].remark == "> 5 s in the first run"


def test_a_failure_is_tried_again_in_the_next_run(store):
    rival = FakeRival(instead={0: RivalFailed("by chance")})
    _, results, _ = done([make_column()], [rival], store)
    assert [cell.outcome for cell in results[0].cells] == ["failed", "done"]


def test_the_budget_ends_the_runs_of_a_method_on_a_data_set(store):
    columns = [make_column("one", n_runs=4), make_column("two", n_runs=1)]
    begun, results, _ = done(columns, [FakeRival(seconds=4.0)], store, budget=7.0)
    assert [number for name, _, number in begun if name == "one"] == [0, 1]
    assert ("two", "a", 0) in begun
    last = results[0].cells[-1]
    assert (last.outcome, last.remark) == ("skipped", "the budget of 7 s was used up by 2 runs")
    more, results, _ = done(columns, [FakeRival(seconds=4.0)], store, budget=70.0)
    assert more == [("one", "a", 2), ("one", "a", 3)]


def test_only_what_is_chosen_is_done_and_the_rest_found(store):
    columns = [make_column("one"), make_column("two"), make_column("three")]
    methods = [FakeRival("a"), FakeRival("b")]
    done(columns[:1], methods[:1], store)
    begun, results, _ = done(
        columns, methods, store, chosen=lambda column, method: (column, method) == ("two", "b")
    )
    assert begun == [("two", "b", 0), ("two", "b", 1)]
    assert [result.column.name for result in results] == ["one", "two"]
    assert [cell.outcome for cell in results[0].cells] == ["done"] * 2 + ["skipped"] * 2


def test_data_that_cannot_be_had_are_a_reason(store):
    def load(run):
        raise DatasetNotFound("the file is not there")

    column = replace(make_column("one"), load=load)
    begun, results, _ = done([column, make_column("two", n_runs=1)], [FakeRival()], store)
    assert (results[0].cells, results[0].reason) == ([], "the file is not there")
    assert begun == [("two", "a", 0)]


def test_the_forecast_says_what_it_knows(store):
    calls, columns = Calls(), [make_column("one", n_runs=3), make_column("two", n_runs=1)]
    rival = FakeRival(seconds=2.0, search={"weight": (1.0, 2.0)})
    conduct(columns, [rival], store, 10.0, 1000.0, 1, calls)
    first, second, third, last = calls.forecasts
    assert [each.done for each in calls.forecasts] == [0, 1, 2, 3]
    assert {each.all for each in calls.forecasts} == {4}
    assert (first.is_known, first.here, first.whole) == (False, 60.0, 80.0)
    assert (second.is_known, second.here, second.whole) == (True, 8.0, 28.0)
    assert (third.here, last.here, last.is_known) == (4.0, 20.0, False)


def test_the_forecast_knows_the_budget(store):
    calls = Calls()
    conduct([make_column(n_runs=9)], [FakeRival(seconds=2.0)], store, 10.0, 5.0, 1, calls)
    assert [each.here for each in calls.forecasts] == [15.0, 5.0, 3.0]


# Numbers of a table


def make_cell(run, wrong, **more):
    """A finished cell from a string of digits."""
    task = Task("one", 9, run, "a", "{}", False, 1, f"data {run}")
    error = wrong.count("1") / len(wrong)
    known = {
        "test_error": error,
        "validation_error": error,
        "wrong": wrong,
        "seconds": 2.0,
        "total_seconds": 5.0,
        "parameters": {"C": 1},
    }
    return Cell(task, "A", "done", 60.0, **known | more)


def test_a_summary_is_over_finished_runs():
    cells = [make_cell(0, "1000"), make_cell(1, "1110"), make_cell(2, "0000", parameters={"C": 2})]
    ended = replace(make_cell(3, "1"), outcome="limit", remark="> 60 s", total_seconds=60.0)
    found = summarise([*cells, ended])
    assert (found.runs, found.asked, found.outcome, found.remark) == (3, 4, "limit", "> 60 s")
    assert found.error == pytest.approx(100 / 3)
    assert found.std == found.spread == pytest.approx(np.std([25, 75, 0], ddof=1))
    assert (found.seconds, found.total_seconds) == (2.0, 75.0)
    assert (found.parameters, found.parameters_runs) == ({"C": 1}, 2)
    assert found.recall is None


def test_a_single_run_has_the_spread_of_its_samples():
    found = summarise([make_cell(0, "1000" * 25)])
    assert found.std is None
    assert found.spread == binomial_std(25.0, 100) == pytest.approx(np.sqrt(25 * 75 / 100))


def test_nothing_finished_has_no_numbers():
    found = summarise([replace(make_cell(0, "1"), outcome="missing", remark="get it")])
    assert (found.runs, found.error, found.outcome, found.remark) == (0, None, "missing", "get it")


@pytest.mark.parametrize(
    ("published", "far"),
    [
        (Published(30.0, 3.0), False),
        (Published(32.0, 3.0), True),
        (Published(32.0, 4.0), False),
        (Published(25.0 + 10.5), True),
        (Published(25.0 + 8.0), False),
        (None, False),
        (Published(seconds=3.0), False),
    ],
)
def test_a_difference_is_large_beyond_two_standard_deviations(published, far):
    """Ours is 25 % of 1000 samples, whose standard deviation is 1.4; of 100 it would be 4.3."""
    assert is_far(summarise([make_cell(0, "1000" * 250)]), published, 100) == far


def test_runs_are_compared_in_pairs():
    mine = [make_cell(0, "1100"), make_cell(1, "1110"), make_cell(2, "1111"), make_cell(4, "1111")]
    base = [make_cell(0, "1000"), make_cell(1, "1100"), make_cell(2, "1000"), make_cell(3, "0000")]
    found = compare(mine, base)
    assert (found.n, found.over) == (3, "runs")
    assert found.mean == pytest.approx(125 / 3)
    shared = 4 / mine[0].task.n  # of test samples to training samples
    half = 4.302653 * np.std([25, 25, 75], ddof=1) * np.sqrt(1 / 3 + shared)
    assert found.low == pytest.approx(found.mean - half)
    assert found.high == pytest.approx(found.mean + half)
    assert not found.is_clear


def test_a_single_run_is_compared_by_samples():
    mine, base = [make_cell(0, "1100" * 50)], [make_cell(0, "1010" * 50)]
    found = compare(mine, base)
    assert (found.mean, found.n, found.over) == (0.0, 200, "samples")
    steps = np.tile([0, 100, -100, 0], 50)
    assert found.high == pytest.approx(1.959964 * steps.std(ddof=1) / np.sqrt(200))
    better = compare([make_cell(0, "0000" * 50)], base)
    assert better.is_clear
    assert better.high < 0


def test_other_data_are_not_compared():
    other = make_cell(0, "1000")
    other = replace(other, task=replace(other.task, data="other"))
    assert compare([make_cell(0, "1100")], [other]) is None


def test_explanations_go_from_special_to_general():
    said = {("a", "one"): "both", "a": "method", "two": "column"}
    spec = TableSpec("t", "T", (), (), (), {"A": {"one": Published(1.0)}}, said)
    assert spec.explain("a", "one") == "both method"
    assert spec.explain("a", "two") == "method column"
    assert spec.explain("b", "one") == ""
    assert spec.published(FakeRival("a", paper_name="A"), "one").error == 1.0
    assert spec.published(FakeRival("A"), "one").error == 1.0
    assert spec.published(FakeRival("a"), "one") is None
