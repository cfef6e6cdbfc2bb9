"""PairedResiduals: two predictions of numbers on the same samples, with intervals and a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .paired import LEVEL, NEGLIGIBLE, decimals, format_interval

#: Number of samples drawn with replacement, each as large as the test samples.
N_DRAWS = 1000
#: Seed of the draws, so that the same residuals have the same interval.
SEED = 0


@dataclass(frozen=True, eq=False)
class PairedResiduals:
    """Squared residuals of two predictions, `before` and `after`, of the same samples.

    The error of a prediction is the root of the mean of its squared residuals. Intervals are those
    of the bootstrap: the 2.5 and 97.5 % quantiles over samples that are drawn with replacement,
    the same ones for both predictions.

    Parameters
    ----------
    before, after : ndarray of shape (n_samples,)
        Squared residuals, relative to the variance of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.evaluation import PairedResiduals
    >>> errors = PairedResiduals(np.full(50, 0.25), np.full(50, 0.09))
    >>> print(errors.points(), errors.verdict)
    -20.0 points [-20.0, -20.0] helped
    """

    before: np.ndarray = field(repr=False)
    after: np.ndarray = field(repr=False)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.before)

    @property
    def difference(self) -> float:
        """Error after minus error before: negative if the errors are smaller."""
        return root_mean(self.after) - root_mean(self.before)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the difference."""
        both = np.column_stack([self.before, self.after])
        before, after = np.sqrt(_drawn_means(both)).T
        return _quantiles(after - before)

    @property
    def verdict(self) -> str:
        """One of "helped", "hurt", "no difference" and "unclear".

        "helped" and "hurt" mean that the interval does not contain zero, "no difference" that it
        lies within one percentage point of zero.
        """
        low, high = self.interval
        if low > 0 or high < 0:
            return "helped" if high < 0 else "hurt"
        return "no difference" if max(-low, high) <= NEGLIGIBLE else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the residuals for JSON."""
        names = ("n_samples", "difference", "verdict")
        return {name: getattr(self, name) for name in names} | {"interval": list(self.interval)}

    def points(self) -> str:
        """Return the difference and its interval in percentage points, as text."""
        digits = decimals(self.n_samples)
        interval = format_interval(self.interval, digits, sign="+")
        return f"{100 * self.difference:+.{digits}f} points {interval}"


def root_mean(squares: np.ndarray) -> float:
    """Return the root of a mean of squares."""
    return float(np.sqrt(np.mean(squares)))


def residual_interval(squares: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the root of a mean of squares."""
    return _quantiles(np.sqrt(_drawn_means(squares[:, None])[:, 0]))


def _drawn_means(squares):
    """Return the mean of each column over rows drawn with replacement, an array (N_DRAWS, k)."""
    rng, n = np.random.default_rng(SEED), len(squares)
    return np.array([squares[rng.integers(n, size=n)].mean(axis=0) for _ in range(N_DRAWS)])


def _quantiles(values):
    low, high = np.quantile(values, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)
