"""Comparison: errors, times and proofs of models and of baselines, as a table and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..runtime.tables import html_list, paragraph
from .hints import Hint
from .paired import PairedDifference, PairedErrors, decimals, format_interval
from .report import Report
from .row import EUCLIDEAN, ComparisonRow
from .vote import Evaluation

#: Columns of the table of one model; of several; and of several where there is room.
ONE = ("", "errors", "95 % interval", "fit", "model minus it")
SEVERAL = ("", "error", "95 % interval", "minus Euclid", "fit", "proof")
WHOLE = (*SEVERAL[:4], "verdict", "fit", "in all", "settings", "chosen options", "proof")
#: Verdicts as a narrow table has them.
SHORT = {"no difference": "same", "nothing to gain": "no gain"}


class InterruptedComparison(KeyboardInterrupt):
    """Ctrl-C during a comparison; `comparison` has the rows that were finished.

    Examples
    --------
    >>> from frobmetric.evaluation import InterruptedComparison
    >>> issubclass(InterruptedComparison, KeyboardInterrupt)  # `except Exception` lets it through
    True
    """

    def __init__(self, comparison: Comparison) -> None:
        n_rows = len(comparison.measured)
        super().__init__(f"interrupted; `comparison` of this error has the {n_rows} finished rows")
        self.comparison = comparison


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Report):
    """Result of `compare`: errors of models and of baselines on samples not learned from.

    `print` shows it as a table with sentences, a notebook as HTML. With one model the verdict is
    about this model and the better Euclid; with several it tells which one is best, which ones the
    samples cannot tell from it, and which one to prefer.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        The baselines, then the models. `comparison["lda"]` is the row with this key.
    n_train : int
        Number of samples to learn from, in the smallest part.
    n_folds : int
        Number of folds; 0 with test samples that were given, or held out once.
    budget : float or None
        Seconds that each model had; None without limit.
    constant_error : float
        Error of always answering the most frequent class, or the mean.
    is_complete : bool
        False if the comparison was stopped before all models were done.
    notes : tuple of str
        Remarks on the data.
    hints : tuple of Hint
        Suggestions, which know the options of the model; only with one model.
    truth : ndarray of shape (n_test,) or None
        Labels of the tested samples, in the order of `losses` of the rows.
    tested : ndarray of shape (n_test,) or None
        Their row numbers in X; None if test samples were given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric, compare
    >>> result = compare(FrobMetric(), X, y, cv=3)
    >>> [row.key for row in result.rows]
    ['raw', 'scaled', 'lda', 'nca', 'model']
    """

    rows: tuple[ComparisonRow, ...]
    n_train: int
    n_folds: int = 0
    budget: float | None = None
    constant_error: float = 1.0
    is_complete: bool = True
    notes: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    truth: Any = None
    tested: Any = None

    n_leading = 1

    def __getitem__(self, key: str) -> ComparisonRow:
        for row in self.rows:
            if row.key == key:
                return row
        raise KeyError(f"{key!r}; the rows are {[row.key for row in self.rows]}")

    @property
    def is_of_one(self) -> bool:
        """Whether one model is compared with baselines."""
        return any(row.key == "model" for row in self.rows)

    @property
    def is_answered(self) -> bool:
        """Whether one model and a Euclidean metric were measured, so that there is a verdict."""
        has_model = any(row.key == "model" for row in self.measured)
        return has_model and self._euclidean is not None

    @property
    def evaluation(self) -> Evaluation:
        """How samples are tested: a vote of neighbours, or their mean."""
        return self.rows[0].evaluation

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that predict a sample."""
        return self.evaluation.n_neighbors

    @property
    def measured(self) -> tuple[ComparisonRow, ...]:
        """Rows with an answer."""
        return tuple(row for row in self.rows if row.losses is not None)

    @property
    def n_test(self) -> int:
        """Number of tested samples."""
        return len(self.measured[0].losses) if self.measured else 0

    @property
    def euclidean(self) -> ComparisonRow:
        """Better one of the Euclidean rows, raw if they are equal.

        It is chosen by the errors on the tested samples, which favours it, and not the model.
        """
        if self._euclidean is None:
            raise ValueError("neither Euclid on raw nor on scaled features was measured")
        return self._euclidean

    @property
    def is_certified(self) -> bool | None:
        """Whether all models are certified as optimal; None if none has a certificate."""
        proofs = [proof for row in self.rows for proof in row.proofs]
        return all(proofs) if proofs else None

    def against(self, before: str, after: str = "model") -> PairedDifference:
        """Return the difference of two rows on the same samples, by their keys."""
        return self.evaluation.pair(self[before].losses, self[after].losses)

    # One model

    @property
    def errors(self) -> PairedDifference:
        """Errors of the better Euclidean metric (before) and of the model (after)."""
        return self.against(self.euclidean.key)

    @property
    def verdict(self) -> str:
        """Verdict of `errors`: "helped", "hurt", "unclear", "no difference", "nothing to gain"."""
        return self.errors.verdict

    def better_baselines(self) -> list[str]:
        """Return a sentence on each baseline besides Euclid with fewer errors than the model."""
        sentences, model = [], self["model"]
        for row in self.measured:
            if not row.is_baseline or row.is_euclidean or row.error >= model.error:
                continue
            is_clear = self.against(row.key).verdict == "hurt"
            how = "more than chance explains" if is_clear else "which may be chance"
            sentences.append(
                f"{row.label} has fewer errors than {model.label}: {row.percent()} against "
                f"{model.percent()}, {how}."
            )
        return sentences

    # Several models

    @property
    def best(self) -> ComparisonRow | None:
        """Row with the smallest error; of equal ones a proven one, then the fastest."""
        return min(self.measured, key=lambda row: (row.error, *_order(row)), default=None)

    @property
    def indistinguishable(self) -> tuple[ComparisonRow, ...]:
        """Other rows whose error is not significantly larger than the smallest one."""
        best = self.best
        return tuple(
            row
            for row in self.measured
            if best is not None
            and row is not best
            and self.against(best.key, row.key).verdict != "hurt"
        )

    @property
    def preferred(self) -> ComparisonRow | None:
        """Row to take: of those not distinguishable from the best a proven one, and the fastest.

        Euclidean rows are preferred only if nothing learned is among them.
        """
        rows = [row for row in (self.best, *self.indistinguishable) if row is not None]
        return min(rows, key=lambda row: (row.is_euclidean, *_order(row)), default=None)

    # Words and tables

    def sentences(self) -> list[str]:
        """Return the verdict or the findings in words, and what happened on the way."""
        if not self.is_of_one:
            return [" ".join(self._findings()), *self._events(), *self.notes]
        if not self.is_answered:
            return ["There is no answer.", *self._events(), *self.notes]
        optimisation = self._optimisation()
        return [
            *self._verdicts(),
            *self.better_baselines(),
            *optimisation,
            *self._events(),
            *self.notes,
        ]

    def caption(self) -> str:
        name, n_test = self.evaluation.name, self.n_test
        tested = f"{n_test} held-out samples, neighbours from {self.n_train} others"
        if self.n_folds > 1:
            tested = f"each of {n_test} samples tested by what was learned without it"
            tested += f" ({self.n_folds} folds)"
        text = f"{name[0].upper()}{name[1:]}; {tested}."
        if self.budget is None:
            return text
        scaled = "Models have scaled features (FrobMetric scales them itself) and "
        scaled = "" if self.is_of_one else scaled
        return f"{text} {scaled}{self.budget:g} s each to choose options and fit."

    def columns(self) -> tuple[str, ...]:
        return ONE if self.is_of_one else SEVERAL

    def cells(self) -> list[tuple[str, ...]]:
        make = self._cells_of_one if self.is_of_one else self._cells
        return [make(row) for row in self.rows]

    def whole(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        if self.is_of_one:
            return ONE, self.cells()
        return WHOLE, [self._whole_cells(row) for row in self.rows]

    def strong(self) -> list[int]:
        best = self["model"] if self.is_of_one else self.best
        return [i for i, row in enumerate(self.rows) if row is best]

    def to_text(self, *, command_line: bool = False) -> str:
        """Return the sentences and the table, at most 79 columns wide.

        Parameters
        ----------
        command_line : bool, default=False
            Whether hints name options of the command line, and not those of Python.
        """
        blocks = [super().to_text()]
        tried = [row for row in self.measured if row.n_settings > 1]
        blocks.append("\n".join(paragraph(_choice(row), indent="  ") for row in tried))
        hints = [hint.sentence(command_line=command_line) for hint in self.hints]
        lines = [paragraph(f"* {hint}", indent="  ") for hint in hints]
        blocks.append("\n".join(["What to try next:", *lines]) if lines else "")
        return "\n\n".join(filter(None, blocks))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but losses, predictions and models, for JSON."""
        names = ["n_neighbors", "n_train", "n_test", "n_folds", "budget", "constant_error"]
        names += ["is_complete"]
        kinds = {"euclidean": self._euclidean, "best": self.best, "preferred": self.preferred}
        keys = {name: None if row is None else row.key for name, row in kinds.items()}
        data = {name: getattr(self, name) for name in names} | keys
        data |= {"error": self.evaluation.name, "certified": self.is_certified}
        if self.is_answered:
            data |= {"verdict": self.verdict, "errors": self.errors.to_dict()}
        return data | {
            "indistinguishable": [row.key for row in self.indistinguishable],
            "rows": {row.key: row.to_dict() | self._difference_dict(row) for row in self.rows},
            "sentences": self.sentences(),
            "hints": [hint.to_dict() for hint in self.hints],
        }

    def __repr__(self) -> str:
        errors = ", ".join(f"{row.key}={row.error:.4f}" for row in self.measured)
        verdict = f"verdict={self.verdict!r}, " if self.is_answered else ""
        return f"Comparison({verdict}n_test={self.n_test}, {errors})"

    def _html_end(self) -> str:
        hints = [hint.sentence() for hint in self.hints]
        return f"<div>What to try next:</div>{html_list(hints)}" if hints else ""

    @property
    def _euclidean(self) -> ComparisonRow | None:
        rows = [row for row in self.measured if row.is_euclidean]
        return min(rows, key=lambda row: row.error, default=None)

    def _pair_of(self, row: ComparisonRow) -> PairedDifference | None:
        """Return the difference that the table shows: the model or the row minus the other."""
        if self.is_of_one:
            is_other = row.key != "model" and self["model"].losses is not None
            return self.against(row.key) if is_other and row.losses is not None else None
        if row.losses is None or self._euclidean in (None, row):
            return None
        return self.against(self.euclidean.key, row.key)

    def _difference_dict(self, row: ComparisonRow) -> dict[str, Any]:
        pair = self._pair_of(row)
        name = "model_minus_it" if self.is_of_one else "minus_euclid"
        return {} if pair is None else {name: pair.to_dict()}

    def _interval(self, row: ComparisonRow) -> str:
        return format_interval(row.interval, decimals(self.n_test))

    def _cells_of_one(self, row: ComparisonRow) -> tuple[str, ...]:
        if row.losses is None:
            return row.label, "left out", "", "", ""
        pair = self._pair_of(row)
        points = "" if pair is None else pair.points().replace("points ", "")
        return row.label, row.percent(), self._interval(row), _seconds(row.seconds), points

    def _cells(self, row: ComparisonRow) -> tuple[str, ...]:
        if row.losses is None:
            return row.label, "none", "", "", "", ""
        pair, difference = self._pair_of(row), ""
        if pair is not None:
            points, verdict = pair.points().partition(" ")[0], pair.verdict
            difference = f"{points} {SHORT.get(verdict, verdict)}"
        cells = (row.label, row.percent(), self._interval(row), difference)
        return (*cells, _seconds(row.seconds), row.proof)

    def _whole_cells(self, row: ComparisonRow) -> tuple[str, ...]:
        tried = "" if row.is_euclidean else f"{row.n_tried} of {row.n_settings}"
        total = "" if row.is_euclidean else _seconds(row.total_seconds)
        if row.losses is None:
            return (row.label, row.reason, "", "", "", "", total, tried, "", row.proof)
        pair = self._pair_of(row)
        points = "" if pair is None else pair.points().replace("points ", "")
        verdict = "" if pair is None else pair.verdict
        cells = (row.label, row.percent(), self._interval(row), points, verdict)
        return (*cells, _seconds(row.seconds), total, tried, row.describe_options(), row.proof)

    def _verdicts(self) -> Iterator[str]:
        model, rival, errors = self["model"], self.euclidean, self.errors
        openings = {
            "helped": f"{model.label} helps here",
            "hurt": f"{model.label} does harm here",
            "no difference": f"{model.label} makes no difference here",
            "nothing to gain": "There is nothing to gain here",
            "unclear": f"These samples are too few to tell whether {model.label} helps",
        }
        both = len([row for row in self.measured if row.is_euclidean]) > 1
        name = EUCLIDEAN[rival.key] + ", the better Euclid," * both
        change = str(errors) if isinstance(errors, PairedErrors) else errors.points()
        yield (
            f"{openings[errors.verdict]}: {model.percent()} errors, where {name} has "
            f"{rival.percent()}. Difference {change}."
        )
        if "rule" in [row.key for row in self.rows]:
            rule, errors = self["rule"], self.against(rival.key, "rule")
            yield (
                f"{model.label} {rule.label}: {rule.percent()} errors. Difference to the same "
                f"Euclid {errors}: {errors.verdict}."
            )

    def _optimisation(self) -> list[str]:
        proofs = self["model"].proofs
        if not proofs:
            return []
        fits = "The fit is" if len(proofs) == 1 else f"All {len(proofs)} fits are"
        if not all(proofs):
            fits = f"{len(proofs) - sum(proofs)} of {len(proofs)} fits are NOT"
        return [f"Optimisation: {fits} certified as optimal, which does not mean useful."]

    def _findings(self) -> Iterator[str]:
        best, preferred = self.best, self.preferred
        if best is None or preferred is None:
            yield f"There is no answer: no model was done in {self.budget or np.inf:g} s."
            return
        others = self.indistinguishable
        yield f"{best.label} has the smallest error, {best.percent()}."
        if not others and len(self.measured) > 1:
            yield "All others are significantly worse."
        if others:
            names = _listed([row.label for row in others])
            yield f"Not distinguishable from it by these {self.n_test} samples: {names}."
        if best.is_euclidean:
            yield "Nothing learned is shown to be better."
        elif any(row.is_euclidean for row in others):
            yield "As Euclid is among them, it is not shown that learning helps."
        if others and not preferred.is_euclidean:
            kind = "of the proven ones the fastest" if preferred.is_proven else "the fastest"
            facts = f"{preferred.percent()} in {_seconds(preferred.seconds)}"
            yield f"Prefer {preferred.label}: {kind} ({facts})."

    def _events(self) -> Iterator[str]:
        for row in self.rows:
            if row.reason:
                yield f"{row.label} was left out: {row.reason.rstrip('.')}."
            elif row.ending == "budget":
                moment = f"after {row.n_tried} of {row.n_settings} settings"
                if row.n_tried == row.n_settings:
                    moment = "before the best setting was fitted to all samples"
                yield f"{row.label}: time was up {moment}; its last complete answer counts."
        for row in self.rows:
            if row.warning:
                yield f"{row.label} warns: {row.warning.rstrip('.')}."
        if not self.is_complete:
            yield "The comparison was stopped before all models were done."


def _order(row: ComparisonRow) -> tuple[bool, float]:
    """Return what decides between rows of equal use: a proof, then the time of the fit."""
    return not row.is_proven, row.seconds or 0.0


def _choice(row: ComparisonRow) -> str:
    tried = f"{row.n_tried} of {row.n_settings} settings in {_seconds(row.total_seconds)}"
    return f"{row.label}: {row.describe_options()}; tried {tried}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    digits = 3 if seconds < 0.1 else 2 if seconds < 10 else 0
    return f"{seconds:.{digits}f} s"


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; those with a comma are told apart by semicolons."""
    mark = "; " if any("," in name for name in names) else ", "
    return mark.join(names)
