"""PairedErrors: two classifiers on the same samples, with intervals, a test and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binomtest

from ..checks.arguments import as_weights
from ..core.checks import read_values

#: Level of the test; intervals have the coverage 1 - LEVEL.
LEVEL = 0.05
#: Quantile of the normal distribution that belongs to LEVEL.
Z = 1.959963984540054
#: A difference of error rates below this, one percentage point, is none.
NEGLIGIBLE = 0.01
#: Step away from a root that is not the one that is searched.
BESIDE = 1e-9


@dataclass(frozen=True)
class PairedErrors:
    """Errors of two classifiers, `before` and `after`, on the same samples.

    Only the samples that one of the two gets wrong tell them apart: `n_fixed` are wrong before and
    right after, `n_broken` the other way round. Intervals and test regard the samples as drawn
    independently. They describe what chance in the choice of test samples can do; that other
    training samples give another classifier is not in them.

    Parameters
    ----------
    n_samples : int
    n_both : int
        Samples that both get wrong.
    n_fixed, n_broken : int
        Samples that only `before` gets wrong, and that only `after` gets wrong.

    Examples
    --------
    >>> from frobmetric.evaluation import PairedErrors
    >>> errors = PairedErrors.from_mistakes([True] * 12 + [False] * 88, [False] * 99 + [True])
    >>> errors.verdict
    'helped'
    >>> print(errors)
    -11.0 points [-19.0, -4.8]; 12 put right, 1 spoiled; exact McNemar test p = 0.0034
    """

    n_samples: int
    n_both: int
    n_fixed: int
    n_broken: int

    def __post_init__(self) -> None:
        n_wrong = (self.n_both, self.n_fixed, self.n_broken)
        if min(n_wrong) < 0 or not 0 < self.n_samples >= sum(n_wrong):
            raise ValueError(f"{vars(self)} counts errors that are not possible")

    @classmethod
    def from_mistakes(
        cls, before: ArrayLike, after: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count two masks of mistakes on the same samples.

        With weights, the counts are the weighted shares of (sum w)^2 / (sum w^2) samples, rounded:
        so many samples of equal weight say as much.
        """
        given = {"before": before, "after": after}
        read = {name: read_values(mask, name=name) for name, mask in given.items()}
        old, new = read.values()
        for name, mask in read.items():
            if mask.dtype != bool or mask.ndim != 1 or mask.shape != old.shape or not len(mask):
                raise ValueError(
                    f"{name} has dtype {mask.dtype} and shape {mask.shape}; expected two masks, "
                    "true at a mistake, of the same samples"
                )
        masks = (old & new, old & ~new, new & ~old)
        weight = as_weights(sample_weight, len(old), of="samples")
        n_samples = effective_size(weight)
        counts = (n_samples * (weight @ mask) / weight.sum() for mask in masks)
        return cls(round(n_samples), *(round(count) for count in counts))

    @property
    def n_before(self) -> int:
        """Number of mistakes before."""
        return self.n_both + self.n_fixed

    @property
    def n_after(self) -> int:
        """Number of mistakes after."""
        return self.n_both + self.n_broken

    @property
    def difference(self) -> float:
        """Error rate after minus error rate before: negative if there are fewer errors."""
        return (self.n_broken - self.n_fixed) / self.n_samples

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the difference: Tango's score interval for paired proportions.

        It contains zero if and only if the exact test does not reject: the score test is bolder
        with few samples, and where the two disagree the interval is extended to zero.
        """
        low, high = _score_interval(self.n_samples, self.n_fixed, self.n_broken)
        return (min(low, 0.0), max(high, 0.0)) if self.pvalue > LEVEL else (low, high)

    @property
    def pvalue(self) -> float:
        """P-value of the exact two-sided McNemar test.

        If neither classifier is better, each sample that only one gets wrong is a fair coin.
        """
        n_different = self.n_fixed + self.n_broken
        return float(binomtest(self.n_fixed, n_different).pvalue) if n_different else 1.0

    @property
    def verdict(self) -> str:
        """One of "helped", "hurt", "no difference", "nothing to gain" and "unclear".

        "helped" and "hurt" are significant at 5 %. "no difference" means that the interval lies
        within one percentage point of zero, "nothing to gain" that there was no error before, and
        "unclear" that the samples are too few to tell.
        """
        if self.pvalue <= LEVEL:
            return "helped" if self.n_fixed > self.n_broken else "hurt"
        if not self.n_before:
            return "nothing to gain"
        return "no difference" if np.abs(self.interval).max() <= NEGLIGIBLE else "unclear"

    @property
    def n_needed(self) -> float:
        """Number of samples at which a difference of this size would be significant.

        It is a guess, from the observed rates; infinity if there is no difference.
        """
        n_different, excess = self.n_fixed + self.n_broken, abs(self.n_fixed - self.n_broken)
        if not excess:
            return np.inf
        # (excess r - 1)^2 = Z^2 n_different r, McNemar's test with continuity correction
        b = 2 * excess + Z**2 * n_different
        ratio = (b + np.sqrt(b**2 - 4 * excess**2)) / (2 * excess**2)
        return float(self.n_samples * ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        counts = ("n_samples", "n_before", "n_after", "n_fixed", "n_broken")
        data = {name: getattr(self, name) for name in (*counts, "difference")}
        return data | {
            "interval": list(self.interval),
            "pvalue": self.pvalue,
            "verdict": self.verdict,
        }

    def __str__(self) -> str:
        return (
            f"{self.points()}; {self.n_fixed} put right, {self.n_broken} spoiled; "
            f"exact McNemar test p = {self.pvalue:.2g}"
        )

    def points(self) -> str:
        """Return the difference and its interval in percentage points, as text."""
        digits = decimals(self.n_samples)
        interval = format_interval(self.interval, digits, sign="+")
        return f"{100 * self.difference:+.{digits}f} points {interval}"


def effective_size(weight: np.ndarray) -> float:
    """Return the number of samples of equal weight that say as much: (sum w)^2 / (sum w^2)."""
    return float(weight.sum() ** 2 / (weight @ weight))


def error_interval(n_errors: int, n_samples: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an error rate, which is right near 0 and 1 too."""
    interval = binomtest(n_errors, n_samples).proportion_ci(1 - LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def decimals(n_samples: int) -> int:
    """Return the number of decimals that a percentage of so many samples deserves."""
    return 1 if n_samples < 1000 else 2


def format_interval(interval: tuple[float, float], digits: int, *, sign: str = "-") -> str:
    """Return an interval of rates in percent, such as "[1.5, 12.9]"."""
    low, high = (f"{100 * end:{sign}.{digits}f}" for end in interval)
    return f"[{low}, {high}]"


def _score_interval(n, n_fixed, n_broken):
    """Return the differences that the score test of paired proportions does not reject.

    T. Tango, Statistics in Medicine 17, 891-908, 1998.
    """
    excess = n_broken - n_fixed

    def distance(delta, sign):
        # the rate of fixed samples that is most likely if the true difference is delta
        b = (2 * n - excess) * delta - n_fixed - n_broken
        root = np.sqrt(max(0.0, b * b + 8 * n * n_fixed * delta * (1 - delta)))
        rate = (root - b) / (4 * n)
        variance = max(0.0, n * (2 * rate + delta * (1 - delta)))
        return excess - n * delta - sign * Z * np.sqrt(variance)

    # the observed difference is a root as well if its variance is zero, so begin beside it
    middle = excess / n
    low = -1.0 if middle == -1 else brentq(distance, -1.0, middle - BESIDE, args=(1,))
    high = 1.0 if middle == 1 else brentq(distance, middle + BESIDE, 1.0, args=(-1,))
    return float(low), float(high)
