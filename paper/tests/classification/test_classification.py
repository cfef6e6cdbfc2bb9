"""Tables of methods and data sets: choice of parameters, measures, limits, budgets, summaries."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from frobmetric_paper.baselines import ProgramFailedError, ProgramMissingError, TimeLimitError
from frobmetric_paper.classification import experiment as classification
from frobmetric_paper.classification import measure
from frobmetric_paper.classification.experiment import (
    Column,
    ColumnResult,
    Published,
    TableExperiment,
)
from frobmetric_paper.classification.findings import findings
from frobmetric_paper.classification.measure import MAIN, Cell, Run, Task, make_task, measure_map
from frobmetric_paper.classification.report import Summary, TableResults, compare, is_far
from frobmetric_paper.data import DatasetNotFoundError
from frobmetric_paper.data.labelled import Split
from frobmetric_paper.harness.run import ProgressListener, Runner
from frobmetric_paper.harness.summary import binomial_std
from frobmetric_paper.harness.task import Store


@dataclass(frozen=True, eq=False)
class FakeFit:
    """A map that multiplies, or the majority of the training labels."""

    L: np.ndarray
    predictions: dict
    seconds: float = 0.5
    detail: dict = field(default_factory=lambda: {"gap": float("inf"), "stderr": "much"})

    def transform(self, X):
        return X @ self.L


@dataclass(frozen=True, eq=False)
class FakeBaseline:
    """A `MetricBaseline` that weighs the second feature by `weight`, if that is searched."""

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

    def fit(self, X, y=None, *, triplets, queries, parameters=None, limit, seed, threads):
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
            raise TimeLimitError(limit)
        weight = (parameters or {}).get("weight", 1.0)
        L = np.diag([1.0, weight] + [1.0] * (X.shape[1] - 2))
        most = np.bincount(y).argmax()
        labels = {name: np.full(len(Z), most) for name, Z in queries.items()}
        return FakeFit(L, labels, self.seconds)


class Calls(ProgressListener):
    def __init__(self):
        self.begun = []

    def begin(self, task, label, n_done, n_cells):
        self.begun.append((task.column, task.method, task.run))


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
    return Column(name, name.title(), n_runs, lambda run: (make_split(seed + run), None), refits)


@pytest.fixture
def run():
    return Run.from_splits(make_split())


@pytest.fixture
def conduct(tmp_path, monkeypatch):
    """Runs a table; gives what was begun, the columns and whether that was interrupted."""

    def conduct(columns, methods, limit=60.0, budget=1000.0, only=(), names=()):
        known = {method.name: method for method in methods}
        monkeypatch.setattr(classification, "METRIC", known)
        monkeypatch.setattr(classification, "TABLE", tuple(known))
        order = tuple(column.name for column in columns)
        table = TableExperiment("made-up", tmp_path, tuple(columns), order)
        runner = Runner(Store(tmp_path / "cells", Cell), limit, listener=Calls())
        results = table.conduct(runner, only=only, methods=names, budget=budget)
        return runner.listener.begun, results.columns, runner.interrupted

    return conduct


def compute(baseline, run, refits=False, limit=60.0, budget=1000.0):
    task = make_task(baseline, make_column(refits=refits), 0, run, 1)
    known = {"task": task, "label": "A", "limit": limit, "outcome": "done"}
    return Cell(**known | measure.measure_run(baseline, task, run, limit, budget))


# The choice of parameters


WEIGHTS = (1.0, 3.0, 0.01, 0.001)


def test_the_smallest_validation_error_is_chosen_and_the_earlier_in_a_tie(run):
    baseline = FakeBaseline(search={"weight": WEIGHTS})
    cell = compute(baseline, run)
    errors = [attempt["validation_error"] for attempt in cell.tries]
    assert [attempt["parameters"]["weight"] for attempt in cell.tries] == list(WEIGHTS)
    assert errors[2] == errors[3] == min(errors) == cell.validation_error < errors[0]
    assert cell.parameters == {"weight": 0.01}
    assert {fit["seed"] for fit in baseline.fits} == {0}


def test_later_fits_may_fail_or_be_over_the_limit(run):
    instead = {0: ProgramFailedError("no\nmatrix"), 2: TimeLimitError(60.0)}
    cell = compute(FakeBaseline(search={"weight": WEIGHTS}, instead=instead), run)
    assert [each["outcome"] for each in cell.tries] == ["failed", "done", "limit", "done"]
    assert cell.tries[0]["remark"] == "matrix"
    assert (cell.outcome, cell.parameters) == ("done", {"weight": 0.001})
    assert cell.remark == "over the limit: weight = 0.01"
    assert cell.total_seconds == pytest.approx(61.0)


def test_a_first_fit_over_the_limit_ends_the_search(run):
    cell = compute(FakeBaseline(search={"weight": WEIGHTS}, instead={0: TimeLimitError(5.0)}), run)
    assert [each["outcome"] for each in cell.tries] == ["limit"]
    assert (cell.outcome, cell.remark) == ("limit", "> 5 s")


@pytest.mark.parametrize(
    ("error", "outcome", "remark"),
    [
        (TimeLimitError(5.0), "limit", "> 5 s"),
        (ProgramFailedError("x\ny"), "failed", "y"),
        (ProgramMissingError("get it"), "missing", "get it"),
    ],
)
def test_no_answer_at_all_is_an_outcome(error, outcome, remark, conduct):
    _, (column,), _ = conduct(
        [make_column(n_runs=1)], [FakeBaseline(instead={0: error})], limit=5.0
    )
    (cell,) = column.cells
    assert (cell.outcome, cell.remark, cell.test_error) == (outcome, remark, None)


def test_a_search_ends_at_its_budget(run):
    baseline = FakeBaseline(search={"weight": WEIGHTS})
    part = compute(baseline, run, budget=0.75)
    assert len(part.tries) == 2
    assert part.is_done
    assert "ended after 2 fits" in part.remark
    assert compute(baseline, run).remark == ""


# What methods get


def test_every_method_gets_data_of_unit_scale(run):
    X = run.reduced.X_train
    assert np.square(X - X.mean(axis=0)).sum(axis=1).mean() == pytest.approx(1)
    raw = make_split()
    ratio = raw.X_test / run.reduced.X_test
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_only_those_of_all_features_get_them():
    run, widths = Run.from_splits(make_split(), make_split(d=5)), {}
    for features in ("all", "reduced"):
        baseline = FakeBaseline(features=features)
        compute(baseline, run)
        widths[features] = baseline.fits[0]["X"].shape[1]
    assert widths == {"all": 5, "reduced": 2}
    assert run.sizes["dimension"] == 5
    assert run.sizes["dimension after PCA"] == 2
    whole = Run.from_splits(make_split()).split(FakeBaseline(features="all"))
    assert whole.X_train.shape[1] == 2


def test_triplets_are_mined_once_for_all_that_learn_from_them(conduct):
    methods = [
        FakeBaseline("a", learns_from="triplets", search={"weight": (1.0, 0.1)}),
        FakeBaseline("b", learns_from="triplets"),
        FakeBaseline("c"),
    ]
    conduct([make_column(n_runs=1)], methods)
    first, second, third = (method.fits for method in methods)
    assert first[0]["triplets"].n_triplets == 20 * 9
    assert first[0]["triplets"] is first[1]["triplets"] is second[0]["triplets"]
    assert third[0]["triplets"] is None


def test_learning_again_uses_the_validation_part(run):
    baseline = FakeBaseline(search={"weight": WEIGHTS}, learns_from="triplets")
    once, again = compute(baseline, run), compute(baseline, run, refits=True)
    assert len(baseline.fits[-1]["X"]) == 30
    assert baseline.fits[-1]["parameters"] == {"weight": 0.01}
    assert baseline.fits[-1]["triplets"].n_triplets == 30 * 9
    assert again.validation_error == once.validation_error
    assert again.rules[MAIN]["validation"] == once.validation_error
    assert again.total_seconds == once.total_seconds + 0.5


def test_learning_again_over_the_limit_is_said(run):
    cell = compute(FakeBaseline(instead={1: TimeLimitError(60.0)}), run, refits=True)
    assert cell.outcome == "limit"
    assert cell.remark == "> 60 s when it learned from the validation part too"
    assert cell.total_seconds == pytest.approx(60.5)


# Measures


def test_a_cell_has_every_measure(run):
    cell = compute(FakeBaseline(search={"weight": (0.001,)}), run)
    assert cell.test_error == cell.rules[MAIN]["test"] == cell.best_rule_error
    assert cell.test_error == cell.wrong.count("1") / len(cell.wrong)
    assert len(cell.wrong) == 10
    assert cell.measures["ari"] == pytest.approx(1.0)
    assert cell.before["ari"] < 0.5
    assert cell.detail == {"gap": None}


def test_a_classifier_is_judged_by_its_prediction(run):
    cell = compute(FakeBaseline(answers="classes"), run)
    y = run.reduced.y_test
    assert cell.test_error == np.mean(y != 0)
    assert cell.wrong == "".join(str(int(each != 0)) for each in y)
    assert (cell.rules, cell.best_rule, cell.measures, cell.before) == ({}, "", {}, {})
    assert cell.best_rule_error is None


def test_the_best_rule_is_chosen_on_the_validation_part(run, monkeypatch):
    def last_feature(Z_train, y_train, Z):
        return (Z[:, 0] > Z_train[:, 0].mean()).astype(int)

    rules = {MAIN: measure.RULES[MAIN], "threshold": last_feature}
    monkeypatch.setattr(measure, "RULES", rules)
    cell = compute(FakeBaseline(), run)
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


def test_the_order_is_columns_then_methods_then_runs(conduct):
    begun, results, interrupted = conduct(
        [make_column("one"), make_column("two", n_runs=1)], [FakeBaseline("a"), FakeBaseline("b")]
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


def test_what_is_finished_is_not_done_again(conduct):
    work = [make_column()], [FakeBaseline(search={"weight": WEIGHTS})]
    _, first, _ = conduct(*work)
    begun, again, _ = conduct(*work)
    assert begun == []
    assert again[0].cells == first[0].cells


def test_an_interrupted_run_gives_what_is_finished_and_goes_on(conduct):
    columns = [make_column("one"), make_column("two")]
    fails = FakeBaseline("b", instead={1: KeyboardInterrupt()})
    begun, results, interrupted = conduct(columns, [FakeBaseline("a"), fails])
    assert interrupted
    assert begun[-1] == ("one", "b", 1)
    assert [cell.outcome for cell in results[0].cells] == ["done", "done", "done", "skipped"]
    assert results[0].cells[-1].remark == "not run yet"
    begun, results, interrupted = conduct(columns, [FakeBaseline("a"), FakeBaseline("b")])
    assert begun[:2] == [("one", "b", 1), ("two", "a", 0)]
    assert not interrupted
    assert all(cell.is_done for result in results for cell in result.cells)


def test_ctrl_c_while_data_are_read(conduct):
    def load(run):
        raise KeyboardInterrupt

    column = replace(make_column("one"), load=load)
    begun, results, interrupted = conduct([column, make_column("two")], [FakeBaseline()])
    assert (begun, interrupted) == ([], True)
    assert "interrupted" in results[0].reason
    assert results[1].reason == "not run yet"


@pytest.mark.parametrize("change", ["data", "search", "refits"])
def test_another_task_is_done_anew(change, conduct):
    column, baseline = make_column(n_runs=1), FakeBaseline()
    conduct([column], [baseline])
    if change == "data":
        column = make_column(n_runs=1, seed=5)
    elif change == "search":
        baseline = FakeBaseline(search={"weight": (1.0,)})
    else:
        column = replace(column, refits=True)
    assert len(conduct([column], [baseline])[0]) == 1


def test_a_search_that_was_cut_short_is_done_anew_with_more_time(conduct):
    def baseline():
        return FakeBaseline(search={"weight": WEIGHTS}, instead={2: TimeLimitError(5.0)})

    column = make_column(n_runs=1)
    conduct([column], [baseline()], limit=5.0)
    assert conduct([column], [baseline()], limit=5.0)[0] == []
    whole = FakeBaseline(search={"weight": WEIGHTS})
    _, results, _ = conduct([column], [whole], limit=50.0)
    assert len(whole.fits) == 4
    assert results[0].cells[0].remark == ""


def test_a_method_over_the_limit_in_its_first_run_is_not_tried_again(conduct):
    methods = [FakeBaseline("a", seconds=9.0), FakeBaseline("b")]
    begun, results, _ = conduct([make_column(n_runs=3)], methods, limit=5.0)
    assert begun == [("one", "a", 0), ("one", "b", 0), ("one", "b", 1), ("one", "b", 2)]
    assert [cell.outcome for cell in results[0].of("a")] == ["limit", "skipped", "skipped"]
    assert results[0].of("a")[1].remark == "> 5 s in the first run"


def test_a_failure_is_tried_again_in_the_next_run(conduct):
    baseline = FakeBaseline(instead={0: ProgramFailedError("by chance")})
    _, results, _ = conduct([make_column()], [baseline])
    assert [cell.outcome for cell in results[0].cells] == ["failed", "done"]


def test_the_budget_ends_the_runs_of_a_method_on_a_data_set(conduct):
    columns = [make_column("one", n_runs=4), make_column("two", n_runs=1)]
    begun, results, _ = conduct(columns, [FakeBaseline(seconds=4.0)], budget=7.0)
    assert [number for name, _, number in begun if name == "one"] == [0, 1]
    assert ("two", "a", 0) in begun
    last = results[0].cells[-1]
    assert (last.outcome, last.remark) == ("skipped", "the budget of 7 s was used up by 2 runs")
    more, results, _ = conduct(columns, [FakeBaseline(seconds=4.0)], budget=70.0)
    assert more == [("one", "a", 2), ("one", "a", 3)]


def test_only_what_is_chosen_is_done_and_the_rest_found(conduct):
    columns = [make_column("one"), make_column("two"), make_column("three")]
    methods = [FakeBaseline("a"), FakeBaseline("b")]
    conduct(columns, methods, only=["one"], names=["a"])
    begun, results, _ = conduct(columns, methods, only=["two"], names=["b"])
    assert begun == [("two", "b", 0), ("two", "b", 1)]
    assert [result.column.name for result in results] == ["one", "two"]
    assert [cell.outcome for cell in results[0].cells] == ["done"] * 2 + ["skipped"] * 2


def test_data_that_cannot_be_had_are_a_reason(conduct):
    def load(run):
        raise DatasetNotFoundError("the file is not there")

    column = replace(make_column("one"), load=load)
    begun, results, _ = conduct([column, make_column("two", n_runs=1)], [FakeBaseline()])
    assert (results[0].cells, results[0].reason) == ([], "the file is not there")
    assert begun == [("two", "a", 0)]


# Numbers of a table


def make_cell(run, wrong, **more):
    """A finished cell from a string of digits."""
    task = Task(
        column="one",
        n=9,
        run=run,
        method="a",
        search="{}",
        refits=False,
        threads=1,
        data=f"data {run}",
    )
    error = wrong.count("1") / len(wrong)
    known = {
        "test_error": error,
        "validation_error": error,
        "wrong": wrong,
        "seconds": 2.0,
        "total_seconds": 5.0,
        "parameters": {"C": 1},
    }
    return Cell(task=task, label="A", outcome="done", limit=60.0, **known | more)


def test_a_summary_is_over_finished_runs():
    cells = [make_cell(0, "1000"), make_cell(1, "1110"), make_cell(2, "0000", parameters={"C": 2})]
    ended = replace(make_cell(3, "1"), outcome="limit", remark="> 60 s", total_seconds=60.0)
    found = Summary.of([*cells, ended])
    assert (found.runs, found.asked, found.outcome, found.remark) == (3, 4, "limit", "> 60 s")
    assert found.error == pytest.approx(100 / 3)
    assert found.std == found.spread(4) == pytest.approx(np.std([25, 75, 0], ddof=1))
    assert (found.seconds, found.total_seconds) == (2.0, 75.0)
    assert (found.parameters, found.parameters_runs) == ({"C": 1}, 2)
    assert found.recall_at_10 is None


def test_a_single_run_has_the_spread_of_its_samples():
    found = Summary.of([make_cell(0, "1000" * 25)])
    assert found.std is None
    assert found.spread(100) == binomial_std(25.0, 100) == pytest.approx(np.sqrt(25 * 75 / 100))


def test_nothing_finished_has_no_numbers():
    found = Summary.of([replace(make_cell(0, "1"), outcome="missing", remark="get it")])
    assert (found.runs, found.error, found.outcome, found.remark) == (0, None, "missing", "get it")


@pytest.mark.parametrize(
    ("published", "far"),
    [
        (Published(30.0, 3.0), False),
        (Published(32.0, 3.0), True),
        (Published(32.0, 4.0), False),
        (Published(25.0 + 3.2), True),
        (Published(25.0 + 2.5), False),
        (None, False),
        (Published(seconds=3.0), False),
    ],
)
def test_a_difference_is_large_beyond_two_standard_deviations(published, far):
    """Ours is 25 % of 1000 samples, whose standard deviation is 1.4."""
    assert is_far(Summary.of([make_cell(0, "1000" * 250)]), published, 1000) == far


def test_runs_are_compared_in_pairs():
    mine = [make_cell(0, "1100"), make_cell(1, "1110"), make_cell(2, "1111"), make_cell(4, "1111")]
    base = [make_cell(0, "1000"), make_cell(1, "1100"), make_cell(2, "1000"), make_cell(3, "0000")]
    found = compare(mine, base, 4)
    assert (found.n, found.over) == (3, "runs")
    assert found.mean == pytest.approx(125 / 3)
    shared = 4 / mine[0].task.n  # of test samples to training samples
    half = 4.302653 * np.std([25, 25, 75], ddof=1) * np.sqrt(1 / 3 + shared)
    assert found.low == pytest.approx(found.mean - half)
    assert found.high == pytest.approx(found.mean + half)
    assert not found.is_clear


def test_a_single_run_is_compared_by_samples():
    mine, base = [make_cell(0, "1100" * 50)], [make_cell(0, "1010" * 50)]
    found = compare(mine, base, 200)
    assert (found.mean, found.n, found.over) == (0.0, 200, "samples")
    steps = np.tile([0, 100, -100, 0], 50)
    assert found.high == pytest.approx(1.959964 * steps.std(ddof=1) / np.sqrt(200))
    better = compare([make_cell(0, "0000" * 50)], base, 200)
    assert better.is_clear
    assert better.high < 0


def test_a_single_run_without_stored_decisions_is_compared_by_its_errors():
    mine, base = make_cell(0, "1100" * 50), make_cell(0, "1000" * 50)
    found = compare([replace(mine, wrong="")], [replace(base, wrong="")], 200)
    half = 1.959964 * np.sqrt(50 * 50 / 200 + 25 * 75 / 200)
    assert (found.mean, found.low) == pytest.approx((25.0, 25.0 - half))


def test_other_data_are_not_compared():
    other = make_cell(0, "1000")
    other = replace(other, task=replace(other.task, data="other"))
    assert compare([make_cell(0, "1100")], [other], 4) is None


def make_results(tmp_path, cells):
    """Results of one column whose test parts have 100 samples."""
    methods = [FakeBaseline(name, name) for name in cells]
    cells = [
        replace(cell, task=replace(cell.task, n=1000, method=name))
        for name, row in cells.items()
        for cell in row
    ]
    column = Column("one", "One", 3, load=None)
    table = TableExperiment("t", tmp_path, (column,), ("one",))
    return TableResults(table, [ColumnResult(column, cells, {"test": 100})], methods)


def with_errors(*counts):
    return [make_cell(run, "1" * n + "0" * (100 - n)) for run, n in enumerate(counts)]


def test_the_best_of_a_column_and_those_as_good(tmp_path):
    ended = replace(make_cell(2, "1"), outcome="skipped")
    cells = {
        "best": with_errors(10, 12, 14),
        "near": with_errors(12, 11, 14),
        "always_worse": with_errors(11, 13, 15),
        "far": with_errors(10, 12, 60),
        "unfinished": [*with_errors(1, 1), ended],
    }
    results = make_results(tmp_path, cells)
    assert results.best == {("one", "best"), ("one", "near")}
    results = make_results(tmp_path, {"unfinished": cells["unfinished"]})
    assert results.best == set()


def test_findings_name_what_is_better_and_what_had_no_time(tmp_path):
    over = [
        replace(cell, outcome="limit", limit=7.0, remark="> 7 s") for cell in with_errors(1, 1, 1)
    ]
    cells = {"euclid": with_errors(30, 31, 33), "svm": with_errors(5, 6, 6), "nca": over}
    results = make_results(tmp_path, cells | {"frob": with_errors(10, 11, 12)})
    none, others, slow = findings(results).splitlines()
    assert "(ours / Euclidean, percent): clearly fewer errors on One 11.00 / 31.33." in none
    assert "fewer errors in 0 of 1 comparison, clearly more than svm on One (by 5.33" in others
    assert "had a limit of 7 s, one of ours 60 s; no answer in time: nca (One \\> 7 s)" in slow


def test_findings_name_what_failed(tmp_path):
    failed = [replace(cell, outcome="failed", remark="memory") for cell in with_errors(1, 1, 1)]
    results = make_results(tmp_path, {"nca": failed, "frob": with_errors(1, 1, 1)})
    assert "failed, as each data set's table tells: nca (One)" in findings(results).splitlines()[-1]


def test_findings_name_searches_that_were_ended(tmp_path):
    space = json.dumps({"C": [1, 2, 3], "k": [4, 5]})

    def tried(n, cell):
        return replace(cell, tries=[{}] * n, task=replace(cell.task, search=space))

    runs = [tried(n, cell) for n, cell in zip((4, 2, 1), with_errors(5, 6, 6), strict=True)]
    *_, slow = findings(
        make_results(tmp_path, {"svm": runs, "frob": with_errors(1, 1, 1)})
    ).splitlines()
    assert "ended, with the values tried until then: svm (One 1 of 4 settings in 2 runs)" in slow
    whole = {"svm": runs[:1] * 3, "frob": with_errors(1, 1, 1)}
    assert "settings" not in findings(make_results(tmp_path, whole))


def test_explanations_go_from_special_to_general(tmp_path):
    said = {("a", "one"): "both", "a": "method", "two": "column"}
    table = TableExperiment("t", tmp_path, (), (), {"A": {"one": Published(1.0)}}, said)
    assert table.explain("a", "one") == "both method"
    assert table.explain("a", "two") == "method column"
    assert table.explain("b", "one") == ""
    assert table.published(FakeBaseline("a", paper_name="A"), "one").error == 1.0
    assert table.published(FakeBaseline("A"), "one").error == 1.0
    assert table.published(FakeBaseline("a"), "one") is None


def test_equal_samples_have_their_triplets_as_often_as_they_occur():
    split = make_split()
    doubled = replace(
        split,
        X_train=np.concatenate([split.X_train, split.X_train[:2]]),
        y_train=np.concatenate([split.y_train, split.y_train[:2]]),
    )
    triplets = Run.from_splits(doubled).triplets
    assert np.ptp(triplets.share) == 0
    anchors, counts = np.unique(triplets.to_array()[:, 0], return_counts=True)
    assert counts.sum() == triplets.n_triplets == 22 * 9
    assert dict(zip(anchors.tolist(), counts.tolist(), strict=True)) == {
        number: 18 if number < 2 else 9 for number in range(20)
    }
