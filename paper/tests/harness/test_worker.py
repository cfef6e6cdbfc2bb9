"""Workers: replies, failures, time limits and their end; the child's side in this process."""

import contextlib
import os
import signal
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric_paper.harness import worker
from frobmetric_paper.harness.worker import (
    POOL,
    ProgramFailedError,
    Target,
    TimeLimitError,
    Worker,
    WorkerPool,
)

#: Writes its process number and the number of tasks so far to its standard error. The task "fail"
#: fails, "end" ends the process, "sleep" starts another process and sleeps.
CODE = """
import os, subprocess, sys, time
sys.stdout.write("ready\\n")
sys.stdout.flush()
for count, line in enumerate(sys.stdin, start=1):
    word = line.strip()
    sys.stderr.write(f"{os.getpid()} {count}\\n")
    sys.stderr.flush()
    if word == "end":
        sys.exit(3)
    if word.startswith("sleep"):
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(word.partition(" ")[2], "w").write(str(started.pid))
        time.sleep(600)
    sys.stdout.write("failed\\n" if word == "fail" else "done\\n")
    sys.stdout.flush()
"""
COMMAND = [sys.executable, "-c", CODE]


@pytest.fixture
def pool():
    pool = WorkerPool()
    yield pool
    pool.end()


def assert_ended(process):
    """The process is gone, or only its entry waits for a parent that no longer asks.

    A killed process of a busy machine may take a moment to end.
    """
    states = []
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        while len(states) < 600 and (not states or states[-1] != "Z"):
            os.kill(process, 0)
            with open(f"/proc/{process}/stat") as file:
                states.append(file.read().rpartition(")")[2].split()[0])
            time.sleep(0.05)
        assert states[-1] == "Z"


def test_one_process_does_many_tasks(pool):
    stderr = [pool.run(COMMAND, task, 60) for task in "abc"]
    processes, counts = zip(*(line.split() for line in stderr), strict=True)
    assert len(set(processes)) == 1
    assert counts == ("1", "2", "3")


def test_other_commands_and_threads_are_other_processes(pool):
    first = pool.run(COMMAND, "a", 60, threads=1)
    second = pool.run(COMMAND, "a", 60, threads=2)
    assert first.split()[0] != second.split()[0]
    assert pool.run(COMMAND, "a", 60, threads=1).split() == [first.split()[0], "2"]


def test_the_least_recently_used_worker_makes_room(pool, monkeypatch):
    monkeypatch.setattr(WorkerPool, "SIZE", 2)
    first, _, _ = (pool.run(COMMAND, "a", 60, threads=n) for n in (1, 2, 3))
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.split()[0]), 0)


@pytest.mark.parametrize("word", ["fail", "end"])
def test_failures_show_the_standard_error(word, pool):
    with pytest.raises(ProgramFailedError, match=r"\d+ 1"):
        pool.run(COMMAND, word, 60)
    assert pool.run(COMMAND, "a", 60).split()[1] == "1"  # of another worker


def test_the_limit_ends_the_worker_and_all_that_it_started(pool, tmp_path):
    process = int(pool.run(COMMAND, "a", 60).split()[0])
    with pytest.raises(TimeLimitError) as caught:
        pool.run(COMMAND, f"sleep {tmp_path / 'pid'}", 1)
    assert str(caught.value) == "> 1 s"
    with pytest.raises(ProcessLookupError):  # the pool has waited for it
        os.kill(process, 0)
    assert_ended(int((tmp_path / "pid").read_text()))


def test_ctrl_c_ends_the_worker(pool, monkeypatch):
    process = int(pool.run(COMMAND, "a", 60).split()[0])

    def interrupt(self, task, limit):
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "do", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pool.run(COMMAND, "a", 60)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_worker_that_died_between_tasks_is_replaced(pool):
    first = pool.run(COMMAND, "a", 60).split()[0]
    os.kill(int(first), signal.SIGKILL)
    with contextlib.suppress(ProgramFailedError):  # it may die while it is asked
        assert pool.run(COMMAND, "a", 60).split()[0] != first
    assert pool.run(COMMAND, "a", 60).split()[0] != first


# Targets


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module of this text, which workers can import."""

    def make(text):
        (tmp_path / "targets.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    yield make
    POOL.end()


def test_arrays_and_values_go_to_the_target_and_come_back(module):
    module("def double(task): return {'Y': 2 * task['X']}, {'text': task['text']}")
    arrays, detail = Target("targets:double").run({"X": np.arange(3)}, {"text": "é"}, 60)
    np.testing.assert_array_equal(arrays["Y"], [0, 2, 4])
    assert detail["text"] == "é"
    assert detail["seconds"] > 0


def test_a_target_that_raises_is_started_anew(module):
    module("import os\ndef invert(task): return {'x': [1 / task['x']]}, {'pid': os.getpid()}")
    first = Target("targets:invert").run({}, {"x": 2.0}, 60)[1]["pid"]
    with pytest.raises(ProgramFailedError, match=r"targets:invert failed[\s\S]*ZeroDivisionError"):
        Target("targets:invert").run({}, {"x": 0}, 60)
    arrays, detail = Target("targets:invert").run({}, {"x": 4.0}, 60)
    assert arrays["x"] == [0.25]
    assert detail["pid"] != first


def test_start_up_does_not_count_against_the_limit(module):
    text = "import time\ntime.sleep(1.5)\ndef nothing(task): return {}, {}"
    module(f"{text}\ndef warm_up(name): time.sleep(0.1); assert name == 'nothing'")
    assert Target("targets:nothing").run({}, {}, 1)[1]["seconds"] < 1


def test_threads_and_versions_are_passed_on(module):
    module("import os\ndef threads(task): return {}, {'n': os.environ['OPENBLAS_NUM_THREADS']}")
    detail = Target("targets:threads", ("numpy",)).run({}, {}, 60, threads=7)[1]
    assert detail["n"] == "7"
    assert detail["threads"] == 7
    assert detail["versions"] == {"numpy": np.__version__}


def test_printed_text_is_no_reply_and_input_is_empty(module):
    module("import sys\ndef say(task): print('failed'); return {'n': len(sys.stdin.read())}, {}")
    arrays, detail = Target("targets:say").run({}, {}, 60)
    assert arrays["n"] == 0
    assert "failed" in detail["stderr"]


def test_no_answer_is_an_error(module):
    module("import os\ndef leave(task): os._exit(0)")
    with pytest.raises(ProgramFailedError, match="targets:leave ended"):
        Target("targets:leave").run({}, {}, 60)


def test_absent_packages_are_named():
    assert Target("a:b", ("numpy", "no_such_package")).missing() == (
        "no_such_package not installed; pip install no_such_package"
    )
    assert Target("a:b", ("numpy",)).missing() == ""


def test_a_worker_ends_when_its_input_ends():
    process = Worker([sys.executable, "-P", worker.__file__, "math:sqrt"])
    try:
        for _ in range(2):  # a failed task does not end it
            with pytest.raises(ProgramFailedError, match="FileNotFoundError"):
                process.do("no folder", 60)
        process._process.stdin.close()
        assert process._process.wait(timeout=60) == 0
    finally:
        process.end()


# The child's side


def test_convergence_warnings_become_the_remark_and_others_are_shown(capsys):
    def learn(task):
        for _ in range(2):
            warnings.warn("steps ran out", ConvergenceWarning, stacklevel=1)
        warnings.warn("something else", UserWarning, stacklevel=1)
        return {}, {"steps": 3}

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, detail = worker.call(learn, {})
    del detail["seconds"]
    assert detail == {"steps": 3, "remark": "steps ran out"}
    assert "something else" in capsys.readouterr().err


class Estimator:
    def __init__(self, random_state, depth=0, preprocessor=None):
        self.random_state, self.depth, self.preprocessor = random_state, depth, preprocessor

    def fit(self, X, y):
        total = X.sum() if self.preprocessor is None else self.preprocessor[X].sum()
        self.components_ = np.full((1, 2), total + self.depth + self.random_state)
        return self


def test_estimators_get_the_parameters_and_the_scale():
    task = {"X": np.ones((3, 2)), "y": np.arange(3), "seed": 5}
    task |= {"parameters": {"depth": 100, "scale": 10.0}}
    arrays, detail = worker.call(Estimator, task)
    np.testing.assert_array_equal(arrays["L"], np.full((2, 1), 10 * (60 + 100 + 5)))
    assert detail["steps"] is None


def test_estimators_of_pairs_get_the_samples_as_preprocessor():
    task = {"X": np.ones((3, 2)), "pairs": np.array([[0, 1]]), "y": np.array([1])}
    arrays, _ = worker.call(Estimator, task | {"seed": 5, "parameters": {}})
    np.testing.assert_array_equal(arrays["L"], np.full((2, 1), 4 + 5))
