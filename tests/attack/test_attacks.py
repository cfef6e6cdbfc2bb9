"""Short runs of the attacks on files, processes, names and threads."""

import signal

import numpy as np
import pytest

from attack.suite import find_attacks

pytest.importorskip("typer", reason="commands need the extra cli")
pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")
from attack.suite import interrupts, names, spoilt_files
from attack.suite.hostile_files import _report, judge, readers, try_file
from attack.suite.isolation import Ending, call

IN = interrupts.OURS
#: Kinds of files that take no time to make or to refuse.
QUICK = (
    "wide",
    "truncate",
    "nul bytes",
    "fifo",
    "device",
    "loop",
    "directory",
    "objects",
    "nested",
)


@pytest.mark.parametrize("kind", QUICK)
def test_spoilt_files_give_one_line(tmp_path, kind):
    offers = spoilt_files.Offers(tmp_path, np.random.default_rng(0))
    for suffix in (".csv", ".npy", ".npz", ".safetensors", ".dat-s.gz"):
        path = tmp_path / f"file{suffix}"
        spoilt_files.KINDS[kind](offers, path, suffix)
        read = readers(path, suffix)[0]
        ending = call(lambda read=read: _report(read))
        assert judge(ending, path, kind in spoilt_files.NEVER)[1], (suffix, ending)
        offers.clear(path)
    assert not spoilt_files.MARK.exists()


@pytest.mark.slow
def test_a_try_can_be_repeated_alone(tmp_path):
    offers = spoilt_files.Offers(tmp_path, np.random.default_rng(0))
    (tmp_path / "good.csv").write_bytes(offers.good[".csv"])
    tries = [try_file(offers, 7, number)[:4] for number in range(6)]
    assert try_file(offers, 7, 4)[:4] == tries[4]
    assert len({place for *_, place in tries}) == 6


def test_names_are_text():
    stage = names.Stage()
    for name in ("\u202e<b>$", "_a\x1b[31m", "a|b`*"):
        assert names.in_tables(stage, name, None) is None


@pytest.mark.parametrize(
    ("code", "errors", "number", "is_right"),
    [
        (130, "error: interrupted; nothing was saved\n", signal.SIGINT, True),
        (143, "error: terminated\n", signal.SIGTERM, True),
        (-9, "", signal.SIGKILL, True),
        (0, "", signal.SIGINT, True),
        (1, f'Traceback\n  {IN}app/cli/fit.py", line 9, in fit\n', signal.SIGINT, False),
        (1, f'Traceback\n  {IN}__main__.py", line 9, in main\n', signal.SIGINT, False),
        (1, f'Traceback\n  {IN}app/signals.py", line 9, in <module>\n', signal.SIGINT, True),
        (1, "Aborted!", signal.SIGINT, False),
    ],
)
def test_outcomes_of_signals(code, errors, number, is_right):
    assert interrupts.judge_signal(Ending(code, "", errors, 0, 0), number)[1] == is_right


@pytest.mark.parametrize(("output", "is_right"), [("the results\n", True), ("", False)])
def test_signals_are_those_of_python_after_the_results(output, is_right):
    ending = Ending(-15, output, "a new fit\n", 0, 0)
    assert interrupts.judge_signal(ending, signal.SIGTERM)[1] == is_right


def test_processes_that_go_on_after_a_signal_hang():
    ending = Ending(130, "", "", 0, 0, is_late=True)
    assert interrupts.judge_signal(ending, signal.SIGINT) == ("hangs", False)


def test_processes_that_hang_or_fail_are_seen():
    assert call(lambda: signal.pause(), 0.2).is_late
    failed = call(lambda: 1 / 0)
    assert failed.code == 1
    assert "ZeroDivisionError" in failed.errors
    assert call(lambda: bytearray(300 << 20)).peak > 300 << 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hostile files", "names", "threads"])
def test_short_attacks_find_nothing(name):
    attack = find_attacks()[name]
    found = attack.run(min(attack.short, 12), 7)
    assert found.n_tries >= min(attack.short, 12)
    assert found.defects == []


@pytest.mark.slow
def test_signals_at_random_moments_lose_no_file():
    found = find_attacks()["interrupts"].run(12, 7)
    assert found.n_tries == 12
    assert found.defects == []
