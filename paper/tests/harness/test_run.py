"""Tasks and cells: what is stored is not done again; limits, Ctrl-C, the search of parameters."""

import json
import shutil
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from frobmetric_paper.baselines import ProgramFailedError, ProgramMissingError, TimeLimitError
from frobmetric_paper.harness import task
from frobmetric_paper.harness.run import (
    ProgressListener,
    Runner,
    coordinate_search,
    first_values,
    n_tries,
)
from frobmetric_paper.harness.task import Store, as_json, checksum


@dataclass(frozen=True, kw_only=True)
class Task(task.Task):
    size: int = 1

    @property
    def place(self):
        return f"here-{self.size}"


@dataclass(frozen=True, kw_only=True)
class Cell(task.Cell):
    task_type: ClassVar = Task

    value: float | None = None
    more: dict = field(default_factory=dict)


class Calls(ProgressListener):
    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, task, label, n_done, n_cells):
        self.begun.append((task.method, n_done, n_cells))

    def end(self, cell):
        self.ended.append((cell.task.method, cell.outcome))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells", Cell)


def make_task(method="a", **changes):
    return replace(Task(method=method, threads=1, data="x"), **changes)


def answer():
    return {"value": 2.0, "seconds": 0.5, "more": {"n": 1}}


def failing(error):
    def measure():
        raise error

    return measure


def run(store, job, measure=answer, limit=60.0, **more):
    """The cell, and whether it was computed."""
    calls = Calls()
    cell = Runner(store, limit, listener=calls).cell(job, job.method.upper(), measure, **more)
    return cell, bool(calls.begun)


# What is stored, and what is done again


def test_what_is_finished_is_not_done_again(store):
    first, was_run = run(store, make_task())
    assert was_run
    assert (first.outcome, first.value, first.label, first.limit) == ("done", 2.0, "A", 60.0)
    assert first.machine["frobmetric"] == first.task.version
    assert run(store, make_task(), pytest.fail) == (first, False)
    (file,) = store.folder.iterdir()
    (stored,) = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert stored["outcome"] == "done"
    assert store.has_some("here-1")
    assert not store.has_some("he")


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "{}", '[{"task": {}}]', '[{"task": {"n": 3}, "x": 1}]']
)
def test_a_damaged_file_is_made_anew(damage, store):
    run(store, make_task())
    (file,) = store.folder.iterdir()
    file.write_text(damage)
    assert run(store, make_task())[1]
    assert [each["outcome"] for each in json.loads(file.read_text())] == ["done"]


@pytest.mark.parametrize(
    "change", [{"method": "b"}, {"threads": 2}, {"data": "y"}, {"size": 2}, {"version": "9"}]
)
def test_another_task_is_done_anew_and_keeps_the_first(change, store):
    run(store, make_task())
    assert run(store, make_task(**change))[1]
    assert not run(store, make_task())[1]


def test_a_limit_is_tried_again_only_with_more_time(store):
    slow = failing(TimeLimitError(2))
    cell, _ = run(store, make_task(), slow, limit=2)
    assert (cell.outcome, cell.remark) == ("limit", "> 2 s")
    for limit in (2, 1):
        assert run(store, make_task(), pytest.fail, limit=limit) == (cell, False)
    done, was_run = run(store, make_task(), limit=9)
    assert was_run
    assert run(store, make_task(), pytest.fail, limit=1) == (done, False)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ProgramMissingError("no a"), "missing"), (ProgramFailedError("1\n2\nwhy"), "failed")],
)
def test_what_cannot_run_is_said_and_tried_next_time(error, outcome, store):
    cell, _ = run(store, make_task(), failing(error))
    assert (cell.outcome, cell.remark) == (outcome, str(error).splitlines()[-1])
    assert run(store, make_task())[1]


def test_what_is_not_wanted_is_found_only(store):
    cell, was_run = run(store, make_task(), pytest.fail, is_wanted=False)
    assert (cell.outcome, cell.remark, was_run) == ("skipped", "not run yet", False)
    cell, _ = run(store, make_task(), pytest.fail, reason="too slow")
    assert (cell.outcome, cell.remark) == ("skipped", "too slow")
    run(store, make_task())
    assert run(store, make_task(), is_wanted=False)[0].is_done
    assert run(store, make_task(), reason="too slow")[0].is_done


@dataclass(frozen=True)
class Page:
    """Results of a page that is written again."""

    cells: list


def test_what_is_not_wanted_stays_as_the_page_has_it(store):
    slow, _ = run(store, make_task(version="0", threads=2), failing(TimeLimitError(2)), limit=2)
    shutil.rmtree(store.folder)
    runner = Runner(store, 60.0, previous=Page([slow]))
    assert runner.cell(make_task(), "A", pytest.fail, is_wanted=False) == slow
    skipped = runner.skipped(make_task("b", version="0"), "B", "the budget was used up")
    again = Runner(store, 60.0, previous=Page([skipped]), resumes=True)
    assert again.cell(make_task("b"), "B", pytest.fail, is_wanted=False) == skipped
    assert again.cell(make_task("b"), "B", answer).is_done
    other = runner.cell(make_task(data="y"), "A", pytest.fail, is_wanted=False)
    assert other.outcome == "skipped"
    assert runner.cell(make_task(), "A", answer).is_done


def test_a_limit_stays_when_others_get_more_time(store):
    slow, _ = run(store, make_task(), failing(TimeLimitError(2)), limit=2)
    assert run(store, make_task(), pytest.fail, limit=9, is_wanted=False) == (slow, False)


def test_the_page_counts_as_stored_if_asked(store):
    cells = [run(store, make_task("a"))[0], run(store, make_task("b", version="0"))[0]]
    shutil.rmtree(store.folder)
    runner = Runner(store, 60.0, previous=Page(cells), resumes=True)
    assert runner.cell(make_task("a"), "A", pytest.fail) == cells[0]
    anew = runner.cell(make_task("b"), "B", answer)
    assert anew.task.version == make_task().version != "0"


def test_ctrl_c_ends_the_work_and_keeps_what_is_finished(store):
    calls = Calls()
    runner = Runner(store, 60.0, listener=calls, n_cells=3)
    measures = {"a": answer, "b": failing(KeyboardInterrupt()), "c": answer}
    cells = [runner.cell(make_task(name), name, work) for name, work in measures.items()]
    assert runner.interrupted
    assert [cell.outcome for cell in cells] == ["done", "skipped", "skipped"]
    assert calls.begun == [("a", 0, 3), ("b", 1, 3)]
    assert calls.ended == [("a", "done")]
    assert run(store, make_task("a"))[1] is False
    assert run(store, make_task("b"))[1]


def test_a_detail_without_infinity():
    detail = {"gap": float("inf"), "stderr": "much", "rank": 3}
    assert as_json(detail) == {"gap": None, "rank": 3}


def test_checksums_tell_arrays_apart(rng):
    X = rng.normal(size=(3, 4))
    assert checksum(X) == checksum(X.copy()) != checksum(X + 1)
    assert checksum(X.T) == checksum(X.T.copy())


# The search of parameters


def search(space, loss):
    tried = []

    def evaluate(parameters):
        tried.append(tuple(parameters.values()))
        found = loss(**parameters)
        return found if isinstance(found, tuple) else (found, True)

    return coordinate_search(space, evaluate), tried


def test_parameters_are_chosen_one_after_the_other_and_none_is_tried_twice():
    space = {"C": (1.0, 3.0, 2.0), "k": (5, 4, 6)}
    best, tried = search(space, lambda C, k: 0.1 * k - C)
    assert tried == [(1.0, 5), (3.0, 5), (2.0, 5), (3.0, 4), (3.0, 6)]
    assert best == {"C": 3.0, "k": 4}
    assert len(tried) == n_tries(space)


def test_the_earlier_one_is_chosen_in_a_tie():
    assert search({"C": (1, 2, 3)}, lambda C: C == 1)[0] == {"C": 2}


def test_several_names_are_chosen_together():
    best, tried = search({"a b": ((1, 7), (0, 8), (0, 9))}, lambda a, b: a)
    assert tried == [(1, 7), (0, 8), (0, 9)]
    assert best == {"a": 0, "b": 8}


def test_values_without_an_answer_are_passed_over():
    assert search({"C": (1, 2, 3)}, lambda C: None if C == 1 else C)[0] == {"C": 2}
    assert search({"C": (1, 2)}, lambda C: None)[0] is None


def test_a_search_can_be_ended():
    best, tried = search({"C": (3, 2, 1)}, lambda C: (C, C != 2))
    assert (best, tried) == ({"C": 2}, [(3,), (2,)])


def test_a_search_of_first_values_is_one_fit():
    few = first_values({"C": (1, 2, 3), "k": (4, 5)})
    assert few == {"C": (1,), "k": (4,)}
    assert n_tries(few) == 1
    assert search({}, lambda: 1.0) == ({}, [()])
