"""Whether a learned metric helps: k-NN errors on the same test points, and how sure one can be."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from scipy.special import bdtr
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ..neighbors.classification import knn_predict

#: A feature that spreads this many times wider than the usual one decides every distance.
UNEVEN_SPREAD = 10.0


def knn_mistakes(X_train, y_train, X_test, y_test, k=3):
    """Which test points a vote of the k nearest training points gets wrong.

    Returns
    -------
    ndarray of bool, shape (n_test,)
    """
    if k > len(X_train):
        raise ValueError(f"k={k} neighbours are to vote, but there are only {len(X_train)}")
    if not np.isin(y_test, y_train).any():
        raise ValueError(
            f"no label of the test data (such as {y_test[0]!r}) occurs among the training data's "
            f"(such as {y_train[0]!r}); are these the labels of one problem?"
        )
    return knn_predict(X_train, y_train, X_test, n_neighbors=k) != y_test


def wilson_interval(n_errors, n_trials, confidence=0.95):
    """Wilson's confidence interval of a share; unlike the plain one it is right near 0 and 1.

    Examples
    --------
    >>> low, high = wilson_interval(0, 100)
    >>> (low, round(high, 3))
    (0.0, 0.037)
    """
    if not 0 <= n_errors <= n_trials or n_trials < 1:
        raise ValueError(f"{n_errors} errors of {n_trials} trials; expected 0 <= errors <= trials")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    p, shrink = n_errors / n_trials, 1 + z2 / n_trials
    centre = (p + z2 / (2 * n_trials)) / shrink
    half = sqrt(z2 * (p * (1 - p) + z2 / (4 * n_trials)) / n_trials) / shrink
    # the two ends that are exact are not left to rounding
    low = 0.0 if n_errors == 0 else max(0.0, centre - half)
    return low, 1.0 if n_errors == n_trials else min(1.0, centre + half)


def mcnemar_pvalue(n_fixed, n_broken):
    """Exact two-sided McNemar test of two classifiers on the same points.

    If neither is better, each point that only one of them gets wrong is a fair coin: how probable
    is it that they fall at least this unevenly?

    Examples
    --------
    >>> mcnemar_pvalue(5, 0)
    0.0625
    """
    tail = bdtr(min(n_fixed, n_broken), n_fixed + n_broken, 0.5)
    return min(1.0, 2 * float(tail))


@dataclass(frozen=True)
class Comparison:
    """k-NN errors of the Euclidean and the learned metric on the same test points."""

    k: int
    n_test: int
    euclidean: int
    learned: int
    fixed: int
    broken: int
    spread_ratio: float

    @property
    def pvalue(self):
        return mcnemar_pvalue(self.fixed, self.broken)

    @property
    def verdict(self):
        """ "helped", "unclear" (fewer errors, but that may be chance) or "did not help"."""
        if self.learned >= self.euclidean:
            return "did not help"
        return "helped" if self.pvalue <= 0.05 else "unclear"

    def hints(self):
        """What to try when it did not help."""
        hints = ["another C (--cv chooses one)", "more data"]
        if self.spread_ratio > UNEVEN_SPREAD:
            hints.insert(
                0,
                (
                    "scaling the features, one of which has "
                    f"{self.spread_ratio:.0f} times the median standard deviation"
                ),
            )
        return hints

    def to_dict(self):
        def error(count):
            interval = wilson_interval(count, self.n_test)
            return {"errors": count, "error": count / self.n_test, "interval": list(interval)}

        return {
            "k": self.k,
            "n_test": self.n_test,
            "euclidean": error(self.euclidean),
            "learned": error(self.learned),
            "fixed": self.fixed,
            "broken": self.broken,
            "pvalue": self.pvalue,
            "verdict": self.verdict,
        }

    def __str__(self):
        lines = [
            f"{name:9s} {self.k}-NN error {describe_share(count, self.n_test)}"
            for name, count in (("Euclidean", self.euclidean), ("learned", self.learned))
        ]
        return "\n".join([*lines, self._sentence()])

    def _sentence(self):
        counts = (
            f"{self.fixed} test points put right, {self.broken} spoiled; "
            f"exact McNemar test p = {self.pvalue:.2g}"
        )
        if self.verdict == "helped":
            return f"The learned metric helped: {counts}."
        if self.euclidean == 0:
            return f"The Euclidean metric makes no error here; there is nothing to gain: {counts}."
        hints = "; ".join(self.hints())
        if self.verdict == "unclear":
            return f"The learned metric made fewer errors, but that may be chance: {counts}."
        return f"The learned metric did not help here: {counts}. Try {hints}."


def describe_share(count, total):
    """A share with its 95 % interval, for people."""
    low, high = wilson_interval(count, total)
    return f"{count / total:6.2%}  [{low:.2%}, {high:.2%}]  ({count} of {total})"


def compare(model, train, test, k=3):
    """Judge a fitted metric on test points that it has not seen.

    Parameters
    ----------
    model : FrobMetric
    train, test : Table
        With labels; the neighbours are taken from `train`.

    Returns
    -------
    Comparison
    """
    return _comparison(*_mistakes(model, train, test, k), k, train.X)


def compare_by_folds(model, table, k=3, n_folds=5, seed=0):
    """Judge clones of a metric so that each sample is tested once, by one that never saw it."""
    before, after = np.empty((2, len(table.y)), dtype=bool)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(table.X, table.y):
        known, unseen = table.take(train), table.take(test)
        learned = clone(model).fit(known.frame(), known.y)
        before[test], after[test] = _mistakes(learned, known, unseen, k)
    return _comparison(before, after, k, table.X)


def _mistakes(model, train, test, k):
    """The mistakes of the Euclidean and of the learned metric."""
    learned = [np.asarray(model.transform(part.frame())) for part in (train, test)]
    return (
        knn_mistakes(train.X, train.y, test.X, test.y, k),
        knn_mistakes(learned[0], train.y, learned[1], test.y, k),
    )


def _comparison(before, after, k, X):
    return Comparison(
        k=k,
        n_test=len(before),
        euclidean=int(before.sum()),
        learned=int(after.sum()),
        fixed=int((before & ~after).sum()),
        broken=int((after & ~before).sum()),
        spread_ratio=_spread_ratio(X),
    )


def _spread_ratio(X):
    """The largest standard deviation of a feature over the median one, constant ones apart."""
    spread = X.std(axis=0)
    spread = spread[spread > 0]
    return float(spread.max() / np.quantile(spread, 0.5, method="lower")) if spread.size else 1.0
