"""Race of learners: each tries its settings within a budget; the rows so far survive Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from .candidates import Candidate
from .division import Division
from .evaluation import Evaluation
from .table import LearnerRow, LearnersComparison
from .worker import FitWorker, Measured, OutOfTimeError

#: Time of a fit to all training samples, relative to one to two thirds of them.
GROWTH = 2.0


class InterruptedComparison(KeyboardInterrupt):
    """Ctrl-C during a comparison; `comparison` has the rows that were finished."""

    def __init__(self, comparison: LearnersComparison) -> None:
        n_rows = len(comparison.measured)
        super().__init__(f"interrupted; `comparison` of this error has the {n_rows} finished rows")
        self.comparison = comparison


@dataclass(frozen=True)
class ComparisonProgress:
    """Stage of a comparison.

    Attributes
    ----------
    label : str
        Learner that is being fitted.
    number, n_learners : int
        Its number from 1, and the number of learners with the baselines.
    setting, n_settings : int
        Number of the setting, from 1, and the number of its settings.
    seconds : float
        Time that the learner has taken.
    budget : float
        Time that each learner may take.
    """

    label: str
    number: int
    n_learners: int
    setting: int
    n_settings: int
    seconds: float
    budget: float

    @property
    def share(self) -> float:
        """Share of the comparison that is done, if each learner took its whole budget."""
        return (self.number - 1 + min(1.0, self.seconds / self.budget)) / self.n_learners

    @property
    def seconds_left(self) -> float:
        """Most seconds that the learner has left."""
        return max(0.0, self.budget - self.seconds)


class _Stopped(Exception):  # noqa: N818
    """A true result of the callback."""


class Run:
    """The learners, one after the other, and the rows of those that are done."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        division: Division,
        evaluation: Evaluation,
        budget: float,
        callback: Callable[[ComparisonProgress], Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.candidates, self.division, self.evaluation = candidates, division, evaluation
        self.budget, self.callback, self.notes = budget, callback, notes
        self.rows: list[LearnerRow] = []
        self.is_complete = False

    def measure(self) -> None:
        """Measure all learners, or as many as there is patience for."""
        try:
            with FitWorker(self.division, self.evaluation) as worker:
                for candidate in self.candidates:
                    self._measure(Race(candidate, worker, self))
            self.is_complete = True
        except _Stopped:
            pass
        except KeyboardInterrupt as error:
            raise InterruptedComparison(self.comparison()) from error

    def _measure(self, race):
        try:
            race.run()
        finally:  # after Ctrl-C too
            self.rows.append(race.row())

    def tell(self, race: Race) -> None:
        """Call the callback."""
        if self.callback is None:
            return
        counts = (len(self.rows) + 1, len(self.candidates))
        setting = (race.setting + 1, len(race.candidate.settings))
        progress = (race.candidate.label, *counts, *setting, race.elapsed, self.budget)
        if self.callback(ComparisonProgress(*progress)):
            raise _Stopped

    def comparison(self) -> LearnersComparison:
        """Return the rows so far."""
        return LearnersComparison(
            rows=tuple(self.rows),
            evaluation=self.evaluation,
            n_train=len(self.division.y),
            n_test=len(self.division.y_test),
            budget=self.budget,
            is_complete=self.is_complete,
            notes=self.notes,
        )


class Race:
    """The settings of one learner, tried one after the other until its budget is spent."""

    def __init__(self, candidate: Candidate, worker: FitWorker, run: Run) -> None:
        self.candidate, self.worker, self.whole = candidate, worker, run
        self.spent, self._began = 0.0, None
        self.setting, self.n_tried, self.ending = 0, 0, "stopped"
        self.answer, self.chosen, self.failure = Measured(), 0, ""
        self.errors: dict[int, float] = {}
        self.reserve = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of the fits so far, with the one that runs."""
        return self.spent + (perf_counter() - self._began if self._began is not None else 0.0)

    def run(self) -> None:
        """Fit the learner as it is, try its settings, and fit the best one."""
        try:
            self._fit_whole(0)
            is_in_time = self._try_settings()
            best = min(self.errors, key=self.errors.__getitem__, default=0)
            if best != 0:
                self._fit_whole(best)
            self.ending = "complete" if is_in_time else "budget"
        except OutOfTimeError:
            self.ending = "budget"

    def _try_settings(self):
        """Try all settings; return whether there was time for all of them."""
        settings = self.candidate.settings
        try:
            for number in range(len(settings)) if len(settings) > 1 else ():
                self._validate(number)
        except OutOfTimeError:
            return False
        return True

    def _validate(self, number):
        """Keep the error of a setting on the folds; one that fails is no candidate."""
        folds = range(len(self.whole.division.folds))
        parts = []
        for fold in folds:
            measured = self._fit(number, fold)
            if measured.failure:
                self.n_tried += bool(number)
                return
            parts.append(measured)
        error = self.whole.evaluation.error(np.concatenate([part.losses for part in parts]))
        self.n_tried += bool(number)  # setting 0 was counted with its whole fit
        if number and error < min(self.errors.values(), default=np.inf):
            self.reserve = GROWTH * float(np.mean([part.seconds for part in parts]))
        self.errors[number] = error

    def _fit_whole(self, number):
        """Fit a setting to all training samples; if that works, it is the answer."""
        if number:
            self.reserve = 0.0
        measured = self._fit(number, None)
        self.n_tried += not number
        if not measured.failure:
            self.answer, self.chosen = measured, number
        elif not number:
            self.failure = measured.failure

    def _fit(self, number, fold):
        self.setting = number
        self.worker.start()  # a new process is no fault of the learner
        left = self.whole.budget - self.reserve - self.spent
        if left <= 0:
            raise OutOfTimeError
        model = self.candidate.with_options(self.candidate.settings[number])
        self._began = perf_counter()
        try:
            return self.worker.measure(model, fold, left, lambda: self.whole.tell(self))
        finally:
            self.spent, self._began = self.elapsed, None

    def row(self) -> LearnerRow:
        """Return what is known of the learner."""
        candidate, answer = self.candidate, self.answer
        options = candidate.settings[self.chosen]
        has_answer = answer.losses is not None
        return LearnerRow(
            key=candidate.key,
            label=candidate.label,
            losses=answer.losses,
            seconds=answer.seconds if has_answer else None,
            total_seconds=self.spent,
            n_settings=len(candidate.settings),
            n_tried=self.n_tried,
            options=options,
            gap=answer.gap,
            is_proven=answer.is_proven,
            is_convex=candidate.is_convex,
            reason="" if has_answer else self._reason(),
            warning=answer.warning,
            ending=self.ending,
            model=candidate.with_options(options),
        )

    def _reason(self):
        if self.failure:
            return self.failure
        return f"no answer in {self.whole.budget:g} s" if self.ending == "budget" else "stopped"
