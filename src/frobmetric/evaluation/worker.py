"""Fits that are tested: in this process, or in one that is ended at its time limit."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from time import perf_counter, sleep
from typing import Any, Self

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor, process_executor

from ..runtime.progress import advance
from .candidates import Candidate
from .division import Division, Samples, Split
from .models import is_classifier, mapping_of, proof_of
from .row import EUCLIDEAN
from .vote import Evaluation

#: Seconds between two looks at a fit that runs.
TICK = 0.2


@dataclass(frozen=True, eq=False)
class Measured:
    """Result of one fit: losses of the tested samples, or in one line why there are none.

    `predicted` are the predictions by neighbours and `answers` those of the model itself, if it
    classifies. `gap` is the relative error of the certificate, None if the learner has none.
    `fitted` is the model, if it was fitted in this process.
    """

    losses: Any = None
    predicted: Any = None
    answers: Any = None
    answer_losses: Any = None
    seconds: float = 0.0
    gap: float | None = None
    is_proven: bool = False
    warning: str = ""
    failure: str = ""
    fitted: Any = None


def measure(
    model: Any,
    part: tuple[Any, Any, Any, Any],
    evaluation: Evaluation,
    *,
    is_ready: bool = False,
    has_rule: bool = False,
) -> Measured:
    """Fit a model, unless it is ready, and test it; its own rule too if it has one."""
    X, y, X_test, y_test = part
    began = perf_counter()
    if not is_ready:
        model.fit(X, y)
    seconds = perf_counter() - began
    mapping = mapping_of(model)
    predicted = evaluation.predict(mapping.transform(X), y, mapping.transform(X_test))
    losses, answers, answer_losses = evaluation.losses(predicted, y_test, y), None, None
    if has_rule and evaluation.has_classes and is_classifier(model):
        answers = np.asarray(model.predict(X_test))
        answer_losses = evaluation.losses(answers, y_test, y)
    gap, is_proven = proof_of(model)
    return Measured(losses, predicted, answers, answer_losses, seconds, gap, is_proven)


@dataclass(frozen=True, eq=False)
class Fit:
    """A model to fit and to test by a split of the samples, on behalf of a candidate."""

    candidate: Candidate
    model: Any
    split: Split


class OutOfTimeError(Exception):
    """A fit that was ended at its time limit."""


class FitHere:
    """Fits in this process, without limit: models as they are, with samples as they are given.

    Errors of a model are raised. A baseline that fails is left out, but Euclid has no excuse.
    """

    def __init__(self, division: Division, evaluation: Evaluation) -> None:
        self.division, self.evaluation = division, evaluation

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        """Start what a fit needs; its time does not count."""

    def end(self) -> None:
        """End what runs."""

    def measure(self, fit: Fit, seconds: float, on_tick: Callable[[], None]) -> Measured:
        """Fit a model and test it; raise `OutOfTimeError` after this time, if it is limited.

        `on_tick` is called before a fit, or while it runs; what it raises ends the fit.
        """
        on_tick()
        if fit.candidate.is_baseline:
            return self._measure_baseline(fit)
        part = self.division.given.part(fit.model, fit.split)
        how = {"is_ready": fit.candidate.is_ready, "has_rule": fit.candidate.has_rule}
        measured = measure(fit.model, part, self.evaluation, **how)
        advance(1, "fits")
        return replace(measured, fitted=fit.model)

    def _measure_baseline(self, fit: Fit) -> Measured:
        try:
            part = self.division.numbers.part(fit.model, fit.split)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # collinear features, an NCA that stops early
                measured = measure(fit.model, part, self.evaluation)
        except (ValueError, np.linalg.LinAlgError) as error:
            if fit.candidate.key in EUCLIDEAN:
                raise
            return Measured(failure=_one_line(error))
        if fit.candidate.is_slow:
            advance(1, "fits")
        return _decoded(measured, self.division.decode)


class FitWorker(FitHere):
    """Process that fits estimators and tests them; a new one is started if it was ended.

    The process is independent of the main module, so scripts need no `__main__` guard, and classes
    that a script or a notebook defines are sent along. Use it as a context manager.
    """

    def __init__(self, division: Division, evaluation: Evaluation) -> None:
        super().__init__(division, evaluation)
        self._executor: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Start a process if there is none, and wait until it has imported what it needs."""
        if self._executor is None:
            given = (self.division.numbers, self.evaluation)
            self._executor = ProcessPoolExecutor(1, initializer=_begin, initargs=given)
            self._executor.submit(os.getpid).result()

    def measure(self, fit: Fit, seconds: float, on_tick: Callable[[], None]) -> Measured:
        """Fit a model and test it, unless the time is up before."""
        self.start()
        assert self._executor is not None
        has_rule = fit.candidate.has_rule
        future = self._executor.submit(measure_sent, fit.model, fit.split, has_rule)
        try:
            _wait_for(future, perf_counter() + seconds, on_tick)
        except BaseException:  # out of time, Ctrl-C, or what on_tick raises
            _wait_until_sent(future)
            self.end()
            raise
        error = future.exception()
        if error is None:
            return _decoded(future.result(), self.division.decode)
        self.end()
        if isinstance(error, process_executor.TerminatedWorkerError):
            return Measured(failure="its process was killed, or ran out of memory")
        return Measured(failure=f"it cannot be sent to a process: {_one_line(error)}")

    def end(self) -> None:
        """End the process at once, whatever it does."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)


def _decoded(measured: Measured, decode: Callable[[Any], Any]) -> Measured:
    """Return a result with labels in place of their numbers."""
    names = [name for name in ("predicted", "answers") if getattr(measured, name) is not None]
    return replace(measured, **{name: decode(getattr(measured, name)) for name in names})


def _wait_for(future: Future[Any], deadline: float, on_tick: Callable[[], None]) -> None:
    while not future.done():
        on_tick()
        left = deadline - perf_counter()
        if left <= 0:
            raise OutOfTimeError
        wait([future], timeout=min(TICK, left))


def _wait_until_sent(future: Future[Any]) -> None:
    """Wait until the pool has taken a task over: if it is ended before, a thread of it fails."""
    deadline = perf_counter() + TICK
    while not (future.running() or future.done()) and perf_counter() < deadline:
        sleep(1e-3)


# In the process


_given: tuple[Samples, Evaluation]


def _begin(samples: Samples, evaluation: Evaluation) -> None:
    """Keep the samples; Ctrl-C is for the parent, without which the process ends."""
    global _given
    _given = (samples, evaluation)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a fit may keep memory, which the pool would take for a leak, and restart within the budget
    process_executor._USE_PSUTIL = False
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        sleep(1.0)
    os._exit(1)


def measure_sent(model: Any, split: Split, has_rule: bool) -> Measured:
    """Fit and test an estimator; record its exception, or its first warning."""
    samples, evaluation = _given
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            part = samples.part(model, split)
            measured = measure(model, part, evaluation, has_rule=has_rule)
    except Exception as error:  # whatever the learner raises is its result
        return Measured(failure=_one_line(error))
    said = [entry.message for entry in caught if issubclass(entry.category, UserWarning)]
    return replace(measured, warning=_one_line(said[0]) if said else "")


def _one_line(error: BaseException | Warning | str) -> str:
    text = " ".join(str(error).split())
    name = "" if isinstance(error, UserWarning) else type(error).__name__
    return ": ".join(filter(None, (name, text)))
