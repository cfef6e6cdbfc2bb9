"""Row of a comparison: error, time and proof of one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .paired import decimals
from .vote import Evaluation, Vote

#: Baselines that are Euclidean metrics, as a sentence names them; the better one is to be beaten.
EUCLIDEAN = {"raw": "Euclid on raw features", "scaled": "Euclid on scaled features"}
#: Keys of all baselines, with their names in the table.
BASELINES = {"raw": "Euclid, raw", "scaled": "Euclid, scaled", "lda": "LDA", "nca": "NCA"}


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """Result of one method.

    Attributes
    ----------
    key : str
        "raw", "scaled", "lda" or "nca"; "model" for one model, and "rule" for the model with its
        own classifier; the names of several models.
    label : str
        Name in the table.
    losses : ndarray of shape (n_test,) or None
        Whether each tested sample is wrong, or its squared residual relative to the spread; None
        if there is no answer.
    seconds : float or None
        Mean time of the fits whose answers count; None if nothing was fitted.
    total_seconds : float
        Time of all fits and of their tests.
    n_settings, n_tried : int
        Number of settings of the options, and of those that were tried.
    options : dict
        Chosen options that differ from the model as it was given; of folds those of the first.
    gap : float or None
        Largest relative error of the certificates; None if there are none.
    proofs : tuple of bool
        Whether the error of each certificate is within the tolerance of the model. This is about
        the optimisation and not about usefulness.
    is_convex : bool
        False if the problem is known to have no proof.
    reason : str
        Reason why there is no answer; empty if there is one.
    warning : str
        First warning of the fits whose answers count.
    ending : {"complete", "budget", "stopped"}
        Whether all settings were tried, time was up, or the comparison was stopped.
    model : estimator or None
        The model with the chosen options, with the scaling before it, not fitted.
    predicted : ndarray of shape (n_test,) or None
        Predicted label of each tested sample.
    evaluation : Evaluation
        How samples are tested: a vote of neighbours, or their mean.
    """

    key: str
    label: str
    losses: Any = field(default=None, repr=False)
    seconds: float | None = None
    total_seconds: float = 0.0
    n_settings: int = 1
    n_tried: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    gap: float | None = None
    proofs: tuple[bool, ...] = ()
    is_convex: bool = True
    reason: str = ""
    warning: str = ""
    ending: str = "complete"
    model: Any = field(default=None, repr=False)
    predicted: Any = field(default=None, repr=False)
    evaluation: Evaluation = field(default_factory=Vote)

    @property
    def error(self) -> float:
        """Error on the tested samples, a share; NaN without an answer."""
        return float("nan") if self.losses is None else self.evaluation.error(self.losses)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the error; NaN without an answer."""
        if self.losses is None:
            return float("nan"), float("nan")
        return self.evaluation.interval(self.losses)

    @property
    def n_errors(self) -> int:
        """Number of tested samples that are classified wrong."""
        return 0 if self.losses is None else int(self.losses.sum())

    @property
    def is_baseline(self) -> bool:
        """Whether this is one of the baselines."""
        return self.key in BASELINES

    @property
    def is_euclidean(self) -> bool:
        """Whether this is a Euclidean metric, of which nothing is learned."""
        return self.key in EUCLIDEAN

    @property
    def is_proven(self) -> bool:
        """Whether there are certificates, and all are within the tolerance."""
        return bool(self.proofs) and all(self.proofs)

    @property
    def proof(self) -> str:
        """Gap if it is proven, "not proven" if it is too large, "not convex", or nothing."""
        if self.gap is None:
            return "" if self.is_convex else "not convex"
        return f"gap {self.gap:.0e}" if self.is_proven else "not proven"

    def percent(self) -> str:
        """Return the error as text, such as "4.5 %"."""
        return f"{100 * self.error:.{decimals(len(self.losses))}f} %"

    def describe_options(self) -> str:
        """Return the chosen options as text, such as "gamma=0.01"."""
        if self.losses is None or self.is_euclidean:
            return ""
        parts = (f"{name}={_short(value)}" for name, value in self.options.items())
        return ", ".join(parts) or "defaults"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but losses, predictions and model, for JSON."""
        names = ["label", "seconds", "total_seconds", "n_settings", "n_tried", "is_proven"]
        names += ["is_convex", "reason", "warning", "ending"]
        data = {name: getattr(self, name) for name in names}
        data["gap"] = self.gap if self.gap is None or np.isfinite(self.gap) else None
        data["options"] = {name: _plain(value) for name, value in self.options.items()}
        if self.losses is None:
            return data
        if self.evaluation.has_classes:
            data["errors"] = self.n_errors
        return data | {"error": self.error, "interval": list(self.interval)}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


def _plain(value: Any) -> Any:
    """Return an option as JSON has it: a number, a text, or its representation."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool, type(None))) else _short(value)
