"""Threshold of pairs, with what is promised of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

import numpy as np
from scipy.stats import beta

#: Relative rounding error of a bound.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Promise:
    """Threshold with a bound on its false matches; `print` shows one sentence.

    Attributes
    ----------
    threshold : float
        Pairs whose score is at least the threshold are called similar.
    max_false_match : float
        Promised upper bound on the false match rate.
    confidence : float
        Probability, over the draw of the calibration pairs, that the promise is kept.
    n_units : int
        Number of independent dissimilar pairs that it rests on.
    n_false : int
        Number of these that reach the threshold.
    bound : float
        Upper confidence bound of Clopper and Pearson on the false match rate, given `n_false` of
        `n_units`; at most `max_false_match`.
    true_match_rate : float
        Share of the similar calibration pairs that reach the threshold; NaN if there are none. It
        is an estimate, not promised.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.neighbors import promised_threshold
    >>> promise = promised_threshold(np.arange(600) / 600, np.repeat([-1, 1], 300))
    >>> print(promise.n_false, "of", promise.n_units, "bound", round(promise.bound, 4))
    0 of 300 bound 0.0099
    >>> promise.true_match_rate
    1.0
    """

    threshold: float
    max_false_match: float
    confidence: float
    n_units: int
    n_false: int
    bound: float
    true_match_rate: float

    def __post_init__(self) -> None:
        is_rate = all(0 < rate < 1 for rate in (self.max_false_match, self.confidence, self.bound))
        if not (is_rate and 0 <= self.n_false < self.n_units) or self.true_match_rate > 1:
            raise ValueError(f"a promise of {self.n_false} of {self.n_units} pairs is none")
        bound = float(beta.ppf(self.confidence, self.n_false + 1, self.n_units - self.n_false))
        if not isclose(self.bound, bound) or bound > self.max_false_match * (1 + ROUNDING):
            raise ValueError(
                f"{self.n_false} of {self.n_units} pairs prove a bound of {bound:.3g} with "
                f"confidence {self.confidence:.3g}, and neither {self.bound:.3g} nor "
                f"{self.max_false_match:.3g}"
            )

    def __str__(self) -> str:
        found = f"found in {self.n_false} of {self.n_units} independent pairs"
        matches = f"{self.true_match_rate:.1%} of the similar pairs match"
        if np.isnan(self.true_match_rate):
            matches = "no similar pairs were given"
        return (
            f"At scores of {self.threshold:.6g} and more, false matches are at most "
            f"{self.max_false_match:.3g} with confidence {self.confidence:.3g} ({found}, bound "
            f"{self.bound:.3g}); {matches}."
        )
