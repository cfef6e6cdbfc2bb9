"""Worker process for fits: one at a time, ended at its time limit, lost without harm."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any, Self

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor, process_executor
from sklearn.pipeline import Pipeline

from .division import Division
from .evaluation import Evaluation

#: Seconds between two looks at a fit that runs.
TICK = 0.2
#: Relative gap up to which an answer counts as proven, of a learner without a tolerance `tol`.
PROVEN = 1e-3


@dataclass(frozen=True, eq=False)
class Measured:
    """Result of one fit: losses of the tested samples, or in one line why there are none.

    `gap` is the relative error of the certificate, None if the learner has none.
    """

    losses: np.ndarray | None = None
    seconds: float = 0.0
    gap: float | None = None
    is_proven: bool = False
    warning: str = ""
    failure: str = ""


class OutOfTimeError(Exception):
    """A fit that was ended at its time limit."""


class FitWorker:
    """Process that fits estimators and tests them; a new one is started if it was ended.

    The process is independent of the main module, so scripts need no `__main__` guard, and classes
    that a script or a notebook defines are sent along. Use it as a context manager.
    """

    def __init__(self, division: Division, evaluation: Evaluation) -> None:
        self._given = (division, evaluation)
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        """Start a process if there is none, and wait until it has imported what it needs."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(1, initializer=_begin, initargs=self._given)
            self._executor.submit(os.getpid).result()

    def measure(
        self, estimator: Any, fold: int | None, seconds: float, on_tick: Callable[[], None]
    ) -> Measured:
        """Fit an estimator and test it; raise `OutOfTimeError` after so many seconds.

        `on_tick` is called while the fit runs; what it raises ends the fit, as Ctrl-C does.
        """
        self.start()
        future = self._executor.submit(_measure, estimator, fold)  # type: ignore[union-attr]
        try:
            _wait_for(future, perf_counter() + seconds, on_tick)
        except BaseException:  # out of time, Ctrl-C, or what on_tick raises
            _wait_until_sent(future)
            self.end()
            raise
        error = future.exception()
        if error is None:
            return future.result()
        self.end()
        if isinstance(error, process_executor.TerminatedWorkerError):
            return Measured(failure="its process was killed, or ran out of memory")
        return Measured(failure=f"it cannot be sent to a process: {_one_line(error)}")

    def end(self) -> None:
        """End the process at once, whatever it does."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)


def _wait_for(future, deadline, on_tick):
    while not future.done():
        on_tick()
        left = deadline - perf_counter()
        if left <= 0:
            raise OutOfTimeError
        wait([future], timeout=min(TICK, left))


def _wait_until_sent(future):
    """Wait until the pool has taken a task over: if it is ended before, a thread of it fails."""
    deadline = perf_counter() + TICK
    while not (future.running() or future.done()) and perf_counter() < deadline:
        sleep(1e-3)


# In the process


_given: tuple[Division, Evaluation]


def _begin(division, evaluation):
    """Keep the samples; Ctrl-C is for the parent, without which the process ends."""
    global _given
    _given = (division, evaluation)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a fit may keep memory, which the pool would take for a leak, and restart within the budget
    process_executor._USE_PSUTIL = False
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent):
    while os.getppid() == parent:
        sleep(1.0)
    os._exit(1)


def _measure(estimator, fold):
    """Return what came of a fit; an error of the learner is a result too."""
    division, evaluation = _given
    X, y, X_test, y_test = division.part(fold)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = perf_counter()
            estimator.fit(X, y)
            seconds = perf_counter() - began
            losses = evaluation.losses(
                estimator.transform(X), y, estimator.transform(X_test), y_test
            )
    except Exception as error:  # whatever the learner raises is its result
        return Measured(failure=_one_line(error))
    said = [entry.message for entry in caught if issubclass(entry.category, UserWarning)]
    warning = _one_line(said[0]) if said else ""
    return Measured(losses, seconds, *_proof(estimator), warning=warning)


def _proof(estimator):
    """Return the relative error of the certificate, and whether it is within the tolerance."""
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    for metric in steps[::-1]:
        if hasattr(metric, "certificate_"):
            gap = float(metric.certificate_.error)
            return gap, gap <= (getattr(metric, "tol", None) or PROVEN)
    return None, False


def _one_line(error):
    text = " ".join(str(error).split())
    name = "" if isinstance(error, UserWarning) else type(error).__name__
    return ": ".join(filter(None, (name, text)))
