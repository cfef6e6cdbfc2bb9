"""Times and memory of work: best of several runs, baselines with a limit, new processes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from . import worker
from .formatting import short

#: Seconds of a run that is not repeated to get a best of several.
LONG = 120.0


@dataclass(frozen=True)
class Timing:
    """Seconds of each run and the result of the fastest one, or the reason why there is none."""

    runs: tuple[float, ...] = ()
    result: object = None
    reason: str = ""
    limit: float | None = None

    @property
    def seconds(self):
        """The least seconds, or the limit that was exceeded, or None."""
        return min(self.runs) if self.runs else self.limit

    def __str__(self):
        if not self.runs:
            return self.reason
        return f"{short(self.seconds)} s" + (", one run" if len(self.runs) == 1 else "")


def timed(work):
    """Return seconds and result of one call."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def best_of(work, repeat):
    """Return the Timing of several calls; the first may compile, the best one is warm."""
    runs = [timed(work) for _ in range(repeat)]
    return Timing(tuple(seconds for seconds, _ in runs), min(runs, key=lambda run: run[0])[1])


def best_answer(call, repeat):
    """Return the Timing of a baseline, by the `seconds` of its answers; `LONG` ones run once."""
    answers = []
    try:
        while len(answers) < repeat and (not answers or answers[-1].seconds < LONG):
            answers.append(call())
    except worker.TimeLimitError as error:
        if not answers:
            return Timing(reason=str(error), limit=error.limit)
    except (worker.ProgramMissingError, worker.ProgramFailedError) as error:
        return Timing(reason=f"not available: {(str(error).splitlines() or [''])[-1][:300]}")
    fastest = min(answers, key=lambda answer: answer.seconds)
    return Timing(tuple(answer.seconds for answer in answers), fastest)


def in_new_process(target, values, options):
    """Return the detail of a function, "module:name", that a new worker calls."""
    pool = worker.WorkerPool()
    try:
        return worker.Target(target).run({}, values, 3600.0, options.threads, pool)[1]
    finally:
        pool.end()


def peak_memory():
    """Return the most bytes that this process has held at once.

    `getrusage` does not serve: its maximum includes that of the process which started this one.
    """
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])
