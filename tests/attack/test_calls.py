"""Malformed calls: the table is complete, the generator repeats, verdicts tell defects apart."""

import importlib
import warnings

import numpy as np
import pytest

import frobmetric
from attack.suite import Findings, find_attacks
from attack.suite.calls import verdicts
from attack.suite.calls.data import X
from attack.suite.calls.entry import Entry
from attack.suite.calls.functions import _error_or_none
from attack.suite.calls.mutations import HOSTILE, JUNK, mutate
from attack.suite.calls.table import INNER, RECORDS, entries, find
from attack.suite.calls.verdict import NoAnswer, judge_answer
from attack.suite.calls.worker import attempt, draw, judge
from frobmetric.evaluation.row import ComparisonRow

ROOMS = (
    "core",
    "comparisons",
    "model",
    "neighbors",
    "learning",
    "evaluation",
    "metric",
    "learners",
)
ROOMS += ("embeddings", "sdp", "manifold")


def public_names():
    rooms = [frobmetric, *(importlib.import_module(f"frobmetric.{room}") for room in ROOMS)]
    return {
        name for room in rooms for name in room.__all__ if callable(getattr(room, name))
    }  # rooms themselves are no entry points


def test_every_public_name_is_in_the_table():
    tried = {part for entry in entries() for part in entry.name.replace("metric.", "").split(".")}
    left = {name for name in public_names() if name not in tried | RECORDS | INNER}
    assert not left


def test_names_that_are_no_entry_points_exist():
    assert public_names() >= INNER | RECORDS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_valid_calls_have_a_finite_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slow = {"compare", "FrobMetricCV.fit"}
    wrong = {}
    for entry in entries():
        if entry.name in slow or entry.takes_path:
            continue
        verdict = judge(entry, entry.arguments)
        if verdict.outcome != "answer":
            wrong[entry.name] = verdict
    assert not wrong


def test_a_call_is_drawn_again_by_its_number():
    for number in range(20):
        first, again = (draw(entries(), 3, number) for _ in range(2))
        assert first[0] is again[0]
        assert {k: m.name for k, m in first[2].items()} == {k: m.name for k, m in again[2].items()}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_mutations_of_the_same_data_are_the_same_data():
    rng = np.random.default_rng(0)
    for _ in range(300):
        mutation = mutate(X, rng)
        if mutation.precision is not None:
            value = mutation.value
            given = value.toarray() if hasattr(value, "toarray") else value
            np.testing.assert_array_equal(np.asarray(given, float), X)


def test_the_precision_of_a_function_in_sql_is_no_other_answer_but_other_numbers_are():
    entry, numbers = find("map_function"), np.array([[1.0, 2e-7], [-3.5, 4.0]])
    expected = entry.call(dialect="duckdb", components=numbers)

    def outcome(components):
        return judge_answer(entry.call(dialect="duckdb", components=components), expected, 1e-6)

    assert outcome(numbers.astype(np.float32)).outcome == "the same answer"
    assert outcome(numbers * 1.0001).outcome == "another answer"
    assert outcome(numbers.T).outcome == "another answer"


def test_hostile_values_are_new_each_time():
    rng = np.random.default_rng(0)
    for make in HOSTILE.values():
        make(X, rng)
    for make in JUNK.values():
        make()
    np.testing.assert_array_equal(X, find("mine_triplets").arguments["X"])


def answer_of(call, **arguments):
    return judge(Entry("tried", call, arguments), arguments)


def leaking(x):
    warnings.warn("overflow encountered in cast", RuntimeWarning, stacklevel=2)
    return x


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        (lambda x: np.nan, "NaN or infinity"),
        (lambda x: [1.0, {"a": np.array([np.inf])}], "NaN or infinity"),
        (lambda x: x[7], "other exception"),
        (lambda x: x.frog, "other exception"),
        (lambda x: np.linalg.cholesky(-np.eye(2)), "other exception"),
        (lambda x: int("frog"), "unclear error"),
        (lambda x: x + None, "unclear error"),
        (leaking, "leaked warning"),
        (lambda x: frobmetric.knn_error(x, x, x, x, n_neighbors=0), "clear error: ValueError"),
        (lambda x: frobmetric.FrobMetric().transform(X), "clear error: ValueError"),
        (lambda x: {"gap": np.inf, "value": 1.0}, "answer"),
    ],
)
def test_verdicts(call, outcome):
    verdict = answer_of(call, x=np.ones((3, 2)))
    assert verdict.outcome == outcome
    assert bool(verdict.defect) == (not outcome.startswith(("clear", "answer")))


def test_another_answer_is_found():
    same, other = {"a": np.ones(3)}, {"a": np.array([1.0, 1.0, 1.1])}
    assert judge_answer(same, same, 0.0).outcome == "the same answer"
    assert judge_answer(other, same, 1e-3).outcome == "another answer"
    assert judge_answer({"a": np.ones(2)}, same, 1e-3).outcome == "another answer"
    assert judge_answer(other, same, 0.2).outcome == "the same answer"


def test_a_refusal_that_depends_on_the_form_of_the_data_is_no_other_answer():
    expected = [("raw", 0.5), ("LDA", 0.25)]
    assert judge_answer([("raw", 0.5), ("LDA", NoAnswer())], expected, 0.0).defect == ""
    assert judge_answer([("raw", 0.4), ("LDA", NoAnswer())], expected, 0.0).defect != ""
    assert judge_answer([("raw", 0.5), ("LDA", None)], expected, 0.0).defect != ""


def test_rows_of_learners_need_an_answer_or_a_reason():
    def error(losses=None, reason=""):
        return _error_or_none(ComparisonRow("A", "A", losses, reason=reason))

    assert error(np.array([True, False])) == 0.5
    assert isinstance(error(reason="no answer in 1 s"), NoAnswer)
    assert isinstance(error(reason="TypeError: Sparse data was passed"), NoAnswer)
    assert error(reason="ValueError: Input contains NaN") is None
    assert np.isnan(error())


def test_held_out_gains_count_samples_that_single_precision_moves():
    expected, near = ({"gain": {"after": a}, "other": {"after": 0.5}} for a in (0.5, 0.5417))
    assert judge_answer(near, expected, 1e-3).defect == ""
    assert judge_answer(near, expected, 1e-9).defect != ""
    far = {"gain": {"after": 0.8}, "other": {"after": 0.5}}
    assert judge_answer(far, expected, 1e-3).defect != ""
    assert judge_answer({"gain": {"after": 0.5}, "other": {"after": 0.5417}}, expected, 1e-3).defect


def test_the_attack_is_listed():
    attack = find_attacks()["calls"]
    assert attack.long == 50_000


@pytest.mark.filterwarnings("ignore")
def test_calls_of_a_new_seed_have_no_defect(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heavy = {"compare", "FrobMetricCV.fit", "compare.one", "solve_norm_bounded"}
    table = tuple(e for e in entries() if e.name not in heavy and not e.takes_path)
    expected, findings = {}, Findings()
    for number in range(200):
        name, mutations, verdict = attempt(table, 97, number, expected)
        if verdict.defect:
            findings.add_defect(name, verdict.outcome, f"{mutations}; {verdict.defect}")
        else:
            findings.add(name, verdict.outcome)
    assert findings.defects == []
    assert findings.n_tries == 200


@pytest.mark.slow
def test_calls_in_processes_have_no_defect():
    found = list(verdicts(200, 98))
    assert sorted(number for number, *_ in found) == list(range(200))
    assert [verdict for *_, verdict in found if verdict.defect] == []
