"""Problems on texts with intents: labels of all classes, and intents that were not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from frobmetric.neighbors import knn_predict

from .embedding_problems import N_FOLDS, Problem, partner_targets, pseudo_values, unit

#: Number of samples above which settings are chosen in the first fold alone.
MANY = 2000
#: Largest number of samples on which a setting is tried.
MOST_HELD = 1000
#: Weights of the loss of logistic regression, of vectors of unit length.
LOGISTIC_C = (1.0, 10.0, 100.0, 1000.0)
#: Largest number of pairs that are drawn from labels.
MOST_PAIRS = 10_000


def spread_over(n_units, units, values):
    """Return an array over all units with the mean value of each; NaN where there is none."""
    count = np.bincount(units, minlength=n_units)
    total = np.bincount(units, values, n_units)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def fit_logistic(X, y, folds):
    """Return a logistic regression whose C has the best accuracy on the folds."""
    scores = np.zeros(len(LOGISTIC_C))
    for train, held in folds:
        for k, C in enumerate(LOGISTIC_C):
            scores[k] += _logistic(C).fit(X[train], y[train]).score(X[held], y[held])
    return _logistic(LOGISTIC_C[int(scores.argmax())]).fit(X, y)


def _logistic(C):
    return LogisticRegression(C=C, tol=1e-3, max_iter=300)


def label_folds(y, seed):
    """Return stratified folds of samples; only the first of many samples."""
    n_folds = max(2, min(N_FOLDS, np.bincount(y).max()))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    folds = list(splitter.split(np.zeros(len(y)), y))
    return folds[:1] if len(y) > MANY else folds


def nearest_mean(Z, y, T):
    """Return the class with the nearest mean; with at most 8 labels `NearestClass` is the same."""
    classes, codes = np.unique(y, return_inverse=True)
    sums = np.zeros((len(classes), Z.shape[1]))
    np.add.at(sums, codes, Z)
    return classes[
        knn_predict(sums / np.bincount(codes)[:, None], np.arange(len(sums)), T, n_neighbors=1)
    ]


def draw_labels(y, rows, n_labels, rng):
    """Return some of the rows: at most `n_labels` of each class, all if it is None."""
    if n_labels is None:
        return rows
    some = [rng.permutation(rows[y[rows] == c])[:n_labels] for c in np.unique(y[rows])]
    return np.concatenate(some)


@dataclass(frozen=True, eq=False)
class LabelProblem(Problem):
    """Training texts with labels, and test texts whose label is to be found."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    y_test: np.ndarray
    seed: int = 0
    feedback = "labels"
    has_queries = True

    @cached_property
    def labels(self):
        """Samples and labels."""
        return self.X, self.y

    @cached_property
    def pairs(self):
        """Pairs of samples with similarity 1 in a class and -1 across, as many of both."""
        return draw_pairs(self.X, self.y, np.random.default_rng(self.seed))

    @cached_property
    def targets(self):
        """Samples, and the mean of their class."""
        return centroid_targets(self.X, self.y)

    @cached_property
    def answers(self):
        """Samples as documents and as queries, which the others of their class answer."""
        same = self.y[:, None] == self.y
        np.fill_diagonal(same, val=False)
        return {"documents": self.X, "queries": self.X, "answers": np.argwhere(same)}

    def inner(self):
        """Return the problems of folds of the samples, of which at most `MOST_HELD` test."""
        return [
            LabelProblem(self.X[a], self.y[a], self.X[b], self.y[b], self.seed)
            for a, b in ((a, b[:MOST_HELD]) for a, b in label_folds(self.y, self.seed))
        ]

    def rate(self, answer):
        """Return the number by which settings are chosen: the accuracy of 1-NN."""
        Z, T = answer.documents(self.X), answer.queries(self.T)
        return float(np.mean(knn_predict(Z, self.y, T, n_neighbors=1) == self.y_test))

    def judge(self, answer):
        """Return for each rule which test samples it gets right."""
        Z, T = answer.documents(self.X), answer.queries(self.T)
        found = {
            "1-NN": knn_predict(Z, self.y, T, n_neighbors=1),
            "3-NN": knn_predict(Z, self.y, T, n_neighbors=3),
            "nearest mean": nearest_mean(Z, self.y, T),
        }
        return {name: (labels == self.y_test).astype(float) for name, labels in found.items()}

    def judge_probe(self, answer):
        """Return which test samples a tuned logistic regression on mapped samples gets right."""
        Z, T = (unit(answer.documents(X)).astype(np.float32) for X in (self.X, self.T))
        model = fit_logistic(Z, self.y, label_folds(self.y, self.seed))
        return {"logistic regression": (model.predict(T) == self.y_test).astype(float)}


def draw_pairs(X, y, rng):
    """Return pairs of samples of one class, and as many of different classes."""
    n = min(MOST_PAIRS, 4 * len(y)) // 2
    order = np.argsort(y, kind="stable")
    start, size = np.searchsorted(y[order], y), np.bincount(y)[y]
    first = rng.choice(np.flatnonzero(size > 1), n)
    partner = order[start[first] + rng.integers(size[first])]
    near = np.column_stack([first, partner])[first != partner]
    far = rng.integers(len(y), size=(2 * n, 2))
    far = far[y[far[:, 0]] != y[far[:, 1]]][: len(near)]
    rows = np.concatenate([near, far])
    similarity = np.repeat([1.0, -1.0], [len(near), len(far)])
    return {"rows": rows, "first": X[rows[:, 0]], "second": X[rows[:, 1]], "similarity": similarity}


def centroid_targets(X, y):
    """Return samples, the mean of their class as target, and equal weights."""
    codes = np.unique(y, return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, X.shape[1]))
    np.add.at(sums, codes, X)
    means = sums / np.bincount(codes)[:, None]
    return {"inputs": X, "targets": means[codes], "weight": np.ones(len(X))}


# Intents that were not learned from


@dataclass(frozen=True, eq=False)
class TransferProblem(Problem):
    """Texts with known intents to learn from, and other intents on which the map is judged."""

    X: np.ndarray
    y: np.ndarray
    is_test: np.ndarray  # which texts may be tested
    is_new: np.ndarray  # which intents are new
    n_labels: int = 5
    n_draws: int = 5
    seed: int = 0
    feedback = "known classes"

    @cached_property
    def known(self):
        """Rows of the texts to learn from."""
        return np.flatnonzero(~self.is_test & ~self.is_new[self.y])

    @cached_property
    def labels(self):
        """Samples and labels of the known intents."""
        return self.X[self.known], self.y[self.known]

    @cached_property
    def pairs(self):
        """Pairs of known texts."""
        return draw_pairs(*self.labels, np.random.default_rng(self.seed))

    @cached_property
    def targets(self):
        """Known texts, and the mean of their intent."""
        return centroid_targets(*self.labels)

    def inner(self):
        """Return the problem in which two fifths of the known intents are new; texts test once."""
        rng, known = np.random.default_rng(self.seed), np.flatnonzero(~self.is_new)
        is_new = np.zeros_like(self.is_new)
        is_new[rng.permutation(known)[: 2 * len(known) // 5]] = True
        rows = self.known
        is_test = rng.random(len(rows)) < 0.25
        return [self._smaller(rows, is_test, is_new)]

    def _smaller(self, rows, is_test, is_new):
        return type(self)(self.X[rows], self.y[rows], is_test, is_new, self.n_labels, 2, self.seed)

    def _draws(self):
        """Yield labelled rows and test rows of the new intents."""
        is_new = self.is_new[self.y]
        train, test = (np.flatnonzero(is_new & part) for part in (~self.is_test, self.is_test))
        for draw in range(self.n_draws):
            rng = np.random.default_rng([self.seed, draw])
            yield draw_labels(self.y, train, self.n_labels, rng), test

    def judge(self, answer):
        """Return the accuracy on each new intent with the nearest mean of a few labels."""
        return {"nearest mean": self._accuracy(answer, nearest_mean)}

    def judge_probe(self, answer):
        """Return the accuracy on each new intent of a tuned logistic regression on few labels."""

        def probe(Z, y, T):
            return fit_logistic(Z, y, label_folds(y, self.seed)).predict(T)

        return {"logistic regression": self._accuracy(answer, probe)}

    def _accuracy(self, answer, classify):
        Z, units, right = unit(answer.documents(self.X)).astype(np.float32), [], []
        for some, test in self._draws():
            codes = np.unique(self.y[some], return_inverse=True)
            found = codes[0][classify(Z[some], codes[1], Z[test])]
            units.append(self.y[test])
            right.append(found == self.y[test])
        return spread_over(len(self.is_new), np.concatenate(units), np.concatenate(right))


@dataclass(frozen=True, eq=False)
class PairProblem(TransferProblem):
    """Pairs of texts of known intents to learn from, and pairs of texts of other intents."""

    feedback = "pairs"

    @property
    def labels(self):
        """No labels: only pairs are told."""
        raise AttributeError("the labels of this problem are not told")

    @cached_property
    def pairs(self):
        """Pairs of known texts."""
        known = self.known
        return draw_pairs(self.X[known], self.y[known], np.random.default_rng(self.seed))

    @cached_property
    def targets(self):
        """Each text of a similar pair, and the other one."""
        return partner_targets(self.pairs, np.maximum(self.pairs["similarity"], 0))

    def judge(self, answer):
        """Return for each new intent the pseudo-value of the AUC of cosines of pairs."""
        rows = np.flatnonzero(self.is_new[self.y] & self.is_test)
        Z, y = unit(answer.documents(self.X[rows])), self.y[rows]
        a, b = np.triu_indices(len(rows), 1)
        order = np.argsort((Z @ Z.T)[a, b], kind="stable")
        a, b = y[a[order]], y[b[order]]
        same, intents = a == b, np.unique(y)
        groups = [(a == c) | (b == c) for c in intents]
        values = np.full(len(self.is_new), np.nan)
        values[intents] = pseudo_values(lambda kept: area(same[kept]), groups)
        return {"AUC": values}


def area(is_positive):
    """Return the area under the curve of pairs in the order of their score, the lowest first.

    >>> area(np.array([False, True, False, True]))
    0.75
    """
    n, n_positive = len(is_positive), int(is_positive.sum())
    total = np.flatnonzero(is_positive).sum() + n_positive
    return float(total - n_positive * (n_positive + 1) / 2) / (n_positive * (n - n_positive))
