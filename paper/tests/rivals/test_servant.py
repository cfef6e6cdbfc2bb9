"""A process that does task after task: answers, failures, limits, and its end."""

import contextlib
import os
import signal
import sys

import numpy as np
import pytest

from frobmetric_paper.rivals import RIVALS, RivalFailed, TimeLimitExceeded
from frobmetric_paper.rivals.in_python import CHILD
from frobmetric_paper.rivals.servant import HOUSEHOLD, Household, Servant

#: Says on its standard error how often it was asked; "fail" fails, "end" ends, "sleep" sleeps.
CODE = """
import os, sys, time
sys.stdout.write("ready\\n")
sys.stdout.flush()
for count, line in enumerate(sys.stdin, start=1):
    word = line.strip()
    sys.stderr.write(f"{os.getpid()} {count}\\n")
    sys.stderr.flush()
    if word == "end":
        sys.exit(3)
    if word == "sleep":
        time.sleep(600)
    sys.stdout.write("failed\\n" if word == "fail" else "done\\n")
    sys.stdout.flush()
"""
COMMAND = [sys.executable, "-c", CODE]


@pytest.fixture
def household():
    household = Household()
    yield household
    household.end()


def test_one_process_does_many_tasks(household):
    told = [household.run([*COMMAND, folder], 60) for folder in "abc"]
    processes, counts = zip(*(line.split() for line in told), strict=True)
    assert len(set(processes)) == 1
    assert counts == ("1", "2", "3")


def test_other_commands_and_threads_are_other_processes(household):
    first = household.run([*COMMAND, "a"], 60, threads=1)
    second = household.run([*COMMAND, "a"], 60, threads=2)
    assert first.split()[0] != second.split()[0]
    assert household.run([*COMMAND, "a"], 60, threads=1).split() == [first.split()[0], "2"]


def test_the_one_asked_longest_ago_makes_room(household, monkeypatch):
    monkeypatch.setattr(Household, "MOST", 2)
    first, _, _ = (household.run([*COMMAND, "a"], 60, threads=n) for n in (1, 2, 3))
    with pytest.raises(ProcessLookupError):  # it has been waited for
        os.kill(int(first.split()[0]), 0)


@pytest.mark.parametrize("word", ["fail", "end"])
def test_failures_tell_what_was_said(word, household):
    with pytest.raises(RivalFailed, match=r"\d+ 1"):
        household.run([*COMMAND, word], 60)
    assert household.run([*COMMAND, "a"], 60).split()[1] == "1"  # another one


def test_the_limit_ends_it():
    servant = Servant(COMMAND, None)
    process = int(servant.do("a", 60).split()[0])
    with pytest.raises(TimeLimitExceeded, match="> 1 s"):
        servant.do("sleep", 1)
    servant.end()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_one_that_died_between_tasks_is_replaced(household):
    first = household.run([*COMMAND, "a"], 60).split()[0]
    os.kill(int(first), signal.SIGKILL)
    with contextlib.suppress(RivalFailed):  # it may die while it is asked
        assert household.run([*COMMAND, "a"], 60).split()[0] != first
    assert household.run([*COMMAND, "a"], 60).split()[0] != first


@pytest.fixture
def child():
    """child.py itself, with a learner."""
    servant = Servant(
        [sys.executable, "-P", str(CHILD), "function", "frobmetric_paper.rivals.rca:learn", ""], 1
    )
    yield servant
    servant.end()


def test_a_learner_that_raises_can_go_on(child, tmp_path, rng):
    with pytest.raises(RivalFailed, match="FileNotFoundError"):
        child.do(tmp_path, 60)
    (tmp_path / "task.json").write_text('{"parameters": {}, "seed": 0}')
    np.save(tmp_path / "X.npy", rng.normal(size=(30, 3)))
    np.save(tmp_path / "y.npy", rng.integers(2, size=30))
    child.do(tmp_path, 60)
    assert np.load(tmp_path / "L.npy").shape == (3, 3)


def test_start_up_takes_none_of_the_limit(rng):
    HOUSEHOLD.end()
    X, y = rng.normal(size=(30, 3)), rng.integers(2, size=30)
    # imports take seconds, learning none
    assert RIVALS["rca"].fit(X, y, limit=1).transform(X).shape == (30, 3)


def test_it_ends_when_nobody_asks_any_more(child, tmp_path):
    with pytest.raises(RivalFailed):
        child.do(tmp_path, 60)
    child._process.stdin.close()
    assert child._process.wait(timeout=60) == 0
