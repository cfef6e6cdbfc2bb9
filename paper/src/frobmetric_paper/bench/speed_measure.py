"""Timing side by side: runs, targets, profiles, and what one line of the speed table says."""

import cProfile
import pstats
import time
from dataclasses import dataclass, field
from pathlib import Path

from threadpoolctl import threadpool_limits

from ..baselines import METRIC, ProgramFailedError, ProgramMissingError, TimeLimitError

#: Seconds of a rival's run that are not spent again to get a best of several.
LONG = 120.0


def shown(number):
    """Three digits, without a power of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


@dataclass(frozen=True)
class Target:
    """What a ratio has to be: `at_least` compares rival / ours, `at_most` ours / rival."""

    sign: str
    bound: float

    def __str__(self):
        return f"{self.sign} {self.bound:g}"

    def is_met(self, ratio):
        return ratio >= self.bound if self.sign == "≥" else ratio <= self.bound


def at_least(bound):
    return Target("≥", bound)


def at_most(bound):
    return Target("≤", bound)


@dataclass(frozen=True)
class Timing:
    """Seconds of each run, and what the fastest of them gave; or why there is nothing."""

    runs: tuple[float, ...] = ()
    result: object = None
    reason: str = ""
    limit: float | None = None

    @property
    def seconds(self):
        """The best run, or the limit that was exceeded."""
        return min(self.runs) if self.runs else self.limit

    def __str__(self):
        if not self.runs:
            return self.reason
        return shown(self.seconds) + " s" + (", one run" if len(self.runs) == 1 else "")


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    work: str
    ours: str
    rival: str
    ratio: float | None = None
    is_bound: bool = False
    target: Target | None = None
    and_also: bool = True
    gap: float | None = None
    detail: dict = field(default_factory=dict)

    @property
    def met(self):
        """Yes or no; None if there is no target, or nothing to compare with."""
        if self.target is None or self.ratio is None:
            return None
        return bool(self.target.is_met(self.ratio) and self.and_also)


def compare(work, ours, rival, target, against="", and_also=True, gap=None, **detail):
    """The line of two timings; a rival beyond its limit gives a bound on the ratio."""
    ratio = None
    if ours.seconds and rival.seconds:
        ratio = rival.seconds / ours.seconds if target.sign == "≥" else ours.seconds / rival.seconds
    return Line(
        work,
        str(ours),
        f"{against} {rival}".strip(),
        ratio,
        not rival.runs,
        target,
        and_also,
        gap,
        detail
        | {
            "runs": ours.runs,
            "rival_runs": rival.runs,
            "rival_detail": getattr(rival.result, "detail", None),
        },
    )


def timed(work):
    """Seconds and result of one call."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def best_of(work, repeat):
    """The timing of so many calls; the first also compiles, so that the best one is warm."""
    runs = [timed(work) for _ in range(repeat)]
    fastest = min(runs, key=lambda run: run[0])
    return Timing(tuple(seconds for seconds, _ in runs), fastest[1])


def run_rival(name, bench, *data, C=None, **settings):
    """The timing of a rival, by its own clock; one that takes `LONG` is not run again."""
    runs, fits = [], []
    settings["parameters"] = {} if C is None else {"C": C}
    try:
        while len(runs) < bench.repeat and max(runs, default=0.0) < LONG:
            fitted = METRIC[name].fit(*data, limit=bench.limit, **settings)
            runs.append(fitted.seconds)
            fits.append(fitted)
    except TimeLimitError as exceeded:
        if not runs:
            return Timing(reason=str(exceeded), limit=exceeded.limit)
    except (ProgramMissingError, ProgramFailedError) as error:
        return Timing(reason=f"{name} not available: {str(error).splitlines()[-1]}")
    return Timing(tuple(runs), min(fits, key=lambda fitted: fitted.seconds))


def profile(work, n_entries=12):
    """Where the time of a call goes, in one thread so that all of it is seen.

    Returns
    -------
    dict with the functions that take most time with what they call (`cumulative`) and by
    themselves (`own`): [share of all, seconds, calls, name].
    """
    profiler = cProfile.Profile()
    with threadpool_limits(1):
        profiler.enable()
        work()
        profiler.disable()
    stats = pstats.Stats(profiler)
    total = stats.total_tt or 1.0
    entries = [
        (_name(where), calls, own, cumulative)
        for where, (_, calls, own, cumulative, _) in stats.stats.items()
        if where[2] not in ("profile", "work", "<lambda>")
    ]
    return {
        kind: [
            [round(entry[at] / total, 3), round(entry[at], 4), entry[1], entry[0]]
            for entry in sorted(entries, key=lambda entry: -entry[at])[:n_entries]
        ]
        for kind, at in (("own", 2), ("cumulative", 3))
    }


def _name(where):
    file, line, function = where
    if file.startswith("~") or not line:
        return function.strip("<>")
    path = Path(file)
    return f"{path.parent.name}/{path.name}:{function}"
