"""Short runs of the attacks on files, processes, names and threads."""

import signal

import numpy as np
import pytest

from frobmetric_paper.attack import find_attacks

pytest.importorskip("typer", reason="commands need the extra cli")
pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")
from frobmetric_paper.attack import interrupts, names, spoilt_files
from frobmetric_paper.attack.hostile_files import _report, judge, readers
from frobmetric_paper.attack.isolation import Ending, call

#: Kinds of files that take no time to make or to refuse.
QUICK = ("truncate", "nul bytes", "fifo", "device", "loop", "directory", "objects", "nested")


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


def test_names_are_text():
    stage = names.Stage()
    for name in ("\u202e<b>$", "_a\x1b[31m", "a|b`*"):
        assert names.in_tables(stage, name, None) is None


@pytest.mark.parametrize(
    ("ending", "number", "is_right"),
    [
        (Ending(130, "", "error: interrupted; nothing was saved\n", 0, 0), signal.SIGINT, True),
        (Ending(143, "", "error: terminated\n", 0, 0), signal.SIGTERM, True),
        (Ending(-9, "", "", 0, 0), signal.SIGKILL, True),
        (Ending(0, "", "", 0, 0), signal.SIGINT, True),
        (Ending(1, "", "Traceback\n frobmetric", 0, 0), signal.SIGINT, False),
        (Ending(1, "", "Aborted!", 0, 0), signal.SIGINT, False),
        (Ending(130, "", "", 0, 0, is_late=True), signal.SIGINT, False),
    ],
)
def test_outcomes_of_signals(ending, number, is_right):
    assert interrupts.judge_signal(ending, number)[1] == is_right


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
    """A signal within the first imports of Python still shows a traceback; files are whole."""
    attack = find_attacks()["interrupts"]
    found = attack.run(12, 7)
    assert found.n_tries >= 12
    assert [each for each in found.defects if "traceback" not in each["outcome"]] == []
