"""SelectionReport: what `FrobMetricCV` chose, by how much it is better, and whether it helps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from operator import index
from typing import Any, Self

import numpy as np

from ..checks.text import in_html
from ..core.warning import warn_user
from ..runtime.tables import html_table, paragraph, text_table
from .paired import PairedErrors, decimals, format_interval
from .selection import Setting

HEADER = ("best of each kind", "3-NN errors", "score")


@dataclass(frozen=True, eq=False, repr=False)
class SelectionReport:
    """Held-out errors before and after learning, and the settings that were tried.

    `print` shows it as sentences with a table, a notebook as HTML. Errors are those of a vote of
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

    @property
    def is_learned(self) -> bool:
        """Whether a learned metric was chosen, and not a Euclidean one."""
        return not self.setting.is_euclidean

    @property
    def verdict(self) -> str:
        """Verdict of `errors`, "kept" if a Euclidean metric was kept."""
        return self.errors.verdict if self.is_learned else "kept"

    def line(self) -> str:
        """Return the report in one line, as `AdapterReport` has it.

        Such as "3-NN accuracy 0.951 -> 0.972, +0.021 [+0.004, +0.041], 3 folds of 300 samples".
        """
        errors, n = self.errors, self.errors.n_samples
        before, after = 1 - errors.n_before / n, 1 - errors.n_after / n
        low, high = (-end for end in reversed(errors.interval))
        gain = f"{before:.3f} -> {after:.3f}, {after - before:+.3f} [{low:+.3f}, {high:+.3f}]"
        tested = f"3-NN accuracy {gain}, {self.n_folds} folds of {n:,} samples"
        if self.is_learned:
            return tested
        return f"no significant gain; {self.setting} is kept ({tested})"

    def sentences(self) -> list[str]:
        """Return the report in words."""
        digits, errors = decimals(self.errors.n_samples), self.errors
        before, after = (
            f"{100 * n / errors.n_samples:.{digits}f} %" for n in (errors.n_before, errors.n_after)
        )
        tested = f"{errors.n_samples} held-out samples, {self.n_folds} folds"
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
        if errors.verdict == "unclear" and errors.difference >= 0:
            verdict = "These samples are too few to tell whether the learned metric helps"
        interval = format_interval(errors.interval, digits, sign="+")
        change = f"{100 * errors.difference:+.{digits}f} points {interval}"
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

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return the report whose `to_fields` gave these values."""
        kinds = tuple(
            (Setting(**setting), float(error), float(score))
            for setting, error, score in fields["kinds"]
        )
        settings = {name: Setting(**fields[name]) for name in ("setting", "euclidean")}
        errors = PairedErrors(**{name: index(n) for name, n in fields["errors"].items()})
        values: dict[str, Any] = {n: index(fields[n]) for n in ("n_settings", "n_folds")}
        values |= {"rule": str(fields["rule"]), "rule_error": float(fields["rule_error"])}
        return cls(**fields | settings | values | {"errors": errors, "kinds": kinds})

    def __str__(self) -> str:
        lines = "\n".join(paragraph(sentence) for sentence in self.sentences())
        return f"{lines}\n\n{text_table(HEADER, self._cells())}"

    def __repr__(self) -> str:
        return f"SelectionReport(verdict={self.verdict!r}, setting='{self.setting}')"

    def _repr_html_(self) -> str:
        first, *others = self.sentences()
        strong = [i for i, (setting, *_) in enumerate(self.kinds) if setting == self.setting]
        lines = "".join(f"<div>{in_html(text)}</div>" for text in others)
        table = html_table(HEADER, self._cells(), strong=strong)
        return f"<div><div><b>{in_html(first)}</b></div>{lines}{table}</div>"

    def _choices(self):
        yield f"Chosen of {self.n_settings} settings: {self.setting}."
        error = f"{100 * self.rule_error:.{decimals(self.errors.n_samples)}f} %"
        yield f"`predict` uses {self.rule}; its error on the samples that chose it is {error}."

    def _cells(self):
        digits = decimals(self.errors.n_samples)
        return [
            (str(setting), f"{100 * error:.{digits}f} %", f"{100 * score:.{digits}f} %")
            for setting, error, score in self.kinds
        ]


def report_of(race, setting, rule, rule_error):
    """Return the report of a finished race."""
    euclidean = race.best([each for each in race.finished if each.is_euclidean])
    n_folds = race.n_folds_of_one_division
    before, weight = race.mistakes(lambda number: euclidean)
    chosen = race.choice_without if not setting.is_euclidean else lambda _: setting
    after, _ = race.mistakes(chosen)
    kinds = {}
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


def warn_of_choice(report, chance, grid):
    """Warn of a choice that leads nowhere, or that is at the end of the values of C.

    `chance` is the error of always answering the most frequent class.
    """
    setting, errors = report.setting, report.errors
    before, after = (n / errors.n_samples for n in (errors.n_before, errors.n_after))
    advice = (
        "Check that y belongs to the rows of X; more samples, other features or "
        "FrobMetric(kernel='rbf') may help"
    )
    text = ""
    if setting.is_euclidean and errors.n_after:
        error = f"{after:.1%} errors of 3 neighbours"
        text = f"the learned metric does not help here ({error}); {setting} is kept. {advice}"
    elif after >= chance - np.sqrt(chance * (1 - chance) / errors.n_samples):
        others = f"always answering the most frequent class has {chance:.1%}"
        text = f"the chosen metric has {after:.1%} errors on held-out samples; {others}. {advice}"
    elif errors.n_broken - errors.n_fixed > np.sqrt(errors.n_broken + errors.n_fixed):
        others = f"{report.euclidean} has {before:.1%}. These samples may be too few to choose by"
        text = f"the chosen metric has {after:.1%} errors on held-out samples; {others}"
    elif grid is not None and len(grid) > 1 and setting.C in (grid[0], grid[-1]):
        wider = f"smaller than {grid[0]:g}" if grid[0] == setting.C else f"larger than {grid[-1]:g}"
        text = f"the best C is {setting.C:g}, at the end of Cs; give values {wider} too"
    if text:
        warn_user(text)
