"""Problems on embeddings: what is learned from, what is held out, and how an answer is judged.

Every problem has the training data in the forms that the methods learn from (`pairs`, `targets`,
`answers`, `labels`), smaller problems inside its training part on which a method chooses its
settings, and `judge`. A judgement is an array for each measure with one number for each unit (a
test text, a query, an intent, a group of pairs), NaN for units that the problem does not test. The
mean over the units is the measure, so that the intervals of all measures come from paired units.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

#: Folds of the training part in which settings are chosen.
N_FOLDS = 3
#: Groups of scored pairs that are left out in turn, for intervals of Spearman's correlation.
N_GROUPS = 50
#: Judgements are stored as whole numbers of this part of one.
SCALE = 1e5


@dataclass(frozen=True)
class Answer:
    """Maps of queries and of documents, after which the nearest document by L2 answers a query."""

    queries: Callable[[np.ndarray], np.ndarray] = np.asarray
    documents: Callable[[np.ndarray], np.ndarray] = np.asarray


class Problem:
    """Base of the problems."""

    #: What is told of the training part: "labels", "known classes", "pairs", "scores"
    #: or "relevance".
    feedback = ""
    #: Whether queries search documents, so that only one of both may be mapped.
    has_queries = False

    def rate(self, answer):
        """Return the number by which settings are chosen: the first measure."""
        return float(np.nanmean(next(iter(self.judge(answer).values()))))


# Judgements as text


def pack(values):
    """Return numbers as short text, rounded.

    >>> unpack(pack(np.array([0.5, -1.25])))
    array([ 0.5 , -1.25])
    """
    whole = np.round(np.asarray(values) * SCALE).astype("<i4")
    return base64.b85encode(zlib.compress(whole.tobytes(), 9)).decode()


def unpack(text):
    """Return the numbers of a text of `pack`."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), "<i4") / SCALE


# Arrays


def unit(X):
    """Return rows of unit length; rows of zeros stay."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def pseudo_values(statistic, groups):
    """Return jackknife pseudo-values: their mean is the statistic without bias.

    `statistic` takes the mask of what is kept; `groups` are masks of what is left out in turn.
    """
    n, whole = len(groups), statistic(np.ones(len(groups[0]), dtype=bool))
    return np.array([n * whole - (n - 1) * statistic(~group) for group in groups])


def partner_targets(pairs, weight):
    """Return each vector of a pair with the other as its target, where the weight is positive."""
    is_used = weight > 0
    first, second = pairs["first"][is_used], pairs["second"][is_used]
    inputs, targets = np.concatenate([first, second]), np.concatenate([second, first])
    return {"inputs": inputs, "targets": targets, "weight": np.tile(weight[is_used], 2)}


# Scored pairs


@dataclass(frozen=True, eq=False)
class ScoreProblem(Problem):
    """Scored pairs to learn from, and others whose order is to be predicted."""

    X: np.ndarray
    rows: np.ndarray  # (n_pairs, 2)
    score: np.ndarray  # 0 to 5
    tests: dict = field(default_factory=dict)  # name of a test part -> (rows, score)
    seed: int = 0
    feedback = "scores"

    @cached_property
    def pairs(self):
        """Pairs with their score, scaled to [-1, 1]."""
        first, second = (self.X[self.rows[:, k]] for k in (0, 1))
        similarity = self.score / 2.5 - 1
        return {"rows": self.rows, "first": first, "second": second, "similarity": similarity}

    @cached_property
    def targets(self):
        """Each sentence of a pair, and the other one, weighted by the score."""
        return partner_targets(self.pairs, self.score / 5)

    def inner(self):
        """Return the problems of folds of the pairs."""
        fold = np.random.default_rng(self.seed).permutation(len(self.score)) % N_FOLDS
        return [
            ScoreProblem(
                self.X,
                self.rows[fold != k],
                self.score[fold != k],
                {"held out": (self.rows[fold == k], self.score[fold == k])},
            )
            for k in range(N_FOLDS)
        ]

    def judge(self, answer):
        """Return pseudo-values of Spearman's correlation of cosines with the scores."""
        Z, values = unit(answer.documents(self.X)), {}
        for name, (rows, score) in self.tests.items():
            cosine = np.einsum("ij,ij->i", Z[rows[:, 0]], Z[rows[:, 1]])
            group = np.random.default_rng(0).permutation(len(score)) % N_GROUPS
            masks = [group == k for k in range(N_GROUPS)]
            values[f"Spearman {name}"] = pseudo_values(_spearman(cosine, score), masks)
        return values


def _spearman(first, second):
    """Return the function of a mask that gives the correlation of ranks of what it keeps."""

    def statistic(kept):
        return np.corrcoef(rankdata(first[kept]), rankdata(second[kept]))[0, 1]

    return statistic


# Queries and documents


def gain_at_ten(scores, gains):
    """Return nDCG@10 of one query, with its gains of all documents; the gain is the grade."""
    discount = 1 / np.log2(np.arange(2, 12))
    order = np.argsort(-scores, kind="stable")[:10]
    best = np.sort(gains)[::-1][:10]
    return float(gains[order] @ discount / (best @ discount))


@dataclass(frozen=True, eq=False)
class SearchProblem(Problem):
    """Queries with relevant documents to learn from, and other queries that search them."""

    queries: np.ndarray
    documents: np.ndarray
    relevance: np.ndarray  # rows (query, document, grade)
    train: np.ndarray  # query numbers
    test: np.ndarray
    seed: int = 0
    feedback = "relevance"
    has_queries = True

    @cached_property
    def told(self):
        """Rows (query, document, grade) of the training queries, with their place in `train`."""
        place = np.full(len(self.queries), -1)
        place[self.train] = np.arange(len(self.train))
        rows = self.relevance[np.isin(self.relevance[:, 0], self.train)]
        return np.column_stack([place[rows[:, 0]], rows[:, 1:]])

    @cached_property
    def pairs(self):
        """Queries with relevant documents, and as many with documents that nobody listed."""
        rng, told = np.random.default_rng(self.seed), self.told
        near = told[told[:, 2] > 0, :2]
        drawn = np.column_stack([near[:, 0], rng.integers(len(self.documents), size=len(near))])
        listed = {tuple(row) for row in told[:, :2].tolist()}
        far = np.array([row for row in drawn.tolist() if tuple(row) not in listed])
        rows = np.concatenate([near, far])
        similarity = np.repeat([1.0, -1.0], [len(near), len(far)])
        first, second = self.queries[self.train][rows[:, 0]], self.documents[rows[:, 1]]
        return {"first": first, "second": second, "similarity": similarity}

    @cached_property
    def targets(self):
        """Queries, and the mean of their relevant documents weighted by the grade."""
        gains = self._gains(self.told, len(self.train))
        means = gains @ self.documents / gains.sum(axis=1, keepdims=True)
        weight = np.ones(len(self.train))
        return {"inputs": self.queries[self.train], "targets": means, "weight": weight}

    @cached_property
    def answers(self):
        """Documents, training queries, and which document answers which query."""
        rows = self.told[self.told[:, 2] > 0, :2]
        queries = self.queries[self.train]
        return {"documents": self.documents, "queries": queries, "answers": rows}

    def _gains(self, rows, n_queries):
        gains = np.zeros((n_queries, len(self.documents)))
        gains[rows[:, 0], rows[:, 1]] = np.maximum(rows[:, 2], 0)
        return gains

    def inner(self):
        """Return the problems of folds of the training queries."""
        fold = np.random.default_rng(self.seed).permutation(len(self.train)) % N_FOLDS
        parts = ((self.train[fold != k], self.train[fold == k]) for k in range(N_FOLDS))
        given = self.queries, self.documents, self.relevance
        return [SearchProblem(*given, train, test, self.seed) for train, test in parts]

    def judge(self, answer):
        """Return nDCG@10 of each test query, with documents of grade -1 and without them."""
        Q, D = answer.queries(self.queries[self.test]), answer.documents(self.documents)
        scores = 2 * Q @ D.T - np.einsum("ij,ij->i", D, D)
        gains = self._gains(self.relevance, len(self.queries))[self.test]
        written = self.relevance[self.relevance[:, 2] < 0]
        is_left_out = np.zeros((len(self.queries), len(D)), dtype=bool)
        is_left_out[written[:, 0], written[:, 1]] = True
        without = np.where(is_left_out[self.test], -np.inf, scores)
        found = {"nDCG@10": scores, "nDCG@10 without -1": without}
        return {name: self._spread(values, gains) for name, values in found.items()}

    def _spread(self, scores, gains):
        values = np.full(len(self.queries), np.nan)
        values[self.test] = [gain_at_ten(*pair) for pair in zip(scores, gains, strict=True)]
        return values
