"""Statistics of repeated measurements: means, standard deviations, paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

#: Confidence of an interval.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """Mean of some measurements."""

    n: int
    mean: float
    std: float | None  # standard deviation of one measurement; None if there is only one

    @classmethod
    def of(cls, values):
        """Return the Mean of some values; None if there are no values."""
        if not len(values):
            return None
        std = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return cls(len(values), float(np.mean(values)), std)

    @property
    def error(self):
        """Standard error of the mean; None for a single measurement."""
        return None if self.std is None else self.std / sqrt(self.n)


def mean_of_known(values):
    """Return the mean of the values that are not None; None if there is none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def binomial_std(percent, n):
    """Return the standard deviation of a share of n independent samples, in percent."""
    return float(sqrt(max(0.0, percent * (100 - percent) / n)))


@dataclass(frozen=True)
class Difference:
    """Mean of differences, mostly paired, and its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int  # number of pairs
    over: str  # kind of the pairs: one of "runs", "samples"

    @property
    def is_clear(self):
        """Return whether zero is outside; an interval without width says nothing."""
        return (self.low > 0 or self.high < 0) and self.low < self.high


def paired_difference(differences, test_share=None):
    """Return the Difference of pairs of samples, or of runs if a share is given.

    Of samples it has the normal interval, as in McNemar's table. Of at least two runs it has
    Student's t interval with the variance of Nadeau and Bengio (2003), where `test_share` is the
    size of a test part relative to its training part: runs are splits of the same samples, and the
    more they share, the less a further one says.
    """
    n, over = len(differences), "samples" if test_share is None else "runs"
    mean = float(np.mean(differences))
    std = float(np.std(differences, ddof=1)) if n > 1 else 0.0
    distribution = stats.norm if test_share is None else stats.t(n - 1)
    quantile = float(distribution.ppf((1 + CONFIDENCE) / 2))
    half = quantile * std * sqrt(1 / n + (test_share or 0.0))
    return Difference(mean, mean - half, mean + half, n, over)


def independent_difference(percent, other, n):
    """Return the Difference of two shares of n samples, with the normal interval."""
    mean = percent - other
    half = stats.norm.ppf((1 + CONFIDENCE) / 2) * np.hypot(
        binomial_std(percent, n), binomial_std(other, n)
    )
    return Difference(mean, float(mean - half), float(mean + half), n, "samples")
