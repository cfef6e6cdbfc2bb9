"""Comparison: errors of a metric beside those of baselines, as a table and a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks.text import in_html
from ..runtime.tables import html_list, html_table, paragraph, text_table
from .hints import Hint
from .paired import PairedErrors, decimals, error_interval, format_interval

#: Names of the Euclidean metrics in a sentence; the better one is what a model has to beat.
EUCLIDEAN = {"raw": "Euclid on raw features", "scaled": "Euclid on scaled features"}
HEADER = ("", "errors", "95 % interval", "fit", "model minus it")


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """Errors of one method on the test samples.

    Attributes
    ----------
    key : str
        "raw", "scaled", "lda", "nca", "model", or "rule": the model with its own classifier.
    label : str
        Name of the method in the table.
    mistakes : ndarray of shape (n_test,) or None
        Whether each test sample is classified wrong; None if the method was left out.
    seconds : float or None
        Mean time of a fit; None if there was none.
    skipped : str
        Reason why the method was left out, empty if it was not.
    predicted : ndarray of shape (n_test,) or None
        Predicted class of each test sample; None if the method was left out.
    """

    key: str
    label: str
    mistakes: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = None
    skipped: str = ""
    predicted: np.ndarray | None = field(default=None, repr=False)

    @property
    def n_errors(self) -> int:
        """Number of test samples that are classified wrong."""
        return 0 if self.mistakes is None else int(self.mistakes.sum())

    @property
    def error(self) -> float:
        """Share of the test samples that are classified wrong; NaN if left out."""
        return float("nan") if self.mistakes is None else float(self.mistakes.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error; NaN if left out."""
        if self.mistakes is None:
            return float("nan"), float("nan")
        return error_interval(self.n_errors, len(self.mistakes))

    def percent(self) -> str:
        """Return the error as text, such as "4.5 %"."""
        return f"{100 * self.error:.{decimals(len(self.mistakes))}f} %"  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of `compare`: nearest-neighbour errors of a model and of baselines on new samples.

    `print` shows it as a table with sentences, a notebook as HTML.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        The baselines, the model, and the model with its own classifier if it has one.
        `comparison["lda"]` is the row with this key.
    n_neighbors : int
        Number of neighbours that vote.
    n_train : int
        Number of samples that neighbours are searched in, of the smallest fold.
    n_folds : int
        Number of folds; 0 with given test samples.
    majority_error : float
        Share of the test samples that the most frequent class of the training samples is wrong for.
    certified : tuple of bool
        Whether the metric of each fit is certified to its tolerance; empty if the model has no
        certificate. This is about the optimisation and not about usefulness.
    notes : tuple of str
        Remarks on the data.
    hints : tuple of Hint
        Suggestions, which know the options of the model.
    truth : ndarray of shape (n_test,) or None
        Classes of the test samples, in the order of `mistakes` of the rows.
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
    n_neighbors: int
    n_train: int
    n_folds: int = 0
    majority_error: float = 1.0
    certified: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    truth: np.ndarray | None = None
    tested: np.ndarray | None = None

    def __getitem__(self, key: str) -> ComparisonRow:
        for row in self.rows:
            if row.key == key:
                return row
        raise KeyError(f"{key!r}; the rows are {[row.key for row in self.rows]}")

    @property
    def measured(self) -> tuple[ComparisonRow, ...]:
        """Rows that were not left out."""
        return tuple(row for row in self.rows if row.mistakes is not None)

    @property
    def n_test(self) -> int:
        """Number of test samples."""
        return len(self["model"].mistakes)  # type: ignore[arg-type]

    @property
    def euclidean(self) -> ComparisonRow:
        """Better one of the Euclidean rows, raw and scaled; raw if they are equal.

        It is chosen by the errors on the test samples, which favours it, and not the model.
        """
        rows = [row for row in self.measured if row.key in EUCLIDEAN]
        return min(rows, key=lambda row: row.n_errors)

    @property
    def errors(self) -> PairedErrors:
        """Errors of the better Euclidean metric (before) and of the model (after)."""
        return self.against(self.euclidean.key)

    @property
    def verdict(self) -> str:
        """Verdict of `PairedErrors` against the better Euclid: "helped", "hurt", "unclear", ..."""
        return self.errors.verdict

    @property
    def is_certified(self) -> bool | None:
        """Whether all metrics are certified as optimal; None if the model has no certificate."""
        return all(self.certified) if self.certified else None

    def against(self, key: str, *, model: str = "model") -> PairedErrors:
        """Return the errors of a row (before) and of the model (after) on the same samples.

        Parameters
        ----------
        key : str
            Key of the row.
        model : {"model", "rule"}, default="model"
            Key of the row that takes the place of the model.
        """
        masks = (self[key].mistakes, self[model].mistakes)
        return PairedErrors.from_mistakes(*masks)  # type: ignore[arg-type]

    def better_baselines(self) -> list[str]:
        """Return a sentence on each baseline besides Euclid with fewer errors than the model."""
        sentences, model = [], self["model"]
        for row in self.measured:
            if row.key in (*EUCLIDEAN, "model", "rule") or row.n_errors >= model.n_errors:
                continue
            is_clear = self.against(row.key).verdict == "hurt"
            how = "more than chance explains" if is_clear else "which may be chance"
            sentences.append(
                f"{row.label} has fewer errors than {model.label}: {row.percent()} against "
                f"{model.percent()}, {how}."
            )
        return sentences

    def sentences(self) -> list[str]:
        """Return the verdict in words, and what is known about the optimisation."""
        return [*self._verdicts(), *self.better_baselines(), *self._optimisation(), *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single mistakes, for JSON."""
        rows: dict[str, Any] = {}
        for row in self.rows:
            data: dict[str, Any] = {"label": row.label}
            if row.mistakes is None:
                rows[row.key] = data | {"skipped": row.skipped}
                continue
            data |= {"errors": row.n_errors, "error": row.error, "interval": list(row.interval)}
            data["seconds"] = row.seconds
            if row.key != "model":
                data["model_minus_it"] = self.against(row.key).to_dict()
            rows[row.key] = data
        names = ("n_neighbors", "n_train", "n_test", "n_folds", "majority_error", "verdict")
        return {name: getattr(self, name) for name in names} | {
            "euclidean": self.euclidean.key,
            "errors": self.errors.to_dict(),
            "rows": rows,
            "certified": self.is_certified,
            "sentences": self.sentences(),
            "hints": [hint.to_dict() for hint in self.hints],
        }

    def to_text(self, *, command_line: bool = False) -> str:
        """Return the table and the sentences, at most 79 columns wide.

        Parameters
        ----------
        command_line : bool, default=False
            Whether hints name options of the command line, and not those of Python.
        """
        blocks = [paragraph(self._title()), text_table(HEADER, self._cells())]
        blocks += ["\n".join(paragraph(sentence) for sentence in self.sentences())]
        hints = [hint.sentence(command_line=command_line) for hint in self.hints]
        if hints:
            lines = (paragraph(f"* {hint}", indent="  ") for hint in hints)
            blocks.append("\n".join(["What to try next:", *lines]))
        return "\n\n".join(blocks)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        errors = ", ".join(f"{row.key}={row.error:.4f}" for row in self.measured)
        return f"Comparison(verdict={self.verdict!r}, n_test={self.n_test}, {errors})"

    def _repr_html_(self) -> str:
        strong = [i for i, row in enumerate(self.rows) if row.key == "model"]
        first, *others = self.sentences()
        opening, colon, rest = first.partition(": ")
        hints = [hint.sentence() for hint in self.hints]
        heading = "<div>What to try next:</div>" if hints else ""
        return (
            f"<div><div>{in_html(self._title())}</div>"
            f"{html_table(HEADER, self._cells(), strong=strong)}"
            f"<div><b>{in_html(opening)}</b>{colon}{in_html(rest)}</div>"
            f"{''.join(f'<div>{in_html(text)}</div>' for text in others)}"
            f"{heading}{html_list(hints)}</div>"
        )

    def _title(self):
        errors = f"Errors of a vote of the {self.n_neighbors} nearest neighbours"
        if self.n_folds > 1:
            tested = f"each of {self.n_test} samples tested by what was learned without it"
            return f"{errors}; {tested} ({self.n_folds} folds)"
        return f"{errors}; {self.n_test} test samples, neighbours from {self.n_train} others"

    def _cells(self):
        digits = decimals(self.n_test)
        for row in self.rows:
            if row.mistakes is None:
                yield row.label, "left out", "", "", ""
                continue
            seconds = "" if row.seconds is None else f"{row.seconds:.2f} s"
            points = ""
            if row.key != "model":
                points = self.against(row.key).points().replace("points ", "")
            yield row.label, row.percent(), format_interval(row.interval, digits), seconds, points

    def _verdicts(self):
        model, euclidean = self["model"], self.euclidean
        errors = self.errors
        openings = {
            "helped": f"{model.label} helps here",
            "hurt": f"{model.label} does harm here",
            "no difference": f"{model.label} makes no difference here",
            "nothing to gain": "There is nothing to gain here",
            "unclear": f"These samples are too few to tell whether {model.label} helps",
        }
        both = len([row for row in self.measured if row.key in EUCLIDEAN]) > 1
        rival = EUCLIDEAN[euclidean.key] + ", the better Euclid," * both
        yield (
            f"{openings[errors.verdict]}: {model.percent()} errors, where {rival} has "
            f"{euclidean.percent()}. Difference {errors}."
        )
        if "rule" in [row.key for row in self.rows]:
            rule, errors = self["rule"], self.against(euclidean.key, model="rule")
            yield (
                f"{model.label} {rule.label}: {rule.percent()} errors. Difference to the same "
                f"Euclid {errors}: {errors.verdict}."
            )

    def _optimisation(self):
        if self.certified:
            fits = (
                "The fit is" if len(self.certified) == 1 else f"All {len(self.certified)} fits are"
            )
            if not all(self.certified):
                n_bad = len(self.certified) - sum(self.certified)
                fits = f"{n_bad} of {len(self.certified)} fits are NOT"
            yield f"Optimisation: {fits} certified as optimal, which does not mean useful."
        for row in self.rows:
            if row.skipped:
                yield f"{row.label} was left out: {row.skipped}."
