"""LearnersComparison: errors, times and proofs of several learners, as a table and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...checks.text import in_html
from ...runtime.tables import html_table, markdown_table, paragraph, text_table
from ..comparison import EUCLIDEAN
from ..paired import PairedDifference, decimals, format_interval
from .evaluation import Evaluation

HEADER = ("", "error", "95 % interval", "minus Euclid", "fit", "proof")
#: Verdicts as a narrow table has them.
SHORT = {"no difference": "same", "nothing to gain": "no gain"}
MEASURED = ("", "error", "95 % interval", "minus Euclid", "verdict", "fit", "in all")
WHOLE_HEADER = (*MEASURED, "settings", "chosen options", "proof")


@dataclass(frozen=True, eq=False)
class LearnerRow:
    """Result of one learner, or of a baseline.

    Attributes
    ----------
    key : str
        "raw", "scaled" or "lda", or the name of the learner.
    label : str
        Name in the table.
    losses : ndarray of shape (n_test,) or None
        Whether each held-out sample is wrong, or its squared residual relative to the spread; None
        if there is no answer.
    seconds : float or None
        Time of the fit whose answer counts.
    total_seconds : float
        Time of all fits and of their tests.
    n_settings, n_tried : int
        Number of settings of the options, and of those that were tried.
    options : dict
        Chosen options that differ from the learner as it was given.
    gap : float or None
        Relative error of the certificate; None if the learner has none.
    is_proven : bool
        Whether the gap is within the tolerance of the learner.
    is_convex : bool
        False if the problem is known to have no proof.
    reason : str
        Reason why there is no answer; empty if there is one.
    warning : str
        First warning of the fit whose answer counts.
    ending : {"complete", "budget", "stopped"}
        Whether all settings were tried, time was up, or the comparison was stopped.
    model : estimator or None
        The learner with the chosen options, with the scaling before it, not fitted.
    """

    key: str
    label: str
    losses: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = None
    total_seconds: float = 0.0
    n_settings: int = 1
    n_tried: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    gap: float | None = None
    is_proven: bool = False
    is_convex: bool = True
    reason: str = ""
    warning: str = ""
    ending: str = "complete"
    model: Any = field(default=None, repr=False)

    @property
    def is_baseline(self) -> bool:
        """Whether this is a Euclidean metric, of which nothing is learned."""
        return self.key in EUCLIDEAN

    @property
    def proof(self) -> str:
        """Gap if it is proven, "not proven" if it is too large, "not convex", or nothing."""
        if self.gap is None:
            return "" if self.is_convex else "not convex"
        return f"gap {self.gap:.0e}" if self.is_proven else "not proven"

    def describe_options(self) -> str:
        """Return the chosen options as text, such as "gamma=0.01"."""
        if self.losses is None or self.is_baseline:
            return ""
        parts = (f"{name}={_short(value)}" for name, value in self.options.items())
        return ", ".join(parts) or "defaults"


@dataclass(frozen=True, eq=False, repr=False)
class LearnersComparison:
    """Result of `compare(X, y)`: errors, times and proofs of several learners on held-out samples.

    `print` shows it as a table with sentences, a notebook as HTML.

    Attributes
    ----------
    rows : tuple of LearnerRow
        The baselines, then the learners. `comparison["LMNN"]` is the row with this key.
    evaluation : Evaluation
        How samples are tested: a vote of neighbours, or their mean.
    n_train, n_test : int
        Number of samples to learn from, and of held-out ones.
    budget : float
        Seconds that each learner had.
    is_complete : bool
        False if the comparison was stopped before all learners were done.
    notes : tuple of str
        Remarks on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import LearnersComparison
    >>> from frobmetric.evaluation.comparing.evaluation import Vote
    >>> from frobmetric.evaluation.comparing.table import LearnerRow
    >>> rows = [LearnerRow(key, key, np.arange(100) < n) for key, n in (("raw", 30), ("LMNN", 20))]
    >>> result = LearnersComparison(tuple(rows), Vote(), n_train=200, n_test=100, budget=60.0)
    >>> result.best.key, result.percent(result["LMNN"]), result.percent(result.euclidean)
    ('LMNN', '20.0 %', '30.0 %')
    """

    rows: tuple[LearnerRow, ...]
    evaluation: Evaluation
    n_train: int
    n_test: int
    budget: float
    is_complete: bool = True
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> LearnerRow:
        for row in self.rows:
            if row.key == key:
                return row
        raise KeyError(f"{key!r}; the rows are {[row.key for row in self.rows]}")

    @property
    def measured(self) -> tuple[LearnerRow, ...]:
        """Rows with an answer."""
        return tuple(row for row in self.rows if row.losses is not None)

    @property
    def euclidean(self) -> LearnerRow | None:
        """Better one of the Euclidean rows on these samples; None if it was not measured."""
        rows = [row for row in self.measured if row.is_baseline]
        return min(rows, key=self.error, default=None)

    @property
    def best(self) -> LearnerRow | None:
        """Row with the smallest error; of equal ones a proven one, then the fastest."""
        return min(self.measured, key=lambda row: (self.error(row), *_order(row)), default=None)

    @property
    def indistinguishable(self) -> tuple[LearnerRow, ...]:
        """Other rows whose error is not significantly larger than the smallest one."""
        best = self.best
        return tuple(
            row
            for row in self.measured
            if best is not None and row is not best and self.against(best, row).verdict != "hurt"
        )

    @property
    def preferred(self) -> LearnerRow | None:
        """Row to take: of those not distinguishable from the best a proven one, and the fastest.

        Euclidean rows are preferred only if nothing learned is among them.
        """
        rows = [row for row in (self.best, *self.indistinguishable) if row is not None]
        return min(rows, key=lambda row: (row.is_baseline, *_order(row)), default=None)

    def error(self, row: LearnerRow) -> float:
        """Return the error of a row; NaN without an answer."""
        return float("nan") if row.losses is None else self.evaluation.error(row.losses)

    def interval(self, row: LearnerRow) -> tuple[float, float]:
        """Return the 95 % interval of the error of a row; NaN without an answer."""
        if row.losses is None:
            return float("nan"), float("nan")
        return self.evaluation.interval(row.losses)

    def against(self, before: LearnerRow, after: LearnerRow) -> PairedDifference:
        """Return the difference of two rows on the same samples, such as Euclid and a learner."""
        return self.evaluation.pair(before.losses, after.losses)  # type: ignore[arg-type]

    def percent(self, row: LearnerRow) -> str:
        """Return the error of a row as text, such as "4.5 %"."""
        return f"{100 * self.error(row):.{decimals(self.n_test)}f} %"

    def sentences(self) -> list[str]:
        """Return the findings, and what happened on the way."""
        return [" ".join(self._findings()), *self._events(), *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the losses and the models, for JSON."""
        names = {name: getattr(self, name) for name in ("euclidean", "best", "preferred")}
        return {
            "error": self.evaluation.name,
            "n_neighbors": self.evaluation.n_neighbors,
            "n_train": self.n_train,
            "n_test": self.n_test,
            "budget": self.budget,
            "is_complete": self.is_complete,
            **{name: None if row is None else row.key for name, row in names.items()},
            "indistinguishable": [row.key for row in self.indistinguishable],
            "rows": {row.key: self._row_dict(row) for row in self.rows},
            "sentences": self.sentences(),
        }

    def to_text(self) -> str:
        """Return the findings, the table and what was chosen, at most 79 columns wide."""
        findings, *others = self.sentences()
        cells = [self._cells(row) for row in self.rows]
        blocks = [paragraph(findings), paragraph(self._title()), text_table(HEADER, cells)]
        tried = [row for row in self.measured if row.n_settings > 1]
        blocks.append("\n".join(paragraph(_choice(row), indent="  ") for row in tried))
        blocks.append("\n".join(paragraph(sentence, indent="  ") for sentence in others))
        return "\n\n".join(filter(None, blocks))

    def to_markdown(self) -> str:
        """Return the findings and the whole table as Markdown."""
        findings, *others = self.sentences()
        table = markdown_table(WHOLE_HEADER, [self._whole_cells(row) for row in self.rows])
        events = "\n".join(f"* {sentence}" for sentence in others)
        return "\n\n".join(filter(None, (findings, self._title(), table, events))) + "\n"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        errors = ", ".join(f"{row.key}={self.error(row):.4f}" for row in self.measured)
        return f"LearnersComparison(n_test={self.n_test}, {errors})"

    def _repr_html_(self) -> str:
        findings, *others = self.sentences()
        strong = [i for i, row in enumerate(self.rows) if row is self.best]
        cells = [self._whole_cells(row) for row in self.rows]
        return (
            f"<div><div><b>{in_html(findings)}</b></div><div>{in_html(self._title())}</div>"
            f"{html_table(WHOLE_HEADER, cells, strong=strong)}"
            f"{''.join(f'<div>{in_html(text)}</div>' for text in others)}</div>"
        )

    def _title(self):
        name = self.evaluation.name
        return (
            f"{name[0].upper()}{name[1:]}; {self.n_test} held-out samples, neighbours from "
            f"{self.n_train} others. Learners have scaled features (FrobMetric scales them "
            f"itself) and {self.budget:g} s each to choose options and fit."
        )

    def _cells(self, row):
        if row.losses is None:
            return (row.label, "none", *[""] * (len(HEADER) - 2))[: len(HEADER)]
        interval = format_interval(self.interval(row), decimals(self.n_test))
        points, verdict = self._difference(row)
        difference = f"{points.partition(' ')[0]} {SHORT.get(verdict, verdict)}".strip()
        seconds = "" if row.is_baseline else _seconds(row.seconds)
        return row.label, self.percent(row), interval, difference, seconds, row.proof

    def _whole_cells(self, row):
        tried = "" if row.is_baseline else f"{row.n_tried} of {row.n_settings}"
        total = "" if row.is_baseline else _seconds(row.total_seconds)
        if row.losses is None:
            return (row.label, row.reason, "", "", "", "", total, tried, "", row.proof)
        interval = format_interval(self.interval(row), decimals(self.n_test))
        seconds = "" if row.is_baseline else _seconds(row.seconds)
        cells = (row.label, self.percent(row), interval, *self._difference(row), seconds, total)
        return (*cells, tried, row.describe_options(), row.proof)

    def _difference(self, row):
        """Return the difference to the better Euclid as text, and the verdict."""
        euclidean = self.euclidean
        if euclidean is None or row is euclidean:
            return "", ""
        pair = self.against(euclidean, row)
        return pair.points().replace("points ", ""), pair.verdict

    def _findings(self):
        best, preferred = self.best, self.preferred
        if best is None or preferred is None:
            yield f"There is no answer: no learner was done in {self.budget:g} s."
            return
        others = self.indistinguishable
        yield f"{best.label} has the smallest error, {self.percent(best)}."
        if not others and len(self.measured) > 1:
            yield "All others are significantly worse."
        if others:
            names = _listed([row.label for row in others])
            yield f"Not distinguishable from it by these {self.n_test} samples: {names}."
        if best.is_baseline:
            yield "Nothing learned is shown to be better."
        elif any(row.is_baseline for row in others):
            yield "As Euclid is among them, it is not shown that learning helps."
        if others and not preferred.is_baseline:
            kind = "of the proven ones the fastest" if preferred.is_proven else "the fastest"
            facts = f"{self.percent(preferred)} in {_seconds(preferred.seconds)}"
            yield f"Prefer {preferred.label}: {kind} ({facts})."

    def _events(self):
        for row in self.rows:
            if row.reason:
                yield f"{row.label}: {row.reason}."
            elif row.ending == "budget":
                moment = f"after {row.n_tried} of {row.n_settings} settings"
                if row.n_tried == row.n_settings:
                    moment = "before the best setting was fitted to all samples"
                yield f"{row.label}: time was up {moment}; its last complete answer counts."
        for row in self.rows:
            if row.warning:
                yield f"{row.label} warns: {row.warning.rstrip('.')}."
        if not self.is_complete:
            yield "The comparison was stopped before all learners were done."

    def _row_dict(self, row):
        names = ("label", "seconds", "total_seconds", "n_settings", "n_tried", "gap", "is_proven")
        names += ("is_convex", "reason", "warning", "ending")
        data = {name: getattr(row, name) for name in names}
        data["gap"] = row.gap if row.gap is None or np.isfinite(row.gap) else None
        data["options"] = {name: _plain(value) for name, value in row.options.items()}
        if row.losses is not None:
            data |= {"error": self.error(row), "interval": list(self.interval(row))}
        euclidean = self.euclidean
        if row.losses is not None and euclidean is not None and row is not euclidean:
            data["minus_euclid"] = self.against(euclidean, row).to_dict()
        return data


def _order(row):
    """Return what decides between rows of equal use: a proof, then the time of the fit."""
    return not row.is_proven, row.seconds


def _choice(row):
    tried = f"{row.n_tried} of {row.n_settings} settings in {_seconds(row.total_seconds)}"
    return f"{row.label}: {row.describe_options()}; tried {tried}"


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.3f} s"
        if seconds < 0.1
        else f"{seconds:.2f} s"
        if seconds < 10
        else f"{seconds:.0f} s"
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; those with a comma are told apart by semicolons."""
    mark = "; " if any("," in name for name in names) else ", "
    return mark.join(names)


def _short(value):
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


def _plain(value):
    """Return an option as JSON has it: a number, a text, or its representation."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool, type(None))) else _short(value)
