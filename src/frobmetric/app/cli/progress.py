"""Progress line of a command: bars, the time left, stages and the steps of a solve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, log
from time import perf_counter
from typing import Any

from ...runtime.progress import current_stage, listening
from .terminal import Show, live_line

#: Seconds between two updates of the line, length of its bar, and the share of the work from which
#: on it tells the time left.
PAUSE, BAR, FIRST_SHARE = 0.1, 20, 0.02


class Clock:
    """Seconds since the beginning of some work, and an estimate of the time left."""

    def __init__(self, now: Callable[[], float] = perf_counter) -> None:
        self.now, self.began = now, now()

    def seconds(self) -> float:
        return self.now() - self.began

    def bar(self, share: float) -> str:
        """Return a bar with the share of finished work, the seconds so far and the time left."""
        share, seconds = min(max(share, 0.0), 1.0), self.seconds()
        full = round(BAR * share)
        line = f"{'█' * full}{'░' * (BAR - full)} {share:4.0%}  {seconds:.1f} s"
        if FIRST_SHARE < share < 1 and seconds > 1:  # earlier estimates are too rough
            line += f", about {duration(seconds * (1 - share) / share)} left"
        return line


def duration(seconds: float) -> str:
    """Return a time in words: 8 s, 3 min 20 s or 2 h 5 min."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


class Line:
    """The line on the terminal, which is shown again after a pause."""

    def __init__(self, show: Show, pause: float = PAUSE) -> None:
        self.show, self.pause = show, pause
        self.clock, self.shown = Clock(), -pause

    def is_due(self) -> bool:
        """Return whether the last line is old enough for another one, and remember that it is."""
        if self.clock.seconds() - self.shown < self.pause:
            return False
        self.shown = self.clock.seconds()
        return True


@contextmanager
def live_share(text: str) -> Iterator[Callable[[float, str], None]]:
    """Yield a function of a share and a detail that shows a bar and the time left on a terminal."""
    with live_line(text) as show:
        line = None if show is None else Line(show)

        def show_share(share: float, detail: str) -> None:
            if line is not None and line.is_due():
                line.show(f"{text}  {line.clock.bar(share)}  {detail}")

        yield show_share


class Stages:
    """Text of a stage and the share of its work.

    A stage may have several works, such as fits, each with a share of its own.
    """

    def __init__(self, text: str, line: Line) -> None:
        self.text, self.line, self.work, self.clock = text, line, "", Clock()

    def begin(self, text: str) -> None:
        """Show the text of a new stage."""
        self.text, self.work, self.clock = text, "", Clock()
        self.line.show(text)

    def show_share(self, work: str, share: float) -> None:
        """Show how much of a work is done."""
        if work != self.work:
            self.work, self.clock = work, Clock()
        if self.line.is_due():
            self.line.show(f"{self.text}  {self.clock.bar(share)}")


@contextmanager
def live_stages(text: str) -> Iterator[Show | None]:
    """Yield a function that begins a stage, as `Stages` shows it; None without terminal."""
    with live_line(text) as show:
        stages = None if show is None else Stages(text, Line(show))
        with listening(stages.show_share if stages else None):
            yield stages.begin if stages else None


class Steps:
    """Steps of a solve, and the share of the work before them.

    Work that reports its share, such as a search for neighbours, has a bar. With `tol`, steps have
    one too: how far the gap has come on its way to the tolerance, on a logarithmic scale.
    """

    def __init__(self, describe: Callable[[Any], str], tol: float | None, line: Line) -> None:
        self.describe, self.tol, self.line, self.count = describe, tol, line, 0
        self.work, self.bar, self.clock = "", "", Clock()
        self.first_gap, self.gap_clock = 0.0, Clock()

    def show_share(self, work: str, share: float) -> None:
        """Show how much of a work is done."""
        if work != self.work:
            self.work, self.clock = work, Clock()
        self.first_gap = 0.0
        self.bar = "" if share >= 1 else f"{work}  {self.clock.bar(share)}"
        if self.bar and self.line.is_due():
            self.line.show(self.bar)

    def show_step(self, step: Any) -> None:
        """Show a step."""
        self.count += 1
        if not self.line.is_due():
            return
        text, way = f"step {self.count}   {self.describe(step)}", self._way_to_tol(step)
        if self.bar:
            self.line.show(f"{self.bar}   {text}")
        elif way:
            self.line.show(f"{current_stage()}{way}   {text}")
        else:
            self.line.show(f"{current_stage()}{text}   {self.line.clock.seconds():.1f} s")

    def _way_to_tol(self, step: Any) -> str:
        """Return a bar of the way of the gap from the first one to the tolerance; "" if unknown."""
        gap = getattr(step, "relative_gap", None)
        if self.tol is None or gap is None or not 0 < gap < inf:
            return ""
        if gap > self.first_gap:  # the first one, or a new solve
            self.first_gap, self.gap_clock = gap, Clock()
        if self.first_gap <= self.tol:
            return ""
        return self.gap_clock.bar(log(self.first_gap / gap) / log(self.first_gap / self.tol))


@contextmanager
def live_progress(
    text: str, describe: Callable[[Any], str], tol: float | None = None
) -> Iterator[Callable[[Any], None] | None]:
    """Yield a callback that shows steps on a terminal, as `Steps` does; None without terminal."""
    with live_line(text) as show:
        steps = None if show is None else Steps(describe, tol, Line(show))
        with listening(steps.show_share if steps else None):
            yield steps.show_step if steps else None


def fit_visibly(
    estimator: Any,
    describe: Callable[[Any], str],
    X: Any,
    *,
    first: str = "searching for neighbours",
    tol: float | None = None,
    **answers: Any,
) -> bool:
    """Fit with a progress line; return whether Ctrl-C stopped the fit at its best answer so far.

    `first` is the line before the first step, `tol` the tolerance that `Steps` shows the way to.
    """
    try:
        with live_progress(first, describe, tol) as callback:
            estimator.set_params(callback=callback).fit(X, **answers)
    except KeyboardInterrupt:
        if not hasattr(estimator, "certificate_"):
            raise
        return True
    finally:
        estimator.set_params(callback=None)
    return False
