"""Trials: each method of a comparison tries its settings within a budget, test by test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from .candidates import Candidate
from .division import Division, Split
from .models import rule_of
from .row import EUCLIDEAN, ComparisonRow
from .vote import Evaluation
from .worker import Fit, FitHere, Measured, OutOfTimeError

#: Time of a fit to all training samples, relative to one to two thirds of them.
GROWTH = 2.0


@dataclass(frozen=True)
class ComparisonProgress:
    """Stage of a comparison.

    Attributes
    ----------
    label : str
        Method that is being fitted.
    number, n_learners : int
        Its number from 1, and the number of methods with the baselines.
    setting, n_settings : int
        Number of the setting, from 1, and the number of its settings.
    seconds : float
        Time that the method has taken.
    budget : float
        Time that each method may take; infinity without a budget.
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
        """Share of the comparison that is done, if each method took its whole budget."""
        return (self.number - 1 + min(1.0, self.seconds / self.budget)) / self.n_learners

    @property
    def seconds_left(self) -> float:
        """Most seconds that the method has left."""
        return max(0.0, self.budget - self.seconds)


class StoppedError(Exception):
    """A true result of the callback."""


class Contest:
    """The methods, one after the other, and the rows of those that are done."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        division: Division,
        evaluation: Evaluation,
        budget: float,
        random_state: Any = 0,
        callback: Callable[[ComparisonProgress], Any] | None = None,
    ) -> None:
        self.candidates, self.division, self.evaluation = candidates, division, evaluation
        self.budget, self.random_state, self.callback = budget, random_state, callback
        self.rows: list[ComparisonRow] = []
        self.fitted: Any = None
        self.is_complete = False
        self._number, self._spent = 0, 0.0

    def run(self, fitter: FitHere) -> None:
        """Measure all methods, or as many as there is patience for."""
        try:
            for candidate in self.candidates:
                self._number += 1
                self._measure(candidate, fitter)
            self.is_complete = True
        except StoppedError:
            pass

    def _measure(self, candidate: Candidate, fitter: FitHere) -> None:
        if candidate.obstacle:
            row = ComparisonRow(candidate.key, candidate.label, evaluation=self.evaluation)
            self.rows.append(replace(row, reason=candidate.obstacle))
            return
        splits = self.division.splits
        trials: list[Trial] = []
        self._spent = 0.0
        try:
            for split in splits:
                trials.append(Trial(candidate, split, self, self.budget / len(splits)))
                trials[-1].run(fitter)
                self._spent += trials[-1].spent
        finally:  # after Ctrl-C too
            self._append_rows(candidate, trials)

    def _append_rows(self, candidate: Candidate, trials: Sequence[Trial]) -> None:
        answers = [trial.answer for trial in trials]
        if len(trials) == len(self.division.splits) and all(a.losses is not None for a in answers):
            self.fitted = answers[-1].fitted
        else:
            answers = []
        self.rows.append(self._row(candidate, trials, answers))
        if answers and answers[0].answers is not None:
            own = np.concatenate([answer.answers for answer in answers])
            losses = np.concatenate([answer.answer_losses for answer in answers])
            row = ComparisonRow("rule", rule_of(candidate.model), losses)
            self.rows.append(replace(row, predicted=own, evaluation=self.evaluation))

    def _row(
        self, candidate: Candidate, trials: Sequence[Trial], answers: Sequence[Measured]
    ) -> ComparisonRow:
        """Return what is known of a method; without answers of all tests there is none."""
        options = candidate.settings[trials[0].chosen]
        gaps = [answer.gap for answer in answers if answer.gap is not None]
        endings = {trial.ending for trial in trials}
        is_timed = bool(answers) and not candidate.is_ready and candidate.key not in EUCLIDEAN
        return ComparisonRow(
            key=candidate.key,
            label=candidate.label,
            losses=np.concatenate([a.losses for a in answers]) if answers else None,
            predicted=np.concatenate([a.predicted for a in answers]) if answers else None,
            seconds=float(np.mean([a.seconds for a in answers])) if is_timed else None,
            total_seconds=sum(trial.spent for trial in trials),
            n_settings=len(candidate.settings),
            n_tried=min(trial.n_tried for trial in trials),
            options=options,
            gap=max(gaps, default=None),
            proofs=tuple(a.is_proven for a in answers if a.gap is not None),
            is_convex=candidate.is_convex,
            reason="" if answers else next(filter(None, (t.reason() for t in trials)), "stopped"),
            warning=next((a.warning for a in answers if a.warning), ""),
            ending=next(each for each in ("stopped", "budget", "complete") if each in endings),
            model=candidate.with_options(options),
            evaluation=self.evaluation,
        )

    def tell(self, trial: Trial) -> None:
        """Call the callback; a true result ends the comparison."""
        if self.callback is None:
            return
        counts = (self._number, len(self.candidates))
        setting = (trial.setting + 1, len(trial.candidate.settings))
        seconds = (self._spent + trial.elapsed, self.budget)
        if self.callback(ComparisonProgress(trial.candidate.label, *counts, *setting, *seconds)):
            raise StoppedError


class Trial:
    """The settings of one method in one test, one after the other until the budget is spent."""

    def __init__(self, candidate: Candidate, split: Split, contest: Contest, budget: float) -> None:
        self.candidate, self.split, self.contest, self.budget = candidate, split, contest, budget
        self.spent = 0.0
        self._began: float | None = None
        self.setting, self.n_tried, self.ending = 0, 0, "stopped"
        self.answer, self.chosen, self.failure = Measured(), 0, ""
        self.errors: dict[int, float] = {}
        self.reserve = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of the fits so far, with the one that runs."""
        return self.spent + (perf_counter() - self._began if self._began is not None else 0.0)

    def run(self, fitter: FitHere) -> None:
        """Fit the model as it is, try its settings, and fit the best one."""
        try:
            self._fit_whole(0, fitter)
            is_in_time = self._try_settings(fitter)
            best = min(self.errors, key=self.errors.__getitem__, default=0)
            if best != 0:
                self._fit_whole(best, fitter)
            self.ending = "complete" if is_in_time else "budget"
        except OutOfTimeError:
            self.ending = "budget"

    def reason(self) -> str:
        """Return why there is no answer; empty if there is one."""
        if self.answer.losses is not None:
            return ""
        if self.failure:
            return self.failure
        return f"no answer in {self.budget:g} s" if self.ending == "budget" else "stopped"

    def _try_settings(self, fitter: FitHere) -> bool:
        """Try all settings; return whether there was time for all of them."""
        settings = self.candidate.settings
        if len(settings) == 1:
            return True
        folds = self.contest.division.choices(self.split, self.contest.random_state)
        try:
            for number in range(len(settings)):
                self._validate(number, folds, fitter)
        except OutOfTimeError:
            return False
        return True

    def _validate(self, number: int, folds: Sequence[Split], fitter: FitHere) -> None:
        """Keep the error of a setting on the folds; one that fails is not a candidate."""
        parts = []
        for fold in folds:
            measured = self._fit(number, fold, fitter)
            if measured.failure:
                self.n_tried += bool(number)
                return
            parts.append(measured)
        error = self.contest.evaluation.error(np.concatenate([part.losses for part in parts]))
        self.n_tried += bool(number)  # setting 0 was counted with its whole fit
        if number and error < min(self.errors.values(), default=np.inf):
            self.reserve = GROWTH * float(np.mean([part.seconds for part in parts]))
        self.errors[number] = error

    def _fit_whole(self, number: int, fitter: FitHere) -> None:
        """Fit a setting to all training samples; if that works, it is the answer."""
        if number:
            self.reserve = 0.0
        measured = self._fit(number, self.split, fitter)
        self.n_tried += not number
        if not measured.failure:
            self.answer, self.chosen = measured, number
        elif not number:
            self.failure = measured.failure

    def _fit(self, number: int, split: Split, fitter: FitHere) -> Measured:
        self.setting = number
        fitter.start()  # a new process is no fault of the learner
        left = self.budget - self.reserve - self.spent
        if left <= 0:
            raise OutOfTimeError
        model = self.candidate.with_options(self.candidate.settings[number])
        self._began = perf_counter()
        try:
            fit = Fit(self.candidate, model, split)
            return fitter.measure(fit, left, lambda: self.contest.tell(self))
        finally:
            self.spent, self._began = self.elapsed, None
