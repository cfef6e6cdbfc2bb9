"""Differences of two methods on the same units: one result, a statistic for each kind of data.

===========================  ============================================================
`PairedErrors`               right or wrong answers: Tango's interval, exact McNemar test
`paired_residuals`           squared residuals: bootstrap over samples
`paired_scores`              scores of units: Student's interval
`paired_recalls`             recalls of many queries: normal interval
`accuracy_difference`        right or wrong comparisons: Bonett and Price, or bootstrap
===========================  ============================================================
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import binomtest
from scipy.stats import t as student

from ..checks.arguments import as_weights
from ..core.checks import MOST, as_finite, as_positive, as_share, read_values
from ..core.points import Array, Vector

#: Level of the test; intervals have the coverage 1 - LEVEL.
LEVEL = 0.05
#: Quantile of the normal distribution that belongs to LEVEL.
Z = 1.959963984540054
#: A difference below this, one percentage point, is none.
NEGLIGIBLE = 0.01
#: Step away from a root that is not the one that is searched.
BESIDE = 1e-9
#: Number of samples that the bootstrap draws, each as large as the test samples.
N_DRAWS = 1000
#: Seed of these draws, so that the same residuals have the same interval.
SEED = 0


@dataclass(frozen=True)
class PairedDifference:
    """Difference of two methods, `before` and `after`, on the same units, with an interval.

    Parameters
    ----------
    before, after : float
        Mean error, or mean score, of each method.
    estimate : float
        Difference after - before.
    interval : tuple of float
        Interval of the difference.
    n_units : int
        Number of units, such as samples or queries.
    confidence : float, default=0.95
        Coverage of the interval.
    is_error : bool, default=False
        Whether smaller numbers are better.

    Examples
    --------
    >>> from frobmetric.evaluation import paired_scores
    >>> gain = paired_scores([0.2, 0.4, 0.6, 0.8], [0.4, 0.5, 0.7, 1.0])
    >>> print(gain)
    0.500 -> 0.650, +0.150 [+0.058, +0.242]
    >>> gain.verdict
    'helped'
    """

    before: float
    after: float
    estimate: float
    interval: tuple[float, float]
    n_units: int
    confidence: float = 1 - LEVEL
    is_error: bool = False

    @property
    def verdict(self) -> str:
        """One of "helped", "hurt", "no difference", "nothing to gain" and "unclear".

        "helped" and "hurt" mean that the interval does not contain zero. "nothing to gain" means
        that there was no error before, "no difference" that the interval lies within 0.01, one
        percentage point, of zero, and "unclear" that the units are too few to tell.
        """
        low, high = self.interval
        if low > 0 or high < 0:
            return "helped" if (high < 0) == self.is_error else "hurt"
        if self.is_error and not self.before:
            return "nothing to gain"
        return "no difference" if max(-low, high) <= NEGLIGIBLE else "unclear"

    def points(self) -> str:
        """Return the difference and its interval in percentage points, as text."""
        digits = decimals(self.n_units)
        interval = format_interval(self.interval, digits, sign="+")
        return f"{100 * self.estimate:+.{digits}f} points {interval}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self) | {"interval": list(self.interval), "verdict": self.verdict}

    def __str__(self) -> str:
        means = f"{self.before:.3f} -> {self.after:.3f}, {self.estimate:+.3f}"
        return f"{means} [{self.interval[0]:+.3f}, {self.interval[1]:+.3f}]"


@dataclass(frozen=True, kw_only=True)
class PairedErrors(PairedDifference):
    """Errors of two classifiers, `before` and `after`, on the same samples.

    Only the samples that one of the two gets wrong tell them apart: `n_fixed` are wrong before and
    right after, `n_broken` the other way round. Intervals and test regard the samples as drawn
    independently. They describe what chance in the choice of test samples can do; that other
    training samples give another classifier is not in them.

    The interval is Tango's score interval for paired proportions. It contains zero if and only if
    the exact test does not reject: the score test is bolder with few samples, and where the two
    disagree the interval is extended to zero.

    Create one with `from_mistakes` or `from_counts`.

    Parameters
    ----------
    before, after, estimate, interval, n_units, confidence, is_error
        As in `PairedDifference`; the numbers are error rates.
    n_both : int
        Samples that both get wrong.
    n_fixed, n_broken : int
        Samples that only `before` gets wrong, and that only `after` gets wrong.

    Examples
    --------
    >>> from frobmetric.evaluation.paired import PairedErrors
    >>> errors = PairedErrors.from_mistakes([True] * 12 + [False] * 88, [False] * 99 + [True])
    >>> errors.verdict
    'helped'
    >>> print(errors)
    -11.0 points [-19.0, -4.8]; 12 put right, 1 spoiled; exact McNemar test p = 0.0034
    """

    n_both: int
    n_fixed: int
    n_broken: int

    def __post_init__(self) -> None:
        _check_counts(self.n_units, self.n_both, self.n_fixed, self.n_broken)
        rates = (self.n_before / self.n_units, self.n_after / self.n_units)
        if (self.before, self.after) != rates:
            raise ValueError(f"error rates {self.before} and {self.after} are not those of counts")

    @classmethod
    def from_counts(cls, n_units: int, n_both: int, n_fixed: int, n_broken: int) -> Self:
        """Return the errors of these numbers of samples."""
        _check_counts(n_units, n_both, n_fixed, n_broken)
        low, high = _score_interval(n_units, n_fixed, n_broken)
        if _pvalue(n_fixed, n_broken) > LEVEL:
            low, high = min(low, 0.0), max(high, 0.0)
        return cls(
            before=(n_both + n_fixed) / n_units,
            after=(n_both + n_broken) / n_units,
            estimate=(n_broken - n_fixed) / n_units,
            interval=(low, high),
            n_units=n_units,
            is_error=True,
            n_both=n_both,
            n_fixed=n_fixed,
            n_broken=n_broken,
        )

    @classmethod
    def from_mistakes(
        cls, before: ArrayLike, after: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count two masks of mistakes on the same samples.

        With weights, the counts are the weighted shares of n = (sum w)^2 / (sum w^2) samples,
        rounded: n samples of equal weight say as much.
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
        n_units = effective_size(weight)
        counts = (n_units * (weight @ mask) / weight.sum() for mask in masks)
        return cls.from_counts(round(n_units), *(round(count) for count in counts))

    @property
    def n_before(self) -> int:
        """Number of mistakes before."""
        return self.n_both + self.n_fixed

    @property
    def n_after(self) -> int:
        """Number of mistakes after."""
        return self.n_both + self.n_broken

    @property
    def pvalue(self) -> float:
        """P-value of the exact two-sided McNemar test.

        If neither classifier is better, each sample that only one gets wrong is a fair coin.
        """
        return _pvalue(self.n_fixed, self.n_broken)

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
        return float(self.n_units * ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        names = ("n_before", "n_after", "pvalue")
        return super().to_dict() | {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return (
            f"{self.points()}; {self.n_fixed} put right, {self.n_broken} spoiled; "
            f"exact McNemar test p = {self.pvalue:.2g}"
        )


def paired_residuals(before: ArrayLike, after: ArrayLike) -> PairedDifference:
    """Compare squared residuals of two predictions of the same samples.

    The error of a prediction is the root of the mean of its squared residuals. The interval is
    that of the bootstrap: the 2.5 and 97.5 % quantiles over samples that are drawn with
    replacement, the same ones for both predictions.

    Parameters
    ----------
    before, after : array-like of shape (n_samples,)
        Squared residuals, relative to the variance of the values.

    Returns
    -------
    PairedDifference

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.evaluation import paired_residuals
    >>> errors = paired_residuals(np.full(50, 0.25), np.full(50, 0.09))
    >>> print(errors.points(), errors.verdict)
    -20.0 points [-20.0, -20.0] helped
    """
    old, new = _read_pair(before, after)
    if min(old.min(), new.min()) < 0:
        raise ValueError("before and after are squares, of which none may be negative")
    errors = root_mean(old), root_mean(new)
    drawn = np.sqrt(_drawn_means(np.column_stack([old, new]))).T
    interval = _quantiles(drawn[1] - drawn[0])
    return PairedDifference(*errors, errors[1] - errors[0], interval, len(old), is_error=True)


def paired_scores(
    before: ArrayLike, after: ArrayLike, *, confidence: float = 0.95, design_effect: float = 1.0
) -> PairedDifference:
    """Compare scores of the same units, such as queries; larger scores are better.

    The interval is Student's, of the differences unit by unit. They are regarded as independent, up
    to a design effect: a factor of the variance of their mean. One unit alone has an infinite
    interval.

    Parameters
    ----------
    before, after : array-like of shape (n_units,)
    confidence : float, default=0.95
    design_effect : float, default=1.0

    Returns
    -------
    PairedDifference

    Examples
    --------
    >>> from frobmetric.evaluation import paired_scores
    >>> paired_scores([0.2, 0.4, 0.6, 0.8], [0.1, 0.3, 0.5, 0.7]).verdict
    'hurt'
    """
    old, new = _read_pair(before, after)
    confidence = as_share(confidence, name="confidence")
    effect = as_positive(design_effect, name="design_effect")
    difference, n = new - old, len(old)
    half = np.inf
    if n > 1:
        error = difference.std(ddof=1) * np.sqrt(effect / n)
        half = student.ppf((1 + confidence) / 2, n - 1) * error
    middle, means = float(difference.mean()), (float(old.mean()), float(new.mean()))
    interval = (middle - float(half), middle + float(half))
    return PairedDifference(*means, means[1] - means[0], interval, n, confidence)


def paired_recalls(before: Vector, after: Vector) -> PairedDifference:
    """Compare recalls of the same queries, of which there are many: the interval is normal."""
    difference = after - before
    mean = float(difference.mean())
    half = Z * float(difference.std()) / np.sqrt(max(1, len(difference) - 1))
    means, interval = (float(before.mean()), float(after.mean())), (mean - half, mean + half)
    return PairedDifference(*means, mean, interval, len(difference))


def _read_pair(before: ArrayLike, after: ArrayLike) -> tuple[Vector, Vector]:
    """Return one finite number of each method for each unit."""
    old = as_finite(before, name="before", most=MOST)
    new = as_finite(after, name="after", most=MOST)
    if old.ndim != 1 or old.shape != new.shape or not len(old):
        raise ValueError(
            f"before has shape {old.shape} and after {new.shape}; expected one number "
            "for each of the same units"
        )
    return old, new


# Intervals


def effective_size(weight: Vector) -> float:
    """Return the number of samples of equal weight that say as much: (sum w)^2 / (sum w^2)."""
    return float(weight.sum() ** 2 / (weight @ weight))


def error_interval(n_errors: int, n_samples: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an error rate, which is right near 0 and 1 too."""
    interval = binomtest(n_errors, n_samples).proportion_ci(1 - LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def residual_interval(squares: Vector) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the root of a mean of squares."""
    return _quantiles(np.sqrt(_drawn_means(squares[:, None])[:, 0]))


def root_mean(squares: Vector) -> float:
    """Return the root of a mean of squares."""
    return float(np.sqrt(np.mean(squares)))


def decimals(n_samples: int) -> int:
    """Return the number of decimals of a percentage of `n_samples` samples."""
    return 1 if n_samples < 1000 else 2


def format_interval(interval: tuple[float, float], digits: int, *, sign: str = "-") -> str:
    """Return an interval of rates in percent, such as "[1.5, 12.9]"."""
    low, high = (f"{100 * end:{sign}.{digits}f}" for end in interval)
    return f"[{low}, {high}]"


def _pvalue(n_fixed: int, n_broken: int) -> float:
    n_different = n_fixed + n_broken
    return float(binomtest(n_fixed, n_different).pvalue) if n_different else 1.0


def _drawn_means(squares: Array) -> Array:
    """Return the mean of each column over rows drawn with replacement, an array (N_DRAWS, k)."""
    rng, n = np.random.default_rng(SEED), len(squares)
    return np.array([squares[rng.integers(n, size=n)].mean(axis=0) for _ in range(N_DRAWS)])


def _quantiles(values: Vector) -> tuple[float, float]:
    low, high = np.quantile(values, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


def _check_counts(n_units: int, n_both: int, n_fixed: int, n_broken: int) -> None:
    """Raise ValueError unless so many of all samples can be wrong."""
    if min(n_both, n_fixed, n_broken) < 0 or not 0 < n_units >= n_both + n_fixed + n_broken:
        raise ValueError(
            f"of {n_units} samples {n_both}, {n_fixed} and {n_broken} are wrong; expected "
            "numbers of samples, whose sum is at most that of all"
        )


def _score_interval(n: int, n_fixed: int, n_broken: int) -> tuple[float, float]:
    """Return the differences that the score test of paired proportions does not reject.

    T. Tango, Statistics in Medicine 17, 891-908, 1998.
    """
    excess = n_broken - n_fixed

    def distance(delta: float, sign: int) -> float:
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
