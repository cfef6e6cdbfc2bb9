"""What a terminal shows: whole words, bars, times, and options in their own words."""

import io
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from frobmetric.app.cli import models, progress, terminal
from frobmetric.runtime.progress import listening, working
from terminals import environment, read_until

OPTIONS = {"max_iter": "--max-iter", "tol": "--tol", "prior": "--prior", "C": "--C"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "ended (max_iter) with gap 1 > tol=0.1; raise max_iter or tol",
            "ended (--max-iter) with gap 1 > --tol 0.1; raise --max-iter or --tol",
        ),
        ("The 'prior' parameter of FrobMetric must be x", "--prior must be x"),
        ("prior='withn' and C=3; the prior is C", "--prior withn and --C 3; the prior is C"),
        ("n_passes=2 is no option; file.tol, `tol`", "n_passes=2 is no option; file.tol, `tol`"),
    ],
)
def test_messages_have_the_names_of_options(message, expected):
    assert terminal.with_options(message, OPTIONS) == expected
    assert terminal.with_options(message, {}) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert progress.duration(seconds) == text


def test_a_bar_tells_the_time_left():
    now = 0.0
    clock = progress.Clock(lambda: now)
    now = 30.0
    assert clock.bar(0.25) == "█████░░░░░░░░░░░░░░░  25%  30.0 s, about 1 min 30 s left"
    assert clock.bar(0.001).endswith("0%  30.0 s")  # too early to tell
    assert clock.bar(1.0) == "████████████████████ 100%  30.0 s"


class Terminal:
    def isatty(self):
        return True


def test_lines_end_between_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    text = "a long line of many samples\n  and one that is indented\nname      much longer value"
    lines = terminal.wrapped(text, Terminal()).splitlines()
    assert lines == [
        "a long line of many",
        "samples",
        "  and one that is",
        "  indented",
        "name      much longer value",  # a table stays as it is
    ]
    assert terminal.wrapped(text, io.StringIO()) == text


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are Unix's")
def test_a_search_for_neighbours_has_a_bar(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    np.savez(tmp_path / "t.npz", X=rng.normal(size=(6000, 40)) + y[:, None], y=y)
    line = ["-m", "frobmetric", "fit", "t.npz", "--cv", "0", "--n-passes", "1"]
    screen, stderr = os.openpty()
    child = subprocess.Popen(
        [sys.executable, *line], cwd=tmp_path, env=environment(), stderr=stderr, stdout=stderr
    )
    os.close(stderr)
    try:
        seen = read_until(screen, None).decode()
    finally:
        child.kill()
        child.wait()
        os.close(screen)
    shares = [int(share) for share in re.findall(r"searching for neighbours  \S+ +(\d+)%", seen)]
    assert shares == sorted(shares)
    assert len(set(shares)) >= 2


def shares(shown):
    return [re.search(r"\d+%", line)[0] for line in shown]


def test_stages_have_the_share_of_their_work():
    shown = []
    stages = progress.Stages("reading", progress.Line(shown.append, pause=0))
    stages.begin("2 of 4: measuring")
    with listening(stages.show_share):
        with working("refits", 4, "refits") as work:
            work.advance(1)
        with working("others", 2, "fits") as work:
            work.advance(1)
    assert shown[0] == "2 of 4: measuring"
    assert [line.partition("  ")[0] for line in shown[1:]] == ["2 of 4: measuring"] * 4
    assert shares(shown[1:]) == ["0%", "25%", "0%", "50%"]


def test_steps_have_a_bar_of_the_gap():
    shown = []
    line = progress.Line(shown.append, pause=0)
    steps = progress.Steps(lambda step: f"gap {step.relative_gap:g}", 1e-3, line)
    for gap in (inf, 1e-1, 1e-2, 1e-3):
        steps.show_step(SimpleNamespace(relative_gap=gap))
    assert shown[0].startswith("step 1   gap inf   0.")  # no way is known yet
    assert shares(shown[1:]) == ["0%", "50%", "100%"]
    steps.show_share("searching", 0.5)  # a second pass begins, with a gap of its own
    assert shown[-1].startswith("searching  ██████████░░░░░░░░░░  50%")
    steps.show_share("searching", 1.0)
    steps.show_step(SimpleNamespace(relative_gap=1e-2))
    assert shares(shown[-1:]) == ["0%"]


@pytest.mark.parametrize(("large", "texts"), [(3, ["reading t.csv"]), (models.LARGE, [])])
def test_a_large_table_is_read_with_a_line(tmp_path, large, texts):
    shown = []

    @contextmanager
    def line(text, describe):
        shown.append(text)
        yield

    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    table = models.read_visibly(tmp_path / "t.csv", None, large=large, progress=line)
    assert table.X.shape == (1, 2)
    assert shown == texts


class Interrupted:
    """An estimator whose fit is interrupted, with its best answer so far or without one."""

    def set_params(self, callback):
        self.callback = callback
        return self

    def fit(self, X, has_answer):
        if has_answer:
            self.certificate_ = "the best so far"
        raise KeyboardInterrupt


def test_an_interrupted_fit_has_an_answer_or_ends_the_command():
    assert progress.fit_visibly(Interrupted(), str, None, has_answer=True)
    with pytest.raises(KeyboardInterrupt):
        progress.fit_visibly(Interrupted(), str, None, has_answer=False)
