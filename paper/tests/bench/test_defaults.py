"""Benchmark of the defaults: its choice for other learners, resuming, and its tables."""

from dataclasses import replace

import numpy as np
import pytest

from frobmetric_paper.baselines import METRIC, Fitted
from frobmetric_paper.bench import __main__, default_tables, defaults, find
from frobmetric_paper.bench.default_tables import (
    CHOSEN,
    DEFAULT,
    HINDSIGHT,
    RAW,
    SCALED,
    SetErrors,
    defaults_page,
)
from frobmetric_paper.data.many import load
from frobmetric_paper.harness.benchmark import Options
from frobmetric_paper.harness.worker import ProgramFailedError, TimeLimitError


class Baseline:
    """Baseline that scales all features but the first by the parameter `weight`."""

    label = "NCA"

    def __init__(self, seconds=1.0):
        self.seconds, self.calls = seconds, []

    def fit(self, X, y, *, parameters, limit, threads):
        self.calls.append(parameters)
        if parameters["weight"] < 0:
            raise ProgramFailedError("negative")
        if self.seconds > limit:
            raise TimeLimitError(limit)
        weights = np.full(X.shape[1], parameters["weight"])
        weights[0] = 1
        return Fitted(np.diag(weights), self.seconds)


@pytest.fixture
def baseline(monkeypatch):
    """Put a baseline with three candidates in the place of NCA."""
    one = Baseline()
    monkeypatch.setitem(METRIC, "nca", one)
    weights = (0.0, -1.0, 1.0)
    candidates = [(True, {"weight": weight}) for weight in weights]
    monkeypatch.setitem(defaults.CANDIDATES, "nca", candidates)
    return one


def quick(**given):
    return Options(is_quick=True, limit=100.0, **given)


# Measuring


def test_euclid():
    split = load("wine")
    rows = defaults.measure_euclid(split)
    assert rows[RAW]["error"] > 20 > 10 > rows[SCALED]["error"]


def test_constant_features_keep_their_unit():
    np.testing.assert_array_equal(defaults.deviation(np.array([[1.0, 5], [3, 5]])), [1, 1])
    np.testing.assert_array_equal(defaults.deviation(np.array([[1.0, 5], [5, 5]])), [2, 1])


def test_choice_leaves_out_candidates_that_fail(baseline):
    rows, chosen = defaults.measure_rival("nca", load("wine"), limit=100.0)
    assert chosen == (True, {"weight": 1.0})
    assert len(baseline.calls) == 3 + 1 + 3 + 1
    assert rows["NCA"]["seconds"] == 7.0
    assert rows["NCA"]["error"] < 10


def test_choice_of_the_first_split_holds_for_the_others(baseline):
    data = defaults.measure_baseline("nca", quick())
    assert list(data) == list(defaults.QUICK_SETS)
    for record in data.values():
        assert len(record["rows"]["NCA"]["error"]) == defaults.QUICK_SPLITS
        assert record["rows"]["NCA"]["seconds"] == [7.0, 1.0]
    assert len(baseline.calls) == len(data) * (8 + 1)


def test_limit_holds_for_all_fits_of_a_split(baseline):
    options = replace(quick(), limit=5.0)
    data = defaults.measure_baseline("nca", options)
    assert [record["reason"] for record in data.values()] == ["> 5 s"] * 3
    assert all(not record["rows"] for record in data.values())
    n_calls = len(baseline.calls)
    assert defaults.measure_baseline("nca", replace(options, stored=data)) == data
    assert len(baseline.calls) == n_calls


def test_metric_of_rank_zero(baseline, monkeypatch):
    monkeypatch.setattr(baseline, "fit", lambda X, y, **given: Fitted(np.empty((13, 0)), 1.0))
    rows, _ = defaults.measure_rival("nca", load("wine"), limit=100.0)
    assert rows["NCA"]["error"] > 50


def test_reason_of_a_failure(baseline, monkeypatch):
    monkeypatch.setitem(defaults.CANDIDATES, "nca", [(True, {"weight": -1.0})])
    data = defaults.measure_baseline("nca", quick())
    assert {record["reason"] for record in data.values()} == {"failed"}
    assert {record["detail"] for record in data.values()} == {"negative"}


def test_splits_that_are_stored_are_not_measured_again():
    stored, seen = [], []

    def method(split):
        seen.append(split.name)
        return {RAW: {"error": 1.0, "seconds": 2.0}}

    first = {"iris": {"rows": {RAW: {"error": [5.0], "seconds": [6.0]}}}}
    options = quick(stored=first, store=stored.append)
    data = defaults.measure_method(method, options)
    assert data["iris"]["rows"][RAW] == {"error": [5.0, 1.0], "seconds": [6.0, 2.0]}
    assert seen == ["iris", "wine", "wine", "duplicates", "duplicates"]
    assert len(stored) == 3


def test_rows_of_settings(monkeypatch):
    settings = {"units": "raw", "C": 1e3}, {"prior": "within", "C": 1e2}
    monkeypatch.setattr(defaults, "SETTINGS", settings)
    with pytest.warns(UserWarning, match="rules all distances"):
        rows = defaults.measure_settings(load("wine"))
    assert list(rows) == ["units=raw, C=1000.0", "prior=within, C=100.0"]
    raw, within = (row["error"] for row in rows.values())
    assert raw > 20 > 10 > within


def test_settings_differ():
    assert len({repr(setting) for setting in defaults.SETTINGS}) == len(defaults.SETTINGS) == 18


# Tables


def record(**errors):
    rows = {name: {"error": error, "seconds": [1.0] * len(error)} for name, error in errors.items()}
    size = {"training": 9, "test": 9, "features": 2, "classes": 2}
    return {"rows": rows, "size": size}


def make_parts():
    """Return results on two sets: a gain on the first, a clear loss on the second."""
    euclid = {RAW: [10.0, 12.0, 11.0], SCALED: [20.0, 20.0, 20.0]}
    ours = {"iris": [5.0, 6.0, 5.5], "wine": [13.0, 15.1, 14.0]}
    rival = record(NCA=[8.0, 8.0, 8.0])
    rival["rows"]["NCA"]["seconds"] = [19.0, 1.0, 1.0]
    slow = record() | {"reason": "> 60 s"}
    return {
        "euclid": {name: record(**euclid) for name in ours},
        "default": {name: record(**{DEFAULT: errors}) for name, errors in ours.items()},
        "cv": {name: record(**{CHOSEN: errors}) for name, errors in ours.items()},
        "settings": {name: record(a=[9.0, 9.0, 9.0], b=[30.0, 1.0, 1.0]) for name in ours},
        "nca": {"iris": rival, "wine": slow},
    }


def test_errors_of_a_set():
    each = SetErrors.collect(make_parts(), "iris")
    assert each.euclid == RAW
    assert each.setting == "a"
    assert each.means[HINDSIGHT] == 9
    assert each.ranks == {RAW: 4, SCALED: 5, DEFAULT: 1.5, CHOSEN: 1.5, "NCA": 3}
    assert each.is_in_time("NCA")
    difference = each.difference(CHOSEN)
    assert difference.mean == pytest.approx(-5.5)
    # Student's t with 2 degrees of freedom: 4.303 * 0.5 / sqrt(3)
    assert difference.high == pytest.approx(-5.5 + 1.2421, abs=1e-4)


def test_incomplete_rows_are_left_out():
    parts = make_parts()
    parts["cv"]["iris"]["rows"][CHOSEN]["error"] = [5.0]
    assert CHOSEN not in SetErrors.collect(parts, "iris").errors


def test_summary():
    values = defaults_page(make_parts())
    rows = {row["method"]: row for row in values["summary"]}
    row = rows[CHOSEN]
    assert row["error"] == pytest.approx((5.5 + 42.1 / 3) / 2)
    assert row["ratio"] == pytest.approx((5.5 + 42.1 / 3) / 22)
    assert row["relative"] == pytest.approx((5.6 + 42.1 / 3 + 0.1) / 22.2)
    assert row["worst"] == pytest.approx(42.1 / 3 - 11)
    assert row["worst_set"] == "wine"
    assert [row[key] for key in ("better", "clearly_better")] == [1, 1]
    assert [row[key] for key in ("worse", "clearly_worse")] == [1, 1]
    assert rows[RAW]["ratio"] == 1
    assert values["hindsight"].startswith("9.77 % against 9.00 %: 1.085 times")


def test_rivals_are_compared_on_the_sets_that_they_finished():
    values = defaults_page(make_parts())
    finished, in_time = values["rivals"]
    assert finished | {"sets": ""} == in_time | {"sets": ""}
    assert (finished["rival"], finished["n_sets"]) == ("NCA", 1)
    assert (finished["error"], finished["error_cv"]) == (8.0, 5.5)
    assert (finished["rank"], finished["rank_cv"]) == (3, 1.5)
    assert (finished["better"], finished["worse"]) == (1, 0)
    assert "\\> 60 s" in values["errors"]
    assert "worse" in values["differences"]


def test_slow_rivals_are_not_in_time(monkeypatch):
    monkeypatch.setattr(default_tables, "TIME_RATIO", 18)
    assert [row["sets"] for row in defaults_page(make_parts())["rivals"]] == ["finished"]


# The command


@pytest.mark.slow
def test_small_version(tmp_path, monkeypatch, capsys):
    for name in (*__main__.THREAD_VARIABLES, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    given = ["defaults", "--quick", "-o", str(tmp_path), "--only", "euclid", "default", "cv"]
    assert __main__.main([*given, "times"]) == 0
    assert list(find("defaults").cells(tmp_path)["cv"].data) == list(defaults.QUICK_SETS)
    text = (tmp_path / "defaults.md").read_text(encoding="utf-8")
    for heading in ("Summary", "Errors by set", "Time of the choice", "Data sets"):
        assert f"## {heading}" in text
    assert "## Other learners" not in text
    assert "defaults: times   took" in capsys.readouterr().err
