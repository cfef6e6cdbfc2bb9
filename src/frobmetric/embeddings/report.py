"""AdapterReport: whether an adapted embedding is better on held-out objects, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ..evaluation.paired import PairedDifference
from ..evaluation.report import Report
from .choice import HeldOutScores


@dataclass(frozen=True, repr=False)
class AdapterReport(Report):
    """Scores of held-out units before and after, and the strengths that were tried.

    It has one sentence, `line`, and a table of the strengths. "After" is the score of the whole
    procedure: on each fold, that of the strength which the other folds choose.

    Attributes
    ----------
    strength : float
        Chosen strength; 0 if the embedding is unchanged.
    measure : str
        Measure of the scores, such as "nDCG@10".
    unit : str
        What was held out, such as "queries".
    n_folds : int
        Number of folds.
    gain : PairedDifference or None
        Gain on held-out units; None if it was not measured.
    scores : tuple of (float, float)
        Strengths that were tried, and their mean scores.
    reason : str
        Reason why no gain was measured; otherwise empty.

    Examples
    --------
    >>> from frobmetric.embeddings.report import AdapterReport
    >>> from frobmetric.evaluation.paired import PairedDifference
    >>> gain = PairedDifference(0.345, 0.361, 0.016, (0.003, 0.029), 225)
    >>> print(AdapterReport(100.0, "nDCG@10", "queries", 5, gain))
    nDCG@10 0.345 -> 0.361, +0.016 [+0.003, +0.029], 5 folds of 225 queries
    """

    strength: float
    measure: str
    unit: str
    n_folds: int
    gain: PairedDifference | None = None
    scores: tuple[tuple[float, float], ...] = ()
    reason: str = ""

    header = ("strength", "score")

    @classmethod
    def of(
        cls, scores: HeldOutScores, measure: str, unit: str, *, confidence: float = 0.95
    ) -> Self:
        """Return the report of held-out scores, with the strength that they choose."""
        strength, gain = scores.choose(confidence=confidence)
        means = tuple(zip(scores.strengths, scores.means.tolist(), strict=True))
        return cls(strength, measure, unit, len(scores.folds), gain, means)

    @property
    def is_changed(self) -> bool:
        """Whether a learned map was chosen, and not the unchanged embedding."""
        return self.strength > 0

    def sentences(self) -> list[str]:
        """Return the gain, or the reason why none was measured."""
        if self.gain is None:
            state = "embedding changed" if self.is_changed else "embedding unchanged"
            return [f"{state}: {self.reason}"]
        tested = f"{self.n_folds} folds of {self.gain.n_units:,} {self.unit}"
        gain = f"{self.measure} {self.gain}, {tested}"
        return [gain if self.is_changed else f"no significant gain; embedding unchanged ({gain})"]

    def cells(self) -> list[tuple[str, ...]]:
        return [(f"{C:g}" if C else "0 (unchanged)", f"{score:.4f}") for C, score in self.scores]

    def strong(self) -> list[int]:
        return [i for i, (C, _) in enumerate(self.scores) if self.strength == C]

    def __repr__(self) -> str:
        return f"<AdapterReport: {self.line()}>"
