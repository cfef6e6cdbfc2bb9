"""Comparison of a learned metric with the Euclidean one: k-NN errors on the same test points."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ..neighbors.classification import knn_predict

#: A feature with this many times the usual standard deviation dominates every distance.
UNEVEN_SPREAD = 10.0


@dataclass(frozen=True)
class ErrorComparison:
    """Numbers of k-NN errors of the Euclidean and of the learned metric.

    `fixed` points are wrong only under the Euclidean metric, `broken` ones only under the learned
    metric; `spread_ratio` is the largest standard deviation of a feature over the median one.
    """

    k: int
    n_test: int
    euclidean: int
    learned: int
    fixed: int
    broken: int
    spread_ratio: float

    @property
    def pvalue(self):
        """P-value of the exact two-sided McNemar test.

        If neither metric is better, each point that only one of them gets wrong is a fair coin.
        """
        n_different = self.fixed + self.broken
        return float(binomtest(self.fixed, n_different).pvalue) if n_different else 1.0

    @property
    def verdict(self):
        """One of "helped", "unclear" (fewer errors, perhaps by chance) and "did not help"."""
        if self.learned >= self.euclidean:
            return "did not help"
        return "helped" if self.pvalue <= 0.05 else "unclear"

    def to_dict(self):
        """Return everything for JSON, with 95 % intervals of the errors."""
        data = asdict(self) | {"pvalue": self.pvalue, "verdict": self.verdict}
        for name in ("euclidean", "learned"):
            count, interval = data[name], list(self._interval(data[name]))
            data[name] = {"errors": count, "error": count / self.n_test, "interval": interval}
        return data

    def __str__(self):
        lines = []
        for name, count in (("Euclidean", self.euclidean), ("learned", self.learned)):
            low, high = self._interval(count)
            error = f"{count / self.n_test:6.2%}  [{low:.2%}, {high:.2%}]"
            lines.append(f"{name:9s} {self.k}-NN error {error}  ({count} of {self.n_test})")
        return "\n".join([*lines, self._conclusion()])

    def _interval(self, count):
        """Return Wilson's 95 % interval, which is right near 0 and 1 too."""
        return map(float, binomtest(count, self.n_test).proportion_ci(method="wilson"))

    def _conclusion(self):
        counts = f"{self.fixed} test points put right, {self.broken} spoiled"
        counts += f"; exact McNemar test p = {self.pvalue:.2g}"
        if self.verdict == "helped":
            return f"The learned metric helped: {counts}."
        if self.euclidean == 0:
            return f"The Euclidean metric makes no error here; there is nothing to gain: {counts}."
        if self.verdict == "unclear":
            return f"The learned metric made fewer errors, but that may be chance: {counts}."
        hints = "another C (--cv chooses one); more data"
        if self.spread_ratio > UNEVEN_SPREAD:
            ratio = f"{self.spread_ratio:.0f} times the median standard deviation"
            hints = f"scaling the features, one of which has {ratio}; {hints}"
        return f"The learned metric did not help here: {counts}. Try {hints}."


def compare(model, train, test, k=3):
    """Compare a fitted metric with the Euclidean one on a table; neighbours are from `train`."""
    return _count(*_mistakes(model, train, test, k), k, train.X)


def compare_by_folds(model, table, k=3, n_folds=5, seed=0):
    """Compare by cross-validation: each sample is tested by a metric learned without it."""
    before, after = np.empty((2, len(table.y)), dtype=bool)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for rows, test_rows in folds.split(table.X, table.y):
        train, test = table.take(rows), table.take(test_rows)
        learned = clone(model).fit(train.dataframe(), train.y)
        before[test_rows], after[test_rows] = _mistakes(learned, train, test, k)
    return _count(before, after, k, table.X)


def knn_mistakes(X_train, y_train, X_test, y_test, k=3):
    """Return for each test point whether the k nearest training points vote for a wrong class."""
    if k > len(X_train):
        raise ValueError(f"k={k} neighbours are to vote, but there are only {len(X_train)}")
    if not np.isin(y_test, y_train).any():
        raise ValueError(
            f"no label of the test data (such as {y_test[0]!r}) occurs among the training data's "
            f"(such as {y_train[0]!r}); are these the labels of one problem?"
        )
    return knn_predict(X_train, y_train, X_test, n_neighbors=k) != y_test


def _mistakes(model, train, test, k):
    """Return the mistakes of the Euclidean and of the learned metric."""
    learned = [np.asarray(model.transform(part.dataframe())) for part in (train, test)]
    euclidean = knn_mistakes(train.X, train.y, test.X, test.y, k)
    return euclidean, knn_mistakes(learned[0], train.y, learned[1], test.y, k)


def _count(before, after, k, X):
    spread = X.std(axis=0)
    spread = spread[spread > 0] if spread.any() else np.ones(1)
    ratio = float(spread.max() / np.quantile(spread, 0.5, method="lower"))
    masks = (before, after, before & ~after, after & ~before)
    return ErrorComparison(k, len(before), *(int(mask.sum()) for mask in masks), ratio)
