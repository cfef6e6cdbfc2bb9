"""SelectionReport: what `FrobMetricCV` chose, by how much it is better, and whether it helps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .paired import PairedErrors, decimals, format_interval
from .report import Report
from .selection import Setting


@dataclass(frozen=True, eq=False, repr=False)
class SelectionReport(Report):
    """Held-out errors before and after learning, and the settings that were tried.

    Errors are those of a vote of
    three neighbours on samples that had no part in the fit. "After" is the error of the whole
    procedure: on each fold, that of the setting which the other folds choose.

    Attributes
    ----------
    setting : Setting
        The options that were chosen.
    euclidean : Setting
        The better Euclidean metric, raw or scaled, by the same samples.
    errors : PairedErrors
        Errors of that Euclidean metric (before) and of the procedure (after).
    kinds : tuple of (Setting, float, float)
        The best setting of each kind of start, with its 3-NN error and its score: the mean error of
        votes of 1, 3 and 5 neighbours, by which settings are compared. The best is first.
    n_settings : int
        Number of settings that were tried.
    rule : str
        Rule of classification that `predict` uses.
    rule_error : float
        Error of that rule with the chosen metric, on the samples by which it was chosen.
    n_folds : int
        Number of folds.
    """

    setting: Setting
    euclidean: Setting
    errors: PairedErrors
    kinds: tuple[tuple[Setting, float, float], ...]
    n_settings: int
    rule: str
    rule_error: float
    n_folds: int

    header = ("best of each kind", "3-NN errors", "score")

    @property
    def is_learned(self) -> bool:
        """Whether a learned metric was chosen, and not a Euclidean one."""
        return not self.setting.is_euclidean

    @property
    def verdict(self) -> str:
        """Verdict of `errors`; "no difference" if a Euclidean metric was chosen."""
        return self.errors.verdict if self.is_learned else "no difference"

    def line(self) -> str:
        """Return the report in one line.

        Such as "3-NN accuracy 0.951 -> 0.972, +0.021 [+0.004, +0.041], 3 folds of 300 samples".
        """
        errors, n = self.errors, self.errors.n_units
        before, after = 1 - errors.n_before / n, 1 - errors.n_after / n
        low, high = (-end for end in reversed(errors.interval))
        gain = f"{before:.3f} -> {after:.3f}, {after - before:+.3f} [{low:+.3f}, {high:+.3f}]"
        tested = f"3-NN accuracy {gain}, {self.n_folds} folds of {n:,} samples"
        if self.is_learned:
            return tested
        return f"no significant gain; {self.setting} is kept ({tested})"

    def sentences(self) -> list[str]:
        """Return the report in words."""
        digits, errors = decimals(self.errors.n_units), self.errors
        before, after = (
            f"{100 * n / errors.n_units:.{digits}f} %" for n in (errors.n_before, errors.n_after)
        )
        tested = f"{errors.n_units} held-out samples, {self.n_folds} folds"
        name = str(self.euclidean)
        if not self.is_learned:
            verdict = f"The learned metric does not help here; {self.setting} is kept."
            error = f"3-NN error of {self.setting}: {after} ({tested})."
            if self.euclidean != self.setting:  # it was not among the units to choose from
                error += f" {name} has {before}: give units='auto'."
            return [verdict, error, *self._choices()]
        verdict = {
            "helped": "The learned metric helps on new data",
            "hurt": "The learned metric does harm",
            "no difference": "The learned metric makes no difference to speak of",
            "nothing to gain": "There is nothing to gain, as Euclid makes no error",
            "unclear": "The learned metric made fewer errors, but these samples are too few to "
            "be sure",
        }[errors.verdict]
        if errors.verdict == "unclear" and errors.estimate >= 0:
            verdict = "These samples are too few to tell whether the learned metric helps"
        interval = format_interval(errors.interval, digits, sign="+")
        change = f"{100 * errors.estimate:+.{digits}f} points {interval}"
        return [
            f"{verdict}.",
            f"3-NN error {before} ({name}) -> {after}, {change} ({tested}).",
            *self._choices(),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "verdict": self.verdict,
            "is_learned": self.is_learned,
            "setting": vars(self.setting) | {"text": str(self.setting)},
            "euclidean": vars(self.euclidean) | {"text": str(self.euclidean)},
            "errors": self.errors.to_dict(),
            "kinds": [
                {"setting": str(setting), "error": error, "score": score}
                for setting, error, score in self.kinds
            ],
            "n_settings": self.n_settings,
            "rule": self.rule,
            "rule_error": self.rule_error,
            "n_folds": self.n_folds,
            "sentences": self.sentences(),
        }

    def cells(self) -> list[tuple[str, ...]]:
        digits = decimals(self.errors.n_units)
        return [
            (str(setting), f"{100 * error:.{digits}f} %", f"{100 * score:.{digits}f} %")
            for setting, error, score in self.kinds
        ]

    def strong(self) -> list[int]:
        return [i for i, (setting, *_) in enumerate(self.kinds) if setting == self.setting]

    def __repr__(self) -> str:
        return f"SelectionReport(verdict={self.verdict!r}, setting='{self.setting}')"

    def _choices(self) -> Iterator[str]:
        yield f"Chosen of {self.n_settings} settings: {self.setting}."
        error = f"{100 * self.rule_error:.{decimals(self.errors.n_units)}f} %"
        yield f"`predict` uses {self.rule}; its error on the samples that chose it is {error}."


def report_of(race: Any, setting: Setting, rule: str, rule_error: float) -> SelectionReport:
    """Return the report of a finished race."""
    euclidean = race.best([each for each in race.finished if each.is_euclidean])
    n_folds = race.n_folds_of_one_division
    before, weight = race.mistakes(lambda number: euclidean)
    chosen = race.choice_without if not setting.is_euclidean else lambda _: setting
    after, _ = race.mistakes(chosen)
    kinds: dict[Any, Setting] = {}
    for each in sorted(race.finished, key=race.score):
        kinds.setdefault((each.prior, each.units, each.is_euclidean), each)
    return SelectionReport(
        setting=setting,
        euclidean=euclidean,
        errors=PairedErrors.from_mistakes(before, after, weight),
        kinds=tuple((each, race.error(each), race.score(each)) for each in kinds.values()),
        n_settings=race.n_settings,
        rule=rule,
        rule_error=rule_error,
        n_folds=n_folds,
    )


def warn_of_choice(report: SelectionReport, chance: float, grid: Sequence[float] | None) -> None:
    """Warn of a choice that leads nowhere, or that is at the end of the values of C.

    `chance` is the error of always answering the most frequent class.
    """
    setting, errors = report.setting, report.errors
    before, after = (n / errors.n_units for n in (errors.n_before, errors.n_after))
    advice = (
        "Check that y belongs to the rows of X; more samples, other features or "
        "FrobMetric(kernel='rbf') may help"
    )
    text = ""
    if setting.is_euclidean and errors.n_after:
        error = f"{after:.1%} errors of 3 neighbours"
        text = f"the learned metric does not help here ({error}); {setting} is kept. {advice}"
    elif after >= chance - np.sqrt(chance * (1 - chance) / errors.n_units):
        others = f"always answering the most frequent class has {chance:.1%}"
        text = f"the chosen metric has {after:.1%} errors on held-out samples; {others}. {advice}"
    elif errors.n_broken - errors.n_fixed > np.sqrt(errors.n_broken + errors.n_fixed):
        others = f"{report.euclidean} has {before:.1%}. These samples may be too few to choose by"
        text = f"the chosen metric has {after:.1%} errors on held-out samples; {others}"
    elif grid is not None and len(grid) > 1 and setting.C in (grid[0], grid[-1]):
        wider = f"smaller than {grid[0]:g}" if grid[0] == setting.C else f"larger than {grid[-1]:g}"
        text = f"the best C is {setting.C:g}, at the end of Cs; give values {wider} too"
    if text:
        warnings.warn(text, UserWarning, stacklevel=3)
